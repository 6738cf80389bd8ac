#include "tests/ops/naive_index.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace shardlab::testing_ops {

// Whole numbers wrap around at the width of their type.
Number wrapped(double value, DType dtype) {
  if (dtype == DType::kBool) return value != 0 ? 1.0 : 0.0;
  return visit_dtype(dtype, [&]<typename T>(T) { return element_from<double>(element_from<T>(std::int64_t(value))); });
}

namespace {

using Arguments = std::vector<Number>;

bool is_whole(DType dtype) { return is_integer(dtype) || dtype == DType::kBool; }
bool before(Number a, Number b) { return a.real() < b.real() || (a.real() == b.real() && a.imag() < b.imag()); }
Number truth(bool value) { return value ? 1.0 : 0.0; }
std::int64_t bits_of(Number x) { return std::int64_t(x.real()); }

Number quotient(Number x, Number y, DType dtype) {
  if (!is_whole(dtype)) return is_complex(dtype) ? x / y : Number(x.real() / y.real());
  if (y.real() == 0) return wrapped(-1, dtype);
  return std::trunc(x.real() / y.real());
}
Number python_remainder(Number x, Number y, DType dtype) {
  if (y.real() == 0) return is_whole(dtype) ? Number(0) : Number(NAN);
  double rest = std::fmod(x.real(), y.real());
  return rest != 0 && (rest < 0) != (y.real() < 0) ? rest + y.real() : rest;
}
Number sign(Number x) {
  if (x.imag() != 0) return x / std::abs(x);
  return x.real() > 0 ? 1.0 : (x.real() < 0 ? -1.0 : 0.0);
}

template <typename Function>
ScalarFunction unary(Function function) {
  return [function](const Arguments& x, DType dtype) -> Number {
    if (is_complex(dtype)) return function(x[0]);
    return function(Number(x[0].real())).real();
  };
}
ScalarFunction complex_or_real(Number (*of_complex)(Number), double (*of_real)(double)) {
  return [=](const Arguments& x, DType dtype) -> Number { return is_complex(dtype) ? of_complex(x[0]) : Number(of_real(x[0].real())); };
}
bool shifted_out(Number count, DType dtype) { return count.real() < 0 || count.real() >= 8.0 * double(size_of(dtype)); }
double count_bits(Number x, DType dtype) {
  double count = 0;
  for (int bit = 0; bit < 8 * int(size_of(dtype)); ++bit) count += double((std::int64_t(x.real()) >> bit) & 1);
  return count;
}
double leading_zeros(Number x, DType dtype) {
  int bits = 8 * int(size_of(dtype)), bit = bits;
  while (bit > 0 && ((std::int64_t(x.real()) >> (bit - 1)) & 1) == 0) --bit;
  return double(bits - bit);
}
ScalarFunction real_unary(double (*function)(double)) {
  return [function](const Arguments& x, DType) -> Number { return function(x[0].real()); };
}

const std::map<std::string_view, ScalarFunction>& functions() {
  static const std::map<std::string_view, ScalarFunction> table = {
      {"neg", [](const Arguments& x, DType d) { return is_whole(d) ? wrapped(-x[0].real(), d) : -x[0]; }},
      {"abs", [](const Arguments& x, DType) { return Number(std::abs(x[0])); }},
      {"sign", [](const Arguments& x, DType) { return sign(x[0]); }},
      {"sin", unary([](Number x) { return std::sin(x); })},
      {"cos", unary([](Number x) { return std::cos(x); })},
      {"tan", unary([](Number x) { return std::tan(x); })},
      {"tanh", unary([](Number x) { return std::tanh(x); })},
      {"exp", unary([](Number x) { return std::exp(x); })},
      {"expm1", unary([](Number x) { return std::exp(x) - 1.0; })},
      {"log", [](const Arguments& x, DType d) { return is_complex(d) ? std::log(x[0]) : Number(std::log(x[0].real())); }},
      {"log1p", [](const Arguments& x, DType d) { return is_complex(d) ? std::log(1.0 + x[0]) : Number(std::log1p(x[0].real())); }},
      {"sqrt", [](const Arguments& x, DType d) { return is_complex(d) ? std::sqrt(x[0]) : Number(std::sqrt(x[0].real())); }},
      {"cbrt", real_unary(std::cbrt)},
      {"trunc", real_unary(std::trunc)},
      {"acos", complex_or_real([](Number x) { return std::acos(x); }, std::acos)},
      {"asin", complex_or_real([](Number x) { return std::asin(x); }, std::asin)},
      {"atan", unary([](Number x) { return std::atan(x); })},
      {"sinh", unary([](Number x) { return std::sinh(x); })},
      {"cosh", unary([](Number x) { return std::cosh(x); })},
      {"asinh", unary([](Number x) { return std::asinh(x); })},
      {"acosh", complex_or_real([](Number x) { return std::acosh(x); }, std::acosh)},
      {"atanh", complex_or_real([](Number x) { return std::atanh(x); }, std::atanh)},
      {"exp2", unary([](Number x) { return std::pow(Number(2), x); })},
      {"erfc", real_unary(std::erfc)},
      {"lgamma", real_unary(std::lgamma)},
      {"population_count", [](const Arguments& x, DType d) { return Number(count_bits(x[0], d)); }},
      {"clz", [](const Arguments& x, DType d) { return Number(leading_zeros(x[0], d)); }},
      {"shift_left",
       [](const Arguments& x, DType d) { return shifted_out(x[1], d) ? 0.0 : wrapped(x[0].real() * std::exp2(x[1].real()), d); }},
      {"shift_right_arithmetic",
       [](const Arguments& x, DType d) {
         if (shifted_out(x[1], d)) return Number(x[0].real() < 0 ? -1.0 : 0.0);
         return Number(std::floor(x[0].real() / std::exp2(x[1].real())));
       }},
      {"shift_right_logical",
       [](const Arguments& x, DType d) {
         if (shifted_out(x[1], d)) return Number(0);
         return visit_dtype(d, [&]<typename T>(T) -> Number {
           auto bits = std::uint64_t(std::int64_t(x[0].real()));
           if (sizeof(T) < 8) bits &= (std::uint64_t(1) << (8 * sizeof(T) % 64)) - 1;
           return element_from<double>(element_from<T>(bits >> int(x[1].real())));
         });
       }},
      {"rsqrt", [](const Arguments& x, DType d) { return is_complex(d) ? 1.0 / std::sqrt(x[0]) : Number(1 / std::sqrt(x[0].real())); }},
      {"floor", real_unary(std::floor)},
      {"ceil", real_unary(std::ceil)},
      {"round", real_unary(std::nearbyint)},
      {"logistic", unary([](Number x) { return 1.0 / (1.0 + std::exp(-x)); })},
      {"erf", real_unary(std::erf)},
      {"is_finite", [](const Arguments& x, DType) { return truth(std::isfinite(x[0].real())); }},
      {"not", [](const Arguments& x, DType d) { return d == DType::kBool ? truth(x[0] == 0.0) : wrapped(double(~bits_of(x[0])), d); }},
      {"real", [](const Arguments& x, DType) { return Number(x[0].real()); }},
      {"imag", [](const Arguments& x, DType) { return Number(x[0].imag()); }},
      {"conj", [](const Arguments& x, DType) { return std::conj(x[0]); }},
      {"add", [](const Arguments& x, DType d) { return is_whole(d) ? wrapped((x[0] + x[1]).real(), d) : x[0] + x[1]; }},
      {"sub", [](const Arguments& x, DType d) { return is_whole(d) ? wrapped((x[0] - x[1]).real(), d) : x[0] - x[1]; }},
      {"square", [](const Arguments& x, DType d) { return is_whole(d) ? wrapped((x[0] * x[0]).real(), d) : x[0] * x[0]; }},
      {"mul", [](const Arguments& x, DType d) { return is_whole(d) ? wrapped((x[0] * x[1]).real(), d) : x[0] * x[1]; }},
      {"div", [](const Arguments& x, DType d) { return quotient(x[0], x[1], d); }},
      {"rem",
       [](const Arguments& x, DType d) {
         if (x[1] == 0.0) return is_whole(d) ? x[0] : Number(NAN);
         return Number(std::fmod(x[0].real(), x[1].real()));
       }},
      {"remainder", [](const Arguments& x, DType d) { return python_remainder(x[0], x[1], d); }},
      {"maximum", [](const Arguments& x, DType) { return before(x[0], x[1]) ? x[1] : x[0]; }},
      {"minimum", [](const Arguments& x, DType) { return before(x[1], x[0]) ? x[1] : x[0]; }},
      {"complex", [](const Arguments& x, DType) { return Number(x[0].real(), x[1].real()); }},
      {"atan2", [](const Arguments& x, DType) { return Number(std::atan2(x[0].real(), x[1].real())); }},
      {"and", [](const Arguments& x, DType) { return Number(double(bits_of(x[0]) & bits_of(x[1]))); }},
      {"or", [](const Arguments& x, DType) { return Number(double(bits_of(x[0]) | bits_of(x[1]))); }},
      {"xor", [](const Arguments& x, DType) { return Number(double(bits_of(x[0]) ^ bits_of(x[1]))); }},
      {"equal", [](const Arguments& x, DType) { return truth(x[0] == x[1]); }},
      {"not_equal", [](const Arguments& x, DType) { return truth(x[0] != x[1]); }},
      {"less", [](const Arguments& x, DType) { return truth(before(x[0], x[1])); }},
      {"less_equal", [](const Arguments& x, DType) { return truth(before(x[0], x[1]) || x[0] == x[1]); }},
      {"greater", [](const Arguments& x, DType) { return truth(before(x[1], x[0])); }},
      {"greater_equal", [](const Arguments& x, DType) { return truth(before(x[1], x[0]) || x[0] == x[1]); }},
      {"select", [](const Arguments& x, DType) { return x[0] != 0.0 ? x[1] : x[2]; }},
      {"clamp", [](const Arguments& x, DType) { return Number(std::min(std::max(x[1].real(), x[0].real()), x[2].real())); }},
      {"with_sharding_constraint", [](const Arguments& x, DType) { return x[0]; }},
      {"enter_auto_axes", [](const Arguments& x, DType) { return x[0]; }},
      {"stop_gradient", [](const Arguments& x, DType) { return x[0]; }},
      {"checkpoint_name", [](const Arguments& x, DType) { return x[0]; }},
      {"found_in_a_row", [](const Arguments& x, DType) { return x[0]; }},
      {"passed_again", [](const Arguments& x, DType) { return x[0]; }},
      {"relu", [](const Arguments& x, DType) { return x[0].real() < 0 ? x[0] * 0.0 : x[0]; }},
  };
  return table;
}

}  // namespace

std::vector<Shape> indices(const Shape& shape) {
  std::vector<Shape> result = {{}};
  for (std::int64_t size : shape) {
    std::vector<Shape> longer;
    for (const Shape& prefix : result)
      for (std::int64_t i = 0; i < size; ++i) {
        longer.push_back(prefix);
        longer.back().push_back(i);
      }
    result = std::move(longer);
  }
  return result;
}
std::size_t flat(const Shape& index, const Shape& shape) {
  std::int64_t place = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) place = place * shape[d] + index[d];
  return std::size_t(place);
}

Tensor tensor_from(const TensorType& type, const std::vector<Number>& values) {
  auto buffer = std::make_shared<Buffer>(std::size_t(type.bytes()));
  visit_dtype(type.dtype, [&](auto sample) {
    using T = decltype(sample);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (Bool<T>)
        buffer->as<T>()[i] = values[i] != 0.0;
      else if constexpr (std::is_same_v<T, std::uint64_t>)
        buffer->as<T>()[i] = values[i].real() >= 0x1p64 ? ~T(0) : T(values[i].real());
      else if constexpr (Whole<T>)
        buffer->as<T>()[i] = T(std::int64_t(values[i].real()));
      else
        buffer->as<T>()[i] = element_from<T>(values[i]);
    }
  });
  return {type, buffer};
}

namespace {

Number reduced(Reduction reduction, Number a, Number b, DType dtype) {
  switch (reduction) {
    case Reduction::kSum:
      return is_whole(dtype) ? wrapped((a + b).real(), dtype) : a + b;
    case Reduction::kProd:
      return is_whole(dtype) ? wrapped((a * b).real(), dtype) : a * b;
    case Reduction::kMax:
      return before(a, b) ? b : a;
    case Reduction::kMin:
      return before(b, a) ? b : a;
    case Reduction::kAnd:
      return double(bits_of(a) & bits_of(b));
    case Reduction::kOr:
      return double(bits_of(a) | bits_of(b));
  }
  return a;
}

std::vector<Number> naive_reduce(const OpDef& op, const Tensor& x, const Attrs& attrs, const TensorType& result) {
  std::vector<Number> in = numbers(x), out(std::size_t(result.elements()));
  std::vector<bool> seen(out.size(), false);
  const auto& axes = attrs.integers("axes");
  for (const Shape& index : indices(x.type.shape)) {
    Shape kept;
    for (std::size_t d = 0; d < index.size(); ++d)
      if (std::find(axes.begin(), axes.end(), std::int64_t(d)) == axes.end()) kept.push_back(index[d]);
    std::size_t to = flat(kept, result.shape);
    Number value = in[flat(index, x.type.shape)];
    out[to] = seen[to] ? reduced(*op.reduction, out[to], value, result.dtype) : value;
    seen[to] = true;
  }
  return out;
}

std::vector<Number> naive_dot(const Tensor& x, const Tensor& y, const Attrs& attrs, const TensorType& result) {
  std::vector<Number> left = numbers(x), right = numbers(y), out(std::size_t(result.elements()));
  auto half = [&](std::string_view name, bool second) {
    const auto& both = attrs.integers(name);
    auto middle = both.begin() + std::ptrdiff_t(both.size() / 2);
    return second ? std::vector<std::int64_t>(middle, both.end()) : std::vector<std::int64_t>(both.begin(), middle);
  };
  auto free_dims = [&](const Tensor& t, bool second) {
    std::vector<std::int64_t> dims;
    auto batch = half("batch", second), contract = half("contract", second);
    for (std::int64_t d = 0; d < t.type.rank(); ++d)
      if (std::count(batch.begin(), batch.end(), d) + std::count(contract.begin(), contract.end(), d) == 0) dims.push_back(d);
    return dims;
  };
  Shape contracted;
  for (std::int64_t d : half("contract", false)) contracted.push_back(x.type.shape[std::size_t(d)]);
  for (const Shape& index : indices(result.shape)) {
    Number sum = 0;
    for (const Shape& inner : indices(contracted)) {
      Shape x_index(x.type.shape.size()), y_index(y.type.shape.size());
      std::size_t next = 0;
      auto x_batch = half("batch", false), y_batch = half("batch", true);
      for (std::size_t i = 0; i < x_batch.size(); ++i) x_index[std::size_t(x_batch[i])] = y_index[std::size_t(y_batch[i])] = index[next++];
      for (std::int64_t d : free_dims(x, false)) x_index[std::size_t(d)] = index[next++];
      for (std::int64_t d : free_dims(y, true)) y_index[std::size_t(d)] = index[next++];
      auto x_contract = half("contract", false), y_contract = half("contract", true);
      for (std::size_t i = 0; i < inner.size(); ++i) x_index[std::size_t(x_contract[i])] = y_index[std::size_t(y_contract[i])] = inner[i];
      sum += left[flat(x_index, x.type.shape)] * right[flat(y_index, y.type.shape)];
    }
    out[flat(index, result.shape)] = is_whole(result.dtype) ? wrapped(sum.real(), result.dtype) : sum;
  }
  return out;
}

// Each element of the result is that of the operand at another index.
std::optional<std::vector<Number>> naive_moved(const OpDef& op, const Tensor& x, const Attrs& attrs, const TensorType& result) {
  std::vector<Number> in = numbers(x), out(std::size_t(result.elements()));
  if (op.name == "reshape") return in;
  if (op.name != "broadcast_in_dim" && op.name != "transpose") return std::nullopt;
  for (const Shape& index : indices(result.shape)) {
    Shape from(x.type.shape.size());
    for (std::size_t d = 0; d < from.size(); ++d) {
      if (op.name == "broadcast_in_dim")
        from[d] = x.type.shape[d] == 1 ? 0 : index[std::size_t(attrs.integers("dims")[d])];
      else
        from[std::size_t(attrs.integers("axes")[d])] = index[d];
    }
    out[flat(index, result.shape)] = in[flat(from, x.type.shape)];
  }
  return out;
}

std::vector<Number> naive_elementwise(const ScalarFunction& function, const std::vector<Tensor>& operands, const TensorType& result) {
  std::vector<std::vector<Number>> values;
  for (const Tensor& operand : operands) values.push_back(numbers(operand));
  std::vector<Number> out;
  for (std::size_t i = 0; i < std::size_t(result.elements()); ++i) {
    Arguments arguments;
    for (const auto& each : values) arguments.push_back(each.size() == 1 ? each[0] : each[i]);
    out.push_back(function(arguments, operands.back().type.dtype));
  }
  return out;
}

}  // namespace

std::optional<ScalarFunction> scalar_function(std::string_view op) {
  auto found = functions().find(op);
  if (found != functions().end()) return found->second;
  return naive_integral(op);
}

std::optional<Tensor> naive_result(const OpDef& op, const std::vector<Tensor>& operands, const Attrs& attrs, const TensorType& result) {
  if (op.name == "iota") {
    std::vector<Number> out;
    for (const Shape& index : indices(result.shape)) out.push_back(double(index[std::size_t(attrs.integer("dimension"))]));
    return tensor_from(result, out);
  }
  if (op.name == "dot_general") return tensor_from(result, naive_dot(operands[0], operands[1], attrs, result));
  if (op.name.starts_with("reduce_") && op.name != "reduce_window") {
    if (operands[0].type.elements() == 0) return std::nullopt;
    return tensor_from(result, naive_reduce(op, operands[0], attrs, result));
  }
  if (auto moved = naive_moves(op, operands, attrs, result)) return moved;
  if (auto found = naive_lookup(op, operands, attrs, result)) return found;
  if (auto function = scalar_function(op.name)) return tensor_from(result, naive_elementwise(*function, operands, result));
  if (operands.size() == 1)
    if (auto moved = naive_moved(op, operands[0], attrs, result)) return tensor_from(result, *moved);
  return std::nullopt;
}

}  // namespace shardlab::testing_ops
