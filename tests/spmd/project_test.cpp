// Projection to factors and back.
#include "runtime/spmd/project.h"

#include <gtest/gtest.h>

#include "tests/spmd/specs.h"

namespace shardlab::spmd {
namespace {

using shardlab::testing::mesh_of;
using shardlab::testing::spec_of;

// One dimension made of factors of the given sizes.
struct OneDim {
  std::vector<Factor> factors;
  FactorRule::TensorMap map{{}};
  explicit OneDim(std::vector<std::int64_t> sizes) {
    for (std::int64_t size : sizes) {
      map[0].push_back(int(factors.size()));
      factors.push_back({size, FactorKind::kPass, false});
    }
  }
};

TEST(Project, OneFactorADimensionRoundTrips) {
  Mesh mesh = mesh_of({4, 2, 3});
  std::vector<Factor> factors{{12, FactorKind::kPass, false}, {8, FactorKind::kReduce, false}};
  FactorRule::TensorMap map{{0}, {1}};
  for (const char* text : {"--", "a-", "-a", "(ab)-", "(ba)c", "c(ab)", "(cba)-"}) {
    Spec spec = spec_of(mesh, text);
    std::vector<DimSharding> dims{{spec[0], false}, {spec[1], true}};
    EXPECT_EQ(unproject(project(dims, map, factors), map, factors), dims) << text;
  }
}

TEST(Project, AnAxisIsSplitOverTheFactorsThatItCovers) {
  OneDim dim({2, 8});
  Projection projection = project(Spec{{{0, 1, 4}}}, dim.map, dim.factors);
  EXPECT_EQ(projection[0].axes, (Axes{{0, 1, 2}}));
  EXPECT_EQ(projection[1].axes, (Axes{{0, 2, 2}}));
  EXPECT_EQ(unproject(projection, dim.map, dim.factors)[0].axes, (Axes{{0, 1, 4}}));
}

TEST(Project, WhatDoesNotFitAFactorOverflows) {
  OneDim dim({3, 8});
  Projection projection = project(Spec{{{0, 1, 4}}}, dim.map, dim.factors);
  EXPECT_TRUE(projection[0].axes.empty());
  EXPECT_EQ(projection[0].overflow, (Axes{{0, 1, 4}}));
  EXPECT_TRUE(projection[1].closed);
  EXPECT_EQ(unproject(projection, dim.map, dim.factors)[0].axes, (Axes{{0, 1, 4}}));
}

TEST(Project, NoStridedLayouts) {
  OneDim dim({4, 8});
  Projection projection = project(Spec{{}}, dim.map, dim.factors);
  projection[1].axes = {{0, 1, 2}};
  EXPECT_TRUE(unproject(projection, dim.map, dim.factors)[0].axes.empty());
}

}  // namespace
}  // namespace shardlab::spmd
