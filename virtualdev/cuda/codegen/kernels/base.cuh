// What every generated kernel starts from: types, conversions, loops over elements. CUDA C++ for NVRTC, and plain C++ for the tests
// that compare kernels with the CPU's (SHARDLAB_HOST_FORM, host_form.h). Includes nothing.
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

template <class To, class From>
FN To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits_as keeps the width");
  To to;
  memcpy(&to, &from, sizeof(To));
  return to;
}

// 16-bit floats: storage; arithmetic is done in float and rounded once, to nearest, ties to even.
struct bf16 {
  u16 bits;
};
struct f16 {
  u16 bits;
};
template <class R>
struct alignas(2 * sizeof(R)) cx {
  R re, im;
};
typedef cx<f32> c64;
typedef cx<f64> c128;
struct alignas(16) wide16 {  // sixteen bytes that nobody looks into
  u64 low, high;
};

template <class T, class U>
struct same_type {
  static constexpr bool value = false;
};
template <class T>
struct same_type<T, T> {
  static constexpr bool value = true;
};
template <class T, class U>
constexpr bool is_same = same_type<T, U>::value;
template <class T>
constexpr bool is_half = is_same<T, bf16> || is_same<T, f16>;
template <class T>
constexpr bool is_cx = is_same<T, c64> || is_same<T, c128>;
template <class T>
constexpr bool is_real = is_same<T, f32> || is_same<T, f64>;
template <class T>
constexpr bool is_bool = is_same<T, bool>;
template <class T>
constexpr bool is_signed_whole = is_same<T, i8> || is_same<T, i16> || is_same<T, i32> || is_same<T, i64>;
template <class T>
constexpr bool is_whole = is_signed_whole<T> || is_same<T, u8> || is_same<T, u16> || is_same<T, u32> || is_same<T, u64>;

template <bool B, class T, class F>
struct choose_type {
  typedef T type;
};
template <class T, class F>
struct choose_type<false, T, F> {
  typedef F type;
};
template <bool B, class T, class F>
using pick = typename choose_type<B, T, F>::type;
template <class T>
using wide_of = pick<is_half<T>, f32, T>;  // what a type is computed in
template <class T>
using unsigned_of = pick<sizeof(T) == 1, u8, pick<sizeof(T) == 2, u16, pick<sizeof(T) == 4, u32, u64>>>;
template <class T>
using wrapping = pick<sizeof(T) == 8, u64, u32>;  // in which integers are added, so that they wrap around
template <class T>
struct part_type {
  typedef T type;
};
template <class R>
struct part_type<cx<R>> {
  typedef R type;
};
template <class T>
using part_of = typename part_type<T>::type;

FN f32 widen(bf16 x) { return bits_as<f32>(u32(x.bits) << 16); }
FN f32 widen(f16 x) {
  u32 size = (x.bits & 0x7fffu) << 13, exponent = size & (0x1fu << 23);
  u32 normal = size + (112u << 23), special = size + (224u << 23);
  u32 subnormal = bits_as<u32>(bits_as<f32>(size + (113u << 23)) - bits_as<f32>(113u << 23));
  u32 value = exponent == 0 ? subnormal : exponent == (0x1fu << 23) ? special : normal;
  return bits_as<f32>(value | (u32(x.bits & 0x8000u) << 16));
}
template <class T>
FN T widen(T x) {
  return x;
}

// A computed value as it is stored.
template <class T>
FN T narrow(wide_of<T> x) {
  if constexpr (is_same<T, bf16>) {
    u32 word = bits_as<u32>(x);
    u32 rounded = (word + 0x7fffu + ((word >> 16) & 1)) >> 16, nan = (word >> 16) | 0x40u;
    return bf16{u16((word & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
  } else if constexpr (is_same<T, f16>) {
    u32 word = bits_as<u32>(x), sign = (word >> 16) & 0x8000u, size = word & 0x7fffffffu;
    u32 normal = (size - (112u << 23) + 0xfffu + ((size >> 13) & 1)) >> 13;
    u32 subnormal = bits_as<u32>(bits_as<f32>(size) + bits_as<f32>(126u << 23)) - (126u << 23);
    u32 special = size > 0x7f800000u ? 0x7e00u : 0x7c00u, finite = size < (113u << 23) ? subnormal : normal;
    return f16{u16(sign | (size >= (143u << 23) ? special : finite))};
  } else {
    return x;
  }
}

template <class T>
FN T infinity() {
  if constexpr (is_same<T, f32>)
    return bits_as<f32>(0x7f800000u);
  else
    return bits_as<f64>(u64(0x7ff0000000000000ull));
}
template <class T>
FN T quiet_nan() {
  if constexpr (is_same<T, f32>)
    return bits_as<f32>(0x7fc00000u);
  else
    return bits_as<f64>(u64(0x7ff8000000000000ull));
}
template <class T>
constexpr T lowest_whole = is_signed_whole<T> ? T(u64(1) << (8 * sizeof(T) - 1)) : T(0);
template <class T>
constexpr T highest_whole = is_signed_whole<T> ? T((u64(1) << (8 * sizeof(T) - 1)) - 1) : T(~u64(0));

// An index or a sum as an element.
template <class T, class V>
FN T element(V value) {
  if constexpr (is_half<T>)
    return narrow<T>(f32(value));
  else if constexpr (is_cx<T>)
    return T{part_of<T>(value), part_of<T>(0)};
  else
    return T(value);
}

// Element i of an array of integers, of which the code says the type: 0-3 i8 to i64, 4-7 u8 to u64.
FN i64 index_at(const void* data, i64 code, i64 i) {
  switch (code) {
    case 0:
      return static_cast<const i8*>(data)[i];
    case 1:
      return static_cast<const i16*>(data)[i];
    case 2:
      return static_cast<const i32*>(data)[i];
    case 3:
      return static_cast<const i64*>(data)[i];
    case 4:
      return static_cast<const u8*>(data)[i];
    case 5:
      return static_cast<const u16*>(data)[i];
    case 6:
      return static_cast<const u32*>(data)[i];
    default:
      return i64(static_cast<const u64*>(data)[i]);
  }
}
FN i64 clamped(i64 x, i64 low, i64 high) { return x < low ? low : (x > high ? high : x); }

// The arguments of every kernel: addresses and numbers. number[0] is the count of things to do.
template <int kBuffers, int kNumbers>
struct Arguments {
  void* buffer[kBuffers];
  i64 number[kNumbers];
  template <class T>
  FN_MEMBER const T* in(int i) const {
    return static_cast<const T*>(buffer[i]);
  }
  template <class T>
  FN_MEMBER T* out(int i) const {
    return static_cast<T*>(buffer[i]);
  }
};

template <class One, int kCount>
struct Instances {
  One each[kCount];
};

// Calls f(i) for this thread's share of 0 … count - 1.
template <class F>
FN void for_each(i64 count, F f) {
#pragma unroll 1
  for (i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += i64(gridDim.x) * blockDim.x) f(i);
}

// Neighbours that are moved at once, at a place that is a multiple of their number: at most sixteen bytes.
template <class T, int kLanes>
struct alignas(sizeof(T) * kLanes) Pack {
  T at[kLanes];
};
template <int kCount>
struct Lanes {
  static constexpr int count = kCount;
};
template <int kBytes>
using raw_of = pick<kBytes == 1, u8, pick<kBytes == 2, u16, pick<kBytes == 4, u32, pick<kBytes == 8, u64, wide16>>>>;
template <class T, int kLanes>
FN Pack<T, kLanes> load(const T* from, Lanes<kLanes>, i64 i) {
  return bits_as<Pack<T, kLanes>>(*reinterpret_cast<const raw_of<sizeof(T) * kLanes>*>(from + i));
}
template <class T, int kLanes>
FN void store(T* to, i64 i, Pack<T, kLanes> values) {
  typedef raw_of<sizeof(T) * kLanes> Raw;
  *reinterpret_cast<Raw*>(to + i) = bits_as<Raw>(values);
}
// Calls f(Lanes, i) for this thread's share of 0 … count - 1: kLanes neighbours from i on, and what is left one by one.
template <int kLanes, class F>
FN void for_each_pack(i64 count, F f) {
  i64 thread = i64(blockIdx.x) * blockDim.x + threadIdx.x, threads = i64(gridDim.x) * blockDim.x, packs = count / kLanes;
#pragma unroll 1
  for (i64 p = thread; p < packs; p += threads) f(Lanes<kLanes>{}, p * kLanes);
  if constexpr (kLanes > 1) {
#pragma unroll 1
    for (i64 i = packs * kLanes + thread; i < count; i += threads) f(Lanes<1>{}, i);
  }
}
// Where the element for i of one that repeats is: i / each % period, then that for i + 1.
struct Repeat {
  i64 each, period, left, at;
  FN_MEMBER Repeat(i64 i, i64 each_in, i64 period_in)
      : each(each_in), period(period_in), left(each_in - i % each_in), at(i / each_in % period_in) {}
  FN_MEMBER void next() {
    if (--left > 0) return;
    left = each;
    if (++at == period) at = 0;
  }
};
