// Kernels that move elements and change none: regions with strides, fills, windows at computed places.

// Elements of a region of kRank dimensions to another. numbers: count, from offset, to offset, then size, from stride, to stride of
// each dimension. `Index`: u32 where all offsets fit.
template <class T, int kRank, class Index, class A>
FN void copy_region(const A& a) {
  const T* in = a.template in<T>(0) + a.number[1];
  T* out = a.template out<T>(1) + a.number[2];
  for_each(a.number[0], [&](i64 i) {
    Index rest = Index(i);
    i64 from = 0, to = 0;
    for (int d = kRank - 1; d >= 0; --d) {
      Index size = Index(a.number[3 + 3 * d]);
      Index at = rest % size;
      rest /= size;
      from += i64(at) * a.number[4 + 3 * d];
      to += i64(at) * a.number[5 + 3 * d];
    }
    out[to] = in[from];
  });
}

// The same where each element of `from` is all of a row of `to`, which is written as many of them at once as kLanes. numbers: as
// copy_region's, where `to` counts packs of them, and `count` too.
template <class T, int kLanes, int kRank, class Index, class A>
FN void spread_region(const A& a) {
  const T* in = a.template in<T>(0) + a.number[1];
  Pack<T, kLanes>* out = a.template out<Pack<T, kLanes>>(1) + a.number[2];
  for_each(a.number[0], [&](i64 i) {
    Index rest = Index(i) / Index(a.number[3 * kRank]);
    i64 from = 0, to = i64(Index(i) - rest * Index(a.number[3 * kRank]));
    for (int d = kRank - 2; d >= 0; --d) {
      Index size = Index(a.number[3 + 3 * d]);
      Index at = rest % size;
      rest /= size;
      from += i64(at) * a.number[4 + 3 * d];
      to += i64(at) * a.number[5 + 3 * d];
    }
    Pack<T, kLanes> pack;
    for (int k = 0; k < kLanes; ++k) pack.at[k] = in[from];
    store(reinterpret_cast<T*>(out + to), 0, pack);
  });
}

// Of tile t of copy_tiles(): its first row and column, and where its first element is on both sides.
struct TilePlace {
  i64 row, column, from, to;
};
template <int kOthers, class A>
FN TilePlace tile_place(const A& a, i64 t, int side) {
  u32 rest = u32(t), tiles = u32(a.number[8]);
  const i64 column = i64(rest % tiles) * side;
  rest /= tiles;
  tiles = u32(a.number[5]);
  const i64 row = i64(rest % tiles) * side;
  rest /= tiles;
  TilePlace place{row, column, a.number[1] + row + column * a.number[7], a.number[2] + row * a.number[4] + column};
  for (int d = kOthers - 1; d >= 0; --d) {
    const u32 size = u32(a.number[9 + 3 * d]);
    const i64 at = rest % size;
    rest /= size;
    place.from += at * a.number[10 + 3 * d];
    place.to += at * a.number[11 + 3 * d];
  }
  return place;
}

// The same where the elements that lie together are others in `from` than in `to`: tile by tile, through memory that the threads of a block
// share, so that both sides move neighbours. numbers: tiles, from offset, to offset; of the dimension dense in `from` its size, its stride
// in `to`, its tiles; of that dense in `to` its size, its stride in `from`, its tiles; then of each other one size, from stride, to stride.
// Tiles are fewer than 2^32, and of few bits are their places: a division of 64 bits takes longer than a tile's elements.
template <class T, int kOthers, int kSide, class A>
FN void copy_tiles(const A& a) {
  constexpr int kPitch = kSide + (sizeof(T) < 4 ? 4 / int(sizeof(T)) : 1);  // so that elements of a column lie in different banks
  SHARED_ARRAY(T, tile, kSide * kPitch);
  const i64 rows = a.number[3], columns = a.number[6], between_columns = a.number[7], between_rows = a.number[4];
  // Each thread goes down a column of the tile, or several where a block is narrower.
  const int wide = int(blockDim.x) < kSide ? int(blockDim.x) : kSide, x0 = int(threadIdx.x) % wide, y0 = int(threadIdx.x) / wide;
  const int high = int(blockDim.x) / wide;
  for (i64 t = blockIdx.x; t < a.number[0]; t += gridDim.x) {
    const auto [row, column, from, to] = tile_place<kOthers>(a, t, kSide);
    const T* in = a.template in<T>(0) + from;
    T* out = a.template out<T>(1) + to;
    const int tile_rows = rows - row < kSide ? int(rows - row) : kSide, tile_columns = columns - column < kSide ? int(columns - column) : kSide;
    for (int x = x0; x < tile_rows; x += wide) {
      const T* next = in + x + y0 * between_columns;
#pragma unroll 8
      for (int y = y0; y < tile_columns; y += high, next += high * between_columns) tile[y * kPitch + x] = *next;
    }
    __syncthreads();
    for (int x = x0; x < tile_columns; x += wide) {
      T* next = out + x + y0 * between_rows;
#pragma unroll 8
      for (int y = y0; y < tile_rows; y += high, next += high * between_rows) *next = tile[x * kPitch + y];
    }
    __syncthreads();
  }
}

// The same for elements of two bytes, which are moved by twos on both sides. Sizes, strides and offsets are even; tiles have 64 rows and
// columns.
template <int kOthers, class A>
FN void copy_tile_pairs(const A& a) {
  constexpr int kSide = 64, kPairs = kSide / 2, kPitch = kPairs + 1;
  SHARED_ARRAY(u32, tile, kSide * kPitch);
  const i64 rows = a.number[3], columns = a.number[6], between_columns = a.number[7], between_rows = a.number[4];
  const int wide = int(blockDim.x) < kPairs ? int(blockDim.x) : kPairs, x0 = int(threadIdx.x) % wide, y0 = int(threadIdx.x) / wide;
  const int high = int(blockDim.x) / wide;
  for (i64 t = blockIdx.x; t < a.number[0]; t += gridDim.x) {
    const auto [row, column, from, to] = tile_place<kOthers>(a, t, kSide);
    const u16* in = a.template in<u16>(0) + from;
    u16* out = a.template out<u16>(1) + to;
    const int tile_rows = rows - row < kSide ? int(rows - row) : kSide, tile_columns = columns - column < kSide ? int(columns - column) : kSide;
    for (int x = x0; x < tile_rows / 2; x += wide) {
      const u16* next = in + 2 * x + y0 * between_columns;
#pragma unroll 8
      for (int y = y0; y < tile_columns; y += high, next += high * between_columns)
        tile[y * kPitch + x] = *reinterpret_cast<const u32*>(next);
    }
    __syncthreads();
    // Of two rows at once, whose elements lie in the same words.
    for (int x = x0; x < tile_columns / 2; x += wide) {
      u16* next = out + 2 * x + i64(2 * y0) * between_rows;
#pragma unroll 4
      for (int y = y0; y < tile_rows / 2; y += high, next += i64(2 * high) * between_rows) {
        const u32 first = tile[2 * x * kPitch + y], second = tile[(2 * x + 1) * kPitch + y];
        *reinterpret_cast<u32*>(next) = (first & 0xffffu) | second << 16;
        *reinterpret_cast<u32*>(next + between_rows) = first >> 16 | (second & 0xffff0000u);
      }
    }
    __syncthreads();
  }
}

// Every element is the one that buffer 0 holds.
template <class T, class A>
FN void fill(const A& a) {
  T value = a.template in<T>(0)[0];
  T* out = a.template out<T>(1);
  for_each(a.number[0], [&](i64 i) { out[i] = value; });
}
// Every byte is 0, eight at once. numbers: count of elements, bytes each.
template <class T, class A>
FN void fill_zero(const A& a) {
  T* out = a.template out<T>(0);
  T zero;
  memset(&zero, 0, sizeof(T));
  for_each(a.number[0], [&](i64 i) { out[i] = zero; });
}

// numbers: count, elements between neighbours along the dimension, its size here, its first index.
template <class T, class A>
FN void iota(const A& a) {
  T* out = a.template out<T>(0);
  for_each(a.number[0], [&](i64 i) { out[i] = element<T>(a.number[3] + i / a.number[1] % a.number[2]); });
}

// dynamic_slice. buffers: operand, result, then a start for each dimension. numbers: count; of each dimension: size of the result here,
// stride of the operand, largest start, what is added to the start, code of the start's dtype.
template <class T, int kRank, class A>
FN void dynamic_slice(const A& a) {
  const T* in = a.template in<T>(0);
  T* out = a.template out<T>(1);
  i64 base = 0;
  for (int d = 0; d < kRank; ++d) {
    const i64* n = a.number + 1 + 5 * d;
    base += (clamped(index_at(a.buffer[2 + d], n[4], 0), 0, n[2]) + n[3]) * n[1];
  }
  for_each(a.number[0], [&](i64 i) {
    i64 rest = i, from = base;
    for (int d = kRank - 1; d >= 0; --d) {
      const i64* n = a.number + 1 + 5 * d;
      from += rest % n[0] * n[1];
      rest /= n[0];
    }
    out[i] = in[from];
  });
}

// dynamic_update_slice. buffers: operand, update, result, starts. numbers: count; of each dimension: size of the result here, its first
// index, largest start, first and last + 1 index of the update here, stride of the update, code of the start's dtype.
template <class T, int kRank, class A>
FN void dynamic_update_slice(const A& a) {
  const T* in = a.template in<T>(0);
  const T* update = a.template in<T>(1);
  T* out = a.template out<T>(2);
  i64 start[kRank > 0 ? kRank : 1];
  for (int d = 0; d < kRank; ++d) {
    const i64* n = a.number + 1 + 7 * d;
    start[d] = clamped(index_at(a.buffer[3 + d], n[6], 0), 0, n[2]);
  }
  for_each(a.number[0], [&](i64 i) {
    i64 rest = i, from = 0;
    bool inside = true;
    for (int d = kRank - 1; d >= 0; --d) {
      const i64* n = a.number + 1 + 7 * d;
      i64 at = rest % n[0] + n[1] - start[d];
      rest /= n[0];
      inside = inside && at >= n[3] && at < n[4];
      from += (at - n[3]) * n[5];
    }
    out[i] = inside ? update[from] : in[i];
  });
}

// gather. buffers: operand, indices, result. numbers: count, depth of an index vector, code of its dtype, what an element that is not here
// is, as eight bytes that repeat; of each dimension of the result (kResult): size, stride in the operand along a window (0: a batch
// dimension), stride in the index vectors' numbering (0: of a window); of each dimension of the operand (kOperand): which number of the
// vector starts it (-1: none), largest start, first index here, size here, stride, the start where no number gives it, and the result's
// dimension that is added to it (-1: none).
template <class T, int kResult, int kOperand, class A>
FN void gather(const A& a) {
  const T* in = a.template in<T>(0);
  T* out = a.template out<T>(2);
  T elsewhere;
  for (unsigned byte = 0; byte < sizeof(T); byte += 8)
    memcpy((char*)&elsewhere + byte, &a.number[3], sizeof(T) < 8 ? sizeof(T) : 8);
  for_each(a.number[0], [&](i64 i) {
    i64 at[kResult > 0 ? kResult : 1], rest = i, from = 0, vector = 0;
    for (int d = kResult - 1; d >= 0; --d) {
      const i64* n = a.number + 4 + 3 * d;
      at[d] = rest % n[0];
      rest /= n[0];
      from += at[d] * n[1];
      vector += at[d] * n[2];
    }
    bool here = true;
    for (int d = 0; d < kOperand; ++d) {
      const i64* n = a.number + 4 + 3 * kResult + 7 * d;
      i64 start = n[0] >= 0 ? clamped(index_at(a.buffer[1], a.number[2], vector * a.number[1] + n[0]), 0, n[1]) : n[5];
      if (n[6] >= 0) start += at[n[6]];
      here = here && start >= n[2] && start < n[2] + n[3];
      from += (start - n[2]) * n[4];
    }
    out[i] = here ? in[from] : elsewhere;
  });
}
