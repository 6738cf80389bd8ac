// The examples of docs/from-jax.md, one function each; every one checks what it says. Runs on any number of processes that share 8 devices.
#include <iostream>

#include "guide.h"
using namespace shardlab;

namespace {

void arrays() {
  auto mesh = make_mesh({4, 2}, {"x", "y"});
  auto a = device_put(arange(32.0).reshape({8, 4}), NamedSharding(mesh, P("x", "y")));
  auto b = sin(a) + 1.0;                    // follows a's sharding
  auto c = device_put(b, P(nullptr, "x"));  // another one, on the same mesh
  float total = sum(c).item<float>();       // every process gets the value
  std::string type = typeof_text(b);        // float32[8@x,4@y]: JAX shows Explicit axes alone
  require(total > 0 && type == "float32[8@x,4@y]", "arrays");
  for (const auto& shard : a.addressable_shards()) require(shard.type.shape == Shape{2, 2}, "a shard's shape");
}

void indexing() {
  auto mesh = make_mesh({4, 2}, {"x", "y"});
  auto a = device_put(arange(32.0).reshape({8, 4}), NamedSharding(mesh, P("x", "y")));
  auto rows = array<std::int32_t>({0, 5, 7}), columns = array<std::int32_t>({3, 0, -1});
  auto picked = a[{rows, columns}];               // a[rows, columns]: 3, 20, 31
  auto window = a[{Slice{1, 5}, ellipsis, 0}];    // a[1:5, ..., 0]
  auto changed = a.at({rows, columns}).add(1.0);  // a new array
  require(sum(picked).item<float>() == 54 && window.shape() == Shape{4} && sum(changed - a).item<float>() == 3, "indexing");
}

void compiled() {
  auto mesh = make_mesh({4, 2}, {"x", "y"});
  auto x = device_put(ones({8, 8}), NamedSharding(mesh, P("x", "y")));
  auto f = jit([](const Array& y, int power) { return with_sharding_constraint(y, P("x")) * double(power); },
               {.out_shardings = {NamedSharding(mesh, P("y"))}});
  auto y = f(x, 3);                                      // numbers and strings among the arguments are static
  std::string plan = f.lower(x, 3).compile().as_text();  // with its collectives
  std::string why = f.explain(x, 3);                     // who asked for each of them
  require(sum(y).item<float>() == 192 && plan.find("all-gather") != plan.npos && !why.empty(), "compiled");
}

struct Layer {
  Array W, b;
};
SHARDLAB_TREE(Layer, W, b)

void derivatives() {
  auto mesh = make_mesh({8}, {"batch"});
  auto key = random::key(0);
  auto keys = random::split(key);
  Layer layer{random::normal(keys[0], {16, 4}), zeros({4})};
  auto x = device_put(random::normal(keys[1], {64, 16}), NamedSharding(mesh, P("batch")));
  auto loss = [](const Layer& p, const Array& batch) { return mean(square(tanh(dot(batch, p.W) + p.b))); };
  auto [value, gradients] = jit(value_and_grad(loss))(layer, x);
  layer = tree::map([](const Array& p, const Array& g) { return p - 0.1 * g; }, layer, gradients);
  auto per_example = vmap([](const Array& row) { return sum(row * row); })(x);
  require(jit(loss)(layer, x).item<float>() < value.item<float>() && per_example.shape() == Shape{64}, "derivatives");
}

void per_device() {
  auto mesh = make_mesh({4, 2}, {"x", "y"});
  auto f = shard_map([](const Array& part) { return psum(part, "x"); },
                     {.mesh = mesh, .in_specs = {P("x", "y")}, .out_specs = {P(nullptr, "y")}});
  auto total = f(ones({8, 4}));
  require(total.shape() == Shape{2, 4} && sum(total).item<float>() == 32, "per device");
}

void loops() {
  auto halvings =
      while_loop([](const Array& x) { return x > 1.0; }, [](const Array& x) { return x / 2.0; }, array<float>({64.0f}).reshape({}));
  auto [last, sums] = scan(
      [](const Array& carry, const Array& x) {
        return std::tuple{carry + x, carry + x};
      },
      array<float>({0.0f}).reshape({}), arange(5.0));
  auto chosen = cond(
      last > 5.0, [](const Array& x) { return x * 2.0; }, [](const Array& x) { return -x; }, sums);
  require(halvings.item<float>() == 1 && sum(chosen).item<float>() == 40, "loops");
}

void processes() {
  auto mesh = make_mesh({8}, {"batch"});
  auto by_batch = NamedSharding(mesh, P("batch"));
  const std::int64_t mine = 64 / process_count();
  auto batch = make_array_from_process_local_data(by_batch, ones({mine, 3}) * double(process_index() + 1));
  auto same = multihost_utils::broadcast_one_to_all(ones({4}) * double(process_index() + 7));
  auto all = multihost_utils::process_allgather(ones({2}) * double(process_index()));
  multihost_utils::sync_global_devices("all are here");
  require(batch.shape() == Shape{64, 3} && sum(same).item<float>() == 28, "processes");
  require(all.shape()[0] == process_count(), "process_allgather");
}

}  // namespace

int main(int argc, char** argv) {
  join(argc, argv);
  arrays();
  indexing();
  compiled();
  derivatives();
  per_device();
  loops();
  processes();
  if (process_index() == 0) std::cout << "as in docs/from-jax.md\n";
}
