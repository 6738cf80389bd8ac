// Elementwise comparisons, with results of dtype bool.
#include "runtime/ops/lower.h"
#include "runtime/ops/tile.h"

namespace shardlab::ops {
namespace {

// Order of complex numbers: by real, then imaginary part.
template <typename T>
SHARDLAB_INLINE bool less(T x, T y) {
  if constexpr (std::is_same_v<T, Complex64>)
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

template <typename F>
constexpr OpDef comparison(std::string_view name, std::string_view doc) {
  return {.name = name,
          .doc = doc,
          .operands_min = 2,
          .operands_max = 2,
          .expand = expand_promoted,
          .infer = elementwise_infer<F, 2>,
          .rule = elementwise_rule,
          .kernel = elementwise_kernel<tile_of<F, 2>>,
          .tile = tile_of<F, 2>,
          .elementwise = true,
          .samples = elementwise_samples<F, 2>};
}

}  // namespace

const OpDef kEqual = comparison<Equal>("equal", "x == y with broadcasting; NaN equals nothing.");
const OpDef kNotEqual = comparison<NotEqual>("not_equal", "x != y with broadcasting; NaN differs from everything.");
const OpDef kLess = comparison<Less>("less", "x < y with broadcasting.");
const OpDef kLessEqual = comparison<LessEqual>("less_equal", "x <= y with broadcasting.");
const OpDef kGreater = comparison<Greater>("greater", "x > y with broadcasting.");
const OpDef kGreaterEqual = comparison<GreaterEqual>("greater_equal", "x >= y with broadcasting.");

}  // namespace shardlab::ops
