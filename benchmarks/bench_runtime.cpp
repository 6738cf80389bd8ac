// The runtime's speed on 8 virtual devices of one process: one JSON object {case: {"median_s", "min_s", "reps"}} on standard output.
//
// Cases have the names of the JAX side (jax_side.py), so that compare.py can divide one by the other. With arguments only those run.
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

void timed(const std::string& name, int reps, int inner, const std::function<Array()>& run) {
  if (!g_only.empty() && g_only.count(name) == 0) return;
  run().block_until_ready();
  run().block_until_ready();
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

  auto square_4096 = values({4096, 4096}, on("a", "b"));
  timed("reshard_ab_to_ba_64MB", 7, 1, [&] { return device_put(square_4096, on("b", "a")); });
  timed("replicate_16MB", 7, 1, [&] { return device_put(left_ab, on(None, None)); });
  fmt::print("\n}}\n");
}
