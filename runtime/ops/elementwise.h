// The definitions of elementwise ops, given their functors.
#pragma once

#include <cmath>

#include "runtime/ops/elementwise_rules.h"
#include "runtime/ops/lower.h"
#include "runtime/ops/tile.h"

namespace shardlab::ops {

using Expand = Values (*)(GraphBuilder&, const OpDef&, Args, const Attrs&);

template <typename F, int kOperands>
constexpr OpDef elementwise_op(std::string_view name, std::string_view doc, Expand expand, std::span<const std::string_view> aliases = {}) {
  return {.name = name,
          .doc = doc,
          .aliases = aliases,
          .operands_min = kOperands,
          .operands_max = kOperands,
          .expand = expand,
          .infer = elementwise_infer<F, kOperands>,
          .rule = elementwise_rule,
          .kernel = elementwise_kernel<tile_of<F, kOperands>>,
          .tile = tile_of<F, kOperands>,
          .elementwise = true,
          .jvp = elementwise_jvp(name),
          .transpose = elementwise_transpose(name),
          .samples = elementwise_samples<F, kOperands>};
}
template <typename F>
constexpr OpDef unary_op(std::string_view name, std::string_view doc, Expand expand, std::span<const std::string_view> aliases = {}) {
  return elementwise_op<F, 1>(name, doc, expand, aliases);
}
template <typename F>
constexpr OpDef binary_op(std::string_view name, std::string_view doc, Expand expand, std::span<const std::string_view> aliases = {}) {
  return elementwise_op<F, 2>(name, doc, expand, aliases);
}

// Complex functions are evaluated in double and rounded once.
template <Cplx T, typename Function>
T in_double(T x, Function function) {
  return T(function(Complex128(x)));
}

// A functor for real and complex numbers out of a function of double and one of Complex128.
#define SHARDLAB_MATH_FUNCTION(Name, real, ...) \
  struct Name {                                 \
    template <Real T>                           \
    SHARDLAB_INLINE T operator()(T x) const {   \
      return T(real(double(x)));                \
    }                                           \
    template <Cplx T>                           \
    SHARDLAB_INLINE T operator()(T x) const {   \
      return in_double(x, __VA_ARGS__);         \
    }                                           \
  };
// The same for real numbers alone.
#define SHARDLAB_REAL_FUNCTION(Name, real)    \
  struct Name {                               \
    template <Real T>                         \
    SHARDLAB_INLINE T operator()(T x) const { \
      return T(real(double(x)));              \
    }                                         \
  };
// Of float by vector_math, of double by the standard library.
#define SHARDLAB_VECTOR_FUNCTION(Name, function, ...) \
  struct Name {                                       \
    template <Real T>                                 \
    SHARDLAB_INLINE T operator()(T x) const {         \
      if constexpr (std::is_same_v<T, float>)         \
        return T(vector_math::function(x));           \
      else                                            \
        return std::function(x);                      \
    }                                                 \
    template <Cplx T>                                 \
    SHARDLAB_INLINE T operator()(T x) const {         \
      return in_double(x, __VA_ARGS__);               \
    }                                                 \
  };

}  // namespace shardlab::ops
