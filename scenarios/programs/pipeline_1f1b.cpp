// A training pipeline in the order 1F1B (Narayanan et al., 2021): every process is a stage of one layer, twelve microbatches of 512 x 512
// go forward and backward through all stages, and a stage that is warm does one backward for each forward. So it keeps the inputs of as
// many microbatches as stages follow it, not of all. The gradients are those of the same network without stages.
// A process on its own deals its devices to the stages it is told: they work at the same time there, too.
//   pipeline_1f1b [host:port PROCESS PROCESSES]
//   pipeline_1f1b STAGES
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <vector>

#include "guide.h"
using namespace shardlab;

namespace {

constexpr int kMicrobatches = 12, kSize = 512;

struct Work {
  int stage = 0, microbatch = 0;
  bool forward = true;
};

// What each stage does, in its order: enough forwards to fill the stages behind it, then one backward for each forward, then the rest.
std::vector<Work> order_of(int stage, int stages) {
  int ahead = std::min(stages - 1 - stage, kMicrobatches);
  std::vector<Work> order;
  for (int m = 0; m < ahead; ++m) order.push_back({stage, m, true});
  for (int m = 0; m < kMicrobatches; ++m) {
    if (m + ahead < kMicrobatches) order.push_back({stage, m + ahead, true});
    order.push_back({stage, m, false});
  }
  return order;
}

// The work of all stages by ticks: of one tick all stages work at the same time, on what was handed over before it.
std::vector<std::vector<Work>> ticks_of(int stages) {
  std::vector<std::vector<Work>> orders, ticks;
  for (int s = 0; s < stages; ++s) orders.push_back(order_of(s, stages));
  std::vector<std::size_t> at(orders.size(), 0);
  std::vector<int> forwards(orders.size(), 0), backwards(orders.size(), 0);  // done before this tick
  auto is_ready = [&](const Work& work) {
    auto s = std::size_t(work.stage);
    if (work.forward) return work.stage == 0 || forwards[s - 1] > work.microbatch;
    return work.stage == stages - 1 ? forwards[s] > work.microbatch : backwards[s + 1] > work.microbatch;
  };
  while (std::any_of(orders.begin(), orders.end(), [&](const auto& order) { return at[std::size_t(order[0].stage)] < order.size(); })) {
    std::vector<Work> tick;
    for (std::size_t s = 0; s < orders.size(); ++s)
      if (at[s] < orders[s].size() && is_ready(orders[s][at[s]])) tick.push_back(orders[s][at[s]++]);
    for (const Work& work : tick) ++(work.forward ? forwards : backwards)[std::size_t(work.stage)];
    ticks.push_back(std::move(tick));
  }
  return ticks;
}

Array layer(const Array& weights, const Array& x) { return tanh(matmul(x, weights)); }

Array loss_of(const Array& y, const Array& target) {
  auto error = y - target;
  return mean(error * error) / kMicrobatches;
}

// Random, so that gradients hang on rounding by no more than its size (of rows of a sine by 1000 times that): devices that sum in other
// orders agree, too.
Array random_square(int seed) { return random::normal(random::key(std::uint64_t(seed)), {kSize, kSize}); }
Array input(int microbatch) { return random_square(100 + microbatch); }
Array target(int microbatch) { return random_square(200 + microbatch); }
Array initial_weights(int stage) { return random_square(stage) * 0.04; }

// The greatest difference from `wanted`, as a part of its greatest element.
double difference(const Array& got, const Array& wanted) {
  auto largest = [](const Array& x) { return double(max(abs(x)).item<float>()); };
  return largest(got - wanted) / largest(wanted);
}

}  // namespace

int main(int argc, char** argv) {
  join(argc, argv);
  const bool is_alone = argc == 2;
  const int stages = is_alone ? std::atoi(argv[1]) : process_count();
  std::vector<Device> all = devices();
  require(stages > 0 && int(all.size()) % stages == 0 && (!is_alone || process_count() == 1), "each stage has as many devices");
  auto stage_of = [&](const Device& device) { return is_alone ? device.ordinal / (int(all.size()) / stages) : device.process_index; };
  auto is_own = [&](int stage) { return is_alone || stage == process_index(); };
  std::vector<Mesh> mesh;
  for (int s = 0; s < stages; ++s) {
    std::vector<Device> of_stage;
    std::copy_if(all.begin(), all.end(), std::back_inserter(of_stage), [&](const Device& device) { return stage_of(device) == s; });
    mesh.push_back(make_mesh({std::int64_t(of_stage.size())}, {"batch"}, of_stage));
  }
  auto rows = [&](int stage) { return NamedSharding(mesh[std::size_t(stage)], P("batch")); };
  auto everywhere = [&](int stage) { return NamedSharding(mesh[std::size_t(stage)], P()); };

  auto forward = jit(layer, {.name = "forward"});
  auto loss_forward = jit([](const Array& w, const Array& x, const Array& t) { return loss_of(layer(w, x), t); }, {.name = "loss_forward"});
  auto backward = jit(
      [](const Array& w, const Array& x, const Array& cotangent) {
        auto [y, pull] = vjp([](const Array& weights, const Array& in) { return layer(weights, in); }, w, x);
        return pull(cotangent);
      },
      {.name = "backward"});
  auto loss_backward = jit(
      [](const Array& w, const Array& x, const Array& t) {
        return grad<0, 1>([](const Array& weights, const Array& in, const Array& wanted) { return loss_of(layer(weights, in), wanted); })(
            w, x, t);
      },
      {.name = "loss_backward"});
  auto accumulate = jit([](const Array& sum, const Array& more) { return sum + more; }, {.name = "accumulate"});

  const auto count = std::size_t(stages);
  std::vector<Array> weights, gradients(count);
  for (int s = 0; s < stages; ++s) weights.push_back(device_put(initial_weights(s), everywhere(s)));
  std::vector<std::map<int, Array>> inputs(count), cotangents(count);  // by microbatch
  Array loss;
  std::vector<std::size_t> kept(count);
  // Each tick first issues the work of all stages and then what they hand over. No call waits: every process works on its own part.
  for (const std::vector<Work>& tick : ticks_of(stages)) {
    std::vector<std::pair<Work, Array>> results;
    for (const Work& work : tick) {
      auto s = std::size_t(work.stage);
      int m = work.microbatch;
      bool last = work.stage == stages - 1;
      if (work.forward) {
        if (work.stage == 0) inputs[s][m] = device_put(input(m), rows(0));
        if (!last) results.emplace_back(work, forward(weights[s], inputs[s].at(m)));
        kept[s] = std::max(kept[s], inputs[s].size());
        if (!last) continue;
        Array part = loss_forward(weights[s], inputs[s].at(m), device_put(target(m), rows(work.stage)));
        loss = m == 0 ? part : accumulate(loss, part);
        continue;
      }
      auto [of_weights, of_input] = last ? loss_backward(weights[s], inputs[s].at(m), device_put(target(m), rows(work.stage)))
                                         : backward(weights[s], inputs[s].at(m), cotangents[s].at(m));
      inputs[s].erase(m);
      cotangents[s].erase(m);
      gradients[s] = m == 0 ? of_weights : accumulate(gradients[s], of_weights);
      if (work.stage > 0) results.emplace_back(work, of_input);
    }
    for (const auto& [work, value] : results) {
      int to = work.forward ? work.stage + 1 : work.stage - 1;
      (work.forward ? inputs : cotangents)[std::size_t(to)][work.microbatch] = device_put(value, rows(to));
    }
  }

  // The same without stages, over all devices, which share each microbatch's rows.
  auto whole_mesh = make_mesh({device_count()}, {"batch"});
  auto network = [](const std::vector<Array>& w, const Array& x, const Array& t) {
    Array y = x;
    for (const Array& each : w) y = layer(each, y);
    return loss_of(y, t);
  };
  auto value_and_gradients =
      jit([=](const std::vector<Array>& w, const Array& x, const Array& t) { return value_and_grad(network)(w, x, t); },
          {.name = "without_stages"});
  std::vector<Array> all_weights, wanted;
  for (int s = 0; s < stages; ++s) all_weights.push_back(device_put(initial_weights(s), NamedSharding(whole_mesh, P())));
  double wanted_loss = 0;
  for (int m = 0; m < kMicrobatches; ++m) {
    auto [value, found] = value_and_gradients(all_weights, device_put(input(m), NamedSharding(whole_mesh, P("batch"))),
                                              device_put(target(m), NamedSharding(whole_mesh, P("batch"))));
    wanted_loss += double(value.item<float>());
    for (int s = 0; s < stages; ++s) {
      if (m == 0)
        wanted.push_back(found[std::size_t(s)]);
      else
        wanted[std::size_t(s)] = wanted[std::size_t(s)] + found[std::size_t(s)];
    }
  }
  for (int s = 0; s < stages; ++s) {
    // All take part in bringing the gradient to its stage, which looks at it.
    Array here = device_put(wanted[std::size_t(s)], everywhere(s));
    if (!is_own(s)) continue;
    const double differs = difference(gradients[std::size_t(s)], here);
    require(differs < 1e-5, fmt::format("a stage's gradient is the network's; of stage {} it differs by {:.2g}", s, differs).c_str());
  }
  if (is_own(stages - 1)) require(std::abs(double(loss.item<float>()) / wanted_loss - 1) < 1e-5, "the loss is the network's");
  for (int s = 0; s < stages; ++s) {
    if (!is_own(s)) continue;
    const std::size_t most = kept[std::size_t(s)];
    require(most <= std::size_t(stages - s + 1), "a stage keeps the microbatches on their way behind it, and one that waits for it");
    std::cout << "stage " << s << " of " << stages << " kept " << most << " of " << kMicrobatches << " microbatches\n";
  }
}
