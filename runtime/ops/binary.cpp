// Elementwise ops of two operands of one dtype.
#include <cmath>

#include "runtime/ops/derive.h"
#include "runtime/ops/tile.h"

namespace shardlab::ops {
namespace {

template <typename T>
concept Real = std::is_same_v<T, float>;
template <typename T>
concept Whole = std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t>;
template <typename T>
concept Cplx = std::is_same_v<T, Complex64>;
template <typename T>
concept Bool = std::is_same_v<T, bool>;
template <typename T>
concept Ordered = Real<T> || Whole<T> || Bool<T>;
template <typename T>
concept Bits = Whole<T> || Bool<T>;

SHARDLAB_INLINE bool complex_greater(Complex64 a, Complex64 b) {
  return a.real() > b.real() || (a.real() == b.real() && a.imag() > b.imag());
}

struct Add {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return T(std::uint32_t(x) + std::uint32_t(y));
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
    return T(std::uint32_t(x) - std::uint32_t(y));
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
    return T(std::uint32_t(x) * std::uint32_t(y));
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
  SHARDLAB_INLINE std::int32_t operator()(std::int32_t x, std::int32_t y) const {
    if (y == 0) return -1;
    if (y == -1) return std::int32_t(0u - std::uint32_t(x));
    return x / y;
  }
  SHARDLAB_INLINE std::uint32_t operator()(std::uint32_t x, std::uint32_t y) const { return y == 0 ? ~0u : x / y; }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return x / y;
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    std::complex<double> z = std::complex<double>(x.real(), x.imag()) / std::complex<double>(y.real(), y.imag());
    return {float(z.real()), float(z.imag())};
  }
};
struct Rem {
  SHARDLAB_INLINE std::int32_t operator()(std::int32_t x, std::int32_t y) const { return y == 0 ? x : (y == -1 ? 0 : x % y); }
  SHARDLAB_INLINE std::uint32_t operator()(std::uint32_t x, std::uint32_t y) const { return y == 0 ? x : x % y; }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return std::fmod(x, y);
  }
};
struct Remainder {
  template <typename T>
    requires Whole<T> || Real<T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    T r = Rem()(x, y);
    return r != 0 && ((r < 0) != (y < 0)) ? T(r + y) : r;
  }
};
struct Pow {
  template <Whole T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    if (y < T(0)) return x == T(1) ? T(1) : (x == T(-1) ? ((y & 1) ? T(-1) : T(1)) : T(0));
    std::uint32_t base = std::uint32_t(x), exponent = std::uint32_t(y), result = 1;
    for (; exponent != 0; exponent >>= 1, base *= base)
      if (exponent & 1) result *= base;
    return T(result);
  }
  template <Real T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return T(std::pow(double(x), double(y)));
  }
  template <Cplx T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    if (x == Complex64(0, 0)) return y == Complex64(0, 0) ? Complex64(1, 0) : Complex64(0, 0);
    std::complex<double> z = std::pow(std::complex<double>(x.real(), x.imag()), std::complex<double>(y.real(), y.imag()));
    return {float(z.real()), float(z.imag())};
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
struct And {
  template <Bits T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return x & y;
  }
};
struct Or {
  template <Bits T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return x | y;
  }
};
struct Xor {
  template <Bits T>
  SHARDLAB_INLINE T operator()(T x, T y) const {
    return x ^ y;
  }
};

// x ** n for a whole number n given as a scalar: multiplications, as lax.integer_pow.
ValueId integer_power(GraphBuilder& b, ValueId x, std::int64_t exponent) {
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

Values expand_pow(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  const Scalar* scalar = std::get_if<Scalar>(&args[1]);
  const std::int64_t* exponent = scalar ? std::get_if<std::int64_t>(&scalar->value) : nullptr;
  if (exponent == nullptr || !std::holds_alternative<ValueId>(args[0])) return expand_promoted(b, op, args, attrs);
  ValueId x = value_of(b, args[0], promoted_dtype(b, args));
  if (*exponent < 0 && is_integer(b.type(x).dtype))
    throw_user_error("{}: Integers cannot be raised to negative powers, got integer dtype {} and exponent {}; convert to float32 first",
                     op.name, name_of(b.type(x).dtype), *exponent);
  return {integer_power(b, x, *exponent)};
}

// Where the rules of an op of two operands are.
struct Rules {
  JvpRule jvp = nullptr;
  TransposeRule transpose = nullptr;
};

Values add_jvp(GraphBuilder& b, const JvpArgs& args) { return {add_tangents(b, args.tangents[0], args.tangents[1])}; }
Values add_transpose(GraphBuilder&, const TransposeArgs& args) { return {args.cotangents[0], args.cotangents[0]}; }

Values mul_transpose(GraphBuilder& b, const TransposeArgs& args) {
  if (args.operands[0] == kAsked) return {b.emit1(kMul, {args.cotangents[0], args.operands[1]}), kZero};
  return {kZero, b.emit1(kMul, {args.operands[0], args.cotangents[0]})};
}

template <typename F>
constexpr OpDef binary_op(std::string_view name, std::string_view doc, Values (*expand)(GraphBuilder&, const OpDef&, Args, const Attrs&),
                          Rules rules = {}, std::span<const std::string_view> aliases = {}) {
  return {.name = name,
          .doc = doc,
          .aliases = aliases,
          .operands_min = 2,
          .operands_max = 2,
          .expand = expand,
          .infer = elementwise_infer<F, 2>,
          .rule = elementwise_rule,
          .kernel = elementwise_kernel<tile_of<F, 2>>,
          .tile = tile_of<F, 2>,
          .elementwise = true,
          .jvp = rules.jvp,
          .transpose = rules.transpose,
          .samples = elementwise_samples<F, 2>};
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

}  // namespace

const OpDef kAdd = binary_op<Add>("add", "x + y with broadcasting; integers wrap around, of bool the disjunction.", expand_promoted,
                                  {add_jvp, add_transpose});
const OpDef kSub = binary_op<Sub>("sub", "x - y with broadcasting; integers wrap around.", expand_promoted, {}, kSubAliases);
const OpDef kMul = binary_op<Mul>("mul", "x * y with broadcasting; integers wrap around, of bool the conjunction.", expand_promoted,
                                  {multilinear_jvp, mul_transpose}, kMulAliases);
const OpDef kDiv = binary_op<Div>("div", "x / y with broadcasting; integers become float32.", expand_inexact, {}, kDivAliases);
const OpDef kRem = binary_op<Rem>("rem", "The remainder of the division cut towards zero: it has the sign of x.", expand_promoted);
const OpDef kRemainder =
    binary_op<Remainder>("remainder", "The remainder with the sign of y, as in Python.", expand_promoted, {}, kRemainderAliases);
const OpDef kPow =
    binary_op<Pow>("pow", "x to the power y. A whole number given as a scalar becomes multiplications.", expand_pow, {}, kPowAliases);
const OpDef kMaximum = binary_op<Maximum>("maximum",
                                          "The larger of x and y; NaN wins. Complex numbers compare by real, then "
                                          "imaginary part.",
                                          expand_promoted);
const OpDef kMinimum = binary_op<Minimum>("minimum",
                                          "The smaller of x and y; NaN wins. Complex numbers compare by real, then "
                                          "imaginary part.",
                                          expand_promoted);
const OpDef kAtan2 =
    binary_op<Atan2>("atan2", "The angle of the point (y, x), in radians: atan2(first, second).", expand_inexact, {}, kAtan2Aliases);
const OpDef kAnd = binary_op<And>("and", "Bit by bit; of bool the conjunction.", expand_promoted, {}, kAndAliases);
const OpDef kOr = binary_op<Or>("or", "Bit by bit; of bool the disjunction.", expand_promoted, {}, kOrAliases);
const OpDef kXor = binary_op<Xor>("xor", "Bit by bit; of bool whether they differ.", expand_promoted, {}, kXorAliases);

}  // namespace shardlab::ops
