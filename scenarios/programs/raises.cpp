// One process ends in an error while the others wait for it. Built with debugging information: the error names the lines that led to it.
#include <shardlab/shardlab.h>

#include <iostream>
#include <stdexcept>
using namespace shardlab;

inline std::int64_t local_rows(int process) {
  if (process == 1) throw std::runtime_error("no data on this host");
  return 8;
}

int main() {
  distributed::initialize();
  auto x = arange(local_rows(process_index()) * device_count());
  auto mesh = make_mesh({device_count()}, {"a"});
  std::cout << sum(device_put(x, NamedSharding(mesh, P("a")))) << '\n';
}
