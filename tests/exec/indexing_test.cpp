// NumPy's indexing in C++, and the functions that cut, join and look up arrays.
#include "runtime/exec/indexing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/numpy.h"
#include "runtime/exec/placement.h"

using namespace shardlab;  // as a user's program has it

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

std::vector<std::int32_t> ints(const Array& x) { return x.to_vector<std::int32_t>(); }
Array grid() { return arange(12).reshape({3, 4}); }

TEST(Indexing, TakesWhatNumpyTakes) {
  Array x = grid();
  EXPECT_THAT(ints(index(x, {1})), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(ints(index(x, {-1, -1})), ElementsAre(11));
  EXPECT_EQ(index(x, {0, 0}).shape(), Shape{});
  EXPECT_THAT(ints(index(x, {Slice{1}, 0})), ElementsAre(4, 8));
  EXPECT_THAT(ints(index(x, {0, Slice{.start = 1, .stop = -1}})), ElementsAre(1, 2));
  EXPECT_THAT(ints(index(x, {ellipsis, 2})), ElementsAre(2, 6, 10));
  EXPECT_THAT(ints(index(x, {all_indices, Slice{.step = 3}})), ElementsAre(0, 3, 4, 7, 8, 11));
  EXPECT_THAT(ints(index(x, {2, Slice{.step = -1}})), ElementsAre(11, 10, 9, 8));
  EXPECT_THAT(ints(index(x, {2, Slice{.start = 2, .stop = 0, .step = -2}})), ElementsAre(10));
  EXPECT_EQ(index(x, {newaxis, ellipsis, newaxis}).shape(), (Shape{1, 3, 4, 1}));
  EXPECT_EQ(index(x, {Slice{5, 9}}).shape(), (Shape{0, 4}));
  EXPECT_THAT(ints(index(x, {array<std::int32_t>({2, -3}), 1})), ElementsAre(9, 1));
  EXPECT_EQ(index(x, {array<std::int32_t>({0, 1, 2, 2}, {2, 2})}).shape(), (Shape{2, 2, 4}));
}

// Expected: numpy's.
TEST(Indexing, ArraysAreBroadcastTogether) {
  Array x = arange(24).reshape({2, 3, 4}), i = array<std::int32_t>({0, 1}), j = array<std::int32_t>({2, -1});
  EXPECT_THAT(ints(x[{i, j}]), ElementsAre(8, 9, 10, 11, 20, 21, 22, 23));
  EXPECT_THAT(ints(x[{i[{all_indices, newaxis}], j}]), ElementsAreArray(ints(index(x, {all_indices, j}))));
  EXPECT_THAT(ints(x[{all_indices, j, i}]), ElementsAre(8, 9, 20, 21));
  // Something between arrays: their dimensions come first. A number counts as one of them.
  EXPECT_THAT(ints(x[{i, all_indices, j}]), ElementsAre(2, 6, 10, 15, 19, 23));
  EXPECT_THAT(ints(x[{0, all_indices, i}]), ElementsAre(0, 4, 8, 1, 5, 9));
  EXPECT_THAT(ints(x[{1, Slice{.step = -2}, i}]), ElementsAre(20, 12, 21, 13));
  EXPECT_EQ((x[{i, newaxis, j}].shape()), (Shape{2, 1, 4}));
  EXPECT_EQ((x[{newaxis, i, ellipsis, j}].shape()), (Shape{2, 1, 3}));
  // Slices beside them, with steps and without.
  EXPECT_THAT(ints(x[{i, Slice{1}, Slice{.stop = 1}}]), ElementsAre(4, 8, 16, 20));
  // Scalars that are computed; places out of bounds are moved.
  auto at_place = jit([](const Array& v, const Array& n) { return std::tuple{v[n], v[{n, Slice{1}}], v[{0, n}], v[{n, ellipsis, -1}]}; });
  auto [row, rest, of_first, column] = at_place(x, asarray(1));
  EXPECT_THAT(ints(row), ElementsAreArray(ints(x[1])));
  EXPECT_THAT(ints(rest), ElementsAreArray(ints(x[{1, Slice{1}}])));
  EXPECT_THAT(ints(of_first), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(ints(column), ElementsAre(15, 19, 23));
  EXPECT_THAT(ints(arange(4)[asarray(9)]), ElementsAre(3));
}

TEST(Indexing, MasksStandForThePlacesWhereTheyHold) {
  Array x = arange(24).reshape({2, 3, 4});
  EXPECT_THAT(ints(x[x % 7 == 0]), ElementsAre(0, 7, 14, 21));
  EXPECT_THAT(ints(x[{array<bool>({false, true}), 1}]), ElementsAre(16, 17, 18, 19));
  EXPECT_EQ((x[x < 0].shape()), (Shape{0}));
  EXPECT_THAT(ints(arange(4).at(arange(4) > 1).set(9)), ElementsAre(0, 1, 9, 9));
}

TEST(Indexing, UpdatesWhatItTakes) {
  Array x = arange(6).reshape({2, 3});
  EXPECT_THAT(ints(at(x, {0}).set(9)), ElementsAre(9, 9, 9, 3, 4, 5));
  EXPECT_THAT(ints(at(x, {all_indices, 1}).add(array<std::int32_t>({10, 20}))), ElementsAre(0, 11, 2, 3, 24, 5));
  EXPECT_THAT(ints(at(x, {array<std::int32_t>({1, 1})}).add(1)), ElementsAre(0, 1, 2, 5, 6, 7));
  EXPECT_THAT(ints(at(x, {ellipsis}).max(3)), ElementsAre(3, 3, 3, 3, 4, 5));
  EXPECT_THAT(ints(at(x, {-1, -1}).set(7)), ElementsAre(0, 1, 2, 3, 4, 7));
  EXPECT_THAT(ints(at(x, {array<std::int32_t>({5})}).set(7)), ElementsAre(0, 1, 2, 3, 4, 5));
  Array rows = array<std::int32_t>({0, 0, 1}), columns = array<std::int32_t>({1, 1, 7});
  EXPECT_THAT(ints(x.at({rows, columns}).add(10)), ElementsAre(0, 21, 2, 3, 4, 5));
  EXPECT_THAT(ints(x.at({rows[Slice{1}], Slice{.step = -1}}).set(arange(3))), ElementsAre(2, 1, 0, 2, 1, 0));
  EXPECT_THAT(ints(zeros({2, 2, 2}, int32).at({1, all_indices, arange(2)}).add(array<std::int32_t>({1, 2, 3, 4}, {2, 2}))),
              ElementsAre(0, 0, 0, 0, 1, 3, 2, 4));
}

TEST(Indexing, MethodsOfArrays) {
  Array x = arange(6).reshape({3, 2});
  EXPECT_THAT(ints(x[1]), ElementsAre(2, 3));
  EXPECT_THAT(ints(x[-1]), ElementsAre(4, 5));
  EXPECT_THAT(ints(x[Slice{1, 3}]), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(ints(x[array<std::int32_t>({2, 0})]), ElementsAre(4, 5, 0, 1));
  EXPECT_THAT(ints(x.T()), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_EQ(x.astype(float32).dtype(), float32);
}

TEST(Indexing, ErrorsSayWhatWasAsked) {
  auto error_of = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const UserError& error) { return error.what(); }
    return "no error";
  };
  Array x = grid();
  EXPECT_THAT(error_of([&] { index(x, {3}); }), HasSubstr("index 3 is out of bounds for axis 0 with size 3"));
  EXPECT_THAT(error_of([&] { x[3]; }), AllOf(HasSubstr("index 3 is out of bounds for axis 0 with size 3"), HasSubstr("indexing_test.cpp")));
  EXPECT_THAT(error_of([&] { index(x, {0, 0, 0}); }), HasSubstr("Too many indices: array is 2-dimensional, but 3 were indexed"));
  EXPECT_THAT(error_of([&] { index(x, {ellipsis, ellipsis}); }), HasSubstr("an index can only have a single ellipsis"));
  EXPECT_THAT(error_of([&] { index(x, {Slice{.step = 0}}); }), HasSubstr("slice step cannot be zero"));
  EXPECT_THAT(error_of([&] { x[{arange(3), arange(2)}]; }), HasSubstr("Incompatible shapes for broadcasting: shapes=[(3,), (2,)]"));
  EXPECT_THAT(error_of([&] { x[arange(2.0)]; }), HasSubstr("Indexer must have integer or boolean type, got indexer with type float32"));
  EXPECT_THAT(error_of([&] { x[arange(4) > 1]; }),
              HasSubstr("boolean index did not match shape of indexed array in index 0: got (4,), expected (3,)"));
  EXPECT_THAT(error_of([&] { jit([](const Array& v) { return v[v > 1]; })(x); }),
              AllOf(HasSubstr("Array boolean indices must be concrete; got bool[3,4]"), HasSubstr("where(mask")));
}

// As JAX lays them: outside of jit a slice takes its starts as values, unless it has strides.
TEST(Indexing, OfSlicesOutsideOfJitIsWholeAlongThem) {
  Array x = device_put(arange(96).reshape({8, 12}), NamedSharding(make_mesh({2, 4}, {"a", "b"}), P("a", "b")));
  auto spec = [](const Array& taken) { return taken.sharding().spec_text(); };
  EXPECT_EQ(spec(x[Slice{2, 6}]), "P(None, 'b')");
  EXPECT_EQ(spec(index(x, {Slice{}, Slice{2, 10}})), "P('a', None)");
  EXPECT_EQ(spec(index(x, {Slice{2, 6}, Slice{4, 8}})), "P(None, None)");
  EXPECT_EQ(spec(index(x, {2, Slice{3, 7}})), "P(None,)");
  EXPECT_EQ(spec(slice_in_dim(x, 2, 6)), "P('a', 'b')");
  EXPECT_EQ(spec(index(x, {Slice{.step = -1}})), "P('a', 'b')");
}

TEST(ArrayOps, ComputeWhatTheirOpsDo) {
  Array x = arange(6).reshape({2, 3});
  EXPECT_THAT(ints(roll(x, 1, 1)), ElementsAre(2, 0, 1, 5, 3, 4));
  EXPECT_THAT(ints(concatenate({x, x}, 1)), ElementsAre(0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5));
  EXPECT_EQ(split(x, 3, 1).size(), 3u);
  EXPECT_THAT(ints(pad(arange(2), {{1, 1}}, "edge")), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(ints(sort(array<std::int32_t>({2, 0, 1}), {.descending = true})), ElementsAre(2, 1, 0));
  EXPECT_THAT(ints(top_k(arange(4), 2).second), ElementsAre(3, 2));
  EXPECT_THAT(ints(cumsum(x, 0)), ElementsAre(0, 1, 2, 3, 5, 7));
  EXPECT_THAT(ints(take(x, array<std::int32_t>({1}), 0)), ElementsAre(3, 4, 5));
  EXPECT_THAT(ints(dynamic_slice(arange(5), {arange(1).reshape({})}, {2})), ElementsAre(0, 1));
  EXPECT_THAT(ints(tril(x)), ElementsAre(0, 0, 0, 3, 4, 0));
  EXPECT_EQ(meshgrid({arange(2), arange(3)}, {.indexing = "ij"}).at(1).shape(), (Shape{2, 3}));
}

}  // namespace
