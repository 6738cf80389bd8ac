// Decompositions of matrices into triangular and unitary ones, a block for each, computed in double. Sources: Golub, Van Loan, Matrix
// Computations: 4.2 (Cholesky), 3.4 (elimination with pivots), 5.1 (Householder's reflections).
template <class T>
using deep_of = pick<is_cx<T>, c128, f64>;
template <class T>
FN deep_of<T> deep(T x) {
  if constexpr (is_cx<T>)
    return c_of(x);
  else
    return f64(x);
}
template <class T>
FN T shallow(deep_of<T> x) {
  if constexpr (is_cx<T>)
    return c_as<T>(x);
  else
    return T(x);
}
FN f64 conj_of(f64 x) { return x; }
FN c128 conj_of(c128 x) { return c128{x.re, -x.im}; }
FN f64 real_of(f64 x) { return x; }
FN f64 real_of(c128 x) { return x.re; }
FN f64 imag_of(f64) { return 0; }
FN f64 imag_of(c128 x) { return x.im; }
FN f64 square_of(f64 x) { return x * x; }
FN f64 square_of(c128 x) { return x.re * x.re + x.im * x.im; }
FN f64 size_of(f64 x) { return fabs(x); }
FN f64 size_of(c128 x) { return c_abs(x); }
FN f64 over(f64 x, f64 y) { return x / y; }
FN c128 over(c128 x, c128 y) { return c_div(x, y); }
FN f64 scaled(f64 s, f64 x) { return s * x; }
FN c128 scaled(f64 s, c128 x) { return c128{s * x.re, s * x.im}; }

// The threads of a block share what f(0) … f(count - 1) do, and wait for each other.
template <class F>
FN void block_each(i64 count, F f) {
  for (i64 i = threadIdx.x; i < count; i += blockDim.x) f(i);
  __syncthreads();
}
template <class F>
FN void block_once(F f) {
  if (threadIdx.x == 0) f();
  __syncthreads();
}
// The place of the largest size(i) of 0 … count - 1, the first of equals; every thread gets it.
template <class F>
FN i64 block_largest(i64 count, F size) {
  SHARED_ARRAY(f64, sizes, 256);
  SHARED_ARRAY(i64, places, 256);
  f64 best = -1;
  i64 at = 0;
  for (i64 i = threadIdx.x; i < count; i += blockDim.x)
    if (size(i) > best) {
      best = size(i);
      at = i;
    }
  sizes[threadIdx.x] = best;
  places[threadIdx.x] = at;
  __syncthreads();
  block_once([&] {
    for (u32 t = 1; t < blockDim.x; ++t)
      if (sizes[t] > sizes[0] || (sizes[t] == sizes[0] && places[t] < places[0])) {
        sizes[0] = sizes[t];
        places[0] = places[t];
      }
  });
  at = places[0];
  __syncthreads();
  return at;
}
// What makes the largest element of a column of `rows` elements, `stride` apart, real and positive: free_phase of the CPU's kernels.
template <class W>
FN W free_phase(const W* column, i64 rows, i64 stride) {
  f64 best = 0;
  i64 at = 0;
  for (i64 i = 0; i < rows; ++i)
    if (size_of(column[i * stride]) > best) {
      best = size_of(column[i * stride]);
      at = i;
    }
  return best > 0 ? scaled(1 / best, conj_of(column[at * stride])) : element<W>(1);
}

// buffers: matrices, factors, as deep ones. numbers: matrices, rows of each.
template <class T, class A>
FN void cholesky(const A& a) {
  typedef deep_of<T> W;
  i64 n = a.number[1];
  for (i64 m = blockIdx.x; m < a.number[0]; m += gridDim.x) {
    const T* in = a.template in<T>(0) + m * n * n;
    T* out = a.template out<T>(1) + m * n * n;
    W* w = a.template out<W>(2) + m * n * n;
    block_each(n * n, [&](i64 i) { w[i] = deep(in[i]); });
    for (i64 k = 0; k < n; ++k) {
      block_once([&] {
        f64 pivot = real_of(w[k * n + k]);
        w[k * n + k] = element<W>(pivot > 0 ? sqrt(pivot) : quiet_nan<f64>());
      });
      f64 root = real_of(w[k * n + k]);
      block_each(n - k - 1, [&](i64 i) { w[(k + 1 + i) * n + k] = scaled(1 / root, w[(k + 1 + i) * n + k]); });
      i64 left = n - k - 1;
      block_each(left * left, [&](i64 e) {
        i64 i = k + 1 + e / left, j = k + 1 + e % left;
        if (j <= i) w[i * n + j] = w[i * n + j] - w[i * n + k] * conj_of(w[j * n + k]);
      });
    }
    // Where a pivot failed, all that came after is NaN, the last one too: so is all of the triangle.
    bool failed = !(real_of(w[n * n - 1]) > 0);
    block_each(n * n, [&](i64 i) {
      out[i] = i % n > i / n ? element<T>(0) : failed ? element<T>(quiet_nan<f64>()) : shallow<T>(w[i]);
    });
  }
}

// buffers: matrices, factors, pivots, permutation, as deep ones. numbers: matrices, rows, columns.
template <class T, class A>
FN void eliminate(const A& a) {
  typedef deep_of<T> W;
  i64 rows = a.number[1], columns = a.number[2], steps = rows < columns ? rows : columns;
  for (i64 m = blockIdx.x; m < a.number[0]; m += gridDim.x) {
    const T* in = a.template in<T>(0) + m * rows * columns;
    T* out = a.template out<T>(1) + m * rows * columns;
    i32 *pivots = a.template out<i32>(2) + m * steps, *permutation = a.template out<i32>(3) + m * rows;
    W* w = a.template out<W>(4) + m * rows * columns;
    block_each(rows * columns, [&](i64 i) { w[i] = deep(in[i]); });
    block_each(rows, [&](i64 i) { permutation[i] = i32(i); });
    for (i64 k = 0; k < steps; ++k) {
      i64 pivot = k + block_largest(rows - k, [&](i64 i) {
                    W x = w[(k + i) * columns + k];
                    return fabs(real_of(x)) + fabs(imag_of(x));
                  });
      block_once([&] {
        pivots[k] = i32(pivot);
        i32 held = permutation[k];
        permutation[k] = permutation[pivot];
        permutation[pivot] = held;
      });
      if (pivot != k)
        block_each(columns, [&](i64 j) {
          W held = w[k * columns + j];
          w[k * columns + j] = w[pivot * columns + j];
          w[pivot * columns + j] = held;
        });
      W by = w[k * columns + k];
      if (by == element<W>(0)) continue;
      block_each(rows - k - 1, [&](i64 i) { w[(k + 1 + i) * columns + k] = over(w[(k + 1 + i) * columns + k], by); });
      i64 right = columns - k - 1;
      block_each((rows - k - 1) * right, [&](i64 e) {
        i64 i = k + 1 + e / right, j = k + 1 + e % right;
        w[i * columns + j] = w[i * columns + j] - w[i * columns + k] * w[k * columns + j];
      });
    }
    block_each(rows * columns, [&](i64 i) { out[i] = shallow<T>(w[i]); });
  }
}

// A thread solves for one column (or row, on the right) of b. buffers: A, b, x, x as deep ones. numbers: right-hand sides in all, rows of
// A, of them for each A; whether A is on the left, lower, transposed, conjugated, of a unit diagonal.
template <class T, class A>
FN void triangular_solve(const A& a) {
  typedef deep_of<T> W;
  i64 n = a.number[1], sides = a.number[2];
  bool left = a.number[3] != 0, conjugated = a.number[6] != 0, unit = a.number[7] != 0;
  bool swapped = left == (a.number[5] != 0), is_lower = (a.number[4] != 0) != swapped;
  for_each(a.number[0], [&](i64 e) {
    i64 m = e / sides, side = e % sides, start = m * n * sides + (left ? side : side * n), step = left ? sides : 1;
    const T *of = a.template in<T>(0) + m * n * n, *b = a.template in<T>(1) + start;
    T* out = a.template out<T>(2) + start;
    W* x = a.template out<W>(3) + start;
    for (i64 done = 0; done < n; ++done) {
      i64 i = is_lower ? done : n - 1 - done;
      W sum = deep(b[i * step]);
      for (i64 before = 0; before < done; ++before) {
        i64 j = is_lower ? before : n - 1 - before;
        W factor = deep(swapped ? of[j * n + i] : of[i * n + j]);
        sum = sum - (conjugated ? conj_of(factor) : factor) * x[j * step];
      }
      W by = deep(of[i * n + i]);
      if (!unit) sum = over(sum, conjugated ? conj_of(by) : by);
      x[i * step] = sum;
      out[i * step] = shallow<T>(sum);
    }
  });
}

// Reflections that make w upper triangular, their vectors below the diagonal. `factors`: one a reflection.
template <class W>
FN void reflect(W* w, W* factors, i64 rows, i64 columns) {
  i64 steps = rows < columns ? rows : columns;
  for (i64 k = 0; k < steps; ++k) {
    SHARED_ARRAY(W, by, 1);
    block_once([&] {
      W first = w[k * columns + k];
      f64 below = 0;
      for (i64 i = k + 1; i < rows; ++i) below += square_of(w[i * columns + k]);
      if (below == 0 && imag_of(first) == 0) {
        factors[k] = element<W>(0);
        by[0] = element<W>(1);
        return;
      }
      f64 beta = sqrt(square_of(first) + below);
      if (real_of(first) >= 0) beta = -beta;
      by[0] = first - element<W>(beta);
      factors[k] = conj_of(over(element<W>(beta) - first, element<W>(beta)));
      w[k * columns + k] = element<W>(beta);
    });
    W factor = factors[k];
    block_each(rows - k - 1, [&](i64 i) { w[(k + 1 + i) * columns + k] = over(w[(k + 1 + i) * columns + k], by[0]); });
    block_each(columns - k - 1, [&](i64 e) {
      i64 j = k + 1 + e;
      W sum = w[k * columns + j];
      for (i64 i = k + 1; i < rows; ++i) sum = sum + conj_of(w[i * columns + k]) * w[i * columns + j];
      sum = factor * sum;
      w[k * columns + j] = w[k * columns + j] - sum;
      for (i64 i = k + 1; i < rows; ++i) w[i * columns + j] = w[i * columns + j] - w[i * columns + k] * sum;
    });
  }
}
// The first `kept` columns of what the reflections multiply to.
template <class W>
FN void collect(const W* w, const W* factors, W* q, i64 rows, i64 columns, i64 kept) {
  i64 steps = rows < columns ? rows : columns;
  block_each(kept, [&](i64 j) {
    for (i64 i = 0; i < rows; ++i) q[i * kept + j] = element<W>(i == j ? 1 : 0);
    for (i64 k = steps; k-- > 0;) {
      W sum = q[k * kept + j];
      for (i64 i = k + 1; i < rows; ++i) sum = sum + conj_of(w[i * columns + k]) * q[i * kept + j];
      sum = conj_of(factors[k]) * sum;
      q[k * kept + j] = q[k * kept + j] - sum;
      for (i64 i = k + 1; i < rows; ++i) q[i * kept + j] = q[i * kept + j] - w[i * columns + k] * sum;
    }
  });
}

// buffers: matrices, Q, R, then deep ones: the matrices, factors, Q. numbers: matrices, rows, columns, columns of Q.
template <class T, class A>
FN void qr(const A& a) {
  typedef deep_of<T> W;
  i64 rows = a.number[1], columns = a.number[2], kept = a.number[3], steps = rows < columns ? rows : columns;
  for (i64 m = blockIdx.x; m < a.number[0]; m += gridDim.x) {
    const T* in = a.template in<T>(0) + m * rows * columns;
    T *out = a.template out<T>(1) + m * rows * kept, *upper = a.template out<T>(2) + m * kept * columns;
    W *w = a.template out<W>(3) + m * rows * columns, *factors = a.template out<W>(4) + m * steps, *q = a.template out<W>(5) + m * rows * kept;
    block_each(rows * columns, [&](i64 i) { w[i] = deep(in[i]); });
    reflect(w, factors, rows, columns);
    collect(w, factors, q, rows, columns, kept);
    block_each(rows * kept, [&](i64 i) { out[i] = shallow<T>(q[i]); });
    block_each(kept * columns, [&](i64 i) { upper[i] = i / columns <= i % columns ? shallow<T>(w[i]) : element<T>(0); });
  }
}
