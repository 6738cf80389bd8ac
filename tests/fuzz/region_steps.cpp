// Steps of shardings and functions: constraints, loops, branches, per-device code, functions with derivatives of their own. On one device
// per-device code is written out as what it computes.
#include "runtime/exec/array_ops.h"
#include "runtime/exec/associative_scan.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/custom_derivatives.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "tests/fuzz/steps.h"

namespace shardlab::fuzz {

void Steps::constrain() {
  auto x = pick_ranked(0);
  if (!x) return;
  Sharding sharding = random_sharding(random_, mesh_, x->array.shape(), random_.one_in(3));
  if (!sharded_) sharding = Sharding(Mesh({1}, {"alone"}, {0}), Spec{});  // a node all the same: cotangents are added up alike
  keep(op("with_sharding_constraint", {x->array}, Attrs{{"sharding", sharding}}), x->exact);
}

void Steps::loop() {
  auto x = pick_floating(1);
  if (!x) return;
  auto w = pick([&](const Piece& each) { return each.array.type() == x->array.type(); });
  switch (random_.below(4)) {
    case 3:
      keep(shardlab::associative_scan([](const Array& a, const Array& b) { return a + b; }, x->array, {.reverse = random_.one_in(2)}),
           false);
      return;
    case 0:
      keep(shardlab::fori_loop(
               0, 1 + random_.below(4), [&](const Array&, const Array& c) { return sin(c * 0.9) + w->array * 0.25; }, x->array),
           false);
      return;
    case 1: {  // over the leading dimension, with a carry of a slice's shape
      Shape slice(x->array.shape().begin() + 1, x->array.shape().end());
      Array init = zeros(slice, x->array.dtype());
      auto [last, ys] = shardlab::scan([](const Array& c, const Array& row) { return std::tuple(c * 0.5 + row, tanh(c) * row); }, init,
                                       x->array, {.reverse = random_.one_in(2)});
      keep(last, false);
      keep(ys, false);
      return;
    }
    default:
      keep(shardlab::map([](const Array& row) { return row * sum(row) * 0.1; }, x->array), false);
  }
}

void Steps::branch() {
  auto x = pick_floating();
  auto flag = pick([](const Piece& each) { return each.exact && each.array.ndim() == 0 && !is_complex(each.array.dtype()); });
  if (!x) return;
  Array predicate = flag ? flag->array > 0 : ones({}, DType::kBool);
  keep(shardlab::cond(
           predicate, [](const Array& y) { return sin(y); }, [](const Array& y) { return y * sum(y); }, x->array),
       false);
}

// f on each device's shards, and what that is for the whole array.
void Steps::per_device() {
  auto x = pick_floating(1);
  if (!x) return;
  const std::size_t d = std::size_t(some_dim(*x));
  std::vector<std::string> axes;
  std::int64_t parts = 1;
  for (int axis : random_.order(std::size_t(mesh_.axis_count()))) {
    if (random_.one_in(2) || x->array.shape()[d] % (parts * mesh_.axis_size(axis)) != 0) continue;
    axes.push_back(mesh_.axis_names()[std::size_t(axis)]);
    parts *= mesh_.axis_size(axis);
  }
  if (axes.empty()) return;
  // Devices round their sums of 16-bit floats before they add them up, and one device does not.
  const int kind = is_wide(*x) ? random_.below(5) : 2 * random_.below(2);
  const bool is_partial = random_.one_in(2);
  const Array array = x->array;
  const auto dim = std::int64_t(d);
  auto whole = [&]() -> Array {
    switch (kind) {
      case 0:
        return sin(array);
      case 1:
        return array * sum(array, {.axis = {int(d)}, .keepdims = true});
      case 2:  // every device its neighbour's block
        return roll(array, array.shape()[d] / parts, int(d));
      case 3:
        return cumsum(array, int(d));
      default:
        return array * max(array, {.axis = {int(d)}, .keepdims = true});
    }
  };
  if (!sharded_) {
    keep(whole(), kind == 0 || kind == 2 ? x->exact : false);
    return;
  }
  std::vector<SpecEntry> entries(d);
  entries.push_back(SpecEntry(axes));
  PartitionSpec spec(entries);
  auto body = [&](const Array& local) -> Array {
    switch (kind) {
      case 0:
        return sin(local);
      case 1:
        return local * psum(sum(local, {.axis = {int(d)}, .keepdims = true}), axes);
      case 2: {
        std::vector<std::pair<int, int>> ring;
        for (int i = 0; i < int(parts); ++i) ring.emplace_back(i, (i + 1) % int(parts));
        return ppermute(local, axes, ring);
      }
      case 3: {
        Array all = cumsum(all_gather(local, axes, {.axis = int(dim), .tiled = true}), int(d));
        return shardlab::apply("dynamic_slice",
                               [&] {
                                 std::vector<Operand> operands{all};
                                 for (std::size_t i = 0; i < local.shape().size(); ++i)
                                   operands.emplace_back(i == d ? axis_index(axes) * local.shape()[d] : zeros({}, DType::kInt32));
                                 return operands;
                               }(),
                               Attrs{{"sizes", local.shape()}}, {})
            .at(0);
      }
      default:
        return local * max(all_gather(local, axes, {.axis = int(dim), .tiled = true}), {.axis = {int(d)}, .keepdims = true});
    }
  };
  // Per device along the named axes alone at times: the others stay the partitioner's.
  std::vector<std::string> manual = is_partial ? axes : std::vector<std::string>{};
  keep(shardlab::shard_map(body, {.mesh = mesh_, .in_specs = {spec}, .out_specs = {spec}, .axis_names = manual})(array),
       kind == 0 || kind == 2 ? x->exact : false);
}

void Steps::own_derivative() {
  auto x = pick_floating();
  if (!x) return;
  switch (random_.below(3)) {
    case 0:
      keep(checkpoint([](const Array& y) { return sin(y) * sum(tanh(y)); })(x->array), false);
      return;
    case 1:
      keep(custom_jvp(
               [](const Array& y) { return tanh(y); },
               [](const auto& at, const auto& along) { return std::pair(tanh(std::get<0>(at)), std::get<0>(along) * 0.5); })(x->array),
           x->exact);
      return;
    default:
      keep(custom_vjp([](const Array& y) { return sin(y); }, [](const Array& y) { return std::pair(sin(y), y); },
                      [](const Array& y, const Array& g) { return std::tuple(g * cos(y) * 2.0); })(x->array),
           x->exact);
  }
}

}  // namespace shardlab::fuzz
