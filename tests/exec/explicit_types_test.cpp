// Meshes with Explicit axes: the sharding is part of the type, and what is ambiguous is refused with JAX's text.
#include "runtime/exec/explicit_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/context.h"
#include "runtime/exec/indexing.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/lax.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/unconstrained.h"
#include "runtime/exec/visualize.h"
#include "runtime/exec/vmap.h"

namespace shardlab {
namespace {

using testing::HasSubstr;

Mesh explicit_mesh() {
  return make_mesh({4, 2}, {"i", "j"}, MeshOptions{.axis_types = {AxisType::kExplicit, AxisType::kExplicit}, .devices = {}});
}

Array placed(const Shape& shape, const P& spec) {
  return device_put(arange(float(element_count(shape))).reshape(shape), NamedSharding(explicit_mesh(), spec));
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const UserError& error) { return error.what(); }
  return "nothing was thrown";
}

TEST(ExplicitTypes, AreWrittenAsJaxDoes) {
  EXPECT_EQ(typeof_text(placed({8, 8}, P("i", "j"))), "float32[8@i,8@j]");
  EXPECT_EQ(typeof_text(placed({8, 3}, P(SpecEntry{"i", "j"}))), "float32[8@(i,j),3]");
  EXPECT_EQ(typeof_text(placed({8}, P())), "float32[8]");
}

TEST(ExplicitTypes, FollowFromTheOperands) {
  EXPECT_EQ(typeof_text(add(placed({8, 8}, P("i")), placed({8, 8}, P(None, "j")))), "float32[8@i,8@j]");
  EXPECT_EQ(typeof_text(add(placed({8, 8}, P("i", "j")), placed({1, 8}, P(None, "j")))), "float32[8@i,8@j]");
  EXPECT_EQ(typeof_text(matmul(placed({8, 8}, P("i")), placed({8, 8}, P(None, "j")))), "float32[8@i,8@j]");
  EXPECT_EQ(typeof_text(matmul(placed({8, 8}, P(None, "i")), placed({8, 8}, P()))), "float32[8,8]");
  EXPECT_EQ(typeof_text(sum(placed({8, 8}, P("i", "j")), 0)), "float32[8@j]");
  EXPECT_EQ(typeof_text(transpose(placed({8, 4}, P("i", "j")))), "float32[4@j,8@i]");
}

TEST(ExplicitTypes, ReshapesKeepALeadingCut) {
  EXPECT_EQ(typeof_text(reshape(placed({16, 2}, P("i")), {4, 4, 2})), "float32[4@i,4,2]");
  EXPECT_EQ(typeof_text(reshape(placed({4, 4}, P("i")), {16})), "float32[16@i]");
  EXPECT_EQ(typeof_text(reshape(placed({4, 4}, P("i", "j")), {4, 1, 4})), "float32[4@i,1,4@j]");
  EXPECT_THAT(message_of([] { reshape(placed({16}, P("i")), {2, 8}); }), HasSubstr("Got operand type: float32[16@i], new sizes: (2, 8)"));
}

TEST(ExplicitTypes, AmbiguousOnesAreRefused) {
  EXPECT_THAT(message_of([] {
                add(placed({8, 8}, P("i", "j")), placed({8, 8}, P("j", "i")));
              }),
              HasSubstr("add got incompatible shardings for broadcasting: ('i', 'j'), ('j', 'i')."));
  EXPECT_THAT(message_of([] {
                add(placed({8, 1}, P("i")), placed({1, 8}, P(None, "i")));
              }),
              HasSubstr("produces an illegally sharded result: float32[8@i,8@i]"));
  EXPECT_THAT(
      message_of([] {
        matmul(placed({8, 8}, P(None, "j")), placed({8, 8}, P("j")));
      }),
      HasSubstr("Contracting dimensions are sharded and it is ambiguous how the output should be sharded. Please specify the output "
                "sharding via the `out_sharding` parameter. Got lhs_contracting_spec=('j',) and rhs_contracting_spec=('j',)"));
  EXPECT_THAT(message_of([] {
                matmul(placed({8, 8}, P(None, "j")), placed({8, 8}, P("i")));
              }),
              HasSubstr("dot_general requires contracting dimensions to have consistent sharding, got ('j',) and ('i',)."));
  EXPECT_THAT(message_of([] { matmul(placed({8, 8}, P(None, "j")), placed({8, 8}, P("j"))); }), HasSubstr("explicit_types_test.cpp"));
}

TEST(ExplicitTypes, AnOutShardingResolvesAContraction) {
  Array x = placed({8, 8}, P(None, "j")), y = placed({8, 8}, P("j"));
  Array z = jit([](const Array& a, const Array& b) { return matmul(a, b, {.out_sharding = P("i")}); })(x, y);
  EXPECT_EQ(typeof_text(z), "float32[8@i,8]");
  auto late = jit([](const Array& a, const Array& b) { return reshard(matmul(a, b), P("i")); });
  EXPECT_THAT(message_of([&] { late(x, y); }), HasSubstr("Contracting dimensions are sharded and it is ambiguous"));
}

TEST(ExplicitTypes, FunctionsTakeAnOutSharding) {
  Array x = placed({8, 16}, P("i", "j")), w = placed({16, 8}, P("j"));
  EXPECT_EQ(typeof_text(dot(x, w, {.out_sharding = P("i")})), "float32[8@i,8]");
  EXPECT_EQ(typeof_text(matmul(x, w, {.out_sharding = NamedSharding(explicit_mesh(), P("j", "i"))})), "float32[8@j,8@i]");
  EXPECT_EQ(typeof_text(einsum("bd,df->fb", x, w, {.out_sharding = P(None, "i")})), "float32[8,8@i]");
  EXPECT_EQ(typeof_text(dot_general(x, w, {{1}, {0}}, {}, {.out_sharding = P()})), "float32[8,8]");
  EXPECT_EQ(typeof_text(reshape(placed({16}, P("i")), {2, 8}, {.out_sharding = P(None, "i")})), "float32[2,8@i]");
  Array rows = device_put(array<std::int32_t>({0, 5, 2, 7}), NamedSharding(explicit_mesh(), P()));
  EXPECT_THAT(message_of([&] { x[rows]; }), HasSubstr(".at[...].get(out_sharding=)"));
  EXPECT_THAT(message_of([&] { placed({8, 2}, P())[device_put(rows, P("i"))]; }), HasSubstr(".at[...].get(out_sharding=)"));
  EXPECT_EQ(typeof_text(x.at(rows).get({.out_sharding = P("i", "j")})), "float32[4@i,16@j]");
  EXPECT_EQ(typeof_text(x.at({rows, newaxis}).get({.out_sharding = P("i", None, "j")})), "float32[4@i,1,16@j]");
  EXPECT_EQ(typeof_text(x.at(rows).add(1.0, {.out_sharding = P("i", "j")})), "float32[8@i,16@j]");
  auto f = jit([](const Array& a, const Array& b) { return dot(tanh(a), b, {.out_sharding = P("j", None)}); });
  EXPECT_EQ(typeof_text(f(x, w)), "float32[8@j,8]");
  EXPECT_THAT(message_of([&] { dot(x, w, {.out_sharding = P("z")}); }), HasSubstr("explicit_types_test.cpp"));
  EXPECT_THAT(message_of([&] { dot(ones({2, 2}), ones({2, 2}), {.out_sharding = P("i")}); }), HasSubstr("there is no mesh for the spec"));
}

TEST(ExplicitTypes, HoldInsideJitOpByOp) {
  auto f = jit([](const Array& a, const Array& b) { return sum(multiply(a, b), 1); });
  EXPECT_EQ(typeof_text(f(placed({8, 8}, P("i")), placed({8, 8}, P("i", "j")))), "float32[8@i]");
  EXPECT_THAT(message_of([&] { f(placed({8, 8}, P("i")), placed({8, 8}, P("j"))); }), HasSubstr("incompatible shardings"));
}

TEST(ExplicitTypes, AConstraintIsAnAssertion) {
  Array x = placed({8, 8}, P("i"));
  EXPECT_NO_THROW(with_sharding_constraint(x, P("i")));
  EXPECT_THAT(message_of([&] { with_sharding_constraint(x, P("j")); }), HasSubstr("acts as an assert when all axes of mesh are of type"));
  auto f = jit([](const Array& a) { return with_sharding_constraint(multiply(a, 2.0f), NamedSharding(explicit_mesh(), P("j"))); });
  EXPECT_THAT(message_of([&] { f(x); }), HasSubstr("acts as an assert when all axes of mesh are of type"));
  EXPECT_EQ(typeof_text(reshard(x, P("j", "i"))), "float32[8@j,8@i]");
}

TEST(Donation, DeletesWhatAResultReplaces) {
  Mesh mesh = make_mesh({8}, {"i"});
  Array x = device_put(arange(16), NamedSharding(mesh, P("i"))), y = device_put(arange(16), NamedSharding(mesh, P("i")));
  auto f = jit([](const Array& a, const Array& b) { return add(a, b); }, {.name = "step", .donate_argnums = {0, 1}});
  Array z = f(x, y);
  EXPECT_EQ(z.to_vector<std::int32_t>()[15], 30);
  EXPECT_THAT(message_of([&] { x.to_vector<std::int32_t>(); }), HasSubstr("Array has been deleted with shape=int32[16]."));
  EXPECT_THAT(message_of([&] { add(x, 1); }), HasSubstr("Array has been deleted"));
  EXPECT_EQ(y.to_vector<std::int32_t>()[3], 3) << "one result replaces one argument";
}

TEST(Donation, SparesWhatNoResultCanReplaceAndWhatIsGivenTwice) {
  Array x = device_put(arange(16), NamedSharding(make_mesh({8}, {"i"}), P("i")));
  jit([](const Array& a) { return sum(a); }, {.donate_argnums = {0}})(x);
  EXPECT_EQ(x.to_vector<std::int32_t>()[5], 5);
  jit([](const Array& a, const Array& b) { return add(a, b); }, {.donate_argnums = {0}})(x, x);
  EXPECT_EQ(x.to_vector<std::int32_t>()[5], 5);
  EXPECT_THAT(message_of([&] { jit([](const Array& a) { return a; }, {.donate_argnums = {2}})(x); }),
              HasSubstr("Jitted function has donate_argnums=(2,), but only accepts 1 positional arguments."));
}

TEST(Donation, GoesToAnyResultOfAsManyBytesOnEachDevice) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  auto is_gone = [&](auto f, std::vector<std::optional<Sharding>> out = {}) {
    Array x = device_put(reshape(arange(64.0), {8, 8}), NamedSharding(mesh, P("a", "b")));
    jit(f, {.out_shardings = std::move(out), .donate_argnums = {0}})(x);
    return message_of([&] { x.to_vector<float>(); }) != "nothing was thrown";
  };
  auto plus = [](const Array& x) { return x + 1.0; };
  EXPECT_TRUE(is_gone(plus, {NamedSharding(mesh, P("b", "a"))}));
  EXPECT_TRUE(is_gone([](const Array& x) { return transpose(x); }));
  EXPECT_TRUE(is_gone([](const Array& x) { return astype(x, DType::kInt32); }));
  EXPECT_FALSE(is_gone([](const Array& x) { return astype(x, DType::kBfloat16); }));
  EXPECT_FALSE(is_gone(plus, {NamedSharding(mesh, P())}));
  EXPECT_FALSE(is_gone([](const Array& x) { return sum(x, {.axis = 0}); }));
}

TEST(Unconstrained, DimensionsLieAsTheyCome) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  Array x = device_put(ones({8, 8}), NamedSharding(mesh, P("a", "b")));
  auto held = [&](const PartitionSpec& spec) {
    return jit([&](const Array& y) { return with_sharding_constraint(sin(y), mesh, spec); })(x).sharding().spec_text();
  };
  EXPECT_EQ(held(P(UNCONSTRAINED, nullptr)), "P('a', None)");
  EXPECT_EQ(held(P(nullptr, UNCONSTRAINED)), "P(None, 'b')");
  EXPECT_EQ(with_sharding_constraint(x, P(UNCONSTRAINED, nullptr)).sharding().spec_text(), "P('a', None)");
  EXPECT_EQ(P(UNCONSTRAINED, "a").text(), "P(UNCONSTRAINED, 'a')");
  EXPECT_THAT(message_of([&] { NamedSharding(mesh, P(UNCONSTRAINED, "a")); }), HasSubstr("Unconstrained dims are not allowed"));
  EXPECT_THAT(message_of([] {
                with_sharding_constraint(ones({8, 8}), explicit_mesh(), P(UNCONSTRAINED, "i"));
              }),
              HasSubstr("cannot contain `P.UNCONSTRAINED` when no mesh axis_types are `Auto`"));
}

TEST(Unconstrained, IsTheBatchOfAConstraint) {
  Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  Array x = device_put(ones({8, 8}), NamedSharding(mesh, P("a", nullptr))), free = ones({8, 8});
  auto row = [&](const Array& each) { return with_sharding_constraint(sin(each), NamedSharding(mesh, P("b"))); };
  EXPECT_EQ(jit(vmap(row))(x).sharding().spec_text(), "P('a', 'b')");
  EXPECT_EQ(jit(vmap(row))(free).sharding().spec_text(), "P(None, 'b')");
}

}  // namespace
}  // namespace shardlab
