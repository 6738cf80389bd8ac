// Products that no library makes: matrices of integers and bool, and the patches of convolutions.

// Sums are wide: of integers modulo 2^64, of floats in double.
template <class T>
using sum_of = pick<is_whole<T>, u64, pick<is_bool<T>, u32, pick<is_cx<T>, c128, f64>>>;
template <class T>
FN sum_of<T> summand(T x) {
  if constexpr (is_cx<T>)
    return c_of(x);
  else if constexpr (is_whole<T> || is_bool<T>)
    return sum_of<T>(x);
  else
    return f64(widen(x));
}
template <class T>
FN T rounded_sum(sum_of<T> sum) {
  if constexpr (is_cx<T>)
    return c_as<T>(sum);
  else if constexpr (is_bool<T>)
    return sum != 0;
  else if constexpr (is_half<T>)
    return narrow<T>(f32(sum));
  else
    return T(sum);
}

// c[b, m, n] = sum over k of a[b, m, k] * b[b, k, n]. numbers: results, n, k, m; strides of a by b, m, k; of b by b, k, n.
template <class T, class A>
FN void matrix_product(const A& a) {
  const T *left = a.template in<T>(0), *right = a.template in<T>(1);
  T* out = a.template out<T>(2);
  const i64* n = a.number;
  for_each(n[0], [&](i64 i) {
    i64 column = i % n[1], row = i / n[1] % n[3], batch = i / n[1] / n[3];
    const T *x = left + batch * n[4] + row * n[5], *y = right + batch * n[7] + column * n[9];
    sum_of<T> sum = element<sum_of<T>>(0);
    for (i64 k = 0; k < n[2]; ++k) sum = sum + summand(x[k * n[6]]) * summand(y[k * n[8]]);
    out[i] = rounded_sum<T>(sum);
  });
}

// What follows a product, in place: scaled, a bias added to each row, or an addend, relu (1) or gelu by tanh (2), rounded once. buffers: what
// is added, the product; numbers: elements, those of what is added, the scale's bits.
template <class T, bool kAdds, int kActivation, class A>
FN void finish_product(const A& a) {
  T* out = a.template out<T>(1);
  const wide_of<T> scale = wide_of<T>(bits_as<f64>(a.number[2]));
  for_each(a.number[0], [&](i64 i) {
    wide_of<T> x = widen(out[i]) * scale;
    if constexpr (kAdds) x = x + widen(a.template in<T>(0)[i % a.number[1]]);
    if constexpr (kActivation == 1) x = op_relu(x);
    if constexpr (kActivation == 2)
      x = x * (wide_of<T>(0.5) * (op_tanh(wide_of<T>(0.7978845608028654) * (x + wide_of<T>(0.044715) * x * x * x)) + wide_of<T>(1)));
    out[i] = narrow<T>(x);
  });
}

// A convolution, element by element of the result; dimensions in the order [batch, feature, spatial]. numbers: results; of each of
// 2 + kSpatial dimensions: size of the result here, its first index, its stride, the operand's first index here, size here, stride, the
// kernel's ([output feature, input feature, spatial]) first index here, size here, stride (12 below: of each spatial dimension also
// stride, low padding, dilation of operand and of kernel); of a group: output features, input features and batch (0
// where all groups see all of them).
template <class T, int kSpatial, class A>
FN void convolve(const A& a) {
  const T *x = a.template in<T>(0), *w = a.template in<T>(1);
  T* out = a.template out<T>(2);
  const i64 *dims = a.number + 1, *windows = dims + 9 * (2 + kSpatial), *group_sizes = windows + 4 * kSpatial;
  i64 taps = 1;
  for (int s = 0; s < kSpatial; ++s) taps *= dims[9 * (s + 2) + 7];
  for_each(a.number[0], [&](i64 i) {
    i64 index[2 + kSpatial], rest = i, to = 0;
    for (int d = 1 + kSpatial; d >= 0; --d) {
      const i64* n = dims + 9 * d;
      i64 at = rest % n[0];
      rest /= n[0];
      index[d] = at + n[1];
      to += at * n[2];
    }
    i64 group = group_sizes[0] > 0 ? index[1] / group_sizes[0] : 0, inputs = group_sizes[1], images = group * group_sizes[2];
    const i64 *batch = dims, *feature = dims + 9;
    i64 first = group * inputs + feature[6], last = first + feature[7];
    if (first < feature[3]) first = feature[3];
    if (last > feature[3] + feature[4]) last = feature[3] + feature[4];
    sum_of<T> sum = element<sum_of<T>>(0);
    for (i64 tap = 0; tap < taps; ++tap) {
      i64 from = (images + index[0] - batch[3]) * batch[5], with = (index[1] - batch[6]) * batch[8], left = tap;
      bool here = true;
      for (int s = kSpatial - 1; s >= 0; --s) {
        const i64 *n = dims + 9 * (s + 2), *window = windows + 4 * s;
        i64 k = left % n[7] + n[6];
        left /= n[7];
        i64 place = index[s + 2] * window[0] - window[1] + k * window[3];
        here = here && place >= 0 && place % window[2] == 0 && place / window[2] >= n[3] && place / window[2] < n[3] + n[4];
        from += (place / window[2] - n[3]) * n[5];
        with += (k - n[6]) * n[8];
      }
      if (!here) continue;
      for (i64 f = first; f < last; ++f)
        sum = sum + summand(x[from + (f - feature[3]) * feature[5]]) * summand(w[with + (f - group * inputs - feature[6]) * feature[8]]);
    }
    out[to] = rounded_sum<T>(sum);
  });
}

// What windows combine to. Sums and products are wide, as those of convolutions.
template <class T>
struct WindowSum {
  FN_MEMBER static sum_of<T> identity() { return element<sum_of<T>>(0); }
  FN_MEMBER static sum_of<T> next(sum_of<T> all, T x) { return all + summand(x); }
  FN_MEMBER static T finish(sum_of<T> all) { return rounded_sum<T>(all); }
};
template <class T>
struct WindowProd {
  FN_MEMBER static sum_of<T> identity() { return element<sum_of<T>>(1); }
  FN_MEMBER static sum_of<T> next(sum_of<T> all, T x) { return all * summand(x); }
  FN_MEMBER static T finish(sum_of<T> all) { return rounded_sum<T>(all); }
};
// Complex numbers begin at an infinity without imaginary part, and give way to what is not ordered, as in JAX.
template <class T, bool kLargest>
struct WindowExtreme {
  typedef wide_of<T> W;
  FN_MEMBER static W identity() {
    if constexpr (is_cx<T>)
      return W{extreme<part_of<W>>(kLargest), 0};
    else
      return extreme<W>(kLargest);
  }
  FN_MEMBER static W next(W all, T x) {
    if constexpr (is_cx<T>)
      return (kLargest ? less_than(x, all) : less_than(all, x)) ? all : x;
    else
      return kLargest ? op_maximum(widen(x), all) : op_minimum(widen(x), all);
  }
  FN_MEMBER static T finish(W all) { return narrow<T>(all); }
};
template <class T>
using WindowMax = WindowExtreme<T, true>;
template <class T>
using WindowMin = WindowExtreme<T, false>;

// Where element i lies in the whole array, of which a part is here. The kNumbers numbers of each dimension begin with the part's size and
// first index.
template <int kRank, int kNumbers, class A>
FN void index_of(const A& a, i64 i, i64* index) {
  for (int d = kRank - 1; d >= 0; --d) {
    const i64* n = a.number + 1 + kNumbers * d;
    index[d] = i % n[0] + n[1];
    i /= n[0];
  }
}

// A thread makes one result of its window. numbers: results; of each dimension: size of the result here, its first index, the window's
// stride, low padding, dilation of the operand and of the window, size; the operand's first index here, size here, stride.
template <class F, class T, int kRank, class A>
FN void reduce_window(const A& a) {
  const T* in = a.template in<T>(0);
  T* out = a.template out<T>(1);
  i64 taps = 1;
  for (int d = 0; d < kRank; ++d) taps *= a.number[1 + 10 * d + 6];
  for_each(a.number[0], [&](i64 i) {
    i64 index[kRank > 0 ? kRank : 1];
    index_of<kRank, 10>(a, i, index);
    auto all = F::identity();
    for (i64 tap = 0; tap < taps; ++tap) {
      i64 from = 0, left = tap;
      bool here = true;
      for (int d = kRank - 1; d >= 0; --d) {
        const i64* n = a.number + 1 + 10 * d;
        i64 place = index[d] * n[2] - n[3] + left % n[6] * n[5];
        left /= n[6];
        here = here && place >= 0 && place % n[4] == 0 && place / n[4] >= n[7] && place / n[4] < n[7] + n[8];
        from += (place / n[4] - n[7]) * n[9];
      }
      if (here) all = F::next(all, in[from]);
    }
    out[i] = F::finish(all);
  });
}

// What select_and_gather_add and select_and_scatter_add choose by: the largest or smallest, of equal ones the first; what is no number is
// replaced by the next.
template <class T>
struct ChooseMax {
  FN_MEMBER static wide_of<T> worst() { return extreme<wide_of<T>>(true); }
  FN_MEMBER static bool keeps(wide_of<T> best, wide_of<T> next) { return best >= next; }
};
template <class T>
struct ChooseMin {
  FN_MEMBER static wide_of<T> worst() { return extreme<wide_of<T>>(false); }
  FN_MEMBER static bool keeps(wide_of<T> best, wide_of<T> next) { return best <= next; }
};

// A thread makes one result: the tangent of the element that its window chooses. numbers: as of reduce_window, and of each dimension then the
// tangents' first index and stride.
template <class F, class T, int kRank, class A>
FN void select_and_gather_add(const A& a) {
  const T *tangents = a.template in<T>(0), *in = a.template in<T>(1);
  T* out = a.template out<T>(2);
  i64 taps = 1;
  for (int d = 0; d < kRank; ++d) taps *= a.number[1 + 12 * d + 6];
  for_each(a.number[0], [&](i64 i) {
    i64 index[kRank > 0 ? kRank : 1];
    index_of<kRank, 12>(a, i, index);
    wide_of<T> best = F::worst();
    T chosen = element<T>(0);
    for (i64 tap = 0; tap < taps; ++tap) {
      i64 from = 0, at = 0, left = tap;
      bool here = true;
      for (int d = kRank - 1; d >= 0; --d) {
        const i64* n = a.number + 1 + 12 * d;
        i64 place = index[d] * n[2] - n[3] + left % n[6] * n[5];
        left /= n[6];
        here = here && place >= 0 && place % n[4] == 0 && place / n[4] >= n[7] && place / n[4] < n[7] + n[8];
        from += (place / n[4] - n[7]) * n[9];
        at += (place / n[4] - n[10]) * n[11];
      }
      wide_of<T> next = here ? widen(in[from]) : F::worst();
      if (F::keeps(best, next)) continue;
      best = next;
      chosen = here ? tangents[at] : element<T>(0);
    }
    out[i] = chosen;
  });
}

// A thread makes one element: the sum over the windows that see it and choose it. numbers: elements; of each dimension: size of the result
// here, its first index, the window's stride, dilation, size, the number of windows; the operand's first index and stride, the source's.
template <class F, class T, int kRank, class A>
FN void select_and_scatter_add(const A& a) {
  const T *source = a.template in<T>(0), *in = a.template in<T>(1);
  T* out = a.template out<T>(2);
  i64 taps = 1;
  for (int d = 0; d < kRank; ++d) taps *= a.number[1 + 10 * d + 4];
  for_each(a.number[0], [&](i64 i) {
    i64 index[kRank > 0 ? kRank : 1];
    index_of<kRank, 10>(a, i, index);
    wide_of<T> sum = widen(element<T>(0));
    // A window sees the element by one of its taps: the last tap is the window that begins first.
    for (i64 mine = taps - 1; mine >= 0; --mine) {
      i64 window[kRank > 0 ? kRank : 1], of = 0, left = mine;
      bool here = true;
      for (int d = kRank - 1; d >= 0; --d) {
        const i64* n = a.number + 1 + 10 * d;
        i64 begin = index[d] - left % n[4] * n[3];
        left /= n[4];
        here = here && begin >= 0 && begin % n[2] == 0 && begin / n[2] < n[5];
        window[d] = begin / n[2];
        of += (window[d] - n[8]) * n[9];
      }
      if (!here) continue;
      i64 chosen = 0;
      wide_of<T> best = F::worst();
      for (i64 tap = 0; tap < taps; ++tap) {
        i64 from = 0;
        left = tap;
        for (int d = kRank - 1; d >= 0; --d) {
          const i64* n = a.number + 1 + 10 * d;
          from += (window[d] * n[2] + left % n[4] * n[3] - n[6]) * n[7];
          left /= n[4];
        }
        wide_of<T> next = widen(in[from]);
        if (tap > 0 && F::keeps(best, next)) continue;
        best = next;
        chosen = tap;
      }
      if (chosen == mine) sum = sum + widen(source[of]);
    }
    out[i] = narrow<T>(sum);
  });
}

// The first number of each row, and the last one of rows of even length, are real to a transform that gives real numbers; cuFFT would take in
// their imaginary parts. numbers: such numbers in all, of a row, elements of a row.
template <class T, class A>
FN void real_ends(const A& a) {
  T* data = a.template out<T>(0);
  for_each(a.number[0], [&](i64 i) { data[i / a.number[1] * a.number[2] + i % a.number[1] * (a.number[2] - 1)].im = 0; });
}
// Each element times the factor in number[1] (the bits of a double).
template <class T, class A>
FN void scale(const A& a) {
  part_of<T> factor = part_of<T>(bits_as<f64>(a.number[1]));
  T* data = a.template out<T>(0);
  for_each(a.number[0], [&](i64 i) {
    if constexpr (is_cx<T>)
      data[i] = T{data[i].re * factor, data[i].im * factor};
    else
      data[i] = data[i] * factor;
  });
}
