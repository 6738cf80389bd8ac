// Combines partial results element by element.
#include <type_traits>

#include "runtime/graph/op_def.h"

namespace shardlab {
namespace {

// Complex numbers compare by real, then imaginary part, as in JAX.
template <typename T>
bool greater(T a, T b) {
  if constexpr (Cplx<T>)
    return a.real() > b.real() || (a.real() == b.real() && a.imag() > b.imag());
  else
    return a > b;
}

template <Reduction kReduction, typename T>
T combined(T a, T b) {
  if constexpr (kReduction == Reduction::kMax) return greater(a, b) || a != a ? a : b;
  if constexpr (kReduction == Reduction::kMin) return greater(b, a) || a != a ? a : b;
  if constexpr (std::is_same_v<T, bool>) {
    if constexpr (kReduction == Reduction::kSum || kReduction == Reduction::kOr) return a || b;
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    using U = Wrapping<T>;
    if constexpr (kReduction == Reduction::kSum) return T(U(a) + U(b));
    if constexpr (kReduction == Reduction::kProd) return T(U(a) * U(b));
    if constexpr (kReduction == Reduction::kAnd) return T(a & b);
    return T(a | b);
  } else {
    if constexpr (kReduction == Reduction::kSum) return a + b;
    if constexpr (kReduction == Reduction::kProd) return a * b;
    throw InternalError("and, or: no reductions of floating point");
  }
}

template <Reduction kReduction>
void combine_all(DType dtype, std::byte* accumulator, const std::byte* values, std::int64_t count) {
  visit_dtype(dtype, [&](auto sample) {
    using T = decltype(sample);
    T* a = reinterpret_cast<T*>(accumulator);
    const T* b = reinterpret_cast<const T*>(values);
    if constexpr (Half<T>)
      for (std::int64_t i = 0; i < count; ++i) a[i] = T(combined<kReduction>(float(a[i]), float(b[i])));
    else
      for (std::int64_t i = 0; i < count; ++i) a[i] = combined<kReduction>(a[i], b[i]);
  });
}

}  // namespace

std::string_view name_of(Reduction reduction) {
  static constexpr std::string_view kNames[] = {"sum", "prod", "max", "min", "and", "or"};
  return kNames[std::size_t(reduction)];
}

void combine(Reduction reduction, DType dtype, std::byte* accumulator, const std::byte* values, std::int64_t count) {
  switch (reduction) {
    case Reduction::kSum:
      return combine_all<Reduction::kSum>(dtype, accumulator, values, count);
    case Reduction::kProd:
      return combine_all<Reduction::kProd>(dtype, accumulator, values, count);
    case Reduction::kMax:
      return combine_all<Reduction::kMax>(dtype, accumulator, values, count);
    case Reduction::kMin:
      return combine_all<Reduction::kMin>(dtype, accumulator, values, count);
    case Reduction::kAnd:
      return combine_all<Reduction::kAnd>(dtype, accumulator, values, count);
    case Reduction::kOr:
      return combine_all<Reduction::kOr>(dtype, accumulator, values, count);
  }
  throw InternalError("unknown reduction");
}

}  // namespace shardlab
