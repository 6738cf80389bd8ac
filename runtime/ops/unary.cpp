// Elementwise ops of one operand: arithmetic, roots, rounding, bits and parts.
#include <bit>

#include "runtime/ops/elementwise.h"
#include "runtime/ops/unary.h"

namespace shardlab::ops {
namespace {

struct Neg {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x) const {
    return T(Wrapping<T>(0) - Wrapping<T>(x));
  }
  template <typename T>
    requires Real<T> || Cplx<T>
  SHARDLAB_INLINE T operator()(T x) const {
    return -x;
  }
};
struct Abs {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x) const {
    return x < T(0) ? T(Wrapping<T>(0) - Wrapping<T>(x)) : x;
  }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return std::fabs(x);
  }
  template <Cplx T>
  SHARDLAB_INLINE typename T::value_type operator()(T x) const {
    using R = typename T::value_type;
    if constexpr (std::is_same_v<R, double>) return std::hypot(x.real(), x.imag());
    double re = x.real(), im = x.imag();
    if (std::isinf(re) || std::isinf(im)) return std::numeric_limits<R>::infinity();
    return R(std::sqrt(re * re + im * im));
  }
};
struct Square {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x) const {
    return T(Wrapping<T>(x) * Wrapping<T>(x));
  }
  template <typename T>
    requires Real<T> || Cplx<T>
  SHARDLAB_INLINE T operator()(T x) const {
    return x * x;
  }
};
struct Sign {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x) const {
    return T((x > T(0)) - (x < T(0)));
  }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return x > 0 ? T(1) : (x < 0 ? T(-1) : x * T(0));  // a denormal counts as zero
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x) const {
    if (x.real() == 0 && x.imag() == 0) return x;
    return in_double(x, [](Complex128 z) { return z / std::abs(z); });
  }
};
struct Sqrt {
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return std::sqrt(x);
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x) const {
    return in_double(x, [](Complex128 z) { return std::sqrt(z); });
  }
};
SHARDLAB_MATH_FUNCTION(Rsqrt, 1.0 / std::sqrt, [](Complex128 z) { return 1.0 / std::sqrt(z); })
SHARDLAB_REAL_FUNCTION(Cbrt, std::cbrt)
// A primitive, though it is a maximum: at 0 its derivative is 0 and not 1/2.
struct Relu {
  template <typename T>
    requires Real<T> || Whole<T>
  SHARDLAB_INLINE T operator()(T x) const {
    return (x > T(0)) | (x != x) ? x : T(0);
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
struct Trunc {
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return std::trunc(x);
  }
};
struct Round {  // half to even, as NumPy
  template <Real T>
  SHARDLAB_INLINE T operator()(T x) const {
    return std::nearbyint(x);
  }
};
struct IsFinite {
  template <Real T>
  SHARDLAB_INLINE bool operator()(T x) const {
    return std::fabs(x) <= std::numeric_limits<T>::max();
  }
};
struct Not {
  template <Bool T>
  SHARDLAB_INLINE T operator()(T x) const {
    return !x;
  }
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x) const {
    return T(~x);
  }
};
struct PopulationCount {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x) const {
    return T(std::popcount(std::make_unsigned_t<T>(x)));
  }
};
struct Clz {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x) const {
    return T(std::countl_zero(std::make_unsigned_t<T>(x)));
  }
};
struct RealPart {
  template <Cplx T>
  SHARDLAB_INLINE typename T::value_type operator()(T x) const {
    return x.real();
  }
};
struct ImagPart {
  template <Cplx T>
  SHARDLAB_INLINE typename T::value_type operator()(T x) const {
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
// A complex number of the parts' images.
ValueId by_parts(GraphBuilder& b, const OpDef& op, ValueId x) {
  return b.emit1(kComplex, {b.emit1(op, {unary(b, kReal, x)}), b.emit1(op, {unary(b, kImag, x)})});
}
// jnp.rint: always inexact.
Values expand_rint(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  ValueId x = value_of(b, args[0]);
  DType dtype = b.type(x).dtype;
  if (!is_inexact(dtype)) return {converted(b, x, default_dtype(WeakKind::kReal, b.config().enable_x64))};
  return {is_complex(dtype) ? by_parts(b, kRound, x) : b.emit1(kRound, {x})};
}
// round(x, decimals): round(x * 10^decimals) / 10^decimals.
Values expand_round(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  DType dtype = b.type(x).dtype;
  std::int64_t decimals = attrs.integer("decimals", 0);
  if (dtype == DType::kBool) throw_user_error("{} does not accept dtype bool; convert to float32, or use rint", op.name);
  if (is_integer(dtype)) {
    if (decimals < 0) throw_user_error("{}: integer dtype with decimals < 0 is not implemented; convert to float32 first", op.name);
    return {x};
  }
  if (decimals == 0) return {is_complex(dtype) ? by_parts(b, op, x) : b.emit1(op, {x})};
  if (decimals < -400 || decimals > 400) throw_user_error("{}: decimals is {}, wanted a small whole number", op.name, decimals);
  auto rounded = [&](ValueId part) {  // 16-bit floats in float32, as in JAX
    ValueId wide = is_half(dtype) ? converted(b, part, DType::kFloat32) : part;
    double factor = std::pow(10.0, double(decimals));
    return converted(b, binary(b, kDiv, b.emit1(op, {binary(b, kMul, wide, factor)}), factor), real_dtype(dtype));
  };
  if (!is_complex(dtype)) return {rounded(x)};
  return {b.emit1(kComplex, {rounded(unary(b, kReal, x)), rounded(unary(b, kImag, x))})};
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

// A complex number is finite where both parts are, an integer always.
Values expand_is_finite(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (!is_inexact(b.type(x).dtype)) return {filled(b, {DType::kBool, b.shape(x)}, Scalar{true})};
  if (!is_complex(b.type(x).dtype)) return expand_inexact(b, op, args, attrs);
  return {b.emit1(kAnd, {b.emit1(op, {unary(b, kReal, x)}), b.emit1(op, {unary(b, kImag, x)})})};
}

Values expand_square(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return b.emit(op, {value_of(b, args[0], numeric(dtype_of_arg(b, args[0])))}, attrs);
}

// Bool is its own absolute value.
Values expand_abs(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (b.type(x).dtype == DType::kBool) return {x};
  return b.emit(op, {x}, attrs);
}

Values expand_relu(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  if (b.type(x).dtype == DType::kBool) return {x};
  if (is_complex(b.type(x).dtype)) return {binary(b, kMaximum, x, 0.0)};
  return b.emit(op, {x}, attrs);
}

constexpr std::string_view kNegAliases[] = {"negative"};
constexpr std::string_view kAbsAliases[] = {"absolute"};
constexpr std::string_view kIsFiniteAliases[] = {"isfinite"};
constexpr std::string_view kNotAliases[] = {"bitwise_not", "invert", "bitwise_invert"};
constexpr std::string_view kConjAliases[] = {"conjugate"};
constexpr std::string_view kTruncAliases[] = {"fix"};
constexpr std::string_view kRoundAliases[] = {"around"};
constexpr std::string_view kCountAliases[] = {"bitwise_count"};
constexpr AttrDef kRoundAttrs[] = {{"decimals", AttrDef::Kind::kInteger, false, "digits after the point to keep; 0 by default"}};

constexpr OpDef round_op() {
  OpDef op = unary_op<Round>("round", "The nearest whole number, halves to even; integers stay.", expand_round, kRoundAliases);
  op.attrs = kRoundAttrs;
  return op;
}

}  // namespace

const OpDef kNeg = unary_op<Neg>("neg", "-x, element by element; integers wrap around.", expand_plain, kNegAliases);
const OpDef kAbs = unary_op<Abs>("abs", "The absolute value; of complex numbers the magnitude, a real.", expand_abs, kAbsAliases);
const OpDef kSquare = unary_op<Square>("square", "x * x.", expand_square);
const OpDef kSign = unary_op<Sign>("sign", "-1, 0 or 1 by the sign; NaN stays; complex: x / abs(x).", expand_plain);
const OpDef kSqrt = unary_op<Sqrt>("sqrt", "The square root; NaN below 0. Integers become float32.", expand_inexact);
const OpDef kRsqrt = unary_op<Rsqrt>("rsqrt", "1 / sqrt(x). Integers become float32.", expand_inexact);
const OpDef kCbrt = unary_op<Cbrt>("cbrt", "The cube root. Integers become float32.", expand_inexact);
const OpDef kRelu = unary_op<Relu>("relu", "maximum(x, 0), with the derivative 0 at 0.", expand_relu);
const OpDef kFloor = unary_op<Floor>("floor", "The largest whole number not above x; integers stay.", expand_rounding);
const OpDef kCeil = unary_op<Ceil>("ceil", "The smallest whole number not below x; integers stay.", expand_rounding);
const OpDef kTrunc = unary_op<Trunc>("trunc", "The whole number between 0 and x next to x; integers stay.", expand_rounding, kTruncAliases);
const OpDef kRound = round_op();
extern const OpDef kRint;
const OpDef kRint = {.name = "rint",
                     .doc = "The nearest whole number, halves to even. Integers become float32.",
                     .expand = expand_rint,
                     .compiled_alone = true};
const OpDef kIsFinite = unary_op<IsFinite>("is_finite", "Whether x is neither infinite nor NaN.", expand_is_finite, kIsFiniteAliases);
const OpDef kNot = unary_op<Not>("not", "Every bit inverted; of bool the negation.", expand_plain, kNotAliases);
const OpDef kPopulationCount =
    unary_op<PopulationCount>("population_count", "How many bits of an integer are 1.", expand_plain, kCountAliases);
const OpDef kClz = unary_op<Clz>("clz", "How many bits of an integer are 0 before the first 1.", expand_plain);
const OpDef kReal = unary_op<RealPart>("real", "The real part; real arrays stay.", expand_real);
const OpDef kImag = unary_op<ImagPart>("imag", "The imaginary part; 0 for real arrays.", expand_imag);
const OpDef kConj = unary_op<Conj>("conj", "The complex conjugate; real arrays stay.", expand_real, kConjAliases);

}  // namespace shardlab::ops
