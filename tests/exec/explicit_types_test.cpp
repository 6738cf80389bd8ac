// Meshes with Explicit axes: the sharding is part of the type, and what is ambiguous is refused with JAX's text.
#include "runtime/exec/explicit_types.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/auto_axes.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/context.h"
#include "runtime/exec/context_mesh.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/fft.h"
#include "runtime/exec/indexing.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/lax.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
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

TEST(ExplicitTypes, WhatIsMadeLikeAnotherIsCutAsItIs) {
  const Array x = placed({8, 8}, P("i", "j"));
  EXPECT_EQ(typeof_text(jit([](const Array& a) { return zeros_like(a); })(x)), "float32[8@i,8@j]");
  EXPECT_EQ(typeof_text(jit([](const Array& a) { return full_like(a, 2.0); })(x)), "float32[8@i,8@j]");
  EXPECT_EQ(typeof_text(reshard(placed({8}, P("i")), NamedSharding(explicit_mesh(), P("j")))), "float32[8@j]");
}

TEST(ExplicitTypes, RowsAreTakenByIndicesCutAlike) {
  const Array rows = placed({8, 8}, P("i"));
  const Array places = device_put(zeros({8, 1}, int32), NamedSharding(explicit_mesh(), P("i")));
  EXPECT_EQ(typeof_text(take_along_axis(rows, places, 1)), "float32[8@i,1]");
}

TEST(ExplicitTypes, CallsThatJaxRefusesAreRefused) {
  const Array x = placed({8, 8}, P("i", "j")), rows = placed({8, 8}, P("i"));
  EXPECT_THAT(message_of([&] { repeat(x, 2, 0); }), HasSubstr("Please pass sharding to `jnp.repeat` via `out_sharding` parameter."));
  EXPECT_THAT(message_of([&] { trace(x); }), HasSubstr("select `which` must be scalar or have the same sharding as cases"));
  EXPECT_THAT(message_of([&] {
                pad(rows, {{0, 0}, {1, 1}}, "edge");
              }),
              HasSubstr("slicing on sharded dims where out dim (1) is not divisible by mesh axes (4) with spec (i) is not implemented. Got "
                        "input type=f32[8@i,8] and output shape=(1, 8)"));
  EXPECT_THAT(message_of([&] { jit([](const Array& a) { return reshard(a, NamedSharding(explicit_mesh(), P("i"))); })(arange(6.0F)); }),
              HasSubstr("implies that array axis 0 is partitioned 4 times, but does not evenly divide the dimension size 6"));
}

TEST(ExplicitTypes, ReshapesKeepALeadingCut) {
  EXPECT_EQ(typeof_text(reshape(placed({16, 2}, P("i")), {4, 4, 2})), "float32[4@i,4,2]");
  EXPECT_EQ(typeof_text(reshape(placed({4, 4}, P("i")), {16})), "float32[16@i]");
  EXPECT_EQ(typeof_text(reshape(placed({4, 4}, P("i", "j")), {4, 1, 4})), "float32[4@i,1,4@j]");
  EXPECT_THAT(message_of([] { reshape(placed({16}, P("i")), {2, 8}); }), HasSubstr("Got operand type: float32[16@i], new sizes: (2, 8)"));
}

TEST(ExplicitTypes, ReshapesDealTheCutsOfMergedAndSplitDimensions) {
  Array x = placed({8, 8}, P("i", "j")), flat = reshape(x, {64});
  EXPECT_EQ(typeof_text(flat), "float32[64@(i,j)]");
  EXPECT_EQ(flat.to_vector<float>(), arange(64.0).to_vector<float>());
  EXPECT_EQ(typeof_text(ravel(placed({8, 8}, P("i")))), "float32[64@i]");
  Array line = placed({16}, P(SpecEntry{"i", "j"})), square = reshape(line, {4, 4});
  EXPECT_EQ(typeof_text(square), "float32[4@i,4@j]");
  EXPECT_EQ(square.to_vector<float>(), line.to_vector<float>());
  EXPECT_EQ(typeof_text(reshape(line, {8, 2})), "float32[8@(i,j),2]");
  EXPECT_EQ(typeof_text(kron(placed({8}, P("i")), placed({8}, P("j")))), "float32[64@(i,j)]");
  EXPECT_EQ(argmax(x).item<std::int32_t>(), 63);
  EXPECT_THAT(message_of([&] { reshape(line, {2, 8}); }), HasSubstr("Got operand type: float32[16@(i,j)], new sizes: (2, 8)"));
  EXPECT_THAT(message_of([] {
                reshape(placed({4, 4, 8}, P("i", None, "j")), {4, 32});
              }),
              HasSubstr("Got operand type: float32[4@i,4,8@j], new sizes: (4, 32)"));
}

TEST(ExplicitTypes, CapturedArraysKeepTheirs) {
  Array x = placed({8, 8}, P("i", "j")), y = placed({8, 8}, P("j", "i"));
  std::string inside;
  Array alone = jit([&] {
    inside = typeof_text(x);
    return x * 2;
  })();
  EXPECT_EQ(typeof_text(alone), "float32[8@i,8@j]");
  EXPECT_EQ(alone.to_vector<float>(), (x * 2).to_vector<float>());
  EXPECT_EQ(typeof_text(jit([&](const Array& a) { return a + x; })(x)), "float32[8@i,8@j]");
  EXPECT_EQ(typeof_text(jit([&](const Array& a) { return sum(x, 0) * a; })(placed({8}, P("j")))), "float32[8@j]");
  EXPECT_THAT(message_of([&] { jit([&](const Array& a) { return a + y; })(x); }),
              HasSubstr("add got incompatible shardings for broadcasting: ('i', 'j'), ('j', 'i')."));
}

TEST(ExplicitTypes, AmbiguousOnesAreRefused) {
  EXPECT_THAT(message_of([] {
                add(placed({8, 8}, P("i", "j")), placed({8, 8}, P("j", "i")));
              }),
              HasSubstr("add got incompatible shardings for broadcasting: ('i', 'j'), ('j', 'i')."));
  EXPECT_THAT(message_of([] {
                add(placed({8, 1}, P("i")), placed({1, 8}, P(None, "i")));
              }),
              HasSubstr("add operation with inputs: f32[8@i,1], f32[1,8@i] produces an illegally sharded result: f32[8@i,8@i]"));
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

// As jax.lax.conv_general_dilated's: of what else is cut, an out_sharding says how the result lies.
TEST(ExplicitTypes, AConvolutionIsCutAlongBatchAndSpaceAlone) {
  const std::string told = "Please specify the output sharding via `out_sharding` parameter of `conv_general_dilated`";
  Array kernel = placed({8, 2, 3}, P());
  EXPECT_EQ(typeof_text(conv(placed({8, 2, 16}, P("i", None, "j")), kernel, {1}, "SAME")), "float32[8@i,8,16@j]");
  EXPECT_THAT(message_of([&] { conv(placed({8, 2, 16}, P(None, "j")), kernel, {1}, "SAME"); }), HasSubstr(told));
  EXPECT_THAT(message_of([&] { conv(placed({8, 2, 16}, P()), placed({8, 2, 3}, P("i")), {1}, "SAME"); }), HasSubstr(told));
  EXPECT_EQ(typeof_text(conv_general_dilated(placed({8, 2, 16}, P(None, "j")), placed({8, 2, 3}, P("i")), {1}, "SAME",
                                             {.out_sharding = P("j", "i")})),
            "float32[8@j,8@i,16]");
}

// They lie there, once they have a type.
TEST(ExplicitTypes, WhereJitsResultsAreToLieTellsNoTypes) {
  Array x = placed({8, 16}, P("i", "j")), w = placed({16, 8}, P("j"));
  auto f =
      jit([](const Array& a, const Array& b) { return dot(a, b); }, JitOptions{.out_shardings = {NamedSharding(explicit_mesh(), P("i"))}});
  EXPECT_THAT(message_of([&] { f(x, w); }), HasSubstr("ambiguous how the output should be sharded"));
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

TEST(ExplicitTypes, GradientsAndTangentsHaveThoseOfTheirArguments) {
  const Array x = placed({8, 8}, P("i")), unused = placed({8, 8}, P(None, "j"));
  auto [y, pull] = vjp([](const Array& a, const Array&) { return sin(a); }, x, unused);
  const auto [of_x, of_unused] = pull(ones_like(y));
  EXPECT_EQ(typeof_text(of_x), "float32[8@i,8]");
  EXPECT_EQ(typeof_text(of_unused), "float32[8,8@j]");
  jit([](const Array& a) { return add(a, a); }, {.donate_argnums = {0}})(unused);  // whose type nobody can tell any more
  EXPECT_EQ(typeof_text(std::get<0>(pull(ones_like(y)))), "float32[8@i,8]");
  const auto [value, tangent] = jvp([](const Array& a) { return sin(a); }, std::tuple{x}, std::tuple{placed({8, 8}, P(None, "i"))});
  EXPECT_EQ(typeof_text(tangent), "float32[8@i,8]");
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

// While a function is traced types tell what is known: as jax.typeof inside jit.
TEST(TypesInTrace, AreThoseOfJax) {
  MeshScope scope(explicit_mesh());
  std::vector<std::string> seen;
  auto see = [&](const Array& x) {
    seen.push_back(typeof_text(x));
    return x;
  };
  Array w = placed({4, 2}, P("j")), x = placed({8, 4}, P("i", "j"));
  auto f = jit([&](const Array& weights, const Array& rows) {
    auto loss = [&](const Array& v) { return sum(see(dot(rows, see(v), {.out_sharding = P("i", nullptr)}))); };
    see(grad(loss)(weights));
    see(vmap([&](const Array& row) { return see(row) * 2; })(rows));
    scan(
        [&](const Array& carry, const Array& each) {
          return std::pair{see(carry), see(each)};
        },
        weights, ones({3, 4}, {}, {.out_sharding = P(nullptr, "i")}));
    see(auto_axes([&](const Array& y) { return see(y) * 2; }, {.out_sharding = {P("i", "j")}, .axes = {"i"}})(see(rows)));
    return see(sum(transpose(rows), 0));
  });
  f(w, x);
  EXPECT_THAT(
      seen, testing::ElementsAre("float32[4@j,2]", "float32[8@i,2]", "float32[4@j,2]", "float32[4@j]", "float32[8@i,4@j]", "float32[4@j,2]",
                                 "float32[4@i]", "float32[8@i,4@j]", "float32[8,4@j]", "float32[8@i,4@j]", "float32[8@i]"));
}

TEST(TypesInTrace, AreWithoutCutsOnAutoAxes) {
  Array x = device_put(ones({8, 8}), NamedSharding(make_mesh({4, 2}, {"i", "j"}), P("i", "j")));
  std::string seen;
  jit([&](const Array& y) {
    seen = typeof_text(y);
    return y;
  })(x);
  EXPECT_EQ(seen, "float32[8,8]");
}

TEST(TypesInTrace, TellWhatVariesInPerDeviceCode) {
  std::vector<std::string> seen;
  auto see = [&](const Array& x) { seen.push_back(typeof_text(x)); };
  MeshScope scope(make_mesh({4, 2}, {"i", "j"}));
  for (bool check : {true, false})
    shard_map(
        [&](const Array& x, const Array& y) {
          see(x);
          see(x * sum(y));
          see(psum(x * sum(y), "j"));
          see(axis_index("i"));
          return psum(x * sum(y), "j");
        },
        {.in_specs = {P("i"), P("j")}, .out_specs = {P("i")}, .check_vma = check})(arange(8.0), arange(4.0));
  EXPECT_THAT(seen, testing::ElementsAre("float32[2]{V:i}", "float32[2]{V:(i,j)}", "float32[2]{V:i}", "int32[]{V:i}", "float32[2]",
                                         "float32[2]", "float32[2]", "int32[]"));
}

TEST(TypesInTrace, InSpecsComeFromTypesOnExplicitAxesAlone) {
  auto doubled = [](const Array& x) { return x * 2; };
  EXPECT_THAT(message_of([&] { shard_map(doubled, {.out_specs = {P("i")}})(placed({8}, P("i"))); }),
              HasSubstr("The context mesh cannot be empty. Use `jax.set_mesh(mesh)`"));
  EXPECT_EQ(typeof_text(shard_map(doubled, {.mesh = explicit_mesh(), .out_specs = {P("i")}})(placed({8}, P("i")))), "float32[8@i]");
  MeshScope scope(make_mesh({4, 2}, {"i", "j"}));
  EXPECT_THAT(message_of([&] { shard_map(doubled, {.out_specs = {P("i")}})(ones({8})); }),
              HasSubstr("shard_map in_specs argument must be a pytree of `jax.sharding.PartitionSpec` instances"));
}

TEST(ExplicitTypes, FourierTransformsAreCutAsTheirOperand) {
  EXPECT_EQ(typeof_text(fft::fft(placed({8, 8}, P("i", "j")), {.axis = 0})), "complex64[8@i,8@j]");
  EXPECT_THAT(message_of([] {
                fft::rfft(placed({8, 8}, P("i", "j")));
              }),
              HasSubstr("Sharding spec ('j',) implies that array axis 1 is partitioned 2 times, but does not evenly divide the dimension "
                        "size 5. Got shape: (8, 5)"));
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
