// The Threefry-2x32 block and what is made of it, bit for bit as runtime/ops/random_bits.cpp.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
struct Words {
  u32 first, second;
};
FN Words threefry(Words key, u32 x0, u32 x1) {
  const u32 keys[3] = {key.first, key.second, key.first ^ key.second ^ 0x1bd11bdau};
  const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  x0 += keys[0];
  x1 += keys[1];
  for (u32 group = 0; group < 5; ++group) {
    for (int round = 0; round < 4; ++round) {
      int turn = turns[group % 2][round];
      x0 += x1;
      x1 = ((x1 << turn) | (x1 >> (32 - turn))) ^ x0;
    }
    x0 += keys[(group + 1) % 3];
    x1 += keys[(group + 2) % 3] + group + 1;
  }
  return Words{x0, x1};
}
// Word `index` of the older layout's `count` words.
FN u32 original_word(Words key, u64 index, u64 count) {
  u64 half = (count + 1) / 2, low = index < half ? index : index - half, high = low + half;
  Words block = threefry(key, u32(low), high < count ? u32(high) : 0u);
  return index < half ? block.first : block.second;
}
// Key k of a batch of them.
template <class A>
FN Words key_in(const A& a, i64 k) {
  const u32* key = a.template in<u32>(0) + 2 * k;
  return Words{key[0], key[1]};
}
// The row-major index in the whole array of element i of a part. dims: size here, first index, stride in the whole.
template <int kRank>
FN u64 whole_index(const i64* dims, i64 i) {
  u64 index = 0;
  for (int d = kRank - 1; d > 0; --d) {
    index += u64((i % dims[3 * d] + dims[3 * d + 1]) * dims[3 * d + 2]);
    i /= dims[3 * d];
  }
  return kRank > 0 ? index + u64((i + dims[1]) * dims[2]) : 0;
}

// All of these: number 0 is the count over all keys of a batch, number 1 how many of them are one key's.

// numbers: count, of a key, then the dimensions of a key's as whole_index() takes them.
template <class T, int kRank, class A>
FN void random_bits(const A& a) {
  T* out = a.template out<T>(1);
  for_each(a.number[0], [&](i64 i) {
    u64 index = whole_index<kRank>(a.number + 2, i % a.number[1]);
    Words block = threefry(key_in(a, i / a.number[1]), u32(index >> 32), u32(index));
    if constexpr (sizeof(T) == 8)
      out[i] = (T(block.first) << 32) | block.second;
    else
      out[i] = T(block.first ^ block.second);
  });
}
// numbers: count, of a key, a key's words in all, 1: counters in the older layout; dimensions.
template <int kRank, class A>
FN void random_split(const A& a) {
  u32* out = a.template out<u32>(1);
  for_each(a.number[0], [&](i64 i) {
    Words key = key_in(a, i / a.number[1]);
    u64 word = whole_index<kRank>(a.number + 4, i % a.number[1]), index = word / 2;
    if (a.number[3] != 0) {
      out[i] = original_word(key, word, u64(a.number[2]));
      return;
    }
    Words block = threefry(key, u32(index >> 32), u32(index));
    out[i] = word % 2 == 0 ? block.first : block.second;
  });
}
// buffers: keys, data, result. numbers: count, of a key, first index.
template <class A>
FN void random_fold_in(const A& a) {
  u32* out = a.template out<u32>(2);
  for_each(a.number[0], [&](i64 i) {
    i64 k = i / a.number[1];
    Words block = threefry(key_in(a, k), 0, a.template in<u32>(1)[k]);
    out[i] = i % a.number[1] + a.number[2] == 0 ? block.first : block.second;
  });
}
// buffers: keys, both counters, both results.
template <class A>
FN void random_block(const A& a) {
  for_each(a.number[0], [&](i64 i) {
    Words block = threefry(key_in(a, i / a.number[1]), a.template in<u32>(1)[i], a.template in<u32>(2)[i]);
    a.template out<u32>(3)[i] = block.first;
    a.template out<u32>(4)[i] = block.second;
  });
}
// The keys by which a round of a permutation sorts. buffers: keys, result. numbers: count, of a key, round, 1: the older layout.
template <class A>
FN void permutation_keys(const A& a) {
  u32* out = a.template out<u32>(1);
  bool original = a.number[3] != 0;
  for_each(a.number[0], [&](i64 i) {
    Words key = key_in(a, i / a.number[1]), subkey = key;
    for (i64 round = 0; round <= a.number[2]; ++round) {
      if (original) {
        subkey = Words{original_word(key, 2, 4), original_word(key, 3, 4)};
        key = Words{original_word(key, 0, 4), original_word(key, 1, 4)};
      } else {
        subkey = threefry(key, 0, 1);
        key = threefry(key, 0, 0);
      }
    }
    u64 at = u64(i % a.number[1]);
    if (original) {
      out[i] = original_word(subkey, at, u64(a.number[1]));
      return;
    }
    Words block = threefry(subkey, u32(at >> 32), u32(at));
    out[i] = block.first ^ block.second;
  });
}
// Places of a permutation after one more round. buffers: before, order, then. numbers: count, of a row.
template <class A>
FN void compose_places(const A& a) {
  for_each(a.number[0], [&](i64 i) {
    a.template out<i32>(2)[i] = a.template in<i32>(0)[i / a.number[1] * a.number[1] + a.template in<i32>(1)[i]];
  });
}
