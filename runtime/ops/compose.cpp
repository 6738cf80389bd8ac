#include "runtime/ops/compose.h"

#include <optional>

#include "runtime/ops/moves.h"
#include "runtime/ops/reductions.h"
#include "runtime/ops/registry.h"
#include "runtime/ops/tile.h"

namespace shardlab::ops {
namespace {

Term binary_call(std::string_view op, const Term& x, const Item& y) { return call(x.builder(), op, {x, y}); }

}  // namespace

std::vector<Term> call_all(GraphBuilder& b, std::string_view op, const std::vector<Item>& operands, const Attrs& attrs) {
  const OpDef* def = find_op(op);
  SL_CHECK(def != nullptr, "no op is called {}", op);
  std::vector<Arg> args;
  for (const Item& operand : operands) args.push_back(operand.arg);
  std::optional<GraphBuilder::OpenCall> open;
  if (def->compiled_alone) open.emplace(b);
  std::vector<Term> results;
  for (ValueId id : def->expand(b, *def, args, attrs)) results.emplace_back(b, id);
  return results;
}

Term call(GraphBuilder& b, std::string_view op, const std::vector<Item>& operands, const Attrs& attrs) {
  return call_all(b, op, operands, attrs).at(0);
}
Term call(std::string_view op, const Term& x, const Attrs& attrs) { return call(x.builder(), op, {x}, attrs); }

Term operator+(const Term& x, const Item& y) { return binary_call("add", x, y); }
Term operator-(const Term& x, const Item& y) { return binary_call("sub", x, y); }
Term operator*(const Term& x, const Item& y) { return binary_call("mul", x, y); }
Term operator/(const Term& x, const Item& y) { return binary_call("div", x, y); }
Term operator+(double x, const Term& y) { return call(y.builder(), "add", {x, y}); }
Term operator-(double x, const Term& y) { return call(y.builder(), "sub", {x, y}); }
Term operator*(double x, const Term& y) { return call(y.builder(), "mul", {x, y}); }
Term operator/(double x, const Term& y) { return call(y.builder(), "div", {x, y}); }
Term operator-(const Term& x) { return call("neg", x); }
Term operator<(const Term& x, const Item& y) { return binary_call("less", x, y); }
Term operator<=(const Term& x, const Item& y) { return binary_call("less_equal", x, y); }
Term operator>(const Term& x, const Item& y) { return binary_call("greater", x, y); }
Term operator>=(const Term& x, const Item& y) { return binary_call("greater_equal", x, y); }
Term operator==(const Term& x, const Item& y) { return binary_call("equal", x, y); }
Term operator!=(const Term& x, const Item& y) { return binary_call("not_equal", x, y); }
Term operator&(const Term& x, const Term& y) { return binary_call("and", x, y); }
Term operator|(const Term& x, const Term& y) { return binary_call("or", x, y); }
Term operator!(const Term& x) { return call("logical_not", x); }
Term where(const Term& condition, const Item& x, const Item& y) { return call(condition.builder(), "where", {condition, x, y}); }
ValueId where(GraphBuilder& b, ValueId condition, ValueId x, ValueId y) { return where(Term(b, condition), Term(b, x), Term(b, y)).id(); }
Term selected(const Term& condition, const Item& x, const Item& y) { return call(condition.builder(), "select", {condition, x, y}); }

Term converted(const Term& x, DType dtype) { return {x.builder(), converted(x.builder(), x.id(), dtype)}; }
Term as_inexact(const Term& x) { return converted(x, inexact(x.dtype())); }
Term as_inexact_beside(const Term& x, WeakKind kind) { return converted(x, inexact_beside(x.builder(), x.dtype(), kind)); }
Term as_default_integer(const Term& x) { return {x.builder(), as_default_integer(x.builder(), x.id())}; }
Term reshaped(const Term& x, const Shape& shape) { return {x.builder(), reshaped(x.builder(), x.id(), shape)}; }
Term raveled(const Term& x) { return reshaped(x, {x.elements()}); }
Term transposed(const Term& x, const std::vector<int>& axes) { return {x.builder(), transposed(x.builder(), x.id(), axes)}; }
Term broadcast(const Term& x, const Shape& shape) { return {x.builder(), broadcast_to(x.builder(), x.id(), shape)}; }

Term sliced(const Term& x, int dim, std::int64_t start, std::int64_t stop, std::int64_t stride) {
  return {x.builder(), slice_in_dim(x.builder(), x.id(), dim < 0 ? dim + x.rank() : dim, {start, stop}, stride)};
}
Term part(const Term& x, int dim, std::int64_t index) {
  Shape shape = x.shape();
  if (dim < 0) dim += x.rank();
  shape.erase(shape.begin() + dim);
  return reshaped(sliced(x, dim, index, index + 1), shape);
}
Term joined(const std::vector<Term>& parts, int dim) { return {parts[0].builder(), joined(parts[0].builder(), ids(parts), dim)}; }
Term stacked(const std::vector<Term>& parts, int dim) {
  return call(parts[0].builder(), "stack", {parts.begin(), parts.end()}, Attrs{{"axis", std::int64_t(dim)}});
}
Term filled_like(const Term& x, double value) { return {x.builder(), filled(x.builder(), x.type(), value)}; }
Term numbers(GraphBuilder& b, DType dtype, std::int64_t count) {
  return {b, b.emit1(kIota, {}, Attrs{{"dtype", dtype}, {"shape", Shape{count}}, {"dimension", std::int64_t(0)}})};
}
Term constant_vector(GraphBuilder& b, DType dtype, std::span<const double> values) {
  Buffer buffer(std::size_t(size_of(dtype)) * values.size());
  visit_dtype(dtype, [&]<typename T>(T) {
    for (std::size_t i = 0; i < values.size(); ++i) buffer.as<T>()[i] = element_from<T>(values[i]);
  });
  Literal literal{{dtype, {std::int64_t(values.size())}}, std::make_shared<Buffer>(std::move(buffer))};
  return {b, b.emit1(kConstant, {}, Attrs{{"value", std::make_shared<const Literal>(std::move(literal))}})};
}
Term taken(const Term& x, const Term& indices, int dim) {
  std::vector<std::int64_t> offset, sizes = x.shape(), one{dim};
  sizes[std::size_t(dim)] = 1;
  for (int d = 0; d < x.rank() - 1; ++d) offset.push_back(d < dim ? d : d + indices.rank());
  return gathered_within(x, expanded(indices, indices.rank()), offset, one, sizes);
}
Term gathered_within(const Term& x, const Term& indices, const std::vector<std::int64_t>& offset,
                     const std::vector<std::int64_t>& collapsed, const std::vector<std::int64_t>& sizes) {
  // What is known to lie within needs no clamping, in the transpose neither.
  Attrs attrs{{"offset_dims", offset}, {"collapsed_slice_dims", collapsed}, {"start_index_map", collapsed}, {"slice_sizes", sizes}};
  return {x.builder(), x.builder().emit1(kGather, {x.id(), indices.id()}, attrs.set("is_masked", true))};
}
Term expanded(const Term& x, int dim) {
  Shape shape = x.shape();
  shape.insert(shape.begin() + (dim < 0 ? dim + x.rank() + 1 : dim), 1);
  return reshaped(x, shape);
}
Term summed(const Term& x, const std::vector<std::int64_t>& axes, bool keepdims) {
  return call("sum", x, Attrs{{"axis", axes}, {"keepdims", keepdims}});
}

Values ids(const std::vector<Term>& terms) {
  Values values;
  for (const Term& term : terms) values.push_back(term.id());
  return values;
}

Term term(GraphBuilder& b, const Arg& arg) { return {b, arg}; }

std::vector<Term> promoted_terms(GraphBuilder& b, Args args) {
  DType dtype = promoted_dtype(b, args);
  std::vector<Term> terms;
  for (const Arg& arg : args) terms.emplace_back(b, value_of(b, arg, dtype));
  return terms;
}

std::optional<Arg> named_operand(const OpDef& op, Args args, const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  if (value == nullptr) return std::nullopt;
  const auto* given = std::get_if<std::int64_t>(value);
  if (given == nullptr) throw_user_error("{}: '{}' must be an operand's place, an integer", op.name, name);
  std::int64_t place = *given;
  if (place < 0 || place >= std::int64_t(args.size()))
    throw_user_error("{}: '{}' is operand {}, of {}; give it by name", op.name, name, place, args.size());
  return args[std::size_t(place)];
}

namespace {

// Nothing where the call has neither.
std::optional<Scalar> static_scalar(const OpDef& op, Args args, std::size_t place, const Attrs& attrs, std::string_view name) {
  if (place < args.size()) {
    if (const auto* scalar = std::get_if<Scalar>(&args[place])) return *scalar;
    throw_user_error("{}: '{}' must be a number known when the program is built, got an array", op.name, name);
  }
  const AttrValue* value = attrs.find(name);
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return Scalar{*whole};
  return Scalar{attrs.number(name)};
}

}  // namespace

std::int64_t static_integer(const OpDef& op, Args args, std::size_t place, const Attrs& attrs, std::string_view name,
                            std::optional<std::int64_t> otherwise) {
  std::optional<Scalar> given = static_scalar(op, args, place, attrs, name);
  if (!given && otherwise) return *otherwise;
  if (!given) throw_user_error("{}: '{}' is missing", op.name, name);
  if (const auto* whole = std::get_if<std::int64_t>(&given->value)) return *whole;
  throw_user_error("{}: '{}' must be an integer", op.name, name);
}

double static_number(const OpDef& op, Args args, std::size_t place, const Attrs& attrs, std::string_view name,
                     std::optional<double> otherwise) {
  std::optional<Scalar> given = static_scalar(op, args, place, attrs, name);
  if (!given && otherwise) return *otherwise;
  if (!given) throw_user_error("{}: '{}' is missing", op.name, name);
  if (const auto* whole = std::get_if<std::int64_t>(&given->value)) return double(*whole);
  if (const auto* real = std::get_if<double>(&given->value)) return *real;
  throw_user_error("{}: '{}' must be a real number", op.name, name);
}

std::vector<double> number_list(const OpDef& op, const Attrs& attrs, std::string_view name) {
  const AttrValue* value = attrs.find(name);
  if (value == nullptr) return {};
  if (const auto* whole = std::get_if<std::int64_t>(value)) return {double(*whole)};
  if (const auto* real = std::get_if<double>(value)) return {*real};
  const auto* literal = std::get_if<std::shared_ptr<const Literal>>(value);
  if (literal == nullptr) throw_user_error("{}: '{}' must be a list of numbers", op.name, name);
  std::vector<double> numbers;
  visit_dtype((*literal)->type.dtype, [&]<typename T>(T) {
    for (std::int64_t i = 0; i < (*literal)->type.elements(); ++i) numbers.push_back(element_from<double>((*literal)->data->as<T>()[i]));
  });
  return numbers;
}

}  // namespace shardlab::ops
