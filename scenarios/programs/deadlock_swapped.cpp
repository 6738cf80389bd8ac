// The guide's first deadlock: all processes evaluate x @ y, the last one y @ x.
#include <shardlab/shardlab.h>

#include <iostream>
using namespace shardlab;

int main() {
  distributed::initialize();
  auto mesh = make_mesh({device_count() / 2, 2}, {"a", "b"});
  auto x = device_put(ones({64, 32}), NamedSharding(mesh, P("a", "b")));
  auto y = device_put(ones({32, 64}), NamedSharding(mesh, P("b", None)));
  Array z;
  if (process_index() < process_count() - 1)
    z = matmul(x, y);
  else
    z = matmul(y, x);
  std::cout << sum(relu(z)) << '\n';
}
