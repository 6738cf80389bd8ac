// Schur forms and eigenvectors of general matrices by schur.inc, a thread for each matrix.

FN Zed zed_of(f64 x) { return Zed{x, 0}; }
FN Zed zed_of(c128 x) { return Zed{x.re, x.im}; }

// buffers: matrices, Schur forms, vectors, then deep ones: both. numbers: matrices, rows.
template <class T, class C, class A>
FN void schur(const A& a) {
  i64 n = a.number[1], all = n * n;
  for_each(a.number[0], [&](i64 m) {
    Zed *t = a.template out<Zed>(3) + m * all, *u = a.template out<Zed>(4) + m * all;
    for (i64 e = 0; e < all; ++e) t[e] = zed_of(deep(a.template in<T>(0)[m * all + e]));
    bool found = schur_form(t, u, n);
    for (i64 e = 0; e < all; ++e) {
      c128 nan = c128{quiet_nan<f64>(), quiet_nan<f64>()};
      a.template out<C>(1)[m * all + e] = c_as<C>(found ? c128{t[e].re, t[e].im} : nan);
      a.template out<C>(2)[m * all + e] = c_as<C>(found ? c128{u[e].re, u[e].im} : nan);
    }
  });
}

// buffers: matrices, eigenvalues, eigenvectors, then deep ones: Schur forms, their vectors, eigenvectors, a row. numbers: matrices, rows.
template <class T, class C, class A>
FN void eig(const A& a) {
  i64 n = a.number[1], all = n * n;
  for_each(a.number[0], [&](i64 m) {
    Zed *t = a.template out<Zed>(3) + m * all, *u = a.template out<Zed>(4) + m * all, *v = a.template out<Zed>(5) + m * all;
    for (i64 e = 0; e < all; ++e) t[e] = zed_of(deep(a.template in<T>(0)[m * all + e]));
    bool found = schur_form(t, u, n);
    c128 nan = c128{quiet_nan<f64>(), quiet_nan<f64>()};
    for (i64 k = 0; k < n; ++k) {
      if (found) schur_vector(t, u, n, k, a.template out<Zed>(6) + m * n, v);
      a.template out<C>(1)[m * n + k] = c_as<C>(found ? c128{t[k * n + k].re, t[k * n + k].im} : nan);
      for (i64 i = 0; i < n; ++i) a.template out<C>(2)[m * all + i * n + k] = c_as<C>(found ? c128{v[i * n + k].re, v[i * n + k].im} : nan);
    }
  });
}
