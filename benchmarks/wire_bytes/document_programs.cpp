// The documents' programs, each jitted under the name of its case and run once, so that a trace tells what each of them moves.
//
//   shardlab run -d 8 --trace T.db -- document_programs [CASES…]
//
// jax_side.py has the same cases; compare.py runs both. Prints the names of the cases that ran.
#include <shardlab/shardlab.h>

#include <iostream>
#include <set>

using namespace shardlab;

namespace {

struct Layer {
  Array W, b;
};
SHARDLAB_TREE(Layer, W, b)
using Params = std::vector<Layer>;
struct Batch {
  Array inputs, targets;
};
SHARDLAB_TREE(Batch, inputs, targets)

std::set<std::string> g_only;

template <typename F, typename... Args>
void run(const std::string& name, const F& f, JitOptions options, const Args&... args) {
  if (!g_only.empty() && g_only.count(name) == 0) return;
  options.name = name;
  auto result = jit(f, options)(args...);
  for (const Array& leaf : tree::leaves(result)) leaf.block_until_ready();
  std::cout << name << '\n';
}

// Arrays made without a collective: filled on one device, then placed.
Array values(const Shape& shape, const Sharding& sharding, DType dtype = float32) { return device_put(ones(shape, dtype), sharding); }

// "Distributed arrays and automatic parallelization": computations follow shardings.
void computations_follow_data() {
  auto mesh = make_mesh({4, 2}, {"a", "b"});
  auto on = [&](const P& spec) { return NamedSharding(mesh, spec); };
  const Shape square = {1024, 1024};
  auto x = values(square, on(P("a", "b")));
  run(
      "sin_4x2", [](const Array& a) { return sin(a); }, {}, x);
  run(
      "dot_of_rows_and_columns", [](const Array& a, const Array& b) { return dot(a, b); }, {}, values(square, on(P("a", None))),
      values(square, on(P(None, "b"))));

  // Constraints on intermediates: reshapes of one positional sharding share a mesh of prime factors.
  auto halves = make_mesh({2, 2, 2}, {"p", "q", "r"});
  auto f = [&](const P& spec) { return [=](const Array& a) { return with_sharding_constraint(a + 1, NamedSharding(halves, spec)); }; };
  auto by_4x2 = values(square, NamedSharding(halves, P({"p", "q"}, "r")));
  run("constraint_4x2_to_2x4", f(P("p", {"q", "r"})), {}, by_4x2);
  run("constraint_4x2_to_replicated", f(P()), {}, by_4x2);
}

// The document's device_puts, one after the other, as programs.
void reshards() {
  auto mesh = make_mesh({4, 2}, {"a", "b"});
  struct Step {
    const char* name;
    P from, to;
  };
  const P ab("a", "b"), ba("b", "a"), rows("a", None), columns_b(None, "b"), columns_a(None, "a"), all_rows({"a", "b"}, None),
      all_columns(None, {"a", "b"}), whole;
  for (const Step& step : {Step{"reshard_ab_to_ba", ab, ba},
                           {"reshard_ba_to_rows", ba, rows},
                           {"reshard_rows_to_columns_b", rows, columns_b},
                           {"reshard_columns_b_to_columns_a", columns_b, columns_a},
                           {"reshard_columns_a_to_all_rows", columns_a, all_rows},
                           {"reshard_all_rows_to_ab", all_rows, ab},
                           {"reshard_ab_to_all_columns", ab, all_columns},
                           {"reshard_all_columns_to_all_rows", all_columns, all_rows},
                           {"reshard_all_columns_to_columns_b", all_columns, columns_b},
                           {"reshard_ab_to_replicated", ab, whole}}) {
    const Sharding to = NamedSharding(mesh, step.to);
    run(
        step.name, [](const Array& a) { return a * 2; }, {.out_shardings = {to}}, values({1024, 1024}, NamedSharding(mesh, step.from)));
  }
}

Array loss(const Params& params, const Batch& batch) {
  Array inputs = batch.inputs, outputs;
  for (const auto& [W, b] : params) {
    outputs = dot(inputs, W) + b;
    inputs = maximum(outputs, 0);
  }
  return mean(sum(power(outputs - batch.targets, 2), -1));
}

// The network at an eighth of its widths: 784-1024-1024-1024-10, and its batch.
void networks() {
  auto mesh = make_mesh({4, 2}, {"data", "model"});
  const Shape sizes = {784, 1024, 1024, 1024, 10};
  auto programs = [&](const std::string& how, const std::vector<P>& Ws, const std::vector<P>& bs, const P& batch_spec) {
    Params params;
    for (std::size_t i = 0; i < Ws.size(); ++i)
      params.push_back({values({sizes[i], sizes[i + 1]}, NamedSharding(mesh, Ws[i])), values({sizes[i + 1]}, NamedSharding(mesh, bs[i]))});
    const Sharding cut = NamedSharding(mesh, batch_spec);
    Batch batch{values({1024, sizes.front()}, cut), values({1024, sizes.back()}, cut)};
    run("mlp_loss_" + how, loss, {}, params, batch);
    run("mlp_gradient_" + how, grad(loss), {}, params, batch);
    run(
        "mlp_step_" + how,
        [](const Params& p, const Batch& data) {
          auto [value, gradients] = value_and_grad(loss)(p, data);
          return std::tuple(value, tree::map([](const Array& w, const Array& dw) { return w - 1e-5 * dw; }, p, gradients));
        },
        {}, params, batch);
  };
  const P whole;
  programs("dp", {whole, whole, whole, whole}, {whole, whole, whole, whole}, P({"data", "model"}, None));
  programs("dp_tp", {whole, P(None, "model"), P("model", None), whole}, {whole, P("model"), whole, whole}, P("data"));
}

// A function of one array that always runs on tiles cut by `spec`.
auto fft_partitioner(std::function<Array(const Array&)> fft_func, const PartitionSpec& spec) {
  auto partition = [=](const Mesh&, const std::vector<ShardedType>& args, const std::vector<ShardedType>&) {
    Sharding wanted(args[0].sharding.mesh(), spec);
    return PartitionedFunction{[=](const std::vector<Array>& tiles) { return std::vector<Array>{fft_func(tiles[0])}; }, {wanted}, {wanted}};
  };
  return custom_partitioning(fft_func, {.sharding_rule = "i j k -> i j k", .partition = partition});
}

auto along(std::int64_t axis) {
  return [=](const Array& x) { return fft::fft(x, {.axis = axis}); };
}

// "Distributed computing": grids, means, rolls, and the Fourier transform in slabs and in pencils.
void grids_and_transforms() {
  auto mesh = make_mesh({8}, {"gpus"});
  const Sharding columns = NamedSharding(mesh, P(None, "gpus"));
  auto xx = values({64, 64}, columns);
  run(
      "mean_0", [](const Array& x) { return mean(x, 0); }, {}, xx);
  run(
      "mean_1", [](const Array& x) { return mean(x, 1); }, {}, xx);
  run(
      "roll_flat",
      [](const Array& x) {
        return roll(x, {0, 1}, AxisList::all());
      },
      {.in_shardings = {columns}, .out_shardings = {columns}}, xx);
  run(
      "roll_along_the_cut", [](const Array& x) { return roll(x, 1, 1); }, {.in_shardings = {columns}, .out_shardings = {columns}}, xx);
  run(
      "meshgrid",
      [](const Array& x) {
        auto both = meshgrid({x, x}, {.indexing = "ij"});
        return std::tuple(both[0], both[1]);
      },
      {.out_shardings = {columns, columns}}, values({64}, NamedSharding(mesh, P())));

  auto cube = values({64, 64, 64}, columns, complex64);
  auto fft_XY = fft_partitioner([](const Array& x) { return fft::fftn(x, {.axes = {0, 1}}); }, P(None, None, "gpus"));
  auto fft_Z = fft_partitioner(along(2), P(None, "gpus"));
  auto ifft_XY = fft_partitioner([](const Array& x) { return fft::ifftn(x, {.axes = {0, 1}}); }, P(None, None, "gpus"));
  auto ifft_Z = fft_partitioner([](const Array& x) { return fft::ifft(x, {.axis = 2}); }, P(None, "gpus"));
  const JitOptions in_place{.in_shardings = {columns}, .out_shardings = {columns}};
  run(
      "fft3_slab", [=](const Array& x) { return fft_XY(fft_Z(x)); }, in_place, cube);
  run(
      "ifft3_slab", [=](const Array& x) { return ifft_Z(ifft_XY(x)); }, in_place, cube);
  run(
      "fft3_plain", [](const Array& x) { return fft::fftn(x); }, in_place, cube);

  auto grid = make_mesh({4, 2}, {"x", "y"});
  const Sharding pencils = NamedSharding(grid, P("x", "y")), turned = NamedSharding(grid, P(None, "x", "y"));
  auto pencil_Z = fft_partitioner(along(2), P("x", "y")), pencil_Y = fft_partitioner(along(1), P("x", None, "y")),
       pencil_X = fft_partitioner(along(0), P(None, "x", "y"));
  run(
      "fft3_pencil", [=](const Array& x) { return pencil_X(pencil_Y(pencil_Z(x))); },
      {.in_shardings = {pencils}, .out_shardings = {turned}}, values({64, 64, 64}, pencils, complex64));
}

// "Multi-controller": the toy program, a product with its sum over devices, a result on all devices, half of the devices.
void many_controllers() {
  auto mesh = make_mesh({4, 2}, {"i", "j"});
  auto sum_sin = [](const Array& x) { return sum(sin(x)); };
  run("toy_sum_sin", sum_sin, {}, values({4, 8}, NamedSharding(mesh, P("i", "j"))));
  auto x = values({1024, 512}, NamedSharding(mesh, P("i", "j"))), y = values({512, 1024}, NamedSharding(mesh, P("j", None)));
  run(
      "relu_of_product", [](const Array& a, const Array& b) { return relu(matmul(a, b)); }, {}, x, y);
  run(
      "product_replicated", [](const Array& a, const Array& b) { return relu(matmul(a, b)); },
      {.out_shardings = {NamedSharding(mesh, P())}}, x, y);
  auto all = devices();
  auto half = make_mesh({4}, {"a"}, std::vector<Device>(all.begin() + 4, all.end()));
  run("half_sum_sin", sum_sin, {}, values({8, 8}, NamedSharding(half, P("a"))));
}

// Numbers drawn where they are used, with both orders of counting.
void random_numbers() {
  auto mesh = make_mesh({8}, {"d"});
  auto f = [](const Array& key, const Array& x) { return x + random::uniform(key, x.shape()); };
  for (bool is_partitionable : {true, false}) {
    config::update("jax_threefry_partitionable", is_partitionable);
    for (std::int64_t size : {24, 64})
      run(std::string(is_partitionable ? "uniform_partitionable_" : "uniform_stable_") + std::to_string(size), f, {}, random::key(42),
          values({size}, NamedSharding(mesh, P("d"))));
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) g_only.insert(argv[i]);
  distributed::initialize();
  if (device_count() != 8) throw_user_error("the cases are for 8 devices, got {}; set SHARDLAB_NUM_CPU_DEVICES=8", device_count());
  computations_follow_data();
  reshards();
  networks();
  grids_and_transforms();
  many_controllers();
  random_numbers();
}
