// Sorting: places are merged, run by run; every element finds its place among the neighbouring run's by halving, so that a pass needs
// neither shared memory nor an order of its threads. Stable. Source: the rank-based merge of Satish, Harris and Garland, "Designing
// efficient sorting algorithms for manycore GPUs" (IPDPS 2009).

// Numbers ascending, -0 equal to 0, complex numbers by real then imaginary part, NaN last.
template <class T>
FN bool sorts_before(T a, T b) {
  if constexpr (is_half<T>) {
    return sorts_before(widen(a), widen(b));
  } else if constexpr (is_cx<T>) {
    if (sorts_before(a.re, b.re)) return true;
    return !sorts_before(b.re, a.re) && sorts_before(a.im, b.im);
  } else {
    return a < b || (a == a && b != b);
  }
}

// The total order of top_k: negative NaNs, numbers ascending, -0 before 0, NaN.
template <class T>
FN bool ranks_before(T a, T b) {
  if constexpr (is_half<T>) {
    return ranks_before(widen(a), widen(b));
  } else if constexpr (is_real<T>) {
    auto side = [](T x) { return x == x ? 0 : copysign(T(1), x) < 0 ? -1 : 1; };
    if (a != a || b != b) return side(a) < side(b);
    return a < b || (a == b && copysign(T(1), a) < copysign(T(1), b));
  } else {
    return a < b;
  }
}

// The same orders as unsigned numbers: of two elements the one that comes first has the smaller one, equal ones have equal ones. Those of
// integers have the sign's bit changed; those of floats, where the sign is set, all bits.
template <class T>
FN unsigned_of<T> whole_digits(T x) {
  typedef unsigned_of<T> U;
  return is_signed_whole<T> ? U(U(x) ^ U(U(1) << (8 * sizeof(T) - 1))) : U(x);
}
template <class T>
FN unsigned_of<T> float_digits(T x) {
  typedef unsigned_of<T> U;
  const U bits = bits_as<U>(x), sign = U(U(1) << (8 * sizeof(T) - 1));
  return (bits & sign) != 0 ? U(~bits) : U(bits | sign);
}
struct SortOrder {
  template <class T>
  FN_MEMBER static unsigned_of<T> digits(T x) {
    if constexpr (is_half<T> || is_real<T>) {
      if (widen(x) != widen(x)) return unsigned_of<T>(~u64(0));
      return float_digits(widen(x) == 0 ? element<T>(0) : x);
    } else {
      return whole_digits(x);
    }
  }
};
struct RankOrder {  // the largest first
  template <class T>
  FN_MEMBER static unsigned_of<T> digits(T x) {
    typedef unsigned_of<T> U;
    if constexpr (is_half<T> || is_real<T>) {
      const U digits = float_digits(x);
      if (widen(x) != widen(x)) return (digits >> (8 * sizeof(T) - 1)) != 0 ? U(0) : U(~u64(0));
      return U(~digits);
    } else {
      return U(~whole_digits(x));
    }
  }
};
// What a radix sort goes by: digits of a part of the element at each place, the row's number above them. buffers: operand, places, words.
// numbers: elements in all, of a row, stride, first bit of the digits, how many of them.
template <class T, class Word, int kPart, class Order, class A>
FN void order_words(const A& a) {
  const T* in = a.template in<T>(0);
  const i32* places = a.template in<i32>(1);
  Word* words = a.template out<Word>(2);
  const i64 count = a.number[1], stride = a.number[2], shift = a.number[3], bits = a.number[4];
  for_each(a.number[0], [&](i64 i) {
    i64 row = i / count;
    T x = in[(row / stride * count + places[i]) * stride + row % stride];
    u64 digits = 0;
    if constexpr (is_cx<T>)
      digits = Order::digits(kPart == 1 ? x.im : x.re);
    else
      digits = Order::digits(x);
    digits >>= shift;
    words[i] = Word(bits == 64 ? digits : (digits & ((u64(1) << bits) - 1)) | (u64(row) << bits));
  });
}

// numbers: elements in all, of a row. Each place is its own number.
template <class A>
FN void first_order(const A& a) {
  i32* order = a.template out<i32>(0);
  for_each(a.number[0], [&](i64 i) { order[i] = i32(i % a.number[1]); });
}

// One pass: runs of `width` places in order become runs of twice that. `Less(row, x, y)`: whether place x of a row sorts before y.
// buffers kFrom and kFrom + 1: order before and after. numbers: elements in all, of a row, width.
template <int kFrom, class Less, class A>
FN void merge_pass(const A& a, Less less) {
  const i32* from = a.template in<i32>(kFrom);
  i32* to = a.template out<i32>(kFrom + 1);
  i64 count = a.number[1], width = a.number[2];
  for_each(a.number[0], [&](i64 i) {
    i64 row = i / count, p = i % count, pair = p / (2 * width) * (2 * width);
    i64 middle = pair + width < count ? pair + width : count, end = pair + 2 * width < count ? pair + 2 * width : count;
    const i32* places = from + row * count;
    i32 mine = places[p];
    bool is_left = p < middle;
    i64 low = is_left ? middle : pair, high = is_left ? end : middle;
    i64 begin = low;
    while (low < high) {  // how many of the other run go before mine: of equals the left run's
      i64 at = (low + high) / 2;
      bool before = is_left ? less(row, places[at], mine) : !less(row, mine, places[at]);
      if (before)
        low = at + 1;
      else
        high = at;
    }
    to[row * count + pair + (p - (is_left ? pair : middle)) + (low - begin)] = mine;
  });
}

// Elements of rows in order. buffers: operand, order, result. numbers: results, of a row of them, of a row of the operand, stride.
template <class T, class A>
FN void take_in_order(const A& a) {
  const T* in = a.template in<T>(0);
  const i32* order = a.template in<i32>(1);
  T* out = a.template out<T>(2);
  i64 wanted = a.number[1], count = a.number[2], stride = a.number[3];
  for_each(a.number[0], [&](i64 i) {
    i64 row = i / wanted, k = i % wanted, outer = row / stride, inner = row % stride;
    out[(outer * wanted + k) * stride + inner] = in[(outer * count + order[row * count + k]) * stride + inner];
  });
}
// The places themselves. buffers: order, result. numbers: results, of a row of them, of a row of the order, first that is wanted.
template <class T, class A>
FN void take_places(const A& a) {
  const i32* order = a.template in<i32>(0);
  T* out = a.template out<T>(1);
  for_each(a.number[0], [&](i64 i) {
    out[i] = element<T>(order[i / a.number[1] * a.number[2] + a.number[3] + i % a.number[1]]);
  });
}
