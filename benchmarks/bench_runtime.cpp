// The runtime's speed on 8 devices, in one process or dealt to the processes of a job: process 0 prints a line "CASE median_s min_s" for
// each case.
//
// Cases have the names of the JAX side (jax_side.py), so that compare.py can divide one by the other. With arguments only those run; the
// cases network_8192_… (minutes, and some GB) run only so. SHARDLAB_BENCH_REPEATS: how many times as many repetitions, for profilers. Where
// one device is asked for, all is on it.
#include <shardlab/shardlab.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>

using namespace shardlab;

namespace {

std::set<std::string> g_only;

bool is_named(const std::string& name) { return g_only.count(name) != 0; }
bool is_wanted(const std::string& name) { return g_only.empty() || is_named(name); }

// `setup` makes what the case works on and returns what is timed; each of `reps` times is the mean over `inner` runs.
using Run = std::function<Array()>;
void timed(const std::string& name, int reps, int inner, const std::function<Run()>& setup) {
  if (!is_wanted(name)) return;
  const Run run = setup();
  if (const char* times = std::getenv("SHARDLAB_BENCH_REPEATS")) reps *= std::max(std::atoi(times), 1);
  for (int warm = 0; warm < (reps > 1 ? 2 : 1); ++warm) run().block_until_ready();
  std::vector<double> seconds;
  for (int rep = 0; rep < reps; ++rep) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < inner; ++i) run().block_until_ready();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / inner);
  }
  std::sort(seconds.begin(), seconds.end());
  if (process_index() == 0) fmt::print("{} {:.9f} {:.9f}\n", name, seconds[seconds.size() / 2], seconds[0]);
  std::fflush(stdout);
}

// Some values in [-1, 1], made where they lie.
Array values(const Shape& shape, const Sharding& sharding) {
  auto make = jit([&] { return sin(multiply(arange(element_count(shape), float32), 0.37)).reshape(shape); }, {.out_shardings = {sharding}});
  return make();
}

// The network of "Distributed arrays and automatic parallelization".
struct Layer {
  Array W, b;
};
SHARDLAB_TREE(Layer, W, b)
using Params = std::vector<Layer>;
struct Batch {
  Array inputs, targets;
};
SHARDLAB_TREE(Batch, inputs, targets)

Array predict(const Params& params, Array inputs) {
  Array outputs;
  for (const auto& [W, b] : params) {
    outputs = dot(inputs, W) + b;
    inputs = maximum(outputs, 0);
  }
  return outputs;
}

Array squares_loss(const Params& params, const Batch& batch) {
  return mean(sum(power(predict(params, batch.inputs) - batch.targets, 2), -1));
}

Array softmax_loss(const Params& params, const Batch& batch) {
  Array outputs = predict(params, batch.inputs);
  return -mean(sum((outputs - logsumexp(outputs, {.axis = 1, .keepdims = true})) * batch.targets, 1));
}

struct Bench {
  const bool is_one = device_count() == 1;
  Mesh mesh = is_one ? make_mesh({1, 1}, {"a", "b"}) : make_mesh({4, 2}, {"a", "b"}), flat = make_mesh({is_one ? 1 : 8}, {"g"});
  Sharding on(auto... axes) const { return NamedSharding(mesh, P(axes...)); }
  const P whole = {};

  void small_ops() const {
    auto small = [this] { return values({8, 8}, on("a", "b")); };
    timed("eager_sin_8x8", 7, 500, [&] { return [x = small()] { return sin(x); }; });
    timed("eager_add_8x8", 7, 500, [&] { return [x = small()] { return x + x; }; });
    timed("eager_sum_8x8", 7, 200, [&] { return [x = small()] { return sum(x); }; });
    auto sum_sin = jit([](const Array& x) { return sum(sin(x)); });
    // A call's own cost: a tree of ten arrays in, eleven out.
    timed("jit_tree_8x8", 7, 200, [&] {
      auto step = jit([](Params params, const Batch& batch) {
        for (auto& [W, b] : params) W = W - 1e-3 * b, b = b - 1e-3 * b;
        return std::pair(params, sum(batch.inputs - batch.targets));
      });
      Params params;
      for (int i = 0; i < 4; ++i) params.push_back({small(), values({8}, on("b"))});
      return [step, params, batch = Batch{small(), small()}] { return step(params, batch).second; };
    });
    timed("jit_sum_sin_8x8", 7, 200, [&] { return [&, x = small()] { return sum_sin(x); }; });
  }

  void elementwise() const {
    auto chain = jit([](Array x) {
      for (int i = 0; i < 50; ++i) x = sin(x) + 1.0;
      return x;
    });
    timed("jit_chain100_1M", 5, 1, [&] { return [&, x = values({1024, 1024}, on("a", "b"))] { return chain(x); }; });
    auto large = [this] { return values({8192, 8192}, on("a", "b")); };
    auto jit_sin = jit([](const Array& x) { return sin(x); });
    timed("sin_64M", 5, 1, [&] { return [&, x = large()] { return jit_sin(x); }; });
    auto axpy = jit([](const Array& x, const Array& y) { return 2 * x + y; });
    timed("axpy_64M", 5, 1, [&] { return [&, x = large(), y = large()] { return axpy(x, y); }; });
    auto gelu_softmax = jit([](const Array& x) { return softmax(gelu(x), 1); });
    timed("gelu_softmax_4M", 5, 1, [&] { return [&, x = values({4096, 1024}, on("a", None))] { return gelu_softmax(x); }; });
    auto jit_sum = jit([](const Array& x) { return sum(x); });
    timed("sum_64M", 5, 1, [&] { return [&, x = large()] { return jit_sum(x); }; });
  }

  void products() const {
    auto dot_ = jit([](const Array& x, const Array& y) { return matmul(x, y); });
    timed("dot_2048_no_comm", 5, 1, [&] {
      return [&, x = values({2048, 2048}, on("a", None)), y = values({2048, 2048}, on(None, "b"))] { return dot_(x, y); };
    });
    auto dot_psum = jit([](const Array& x, const Array& y) { return matmul(x, y); }, {.out_shardings = {on("a", None)}});
    timed("dot_2048_psum", 5, 1, [&] {
      return [&, x = values({2048, 2048}, on("a", "b")), y = values({2048, 2048}, on("b", None))] { return dot_psum(x, y); };
    });
    auto conv = jit([](const Array& x, const Array& w) {
      return apply("conv", {x, w}, Attrs{{"padding", std::string("SAME")}}, Where::from(std::source_location::current())).at(0);
    });
    timed("conv_3x3_64", 5, 1, [&] {
      return [&, x = values({32, 64, 56, 56}, on("a", None, "b")), w = values({64, 64, 3, 3}, on())] { return conv(x, w); };
    });
  }

  void moves() const {
    timed("reshard_ab_to_ba_64MB", 7, 1, [&] {
      return [&, x = values({4096, 4096}, on("a", "b"))] { return device_put(x, on("b", "a")); };
    });
    timed("replicate_16MB", 7, 1, [&] { return [&, x = values({2048, 2048}, on("a", "b"))] { return device_put(x, on(None, None)); }; });
  }

  void random_numbers() const {
    auto uniform = jit([](const Array& key) { return random::uniform(key, {4096, 4096}); }, {.out_shardings = {on("a", "b")}});
    timed("uniform_16M", 5, 1, [&] { return [&, key = random::key(42)] { return uniform(key); }; });
    auto normal = jit([](const Array& key) { return random::normal(key, {4096, 4096}); }, {.out_shardings = {on("a", "b")}});
    timed("normal_16M", 5, 1, [&] { return [&, key = random::key(42)] { return normal(key); }; });
  }

  void collectives() const {
    auto member = [&](auto function, P out) {
      return jit([=, this](const Array& x) {
        return shard_map(function, {.mesh = flat, .in_specs = {P("g")}, .out_specs = {out}, .check_vma = false})(x);
      });
    };
    const Sharding cut = NamedSharding(flat, P("g"));
    constexpr std::int64_t kKilo = 1 << 10, kMega = 1 << 20;
    auto few = [&] { return values({8 * kKilo}, cut); };
    auto many = [&] { return values({8 * 4 * kMega}, cut); };
    auto some = [&] { return values({8 * kMega / 2}, cut); };
    auto add = member([](const Array& x) { return psum(x, {"g"}); }, P("g"));
    timed("psum_4KB_each", 7, 50, [&] { return [&, x = few()] { return add(x); }; });
    timed("psum_16MB_each", 5, 1, [&] { return [&, x = many()] { return add(x); }; });
    auto gather = member([](const Array& x) { return all_gather(x, {"g"}, {.tiled = true}); }, P());
    timed("all_gather_2MB_each", 5, 1, [&] { return [&, x = some()] { return gather(x); }; });
    auto scatter = member([](const Array& x) { return psum_scatter(x, {"g"}, {.tiled = true}); }, P("g"));
    timed("psum_scatter_16MB_each", 5, 1, [&] { return [&, x = many()] { return scatter(x); }; });
    auto turn = member([](const Array& x) { return all_to_all(x, {"g"}, {.tiled = true}); }, P("g"));
    timed("all_to_all_16MB_each", 5, 1, [&] { return [&, x = many()] { return turn(x); }; });
    std::vector<std::pair<int, int>> ring;
    const int members = is_one ? 1 : 8;
    for (int i = 0; i < members; ++i) ring.emplace_back(i, (i + 1) % members);
    auto shift = member([=](const Array& x) { return ppermute(x, {"g"}, ring); }, P("g"));
    timed("ppermute_16MB_each", 5, 1, [&] { return [&, x = many()] { return shift(x); }; });
  }

  // What a network of this width computes, with 8-way data parallelism, and with 4-way data and 2-way tensor parallelism.
  void network(const std::string& name, std::int64_t width, int reps,
               const std::function<std::function<Array(const Params&, const Batch&)>()>& make) const {
    const Shape sizes = {784, width, width, width, 10};
    auto run = [&](const std::string& how, const std::vector<P>& Ws, const std::vector<P>& bs, const P& batch_spec) {
      timed(name + how, reps, 1, [&]() -> Run {
        Params params;
        for (std::size_t i = 0; i < Ws.size(); ++i)
          params.push_back(
              {values({sizes[i], sizes[i + 1]}, NamedSharding(mesh, Ws[i])), values({sizes[i + 1]}, NamedSharding(mesh, bs[i]))});
        const Sharding cut = NamedSharding(mesh, batch_spec);
        Batch batch{values({width, sizes.front()}, cut), values({width, sizes.back()}, cut)};
        return [step = make(), params, batch] { return step(params, batch); };
      });
    };
    run("_dp", {whole, whole, whole, whole}, {whole, whole, whole, whole}, P({"a", "b"}, None));
    run("_dp_tp", {whole, P(None, "b"), P("b", None), whole}, {whole, P("b"), whole, whole}, P("a"));
  }

  void networks() const {
    auto gradient = [] {
      return [step = jit(grad(squares_loss))](const Params& params, const Batch& batch) { return step(params, batch)[0].W; };
    };
    network("network_1024", 1024, 5, gradient);
    if (is_named("network_8192_dp") || is_named("network_8192_dp_tp")) network("network_8192", 8192, 1, gradient);
    network("mlp_step", 1024, 5, [] {
      auto step = jit([](Params params, const Batch& batch) {
        auto [loss, gradients] = value_and_grad(softmax_loss)(params, batch);
        for (std::size_t i = 0; i < params.size(); ++i) {
          params[i].W = params[i].W - 1e-5 * gradients[i].W;
          params[i].b = params[i].b - 1e-5 * gradients[i].b;
        }
        return std::pair(params, loss);
      });
      return [step](const Params& params, const Batch& batch) { return step(params, batch).second; };
    });
  }

  // Attention and a network of two products, twelve times, with gradients: a program of many small steps. The first call compiles it.
  void layers() const {
    constexpr std::size_t kLayers = 12;
    using Weights = std::vector<Array>;
    auto make_step = [](double rate) {
      auto loss = [](const Weights& w, Array x) {
        for (std::size_t i = 0; i < kLayers; ++i) {
          Array q = matmul(x, w[3 * i]), scores = softmax(einsum("bqd,bkd->bqk", q, q) / 8.0);
          x = x + einsum("bqk,bkd->bqd", scores, q);
          Array centred = x - mean(x, {.axis = -1, .keepdims = true});
          Array y = centred / sqrt(mean(square(centred), {.axis = -1, .keepdims = true}) + 1e-5);
          x = x + matmul(gelu(matmul(y, w[3 * i + 1])), w[3 * i + 2]);
        }
        return mean(square(x));
      };
      return jit([loss, rate](Weights w, const Array& x) {
        auto [value, gradients] = value_and_grad(loss)(w, x);
        for (std::size_t i = 0; i < w.size(); ++i) w[i] = w[i] - rate * gradients[i];
        return std::pair(w, value);
      });
    };
    auto weights = [this] {
      Weights w;
      for (std::size_t i = 0; i < kLayers; ++i) {
        w.push_back(values({64, 64}, on(None, "b")));
        w.push_back(values({64, 256}, on(None, "b")));
        w.push_back(values({256, 64}, on("b", None)));
      }
      return w;
    };
    auto batch = [this] { return values({32, 16, 64}, on("a")); };
    timed("layers_12", 9, 1, [&] { return [step = make_step(1e-3), w = weights(), x = batch()] { return step(w, x).second; }; });
    timed("layers_12_first_call", 3, 1, [&] {
      // Another rate each time, so that it is another program.
      return [make_step, w = weights(), x = batch(), n = 0]() mutable { return make_step(1e-3 / ++n)(w, x).second; };
    });
  }

  void transforms() const {
    const Sharding slab_z = NamedSharding(flat, P(None, "g")), slab_xy = NamedSharding(flat, P(None, None, "g"));
    auto cube = [&] { return jit([](const Array& x) { return astype(x, complex64); })(values({128, 128, 128}, slab_z)); };
    auto slab = jit([&](const Array& x) { return fft::fftn(with_sharding_constraint(fft::fft(x), slab_xy), {.axes = {0, 1}}); });
    timed("fft3_128_slab", 5, 1, [&] { return [&, x = cube()] { return slab(x); }; });
    auto plain = jit([](const Array& x) { return fft::fftn(x); }, {.out_shardings = {slab_z}});
    timed("fft3_128_plain", 5, 1, [&] { return [&, x = cube()] { return plain(x); }; });
  }
};

}  // namespace

int main(int argc, char** argv) {
  setenv("SHARDLAB_NUM_CPU_DEVICES", "8", 0);
  distributed::initialize();
  for (int i = 1; i < argc; ++i) g_only.insert(argv[i]);
  const Bench bench;
  bench.small_ops();
  bench.elementwise();
  bench.products();
  bench.moves();
  bench.random_numbers();
  bench.collectives();
  bench.networks();
  bench.layers();
  bench.transforms();
}
