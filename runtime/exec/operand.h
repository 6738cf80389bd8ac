// Operand: what ops take; made implicitly from an Array or a number, with the caller's source line.
#pragma once

#include <complex>
#include <concepts>
#include <optional>
#include <source_location>
#include <variant>

#include "runtime/exec/array.h"
#include "runtime/graph/op_def.h"

namespace shardlab {

namespace detail {
// As first member it makes an options struct initialisable by names only, so that sum(x, {0, 1}) can mean nothing but two axes.
struct ByNameOnly {
  explicit constexpr ByNameOnly() {}
};
}  // namespace detail

class Operand {
 public:
  Operand(const Array& array, std::source_location where = std::source_location::current())  // NOLINT: implicit on purpose
      : value_(array), where_(Where::from(where)) {}
  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  Operand(T number, std::source_location where = std::source_location::current())  // NOLINT
      : value_(scalar(number)), where_(Where::from(where)) {}
  Operand(std::complex<double> number, std::source_location where = std::source_location::current())  // NOLINT
      : value_(Scalar{number}), where_(Where::from(where)) {}
  Operand(const Array& array, Where where) : value_(array), where_(where) {}
  Operand(Scalar scalar, Where where) : value_(scalar), where_(where) {}

  bool is_array() const { return std::holds_alternative<Array>(value_); }
  const Array& array() const { return std::get<Array>(value_); }
  const Scalar& scalar() const { return std::get<Scalar>(value_); }
  Where where() const { return where_; }

 private:
  template <typename T>
  static Scalar scalar(T number) {
    if constexpr (std::same_as<T, bool>)
      return Scalar{number};
    else if constexpr (std::integral<T>)
      return Scalar{static_cast<std::int64_t>(number)};
    else
      return Scalar{static_cast<double>(number)};
  }
  std::variant<Array, Scalar> value_;
  Where where_;
};

// Runs any op of the registry on operands: eagerly, as a cached program of one call; inside jit it adds nodes. Operands without arrays
// make an array on the default device. `where` is the user's line. UserError as the op documents.
std::vector<Array> apply(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, Where where);
// With the sharding that the results are computed in: their out-sharding, never gathered first.
std::vector<Array> apply_to(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, Where where,
                            const std::optional<Sharding>& out_sharding);
// The same by name; UserError with the nearest name where there is none.
std::vector<Array> apply(std::string_view op, const std::vector<Operand>& operands, const Attrs& attrs, Where where);

}  // namespace shardlab
