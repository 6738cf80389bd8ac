// The first process is 0.4 s later than the others at a call: because it traces and plans it longer, or, with "work", because it works.
#include <shardlab/shardlab.h>

#include <chrono>
#include <string_view>
#include <thread>

using namespace shardlab;

int main(int argc, char** argv) {
  distributed::initialize();
  const bool works = argc > 1 && std::string_view(argv[1]) == "work";
  auto be_late = [](bool now) {
    if (now && process_index() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(400));
  };
  auto step = jit([&](const Array& x) {
    be_late(!works);
    return sum(sin(x));
  });
  auto x = device_put(arange(16.0), NamedSharding(make_mesh({4}, {"d"}), P("d")));
  x.block_until_ready();
  be_late(works);
  step(x).block_until_ready();
}
