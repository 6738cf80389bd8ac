// Carries and branches that change what they vary over in per-device code are refused, as JAX does, with the cast that would mend it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <shardlab/shardlab.h>

// Parameters have their arguments' names, as users write them.
#pragma GCC diagnostic ignored "-Wshadow"

using namespace shardlab;  // as a user's program has it
using testing::HasSubstr;

namespace {

using Code = std::function<Array(const Array&)>;

// What one device's code gives, over both axes of the mesh, or the error.
std::string message_of(const Code& code, bool check_vma = true) {
  try {
    const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
    shard_map(code, {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P(std::vector<std::string>{"x", "y"})}, .check_vma = check_vma})(
        arange(8.0));
  } catch (const UserError& error) { return error.what(); }
  return "accepted";
}

Array added(const Array& x, const Array& init) {
  return fori_loop(
      0, 3, [&](const Array&, const Array& c) { return c + x; }, init);
}

TEST(VaryingTypes, ACarryVariesOverWhatItBeginsWith) {
  EXPECT_THAT(
      message_of([](const Array& x) { return added(x, zeros({2})); }),
      AllOf(HasSubstr("scan body function carry input and carry output must have equal types, but they differ:"),
            HasSubstr("the input carry component carry[1] has type float32[2] but the corresponding output carry component has type "
                      "float32[2]{V:x}, so the manual axis types do not match"),
            HasSubstr("applying `pcast(…, {\"x\"}, \"varying\")` to the initial value of"), HasSubstr("varying_types_test.cpp:")));
  const std::string both = message_of([](const Array& x) {
    auto body = [&](const Array&, const std::pair<Array, Array>& c) { return std::pair{c.first + x, c.second + x + axis_index("y")}; };
    return fori_loop(0, 3, body, std::pair{zeros({2}), zeros({2})}).first;
  });
  EXPECT_THAT(both, AllOf(HasSubstr("carry[1] has type float32[2] but"), HasSubstr("float32[2]{V:(x,y)}"),
                          HasSubstr("pcast(…, {\"x\", \"y\"}, \"varying\")")));
  EXPECT_THAT(message_of([](const Array& x) {
                return while_loop([](const Array& c) { return sum(c) < 3.0; }, [&](const Array& c) { return c + x + 1.0; }, zeros({2}));
              }),
              AllOf(HasSubstr("while_loop body function"), HasSubstr("the input carry has type float32[2] but")));
  // The other way round there is nothing to cast.
  EXPECT_THAT(message_of([](const Array& x) {
                return fori_loop(
                    0, 3, [](const Array&, const Array&) { return zeros({2}); }, x);
              }),
              AllOf(HasSubstr("has type float32[2]{V:x} but the corresponding output carry component has type float32[2],"),
                    testing::Not(HasSubstr("might be fixed"))));
}

TEST(VaryingTypes, BranchesVaryOverTheSame) {
  auto itself = [](const Array& x) { return x; };
  auto nothing = [](const Array&) { return zeros({2}); };
  EXPECT_THAT(message_of([&](const Array& x) { return cond(x[0] > 1.0, itself, nothing, x); }),
              AllOf(HasSubstr("cond branches must have equal output types but they differ."),
                    HasSubstr("Result 0 of branch 0 has type float32[2] but the corresponding output of branch 1 has type float32[2]{V:x}"),
                    HasSubstr("to the output of branch 0")));
  EXPECT_THAT(message_of([&](const Array& x) {
                return switch_(1, std::tuple{itself, nothing, itself}, x);
              }),
              HasSubstr("by applying `pcast(…, {\"x\"}, \"varying\")` to the output of branch 1"));
  EXPECT_EQ(message_of([&](const Array&) {
              return cond(
                  axis_index("x") > 1, [] { return ones({2}); }, [] { return zeros({2}); });
            }),
            "accepted");
}

TEST(VaryingTypes, WhatVariesIsNotCast) {
  EXPECT_THAT(message_of([](const Array& x) { return pcast(x, "x", "varying"); }),
              AllOf(HasSubstr("Unsupported pcast from=varying, to='varying'"), HasSubstr("varying_types_test.cpp:")));
  EXPECT_EQ(message_of([](const Array& x) { return pcast(x, "y", "varying"); }), "accepted");
}

TEST(VaryingTypes, WhatIsMadeLikeAValueVariesAsItDoes) {
  for (const Code& make :
       {Code([](const Array& x) { return zeros_like(x); }), Code([](const Array& x) { return ones_like(x); }),
        Code([](const Array& x) { return full_like(x, 2); }), Code([](const Array&) { return pcast(zeros({2}), "x", "varying"); })})
    EXPECT_EQ(message_of([&](const Array& x) { return added(x, make(x)); }), "accepted");
  EXPECT_EQ(message_of([](const Array& x) { return added(x, zeros({2})); }, false), "accepted");  // without check_vma nothing is told
}

TEST(VaryingTypes, SolversRunOnEachDevice) {
  auto twice = [](const Array& v) { return 2.0 * v; };
  EXPECT_EQ(message_of([&](const Array& x) { return linalg::cg(twice, x).x; }), "accepted");
  EXPECT_EQ(message_of([&](const Array& x) { return linalg::bicgstab(twice, x).x; }), "accepted");
  EXPECT_EQ(message_of([&](const Array& x) { return linalg::gmres(twice, x).x; }), "accepted");
  EXPECT_EQ(
      message_of([](const Array& x) { return optimize::minimize([&](const Array& y) { return sum(square(y - x)); }, zeros_like(x)).x; }),
      "accepted");
}

}  // namespace
