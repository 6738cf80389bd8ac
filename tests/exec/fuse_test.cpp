// Broadcasts inside fused steps: repeated rows, columns and middles, cut evenly and unevenly, in every width of elements.
#include "runtime/exec/fuse.h"

#include <gtest/gtest.h>

#include "runtime/exec/device_mesh.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "tests/support/eight_devices.h"

namespace shardlab {
namespace {

class FusedBroadcasts : public OnEightDevices {};

// x[i, j, k] + y over some of its dimensions, on a mesh; the sum told element by element. Inside the function the cut is that of the
// constraint, which need not divide.
void expect_sum(const Mesh& mesh, const PartitionSpec& spec, const Shape& shape, const std::vector<std::int64_t>& dims, DType dtype) {
  Shape part;
  for (std::int64_t d : dims) part.push_back(shape[std::size_t(d)]);
  Array x = astype(arange(double(element_count(shape))), dtype).reshape(shape);
  Array y = astype(arange(double(element_count(part))) * 2.0, dtype).reshape(part);
  Shape aligned(shape.size(), 1);
  for (std::int64_t d : dims) aligned[std::size_t(d)] = shape[std::size_t(d)];
  auto f = jit([&](const Array& a, const Array& b) {
    Array cut = with_sharding_constraint(a, NamedSharding(mesh, spec));
    return (cut + reshape(b, aligned)) * cut;
  });
  Array found = astype(f(x, y), DType::kFloat32);
  Buffer data = found.fetch();
  for (std::int64_t at = 0; at < element_count(shape); ++at) {
    std::int64_t rest = at, place = 0, stride = 1;
    for (std::size_t d = shape.size(); d-- > 0;) {
      std::int64_t index = rest % shape[d];
      rest /= shape[d];
      if (std::find(dims.begin(), dims.end(), std::int64_t(d)) == dims.end()) continue;
      place += index * stride;
      stride *= shape[d];
    }
    ASSERT_EQ(data.as<float>()[at], float((at + 2 * place) * at)) << "element " << at << " of " << name_of(dtype);
  }
}

TEST_F(FusedBroadcasts, RepeatAlongAnyDimensions) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  for (const auto& dims : std::vector<std::vector<std::int64_t>>{{2}, {0}, {1}, {0, 1}, {1, 2}, {0, 2}})
    for (const PartitionSpec& spec :
         std::vector<P>{P(), P("a"), P(nullptr, "b", "a"), P(nullptr, nullptr, std::vector<std::string>{"a", "b"})})
      expect_sum(mesh, spec, {4, 6, 8}, dims, DType::kFloat32);
}

TEST_F(FusedBroadcasts, WhereTheCutIsUneven) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  for (const auto& dims : std::vector<std::vector<std::int64_t>>{{2}, {0}, {1}, {0, 1}, {1, 2}})
    for (const PartitionSpec& spec : std::vector<P>{P("a", "b"), P("b", nullptr, "a"), P(std::vector<std::string>{"b", "a"})})
      expect_sum(mesh, spec, {5, 3, 7}, dims, DType::kFloat32);
}

TEST_F(FusedBroadcasts, InEveryWidth) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  for (DType dtype : {DType::kInt32, DType::kFloat16, DType::kUint8})  // small numbers: exact in each
    for (const auto& dims : std::vector<std::vector<std::int64_t>>{{0}, {1}}) expect_sum(mesh, P("b"), {2, 3}, dims, dtype);
}

// More elements than a tile has, so that repetitions go on from tile to tile.
TEST_F(FusedBroadcasts, AcrossTiles) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  Array x = astype(arange(3 * 7000), float32).reshape({3, 7000}) / 21000.0;
  Buffer got = jit([&](const Array& a) {
                 Array cut = with_sharding_constraint(a, NamedSharding(mesh, P(nullptr, "b")));
                 return cut - max(cut, {.axis = 1, .keepdims = true}) + max(cut, {.axis = 0, .keepdims = true});
               })(x)
                   .fetch();
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 7000; ++j) {
      auto value = [](int n) { return float(n) / 21000.0f; };
      ASSERT_FLOAT_EQ(got.as<float>()[i * 7000 + j], value(i * 7000 + j) - value(i * 7000 + 6999) + value(14000 + j));
    }
}

}  // namespace
}  // namespace shardlab
