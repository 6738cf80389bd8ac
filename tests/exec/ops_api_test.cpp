// The ops as C++ functions: which overload a call picks, what it computes, and whose line its errors name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "runtime/exec/jit.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "runtime/ops/registry.h"
#include "tests/support/error_of.h"

using namespace shardlab;  // as a user's program has it

namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

// Calls on numbers are the C library's; a call with an Array is ours.
static_assert(std::is_same_v<decltype(sin(0.5)), double>);
static_assert(std::is_same_v<decltype(sin(1)), double>);
static_assert(std::is_same_v<decltype(exp(1.0)), double>);
static_assert(std::is_same_v<decltype(floor(2.5)), double>);
static_assert(std::is_same_v<decltype(abs(-1)), int>);
static_assert(std::is_same_v<decltype(1 + 2.0), double>);
static_assert(std::is_same_v<decltype(sin(std::declval<Array>())), Array>);
static_assert(std::is_same_v<decltype(std::declval<Array>() + 1), Array>);
static_assert(std::is_same_v<decltype(2.0 * std::declval<Array>()), Array>);
static_assert(std::is_same_v<decltype(1 == std::declval<Array>()), Array>);
static_assert(std::is_same_v<decltype(std::declval<Array>() != std::declval<Array>()), Array>);
// Positional members of the options would make {0, 1} mean "axis 0, keepdims".
static_assert(!std::is_constructible_v<ReduceOptions, int, int>);

std::vector<float> floats(const Array& x) { return astype(x, float32).to_vector<float>(); }

TEST(OpsApi, EveryFunctionHasItsOp) {
  for (std::string_view name :
       {"abs",         "add",          "all",         "any",         "arange",     "arctan2",     "bitwise_and",   "bitwise_or",
        "bitwise_xor", "broadcast_to", "ceil",        "clip",        "conj",       "convert",     "cos",           "divide",
        "dot",         "einsum",       "equal",       "erf",         "exp",        "expand_dims", "expm1",         "eye",
        "floor",       "floor_divide", "full",        "full_like",   "gelu",       "greater",     "greater_equal", "imag",
        "invert",      "iota",         "isfinite",    "isnan",       "less",       "less_equal",  "linspace",      "log",
        "log1p",       "log_softmax",  "logical_and", "logical_not", "logical_or", "logical_xor", "logistic",      "logsumexp",
        "matmul",      "max",          "maximum",     "mean",        "min",        "minimum",     "multiply",      "negative",
        "not_equal",   "ones",         "ones_like",   "power",       "prod",       "ravel",       "real",          "relu",
        "remainder",   "reshape",      "round",       "rsqrt",       "select",     "sign",        "silu",          "sin",
        "softmax",     "softplus",     "sqrt",        "square",      "squeeze",    "std",         "subtract",      "sum",
        "tan",         "tanh",         "transpose",   "var",         "where",      "zeros",       "zeros_like"})
    EXPECT_NE(find_op(name), nullptr) << name;
}

// A user of C++ finds every op that a scenario has: by its name or an alias, with a _ where the name is C++'s.
TEST(OpsApi, EveryOpHasItsFunction) {
  const std::set<std::string, std::less<>> made_by_others = {"enter_auto_axes",       "fft_axis",
                                                             "found_in_a_row",        "hyp1f1_grad_a",
                                                             "hyp1f1_grad_b",         "hyp2f1_grad_a",
                                                             "hyp2f1_grad_b",         "hyp2f1_grad_c",
                                                             "passed_again",          "random.child",
                                                             "random_indices",        "random_threefry2x32",
                                                             "random_gamma",          "random_gamma_grad_by_a",
                                                             "round_to_precision",    "select_and_gather_add",
                                                             "select_and_scatter_add"};
  std::set<std::string, std::less<>> functions;
  std::filesystem::path folder = std::filesystem::path(std::getenv("SHARDLAB_SOURCE_DIR")) / "runtime/exec";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".h") continue;
    std::ifstream file(entry.path());
    std::string text(std::istreambuf_iterator<char>(file), {});
    std::regex declared(R"((?:SHARDLAB_REDUCTION\(|[\s>])([a-z]\w*)(?=[(,]))");
    for (std::sregex_iterator match(text.begin(), text.end(), declared), end; match != end; ++match) functions.insert((*match)[1]);
  }
  for (const OpDef* op : all_ops()) {
    auto is_function = [&](std::string_view name) {
      std::string last(name.substr(name.rfind('.') + 1));
      return functions.contains(last) || functions.contains(fmt::format("{}_", last));
    };
    bool is_found = is_function(op->name) || std::any_of(op->aliases.begin(), op->aliases.end(), is_function);
    EXPECT_NE(is_found, made_by_others.contains(op->name)) << op->name;
  }
}

TEST(OpsApi, Creation) {
  EXPECT_THAT(arange(4).to_vector<std::int32_t>(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(arange(1, 8, 3).to_vector<std::int32_t>(), ElementsAre(1, 4, 7));
  EXPECT_THAT(arange(3, float32).to_vector<float>(), ElementsAre(0, 1, 2));
  EXPECT_THAT(arange(1.5, 3).to_vector<float>(), ElementsAre(1.5, 2.5));
  EXPECT_EQ(arange(0).shape(), Shape{0});
  EXPECT_EQ(zeros({2, 3}).type(), (TensorType{float32, {2, 3}}));
  EXPECT_EQ(ones({}, int32).item<std::int32_t>(), 1);
  EXPECT_EQ(full({2}, 1.5).dtype(), float32);
  EXPECT_EQ(full({2}, 1).dtype(), int32);
  EXPECT_EQ(full({2}, 1, float32).dtype(), float32);
  EXPECT_EQ(full_like(arange(3), 1.5, float32).type(), (TensorType{float32, {3}}));
  EXPECT_THAT(linspace(0, 1, 3).to_vector<float>(), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(eye(2).to_vector<float>(), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(iota(int32, {2, 2}, 1).to_vector<std::int32_t>(), ElementsAre(0, 1, 0, 1));
}

TEST(OpsApi, OperatorsTakeArraysAndNumbers) {
  Array x = array<float>({1, 2, 4}), y = array<float>({2, 2, 2});
  EXPECT_THAT(floats(x + 1), ElementsAre(2, 3, 5));
  EXPECT_THAT(floats(1 - x), ElementsAre(0, -1, -3));
  EXPECT_THAT(floats(2 * x), ElementsAre(2, 4, 8));
  EXPECT_THAT(floats(x / y), ElementsAre(0.5, 1, 2));
  EXPECT_THAT(floats(-x), ElementsAre(-1, -2, -4));
  EXPECT_THAT(floats(x == y), ElementsAre(0, 1, 0));
  EXPECT_THAT(floats(2 != x), ElementsAre(1, 0, 1));
  EXPECT_THAT(floats(x < 2), ElementsAre(1, 0, 0));
  EXPECT_THAT(floats(x <= y), ElementsAre(1, 1, 0));
  EXPECT_THAT(floats(3 > x), ElementsAre(1, 1, 0));
  EXPECT_THAT(floats(x >= 4), ElementsAre(0, 0, 1));
  EXPECT_THAT(floats((x > 1) & (x < 4)), ElementsAre(0, 1, 0));
  EXPECT_THAT(floats(~(x > 1) | (x == 4)), ElementsAre(1, 0, 1));
  EXPECT_THAT((arange(4) % 3).to_vector<std::int32_t>(), ElementsAre(0, 1, 2, 0));
  EXPECT_EQ((arange(3) + 1).dtype(), int32);
  EXPECT_EQ((arange(3) + 1.0).dtype(), float32);
  EXPECT_EQ((arange(3) / 2).dtype(), float32);
}

TEST(OpsApi, ReductionsSayTheirAxesInThreeWays) {
  Array x = arange(24, float32).reshape({2, 3, 4});
  std::vector<std::int64_t> axes = {0, 2};
  EXPECT_EQ(sum(x).shape(), Shape{});
  EXPECT_EQ(sum(x, 0).shape(), (Shape{3, 4}));
  EXPECT_EQ(sum(x, -1).shape(), (Shape{2, 3}));
  EXPECT_EQ(sum(x, {0, 1}).shape(), (Shape{4}));
  EXPECT_EQ(sum(x, {1}).shape(), (Shape{2, 4}));
  EXPECT_EQ(sum(x, axes).shape(), (Shape{3}));
  EXPECT_EQ(sum(x, {.axis = {0}, .keepdims = true}).shape(), (Shape{1, 3, 4}));
  EXPECT_EQ(sum(x, {.axis = 0}).shape(), (Shape{3, 4}));
  EXPECT_EQ(sum(x, {.axis = axes}).shape(), (Shape{3}));
  EXPECT_EQ(sum(x, {.keepdims = true}).shape(), (Shape{1, 1, 1}));
  EXPECT_EQ(sum(x, {.axis = {}}).shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(sum(x).item<float>(), 276);
  EXPECT_EQ(max(x).item<float>(), 23);
  EXPECT_EQ(min(x).item<float>(), 0);
  EXPECT_EQ(mean(x).item<float>(), 11.5);
  EXPECT_EQ(prod(x + 1, {0, 1, 2}).dtype(), float32);
  EXPECT_TRUE(any(x > 22).item<bool>());
  EXPECT_FALSE(all(x > 22).item<bool>());
  EXPECT_FLOAT_EQ(var(arange(4)).item<float>(), 1.25F);
  EXPECT_FLOAT_EQ(var(arange(4), {.ddof = 1}).item<float>(), 5.0F / 3.0F);
  EXPECT_FLOAT_EQ(std_(arange(4), 0).item<float>(), std::sqrt(1.25F));
  EXPECT_FLOAT_EQ(logsumexp(zeros({4})).item<float>(), std::log(4.0F));
}

TEST(OpsApi, Elementwise) {
  Array x = array<float>({-1.5, 0, 2});
  EXPECT_THAT(floats(abs(x)), ElementsAre(1.5, 0, 2));
  EXPECT_THAT(floats(square(x)), ElementsAre(2.25, 0, 4));
  EXPECT_THAT(floats(relu(x)), ElementsAre(0, 0, 2));
  EXPECT_THAT(floats(maximum(x, 1)), ElementsAre(1, 1, 2));
  EXPECT_THAT(floats(power(x, 2)), ElementsAre(2.25, 0, 4));
  EXPECT_THAT(floats(clip(x, -1, 1)), ElementsAre(-1, 0, 1));
  EXPECT_THAT(floats(where(x > 0, x, 7.0)), ElementsAre(7, 7, 2));
  EXPECT_THAT(floats(sin(x)), ElementsAre(FloatNear(std::sin(-1.5F), 1e-6F), 0, FloatNear(std::sin(2.0F), 1e-6F)));
  EXPECT_THAT(floats(softmax(zeros({4}))), ElementsAre(0.25, 0.25, 0.25, 0.25));
  EXPECT_EQ(astype(x, int32).dtype(), int32);
}

TEST(OpsApi, ShapesAndProducts) {
  Array x = arange(6, float32).reshape({2, 3});
  EXPECT_EQ(reshape(x, {3, -1}).shape(), (Shape{3, 2}));
  EXPECT_THAT(floats(transpose(x)), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(transpose(x, {0, 1}).shape(), (Shape{2, 3}));
  EXPECT_EQ(broadcast_to(x, {4, 2, 3}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(expand_dims(x, 1).shape(), (Shape{2, 1, 3}));
  EXPECT_EQ(squeeze(expand_dims(x, {0, 1})).shape(), (Shape{2, 3}));
  EXPECT_THAT(floats(matmul(x, transpose(x))), ElementsAre(5, 14, 14, 50));
  EXPECT_THAT(floats(einsum("ij,kj->ik", x, x)), ElementsAre(5, 14, 14, 50));
  EXPECT_THAT(floats(einsum("ij,kj->ik", std::vector<Array>{x, x})), ElementsAre(5, 14, 14, 50));
  EXPECT_THAT(floats(einsum("ij->j", x)), ElementsAre(3, 5, 7));
  EXPECT_THAT(floats(dot(x, array<float>({1, 1, 1}))), ElementsAre(3, 12));
}

std::string at_line(int line) { return fmt::format("ops_api_test.cpp:{}", line); }

// Operators cannot have default arguments; the conversion of their operands carries the line.
TEST(OpsApi, ErrorsNameTheUsersLine) {
  Array x = zeros({2}), y = zeros({3});
  EXPECT_THAT(error_of([&] { add(x, y); }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { x + y; }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { sum(x, 7); }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { sum(x, {0, 7}); }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { max(x, {.axis = 7}); }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { einsum("i,i->", x, y); }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { einsum("i,i->", {x, y}); }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { zeros({-1}); }), HasSubstr(at_line(__LINE__)));
}

TEST(OpsApi, ErrorsOfShardingsNameTheUsersLine) {
  Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  EXPECT_THAT(error_of([&] { NamedSharding(mesh, P("z")); }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { make_mesh({4, 2}, {"x"}); }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { make_mesh({4, 2}, {"x", "x"}); }), HasSubstr(at_line(__LINE__)));
  Sharding rows = NamedSharding(mesh, P("x"));
  EXPECT_THAT(error_of([&] { device_put(ones({6}), rows); }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { device_put(ones({}), rows); }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { device_put(device_put(ones({8}), rows), P("z")); }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { device_put(std::vector<Array>{ones({8}), ones({6})}, rows); }), HasSubstr(at_line(__LINE__)));
  auto same = [](const Array& x) { return x; };
  EXPECT_THAT(error_of([&] { jit(same, {.out_shardings = {rows}})(ones({6})); }), HasSubstr(at_line(__LINE__)));
  EXPECT_THAT(error_of([&] { shard_map(same, {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P("x")}})(ones({6})); }),
              HasSubstr(at_line(__LINE__ - 1)));
  EXPECT_THAT(error_of([&] { shard_map(same, {.mesh = mesh, .in_specs = {P("x")}, .out_specs = {P()}})(ones({8})); }),
              HasSubstr(at_line(__LINE__ - 1)));
}

TEST(OpsApi, WithShardingConstraintPlaces) {
  Sharding sharding = NamedSharding(make_mesh({2}, {"x"}), P("x"));
  Array x = with_sharding_constraint(arange(8), sharding);
  EXPECT_TRUE(x.sharding().is_equivalent_to(sharding, x.shape()));
  EXPECT_TRUE(with_sharding_constraint(x, P()).is_fully_replicated());
  EXPECT_EQ(sum(x).item<std::int32_t>(), 28);
}

}  // namespace
