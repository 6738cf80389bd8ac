// Elementwise ops of one operand.
#include <cmath>

#include "runtime/ops/derive.h"
#include "runtime/ops/tile.h"
#include "runtime/ops/vector_math.h"

namespace shardlab::ops {
namespace {

using Complex = std::complex<double>;
template <typename T>
concept Real = std::is_same_v<T, float>;
template <typename T>
concept Whole = std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t>;
template <typename T>
concept Cplx = std::is_same_v<T, Complex64>;
template <typename T>
concept Bool = std::is_same_v<T, bool>;

// Complex functions are evaluated in double and rounded once.
template <typename Function>
Complex64 in_double(Complex64 x, Function function) {
  Complex y = function(Complex(x.real(), x.imag()));
  return {float(y.real()), float(y.imag())};
}

struct Neg {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x) const {
    return T(0u - std::uint32_t(x));
  }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return -x;
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x) const {
    return -x;
  }
};
struct Abs {
  SHARDLAB_INLINE std::uint32_t operator()(std::uint32_t x) const { return x; }
  SHARDLAB_INLINE std::int32_t operator()(std::int32_t x) const { return x < 0 ? std::int32_t(0u - std::uint32_t(x)) : x; }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return std::fabs(x);
  }
  template <Cplx T>
  SHARDLAB_INLINE float operator()(T x) const {
    double re = x.real(), im = x.imag();
    if (std::isinf(re) || std::isinf(im)) return std::numeric_limits<float>::infinity();
    return float(std::sqrt(re * re + im * im));
  }
};
struct Sign {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x) const {
    return T(T(x > 0) - T(x < T(0)));
  }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return x > 0 ? 1.0f : (x < 0 ? -1.0f : x);
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x) const {
    if (x.real() == 0 && x.imag() == 0) return x;
    return in_double(x, [](Complex z) { return z / std::abs(z); });
  }
};

#define SHARDLAB_TRIGONOMETRIC(Name, function)                         \
  struct Name {                                                        \
    template <Real T>                                                  \
    SHARDLAB_INLINE T operator()(T x) const {                          \
      return T(vector_math::function(x));                              \
    }                                                                  \
    template <Real T>                                                  \
    SHARDLAB_INLINE static bool is_hard(T x) {                         \
      return !(std::fabs(x) < vector_math::kTrigonometricMax);         \
    }                                                                  \
    template <Real T>                                                  \
    static T hard(T x) {                                               \
      return T(std::function(double(x)));                              \
    }                                                                  \
    template <Cplx T>                                                  \
    SHARDLAB_INLINE T operator()(T x) const {                          \
      return in_double(x, [](Complex z) { return std::function(z); }); \
    }                                                                  \
  };
SHARDLAB_TRIGONOMETRIC(Sin, sin)
SHARDLAB_TRIGONOMETRIC(Cos, cos)
SHARDLAB_TRIGONOMETRIC(Tan, tan)
#undef SHARDLAB_TRIGONOMETRIC

#define SHARDLAB_VECTOR_FUNCTION(Name, function, ...) \
  struct Name {                                       \
    template <Real T>                                 \
    SHARDLAB_INLINE T operator()(T x) const {         \
      return T(vector_math::function(x));             \
    }                                                 \
    template <Cplx T>                                 \
    SHARDLAB_INLINE T operator()(T x) const {         \
      return in_double(x, __VA_ARGS__);               \
    }                                                 \
  };
SHARDLAB_VECTOR_FUNCTION(Exp, exp, [](Complex z) { return std::exp(z); })
SHARDLAB_VECTOR_FUNCTION(Log, log, [](Complex z) { return std::log(z); })
SHARDLAB_VECTOR_FUNCTION(Tanh, tanh, [](Complex z) { return std::tanh(z); })
SHARDLAB_VECTOR_FUNCTION(Expm1, expm1, [](Complex z) {
  double half = std::sin(z.imag() / 2);  // without cancellation for small z
  return Complex(std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half, std::exp(z.real()) * std::sin(z.imag()));
})
SHARDLAB_VECTOR_FUNCTION(Log1p, log1p, [](Complex z) {
  double re = z.real(), im = z.imag();
  return Complex(0.5 * std::log1p(re * (2 + re) + im * im), std::atan2(im, 1 + re));
})
#undef SHARDLAB_VECTOR_FUNCTION

struct Sqrt {
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return std::sqrt(x);
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x) const {
    return in_double(x, [](Complex z) { return std::sqrt(z); });
  }
};
struct Rsqrt {
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return T(1.0 / std::sqrt(double(x)));
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x) const {
    return in_double(x, [](Complex z) { return 1.0 / std::sqrt(z); });
  }
};
struct Floor {
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return std::floor(x);
  }
};
struct Ceil {
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return std::ceil(x);
  }
};
struct Round {  // half to even, as NumPy
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return std::nearbyint(x);
  }
};
struct Logistic {
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return T(1.0 / (1.0 + vector_math::exp(-double(x))));
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x) const {
    return in_double(x, [](Complex z) { return 1.0 / (1.0 + std::exp(-z)); });
  }
};
struct Erf {
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return T(std::erf(double(x)));
  }
};
struct IsFinite {
  template <Real T>
  SHARDLAB_INLINE bool operator()(T x) const {
    return std::fabs(x) <= std::numeric_limits<float>::max();
  }
};
struct Not {
  template <Bool T>
  SHARDLAB_INLINE T operator()(T x) const {
    return !x;
  }
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x) const {
    return ~x;
  }
};
struct RealPart {
  template <Cplx T>
  SHARDLAB_INLINE float operator()(T x) const {
    return x.real();
  }
};
struct ImagPart {
  template <Cplx T>
  SHARDLAB_INLINE float operator()(T x) const {
    return x.imag();
  }
};
struct Conj {
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x) const {
    return std::conj(x);
  }
};

// jnp.floor and its like leave integers as they are.
Values expand_rounding(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  DType dtype = b.type(x).dtype;
  if (is_integer(dtype) || dtype == DType::kBool) return {x};
  return b.emit(op, {x}, attrs);
}
// real, conj of a real array is the array itself.
Values expand_real(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (!is_complex(b.type(x).dtype)) return {x};
  return b.emit(op, {x}, attrs);
}
Values expand_imag(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (!is_complex(b.type(x).dtype)) return {filled(b, b.type(x), 0.0)};
  return b.emit(op, {x}, attrs);
}

ValueId sin_derivative(GraphBuilder& b, ValueId x, ValueId) { return unary(b, kCos, x); }

template <typename F>
constexpr OpDef unary_op(std::string_view name, std::string_view doc, Values (*expand)(GraphBuilder&, const OpDef&, Args, const Attrs&),
                         JvpRule jvp = nullptr, std::span<const std::string_view> aliases = {}) {
  return {.name = name,
          .doc = doc,
          .aliases = aliases,
          .expand = expand,
          .infer = elementwise_infer<F, 1>,
          .rule = elementwise_rule,
          .kernel = elementwise_kernel<tile_of<F, 1>>,
          .tile = tile_of<F, 1>,
          .elementwise = true,
          .jvp = jvp,
          .samples = elementwise_samples<F, 1>};
}

constexpr std::string_view kNegAliases[] = {"negative"};
constexpr std::string_view kAbsAliases[] = {"absolute"};
constexpr std::string_view kIsFiniteAliases[] = {"isfinite"};
constexpr std::string_view kNotAliases[] = {"bitwise_not", "invert"};
constexpr std::string_view kConjAliases[] = {"conjugate"};
constexpr std::string_view kLogisticAliases[] = {"sigmoid"};

}  // namespace

const OpDef kNeg = unary_op<Neg>("neg", "-x, element by element; integers wrap around.", expand_plain, nullptr, kNegAliases);
const OpDef kAbs =
    unary_op<Abs>("abs", "The absolute value; of complex numbers the magnitude, as float32.", expand_plain, nullptr, kAbsAliases);
const OpDef kSign = unary_op<Sign>("sign", "-1, 0 or 1 by the sign; NaN stays; complex: x / abs(x).", expand_plain);
const OpDef kSin = unary_op<Sin>("sin", "The sine in radians. Integers become float32.", expand_inexact, scaling_jvp<sin_derivative>);
const OpDef kCos = unary_op<Cos>("cos", "The cosine in radians. Integers become float32.", expand_inexact);
const OpDef kTan = unary_op<Tan>("tan", "The tangent in radians. Integers become float32.", expand_inexact);
const OpDef kTanh = unary_op<Tanh>("tanh", "The hyperbolic tangent. Integers become float32.", expand_inexact);
const OpDef kExp = unary_op<Exp>("exp", "e to the power x. Integers become float32.", expand_inexact);
const OpDef kExpm1 = unary_op<Expm1>("expm1", "exp(x) - 1, accurate for small x. Integers become float32.", expand_inexact);
const OpDef kLog = unary_op<Log>("log", "The natural logarithm; -inf at 0, NaN below. Integers become float32.", expand_inexact);
const OpDef kLog1p = unary_op<Log1p>("log1p", "log(1 + x), accurate for small x. Integers become float32.", expand_inexact);
const OpDef kSqrt = unary_op<Sqrt>("sqrt", "The square root; NaN below 0. Integers become float32.", expand_inexact);
const OpDef kRsqrt = unary_op<Rsqrt>("rsqrt", "1 / sqrt(x). Integers become float32.", expand_inexact);
const OpDef kFloor = unary_op<Floor>("floor", "The largest whole number not above x; integers stay.", expand_rounding);
const OpDef kCeil = unary_op<Ceil>("ceil", "The smallest whole number not below x; integers stay.", expand_rounding);
const OpDef kRound = unary_op<Round>("round", "The nearest whole number, halves to even; integers stay.", expand_rounding);
const OpDef kLogistic = unary_op<Logistic>("logistic", "1 / (1 + exp(-x)).", expand_inexact, nullptr, kLogisticAliases);
const OpDef kErf = unary_op<Erf>("erf", "The error function of real numbers.", expand_inexact);
const OpDef kIsFinite =
    unary_op<IsFinite>("is_finite", "Whether x is neither infinite nor NaN.", expand_inexact, nullptr, kIsFiniteAliases);
const OpDef kNot = unary_op<Not>("not", "Every bit inverted; of bool the negation.", expand_plain, nullptr, kNotAliases);
const OpDef kReal = unary_op<RealPart>("real", "The real part, float32; real arrays stay.", expand_real);
const OpDef kImag = unary_op<ImagPart>("imag", "The imaginary part, float32; 0 for real arrays.", expand_imag);
const OpDef kConj = unary_op<Conj>("conj", "The complex conjugate; real arrays stay.", expand_real, nullptr, kConjAliases);

}  // namespace shardlab::ops
