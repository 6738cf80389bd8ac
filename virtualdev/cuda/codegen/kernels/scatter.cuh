// scatter and its combining kin: every element of the updates goes to its place in the result, which holds the operand already.

// Where element i of the updates goes; -1: nowhere. numbers: count, depth of an index vector, code of its dtype; of each dimension of
// the updates (kUpdate): size, first index, of which dimension of the operand it counts the window (-1: a batch dimension), stride in
// the index vectors' numbering; of each dimension of the operand (kOperand): which number of the vector starts it (-1: none), the
// result's first index here, size here, stride, largest start at which a window lies inside, the updates' dimension that batches it
// (-1: none).
template <int kUpdate, int kOperand, class A>
FN i64 scatter_place(const A& a, const void* indices, i64 i) {
  i64 at[kUpdate > 0 ? kUpdate : 1], rest = i, vector = 0;
  i64 offset[kOperand > 0 ? kOperand : 1];
  for (int d = 0; d < kOperand; ++d) offset[d] = 0;
  for (int d = kUpdate - 1; d >= 0; --d) {
    const i64* n = a.number + 3 + 4 * d;
    i64 here = rest % n[0];
    rest /= n[0];
    at[d] = here + n[1];
    vector += here * n[3];
    if (n[2] >= 0) offset[n[2]] = at[d];
  }
  i64 place = 0;
  for (int d = 0; d < kOperand; ++d) {
    const i64* n = a.number + 3 + 4 * kUpdate + 6 * d;
    i64 start = n[0] >= 0 ? index_at(indices, a.number[2], vector * a.number[1] + n[0]) : (n[5] >= 0 ? at[n[5]] : 0);
    if (start < 0 || start > n[4]) return -1;
    i64 index = start + offset[d] - n[1];
    if (index < 0 || index >= n[2]) return -1;
    place += index * n[3];
  }
  return place;
}

// The last of the updates wins, whatever the order of threads. buffers: indices, winners (i64, all -1 before).
template <int kUpdate, int kOperand, class A>
FN void scatter_choose(const A& a) {
  i64* winners = a.template out<i64>(1);
  for_each(a.number[0], [&](i64 i) {
    i64 place = scatter_place<kUpdate, kOperand>(a, a.buffer[0], i);
    if (place >= 0) atomicMax(winners + place, i);
  });
}
// buffers: winners, updates, result. numbers: count.
template <class T, class A>
FN void scatter_write(const A& a) {
  for_each(a.number[0], [&](i64 i) {
    i64 winner = a.template in<i64>(0)[i];
    if (winner >= 0) a.template out<T>(2)[i] = a.template in<T>(1)[winner];
  });
}

// Replaces *to by the combination with `value`, whole or not at all; narrow types within the word that holds them.
template <class F, class T>
FN void combine_atomically(T* to, T value) {
  if constexpr (sizeof(T) == 8) {
    u64* word = reinterpret_cast<u64*>(to);
    u64 seen = *word, assumed;
    do {
      assumed = seen;
      seen = atomicCAS(word, assumed, bits_as<u64>(narrow<T>(F::combine(widen(bits_as<T>(assumed)), widen(value)))));
    } while (seen != assumed);
  } else {
    u64 address = reinterpret_cast<u64>(to), shift = (address & 3) * 8;
    u32* word = reinterpret_cast<u32*>(address & ~u64(3));
    u32 mask = sizeof(T) == 4 ? ~0u : ((1u << (8 * sizeof(T))) - 1) << shift, seen = *word, assumed;
    do {
      assumed = seen;
      unsigned_of<T> held = unsigned_of<T>((assumed & mask) >> shift);
      unsigned_of<T> made = bits_as<unsigned_of<T>>(narrow<T>(F::combine(widen(bits_as<T>(held)), widen(value))));
      seen = atomicCAS(word, assumed, (assumed & ~mask) | (u32(made) << shift));
    } while (seen != assumed);
  }
}

// buffers: indices, updates, result. Elements of sixteen bytes have no atomic form: one thread takes them in turn.
template <class F, class T, int kUpdate, int kOperand, class A>
FN void scatter_combine(const A& a) {
  const T* updates = a.template in<T>(1);
  T* out = a.template out<T>(2);
  if constexpr (sizeof(T) == 16) {
    if (blockIdx.x != 0 || threadIdx.x != 0) return;
    for (i64 i = 0; i < a.number[0]; ++i) {
      i64 place = scatter_place<kUpdate, kOperand>(a, a.buffer[0], i);
      if (place >= 0) out[place] = narrow<T>(F::combine(widen(out[place]), widen(updates[i])));
    }
  } else {
    for_each(a.number[0], [&](i64 i) {
      i64 place = scatter_place<kUpdate, kOperand>(a, a.buffer[0], i);
      if (place >= 0) combine_atomically<F, T>(out + place, updates[i]);
    });
  }
}
// Everything is what combines with anything to that. buffers: result.
template <class F, class T, class A>
FN void fill_identity(const A& a) {
  for_each(a.number[0], [&](i64 i) { a.template out<T>(0)[i] = narrow<T>(F::identity()); });
}
