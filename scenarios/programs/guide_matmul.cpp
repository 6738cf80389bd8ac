// The guide's computation over processes, and how its result is read: shards, a replicated copy, and the error where neither is meant.
#include <iostream>

#include "guide.h"
using namespace shardlab;

int main(int argc, char** argv) {
  join(argc, argv);
  // All devices in their own order; make_mesh({device_count()}, {"a"}) may choose one that suits the machine better.
  auto all = make_mesh(DeviceGrid{{device_count()}, devices()}, {"a"});
  auto arr = device_put(ones({32, 32}), NamedSharding(all, P("a")));
  if (process_index() == 0) visualize_array_sharding(arr);

  auto mesh = make_mesh({device_count() / 2, 2}, {"a", "b"});
  auto put = [&](const Array& x, const P& spec) { return device_put(x, NamedSharding(mesh, spec)); };

  auto x = put(ones({4096, 2048}), P("a", "b"));
  auto y = put(ones({2048, 4096}), P("b", None));

  // A distributed matmul.
  auto z = relu(matmul(x, y));
  if (process_index() == 0) {
    visualize_array_sharding(z);
    std::cout << '\n' << z.sharding() << '\n';
  }

  // Reading what other processes hold is an error, in every process alike.
  if (process_count() > 1) {
    try {
      std::cout << z.fetch().size();
    } catch (const UserError& error) { std::cout << "RuntimeError: " << error.what() << '\n'; }
  }

  // Replicated first, by all processes; then any of them may print it.
  auto w = device_put(z, P(None, None));
  if (process_index() == 0) std::cout << w << '\n';
  for (const Shard& shard : z.addressable_shards()) require(shard.data->as<float>()[0] == 2048, "the shards");
}
