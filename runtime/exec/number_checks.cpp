#include "runtime/exec/number_checks.h"

#include <cmath>
#include <complex>

namespace shardlab {
namespace {

template <typename T>
std::string_view kind_of(T value) {
  if constexpr (Cplx<T>) {
    const std::string_view real = kind_of(value.real());
    return real.empty() ? kind_of(value.imag()) : real;
  } else if constexpr (std::is_arithmetic_v<T>) {
    if constexpr (!std::is_floating_point_v<T>)
      return "";
    else
      return std::isnan(value) ? "nan" : std::isinf(value) ? "inf" : "";
  } else {
    return kind_of(float(value));
  }
}

Shape index_of(std::int64_t element, const Box& box) {
  Shape index(box.size());
  for (std::size_t d = box.size(); d-- > 0;) {
    index[d] = box[d].start + element % box[d].size();
    element /= box[d].size();
  }
  return index;
}

}  // namespace

std::optional<NoNumber> no_number_in(const NumberChecks& checks, DType dtype, const std::byte* elements, const Box& box) {
  return visit_dtype(dtype, [&]<typename T>(T) -> std::optional<NoNumber> {
    const T* values = reinterpret_cast<const T*>(elements);
    const std::int64_t count = element_count(box);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string_view kind = kind_of(values[i]);
      if ((checks.nans && kind == "nan") || (checks.infs && kind == "inf")) return NoNumber{kind, index_of(i, box), 0};
    }
    return std::nullopt;
  });
}

}  // namespace shardlab
