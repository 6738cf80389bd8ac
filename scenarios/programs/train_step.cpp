// Data-parallel training of a linear layer, its gradient written out: every step prints the loss to the last bit. In the end every
// process says what it has sent to each other one.
//   train_step [host:port PROCESS PROCESSES] [STEPS [WIDTH]]     5 steps of a layer of 32 x 16 on 240 rows, or WIDTH x WIDTH on 4 WIDTH
//   rows
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <string>

#include "guide.h"
using namespace shardlab;

int main(int argc, char** argv) {
  int first = argc >= 4 ? 4 : 1;  // of the arguments that are not of the job
  join(first, argv);
  int steps = argc > first ? std::atoi(argv[first]) : 5, width = argc > first + 1 ? std::atoi(argv[first + 1]) : 0;

  const int batch = width > 0 ? 4 * width : 240, in = width > 0 ? width : 32, out = width > 0 ? width : 16;
  auto mesh = make_mesh({device_count()}, {"batch"});
  auto rows = NamedSharding(mesh, P("batch")), everywhere = NamedSharding(mesh, P());
  auto x = device_put(sin(arange(batch * in).reshape({batch, in})), rows);
  auto y = device_put(cos(arange(batch * out).reshape({batch, out})), rows);
  auto w = device_put(zeros({in, out}), everywhere);

  auto step = jit([batch, out](const Array& weights, const Array& inputs, const Array& targets) {
    auto error = matmul(inputs, weights) - targets;
    auto gradient = matmul(transpose(inputs), error) * (2.0 / (batch * out));
    return std::tuple(weights - gradient * 0.1, mean(error * error));
  });
  for (int i = 0; i < steps; ++i) {
    Array loss;
    std::tie(w, loss) = step(w, x, y);
    std::cout << fmt::format("process {} step {} loss {:a}\n", process_index(), i, loss.item<float>()) << std::flush;
  }
  for (const distributed::LinkTraffic& link : distributed::link_traffic())
    std::cout << fmt::format("process {} to {} {} planned {} sent {} in {}\n", process_index(), link.process,
                             link.same_host ? "here" : "elsewhere", link.planned_bytes, link.sent_bytes, link.messages);
}
