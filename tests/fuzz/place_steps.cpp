// Steps that move: shapes, joins, cuts, shifts, look-ups, constants and random numbers.
#include "runtime/exec/array_ops.h"
#include "runtime/exec/ops.h"
#include "tests/fuzz/steps.h"

namespace shardlab::fuzz {

using Ints = std::vector<std::int64_t>;

// Deals the prime factors of the size out to new dimensions.
void Steps::reshape() {
  auto x = pick_ranked(0);
  if (!x) return;
  std::int64_t left = x->array.size();
  Ints dims(std::size_t(1 + random_.below(4)), 1);
  for (std::int64_t prime : {2, 3, 5, 7})
    for (; left % prime == 0; left /= prime) dims[std::size_t(random_.below(int(dims.size())))] *= prime;
  dims[0] *= left;
  keep(op("reshape", {x->array}, Attrs{{"shape", dims}}), x->exact);
}

void Steps::permute() {
  auto x = pick_ranked(2);
  if (!x) return;
  const int rank = x->array.ndim();
  std::int64_t a = random_.below(rank), b = random_.below(rank);
  switch (random_.below(3)) {
    case 0:
      keep(op("swapaxes", {x->array}, Attrs{{"axis1", a}, {"axis2", b}}), x->exact);
      return;
    case 1:
      keep(op("moveaxis", {x->array}, Attrs{{"source", Ints{a}}, {"destination", Ints{b}}}), x->exact);
      return;
    default:
      Ints axes;
      for (int axis : random_.order(std::size_t(rank))) axes.push_back(axis);
      keep(op("transpose", {x->array}, Attrs{{"axes", axes}}), x->exact);
  }
}

void Steps::grow_or_shrink() {
  auto x = pick_ranked(0);
  Ints dims = x ? x->array.shape() : Ints{};
  if (!x) return;
  if (random_.one_in(3)) {
    keep(op("expand_dims", {x->array}, Attrs{{"axis", std::int64_t(random_.below(int(dims.size()) + 1))}}), x->exact);
    return;
  }
  if (random_.one_in(4)) {
    keep(op("squeeze", {x->array}), x->exact);
    return;
  }
  for (std::int64_t& size : dims)
    if (size == 1) size = 1 + random_.below(8);
  if (dims.size() < 4) dims.insert(dims.begin(), mesh_.shape()[0] * (1 + random_.below(2)));
  keep(op("broadcast_to", {x->array}, Attrs{{"shape", dims}}), x->exact);
}

void Steps::join() {
  auto x = pick_ranked(1);
  if (!x) return;
  auto y = pick_like(*x);
  Operands parts{x->array, y->array};
  if (random_.one_in(3)) parts.emplace_back(x->array);
  bool exact = x->exact && y->exact;
  constexpr std::string_view kNames[] = {"concatenate", "concatenate", "stack", "hstack", "vstack"};
  std::string_view name = random_.of(kNames);
  if (name == "concatenate" || name == "stack")
    keep(op(name, parts, Attrs{{"axis", std::int64_t(some_dim(*x))}}), exact);
  else
    keep(op(name, parts), exact);
}

void Steps::cut() {
  auto x = pick_ranked(1);
  if (!x) return;
  Ints start, limit, stride;
  if (random_.one_in(3)) {
    std::int64_t axis = some_dim(*x), sections = 1 + random_.below(3);
    for (const Array& part : apply("array_split", {x->array}, Attrs{{"sections", sections}, {"axis", axis}}, {}))
      if (random_.one_in(2)) keep(part, x->exact);
    return;
  }
  if (random_.one_in(4)) {
    keep(op("diff", {x->array}, Attrs{{"axis", std::int64_t(some_dim(*x))}}), x->exact);
    return;
  }
  for (std::int64_t size : x->array.shape()) {
    bool whole = random_.one_in(2);
    start.push_back(whole ? 0 : random_.below(int(size)));
    limit.push_back(whole ? size : start.back() + 1 + random_.below(int(size - start.back())));
    stride.push_back(1 + (random_.one_in(3) ? random_.below(3) : 0));
  }
  keep(op("slice", {x->array}, Attrs{{"start", start}, {"limit", limit}, {"stride", stride}}), x->exact);
}

void Steps::pad() {
  auto x = pick_ranked(1);
  if (!x || x->array.dtype() == DType::kBool) return;
  Ints padding;
  for (std::int64_t size : x->array.shape()) {
    Ints dim{random_.below(3), random_.below(3), random_.one_in(4) ? 1 : 0};
    if (random_.one_in(4) && size > 2) dim[0] = -1;
    padding.insert(padding.end(), dim.begin(), dim.end());
  }
  if (random_.one_in(3)) {
    static const std::vector<std::string> kModes = {"edge", "wrap", "reflect", "symmetric", "constant"};
    Ints width;
    for (int d = 0; d < x->array.ndim(); ++d) width.insert(width.end(), {random_.below(2), random_.below(2)});
    keep(op("pad", {x->array}, Attrs{{"pad_width", width}, {"mode", random_.of(kModes)}}), x->exact);
    return;
  }
  keep(op("pad", {x->array, 0.5}, Attrs{{"padding", padding}}), x->exact);
}

void Steps::shift() {
  auto x = pick_ranked(1);
  if (!x) return;
  std::int64_t axis = some_dim(*x);
  switch (random_.below(4)) {
    case 0:
      keep(op("flip", {x->array}, Attrs{{"axis", axis}}), x->exact);
      return;
    case 1:
      keep(op("roll", {x->array}, Attrs{{"shift", std::int64_t(random_.below(9) - 4)}}), x->exact);
      return;
    default:
      keep(op("roll", {x->array}, Attrs{{"shift", std::int64_t(random_.below(9) - 4)}, {"axis", axis}}), x->exact);
  }
}

void Steps::repeat() {
  auto x = pick_ranked(1);
  if (!x) return;
  if (random_.one_in(2)) {
    keep(op("repeat", {x->array}, Attrs{{"repeats", std::int64_t(1 + random_.below(3))}, {"axis", std::int64_t(some_dim(*x))}}), x->exact);
    return;
  }
  Ints reps;
  for (int d = 0; d < x->array.ndim(); ++d) reps.push_back(1 + random_.below(2));
  keep(op("tile", {x->array}, Attrs{{"reps", reps}}), x->exact);
}

void Steps::look_up() {
  auto x = pick_ranked(1);
  if (!x) return;
  std::int64_t axis = some_dim(*x), size = x->array.shape()[std::size_t(axis)];
  auto numbers = [&](std::int64_t count) {  // places, some of them out of bounds where the op says what is there
    Array index = op("arange", {count}, Attrs{{"dtype", DType::kInt32}});
    return op("remainder", {op("mul", {index, std::int64_t(1 + random_.below(5))}), size});
  };
  switch (random_.below(5)) {
    case 0: {
      Array rows = numbers(2 + random_.below(6));
      if (random_.one_in(2) && rows.size() % 2 == 0) rows = op("reshape", {rows}, Attrs{{"shape", Ints{2, rows.size() / 2}}});
      keep(op("take", {x->array, rows}, Attrs{{"axis", axis}}), x->exact);
      return;
    }
    case 1: {
      Shape shape(x->array.shape().size(), 1);
      shape[std::size_t(axis)] = 1 + random_.below(5);
      Array places = op("broadcast_to", {op("reshape", {numbers(shape[std::size_t(axis)])}, Attrs{{"shape", shape}})}, [&] {
        Shape whole = x->array.shape();
        whole[std::size_t(axis)] = shape[std::size_t(axis)];
        return Attrs{{"shape", whole}};
      }());
      keep(op("take_along_axis", {x->array, places}, Attrs{{"axis", axis}}), x->exact);
      return;
    }
    case 2:
      keep(op("dynamic_index_in_dim", {x->array, std::int64_t(random_.below(int(size)))},
              Attrs{{"axis", axis}, {"keepdims", random_.one_in(2)}}),
           x->exact);
      return;
    case 3: {
      auto rows = pick([](const Piece& each) { return each.array.dtype() == DType::kInt32 && each.array.ndim() <= 1; });
      if (rows)
        keep(op("take", {x->array, rows->array}, Attrs{{"axis", axis}, {"mode", std::string(random_.one_in(2) ? "clip" : "wrap")}}),
             x->exact);
      return;
    }
    default: {
      Operands operands{x->array};
      Ints sizes;
      for (std::int64_t each : x->array.shape()) {
        sizes.push_back(1 + random_.below(int(each)));
        operands.emplace_back(std::int64_t(random_.below(int(each) + 2)));
      }
      keep(op("dynamic_slice", operands, Attrs{{"sizes", sizes}}), x->exact);
    }
  }
}

void Steps::replace() {
  auto x = pick_ranked(1);
  if (!x || x->array.dtype() == DType::kBool) return;
  if (random_.one_in(2)) {
    Operands operands{x->array};
    Ints start, limit;
    for (std::int64_t each : x->array.shape()) limit.push_back(1 + random_.below(int(each)));
    operands.emplace_back(op("slice", {op("neg", {x->array})}, Attrs{{"start", Ints(limit.size(), 0)}, {"limit", limit}}));
    for (std::int64_t each : x->array.shape()) operands.emplace_back(std::int64_t(random_.below(int(each) + 1)));
    keep(op("dynamic_update_slice", operands), x->exact);
    return;
  }
  const std::int64_t rows = x->array.shape()[0];
  Array index = op("remainder",
                   {op("arange", {std::int64_t(2 * rows)}, Attrs{{"dtype", DType::kInt32}}), std::int64_t(1 + random_.below(int(rows)))});
  Array updates = op("concatenate", {x->array, op("mul", {x->array, 0.5})}, Attrs{{"axis", std::int64_t(0)}});
  keep(op("scatter_add", {x->array, index, updates}), false);
}

void Steps::triangle() {
  auto x = pick_ranked(1);
  if (!x || x->array.dtype() == DType::kBool) return;
  std::int64_t k = random_.below(3) - 1;
  if (x->array.ndim() == 1) {
    if (x->array.size() <= 24) keep(op("diag", {x->array}, Attrs{{"k", k}}), x->exact);
    return;
  }
  constexpr std::string_view kNames[] = {"tril", "triu", "diagonal", "trace", "kron"};
  std::string_view name = random_.of(kNames);
  if (name == "kron") {
    if (x->array.ndim() == 2 && x->array.size() <= 32) keep(op(name, {x->array, x->array}), x->exact);
    return;
  }
  keep(op(name, {x->array}, Attrs{{"k", k}}), x->exact && name != "trace");
}

void Steps::constant() {
  auto x = pick([](const Piece& each) { return each.array.size() > 0; });
  if (!x) return;
  switch (random_.below(4)) {
    case 0:
      keep(op("eye", {std::int64_t(1 + random_.below(9)), std::int64_t(1 + random_.below(9))}), true);
      return;
    case 1:
      keep(op("linspace", {-1.0, 1.0}, Attrs{{"num", std::int64_t(2 + random_.below(15))}}), true);
      return;
    case 2: {
      Shape shape = x->array.shape();
      if (shape.empty()) return;
      keep(op("iota", {}, Attrs{{"shape", shape}, {"dimension", std::int64_t(some_dim(*x))}, {"dtype", DType::kInt32}}), true);
      return;
    }
    default: {
      Array c = op("arange", {x->array.size()}, Attrs{{"dtype", DType::kFloat32}});
      keep(op("add", {x->array, op("sin", {op("reshape", {c}, Attrs{{"shape", x->array.shape()}})})}), x->exact);
    }
  }
}

void Steps::draw() {
  auto x = pick_floating();
  if (!x) return;
  Array key = op("random.key", {}, Attrs{{"seed", std::int64_t(random_.below(1000))}});
  constexpr std::string_view kNames[] = {"random.uniform", "random.normal", "random.bernoulli", "random.gumbel", "random.permutation"};
  std::string_view name = random_.of(kNames);
  if (name == "random.permutation") {
    if (x->array.ndim() > 0) keep(op(name, {key, x->array}, Attrs{{"axis", std::int64_t(some_dim(*x))}}), x->exact);
    return;
  }
  Array drawn = op(name, {key}, Attrs{{"shape", x->array.shape()}});
  keep(drawn, true);
  if (random_.one_in(2)) keep(op("mul", {x->array, drawn}), x->exact);
}

}  // namespace shardlab::fuzz
