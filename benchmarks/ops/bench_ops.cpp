// The speed of single ops on 8 virtual devices, each in a jit of its own: prints a line "CASE median_s min_s" for each. Cases have the
// names of the JAX side (jax_side.py), so that benchmarks/compare.py can divide one by the other. With arguments only those run.
#include <shardlab/shardlab.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <tuple>

using namespace shardlab;

namespace {

constexpr int kRunsMax = 12, kRunsMin = 3;
constexpr double kSecondsMax = 1.5;  // of a case, once it has run kRunsMin times

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Bench {
 public:
  explicit Bench(std::set<std::string> only) : only_(std::move(only)) {}

  using Op = std::function<Array(const Array&, const Array&)>;
  void operator()(const std::string& name, const Array& x, const Array& y, const Op& op) const {
    if (!only_.empty() && !only_.contains(name)) return;
    const auto run = jit([op](const Array& a, const Array& b) { return op(a, b); });
    run(x, y).block_until_ready();
    std::vector<double> seconds;
    const double begin = now();
    while (int(seconds.size()) < kRunsMin || (int(seconds.size()) < kRunsMax && now() - begin < kSecondsMax)) {
      const double start = now();
      run(x, y).block_until_ready();
      seconds.push_back(now() - start);
    }
    std::sort(seconds.begin(), seconds.end());
    fmt::print("{} {:.9f} {:.9f}\n", name, seconds[seconds.size() / 2], seconds[0]);
    std::fflush(stdout);
  }
  void operator()(const std::string& name, const Array& x, const std::function<Array(const Array&)>& op) const {
    (*this)(name, x, x, [op](const Array& a, const Array&) { return op(a); });
  }

 private:
  std::set<std::string> only_;
};

// What the cases work on: cut along the first dimension, or whole on each device.
struct Inputs {
  Mesh mesh = make_mesh({8}, {"g"});
  Array key = random::key(0);
  Array cut(const Array& x) const { return device_put(x, NamedSharding(mesh, P("g"))); }
  Array whole(const Array& x) const { return device_put(x, NamedSharding(mesh, P())); }
  Array normal(const Shape& shape) const { return cut(random::normal(key, shape)); }

  Array v = normal({1 << 22}), u = cut(random::uniform(key, {1 << 22})), i = cut(random::randint(key, {1 << 22}, 0, 1000));
  Array m = normal({2048, 2048}), half = m.astype(bfloat16), tall = normal({1 << 18, 16}), wide = normal({16, 1 << 18});
  Array cube = normal({64, 256, 256}), heads = normal({16, 512, 64}), stack = normal({64, 128, 128}), image = normal({16, 64, 64, 32});
  Array waves = normal({8, 65536}).astype(complex64), places = whole(random::randint(key, {20000}, 0, 2048));
  Array noise = whole(random::normal(key, {256, 256})), definite = matmul(noise, transpose(noise)) + eye(256) * 256.0;
};

void elementwise(const Bench& bench, const Inputs& on) {
  const Array &v = on.v, &u = on.u, &i = on.i;
  bench("exp", v, [](const Array& a) { return exp(a); });
  bench("log", u, [](const Array& a) { return log(a); });
  bench("tanh", v, [](const Array& a) { return tanh(a); });
  bench("erf", v, [](const Array& a) { return erf(a); });
  bench("cos", v, [](const Array& a) { return cos(a); });
  bench("sqrt", u, [](const Array& a) { return sqrt(a); });
  bench("rsqrt", u, [](const Array& a) { return rsqrt(a); });
  bench("sigmoid", v, [](const Array& a) { return logistic(a); });
  bench("gelu", v, [](const Array& a) { return gelu(a); });
  bench("expm1", v, [](const Array& a) { return expm1(a); });
  bench("log1p", u, [](const Array& a) { return log1p(a); });
  bench("erf_inv", u, [](const Array& a) { return erf_inv(a); });
  bench("power", u, u, [](const Array& a, const Array& b) { return power(a, b); });
  bench("arctan2", v, u, [](const Array& a, const Array& b) { return arctan2(a, b); });
  bench("divide", v, u, [](const Array& a, const Array& b) { return a / b; });
  bench("maximum", v, u, [](const Array& a, const Array& b) { return maximum(a, b); });
  bench("where", v, u, [](const Array& a, const Array& b) { return where(a > 0.0, a, b); });
  bench("remainder_int32", i, [](const Array& a) { return remainder(a, a + 1); });
  bench("floor_divide_int32", i, [](const Array& a) { return floor_divide(a, a + 1); });
  bench("count_greater", v, u, [](const Array& a, const Array& b) { return sum((a > b).astype(int32)); });
  bench("to_int32", v, [](const Array& a) { return a.astype(int32); });
  bench("to_bfloat16", v, [](const Array& a) { return a.astype(bfloat16); });
  bench("add_int8", i, [](const Array& a) { return a.astype(int8) + (a + 1).astype(int8); });
  bench("gelu_bfloat16", on.half, [](const Array& a) { return gelu(a); });
  bench("multiply_complex", on.waves, [](const Array& a) { return a * a; });
}

void reductions(const Bench& bench, const Inputs& on) {
  const Array& m = on.m;
  bench("sum_columns", m, [](const Array& a) { return sum(a, {.axis = 0}); });
  bench("sum_rows", m, [](const Array& a) { return sum(a, {.axis = 1}); });
  bench("max_columns", m, [](const Array& a) { return max(a, {.axis = 0}); });
  bench("max_rows", m, [](const Array& a) { return max(a, {.axis = 1}); });
  bench("argmax_rows", m, [](const Array& a) { return argmax(a, {.axis = 1}); });
  bench("argmax_columns", m, [](const Array& a) { return argmax(a, {.axis = 0}); });
  bench("var_rows", m, [](const Array& a) { return var(a, {.axis = 1}); });
  bench("logsumexp", m, [](const Array& a) { return logsumexp(a, {.axis = 1}); });
  bench("softmax", m, [](const Array& a) { return softmax(a); });
  bench("sum_short_rows", on.tall, [](const Array& a) { return sum(a, {.axis = 1}); });
  bench("sum_long_columns", on.wide, [](const Array& a) { return sum(a, {.axis = 0}); });
  bench("cumsum_rows", m, [](const Array& a) { return cumsum(a, 1); });
  bench("sort_rows", m, [](const Array& a) { return sort(a, {.axis = 1}); });
  bench("argsort_rows", m, [](const Array& a) { return argsort(a, {.axis = 1}); });
  bench("median_rows", m, [](const Array& a) { return median(a, {.axis = 1}); });
  bench("top_k", m, [](const Array& a) { return top_k(a, 8).first; });
  bench("sum_bfloat16", on.half, [](const Array& a) { return sum(a, {.axis = 1}); });
  bench("max_pool", on.image, [](const Array& a) { return max_pool(a, {2, 2}, {.strides = {2, 2}}); });
  bench("bincount", on.u, [](const Array& a) { return bincount((a * 100.0).astype(int32), 100); });
  bench("searchsorted", on.u, [](const Array& a) { return searchsorted(linspace(0.0, 1.0, 1000), a); });
}

void shapes(const Bench& bench, const Inputs& on) {
  const Array &m = on.m, &places = on.places;
  bench("transpose_add", m, [](const Array& a) { return transpose(a) + a; });
  bench("transpose_inner", on.cube, [](const Array& a) { return transpose(a, {0, 2, 1}); });
  bench("flip_rows", m, [](const Array& a) { return flip(a, 1); });
  bench("roll_whole", m, [](const Array& a) { return roll(a, 3, 1); });
  bench("roll_cut", m, [](const Array& a) { return roll(a, 3, 0); });
  bench("concatenate_rows", m, [](const Array& a) { return concatenate({a, a}, 1); });
  bench("concatenate_cut", m, [](const Array& a) { return concatenate({a, a}, 0); });
  bench("pad", m, [](const Array& a) { return pad(a, {{1, 1}, {1, 1}}); });
  bench("tile", m, [](const Array& a) { return tile(a, {1, 2}); });
  bench("slice_strided", m, [](const Array& a) { return a[{Slice(), Slice(1, 2000, 2)}]; });
  bench("take_rows", m, places, [](const Array& a, const Array& b) { return take(a, b, 0); });
  bench("take_columns", m, places, [](const Array& a, const Array& b) { return take(a, b[Slice(0, 2000)], 1); });
  bench("scatter_add", m, places, [](const Array& a, const Array& b) { return zeros({2048, 2048}).at(b[Slice(0, 2048)]).add(a); });
}

void products(const Bench& bench, const Inputs& on) {
  const Array &m = on.m, &definite = on.definite;
  bench("matmul_bfloat16", on.half, [](const Array& a) { return matmul(a, a); });
  bench("matmul_batched", on.stack, [](const Array& a) { return matmul(a, a); });
  bench("matrix_vector", m, [](const Array& a) { return matmul(a, a[0]); });
  bench("attention", on.heads, [](const Array& a) { return einsum("bqk,bkd->bqd", softmax(einsum("bqd,bkd->bqk", a, a) / 8.0), a); });
  bench("outer", on.v, [](const Array& a) { return einsum("i,j->ij", a[Slice(0, 2048)], a[Slice(2048, 4096)]); });
  bench("fft", on.waves, [](const Array& a) { return fft::fft(a); });
  bench("rfft", m, [](const Array& a) { return real(fft::rfft(a)); });
  bench("fft2", m, [](const Array& a) { return real(fft::fft2(a)); });
  bench("cholesky", definite, [](const Array& a) { return linalg::cholesky(a); });
  bench("solve", definite, on.noise, [](const Array& a, const Array& b) { return linalg::solve(a, b); });
  bench("eigvalsh", definite, [](const Array& a) { return linalg::eigvalsh(a); });
  bench("scan_2048", m, [](const Array& a) {
    return std::get<0>(scan([](const Array& s, const Array& x) { return std::tuple(s * 0.9 + x, sum(s)); }, zeros({2048}), a));
  });
  bench("fori_loop_1000", on.noise, [](const Array& a) {
    return fori_loop(
        0, 1000, [](const Array&, const Array& s) { return s * 0.5 + 1.0; }, a);
  });
  bench("categorical", m, [](const Array& a) { return random::categorical(random::key(3), a); });
  bench("gamma", on.u, [](const Array& a) { return random::gamma(random::key(3), a[Slice(0, 100000)] + 0.5); });
}

}  // namespace

int main(int argc, char** argv) {
  setenv("SHARDLAB_NUM_CPU_DEVICES", "8", 0);
  distributed::initialize();
  const Bench bench({argv + 1, argv + argc});
  const Inputs on;
  elementwise(bench, on);
  reductions(bench, on);
  shapes(bench, on);
  products(bench, on);
}
