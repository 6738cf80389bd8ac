// The network of "Distributed arrays and automatic parallelization", trained for 30 steps with 8-way data parallelism and for 30 more
// with 4-way data and 2-way tensor parallelism; computation follows the shardings of parameters and batch.
//
//   SHARDLAB_NUM_CPU_DEVICES=8 network [--batch N] [--step-size X] [--steps N] [LAYER SIZES…]
//
// Small by default. The document's own: network --batch 8192 --step-size 1e-5 784 8192 8192 8192 10. It was written when random numbers
// were drawn in the order of SHARDLAB_THREEFRY_PARTITIONABLE=0.
#include <shardlab/shardlab.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>
using namespace shardlab;

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

Array loss(const Params& params, const Batch& batch) {
  const auto& [inputs, targets] = batch;
  auto predictions = predict(params, inputs);
  return mean(sum(power(predictions - targets, 2), -1));
}

Layer init_layer(const Array& key, std::int64_t n_in, std::int64_t n_out) {
  auto keys = random::split(key);
  auto W = random::normal(keys[0], {n_in, n_out}) / sqrt(array<float>({float(n_in)}).reshape({}));
  auto b = random::normal(keys[1], {n_out});
  return {W, b};
}

std::tuple<Params, Batch> init_model(Array key, const Shape& layer_sizes, std::int64_t batch_size) {
  auto keys = random::split(key, std::int64_t(layer_sizes.size()));
  Params params;
  for (std::size_t i = 0; i + 1 < layer_sizes.size(); ++i) params.push_back(init_layer(keys[i + 1], layer_sizes[i], layer_sizes[i + 1]));
  keys = random::split(keys[0], 3);
  auto inputs = random::normal(keys[1], {batch_size, layer_sizes.front()});
  auto targets = random::normal(keys[2], {batch_size, layer_sizes.back()});
  return {params, {inputs, targets}};
}

int main(int argc, char** argv) {
  distributed::initialize();
  Shape layer_sizes;
  std::int64_t batch_size = 64;
  double step_size = 1e-3;
  int steps = 30;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "--batch" && i + 1 < argc)
      batch_size = std::atoll(argv[++i]);
    else if (word == "--step-size" && i + 1 < argc)
      step_size = std::atof(argv[++i]);
    else if (word == "--steps" && i + 1 < argc)
      steps = std::atoi(argv[++i]);
    else
      layer_sizes.push_back(std::atoll(argv[i]));
  }
  if (layer_sizes.empty()) layer_sizes = {12, 32, 32, 32, 10};

  auto loss_jit = jit(loss);
  auto gradfun = jit(grad(loss));
  auto put = [](const Sharding& sharding) { return [=](const Array& x) { return device_put(x, sharding); }; };
  auto [params, batch] = init_model(random::key(0), layer_sizes, batch_size);

  auto train = [&](const char* how) {
    std::cout << how << ": " << loss_jit(params, batch) << std::flush;
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i)
      params = tree::map([&](const Array& x, const Array& dx) { return x - step_size * dx; }, params, gradfun(params, batch));
    std::cout << " -> " << loss_jit(params, batch) << '\n';
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::cerr << how << ": " << seconds / std::max(steps, 1) << " s a step\n";
  };

  // 8-way batch data parallelism.
  auto sharding = PositionalSharding(devices()).reshape(8, 1);
  batch = tree::map(put(sharding), batch);
  params = tree::map(put(sharding.replicate()), params);
  train("8-way data parallel");

  // 4-way batch data parallelism and 2-way model tensor parallelism.
  sharding = sharding.reshape(4, 2);
  batch = tree::map(put(sharding.replicate(1)), batch);
  visualize_array_sharding(batch.inputs);
  visualize_array_sharding(batch.targets);
  params = tree::map(put(sharding.replicate()), params);
  params[1] = tree::map(put(sharding.replicate(0)), params[1]);
  params[2].W = device_put(params[2].W, sharding.replicate(0).T());
  visualize_array_sharding(params[1].W);
  visualize_array_sharding(params[2].W);
  train("4-way data, 2-way tensor parallel");
  visualize_array_sharding(params[1].W);
  visualize_array_sharding(params[2].W);
}
