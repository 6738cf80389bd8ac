// The guide's second deadlock: device_put under if (process_index() == 0), so that the value can be printed there.
#include <shardlab/shardlab.h>

#include <iostream>
using namespace shardlab;

int main() {
  distributed::initialize();
  auto mesh = make_mesh({device_count()}, {"a"});
  auto z = relu(device_put(arange(8 * device_count()), NamedSharding(mesh, P("a"))));
  if (process_index() == 0) {
    auto w = device_put(z, P(None));
    std::cout << w << '\n';
  }
}
