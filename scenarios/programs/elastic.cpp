// Training that outlives its processes: whoever lives goes on, and who was started again takes part from the next step on.
//   elastic STEPS [SEED [VICTIM [all]]]
// With a SEED each process (or the VICTIM alone) kills itself once; who is started again does not. With "all" the others then try to use
// all devices, the dead ones too.
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

#include <shardlab/shardlab.h>
using namespace shardlab;

namespace {

// Kills this process: with an odd seed at a place of the program, with an even one at a time, wherever it is then.
class Fate {
 public:
  Fate(const char* seed, int process) : random_(seed ? unsigned(std::atoi(seed)) * 1000u + unsigned(process) : 0u) {
    if (!seed || std::getenv("SHARDLAB_RESTARTS") != nullptr) return;
    if (std::atoi(seed) % 2)
      left_ = int(random_() % 15);
    else
      std::thread([ms = random_() % 120] {
        std::this_thread::sleep_for(std::chrono::milliseconds(ms));
        std::raise(SIGKILL);
      }).detach();
  }
  void strike() {
    if (left_ >= 0 && left_-- == 0) std::raise(SIGKILL);
  }

 private:
  std::mt19937 random_;
  int left_ = -1;
};

}  // namespace

int main(int argc, char** argv) {
  int steps = argc > 1 ? std::atoi(argv[1]) : 5;
  distributed::initialize({.enable_recoverability = true});
  bool mortal = argc > 2 && (argc < 4 || std::atoi(argv[3]) == process_index()), careless = argc > 4;
  Fate fate(mortal ? argv[2] : nullptr, process_index());
  int step = 0;
  while (step < steps) {
    try {
      int next = step;
      bool is_missed = false;
      live_devices(devices(), [&](const std::vector<Device>& live) {
        fate.strike();
        std::vector<int> ordinals;
        for (const Device& device : live) ordinals.push_back(device.ordinal);
        Mesh mesh({std::int64_t(ordinals.size())}, {"batch"}, ordinals);
        auto rows = NamedSharding(mesh, P("batch"));
        // Who was started again does not know how far the others are.
        auto mine = make_array_from_callback({std::int64_t(ordinals.size())}, rows, [&](const Box&) { return full({1}, step); });
        int common = max(mine).item<int>();
        fate.strike();
        auto x = device_put(arange(std::int64_t(ordinals.size()) * 4), rows);
        float total = sum(x * float(common + 1)).item<float>();
        fate.strike();
        next = common + 1;
        is_missed = ordinals.size() < devices().size();
        std::cout << fmt::format("process {} step {} devices {} total {}\n", process_index(), common, ordinals.size(), total) << std::flush;
      });
      step = next;
      // As a step of a real training takes its time, so that who is started again finds the others at work.
      if (is_missed) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    } catch (const ProcessFailureError& error) {
      std::cout << fmt::format("process {} failed: {}\n", process_index(), error.what()) << std::flush;
      if (careless) break;
    }
  }
  if (!careless || step == steps) return 0;
  try {
    live_devices(devices(), [](const std::vector<Device>&) {
      auto everywhere = make_mesh({device_count()}, {"batch"});
      std::cout << sum(device_put(arange(64), NamedSharding(everywhere, P("batch")))).item<int>() << std::endl;
    });
  } catch (const ProcessFailureError& error) {
    std::cout << fmt::format("process {} used them all: {}\n", process_index(), error.what()) << std::flush;
  }
}
