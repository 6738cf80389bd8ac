// The first process is 0.4 s later than the others at a call: because it traces and plans it longer, or, with "work", because it works.
// With "decide" nobody is late, and the last process makes one more call by a value of its own.
#include <shardlab/shardlab.h>

#include <chrono>
#include <iostream>
#include <string_view>
#include <thread>

using namespace shardlab;

int main(int argc, char** argv) {
  distributed::initialize();
  const std::string_view how = argc > 1 ? argv[1] : "";
  const bool works = how == "work";
  auto be_late = [](bool now) {
    if (now && process_index() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(400));
  };
  auto step = jit([&](const Array& x) {
    be_late(how.empty());
    return sum(sin(x));
  });
  auto x = device_put(arange(16.0), NamedSharding(make_mesh({4}, {"d"}), P("d")));
  x.block_until_ready();
  be_late(works);
  step(x).block_until_ready();
  if (how == "decide" && sum(ones({2}) * float(process_index())).item<float>() > 5) max(x).block_until_ready();
  std::cout << "total " << sum(x) << '\n';
}
