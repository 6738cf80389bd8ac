// Collectives over the processes of a job, 8 devices in all: process 0 prints a line "CASE median_s min_s" for each. With arguments only
// those cases run. The names are those of jax_side.py.
#include <shardlab/shardlab.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <string>

using namespace shardlab;

namespace {

std::set<std::string> g_only;

void timed(const std::string& name, int reps, int inner, const std::function<Array()>& run) {
  if (!g_only.empty() && g_only.count(name) == 0) return;
  for (int warm = 0; warm < 2; ++warm) run().block_until_ready();
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

Array values(const Shape& shape, const Sharding& sharding) {
  return device_put(sin(multiply(arange(element_count(shape), float32), 0.37)).reshape(shape), sharding);
}

}  // namespace

int main(int argc, char** argv) {
  distributed::initialize();
  for (int i = 1; i < argc; ++i) g_only.insert(argv[i]);
  auto mesh = make_mesh({4, 2}, {"a", "b"}), flat = make_mesh({8}, {"g"});
  auto on = [&](auto... axes) { return NamedSharding(mesh, P(axes...)); };
  const Sharding cut = NamedSharding(flat, P("g"));

  auto small = values({8, 8}, on("a", "b"));
  timed("eager_sum_8x8", 7, 200, [&] { return sum(small); });

  auto member = [&](auto function, P out) {
    return jit([=](const Array& x) {
      return shard_map(function, {.mesh = flat, .in_specs = {P("g")}, .out_specs = {out}, .check_vma = false})(x);
    });
  };
  constexpr std::int64_t kKilo = 1 << 10, kMega = 1 << 20;
  auto few = values({8 * kKilo}, cut), many = values({8 * 4 * kMega}, cut), some = values({8 * kMega / 2}, cut);
  auto add = member([](const Array& x) { return psum(x, {"g"}); }, P("g"));
  timed("psum_4KB_each", 7, 200, [&] { return add(few); });
  timed("psum_16MB_each", 5, 1, [&] { return add(many); });
  auto gather = member([](const Array& x) { return all_gather(x, {"g"}, {.tiled = true}); }, P());
  timed("all_gather_2MB_each", 5, 1, [&] { return gather(some); });
  auto scatter = member([](const Array& x) { return psum_scatter(x, {"g"}, {.tiled = true}); }, P("g"));
  timed("psum_scatter_16MB_each", 5, 1, [&] { return scatter(many); });
  auto turn = member([](const Array& x) { return all_to_all(x, {"g"}, {.tiled = true}); }, P("g"));
  timed("all_to_all_16MB_each", 5, 1, [&] { return turn(many); });
  std::vector<std::pair<int, int>> ring;
  for (int i = 0; i < 8; ++i) ring.emplace_back(i, (i + 1) % 8);
  auto shift = member([=](const Array& x) { return ppermute(x, {"g"}, ring); }, P("g"));
  timed("ppermute_16MB_each", 5, 1, [&] { return shift(many); });

  auto square = values({4096, 4096}, on("a", "b"));
  timed("reshard_ab_to_ba_64MB", 5, 1, [&] { return device_put(square, on("b", "a")); });
}
