// "Distributed arrays and automatic parallelization": shardings, computations that follow them, errors, constraints and random numbers.
//
//   SHARDLAB_NUM_CPU_DEVICES=8 SHARDLAB_DEVICE_PROFILE=v3-8 distributed_arrays [SIZE]
//
// On the devices of a TPU v3 it prints the pictures of the original; its networks are the program `network`. SIZE is 8192 by default.
#include <shardlab/shardlab.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
using namespace shardlab;

namespace {

// Five times, the best of them.
template <typename F>
void timeit(const char* what, const F& f) {
  double best_ms = 1e300;
  for (int loop = 0; loop < 5; ++loop) {
    auto start = std::chrono::steady_clock::now();
    f().block_until_ready();
    best_ms = std::min(best_ms, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  std::cout << what << ": 5 loops, best of 5: " << best_ms << " ms per loop\n";
}

template <typename F>
void print_exception(const F& f) {
  try {
    f().block_until_ready();
    std::cout << "no error!\n";
  } catch (const UserError& error) { std::cout << "ValueError: " << error.what() << '\n'; }
}

void sharding_describes_the_layout(Array x) {
  visualize_array_sharding(x);

  auto devices = create_device_mesh({8});
  auto sharding = PositionalSharding(devices);
  x = device_put(x, sharding.reshape(8, 1));
  visualize_array_sharding(x);
  std::cout << sharding.text() << '\n';
  std::cout << sharding.reshape(8, 1).text() << '\n';
  std::cout << sharding.reshape(4, 2).text() << '\n';

  sharding = sharding.reshape(4, 2);
  std::cout << sharding.text() << '\n';
  auto y = device_put(x, sharding);
  visualize_array_sharding(y);

  sharding = sharding.reshape(1, 8);
  std::cout << sharding.text() << '\n';
  y = device_put(x, sharding);
  visualize_array_sharding(y);

  // Some slices on several devices.
  sharding = sharding.reshape(4, 2);
  std::cout << sharding.replicate(0).text() << '\n';
  y = device_put(x, sharding.replicate(0));
  visualize_array_sharding(y);
  std::cout << text_of(sharding.replicate(0).shape()) << '\n' << text_of(sharding.replicate(1).shape()) << '\n';
  y = device_put(x, sharding.replicate(1));
  visualize_array_sharding(y);
}

void named_shardings(const Array& x) {
  auto default_mesh = make_mesh(create_device_mesh({4, 2}), {"a", "b"});
  auto y = device_put(x, NamedSharding(default_mesh, P("a", "b")));
  visualize_array_sharding(y);

  auto mesh_sharding = [&](const P& pspec) { return NamedSharding(default_mesh, pspec); };
  for (const P& pspec : {P("a", "b"), P("b", "a"), P("a", None), P(None, "b"), P(None, "a"), P({"a", "b"}, None)}) {
    y = device_put(x, mesh_sharding(pspec));
    visualize_array_sharding(y);
  }
}

void computation_follows_data(Array x) {
  auto sharding = PositionalSharding(create_device_mesh({8}));
  x = device_put(x, sharding.reshape(4, 2));
  std::cout << "input sharding:\n";
  visualize_array_sharding(x);
  auto y = sin(x);
  std::cout << "output sharding:\n";
  visualize_array_sharding(y);

  y = device_put(x, sharding.reshape(4, 2).replicate(1));
  auto z = device_put(x, sharding.reshape(4, 2).replicate(0));
  std::cout << "lhs sharding:\n";
  visualize_array_sharding(y);
  std::cout << "rhs sharding:\n";
  visualize_array_sharding(z);
  auto w = dot(y, z);
  std::cout << "out sharding:\n";
  visualize_array_sharding(w);

  auto x_single = device_put(x, devices()[0]);
  visualize_array_sharding(x_single);
  bool same = allclose(device_put(dot(x_single, x_single), w.sharding()), w, {.rtol = 1e-5, .atol = 1e-3}).item<bool>();
  std::cout << "np.allclose: " << (same ? "True" : "False") << '\n';
  timeit("on one device", [&] { return dot(x_single, x_single); });
  timeit("on eight devices", [&] { return dot(y, z); });

  auto w_copy = copy(w);
  visualize_array_sharding(w_copy);
}

void explicit_shardings_that_disagree(const Array& x) {
  auto all = devices();
  auto sharding1 = PositionalSharding(std::vector<Device>(all.begin(), all.begin() + 4));
  auto sharding2 = PositionalSharding(std::vector<Device>(all.begin() + 4, all.end()));
  auto y = device_put(x, sharding1.reshape(2, 2));
  auto z = device_put(x, sharding2.reshape(2, 2));
  print_exception([&] { return y + z; });

  std::vector<Device> permuted_devices;
  for (std::size_t i : {0, 1, 2, 3, 6, 7, 4, 5}) permuted_devices.push_back(all[i]);
  sharding1 = PositionalSharding(all);
  sharding2 = PositionalSharding(permuted_devices);
  y = device_put(x, sharding1.reshape(4, 2));
  z = device_put(x, sharding2.reshape(4, 2));
  print_exception([&] { return y + z; });

  // Uncommitted arrays are moved.
  y = device_put(x, sharding1.reshape(4, 2));
  print_exception([&] { return y + ones_like(y); });
  print_exception([&] { return y + arange(y.size()).reshape(y.shape()); });
}

void constraints_on_intermediates(Array x) {
  auto sharding = PositionalSharding(create_device_mesh({8}));
  x = device_put(x, sharding.reshape(4, 2));
  for (const PositionalSharding& wanted : {sharding.reshape(2, 4), sharding.replicate()}) {
    auto f = jit([&](Array a) {
      a = a + 1;
      return with_sharding_constraint(a, wanted);
    });
    visualize_array_sharding(x);
    visualize_array_sharding(f(x));
  }
}

void random_numbers() {
  auto f = jit([](const Array& key, const Array& x) {
    auto numbers = random::uniform(key, x.shape());
    return x + numbers;
  });
  auto key = random::key(42);
  auto x = device_put(arange(24), PositionalSharding(devices()));
  auto is_communicating = [&](const Array& on) {
    auto f_exe = f.lower(key, on).compile();
    return f_exe.as_text().find("collective-permute") != std::string::npos ? "True" : "False";
  };
  // 24 numbers are hashed as two halves of 12, which the planner cuts in four: each device has what it needs. Halves that all eight
  // devices cut are exchanged.
  auto more = device_put(arange(64), PositionalSharding(devices()));

  config::update("jax_threefry_partitionable", false);
  visualize_array_sharding(f(key, x));
  std::cout << "Communicating? " << is_communicating(x) << ", of 64 numbers: " << is_communicating(more) << '\n';
  config::update("jax_threefry_partitionable", true);
  std::cout << "Communicating? " << is_communicating(x) << ", of 64 numbers: " << is_communicating(more) << '\n';
  visualize_array_sharding(f(key, x));

  config::update("jax_threefry_partitionable", false);
  std::cout << "Stable:\n" << f(key, x) << "\n\n";
  config::update("jax_threefry_partitionable", true);
  std::cout << "Partitionable:\n" << f(key, x) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  distributed::initialize();
  std::int64_t size = argc > 1 ? std::atoll(argv[1]) : 8192;

  // A quick example.
  auto sharding = PositionalSharding(create_device_mesh({8}));
  auto x = random::normal(random::key(0), {size, size});
  auto y = device_put(x, sharding.reshape(4, 2));
  visualize_array_sharding(y);
  auto z = sin(y);
  visualize_array_sharding(z);
  timeit("sin on one device", [&] { return sin(x); });
  timeit("sin on eight devices", [&] { return sin(y); });

  sharding_describes_the_layout(x);
  named_shardings(x);
  computation_follows_data(x);
  explicit_shardings_that_disagree(x);
  constraints_on_intermediates(x);
  random_numbers();
}
