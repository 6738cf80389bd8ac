// Eigenvalues and singular values by Jacobi's rotations, a block for each matrix, computed in double. Sources: Golub, Van Loan, Matrix
// Computations: 8.5 (in the order of Brent and Luk, so that the rotations of a round are apart), 8.6 (one-sided).

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
struct Sweeps {
  static constexpr int max = 60;
};

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
    for (int sweep = 0; sweep < Sweeps::max && going[0] != 0; ++sweep) {
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
    for (int sweep = 0; sweep < Sweeps::max && going[0] != 0; ++sweep) {
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
