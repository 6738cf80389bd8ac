// Complex functions, evaluated in double. Sources: the identities of Abramowitz and Stegun, 4.1 to 4.6; asin, acos and their kin by
// T. E. Hull et al., "Implementing the complex arcsine and arccosine functions using exception handling" (TOMS 1997), without its
// scaling for the extremes of double.
FN c128 c_of(c64 z) { return c128{f64(z.re), f64(z.im)}; }
FN c128 c_of(c128 z) { return z; }
template <class T>
FN T c_as(c128 z) {
  return T{part_of<T>(z.re), part_of<T>(z.im)};
}
template <class R>
FN cx<R> operator+(cx<R> a, cx<R> b) {
  return cx<R>{a.re + b.re, a.im + b.im};
}
template <class R>
FN cx<R> operator-(cx<R> a, cx<R> b) {
  return cx<R>{a.re - b.re, a.im - b.im};
}
template <class R>
FN cx<R> operator*(cx<R> a, cx<R> b) {
  return cx<R>{a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class R>
FN bool operator==(cx<R> a, cx<R> b) {
  return a.re == b.re && a.im == b.im;
}
template <class R>
FN bool operator!=(cx<R> a, cx<R> b) {
  return !(a == b);
}
FN c128 operator-(c128 z) { return c128{-z.re, -z.im}; }
FN c128 c_times_i(c128 z) { return c128{-z.im, z.re}; }
FN c128 c_div(c128 a, c128 b) {
  // Smith's division, which does not overflow where the quotient does not.
  if (fabs(b.re) >= fabs(b.im)) {
    if (b.re == 0 && b.im == 0) return c128{a.re / fabs(b.re), a.im / fabs(b.re)};
    f64 r = b.im / b.re, d = b.re + b.im * r;
    return c128{(a.re + a.im * r) / d, (a.im - a.re * r) / d};
  }
  f64 r = b.re / b.im, d = b.re * r + b.im;
  return c128{(a.re * r + a.im) / d, (a.im * r - a.re) / d};
}
FN f64 c_abs(c128 z) { return hypot(z.re, z.im); }
FN c128 c_sqrt(c128 z) {
  if (z.re == 0 && z.im == 0) return c128{0, z.im};
  if (isinf(z.im)) return c128{infinity<f64>(), z.im};
  f64 t = sqrt((fabs(z.re) + c_abs(z)) * 0.5);
  if (z.re >= 0) return c128{t, z.im / (2 * t)};
  return c128{fabs(z.im) / (2 * t), copysign(t, z.im)};
}
FN c128 c_exp(c128 z) {
  f64 e = exp(z.re);
  if (z.im == 0) return c128{e, z.im};
  return c128{e * cos(z.im), e * sin(z.im)};
}
FN c128 c_log(c128 z) { return c128{log(c_abs(z)), atan2(z.im, z.re)}; }
FN c128 c_sinh(c128 z) { return c128{sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im)}; }
FN c128 c_cosh(c128 z) { return c128{cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im)}; }
FN c128 c_tanh(c128 z) {
  if (fabs(z.re) > 20) return c128{copysign(1.0, z.re), copysign(0.0, sin(2 * z.im))};
  f64 t = tan(z.im), s = sinh(z.re), beta = 1 + t * t, rho = sqrt(1 + s * s);
  if (isinf(t)) return c128{rho / s, 1 / t};
  f64 d = 1 + beta * s * s;
  return c128{beta * rho * s / d, t / d};
}
FN c128 c_over_i(c128 z) { return c128{z.im, -z.re}; }
FN c128 c_sin(c128 z) { return c_over_i(c_sinh(c_times_i(z))); }
FN c128 c_cos(c128 z) { return c_cosh(c_times_i(z)); }
FN c128 c_tan(c128 z) { return c_over_i(c_tanh(c_times_i(z))); }
FN c128 c_asin(c128 z) {
  c128 a = c_sqrt(c128{1 - z.re, -z.im}), b = c_sqrt(c128{1 + z.re, z.im});
  return c128{atan2(z.re, (a * b).re), asinh((c128{a.re, -a.im} * b).im)};
}
FN c128 c_acos(c128 z) {
  c128 a = c_sqrt(c128{1 - z.re, -z.im}), b = c_sqrt(c128{1 + z.re, z.im});
  return c128{2 * atan2(a.re, b.re), asinh((c128{b.re, -b.im} * a).im)};
}
FN c128 c_asinh(c128 z) { return c_over_i(c_asin(c_times_i(z))); }
FN c128 c_acosh(c128 z) {
  c128 a = c_sqrt(c128{z.re - 1, z.im}), b = c_sqrt(c128{z.re + 1, z.im});
  return c128{asinh((c128{a.re, -a.im} * b).re), 2 * atan2(a.im, b.re)};
}
FN c128 c_atanh(c128 z) {
  f64 im2 = z.im * z.im, n = 1 + z.re, d = 1 - z.re;
  return c128{0.25 * (log(im2 + n * n) - log(im2 + d * d)), 0.5 * atan2(2 * z.im, 1 - z.re * z.re - im2)};
}
FN c128 c_atan(c128 z) { return c_over_i(c_atanh(c_times_i(z))); }
FN c128 c_pow(c128 a, c128 b) {
  if (b.im == 0 && a.im == 0 && a.re > 0) return c128{pow(a.re, b.re), 0};
  return c_exp(b * c_log(a));
}
