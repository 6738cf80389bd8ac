// "Distributed computing": a grid cut over all devices, means and rolls of it, arrays that are never whole anywhere, and a Fourier
// transform of three dimensions in slabs.
//
//   SHARDLAB_NUM_CPU_DEVICES=8 distributed_computing [GRID [FFT_SIZE]]
#include <shardlab/shardlab.h>

#include <cstdlib>
#include <functional>
#include <iostream>
using namespace shardlab;

namespace {

void print_environment() {
  if (process_index() != 0) return;
  for (const char* env_var : {"SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_NODELIST", "SLURM_STEP_NODELIST", "SLURM_STEP_GPUS", "SLURM_GPUS"}) {
    const char* value = std::getenv(env_var);
    std::cout << env_var << ": " << (value ? value : "") << '\n';
  }
  std::cout << "Total number of processes:  " << process_count() << '\n';
  std::cout << "Total number of devices:  " << device_count() << '\n';
  std::cout << "Number of devices on this process:  " << local_device_count() << '\n';
}

void show(const char* what, const Array& x) {
  std::cout << what << '\n' << text_of(x.shape()) << '\n';
  visualize_array_sharding(x);
  std::cout << '\n';
}

void grids(const Sharding& sharding, std::int64_t n) {
  auto xlin = linspace(0, n - 1, n);
  auto xx = meshgrid({xlin, xlin}, {.indexing = "ij"})[0];
  show("regular array:", xx);
  std::cout << xx << "\n\n";

  auto xx_sharded = with_sharding_constraint(xx, sharding);
  show("sharded array:", xx_sharded);
  std::cout << xx_sharded << "\n\n";

  // The shardings of compositions are determined automatically.
  auto xx_sharded_sq = power(xx_sharded, 2);
  show("xx_sharded**2:", xx_sharded_sq);
  auto xx_sum = xx + xx_sharded;
  show("xx + xx_sharded:", xx_sum);
  std::cout << xx_sum << '\n';
  auto xx_mean_0 = mean(xx, 0);
  show("mean(xx,axis=0)", xx_mean_0);
  auto xx_mean_1 = mean(xx, 1);
  show("mean(xx,axis=1)", xx_mean_1);
  std::cout << xx_mean_0 << '\n' << xx_mean_1 << '\n';
  std::cout << mean(xx_sharded, 0) << '\n' << mean(xx_sharded, 1) << '\n';

  auto xx_roll = roll(xx_sharded, {0, 1}, AxisList::all());
  show("roll(xx_sharded, (0,1))", xx_roll);

  // A distributed meshgrid: the whole array is on no device.
  auto xmeshgrid = [](const Array& x) {
    auto grids = meshgrid({x, x}, {.indexing = "ij"});
    return std::tuple(grids[0], grids[1]);
  };
  auto xmeshgrid_jit = jit(xmeshgrid, {.out_shardings = {sharding, sharding}});
  auto [gx, gy] = xmeshgrid_jit(xlin);
  show("sharded array:", gx);
  std::cout << gy << '\n';

  // The result of roll cut as its operand.
  auto xroll = [](const Array& x) { return roll(x, {0, 1}, AxisList::all()); };
  auto xroll_jit = jit(xroll, {.in_shardings = {sharding}, .out_shardings = {sharding}});
  xx_roll = xroll_jit(xx_sharded);
  show("xroll_jit(xx_sharded)", xx_roll);
  std::cout << xx_roll << '\n';
}

// A transform of slabs: `spec` leaves its axes whole.
auto fft_partitioner(std::function<Array(const Array&)> fft_func, const PartitionSpec& spec) {
  return [=](const Array& x) { return with_sharding_constraint(fft_func(with_sharding_constraint(x, spec)), spec); };
}

void transforms(const Sharding& sharding, std::int64_t n) {
  // A transform along Z, then one over X and Y: between them each device exchanges its part with all others, and none has the whole.
  auto fft_XY = fft_partitioner([](const Array& x) { return fft::fftn(x, {.axes = {0, 1}}); }, P(None, None, "gpus"));
  auto fft_Z = fft_partitioner([](const Array& x) { return fft::fft(x, {.axis = 2}); }, P(None, "gpus"));
  auto ifft_XY = fft_partitioner([](const Array& x) { return fft::ifftn(x, {.axes = {0, 1}}); }, P(None, None, "gpus"));
  auto ifft_Z = fft_partitioner([](const Array& x) { return fft::ifft(x, {.axis = 2}); }, P(None, "gpus"));
  auto xfft3d = [=](const Array& x) { return fft_XY(fft_Z(x)); };
  auto ixfft3d = [=](const Array& x) { return ifft_Z(ifft_XY(x)); };
  JitOptions options{.in_shardings = {sharding}, .out_shardings = {sharding}};
  auto xfft3d_jit = jit(xfft3d, options);
  auto ixfft3d_jit = jit(ixfft3d, options);

  auto x = device_put(random::normal(random::key(0), {n, n, n}), sharding);
  auto k = xfft3d_jit(x);
  auto back = ixfft3d_jit(k);
  show("transformed", k);
  auto whole = fft::fftn(device_put(x, devices()[0]));
  auto difference = [](const Array& a, const Array& b) { return max(abs(a - b)).item<float>(); };
  std::cout << "as the transform on one device: " << (difference(device_put(k, devices()[0]), whole) < 1e-3 ? "yes" : "no") << '\n';
  std::cout << "back again: " << (difference(real(back), x) < 1e-4 ? "yes" : "no") << '\n';
  std::string program = xfft3d_jit.lower(x).compile().as_text();
  std::cout << "all-to-all: " << (program.find("all-to-all") != std::string::npos ? "yes" : "no")
            << ", all-gather: " << (program.find("all-gather") != std::string::npos ? "yes" : "no") << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  distributed::initialize();
  auto mesh = make_mesh(create_device_mesh({device_count()}), {"gpus"});
  auto sharding = NamedSharding(mesh, P(None, "gpus"));
  print_environment();
  grids(sharding, argc > 1 ? std::atoll(argv[1]) : 8);
  transforms(sharding, argc > 2 ? std::atoll(argv[2]) : 64);
}
