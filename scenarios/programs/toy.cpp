#include <shardlab/shardlab.h>

#include <iostream>
using namespace shardlab;

int main() {
  distributed::initialize();
  auto mesh = make_mesh({4, 2}, {"i", "j"});
  auto x = device_put(arange(32).reshape({4, 8}), NamedSharding(mesh, P("i", "j")));
  if (process_index() == 0) visualize_array_sharding(x);
  std::cout << sum(sin(x)) << '\n';
}
