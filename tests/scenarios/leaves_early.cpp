// All processes but the first leave main() while their launches still wait for it: those run in the handlers that exit() calls, when
// statics of functions that were made meanwhile would be destroyed.
#include <shardlab/shardlab.h>

#include <chrono>
#include <iostream>
#include <thread>

using namespace shardlab;

int main() {
  distributed::initialize();
  auto rows = NamedSharding(make_mesh({8}, {"d"}), P("d"));
  auto step = jit([](const Array& x) {
    auto y = softmax(x, 1) + sort(x, {.axis = 1}) * 0.1;
    auto z = fft::fft(y);
    return real(z) / 16.0 + logsumexp(x, {.axis = 1, .keepdims = true}) + dot(x, x.T())[Slice{0, 1}].reshape({16, 1});
  });
  auto x = device_put(sin(arange(256.0)).reshape({16, 16}), rows);
  x = device_put(step(x), rows);
  x.block_until_ready();  // what the functions keep is made now, and destroyed first by exit()
  if (process_index() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  for (int i = 0; i < 3; ++i) x = device_put(step(x), rows);
  auto total = sum(x);
  if (process_index() == 0) std::cout << "total " << total << '\n';
}
