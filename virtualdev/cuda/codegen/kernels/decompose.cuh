// Decompositions of matrices, a block for each, computed in double. Sources: Golub, Van Loan, Matrix Computations: 4.2 (Cholesky), 3.4
// (elimination with pivots), 5.1 (Householder's reflections), 8.5 (Jacobi's rotations, in the order of Brent and Luk, so that those of a
// round are apart), 8.6 (one-sided Jacobi).
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
    // Where a pivot failed, all that came after is NaN, the last one too.
    bool failed = !(real_of(w[n * n - 1]) > 0);
    block_each(n * n, [&](i64 i) {
      out[i] = failed ? element<T>(quiet_nan<f64>()) : i % n <= i / n ? shallow<T>(w[i]) : element<T>(0);
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

// The rotation that makes two vectors with squares `first`, `second` and product `between` orthogonal: the first becomes
// cos first - sin conj(unit) second, the second sin unit first + cos second.
template <class W>
struct Rotation {
  f64 cos, sin;
  W unit;
};
template <class W>
FN Rotation<W> rotation_of(f64 first, f64 second, W between) {
  f64 size = size_of(between), ratio = (second - first) / (2 * size);
  f64 tangent = (ratio >= 0 ? 1 : -1) / (fabs(ratio) + sqrt(1 + ratio * ratio)), cosine = 1 / sqrt(1 + tangent * tangent);
  return Rotation<W>{cosine, tangent * cosine, scaled(1 / size, between)};
}
template <class W>
FN void rotate(const Rotation<W>& r, W* first, W* second) {
  W x = *first, y = *second;
  *first = scaled(r.cos, x) - scaled(r.sin, conj_of(r.unit) * y);
  *second = scaled(r.sin, r.unit * x) + scaled(r.cos, y);
}
// Pair `i` of a round in which every index of 0 … count - 1 is in one pair at most: p < q, or q = count where it is alone.
struct Pair {
  i64 p, q;
};
FN Pair pair_of(i64 round, i64 i, i64 count) {
  i64 places = count + count % 2 - 1, x = (round + i) % places, y = i == 0 ? places : (round - i + places) % places;
  if (x > y) {
    i64 held = x;
    x = y;
    y = held;
  }
  return Pair{x, y < count ? y : count};
}
constexpr int kSweepsMax = 60;

// buffers: matrices, vectors, values, then deep ones: matrices, vectors, rotations and whether they were needed (4 numbers a pair).
// numbers: matrices, rows, whether the lower triangle is read.
template <class T, class A>
FN void eigh(const A& a) {
  typedef deep_of<T> W;
  typedef part_of<T> R;
  i64 n = a.number[1], pairs = (n + 1) / 2;
  for (i64 m = blockIdx.x; m < a.number[0]; m += gridDim.x) {
    const T* in = a.template in<T>(0) + m * n * n;
    T* vectors = a.template out<T>(1) + m * n * n;
    R* values = a.template out<R>(2) + m * n;
    W *w = a.template out<W>(3) + m * n * n, *v = a.template out<W>(4) + m * n * n;
    Rotation<W>* rotations = a.template out<Rotation<W>>(5) + m * pairs;
    SHARED_ARRAY(f64, scale, 1);
    SHARED_ARRAY(i32, going, 1);
    block_each(n * n, [&](i64 e) {
      i64 i = e / n, j = e % n;
      bool is_read = a.number[2] != 0 ? j <= i : i <= j;
      W x = deep(in[is_read ? e : j * n + i]);
      w[e] = i == j ? element<W>(real_of(x)) : is_read ? x : conj_of(x);
      v[e] = element<W>(i == j ? 1 : 0);
    });
    block_once([&] {
      scale[0] = 0;
      for (i64 i = 0; i < n * n; ++i) scale[0] += square_of(w[i]);
      scale[0] = sqrt(scale[0]);
      going[0] = scale[0] > 0 && scale[0] < infinity<f64>();
    });
    for (int sweep = 0; sweep < kSweepsMax && going[0] != 0; ++sweep) {
      __syncthreads();
      block_once([&] { going[0] = 0; });
      for (i64 round = 0; round < 2 * pairs - 1; ++round) {
        block_each(pairs, [&](i64 i) {
          Pair at = pair_of(round, i, n);
          rotations[i].sin = 0;
          if (at.q == n) return;
          W between = w[at.p * n + at.q];
          if (size_of(between) > 1e-16 * scale[0])
            rotations[i] = rotation_of(real_of(w[at.p * n + at.p]), real_of(w[at.q * n + at.q]), between);
        });
        block_once([&] {
          for (i64 i = 0; i < pairs; ++i)
            if (rotations[i].sin != 0) going[0] = 1;
        });
        block_each(pairs * n, [&](i64 e) {  // columns
          i64 i = e % pairs, row = e / pairs;
          Pair at = pair_of(round, i, n);
          if (at.q == n || rotations[i].sin == 0) return;
          rotate(rotations[i], w + row * n + at.p, w + row * n + at.q);
          rotate(rotations[i], v + row * n + at.p, v + row * n + at.q);
        });
        block_each(pairs * n, [&](i64 e) {  // rows, by the conjugate
          i64 i = e / n, column = e % n;
          Pair at = pair_of(round, i, n);
          if (at.q == n || rotations[i].sin == 0) return;
          Rotation<W> other = rotations[i];
          other.unit = conj_of(other.unit);
          rotate(other, w + at.p * n + column, w + at.q * n + column);
        });
      }
    }
    bool failed = !(scale[0] < infinity<f64>());
    block_each(n, [&](i64 k) {
      f64 value = real_of(w[k * n + k]);
      i64 place = failed ? k : 0;
      for (i64 i = 0; i < n && !failed; ++i) {
        f64 other = real_of(w[i * n + i]);
        place += other < value || (other == value && i < k);
      }
      values[place] = failed ? quiet_nan<R>() : R(value);
      W phase = free_phase(v + k, n, n);
      for (i64 i = 0; i < n; ++i)
        vectors[i * n + place] = failed ? element<T>(quiet_nan<f64>()) : shallow<T>(v[i * n + k] * phase);
    });
  }
}

// Of matrices with fewer rows than columns the adjoint is decomposed. buffers: matrices, values, U, V^H, then deep ones: the matrices, V,
// the same two in order, factors, Q, the values. numbers: matrices, rows, columns, whether vectors are wanted, all of them.
template <class T, class A>
FN void svd(const A& a) {
  typedef deep_of<T> W;
  typedef part_of<T> R;
  i64 given_rows = a.number[1], given_columns = a.number[2];
  bool is_tall = given_rows >= given_columns, has_vectors = a.number[3] != 0;
  i64 rows = is_tall ? given_rows : given_columns, n = is_tall ? given_columns : given_rows, kept = a.number[4] != 0 ? rows : n;
  for (i64 m = blockIdx.x; m < a.number[0]; m += gridDim.x) {
    const T* in = a.template in<T>(0) + m * rows * n;
    R* values = a.template out<R>(1) + m * n;
    W *w = a.template out<W>(4) + m * rows * n, *v = a.template out<W>(5) + m * n * n;
    W *ordered = a.template out<W>(6) + m * rows * n, *right = a.template out<W>(7) + m * n * n;
    W *factors = a.template out<W>(8) + m * n, *q = a.template out<W>(9) + m * rows * kept;
    f64* sizes = a.template out<f64>(10) + m * n;
    SHARED_ARRAY(i32, state, 256);  // whether a thread's pairs are still turned
    SHARED_ARRAY(i32, going, 2);    // whether any are; whether all numbers are finite
    block_each(rows * n, [&](i64 e) {
      i64 i = e / n, j = e % n;
      w[e] = is_tall ? deep(in[e]) : conj_of(deep(in[j * rows + i]));
    });
    block_each(n * n, [&](i64 e) { v[e] = element<W>(e / n == e % n ? 1 : 0); });
    block_once([&] {
      f64 sum = 0;
      for (i64 i = 0; i < rows * n; ++i) sum += square_of(w[i]);
      going[0] = going[1] = sum < infinity<f64>();
    });
    for (int sweep = 0; sweep < kSweepsMax && going[0] != 0; ++sweep) {
      state[threadIdx.x] = 0;
      __syncthreads();
      for (i64 round = 0; round < n + n % 2 - 1; ++round)
        block_each((n + 1) / 2, [&](i64 i) {
          Pair at = pair_of(round, i, n);
          if (at.q == n) return;
          f64 first = 0, second = 0;
          W between = element<W>(0);
          for (i64 k = 0; k < rows; ++k) {
            first += square_of(w[k * n + at.p]);
            second += square_of(w[k * n + at.q]);
            between = between + conj_of(w[k * n + at.p]) * w[k * n + at.q];
          }
          if (!(size_of(between) > 1e-15 * sqrt(first * second))) return;
          state[threadIdx.x] = 1;
          Rotation<W> turn = rotation_of(first, second, between);
          for (i64 k = 0; k < rows; ++k) rotate(turn, w + k * n + at.p, w + k * n + at.q);
          for (i64 k = 0; k < n; ++k) rotate(turn, v + k * n + at.p, v + k * n + at.q);
        });
      block_once([&] {
        going[0] = 0;
        for (u32 t = 0; t < blockDim.x; ++t) going[0] |= state[t];
      });
    }
    block_each(n, [&](i64 k) {
      f64 sum = 0;
      for (i64 i = 0; i < rows; ++i) sum += square_of(w[i * n + k]);
      sizes[k] = sqrt(sum);
    });
    bool failed = going[1] == 0;
    block_each(n, [&](i64 k) {
      i64 place = failed ? k : 0;
      for (i64 i = 0; i < n && !failed; ++i) place += sizes[i] > sizes[k] || (sizes[i] == sizes[k] && i < k);
      values[place] = failed ? quiet_nan<R>() : R(sizes[k]);
      for (i64 i = 0; i < rows; ++i) ordered[i * n + place] = w[i * n + k];
      for (i64 i = 0; i < n; ++i) right[i * n + place] = v[i * n + k];
    });
    if (!has_vectors) continue;
    // The columns are orthogonal but for rounding: their reflections give them unit length, and what is missing of a basis.
    reflect(ordered, factors, rows, n);
    collect(ordered, factors, q, rows, n, kept);
    i64 u_columns = is_tall ? kept : n;
    T *u = a.template out<T>(2) + m * given_rows * u_columns, *v_adjoint = a.template out<T>(3) + m * (is_tall ? n : kept) * given_columns;
    block_each(kept, [&](i64 k) {
      if (k < n && real_of(ordered[k * n + k]) < 0)
        for (i64 i = 0; i < rows; ++i) q[i * kept + k] = scaled(-1, q[i * kept + k]);
      W phase = is_tall || k >= n ? free_phase(q + k, rows, kept) : free_phase(right + k, n, n);
      for (i64 i = 0; i < rows; ++i) {
        W x = failed ? element<W>(quiet_nan<f64>()) : q[i * kept + k] * phase;
        if (is_tall)
          u[i * kept + k] = shallow<T>(x);
        else
          v_adjoint[k * rows + i] = shallow<T>(conj_of(x));
      }
      for (i64 i = 0; i < n && k < n; ++i) {
        W x = failed ? element<W>(quiet_nan<f64>()) : right[i * n + k] * phase;
        if (is_tall)
          v_adjoint[k * n + i] = shallow<T>(conj_of(x));
        else
          u[i * n + k] = shallow<T>(x);
      }
    });
  }
}
