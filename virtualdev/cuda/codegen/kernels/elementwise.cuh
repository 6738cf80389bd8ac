// One function an elementwise op, called op_<name>, on the types in which elements are computed (16-bit floats in float). They do what
// the functors of runtime/ops do. Those go by way of double for float functions; here the common ones are float's own, which err by at most two
// units in the last place (CUDA's tables), as a GPU computes them faster than memory gives the elements; the rarer ones go by way of double too.
#define OP template <class T> FN

// Elementary functions of float by way of double, of complex numbers by `complex`.
#define MATH_OP(name, real, complex)          \
  OP T op_##name(T x) {                       \
    if constexpr (is_cx<T>)                   \
      return c_as<T>(complex(c_of(x)));       \
    else                                      \
      return T(real(f64(x)));                 \
  }
// With a function of its own for float.
#define FAST_OP(name, single, real, complex)  \
  OP T op_##name(T x) {                       \
    if constexpr (is_cx<T>)                   \
      return c_as<T>(complex(c_of(x)));       \
    else if constexpr (is_same<T, f32>)       \
      return single(x);                       \
    else                                      \
      return T(real(f64(x)));                 \
  }
#define REAL_OP(name, real) \
  OP T op_##name(T x) { return T(real(f64(x))); }

template <class T>
FN bool less_than(T x, T y) {
  if constexpr (is_cx<T>)
    return x.re < y.re || (x.re == y.re && x.im < y.im);
  else
    return x < y;
}

template <class T>
FN bool is_negative(T x) {
  if constexpr (is_whole<T> && !is_signed_whole<T>)
    return false;
  else
    return x < T(0);
}

// ---- one operand
OP T op_neg(T x) {
  if constexpr (is_whole<T>)
    return T(wrapping<T>(0) - wrapping<T>(x));
  else if constexpr (is_cx<T>)
    return T{-x.re, -x.im};
  else
    return -x;
}
OP auto op_abs(T x) {
  if constexpr (is_whole<T>) {
    return is_negative(x) ? T(wrapping<T>(0) - wrapping<T>(x)) : x;
  } else if constexpr (is_same<T, c128>) {
    return hypot(x.re, x.im);
  } else if constexpr (is_same<T, c64>) {
    f64 re = x.re, im = x.im;
    if (isinf(re) || isinf(im)) return infinity<f32>();
    return f32(sqrt(re * re + im * im));
  } else {
    return T(fabs(x));
  }
}
OP T op_sign(T x) {
  if constexpr (is_cx<T>) {
    if (x.re == 0 && x.im == 0) return x;
    c128 z = c_of(x);
    f64 size = c_abs(z);
    return c_as<T>(c128{z.re / size, z.im / size});
  } else if constexpr (is_whole<T>) {
    return T((x > T(0)) - is_negative(x));
  } else {
    return x > 0 ? T(1) : (x < 0 ? T(-1) : x);
  }
}
OP T op_sqrt(T x) {
  if constexpr (is_cx<T>)
    return c_as<T>(c_sqrt(c_of(x)));
  else
    return sqrt(x);
}
OP T op_relu(T x) { return x > T(0) || x != x ? x : T(0); }
FN f32 single_rsqrt(f32 x) { return 1.0f / sqrtf(x); }
FN f64 real_rsqrt(f64 x) { return 1.0 / sqrt(x); }
FN c128 c_rsqrt(c128 z) { return c_div(c128{1, 0}, c_sqrt(z)); }
FAST_OP(rsqrt, single_rsqrt, real_rsqrt, c_rsqrt)
REAL_OP(cbrt, cbrt)
OP T op_floor(T x) { return floor(x); }
OP T op_ceil(T x) { return ceil(x); }
OP T op_trunc(T x) { return trunc(x); }
OP T op_round(T x) { return rint(x); }
OP bool op_is_finite(T x) { return fabs(x) < infinity<T>(); }
OP T op_not(T x) {
  if constexpr (is_bool<T>)
    return !x;
  else
    return T(~x);
}
OP T op_population_count(T x) {
  u64 bits = u64(unsigned_of<T>(x));
  int count = 0;
  for (; bits != 0; bits &= bits - 1) ++count;
  return T(count);
}
OP T op_clz(T x) {
  u64 bits = u64(unsigned_of<T>(x));
  int count = 8 * int(sizeof(T));
  for (; bits != 0; bits >>= 1) --count;
  return T(count);
}
OP part_of<T> op_real(T x) { return x.re; }
OP part_of<T> op_imag(T x) { return x.im; }
OP T op_conj(T x) { return T{x.re, -x.im}; }

FN c128 c_expm1(c128 z) {
  f64 half = sin(z.im / 2);  // without cancellation for small z
  return c128{expm1(z.re) * cos(z.im) - 2 * half * half, exp(z.re) * sin(z.im)};
}
FN c128 c_log1p(c128 z) { return c128{0.5 * log1p(z.re * (2 + z.re) + z.im * z.im), atan2(z.im, 1 + z.re)}; }
FN c128 c_exp2(c128 z) { return c_exp(c128{z.re * 0.69314718055994530942, z.im * 0.69314718055994530942}); }
FN f32 single_logistic(f32 x) { return 1.0f / (1.0f + expf(-x)); }
FN f64 real_logistic(f64 x) { return 1.0 / (1.0 + exp(-x)); }
FN c128 c_logistic(c128 z) {
  c128 e = c_exp(-z);
  return c_div(c128{1, 0}, c128{1 + e.re, e.im});
}
FAST_OP(sin, sinf, sin, c_sin)
FAST_OP(cos, cosf, cos, c_cos)
MATH_OP(tan, tan, c_tan)
FAST_OP(exp, expf, exp, c_exp)
FAST_OP(log, logf, log, c_log)
FAST_OP(tanh, tanhf, tanh, c_tanh)
FAST_OP(expm1, expm1f, expm1, c_expm1)
FAST_OP(log1p, log1pf, log1p, c_log1p)
FAST_OP(asin, asinf, asin, c_asin)
FAST_OP(acos, acosf, acos, c_acos)
FAST_OP(atan, atanf, atan, c_atan)
MATH_OP(sinh, sinh, c_sinh)
FAST_OP(cosh, coshf, cosh, c_cosh)
MATH_OP(asinh, asinh, c_asinh)
MATH_OP(acosh, acosh, c_acosh)
MATH_OP(atanh, atanh, c_atanh)
FAST_OP(exp2, exp2f, exp2, c_exp2)
FAST_OP(logistic, single_logistic, real_logistic, c_logistic)
OP T op_erf(T x) {
  if constexpr (is_same<T, f32>)
    return erff(x);
  else
    return erf(x);
}
REAL_OP(erfc, erfc)

REAL_OP(lgamma, real_lgamma)
REAL_OP(digamma, real_digamma)
REAL_OP(expi, real_expi)
REAL_OP(erfcx, real_erfcx)
REAL_OP(dawsn, real_dawsn)
REAL_OP(sine_integral, real_sine_integral)
REAL_OP(cosine_integral, real_cosine_integral)
REAL_OP(fresnel_sine, real_fresnel_sine)
REAL_OP(fresnel_cosine, real_fresnel_cosine)

// erf_inv in the roundings of runtime/ops/special.cpp, so that normal random numbers have the same bits.
FN f32 fused(f32 a, f32 b, f32 c) { return f32(f64(a) * f64(b) + f64(c)); }
FN f32 cephes_log(f32 x) {
  u32 bits = bits_as<u32>(x);
  f32 exponent = f32(int(bits >> 23) - 127) + 1.0f;
  f32 m = bits_as<f32>((bits & 0x007fffffu) | 0x3f000000u);
  bool small = m < 0.707106781186547524f;
  f32 r = (m - 1.0f) + (small ? m : 0.0f);
  exponent -= small ? 1.0f : 0.0f;
  f32 square = r * r, cube = square * r;
  f32 p = fused(fused(7.0376836292E-2f, r, -1.1514610310E-1f), r, 1.1676998740E-1f);
  f32 q = fused(fused(-1.2420140846E-1f, r, 1.4249322787E-1f), r, -1.6668057665E-1f);
  f32 s = fused(fused(2.0000714765E-1f, r, -2.4999993993E-1f), r, 3.3333331174E-1f);
  f32 y = fused(fused(p, cube, q), cube, s);
  y = fused(y, cube, -2.12194440e-4f * exponent);
  return fused(0.693359375f, exponent, fused(-0.5f, square, r) + y);
}
FN f32 cephes_log1p(f32 x) {
  const f32 over_terms[] = {4.5270000862445199e-5f, 0.49854102823193375f, 6.5787325942061045f, 29.911919328553073f,
                            60.949667980987787f,    57.112963590585538f,  20.039553499201281f};
  const f32 under_terms[] = {1.0f, 15.062909083469192f, 83.04756596796722f, 221.76239823732857f,
                             309.0987222531206f, 216.42788614495947f, 60.118660497603843f};
  f32 over = 0, under = 0;
  for (int i = 0; i < 7; ++i) {
    over = fused(over, x, over_terms[i]);
    under = fused(under, x, under_terms[i]);
  }
  f32 square = x * x;
  f32 small = x + fused(-0.5f, square, (x * square) * (over / under));
  f32 large = cephes_log(x + 1.0f);
  return fabs(x) < 0.41421356237309504880f ? small : large;
}
FN f32 erf_inv_float(f32 x) {
  const f32 centre_terms[] = {2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f, 0.00021858087f,
                              -0.00125372503f, -0.00417768164f, 0.246640727f,    1.50140941f};
  const f32 tail_terms[] = {-0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f, 0.00573950773f,
                            -0.0076224613f,   0.00943887047f,  1.00167406f,    2.83297682f};
  f32 w = -cephes_log1p(-x * x);
  bool centre = w < 5.0f;
  f32 at = centre ? w - 2.5f : sqrtf(w) - 3.0f;
  f32 p = centre ? centre_terms[0] : tail_terms[0];
  for (int i = 1; i < 9; ++i) p = fused(p, at, centre ? centre_terms[i] : tail_terms[i]);
  if (fabs(x) == 1.0f) return x * infinity<f32>();
  return fabs(x) > 1.0f ? quiet_nan<f32>() : p * x;
}
OP T op_erf_inv(T x) {
  if constexpr (is_same<T, f32>) {
    return erf_inv_float(x);
  } else {
    if (!(fabs(x) < 1)) return fabs(x) == 1 ? x * infinity<f64>() : quiet_nan<f64>();
    f64 start = f64(erf_inv_float(f32(x)));
    f64 y = fabs(start) < infinity<f64>() ? start : copysign(3.9, x);
    for (int i = 0; i < 4; ++i) {
      f64 tail = (1 - fabs(x)) - erfc(fabs(y));
      f64 error = fabs(x) < 0.5 ? erf(y) - x : (x < 0 ? -tail : tail);
      f64 step = error / (2 / sqrt(3.14159265358979323846) * exp(-y * y));
      y -= step / (1 + y * step);
    }
    return y;
  }
}

FN f32 inverse_erf(f32 x) { return op_erf_inv(x); }
FN f64 inverse_erf(f64 x) { return op_erf_inv(x); }

// ---- two operands
OP T op_add(T x, T y) {
  if constexpr (is_bool<T>)
    return x | y;
  else if constexpr (is_whole<T>)
    return T(wrapping<T>(x) + wrapping<T>(y));
  else
    return x + y;
}
OP T op_sub(T x, T y) {
  if constexpr (is_whole<T>)
    return T(wrapping<T>(x) - wrapping<T>(y));
  else
    return x - y;
}
OP T op_mul(T x, T y) {
  if constexpr (is_bool<T>)
    return x & y;
  else if constexpr (is_whole<T>)
    return T(wrapping<T>(x) * wrapping<T>(y));
  else
    return x * y;
}
OP T op_square(T x) { return op_mul(x, x); }
OP T op_div(T x, T y) {
  if constexpr (is_whole<T>) {
    if (y == 0) return T(-1);
    if constexpr (is_signed_whole<T>)
      if (y == T(-1)) return T(wrapping<T>(0) - wrapping<T>(x));
    return T(x / y);
  } else if constexpr (is_cx<T>) {
    return c_as<T>(c_div(c_of(x), c_of(y)));
  } else {
    return x / y;
  }
}
OP T op_rem(T x, T y) {
  if constexpr (is_whole<T>) {
    if (y == 0) return x;
    if constexpr (is_signed_whole<T>)
      if (y == T(-1)) return 0;
    return T(x % y);
  } else {
    return fmod(x, y);
  }
}
OP T op_remainder(T x, T y) {
  if constexpr (is_whole<T>)
    if (y == 0) return 0;
  T r = op_rem(x, y);
  return r != 0 && is_negative(r) != is_negative(y) ? T(r + y) : r;
}
OP T op_pow(T x, T y) {
  if constexpr (is_whole<T>) {
    if (x == 0 && y != 0) return 0;
    wrapping<T> base = wrapping<T>(x), result = 1;
    for (u32 exponent = u32(y) & 63; exponent != 0; exponent >>= 1, base *= base)
      if (exponent & 1) result *= base;
    return T(result);
  } else if constexpr (is_cx<T>) {
    if (x.re == 0 && x.im == 0) return T{part_of<T>(y.re == 0 && y.im == 0 ? 1 : 0), 0};
    return c_as<T>(c_pow(c_of(x), c_of(y)));
  } else {
    return T(pow(f64(x), f64(y)));
  }
}
OP T op_maximum(T x, T y) { return less_than(y, x) || x != x ? x : y; }
OP T op_minimum(T x, T y) { return less_than(x, y) || x != x ? x : y; }
OP T op_gcd(T x, T y) {
  typedef unsigned_of<T> U;
  U a = is_negative(x) ? U(wrapping<T>(0) - wrapping<T>(x)) : U(x), b = is_negative(y) ? U(wrapping<T>(0) - wrapping<T>(y)) : U(y);
  while (b != 0) {
    U rest = U(a % b);
    a = b;
    b = rest;
  }
  return T(a);
}
OP T op_hyp1f1(T a, T b, T x) { return T(real_hyp1f1(f64(a), f64(b), f64(x))); }
OP T op_hyp2f1(T a, T b, T c, T x) {
  return T(real_hyp2f1(f64(a), f64(b), f64(c), f64(x)));
}
OP T op_hyp1f1_grad_a(T a, T b, T x) { return T(real_hyp1f1_grad_a(f64(a), f64(b), f64(x))); }
OP T op_hyp1f1_grad_b(T a, T b, T x) { return T(real_hyp1f1_grad_b(f64(a), f64(b), f64(x))); }
OP T op_hyp2f1_grad_a(T a, T b, T c, T x) {
  return T(real_hyp2f1_grad_a(f64(a), f64(b), f64(c), f64(x)));
}
OP T op_hyp2f1_grad_b(T a, T b, T c, T x) {
  return T(real_hyp2f1_grad_b(f64(a), f64(b), f64(c), f64(x)));
}
OP T op_hyp2f1_grad_c(T a, T b, T c, T x) {
  return T(real_hyp2f1_grad_c(f64(a), f64(b), f64(c), f64(x)));
}
OP T op_owens_t(T h, T a) { return T(real_owens_t(f64(h), f64(a))); }
OP T op_expn(T n, T x) { return T(real_expn(f64(n), f64(x))); }
OP T op_igamma(T a, T x) { return T(real_igamma(f64(a), f64(x))); }
OP T op_igammac(T a, T x) { return T(real_igammac(f64(a), f64(x))); }
OP T op_igamma_grad_a(T a, T x) { return T(real_igamma_grad_a(f64(a), f64(x))); }
OP T op_random_gamma_grad(T a, T x) { return T(real_random_gamma_grad(f64(a), f64(x))); }
OP T op_random_gamma_grad_by_a(T n, T a, T x) { return T(real_random_gamma_grad_by_a(f64(n), f64(a), f64(x))); }
OP T op_atan2(T x, T y) { return T(atan2(f64(x), f64(y))); }
OP cx<T> op_complex(T re, T im) { return cx<T>{re, im}; }
OP T op_and(T x, T y) { return T(x & y); }
OP T op_or(T x, T y) { return T(x | y); }
OP T op_xor(T x, T y) { return T(x ^ y); }
OP T op_shift_left(T x, T y) {
  return unsigned_of<T>(y) >= unsigned_of<T>(8 * sizeof(T)) ? T(0) : T(wrapping<T>(x) << unsigned_of<T>(y));
}
OP T op_shift_right_logical(T x, T y) {
  return unsigned_of<T>(y) >= unsigned_of<T>(8 * sizeof(T)) ? T(0) : T(unsigned_of<T>(x) >> unsigned_of<T>(y));
}
OP T op_shift_right_arithmetic(T x, T y) {
  return unsigned_of<T>(y) >= unsigned_of<T>(8 * sizeof(T)) ? (is_negative(x) ? T(-1) : T(0)) : T(x >> unsigned_of<T>(y));
}
OP T op_nextafter(T x, T y) {
  if constexpr (is_same<T, f32>)
    return nextafterf(x, y);
  else
    return nextafter(x, y);
}
OP bool op_equal(T x, T y) { return x == y; }
OP bool op_not_equal(T x, T y) { return x != y; }
OP bool op_less(T x, T y) { return less_than(x, y); }
OP bool op_less_equal(T x, T y) { return less_than(x, y) || x == y; }
OP bool op_greater(T x, T y) { return less_than(y, x); }
OP bool op_greater_equal(T x, T y) { return less_than(y, x) || x == y; }

// ---- three operands
OP T op_select(bool condition, T x, T y) { return condition ? x : y; }
OP T op_regularized_incomplete_beta(T a, T b, T x) { return T(real_regularized_incomplete_beta(f64(a), f64(b), f64(x))); }
OP T op_round_to_precision(T x, T exponent_bits, T mantissa_bits) {
  return T(real_round_to_precision(f64(x), f64(exponent_bits), f64(mantissa_bits)));
}
OP T op_clamp(T low, T x, T high) {
  T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

// ---- from one dtype to another
// To bool: whether it is not 0. To integers: cut towards zero, held at the limits, NaN gives 0. From complex: the real part.
template <class To, class From>
FN To converted(From x) {
  if constexpr (is_same<To, From>) {
    return x;
  } else if constexpr (is_half<To>) {
    return narrow<To>(converted<f32>(x));
  } else if constexpr (is_half<From>) {
    return converted<To>(widen(x));
  } else if constexpr (is_bool<To>) {
    if constexpr (is_cx<From>)
      return x.re != 0 || x.im != 0;
    else
      return x != From(0);
  } else if constexpr (is_cx<From>) {
    if constexpr (is_cx<To>)
      return To{part_of<To>(x.re), part_of<To>(x.im)};
    else
      return converted<To>(x.re);
  } else if constexpr (is_cx<To>) {
    return To{part_of<To>(x), part_of<To>(0)};
  } else if constexpr (is_real<From> && is_whole<To>) {
    f64 value = f64(x);
    if (value != value) return 0;
    if (value < f64(lowest_whole<To>)) return lowest_whole<To>;
    if (value >= 2.0 * f64(highest_whole<To> / 2 + 1)) return highest_whole<To>;
    return To(value);
  } else {
    return To(x);
  }
}
#undef OP
