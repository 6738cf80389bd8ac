// Expansions written as the mathematics reads: terms with operators, and any op by its user's name, with its promotion and broadcasting.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ops/lower.h"
#include "runtime/ops/named_operands.h"

namespace shardlab::ops {

// A value of the graph being built.
class Term {
 public:
  Term(GraphBuilder& b, ValueId id) : b_(&b), id_(id) {}
  Term(GraphBuilder& b, const Arg& arg) : b_(&b), id_(value_of(b, arg)) {}

  GraphBuilder& builder() const { return *b_; }
  ValueId id() const { return id_; }
  TensorType type() const { return b_->type(id_); }
  Shape shape() const { return b_->shape(id_); }
  DType dtype() const { return type().dtype; }
  int rank() const { return type().rank(); }
  std::int64_t size(int dim) const { return shape()[std::size_t(dim < 0 ? dim + rank() : dim)]; }
  std::int64_t elements() const { return type().elements(); }
  std::string text() const { return type().text(); }

 private:
  GraphBuilder* b_;
  ValueId id_;
};

using Terms = std::vector<Term>;

// An operand of `call`: a term, or a number that takes the other operands' dtype.
struct Item {
  Arg arg;
  Item(const Term& term) : arg(term.id()) {}   // NOLINT: implicit on purpose
  Item(const Scalar& scalar) : arg(scalar) {}  // NOLINT
  template <std::floating_point T>
  Item(T value) : arg(Scalar{double(value)}) {}  // NOLINT
  template <std::integral T>
  Item(T value) : arg(Scalar{std::int64_t(value)}) {}  // NOLINT
};

std::vector<Term> call_all(GraphBuilder& b, std::string_view op, const std::vector<Item>& operands, const Attrs& attrs = {});
Term call(GraphBuilder& b, std::string_view op, const std::vector<Item>& operands, const Attrs& attrs = {});
Term call(std::string_view op, const Term& x, const Attrs& attrs = {});

Term operator+(const Term& x, const Item& y);
Term operator-(const Term& x, const Item& y);
Term operator*(const Term& x, const Item& y);
Term operator/(const Term& x, const Item& y);
Term operator+(double x, const Term& y);
Term operator-(double x, const Term& y);
Term operator*(double x, const Term& y);
Term operator/(double x, const Term& y);
Term operator-(const Term& x);
Term operator<(const Term& x, const Item& y);
Term operator<=(const Term& x, const Item& y);
Term operator>(const Term& x, const Item& y);
Term operator>=(const Term& x, const Item& y);
Term operator==(const Term& x, const Item& y);
Term operator!=(const Term& x, const Item& y);
Term operator&(const Term& x, const Term& y);
Term operator|(const Term& x, const Term& y);
Term operator!(const Term& x);
// jax.numpy.where and jax.lax.select: the first is a call of its own (runtime/graph/call.h), the second one is none.
Term where(const Term& condition, const Item& x, const Item& y);
ValueId where(GraphBuilder& b, ValueId condition, ValueId x, ValueId y);
Term selected(const Term& condition, const Item& x, const Item& y);

Term converted(const Term& x, DType dtype);
// Integers and bool as float32, those of 64 bits as float64.
Term as_inexact(const Term& x);
Term as_inexact_beside(const Term& x, WeakKind kind);
Term as_default_integer(const Term& x);
Term reshaped(const Term& x, const Shape& shape);
Term raveled(const Term& x);
Term transposed(const Term& x, const std::vector<int>& axes);
Term broadcast(const Term& x, const Shape& shape);
// [start, stop) of a dimension; one index of it, without the dimension.
Term sliced(const Term& x, int dim, std::int64_t start, std::int64_t stop, std::int64_t stride = 1);
Term part(const Term& x, int dim, std::int64_t index);
Term joined(const std::vector<Term>& parts, int dim);
Term stacked(const std::vector<Term>& parts, int dim);
Term filled_like(const Term& x, double value);
Term numbers(GraphBuilder& b, DType dtype, std::int64_t count);  // 0, 1 … count - 1
Term constant_vector(GraphBuilder& b, DType dtype, std::span<const double> values);
Term taken(const Term& x, const Term& indices, int dim);  // indices are known to lie within
// The same by index vectors, in the indices' last dimension, of the dimensions that windows lack.
Term gathered_within(const Term& x, const Term& indices, const std::vector<std::int64_t>& offset,
                     const std::vector<std::int64_t>& collapsed, const std::vector<std::int64_t>& sizes);
Term expanded(const Term& x, int dim);
Term summed(const Term& x, const std::vector<std::int64_t>& axes, bool keepdims = false);

Values ids(const std::vector<Term>& terms);

// --- What a call was given.

Term term(GraphBuilder& b, const Arg& arg);
// The operands promoted together, unlike shapes allowed.
std::vector<Term> promoted_terms(GraphBuilder& b, Args args);
// The operand that an attribute of kNamedOperand stands for; nothing where it is absent.
std::optional<Arg> named_operand(const OpDef& op, Args args, const Attrs& attrs, std::string_view name);
// A number known when the program is built: operand `place`, or the attribute, or `otherwise`. UserError where it is an array.
std::int64_t static_integer(const OpDef& op, Args args, std::size_t place, const Attrs& attrs, std::string_view name,
                            std::optional<std::int64_t> otherwise = {});
double static_number(const OpDef& op, Args args, std::size_t place, const Attrs& attrs, std::string_view name,
                     std::optional<double> otherwise = {});
// An attribute of AttrDef::Kind::kLiteral as numbers.
std::vector<double> number_list(const OpDef& op, const Attrs& attrs, std::string_view name);

// A composite's definition.
using Expand = Values (*)(GraphBuilder&, const OpDef&, Args, const Attrs&);
struct CompositeForm {
  std::string_view name, doc;
  Expand expand;
  int operands_min = 1, operands_max = 1;
  std::span<const AttrDef> attrs = {};
  std::span<const std::string_view> aliases = {};
  Weakness weakness = Weakness::kNever;
};
constexpr OpDef composite_of(const CompositeForm& form) {
  return {.name = form.name,
          .doc = form.doc,
          .aliases = form.aliases,
          .operands_min = form.operands_min,
          .operands_max = form.operands_max,
          .attrs = form.attrs,
          .weakness = form.weakness,
          .expand = form.expand};
}
// Whose results are weak where all operands are.
constexpr OpDef weak_composite_of(const CompositeForm& form) { return with_weakness(Weakness::kOfAll, composite_of(form)); }

}  // namespace shardlab::ops
