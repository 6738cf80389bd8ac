// Numbers of the gamma distribution: gamma_sample.inc for each key. buffers: keys, parameters, result. numbers: count, 1: logarithms,
// bits drawn, bits kept, 1: the older layout.
template <class T, class A>
FN void random_gamma(const A& a) {
  typedef wide_of<T> W;
  const u32* keys = a.template in<u32>(0);
  const DrawnBits bits{int(a.number[2]), int(a.number[3])};
  for_each(a.number[0], [&](i64 i) {
    const Words key{keys[2 * i], keys[2 * i + 1]};
    a.template out<T>(2)[i] = narrow<T>(gamma_of_key<W>(key, widen(a.template in<T>(1)[i]), a.number[1] != 0, bits, a.number[4] != 0));
  });
}
