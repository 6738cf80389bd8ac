// What devices lack, counted without going through the devices, against a count that goes through them.
#include "runtime/spmd/overlap.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "runtime/spmd/layout.h"
#include "tests/spmd/specs.h"

namespace shardlab::spmd {
namespace {

using shardlab::testing::mesh_of;
using shardlab::testing::spec_of;

// Cuts the dimensions by random digits of the mesh's axes, in random order.
Spec random_spec(const Mesh& mesh, const Shape& shape, std::mt19937& random) {
  Axes digits = AtomTable(mesh).prime_atoms();
  std::shuffle(digits.begin(), digits.end(), random);
  Spec spec(shape.size());
  for (const AxisPiece& digit : digits) {
    if (random() % 3 == 0) continue;
    std::size_t d = random() % shape.size();
    if (shape[d] % (part_count(spec[d]) * digit.size) == 0) spec[d].push_back(digit);
  }
  for (Axes& axes : spec) axes = merged(axes);
  return spec;
}

struct OverlapCase {
  const char* name;
  Shape mesh, shape;
};

class Overlap : public ::testing::TestWithParam<OverlapCase> {};

TEST_P(Overlap, IsWhatTheBoxesLack) {
  const OverlapCase& param = GetParam();
  Mesh mesh = mesh_of(param.mesh);
  std::mt19937 random(20261121);
  for (int i = 0; i < 150; ++i) {
    Spec from = random_spec(mesh, param.shape, random), to = random_spec(mesh, param.shape, random);
    EXPECT_EQ(missing_elements(mesh, param.shape, from, to),
              missing_elements(boxes_of(param.shape, from, mesh), boxes_of(param.shape, to, mesh)))
        << text_of(from, mesh) << " -> " << text_of(to, mesh);
  }
}

INSTANTIATE_TEST_SUITE_P(Meshes, Overlap,
                         ::testing::Values(OverlapCase{"One", {1}, {8, 4}}, OverlapCase{"PowersOfTwo", {16, 16}, {64, 32}},
                                           OverlapCase{"Mixed", {12, 6}, {144, 36}}, OverlapCase{"Three", {8, 9, 4}, {72, 16, 18}},
                                           OverlapCase{"Primes", {7, 5, 3}, {105, 210}}),
                         [](const auto& each) { return std::string(each.param.name); });

// Both axes change places in one dimension: the count must not go through the 2^20 devices.
TEST(Overlap, OfManyDevicesIsCountedAtOnce) {
  Mesh mesh = mesh_of({1024, 1024});
  Shape shape{1 << 21};
  auto begin = std::chrono::steady_clock::now();
  // The 2^20 blocks are transposed; a block stays where its two digits are equal.
  std::int64_t blocks = 1 << 20, stay = 1024, elements = 2;
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(missing_elements(mesh, shape, spec_of(mesh, "(ab)"), spec_of(mesh, "(ba)")), (blocks - stay) * elements);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
}

}  // namespace
}  // namespace shardlab::spmd
