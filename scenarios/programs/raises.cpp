// One process ends in an error while the others wait for it.
#include <shardlab/shardlab.h>

#include <iostream>
#include <stdexcept>
using namespace shardlab;

int main() {
  distributed::initialize();
  auto mesh = make_mesh({device_count()}, {"a"});
  auto x = device_put(arange(8 * device_count()), NamedSharding(mesh, P("a")));
  if (process_index() == 1) throw std::runtime_error("no data on this host");
  std::cout << sum(x) << '\n';
}
