// The last process ends with the code that is given, before it computes anything.
#include <shardlab/shardlab.h>

#include <cstdlib>
#include <iostream>
using namespace shardlab;

int main(int argc, char** argv) {
  distributed::initialize();
  if (argc > 1 && process_index() == process_count() - 1) std::_Exit(std::atoi(argv[1]));
  auto mesh = make_mesh({device_count()}, {"a"});
  std::cout << sum(device_put(arange(8 * device_count()), NamedSharding(mesh, P("a")))) << '\n';
}
