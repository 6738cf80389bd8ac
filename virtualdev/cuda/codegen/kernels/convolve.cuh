// Convolutions of one group by tiles, in float: a block makes 64 features of the result at 64 of its positions (an image and a place in
// it), with the operand's and the kernel's elements in shared memory; a thread makes 4 x 4 of them. As a product of patches and the kernel,
// of which no patch is ever stored: where the tap that is being summed reads at each position is found once for all features.
struct ConvTile {
  static constexpr int side = 64, depth = 16, each = 4, across = side / each, threads = across * across;
};

// numbers: blocks; then as of convolve(); then positions, tiles of features.
template <class T, int kSpatial, class A>
FN void convolve_tiles(const A& a) {
  typedef ConvTile Tile;
  SHARED_ARRAY(f32, patches, Tile::depth * Tile::side);
  SHARED_ARRAY(f32, weights, Tile::depth * Tile::side);
  SHARED_ARRAY(i64, from, Tile::side);   // where the tap reads the first feature at each position; -1: nowhere
  SHARED_ARRAY(i64, image, Tile::side);  // of each position; -1: there is none
  SHARED_ARRAY(i64, to, Tile::side);
  SHARED_ARRAY(i64, place, Tile::side * (kSpatial > 0 ? kSpatial : 1));  // where its window begins
  const T *x = a.template in<T>(0), *w = a.template in<T>(1);
  T* out = a.template out<T>(2);
  const i64 *batch = a.number + 1, *feature = batch + 9, *spatial = feature + 9, *windows = spatial + 9 * kSpatial;
  const i64 positions = windows[4 * kSpatial + 3], feature_tiles = windows[4 * kSpatial + 4], features = feature[0];
  const int thread = int(threadIdx.x), threads = int(blockDim.x);
  const i64 first = feature[6] > feature[3] ? feature[6] : feature[3];
  const i64 kernel_end = feature[6] + feature[7], operand_end = feature[3] + feature[4];
  const i64 last = kernel_end < operand_end ? kernel_end : operand_end;
  i64 taps = 1;
  for (int s = 0; s < kSpatial; ++s) taps *= spatial[9 * s + 7];
#pragma unroll 1
  for (i64 t = blockIdx.x; t < a.number[0]; t += gridDim.x) {
    const i64 first_position = t / feature_tiles * Tile::side, first_feature = t % feature_tiles * Tile::side;
#pragma unroll 1
    for (int p = thread; p < Tile::side; p += threads) {
      i64 rest = first_position + p, offset = 0;
      for (int s = kSpatial - 1; s >= 0; --s) {
        const i64* n = spatial + 9 * s;
        const i64 at = rest % n[0];
        rest /= n[0];
        offset += at * n[2];
        place[s * Tile::side + p] = (at + n[1]) * windows[4 * s] - windows[4 * s + 1];
      }
      image[p] = first_position + p < positions ? (rest + batch[1] - batch[3]) * batch[5] : -1;
      to[p] = offset + rest * batch[2];
    }
    __syncthreads();
    // A block of fewer threads goes round.
#pragma unroll 1
    for (int begin = 0; begin < Tile::threads; begin += threads) {
      const int own = begin + thread, row = own / Tile::across * Tile::each, column = own % Tile::across * Tile::each;
      f32 sum[Tile::each][Tile::each];
      for (int i = 0; i < Tile::each; ++i)
        for (int j = 0; j < Tile::each; ++j) sum[i][j] = 0;
#pragma unroll 1
      for (i64 tap = 0; tap < taps; ++tap) {
        i64 with = 0, step[kSpatial > 0 ? kSpatial : 1], left = tap;
        for (int s = kSpatial - 1; s >= 0; --s) {
          const i64 *n = spatial + 9 * s, k = left % n[7];
          left /= n[7];
          step[s] = (k + n[6]) * windows[4 * s + 3];
          with += k * n[8];
        }
#pragma unroll 1
        for (int p = thread; p < Tile::side; p += threads) {
          i64 offset = image[p];
          for (int s = 0; s < kSpatial; ++s) {
            const i64 *n = spatial + 9 * s, dilation = windows[4 * s + 2], at = place[s * Tile::side + p] + step[s];
            const i64 index = dilation == 1 ? at : at / dilation;
            const bool here = at >= 0 && index * dilation == at && index >= n[3] && index < n[3] + n[4];
            offset = here && offset >= 0 ? offset + (index - n[3]) * n[5] : -1;
          }
          from[p] = offset;
        }
        __syncthreads();
#pragma unroll 1
        for (i64 f = first; f < last; f += Tile::depth) {
          const int count = last - f < Tile::depth ? int(last - f) : Tile::depth;
#pragma unroll 4
          for (int e = thread; e < count * Tile::side; e += threads) {
            const int p = e % Tile::side;
            const i64 input = f + e / Tile::side, output = first_feature + p;
            patches[e] = from[p] >= 0 ? widen(x[from[p] + (input - feature[3]) * feature[5]]) : 0.0f;
            weights[e] = output < features
                             ? widen(w[with + (output + feature[1] - batch[6]) * batch[8] + (input - feature[6]) * feature[8]])
                             : 0.0f;
          }
          __syncthreads();
          if (own < Tile::threads) {
#pragma unroll 4
            for (int k = 0; k < count; ++k) {
              const Pack<f32, Tile::each> u = load(patches, Lanes<Tile::each>{}, k * Tile::side + row);
              const Pack<f32, Tile::each> v = load(weights, Lanes<Tile::each>{}, k * Tile::side + column);
              for (int i = 0; i < Tile::each; ++i)
                for (int j = 0; j < Tile::each; ++j) sum[i][j] = fmaf(u.at[i], v.at[j], sum[i][j]);
            }
          }
          __syncthreads();
        }
      }
      if (own < Tile::threads) {
        for (int i = 0; i < Tile::each; ++i)
          for (int j = 0; j < Tile::each; ++j)
            if (first_position + row + i < positions && first_feature + column + j < features)
              out[to[row + i] + (first_feature + column + j) * feature[2]] = narrow<T>(sum[i][j]);
      }
      __syncthreads();
    }
  }
}
