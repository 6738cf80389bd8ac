// Steps that compute: elementwise ops, reductions, orders, products, convolutions, Fourier transforms.
#include "runtime/exec/array_ops.h"
#include "runtime/exec/ops.h"
#include "tests/fuzz/steps.h"

namespace shardlab::fuzz {

void Steps::smooth() {
  auto x = pick_floating();
  if (!x) return;
  constexpr std::string_view kNames[] = {
      "sin",     "cos",      "tanh",       "logistic", "erf",  "atan",      "asinh",       "softplus",   "silu",
      "gelu",    "square",   "abs",        "relu",     "neg",  "expm1",     "exp",         "soft_sign",  "elu",
      "celu",    "selu",     "mish",       "erfc",     "exp2", "hard_tanh", "log_sigmoid", "squareplus", "sinh",
      "deg2rad", "positive", "leaky_relu", "relu6",    "cosh", "hard_silu", "sinc",        "conj",       "stop_gradient"};
  std::string_view name = random_.of(kNames);
  bool grows = name == "exp" || name == "sinh" || name == "cosh" || name == "exp2" || name == "expm1" || name == "square";
  Operand operand = grows ? op("tanh", {x->array}) : x->array;
  keep(op(name, {operand}), x->exact);
}

void Steps::on_positive() {
  auto x = pick_floating();
  if (!x) return;
  constexpr std::string_view kNames[] = {"log",  "sqrt",  "rsqrt",      "log1p", "lgamma", "cbrt",
                                         "log2", "log10", "reciprocal", "acosh", "digamma"};
  std::string_view name = random_.of(kNames);
  Array positive = op("add", {op("abs", {op("sin", {x->array})}), name == "acosh" ? 1.5 : 0.5});
  keep(op(name, {positive}), x->exact);
  if (random_.one_in(3)) keep(op("pow", {positive, 1.5}), x->exact);
  if (random_.one_in(3)) keep(op(random_.one_in(2) ? "asin" : "atanh", {op("mul", {op("sin", {x->array}), 0.7})}), x->exact);
}

void Steps::stepwise() {
  auto x = pick([](const Piece& each) { return is_float(each) && each.exact; });
  if (!x) return;
  constexpr std::string_view kNames[] = {"floor", "ceil", "round", "sign", "trunc", "signbit", "is_finite", "isnan", "nan_to_num", "rint"};
  keep(op(random_.of(kNames), {op("mul", {x->array, 3.0})}), true);
}

void Steps::bits() {
  auto x = pick([](const Piece& each) { return is_integer(each.array.dtype()) || each.array.dtype() == DType::kBool; });
  if (!x) return;
  auto y = pick_like(*x);
  constexpr std::string_view kBinary[] = {"and", "or", "xor", "maximum", "minimum"};
  constexpr std::string_view kUnary[] = {"not", "logical_not", "abs", "positive"};
  keep(random_.one_in(2) ? op(random_.of(kBinary), {x->array, y->array}) : op(random_.of(kUnary), {x->array}), true);
  if (is_integer(x->array.dtype()) && random_.one_in(2))
    keep(op(random_.of(
                {std::string_view("floor_divide"), std::string_view("remainder"), std::string_view("gcd"), std::string_view("shift_left")}),
            {x->array, op("add", {op("abs", {y->array}), 1})}),
         true);
}

// Operands of one shape, or that broadcast; numbers too.
void Steps::arithmetic() {
  auto x = pick([](const Piece&) { return true; });
  auto y = pick([&](const Piece& each) {
    const Shape &a = x->array.shape(), &b = each.array.shape();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      std::int64_t m = a[a.size() - 1 - i], n = b[b.size() - 1 - i];
      if (m != n && m != 1 && n != 1) return false;
    }
    return true;
  });
  constexpr std::string_view kNames[] = {"add", "sub", "mul", "add", "sub", "mul", "maximum", "minimum"};
  std::string_view name = random_.of(kNames);
  bool is_number = random_.one_in(4);
  Operand second = is_number ? Operand(random_.one_in(2) ? 0.75 : 2.0) : Operand(y->array);
  keep(op(name, {x->array, second}), x->exact && (is_number || y->exact));
}

void Steps::safe_quotient() {
  auto x = pick_floating();
  if (!x) return;
  auto y = pick_like(*x);
  Array divisor = op("add", {op("square", {y->array}), 1.0});
  constexpr std::string_view kNames[] = {"div", "atan2", "hypot", "logaddexp", "fmax", "fmin", "copysign"};
  std::string_view name = random_.of(kNames);
  bool exact = x->exact && y->exact;
  if (name == "copysign" && !exact) return;
  keep(op(name, {x->array, divisor}), exact);
  if (exact && random_.one_in(4)) keep(op(random_.one_in(2) ? "rem" : "fmod", {x->array, divisor}), true);
}

void Steps::compare_and_choose() {
  auto x = pick([](const Piece& each) { return each.exact && !is_complex(each.array.dtype()); });
  if (!x) return;
  auto y = pick([&](const Piece& each) { return each.exact && each.array.type() == x->array.type(); });
  constexpr std::string_view kNames[] = {"less", "greater", "equal", "not_equal", "less_equal", "greater_equal"};
  Array condition = op(random_.of(kNames), {x->array, random_.one_in(2) ? Operand(y->array) : Operand(0)});
  keep(condition, true);
  auto a = pick([&](const Piece& each) { return each.array.shape() == condition.shape(); });
  auto b = pick_like(*a);
  keep(op("select", {condition, a->array, b->array}), a->exact && b->exact);
  if (is_float(*a) && random_.one_in(2)) keep(op("clip", {a->array, -0.5, 0.625}), a->exact);
}

void Steps::reduce() {
  auto x = pick_ranked(1);
  if (!x || x->array.dtype() == DType::kBool) return;
  constexpr std::string_view kNames[] = {"sum", "mean", "max", "min", "sum", "prod", "ptp", "nansum", "nanmax", "nanmean", "average"};
  std::string_view name = is_complex(x->array.dtype()) ? "sum" : random_.of(kNames);
  Attrs attrs{{"axis", some_dims(*x)}};
  if (name != "average" && random_.one_in(3)) attrs.set("keepdims", true);
  bool picks = name == "max" || name == "min" || name == "nanmax";
  // Of many large numbers and a 0 the order of the product decides: a part that overflows, times 0, is no number.
  const Array bounded = name == "prod" && is_float(*x) ? op("sin", {x->array}) : x->array;
  keep(op(name, {bounded}, attrs), picks && x->exact);
}

void Steps::count_or_find() {
  auto x = pick(
      [](const Piece& each) { return each.exact && each.array.ndim() > 0 && each.array.size() > 0 && !is_complex(each.array.dtype()); });
  if (!x) return;
  constexpr std::string_view kNames[] = {"any", "all", "count_nonzero", "argmax", "argmin", "argsort"};
  std::string_view name = random_.of(kNames);
  Attrs attrs{{"axis", std::int64_t(some_dim(*x))}};
  keep(op(name, {x->array}, attrs), true);
}

void Steps::run_along() {
  auto x = pick_ranked(1);
  if (!x || x->array.dtype() == DType::kBool) return;
  constexpr std::string_view kNames[] = {"cumsum", "cumsum", "cumprod", "cummax", "cummin"};
  std::string_view name = is_complex(x->array.dtype()) ? "cumsum" : random_.of(kNames);
  Attrs attrs{{"axis", std::int64_t(some_dim(*x))}};
  if (random_.one_in(3)) attrs.set("reverse", true);
  keep(op(name, {x->array}, attrs), x->exact && (name == "cummax" || name == "cummin"));
}

void Steps::order() {
  auto x = pick(
      [](const Piece& each) { return each.exact && each.array.ndim() > 0 && each.array.size() > 0 && !is_complex(each.array.dtype()); });
  if (!x || x->array.dtype() == DType::kBool) return;
  if (random_.one_in(3)) {
    std::int64_t last = x->array.shape().back();
    for (const Array& each :
         apply("top_k", {x->array}, Attrs{{"k", std::int64_t(1 + random_.below(int(std::min<std::int64_t>(last, 4))))}}, {}))
      keep(each, true);
    return;
  }
  if (random_.one_in(4) && is_float(*x)) {
    keep(op("median", {x->array}, Attrs{{"axis", std::int64_t(some_dim(*x))}}), false);
    return;
  }
  keep(op("sort", {x->array}, Attrs{{"axis", std::int64_t(some_dim(*x))}, {"descending", random_.one_in(3)}}), true);
}

void Steps::normalise() {
  auto x = pick_floating(1);
  if (!x) return;
  constexpr std::string_view kNames[] = {"softmax", "log_softmax", "logsumexp", "var", "std"};
  std::string_view name = random_.of(kNames);
  const int axis = some_dim(*x);
  const std::int64_t size = x->array.shape()[std::size_t(axis)];
  Operand operand = x->array;
  if (name == "std") {
    // The deviation of equal numbers has no derivative. These differ along the axis, whatever x is: |sin| <= 1, and they are 3 apart.
    if (size < 2) return;
    Shape along(x->array.shape().size(), 1);
    along[std::size_t(axis)] = size;
    Array places = op("reshape", {op("arange", {size}, Attrs{{"dtype", x->array.dtype()}})}, Attrs{{"shape", along}});
    operand = op("add", {op("sin", {x->array}), op("mul", {places, 3.0})});
  }
  keep(op(name, {operand}, Attrs{{"axis", std::int64_t(axis)}}), false);
}

void Steps::convert() {
  auto x = pick([](const Piece&) { return true; });
  constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat32, DType::kBfloat16, DType::kFloat16, DType::kInt32, DType::kComplex64};
  DType dtype = random_.of(kTypes);
  if (is_integer(dtype) && !x->exact) return;
  keep(op("convert", {x->array}, Attrs{{"dtype", dtype}}), x->exact);
}

void Steps::product() {
  auto x = pick_ranked(2);
  if (!x || x->array.dtype() == DType::kBool) return;
  auto y = pick([&](const Piece& each) {
    return each.array.ndim() == 2 && each.array.shape()[0] == x->array.shape().back() && each.array.dtype() == x->array.dtype();
  });
  Array second = y ? y->array : op("transpose", {x->array});
  if (!y && x->array.ndim() > 2) return;
  Array z = op("matmul", {x->array, second});
  if (is_float(*x) && random_.one_in(2)) z = op("mul", {z, 1.0 / double(x->array.shape().back())});
  keep(z, false);
}

void Steps::contraction() {
  auto x = pick_ranked(1);
  if (!x || x->array.dtype() == DType::kBool) return;
  auto y = pick_like(*x);
  const int rank = x->array.ndim();
  switch (random_.below(4)) {
    case 0:
      keep(op("inner", {x->array, y->array}), false);
      return;
    case 1:
      keep(op("tensordot", {x->array, y->array}, Attrs{{"axes", std::int64_t(1 + random_.below(rank))}}), false);
      return;
    case 2:
      if (rank == 2)
        keep(op("einsum", {x->array, y->array}, Attrs{{"subscripts", std::string(random_.one_in(2) ? "ij,ij->j" : "ij,kj->ik")}}), false);
      return;
    default:
      if (rank == 1 && x->array.size() <= 32) keep(op("outer", {x->array, y->array}), x->exact && y->exact);
      if (rank == 3) keep(op("einsum", {x->array, y->array}, Attrs{{"subscripts", std::string("bij,bkj->bik")}}), false);
  }
}

// Of matrices far from singular: 1 and the products of bounded rows.
void Steps::decompose() {
  auto x = pick([&](const Piece& each) { return is_wide(each) && each.array.ndim() >= 2 && each.array.size() > 0; });
  if (!x) return;
  const std::int64_t rows = x->array.shape()[std::size_t(x->array.ndim() - 2)];
  Array bounded = op("sin", {x->array}), products = op("matmul", {bounded, op("matrix_transpose", {bounded})});
  Array matrices = op("add", {op("mul", {products, 1.0 / double(x->array.shape().back())}), op("eye", {rows})});
  switch (random_.below(4)) {
    case 0:
      keep(op("linalg.cholesky", {matrices}), false);
      return;
    case 1:
      keep(op("linalg.inv", {matrices}), false);
      return;
    case 2:
      keep(op("linalg.solve", {matrices, bounded}), false);
      return;
    default:
      keep(op("linalg.det", {matrices}), false);
  }
}

// The pool's values as images and kernels: rows and columns with a batch and a feature dimension.
void Steps::convolve() {
  auto x =
      pick([](const Piece& each) { return is_wide(each) && each.array.ndim() >= 1 && each.array.ndim() <= 2 && each.array.size() > 0; });
  if (!x) return;
  Shape image = x->array.shape();
  const std::size_t spatial = image.size();
  Shape kernel(spatial + 2, 1);
  for (std::size_t d = 0; d < spatial; ++d) kernel[d + 2] = 1 + random_.below(int(std::min<std::int64_t>(image[d], 3)));
  image.insert(image.begin(), 2, 1);
  kernel[0] = 1 + random_.below(3);
  Array weights =
      op("sin", {op("reshape", {op("arange", {element_count(kernel)}, Attrs{{"dtype", DType::kFloat32}})}, Attrs{{"shape", kernel}})});
  std::vector<std::string> numbers =
      spatial == 1 ? std::vector<std::string>{"NCH", "OIH", "NCH"} : std::vector<std::string>{"NCHW", "OIHW", "NCHW"};
  std::vector<std::int64_t> strides;
  for (std::size_t d = 0; d < spatial; ++d) strides.push_back(1 + random_.below(2));
  Attrs attrs{{"strides", strides}, {"padding", std::string(random_.one_in(2) ? "SAME" : "VALID")}, {"dimension_numbers", numbers}};
  keep(op("conv", {op("reshape", {x->array}, Attrs{{"shape", image}}), weights}, attrs), false);
}

// Windows over the values as they lie.
void Steps::slide() {
  auto x = pick_ranked(1);
  if (!x || x->array.dtype() == DType::kBool || is_complex(x->array.dtype())) return;
  std::vector<std::int64_t> window, strides, pads, dilation;
  for (std::int64_t size : x->array.shape()) {
    bool is_whole = random_.one_in(2);
    window.push_back(is_whole ? 1 : 1 + random_.below(int(std::min<std::int64_t>(size, 3))));
    strides.push_back(is_whole ? 1 : 1 + random_.below(2));
    dilation.push_back(random_.one_in(4) && size > 4 ? 2 : 1);
    pads.insert(pads.end(), {is_whole ? 0 : random_.below(2), is_whole ? 0 : random_.below(2)});
  }
  static const std::vector<std::string> kReducers = {"sum", "max", "min", "max", "prod"};
  const std::string& reducer = random_.of(kReducers);
  Array result = op(
      "reduce_window", {x->array},
      Attrs{
          {"reducer", reducer}, {"window_dimensions", window}, {"window_strides", strides}, {"pads", pads}, {"window_dilation", dilation}});
  if (is_float(*x) && (reducer == "max" || reducer == "min")) result = op("clip", {result, -4.0, 4.0});  // windows of padding alone
  keep(result, x->exact && (reducer == "max" || reducer == "min"));
}

void Steps::transform() {
  auto x = pick([](const Piece& each) {
    return (is_wide(each) || each.array.dtype() == DType::kComplex64) && each.array.ndim() >= 1 && each.array.size() > 0;
  });
  if (!x) return;
  bool is_real = is_float(*x);
  constexpr std::string_view kComplex[] = {"fft.fft", "fft.ifft"};
  constexpr std::string_view kReal[] = {"fft.rfft", "fft.fft", "fft.fftn"};
  std::string_view name = is_real ? random_.of(kReal) : random_.of(kComplex);
  Array z = op(name, {x->array}, name == "fft.fftn" ? Attrs{} : Attrs{{"axis", std::int64_t(some_dim(*x))}});
  keep(z, false);
  constexpr std::string_view kParts[] = {"real", "imag", "real"};
  keep(op(random_.of(kParts), {z}), false);
}

}  // namespace shardlab::fuzz
