// The runtime's speed on 8 virtual devices of one process: one JSON object {case: {"median_s", "min_s", "reps"}} on standard output.
//
// Cases have the names of the JAX side (jax_side.py), so that compare.py can divide one by the other. With arguments only those run; the
// cases network_8192_… (minutes, and some GB) run only so.
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
bool g_first = true;

bool is_named(const std::string& name) { return g_only.count(name) != 0; }
bool is_wanted(const std::string& name) { return g_only.empty() || is_named(name); }

void timed(const std::string& name, int reps, int inner, const std::function<Array()>& run) {
  if (!is_wanted(name)) return;
  run().block_until_ready();
  if (reps > 1) run().block_until_ready();
  std::vector<double> seconds;
  for (int rep = 0; rep < reps; ++rep) {
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < inner; ++i) run().block_until_ready();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / inner);
  }
  std::sort(seconds.begin(), seconds.end());
  fmt::print("{}\n \"{}\": {{\"median_s\": {:.9f}, \"min_s\": {:.9f}, \"reps\": {}}}", g_first ? "" : ",", name,
             seconds[seconds.size() / 2], seconds[0], reps * inner);
  std::fflush(stdout);
  g_first = false;
}

// Some values in [-1, 1], laid out as asked.
Array values(const Shape& shape, const Sharding& sharding) {
  auto flat = sin(multiply(arange(element_count(shape), float32), 0.37));
  return device_put(flat.reshape(shape), sharding);
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

Array loss(const Params& params, const Batch& batch) {
  Array inputs = batch.inputs, outputs;
  for (const auto& [W, b] : params) {
    outputs = dot(inputs, W) + b;
    inputs = maximum(outputs, 0);
  }
  return mean(sum(power(outputs - batch.targets, 2), -1));
}

// The gradient of a network of this width with 8-way data parallelism, and with 4-way data and 2-way tensor parallelism.
void networks(const std::string& name, std::int64_t width, const Mesh& mesh, int reps) {
  const Shape sizes = {784, width, width, width, 10};
  auto gradient = jit(grad(loss));
  auto run = [&](const std::string& how, const std::vector<P>& Ws, const std::vector<P>& bs, const P& batch_spec) {
    if (!is_wanted(name + how)) return;
    Params params;
    for (std::size_t i = 0; i < Ws.size(); ++i)
      params.push_back({values({sizes[i], sizes[i + 1]}, NamedSharding(mesh, Ws[i])), values({sizes[i + 1]}, NamedSharding(mesh, bs[i]))});
    const Sharding cut = NamedSharding(mesh, batch_spec);
    Batch batch{values({width, sizes.front()}, cut), values({width, sizes.back()}, cut)};
    timed(name + how, reps, 1, [&] { return gradient(params, batch)[0].W; });
  };
  const P whole;
  run("_dp", {whole, whole, whole, whole}, {whole, whole, whole, whole}, P({"a", "b"}, None));
  run("_dp_tp", {whole, P(None, "b"), P("b", None), whole}, {whole, P("b"), whole, whole}, P("a"));
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) g_only.insert(argv[i]);
  setenv("SHARDLAB_NUM_CPU_DEVICES", "8", 0);
  auto mesh = make_mesh({4, 2}, {"a", "b"});
  auto on = [&](auto... axes) { return NamedSharding(mesh, P(axes...)); };
  fmt::print("{{");

  auto small = values({8, 8}, on("a", "b"));
  timed("eager_sin_8x8", 7, 500, [&] { return sin(small); });
  timed("eager_add_8x8", 7, 500, [&] { return small + small; });
  timed("eager_sum_8x8", 7, 200, [&] { return sum(small); });
  auto sum_sin = jit([](const Array& x) { return sum(sin(x)); });
  timed("jit_sum_sin_8x8", 7, 200, [&] { return sum_sin(small); });

  auto chain = jit([](Array x) {
    for (int i = 0; i < 50; ++i) x = sin(x) + 1.0;
    return x;
  });
  auto million = values({1024, 1024}, on("a", "b"));
  timed("jit_chain100_1M", 5, 1, [&] { return chain(million); });

  auto large = values({8192, 8192}, on("a", "b"));
  auto jit_sin = jit([](const Array& x) { return sin(x); });
  timed("sin_64M", 5, 1, [&] { return jit_sin(large); });
  auto axpy = jit([](const Array& x, const Array& y) { return 2 * x + y; });
  timed("axpy_64M", 5, 1, [&] { return axpy(large, large); });
  auto jit_sum = jit([](const Array& x) { return sum(x); });
  timed("sum_64M", 5, 1, [&] { return jit_sum(large); });
  large = Array();

  auto dot = jit([](const Array& x, const Array& y) { return matmul(x, y); });
  auto left = values({2048, 2048}, on("a", None)), right = values({2048, 2048}, on(None, "b"));
  timed("dot_2048_no_comm", 5, 1, [&] { return dot(left, right); });
  auto dot_psum = jit([](const Array& x, const Array& y) { return matmul(x, y); }, {.out_shardings = {on("a", None)}});
  auto left_ab = values({2048, 2048}, on("a", "b")), right_b = values({2048, 2048}, on("b", None));
  timed("dot_2048_psum", 5, 1, [&] { return dot_psum(left_ab, right_b); });

  networks("network_1024", 1024, mesh, 5);
  if (is_named("network_8192_dp") || is_named("network_8192_dp_tp")) networks("network_8192", 8192, mesh, 1);

  auto conv = jit([](const Array& x, const Array& w) {
    return apply("conv", {x, w}, Attrs{{"padding", std::string("SAME")}}, Where::from(std::source_location::current())).at(0);
  });
  auto pictures = values({32, 64, 56, 56}, on("a", None, "b")), kernels = values({64, 64, 3, 3}, on());
  timed("conv_3x3_64", 5, 1, [&] { return conv(pictures, kernels); });

  const Sharding slab_z = on(None, std::vector<std::string>{"a", "b"}), slab_xy = on(None, None, std::vector<std::string>{"a", "b"});
  auto fft3 = jit([&](const Array& x) { return fft::fftn(with_sharding_constraint(fft::fft(x), slab_xy), {.axes = {0, 1}}); });
  auto cube = device_put(astype(values({128, 128, 128}, on()), complex64), slab_z);
  timed("fft3_128_slab", 5, 1, [&] { return fft3(cube); });

  auto square_4096 = values({4096, 4096}, on("a", "b"));
  timed("reshard_ab_to_ba_64MB", 7, 1, [&] { return device_put(square_4096, on("b", "a")); });
  timed("replicate_16MB", 7, 1, [&] { return device_put(left_ab, on(None, None)); });
  fmt::print("\n}}\n");
}
