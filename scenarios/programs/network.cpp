// A small network trained for 30 steps on one device, with data parallelism over 8, and with data and tensor parallelism over 4 x 2.
//
// After "Distributed arrays and automatic parallelization"; computation follows the shardings of parameters and batch. The layers are
// small unless their sizes are given: network 784 8192 8192 8192 10.
#include <shardlab/shardlab.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
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

Array loss(const Params& params, const Batch& batch) { return mean(sum(power(predict(params, batch.inputs) - batch.targets, 2), -1)); }

// Numbers between -1 and 1 that are the same on every machine.
Array numbers(Shape shape, double phase) { return sin(arange(element_count(shape), float32) * 0.37 + phase).reshape(shape); }

int main(int argc, char** argv) {
  distributed::initialize();
  std::vector<std::int64_t> sizes = {12, 32, 32, 32, 10};
  if (argc > 1) sizes.clear();
  for (int i = 1; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  const std::int64_t batch_size = 64;

  Params params;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
    params.push_back(
        {numbers({sizes[i], sizes[i + 1]}, double(i)) / std::sqrt(double(sizes[i])), numbers({sizes[i + 1]}, double(i) + 0.5)});
  Batch batch{numbers({batch_size, sizes.front()}, 0.25), numbers({batch_size, sizes.back()}, 0.75)};

  auto loss_jit = jit(loss);
  auto gradfun = jit(grad(loss));
  auto train = [&](const char* how, Params p, const Batch& data) {
    std::cout << how << ": " << loss_jit(p, data);
    for (int step = 0; step < 30; ++step)
      p = tree::map([](const Array& x, const Array& gradient) { return x - 1e-2 * gradient; }, p, gradfun(p, data));
    std::cout << " -> " << loss_jit(p, data) << '\n';
    return p;
  };
  auto put = [](const Sharding& sharding) { return [=](const Array& x) { return device_put(x, sharding); }; };

  train("one device", params, batch);

  auto sharding = PositionalSharding(devices()).reshape(8, 1);
  train("8-way data parallel", tree::map(put(sharding.replicate()), params), tree::map(put(sharding), batch));

  sharding = sharding.reshape(4, 2);
  batch = tree::map(put(sharding.replicate(1)), batch);
  visualize_array_sharding(batch.inputs);
  visualize_array_sharding(batch.targets);
  Params split = tree::map(put(sharding.replicate()), params);
  split[1] = tree::map(put(sharding.replicate(0)), params[1]);
  split[2].W = device_put(params[2].W, sharding.replicate(0).T());
  visualize_array_sharding(split[1].W);
  visualize_array_sharding(split[2].W);
  split = train("4-way data, 2-way tensor parallel", split, batch);
  visualize_array_sharding(split[1].W);
  visualize_array_sharding(split[2].W);
}
