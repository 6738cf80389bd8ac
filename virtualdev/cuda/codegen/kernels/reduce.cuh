// Reductions, their finding cousins argmax and argmin, running combinations, and the combination of devices' partial results.

// What is combined: from an element to an accumulator, of two accumulators one, and the result.
template <class T>
struct Sum {
  typedef wide_of<T> Acc;
  FN_MEMBER static Acc identity() { return element<Acc>(0); }
  FN_MEMBER static Acc combine(Acc a, Acc b) { return op_add(a, b); }
};
template <class T>
struct Prod {
  typedef wide_of<T> Acc;
  FN_MEMBER static Acc identity() { return element<Acc>(1); }
  FN_MEMBER static Acc combine(Acc a, Acc b) { return op_mul(a, b); }
};
template <class A>
FN A extreme(bool low) {
  if constexpr (is_cx<A>) {
    part_of<A> bound = low ? -infinity<part_of<A>>() : infinity<part_of<A>>();
    return A{bound, bound};
  } else if constexpr (is_real<A>) {
    return low ? -infinity<A>() : infinity<A>();
  } else if constexpr (is_bool<A>) {
    return !low;
  } else {
    return low ? lowest_whole<A> : highest_whole<A>;
  }
}
template <class T>
struct Max {
  typedef wide_of<T> Acc;
  FN_MEMBER static Acc identity() { return extreme<Acc>(true); }
  FN_MEMBER static Acc combine(Acc a, Acc b) { return op_maximum(a, b); }
};
template <class T>
struct Min {
  typedef wide_of<T> Acc;
  FN_MEMBER static Acc identity() { return extreme<Acc>(false); }
  FN_MEMBER static Acc combine(Acc a, Acc b) { return op_minimum(a, b); }
};
template <class T>
struct And {
  typedef T Acc;
  FN_MEMBER static Acc identity() { return is_bool<T> ? T(true) : T(-1); }
  FN_MEMBER static Acc combine(Acc a, Acc b) { return T(a & b); }
};
template <class T>
struct Or {
  typedef T Acc;
  FN_MEMBER static Acc identity() { return T(0); }
  FN_MEMBER static Acc combine(Acc a, Acc b) { return T(a | b); }
};

// Offset of position `index` of a row-major walk over dimensions given as (size, stride).
template <int kRank>
FN i64 walk(const i64* dims, i64 index) {
  i64 offset = 0;
  for (int d = kRank - 1; d > 0; --d) {
    offset += index % dims[2 * d] * dims[2 * d + 1];
    index /= dims[2 * d];
  }
  return kRank > 0 ? offset + index * dims[1] : 0;
}

// The threads of a block combine what each of them holds; thread 0 gets the whole. All of them call it.
template <class F, class Acc>
FN Acc combine_block(Acc mine) {
  SHARED_ARRAY(Acc, held, 256);
  held[threadIdx.x] = mine;
  __syncthreads();
  for (u32 half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) held[threadIdx.x] = F::combine(held[threadIdx.x], held[threadIdx.x + half]);
    __syncthreads();
  }
  Acc result = held[0];
  __syncthreads();
  return result;
}

// Calls f(Lanes, i) for every step-th of `count` elements from `start` on; in packs where all rows are whole ones.
template <int kLanes, class F>
FN void row_packs(i64 start, i64 count, i64 first, i64 step, F f) {
  if (count % kLanes == 0)
    for (i64 j = first; j < count / kLanes; j += step) f(Lanes<kLanes>{}, start + j * kLanes);
  else
#pragma unroll 4
    for (i64 j = first; j < count; j += step) f(Lanes<1>{}, start + j);
}

// The threads of a block as TILE_WIDTH columns, and rows below each other.
struct ColumnTile {
  FN_MEMBER static u32 width() { return TILE_WIDTH; }
  FN_MEMBER static u32 column() { return threadIdx.x % width(); }
  FN_MEMBER static u32 row() { return threadIdx.x / width(); }
  FN_MEMBER static u32 height() { return blockDim.x / width(); }
};
// The threads of a column combine what each of them holds, and the first writes it, for as many neighbours as L says. All of a block call it.
template <class F, class Out, class L>
FN void combine_columns(Out* out, bool is_inside, const typename F::Acc* mine, L) {
  SHARED_ARRAY(typename F::Acc, held, 256 * L::count);
  for (int l = 0; l < L::count; ++l) held[l * 256 + threadIdx.x] = mine[l];
  __syncthreads();
  for (u32 half = ColumnTile::height() / 2; half > 0; half /= 2) {
    if (ColumnTile::row() < half)
      for (int l = 0; l < L::count; ++l) {
        typename F::Acc* own = held + l * 256 + threadIdx.x;
        *own = F::combine(*own, own[half * ColumnTile::width()]);
      }
    __syncthreads();
  }
  if (ColumnTile::row() == 0 && is_inside)
    for (int l = 0; l < L::count; ++l) out[l] = narrow<Out>(held[l * 256 + threadIdx.x]);
  __syncthreads();
}
// Calls f(Lanes, part, column, is_inside, each_row) for every one of `parts` of `size` rows and tile of columns: the thread's neighbours from `column` on,
// of which each_row(g) calls g(Lanes, i) with the place of each of the thread's rows.
template <class L, class F>
FN void each_column_tile(L lanes, i64 rows, i64 columns, i64 size, u32 parts, F f) {
  const i64 packs = columns / L::count;
  const u32 tiles = u32((packs + ColumnTile::width() - 1) / ColumnTile::width());
  for (u32 b = blockIdx.x; b < tiles * parts; b += gridDim.x) {
    const i64 pack = i64(b % tiles) * ColumnTile::width() + ColumnTile::column(), part = b / tiles;
    const i64 first = part * size, last = first + size < rows ? first + size : rows;
    const bool is_inside = pack < packs;
    f(lanes, part, pack * L::count, is_inside, [&](auto g) {
      if (!is_inside) return;
#pragma unroll 2
      for (i64 r = first + ColumnTile::row(); r < last; r += ColumnTile::height()) g(lanes, r * columns + pack * L::count);
    });
  }
}
template <int kLanes, class F>
FN void each_column_pack(i64 rows, i64 columns, i64 size, i64 parts, F f) {
  if (columns % kLanes == 0)
    each_column_tile(Lanes<kLanes>{}, rows, columns, size, u32(parts), f);
  else
    each_column_tile(Lanes<1>{}, rows, columns, size, u32(parts), f);
}

// Who goes through a row of a fused step: the threads of a block together, or one thread alone.
struct BlockRow {
  template <class F>
  FN_MEMBER static void each(i64 rows, F f) {
    for (i64 r = blockIdx.x; r < rows; r += gridDim.x) f(r);
  }
  FN_MEMBER static i64 first() { return threadIdx.x; }
  template <int kLanes, class F>
  FN_MEMBER static void each_pack(i64 start, i64 count, F f) {
    row_packs<kLanes>(start, count, threadIdx.x, blockDim.x, f);
  }
  template <class F>
  FN_MEMBER static typename F::Acc combine(typename F::Acc mine) {
    return combine_block<F, typename F::Acc>(mine);
  }
};
struct ThreadRow {
  template <class F>
  FN_MEMBER static void each(i64 rows, F f) {
    for_each(rows, f);
  }
  FN_MEMBER static i64 first() { return 0; }
  template <int kLanes, class F>
  FN_MEMBER static void each_pack(i64 start, i64 count, F f) {
    row_packs<kLanes>(start, count, 0, 1, f);
  }
  template <class F>
  FN_MEMBER static typename F::Acc combine(typename F::Acc mine) {
    return mine;
  }
};

// A block makes one result after another. Result r is part r % parts of row r / parts; accumulators are stored where there are several
// parts, and elements of `Out` at last. numbers: results, elements of a row, parts of a row, elements of a part; kept dimensions
// (size, stride), then reduced ones. `In` is T, or the accumulator in the second round.
template <class F, class In, class Out, int kKept, int kReduced, class A>
FN void reduce_blocks(const A& a) {
  typedef typename F::Acc Acc;
  const In* in = a.template in<In>(0);
  Out* out = a.template out<Out>(1);
  const i64 *kept = a.number + 4, *reduced = kept + 2 * kKept;
  i64 count = a.number[1], parts = a.number[2], size = a.number[3];
  for (i64 r = blockIdx.x; r < a.number[0]; r += gridDim.x) {
    const In* row = in + walk<kKept>(kept, r / parts);
    i64 first = r % parts * size, last = first + size < count ? first + size : count;
    Acc mine = F::identity();
    for (i64 i = first + threadIdx.x; i < last; i += blockDim.x) mine = F::combine(mine, widen(row[walk<kReduced>(reduced, i)]));
    Acc all = combine_block<F, Acc>(mine);
    if (threadIdx.x == 0) out[r] = narrow<Out>(all);
  }
}

// A thread makes a result: for short rows. numbers as of reduce_blocks, with one part.
template <class F, class In, class Out, int kKept, int kReduced, class A>
FN void reduce_threads(const A& a) {
  const In* in = a.template in<In>(0);
  Out* out = a.template out<Out>(1);
  const i64 *kept = a.number + 4, *reduced = kept + 2 * kKept;
  for_each(a.number[0], [&](i64 r) {
    const In* row = in + walk<kKept>(kept, r);
    typename F::Acc all = F::identity();
    for (i64 i = 0; i < a.number[1]; ++i) all = F::combine(all, widen(row[walk<kReduced>(reduced, i)]));
    out[r] = narrow<Out>(all);
  });
}

// As reduce_blocks, of rows that lie one after another. `kLanes` divides the elements of a row and those of a part. numbers: the first four.
template <class F, class In, class Out, int kLanes, class A>
FN void reduce_rows(const A& a) {
  typedef typename F::Acc Acc;
  const In* in = a.template in<In>(0);
  i64 count = a.number[1], parts = a.number[2], size = a.number[3];
  for (i64 r = blockIdx.x; r < a.number[0]; r += gridDim.x) {
    i64 first = r % parts * size, last = first + size < count ? first + size : count, start = r / parts * count;
    Acc mine = F::identity();
#pragma unroll 4
    for (i64 i = first + threadIdx.x * kLanes; i < last; i += blockDim.x * kLanes) {
      Pack<In, kLanes> x = load(in, Lanes<kLanes>{}, start + i);
      for (int l = 0; l < kLanes; ++l) mine = F::combine(mine, widen(x.at[l]));
    }
    Acc all = combine_block<F, Acc>(mine);
    if (threadIdx.x == 0) a.template out<Out>(1)[r] = narrow<Out>(all);
  }
}

// Reductions along a dimension whose elements lie apart: a thread makes a result of a part of it, its neighbours the results beside. Result
// (outer, part, inner) of a part's elements (outer, …, inner). numbers: results of all parts, elements of the dimension, its parts, elements
// of a part, inner.
template <class F, class In, class Out, class A>
FN void reduce_columns(const A& a) {
  const In* in = a.template in<In>(0);
  Out* out = a.template out<Out>(1);
  i64 count = a.number[1], parts = a.number[2], size = a.number[3], inner = a.number[4];
  for_each(a.number[0], [&](i64 r) {
    i64 column = r % inner, part = r / inner % parts, outer = r / inner / parts;
    i64 first = part * size, last = first + size < count ? first + size : count;
    const In* from = in + (outer * count + first) * inner + column;
    typename F::Acc all = F::identity();
#pragma unroll 8
    for (i64 i = first; i < last; ++i, from += inner) all = F::combine(all, widen(*from));
    out[r] = narrow<Out>(all);
  });
}

// What is left of them: a block makes as many neighbouring results as its tile is wide, of a few parts each. numbers: blocks, parts, inner
// ones, outer ones.
template <class F, class In, class Out, class A>
FN void reduce_column_parts(const A& a) {
  const In* in = a.template in<In>(0);
  const i64 inner = a.number[2];
  const u32 parts = u32(a.number[1]), tiles = u32((inner + ColumnTile::width() - 1) / ColumnTile::width()), outer = u32(a.number[3]);
  for (u32 b = blockIdx.x; b < tiles * outer; b += gridDim.x) {
    const i64 first = i64(b / tiles) * inner, column = i64(b % tiles) * ColumnTile::width() + ColumnTile::column();
    typename F::Acc all = F::identity();
    if (column < inner) {
      const In* from = in + first * parts + column;
#pragma unroll 8
      for (u32 part = ColumnTile::row(); part < parts; part += ColumnTile::height()) all = F::combine(all, widen(from[part * inner]));
    }
    combine_columns<F>(a.template out<Out>(1) + first + column, column < inner, &all, Lanes<1>{});
  }
}

// The place of the first largest or smallest element; NaN beats all numbers.
template <class T>
struct Place {
  T value;
  i64 at;  // -1: none yet
};
template <class T, bool kLargest>
struct Find {
  typedef Place<T> Acc;
  FN_MEMBER static bool beats(T a, T best) {
    if (best != best) return false;
    return a != a || (kLargest ? less_than(best, a) : less_than(a, best));
  }
  FN_MEMBER static Acc combine(Acc a, Acc b) {
    if (a.at < 0) return b;
    if (b.at < 0) return a;
    if (beats(a.value, b.value)) return a;
    if (beats(b.value, a.value)) return b;
    return a.at < b.at ? a : b;
  }
};
// numbers: results, elements of a row, distance of neighbours in it: 1 where several are taken at once, which divide the row.
template <class T, bool kLargest, int kLanes, class A>
FN void find_extreme(const A& a) {
  typedef wide_of<T> W;
  typedef Find<W, kLargest> F;
  const T* in = a.template in<T>(0);
  i32* out = a.template out<i32>(1);
  i64 count = a.number[1], stride = a.number[2];
  for (i64 r = blockIdx.x; r < a.number[0]; r += gridDim.x) {
    const T* row = in + r / stride * count * stride + r % stride;
    Place<W> mine{element<W>(0), -1};
    auto take = [&](W value, i64 i) {  // the places of a thread come in order
      if (mine.at < 0 || F::beats(value, mine.value)) mine = Place<W>{value, i};
    };
#pragma unroll 4
    for (i64 i = i64(threadIdx.x) * kLanes; i < count; i += i64(blockDim.x) * kLanes) {
      if constexpr (kLanes > 1) {
        Pack<T, kLanes> x = load(row, Lanes<kLanes>{}, i);
        for (int l = 0; l < kLanes; ++l) take(widen(x.at[l]), i + l);
      } else {
        take(widen(row[i * stride]), i);
      }
    }
    Place<W> all = combine_block<F, Place<W>>(mine);
    if (threadIdx.x == 0) out[r] = i32(all.at);
  }
}

// The same, a thread for each result.
template <class T, bool kLargest, class A>
FN void find_extreme_threads(const A& a) {
  typedef wide_of<T> W;
  const T* in = a.template in<T>(0);
  i32* out = a.template out<i32>(1);
  i64 count = a.number[1], stride = a.number[2];
  for_each(a.number[0], [&](i64 r) {
    const T* row = in + r / stride * count * stride + r % stride;
    Place<W> best{element<W>(0), -1};
    for (i64 i = 0; i < count; ++i) best = Find<W, kLargest>::combine(best, Place<W>{widen(row[i * stride]), i});
    out[r] = i32(best.at);
  });
}

// Running combinations. Rows of `count` elements, neighbours `stride` apart, `inner` rows side by side, are cut into chunks.
// scan_chunks: each chunk for itself, and its total. numbers: chunks in all, count, stride, chunk size, chunks of a row, 1: from the end.
// Buffers: operand, result, totals.
template <class F, class T, class A>
FN void scan_chunks(const A& a) {
  const T* in = a.template in<T>(0);
  T* out = a.template out<T>(1);
  T* totals = a.template out<T>(2);
  i64 count = a.number[1], stride = a.number[2], size = a.number[3], chunks = a.number[4];
  bool backwards = a.number[5] != 0;
  for_each(a.number[0], [&](i64 c) {  // threads that are neighbours go through rows that are
    i64 inner = c % stride, chunk = c / stride % chunks, outer = c / stride / chunks, start = outer * count * stride + inner;
    T running = narrow<T>(F::identity());
    for (i64 k = chunk * size; k < count && k < (chunk + 1) * size; ++k) {
      i64 place = start + (backwards ? count - 1 - k : k) * stride;
      running = k == chunk * size ? in[place] : narrow<T>(F::combine(widen(in[place]), widen(running)));
      out[place] = running;
    }
    totals[(outer * stride + inner) * chunks + chunk] = running;
  });
}
// The running totals of the chunks before are combined into each chunk. numbers and buffers: as of scan_chunks, the result read and
// written, totals scanned.
template <class F, class T, class A>
FN void scan_add(const A& a) {
  T* out = a.template out<T>(1);
  i64 count = a.number[1], stride = a.number[2], size = a.number[3], chunks = a.number[4];
  bool backwards = a.number[5] != 0;
  for_each(a.number[0], [&](i64 c) {
    i64 inner = c % stride, chunk = c / stride % chunks, outer = c / stride / chunks, start = outer * count * stride + inner;
    if (chunk == 0) return;
    T before = a.template in<T>(2)[(outer * stride + inner) * chunks + chunk - 1];
#pragma unroll 4
    for (i64 k = chunk * size; k < count && k < (chunk + 1) * size; ++k) {
      i64 place = start + (backwards ? count - 1 - k : k) * stride;
      out[place] = narrow<T>(F::combine(widen(out[place]), widen(before)));
    }
  });
}

// The same of long rows whose elements lie together: the threads of a block share a chunk, so that neighbours move neighbours, each combines
// a stretch of it, and their ends are combined in doubling steps (Hillis, Steele, "Data parallel algorithms", CACM 1986).
struct ScanChunk {
  static constexpr int size = 2048;
};
// Stretches of threads that are neighbours begin in different banks of the shared memory.
FN int scan_place(int i) { return i + i / 32; }

// numbers and buffers: as of scan_chunks, chunks of ScanChunk::size elements.
template <class F, class T, class A>
FN void scan_blocks(const A& a) {
  SHARED_ARRAY(T, tile, ScanChunk::size + ScanChunk::size / 32);
  SHARED_ARRAY(T, ends, 256);
  const T* in = a.template in<T>(0);
  T* out = a.template out<T>(1);
  const i64 count = a.number[1], chunks = a.number[4];
  const bool backwards = a.number[5] != 0;
  const int thread = int(threadIdx.x), threads = int(blockDim.x), each = ScanChunk::size / threads;
  auto combined = [](T later, T before) { return narrow<T>(F::combine(widen(later), widen(before))); };
  for (i64 c = blockIdx.x; c < a.number[0]; c += gridDim.x) {
    const i64 first = c % chunks * ScanChunk::size, row = c / chunks * count;
    const int size = count - first < ScanChunk::size ? int(count - first) : ScanChunk::size, used = (size + each - 1) / each;
    const int begin = thread * each, end = begin + each < size ? begin + each : size;
    const i64 start = backwards ? row + count - 1 - first : row + first;
#pragma unroll 4
    for (int i = thread; i < size; i += threads) tile[scan_place(i)] = in[backwards ? start - i : start + i];
    __syncthreads();
    for (int i = begin + 1; i < end; ++i) tile[scan_place(i)] = combined(tile[scan_place(i)], tile[scan_place(i - 1)]);
    if (begin < end) ends[thread] = tile[scan_place(end - 1)];
    __syncthreads();
    for (int step = 1; step < used; step *= 2) {
      const bool takes = thread >= step && thread < used;
      T sum = element<T>(0);
      if (takes) sum = combined(ends[thread], ends[thread - step]);
      __syncthreads();
      if (takes) ends[thread] = sum;
      __syncthreads();
    }
    if (thread > 0)
      for (int i = begin; i < end; ++i) tile[scan_place(i)] = combined(tile[scan_place(i)], ends[thread - 1]);
    __syncthreads();
#pragma unroll 4
    for (int i = thread; i < size; i += threads) out[backwards ? start - i : start + i] = tile[scan_place(i)];
    if (thread == 0) a.template out<T>(2)[c] = ends[used - 1];
    __syncthreads();
  }
}
// As scan_add, a block a chunk.
template <class F, class T, class A>
FN void scan_add_blocks(const A& a) {
  T* out = a.template out<T>(1);
  const i64 count = a.number[1], chunks = a.number[4];
  const bool backwards = a.number[5] != 0;
  for (i64 c = blockIdx.x; c < a.number[0]; c += gridDim.x) {
    if (c % chunks == 0) continue;
    const i64 first = c % chunks * ScanChunk::size, row = c / chunks * count, start = backwards ? row + count - 1 - first : row + first;
    const int size = count - first < ScanChunk::size ? int(count - first) : ScanChunk::size;
    const T before = a.template in<T>(2)[c - 1];
#pragma unroll 4
    for (int i = int(threadIdx.x); i < size; i += int(blockDim.x)) {
      T* to = out + (backwards ? start - i : start + i);
      *to = narrow<T>(F::combine(widen(*to), widen(before)));
    }
  }
}

// The partial results of kMembers devices of one memory, by the balanced tree over the members.
template <int kCount>
struct tree_half {
  static constexpr int value = 2 * tree_half<(kCount + 1) / 2>::value;
};
template <>
struct tree_half<2> {
  static constexpr int value = 1;
};
template <class F, class T, int kFirst, int kLast, class A>
FN T member_tree(const A& a, i64 i) {
  if constexpr (kLast - kFirst == 1) {
    return a.template in<T>(kFirst)[i];
  } else {
    constexpr int split = tree_half<kLast - kFirst>::value;
    return narrow<T>(F::combine(widen(member_tree<F, T, kFirst, kFirst + split>(a, i)),
                                widen(member_tree<F, T, kFirst + split, kLast>(a, i))));
  }
}
template <class F, class T, int kMembers, class A>
FN void combine_members(const A& a) {
  T* out = a.template out<T>(kMembers);
  for_each(a.number[0], [&](i64 i) { out[i] = member_tree<F, T, 0, kMembers>(a, i); });
}
