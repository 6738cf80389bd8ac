// Elementwise comparisons, with results of dtype bool.
#include "runtime/ops/elementwise.h"

namespace shardlab::ops {
namespace {

// Order of complex numbers: by real, then imaginary part.
template <typename T>
SHARDLAB_INLINE bool less(T x, T y) {
  if constexpr (Cplx<T>)
    return x.real() < y.real() || (x.real() == y.real() && x.imag() < y.imag());
  else
    return x < y;
}

struct Equal {
  template <typename T>
  SHARDLAB_INLINE bool operator()(T x, T y) const {
    return x == y;
  }
};
struct NotEqual {
  template <typename T>
  SHARDLAB_INLINE bool operator()(T x, T y) const {
    return x != y;
  }
};
struct Less {
  template <typename T>
  SHARDLAB_INLINE bool operator()(T x, T y) const {
    return less(x, y);
  }
};
struct LessEqual {
  template <typename T>
  SHARDLAB_INLINE bool operator()(T x, T y) const {
    return less(x, y) | (x == y);
  }
};
struct Greater {
  template <typename T>
  SHARDLAB_INLINE bool operator()(T x, T y) const {
    return less(y, x);
  }
};
struct GreaterEqual {
  template <typename T>
  SHARDLAB_INLINE bool operator()(T x, T y) const {
    return less(y, x) | (x == y);
  }
};

// jax.lax's names.
constexpr std::string_view kEqualAliases[] = {"eq"};
constexpr std::string_view kNotEqualAliases[] = {"ne"};
constexpr std::string_view kLessAliases[] = {"lt"};
constexpr std::string_view kLessEqualAliases[] = {"le"};
constexpr std::string_view kGreaterAliases[] = {"gt"};
constexpr std::string_view kGreaterEqualAliases[] = {"ge"};

}  // namespace

const OpDef kEqual = binary_op<Equal>("equal", "x == y with broadcasting; NaN equals nothing.", expand_promoted, kEqualAliases);
const OpDef kNotEqual =
    binary_op<NotEqual>("not_equal", "x != y with broadcasting; NaN differs from everything.", expand_promoted, kNotEqualAliases);
const OpDef kLess = binary_op<Less>("less", "x < y with broadcasting.", expand_promoted, kLessAliases);
const OpDef kLessEqual = binary_op<LessEqual>("less_equal", "x <= y with broadcasting.", expand_promoted, kLessEqualAliases);
const OpDef kGreater = binary_op<Greater>("greater", "x > y with broadcasting.", expand_promoted, kGreaterAliases);
const OpDef kGreaterEqual = binary_op<GreaterEqual>("greater_equal", "x >= y with broadcasting.", expand_promoted, kGreaterEqualAliases);

}  // namespace shardlab::ops
