// "Distributed computing": a grid cut over all devices, means and rolls of it, arrays that are never whole anywhere, and a Fourier
// transform of three dimensions, in slabs and in pencils, by custom partitioning.
//
//   SHARDLAB_NUM_CPU_DEVICES=8 distributed_computing [GRID [FFT_SIZE]]
//
// With FORCE_COLOR set the pictures are drawn in colours without lines, as in the original.
#include <shardlab/shardlab.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <stdexcept>
using namespace shardlab;

namespace {

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

void visualize(const Array& x) { visualize_array_sharding(x, {.color = std::getenv("FORCE_COLOR") != nullptr}); }

void show(const char* what, const Array& x) {
  std::cout << what << '\n' << text_of(x.shape()) << '\n';
  visualize(x);
}

bool is_near(const Array& a, const Array& b, double tolerance) {
  Array there = device_put(b, a.sharding());
  return max(abs(a - there)).item<float>() < tolerance;
}

void print_environment() {
  if (process_index() != 0) return;
  for (const char* env_var : {"SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_NODELIST", "SLURM_STEP_NODELIST", "SLURM_STEP_GPUS", "SLURM_GPUS"}) {
    const char* value = std::getenv(env_var);
    std::cout << env_var << ": " << (value ? value : "") << '\n';
  }
  std::cout << "Total number of processes:  " << process_count() << '\n';
  std::cout << "Total number of devices:  " << device_count() << '\n';
  std::cout << "List of devices:  " << devices() << '\n';
  std::cout << "Number of devices on this process:  " << local_device_count() << '\n';
}

void grids(const Sharding& sharding, std::int64_t n) {
  auto xlin = linspace(0, n - 1, n);
  auto xx = meshgrid({xlin, xlin}, {.indexing = "ij"})[0];
  std::cout << "regular array:\n";
  visualize(xx);
  std::cout << xx << "\n\n";

  auto xx_sharded = with_sharding_constraint(xx, sharding);
  std::cout << "sharded array:\n";
  visualize(xx_sharded);
  std::cout << xx_sharded << '\n';

  // The shardings of compositions are determined automatically.
  auto xx_sharded_sq = power(xx_sharded, 2);
  show("xx_sharded**2:", xx_sharded_sq);
  std::cout << '\n';
  auto xx_sum = xx + xx_sharded;
  show("xx + xx_sharded:", xx_sum);
  std::cout << '\n';
  auto xx_mean_0 = mean(xx, 0);
  show("jnp.mean(xx_sharded,axis=0)", xx_mean_0);
  std::cout << '\n';
  auto xx_mean_1 = mean(xx, 1);
  show("jnp.mean(xx_sharded,axis=1)", xx_mean_1);
  require(is_near(xx_sum, 2 * xx, 1e-6) && is_near(xx_sharded_sq, xx * xx, 1e-4), "the compositions' values");
  require(is_near(mean(xx_sharded, 0), xx_mean_0, 1e-6) && is_near(mean(xx_sharded, 1), xx_mean_1, 1e-6), "the means of the cut array");

  auto xx_roll = roll(xx_sharded, {0, 1}, AxisList::all());
  show("jnp.roll(xx_sharded, (0,1))", xx_roll);

  // A distributed meshgrid: the whole array is on no device.
  auto xmeshgrid = [](const Array& x) {
    auto grids = meshgrid({x, x}, {.indexing = "ij"});
    return std::tuple(grids[0], grids[1]);
  };
  auto xmeshgrid_jit = jit(xmeshgrid, {.out_shardings = {sharding, sharding}});
  auto [gx, gy] = xmeshgrid_jit(xlin);
  std::cout << "sharded array:\n";
  visualize(gx);
  require(is_near(gx, xx, 1e-6) && is_near(gy, transpose(xx), 1e-6), "the distributed meshgrid");

  // The result of roll cut as its operand.
  auto xroll = [](const Array& x) { return roll(x, {0, 1}, AxisList::all()); };
  auto xroll_jit = jit(xroll, {.in_shardings = {sharding}, .out_shardings = {sharding}});
  auto whole_roll = xx_roll;
  xx_roll = xroll_jit(xx_sharded);
  show("xroll_jit(xx_sharded)", xx_roll);
  require(is_near(xx_roll, whole_roll, 1e-6) && is_near(xx_roll, xroll(xx), 1e-6), "the rolled array");
}

// A function of one array that runs on tiles cut by `partition_spec`, whatever is around it.
auto fft_partitioner(const std::function<Array(const Array&)>& fft_func, const PartitionSpec& partition_spec) {
  auto supported_sharding = [=](const Sharding& sharding) { return NamedSharding(sharding.mesh(), partition_spec); };
  auto partition = [=](const Mesh&, const std::vector<ShardedType>& args, const std::vector<ShardedType>&) {
    Sharding supported = supported_sharding(args[0].sharding);
    return PartitionedFunction{
        [=](const std::vector<Array>& tiles) { return std::vector<Array>{fft_func(tiles[0])}; }, {supported}, {supported}};
  };
  return custom_partitioning(fft_func, {.sharding_rule = "i j k -> i j k", .partition = partition});
}

int count(const std::string& text, std::string_view what) {
  int found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

// The transform of random numbers and back, held against the one of a single device; and what it moves.
template <typename Forward, typename Inverse>
void check(const char* what, const Forward& forward, const Inverse& inverse, const Array& x) {
  auto k = forward(x);
  auto whole = fft::fftn(device_put(x, NamedSharding(x.sharding().mesh(), P())));  // each device the whole
  bool is_right = is_near(k, whole, 1e-3), is_back = is_near(real(inverse(k)), real(x), 1e-4);
  std::string there = forward.lower(x).compile().as_text(), back = inverse.lower(k).compile().as_text();
  std::cout << what << ": as on one device: " << (is_right ? "yes" : "no") << ", and back again: " << (is_back ? "yes" : "no")
            << "; all-to-alls: " << count(there, "all-to-all") << " and " << count(back, "all-to-all")
            << ", all-gathers: " << count(there, "all-gather") + count(back, "all-gather") << '\n';
}

void transforms(const Sharding& sharding, std::int64_t n) {
  auto _fft_XY = [](const Array& x) { return fft::fftn(x, {.axes = {0, 1}}); };
  auto _fft_Z = [](const Array& x) { return fft::fft(x, {.axis = 2}); };
  auto _ifft_XY = [](const Array& x) { return fft::ifftn(x, {.axes = {0, 1}}); };
  auto _ifft_Z = [](const Array& x) { return fft::ifft(x, {.axis = 2}); };

  // Slabs: fft_XY works on slices whose axes 0 and 1 are whole, fft_Z on slices whose axis 2 is.
  auto fft_XY = fft_partitioner(_fft_XY, P(None, None, "gpus"));
  auto fft_Z = fft_partitioner(_fft_Z, P(None, "gpus"));
  auto ifft_XY = fft_partitioner(_ifft_XY, P(None, None, "gpus"));
  auto ifft_Z = fft_partitioner(_ifft_Z, P(None, "gpus"));
  auto xfft3d = [=](const Array& x) { return fft_XY(fft_Z(x)); };
  auto ixfft3d = [=](const Array& x) { return ifft_Z(ifft_XY(x)); };
  auto xfft3d_jit = jit(xfft3d, {.in_shardings = {sharding}, .out_shardings = {sharding}});
  auto ixfft3d_jit = jit(ixfft3d, {.in_shardings = {sharding}, .out_shardings = {sharding}});
  auto x = astype(random::normal(random::key(0), {n, n, n}), complex64);
  check("slabs", xfft3d_jit, ixfft3d_jit, device_put(x, sharding));

  // Pencils: two axes are cut, and each exchange is among the devices of one row or column; the transform stays turned in k-space.
  if (device_count() % 2 != 0) return;
  auto grid = make_mesh({device_count() / 2, 2}, {"x", "y"});
  auto along = [](int axis, bool is_inverse) {
    return [=](const Array& a) { return is_inverse ? fft::ifft(a, {.axis = axis}) : fft::fft(a, {.axis = axis}); };
  };
  const PartitionSpec whole_Z("x", "y"), whole_Y("x", None, "y"), whole_X(None, "x", "y");
  auto pencil_Z = fft_partitioner(along(2, false), whole_Z), pencil_Y = fft_partitioner(along(1, false), whole_Y),
       pencil_X = fft_partitioner(along(0, false), whole_X);
  auto ipencil_Z = fft_partitioner(along(2, true), whole_Z), ipencil_Y = fft_partitioner(along(1, true), whole_Y),
       ipencil_X = fft_partitioner(along(0, true), whole_X);
  Sharding pencils = NamedSharding(grid, whole_Z), turned = NamedSharding(grid, whole_X);
  auto pfft3d =
      jit([=](const Array& a) { return pencil_X(pencil_Y(pencil_Z(a))); }, {.in_shardings = {pencils}, .out_shardings = {turned}});
  auto pifft3d =
      jit([=](const Array& a) { return ipencil_Z(ipencil_Y(ipencil_X(a))); }, {.in_shardings = {turned}, .out_shardings = {pencils}});
  check("pencils", pfft3d, pifft3d, device_put(x, pencils));
}

}  // namespace

int main(int argc, char** argv) {
  distributed::initialize();
  if (process_index() == 0) std::cout << "Using CPU mode with " << device_count() << " virtual devices\n";
  auto mesh = make_mesh(create_device_mesh({device_count()}), {"gpus"});
  auto sharding = NamedSharding(mesh, P(None, "gpus"));
  print_environment();
  grids(sharding, argc > 1 ? std::atoll(argv[1]) : 8);
  transforms(sharding, argc > 2 ? std::atoll(argv[2]) : 64);
}
