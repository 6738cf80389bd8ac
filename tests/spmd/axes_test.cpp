// The algebra of axis pieces, against explicit sets of devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "runtime/core/mesh_change.h"
#include "tests/spmd/specs.h"

namespace shardlab {
namespace {

using testing::mesh_of;

std::vector<AxisPiece> pieces_of_axis(int axis, std::int64_t size) {
  std::vector<AxisPiece> pieces;
  for (std::int64_t pre = 1; pre <= size; ++pre)
    for (std::int64_t part = 1; pre * part <= size; ++part)
      if (size % (pre * part) == 0) pieces.push_back({axis, pre, part});
  return pieces;
}

// The prime digits of the axis that a piece covers, as places from the major end: [pre, pre·size) multiplicatively.
std::set<std::int64_t> places(const AxisPiece& piece) {
  std::set<std::int64_t> covered;
  for (std::int64_t place = piece.pre * 2; place <= piece.pre * piece.size; place *= 2) covered.insert(place);
  return covered;
}

TEST(MeshChange, TheSameBoxesInOtherAxes) {
  Shape shape{16, 48};
  std::vector<Mesh> meshes;
  for (const Shape& axes : {Shape{8}, Shape{4, 2}, Shape{2, 4}, Shape{2, 2, 2}, Shape{1, 8, 1}}) meshes.push_back(mesh_of(axes));
  for (const Mesh& from : meshes)
    for (int axis = 0; axis < from.axis_count(); ++axis)
      for (const Mesh& to : meshes) {
        Spec spec{{from.whole_axis(axis)}, {}};
        auto translated = spec_on(spec, from, to);
        ASSERT_TRUE(translated) << from.text() << to.text();
        EXPECT_EQ(boxes_of(shape, *translated, to), boxes_of(shape, spec, from)) << text_of(*translated, to);
      }
  Mesh x = mesh_of({8}), ab = mesh_of({4, 2});
  EXPECT_EQ(text_of(*spec_on({{x.whole_axis(0)}}, x, ab), ab), "P(('a', 'b'),)");
  EXPECT_EQ(text_of(*spec_on({{ab.whole_axis(0)}}, ab, x), x), "P('a:(1)4',)");
  // The axes of 2 x 3 and of 3 x 2 do not nest.
  EXPECT_FALSE(spec_on({{{0, 1, 2}}}, mesh_of({2, 3}), mesh_of({3, 2})));
}

TEST(Axes, OverlapIsSharedDigits) {
  for (const AxisPiece& x : pieces_of_axis(0, 8))
    for (const AxisPiece& y : pieces_of_axis(0, 8)) {
      if (x.size == 1 || y.size == 1) continue;  // no digits
      std::set<std::int64_t> digits_x = places(x), digits_y = places(y), shared;
      std::set_intersection(digits_x.begin(), digits_x.end(), digits_y.begin(), digits_y.end(), std::inserter(shared, shared.begin()));
      EXPECT_EQ(overlaps(x, y), !shared.empty()) << x.pre << " " << x.size << " and " << y.pre << " " << y.size;
      EXPECT_EQ(overlaps(x, y), overlaps(y, x));
      EXPECT_EQ(contains(x, y), shared == digits_y);
      EXPECT_TRUE(!is_prefix(x, y) || contains(y, x));
    }
  EXPECT_FALSE(overlaps({0, 1, 4}, {1, 1, 4}));
}

TEST(Axes, CutKeepsTheLongestMajorPartThatOverlapsNothing) {
  std::vector<AxisPiece> pieces = pieces_of_axis(0, 8);
  for (const AxisPiece& piece : pieces)
    for (const AxisPiece& other : pieces) {
      if (piece.size == 1 || other.size == 1) continue;
      Axes others{other};
      std::optional<AxisPiece> kept = cut(piece, others), longest;
      for (const AxisPiece& part : pieces)
        if (part.size > 1 && is_prefix(part, piece) && !overlaps(part, other) && (!longest || part.size > longest->size)) longest = part;
      EXPECT_EQ(kept, longest);
    }
}

TEST(Axes, SplittingAndMergingKeepsTheDigitOfEveryPosition) {
  Mesh mesh = mesh_of({12, 2});
  for (const AxisPiece& piece : pieces_of_axis(0, 12))
    for (std::int64_t major = 1; major <= piece.size; ++major) {
      if (piece.size % major != 0) continue;
      AxisPiece first{0, piece.pre, major}, second{0, piece.pre * major, piece.size / major};
      EXPECT_EQ(merged(Axes{first, second}), Axes{piece});
      for (int p = 0; p < mesh.size(); ++p) EXPECT_EQ(mesh.digit(p, piece), mesh.digit(p, first) * second.size + mesh.digit(p, second));
    }
}

TEST(Axes, PrefixKindComparesLists) {
  AxisPiece a{0, 1, 4}, half{0, 1, 2}, b{1, 1, 2};
  EXPECT_EQ(prefix_kind(Axes{}, Axes{}), PrefixKind::kEqual);
  EXPECT_EQ(prefix_kind(Axes{}, Axes{a}), PrefixKind::kStrict);
  EXPECT_EQ(prefix_kind(Axes{half}, Axes{a, b}), PrefixKind::kStrict);
  EXPECT_EQ(prefix_kind(Axes{a, b}, Axes{a, b}), PrefixKind::kEqual);
  EXPECT_EQ(prefix_kind(Axes{half, b}, Axes{a, b}), PrefixKind::kNone);
  EXPECT_EQ(prefix_kind(Axes{a, b}, Axes{a}), PrefixKind::kNone);
}

TEST(Axes, GroupsPartitionTheMeshAndDifferOnlyInTheirPieces) {
  Mesh mesh = mesh_of({4, 2, 3});
  for (const Axes& axes : {Axes{{0, 1, 4}}, Axes{{0, 2, 2}}, Axes{{0, 1, 2}, {2, 1, 3}}, Axes{{1, 1, 2}, {0, 1, 4}}}) {
    std::set<int> seen;
    for (const auto& group : groups_along(mesh, axes)) {
      EXPECT_EQ(std::int64_t(group.size()), part_count(axes));
      for (std::size_t rank = 0; rank < group.size(); ++rank) {
        EXPECT_TRUE(seen.insert(group[rank]).second);
        std::int64_t index = 0;
        for (const AxisPiece& piece : axes) index = index * piece.size + mesh.digit(group[rank], piece);
        EXPECT_EQ(index, std::int64_t(rank));
      }
    }
    EXPECT_EQ(int(seen.size()), mesh.size());
  }
}

}  // namespace
}  // namespace shardlab
