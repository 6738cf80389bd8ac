// Data-parallel training of a linear layer, its gradient written out: every step prints the loss to the last bit.
//   train_step [host:port PROCESS PROCESSES] [STEPS]     STEPS is the last argument, 5 where there is none
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "guide.h"
using namespace shardlab;

int main(int argc, char** argv) {
  bool by_hand = argc >= 4, given = argc == 5 || argc == 2;
  join(by_hand ? 4 : 1, argv);
  int steps = given ? std::atoi(argv[argc - 1]) : 5;

  constexpr int kBatch = 240, kIn = 32, kOut = 16;
  auto mesh = make_mesh({device_count()}, {"batch"});
  auto rows = NamedSharding(mesh, P("batch")), everywhere = NamedSharding(mesh, P());
  auto x = device_put(sin(arange(kBatch * kIn).reshape({kBatch, kIn})), rows);
  auto y = device_put(cos(arange(kBatch * kOut).reshape({kBatch, kOut})), rows);
  auto w = device_put(zeros({kIn, kOut}), everywhere);

  auto step = jit([](const Array& weights, const Array& inputs, const Array& targets) {
    auto error = matmul(inputs, weights) - targets;
    auto gradient = matmul(transpose(inputs), error) * (2.0 / (kBatch * kOut));
    return std::tuple(weights - gradient * 0.1, mean(error * error));
  });
  for (int i = 0; i < steps; ++i) {
    Array loss;
    std::tie(w, loss) = step(w, x, y);
    std::cout << fmt::format("process {} step {} loss {:a}\n", process_index(), i, loss.item<float>()) << std::flush;
  }
}
