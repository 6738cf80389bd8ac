// JAX's other names of functions; make_aliases_goldens.py calls the same names of JAX.
#include <gtest/gtest.h>
#include <shardlab/shardlab.h>

#include "tests/exec/jax_goldens.h"

using namespace shardlab;  // as a user's program has it
using testing_goldens::Seen;

namespace {

TEST(Aliases, GiveWhatJaxGives) {
  Seen seen("aliases.txt");
  const Array x = array<float>({-0.9f, -0.5f, 0.25f, 0.75f}), y = array<float>({0.5f, 2.0f, 3.0f, 0.25f});
  const Array i = array<int>({1, 2, 5, 12}), j = array<int>({1, 3, 0, 2});
#define EXPECT_ALIAS(name, ...) seen.add(#name, name(__VA_ARGS__))
  EXPECT_ALIAS(absolute, x);
  EXPECT_ALIAS(acos, x);
  EXPECT_ALIAS(acosh, y + 1.0);
  EXPECT_ALIAS(around, x);
  EXPECT_ALIAS(asin, x);
  EXPECT_ALIAS(asinh, x);
  EXPECT_ALIAS(atan, x);
  EXPECT_ALIAS(atanh, x);
  EXPECT_ALIAS(bessel_i0e, x);
  EXPECT_ALIAS(bessel_i1e, x);
  EXPECT_ALIAS(bitwise_count, i);
  EXPECT_ALIAS(bitwise_invert, i);
  EXPECT_ALIAS(bitwise_not, i);
  EXPECT_ALIAS(conjugate, x);
  EXPECT_ALIAS(degrees, x);
  EXPECT_ALIAS(erfinv, x);
  EXPECT_ALIAS(expit, x);
  EXPECT_ALIAS(gammaln, y);
  EXPECT_ALIAS(hard_swish, x);
  EXPECT_ALIAS(is_finite, x);
  EXPECT_ALIAS(neg, x);
  EXPECT_ALIAS(radians, x);
  EXPECT_ALIAS(sigmoid, x);
  EXPECT_ALIAS(swish, x);
  EXPECT_ALIAS(atan2, x, y);
  EXPECT_ALIAS(bitwise_left_shift, i, j);
  EXPECT_ALIAS(bitwise_right_shift, i, j);
  EXPECT_ALIAS(div, x, y);
  EXPECT_ALIAS(eq, i, j);
  EXPECT_ALIAS(ge, i, j);
  EXPECT_ALIAS(gt, i, j);
  EXPECT_ALIAS(le, i, j);
  EXPECT_ALIAS(lt, i, j);
  EXPECT_ALIAS(mod, x, y);
  EXPECT_ALIAS(mul, x, y);
  EXPECT_ALIAS(ne, i, j);
  EXPECT_ALIAS(pow, y, x);
  EXPECT_ALIAS(shift_left, i, j);
  EXPECT_ALIAS(shift_right_arithmetic, i, j);
  EXPECT_ALIAS(sub, x, y);
  EXPECT_ALIAS(true_divide, x, y);
  EXPECT_ALIAS(amax, x);
  EXPECT_ALIAS(amin, x, 0);
  EXPECT_ALIAS(bitcast_convert_type, i, uint32);
  EXPECT_ALIAS(convert_element_type, i, float32);
  EXPECT_ALIAS(concat, {x, y});
  EXPECT_ALIAS(empty_like, x);
  EXPECT_ALIAS(permute_dims, x.reshape({2, 2}), {1, 0});
  EXPECT_ALIAS(broadcasted_iota, int32, {2, 3}, 1);
  EXPECT_ALIAS(cumulative_sum, x);
  EXPECT_ALIAS(cumulative_prod, x);
  EXPECT_ALIAS(random::PRNGKey, 3);
  using namespace initializers;
  const Array key = random::key(1);
  EXPECT_ALIAS(kaiming_normal, key, {8, 4});
  EXPECT_ALIAS(kaiming_uniform, key, {8, 4});
  EXPECT_ALIAS(xavier_normal, key, {8, 4});
  EXPECT_ALIAS(xavier_uniform, key, {8, 4});
#undef EXPECT_ALIAS
}

TEST(Aliases, ShapesThatBroadcast) {
  EXPECT_EQ(broadcast_shapes({{4, 1}, {3}, {1, 1, 1}}), (Shape{1, 4, 3}));
  EXPECT_EQ(broadcast_shapes({}), Shape{});
  try {
    broadcast_shapes({{2, 3}, {4}});
    FAIL() << "shapes that do not broadcast";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("Incompatible shapes for broadcasting: shapes=[(2, 3), (4,)] [aliases_test.cpp:"),
              std::string::npos)
        << error.what();
  }
}

TEST(Aliases, ADimensionChangesPlacesWithAnAxis) {
  const Mesh mesh = make_mesh({4}, {"x"});
  auto f = shard_map([](const Array& part) { return pswapaxes(part, "x", 0); },
                     {.mesh = mesh, .in_specs = {P(nullptr, "x")}, .out_specs = {P(nullptr, "x")}});
  const Array x = arange(16.0).reshape({4, 4});
  EXPECT_EQ(f(x).to_vector<float>(), x.T().to_vector<float>());
}

}  // namespace
