// Elementwise ops of two operands of one dtype.
#include "runtime/ops/elementwise.h"
#include "runtime/ops/loops.h"
#include "runtime/ops/unary.h"
#include "runtime/ops/vector_math.h"

namespace shardlab::ops {
namespace {

template <typename T>
concept Ordered = Real<T> || Whole<T> || Bool<T>;
template <typename T>
concept Bits = Whole<T> || Bool<T>;

template <Cplx T>
SHARDLAB_INLINE bool complex_greater(T a, T b) {
  return a.real() > b.real() || (a.real() == b.real() && a.imag() > b.imag());
}

struct Add {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return T(Wrapping<T>(x) + Wrapping<T>(y));
  }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return x + y;
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return {x.real() + y.real(), x.imag() + y.imag()};
  }
  template <Bool T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return x | y;
  }
};
struct Sub {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return T(Wrapping<T>(x) - Wrapping<T>(y));
  }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return x - y;
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return {x.real() - y.real(), x.imag() - y.imag()};
  }
};
struct Mul {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return T(Wrapping<T>(x) * Wrapping<T>(y));
  }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return x * y;
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
  }
  template <Bool T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return x & y;
  }
};
// Division by zero gives -1 (all bits) and overflow the dividend, as XLA.
struct Div {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    if (y == 0) return T(-1);
    if constexpr (std::is_signed_v<T>)
      if (y == T(-1)) return T(Wrapping<T>(0) - Wrapping<T>(x));
    return T(x / y);
  }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return x / y;
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return T(Complex128(x) / Complex128(y));
  }
};
struct Rem {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    if (y == 0) return x;
    if constexpr (std::is_signed_v<T>)
      if (y == T(-1)) return 0;
    return T(x % y);
  }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return std::fmod(x, y);
  }
};
struct Remainder {  // of integers by 0 it is 0, as jnp.remainder has it; lax.rem gives the dividend
  template <typename T>
    requires Whole<T> || Real<T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    if constexpr (Whole<T>)
      if (y == 0) return 0;
    T r = Rem()(x, y);
    return r != 0 && ((r < 0) != (y < 0)) ? T(r + y) : r;
  }
};
struct Pow {  // of integers, six bits of the exponent count, as jnp.power has it
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    if (x == 0 && y != 0) return 0;
    Wrapping<T> base = Wrapping<T>(x), result = 1;
    for (unsigned exponent = unsigned(y) & 63; exponent != 0; exponent >>= 1, base *= base)
      if (exponent & 1) result *= base;
    return T(result);
  }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_same_v<T, float>)
      return vector_math::pow(x, y);
    else
      return T(std::pow(double(x), double(y)));
  }
  SHARDLAB_INLINE static bool is_hard(std::same_as<float> auto x, float y) {
    return !(x > 0) | !(x < kInfinite) | !(std::fabs(y) < kInfinite);
  }
  static float hard(std::same_as<float> auto x, float y) { return float(std::pow(double(x), double(y))); }
  static constexpr float kInfinite = std::numeric_limits<float>::infinity();
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    if (x == T(0)) return y == T(0) ? T(1) : T(0);
    return T(std::pow(Complex128(x), Complex128(y)));
  }
};
struct Maximum {  // NaN wins
  template <Ordered T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return (x > y) | (x != x) ? x : y;
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return complex_greater(x, y) || x != x ? x : y;
  }
};
struct Minimum {
  template <Ordered T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return (x < y) | (x != x) ? x : y;
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return complex_greater(y, x) || x != x ? x : y;
  }
};
struct Atan2 {
  template <Real T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return T(std::atan2(double(x), double(y)));
  }
};
struct Complex {
  template <Real T>
    requires(sizeof(T) >= sizeof(float))
  SHARDLAB_INLINE std::complex<T> operator()(T re, T im) const {
    return {re, im};
  }
};
struct And {
  template <Bits T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return T(x & y);
  }
};
struct Or {
  template <Bits T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return T(x | y);
  }
};
struct Xor {
  template <Bits T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return T(x ^ y);
  }
};
// Shifts by as many bits as there are, or by a negative count, shift everything out.
struct ShiftLeft {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    using U = std::make_unsigned_t<T>;
    return U(y) >= U(8 * sizeof(T)) ? T(0) : T(Wrapping<T>(x) << U(y));
  }
};
struct ShiftRightLogical {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    using U = std::make_unsigned_t<T>;
    return U(y) >= U(8 * sizeof(T)) ? T(0) : T(U(x) >> U(y));
  }
};
struct ShiftRightArithmetic {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    using U = std::make_unsigned_t<T>;
    return U(y) >= U(8 * sizeof(T)) ? (x < T(0) ? T(-1) : T(0)) : T(x >> U(y));
  }
};
// The next number that the type has, from x towards y.
struct NextAfter {
  template <Real T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return std::nextafter(x, y);
  }
};

// x ** n for a whole number n given as a scalar: multiplications, as lax.integer_pow.
ValueId multiplied(GraphBuilder& b, ValueId x, std::int64_t exponent) {
  if (exponent == 0) return filled(b, b.type(x), 1.0);
  std::uint64_t rest = exponent < 0 ? 0 - std::uint64_t(exponent) : std::uint64_t(exponent);
  ValueId result = -1;
  while (rest > 0) {
    if (rest & 1) result = result < 0 ? x : b.emit1(kMul, {result, x});
    rest >>= 1;
    if (rest > 0) x = b.emit1(kMul, {x, x});
  }
  return exponent < 0 ? b.emit1(kDiv, {filled(b, b.type(result), 1.0), result}) : result;
}

// Its derivative is n x ** (n - 1), in fewer multiplications than those of the product.
Term integer_power(const Term& x, std::int64_t exponent) {
  auto value = [exponent](const Terms& at) { return Term(at[0].builder(), multiplied(at[0].builder(), at[0].id(), exponent)); };
  if (exponent == 2) return Term(x.builder(), unary(x.builder(), kSquare, x.id()));
  if (exponent == 0 || exponent == 1 || !is_inexact(x.dtype())) return value({x});
  auto tangent = [exponent](const Terms& at, const Term&, const Terms& tangents) {
    return tangents[0] * (double(exponent) * integer_power(at[0], exponent - 1));
  };
  return with_derivative({x}, {value, tangent});
}

Values expand_numeric(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return b.emit(op, broadcast_together(b, op.name, args, numeric(promoted_dtype(b, args))), attrs);
}

// The remainder with the sign of x; of integers by 0 it is 0.
Values expand_fmod(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  const DType dtype = promoted_dtype(b, args);
  Values xy = broadcast_together(b, op.name, args, numeric(dtype));
  if (is_integer(dtype)) xy[1] = b.emit1(kSelect, {binary(b, kEqual, xy[1], 0.0), filled(b, b.type(xy[1]), 1.0), xy[1]});
  return b.emit(kRem, xy);
}

// Of complex numbers -i log((x + i y) / sqrt(x^2 + y^2)).
Values expand_atan2(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  DType dtype = inexact(promoted_dtype(b, args));
  if (!is_complex(dtype)) return expand_inexact(b, op, args, attrs);
  Values yx = broadcast_together(b, op.name, args, dtype);
  auto times_i = [&](ValueId z, double sign) { return b.emit1(kMul, {z, filled(b, b.type(z), Scalar{std::complex<double>(0, sign)})}); };
  ValueId radius = unary(b, kSqrt, b.emit1(kAdd, {b.emit1(kMul, {yx[1], yx[1]}), b.emit1(kMul, {yx[0], yx[0]})}));
  ValueId direction = b.emit1(kDiv, {b.emit1(kAdd, {yx[1], times_i(yx[0], 1)}), radius});
  return {times_i(unary(b, kLog, direction), -1)};
}

Values expand_pow(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Scalar* scalar = std::get_if<Scalar>(&args[1]);
  const std::int64_t* exponent = scalar ? std::get_if<std::int64_t>(&scalar->value) : nullptr;
  if (exponent == nullptr || !std::holds_alternative<ValueId>(args[0])) return expand_numeric(b, op, args, attrs);
  ValueId x = value_of(b, args[0], numeric(promoted_dtype(b, args)));
  if (*exponent < 0 && is_integer(b.type(x).dtype))
    throw_user_error("{}: Integers cannot be raised to negative powers, got integer dtype {} and exponent {}; convert to float32 first",
                     op.name, name_of(b.type(x).dtype), *exponent);
  return {integer_power(Term(b, x), *exponent).id()};
}

// jnp.right_shift keeps the sign of signed integers.
Values expand_right_shift(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  DType dtype = numeric(promoted_dtype(b, args));
  return b.emit(is_unsigned_integer(dtype) ? kShiftRightLogical : op, broadcast_together(b, op.name, args, dtype), attrs);
}

constexpr std::string_view kSubAliases[] = {"subtract"};
constexpr std::string_view kMulAliases[] = {"multiply"};
constexpr std::string_view kDivAliases[] = {"divide", "true_divide"};
constexpr std::string_view kPowAliases[] = {"power"};
constexpr std::string_view kAtan2Aliases[] = {"arctan2"};
constexpr std::string_view kRemainderAliases[] = {"mod"};
constexpr std::string_view kAndAliases[] = {"bitwise_and"};
constexpr std::string_view kOrAliases[] = {"bitwise_or"};
constexpr std::string_view kXorAliases[] = {"bitwise_xor"};
constexpr std::string_view kShiftLeftAliases[] = {"left_shift", "bitwise_left_shift"};
constexpr std::string_view kShiftRightAliases[] = {"right_shift", "bitwise_right_shift"};

}  // namespace

const OpDef kAdd = binary_op<Add>("add", "x + y with broadcasting; integers wrap around, of bool the disjunction.", expand_promoted);
const OpDef kSub = binary_op<Sub>("sub", "x - y with broadcasting; integers wrap around.", expand_promoted, kSubAliases);
const OpDef kMul =
    binary_op<Mul>("mul", "x * y with broadcasting; integers wrap around, of bool the conjunction.", expand_promoted, kMulAliases);
const OpDef kDiv = binary_op<Div>("div", "x / y with broadcasting; integers become float32.", expand_inexact, kDivAliases);
const OpDef kRem = binary_op<Rem>("rem", "The remainder of the division cut towards zero: it has the sign of x.", expand_promoted);
const OpDef kRemainder =
    compiled_alone(binary_op<Remainder>("remainder", "The remainder with the sign of y, as in Python.", expand_numeric, kRemainderAliases));
extern const OpDef kFmod;
const OpDef kFmod = {.name = "fmod",
                     .doc = "The remainder of the division cut towards zero, with the sign of x; of integers by 0 it is 0.",
                     .operands_min = 2,
                     .operands_max = 2,
                     .expand = expand_fmod,
                     .compiled_alone = true};
const OpDef kPow = with_weakness(
    Weakness::kOfPower,
    binary_op<Pow>("pow", "x to the power y. A whole number given as a scalar becomes multiplications.", expand_pow, kPowAliases));
const OpDef kMaximum = binary_op<Maximum>("maximum",
                                          "The larger of x and y; NaN wins. Complex numbers compare by real, then "
                                          "imaginary part.",
                                          expand_promoted);
const OpDef kMinimum = binary_op<Minimum>("minimum",
                                          "The smaller of x and y; NaN wins. Complex numbers compare by real, then "
                                          "imaginary part.",
                                          expand_promoted);
const OpDef kAtan2 =
    binary_op<Atan2>("atan2", "The angle of the point (y, x), in radians: atan2(first, second).", expand_atan2, kAtan2Aliases);
const OpDef kComplex =
    binary_op<Complex>("complex", "The complex number of a real and an imaginary part; of 16-bit ones complex64.", expand_inexact);
const OpDef kAnd = binary_op<And>("and", "Bit by bit; of bool the conjunction.", expand_promoted, kAndAliases);
const OpDef kOr = binary_op<Or>("or", "Bit by bit; of bool the disjunction.", expand_promoted, kOrAliases);
const OpDef kXor = binary_op<Xor>("xor", "Bit by bit; of bool whether they differ.", expand_promoted, kXorAliases);
const OpDef kShiftLeft = binary_op<ShiftLeft>("shift_left", "x shifted left by y bits; 0 where y is no less than there are, or negative.",
                                              expand_numeric, kShiftLeftAliases);
const OpDef kShiftRightArithmetic = binary_op<ShiftRightArithmetic>(
    "shift_right_arithmetic", "x shifted right by y bits, filled with its sign.", expand_right_shift, kShiftRightAliases);
const OpDef kShiftRightLogical =
    binary_op<ShiftRightLogical>("shift_right_logical", "x shifted right by y bits, filled with 0.", expand_promoted);
const OpDef kNextAfter = binary_op<NextAfter>("nextafter", "The next number of the dtype after x towards y.", expand_inexact);

}  // namespace shardlab::ops
