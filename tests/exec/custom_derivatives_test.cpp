// stop_gradient, checkpoint, custom_jvp and custom_vjp: values, derivatives and batches against plain functions, in jit, in per-device
// code, in loops, on sharded arrays; what is saved; the errors of rules that do not fit.
#include "runtime/exec/custom_derivatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/context.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "runtime/exec/vmap.h"
#include "tests/support/eight_devices.h"

namespace shardlab {

struct Pieces {
  Array w, b;
};
SHARDLAB_TREE(Pieces, w, b)

namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Not;

class CustomDerivatives : public OnEightDevices {
 protected:
  Mesh mesh = Mesh({4, 2}, {"a", "b"}, {5, 1, 2, 0, 7, 4, 6, 3});
};

int count_of(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// ---- stop_gradient, relu

TEST_F(CustomDerivatives, StoppedGradientsAreConstant) {
  auto f = [](const Array& x) { return sum(x * stop_gradient(x)); };
  Array x = arange(3, float32) * 0.5;
  EXPECT_THAT(grad(f)(x).to_vector<float>(), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(jit(grad(f))(x).to_vector<float>(), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(jit(f).lower(x).compile().as_text(), Not(HasSubstr("stop_gradient")));
}

TEST_F(CustomDerivatives, SoftmaxAndLogsumexpTakeTheirMaximumForAConstant) {
  for (auto f : {std::function<Array(const Array&)>([](const Array& x) {
                   return sum(softmax(x, 1) * wave({5, 4}, 1.1));
                 }),
                 std::function<Array(const Array&)>([](const Array& x) {
                   return sum(log_softmax(x, 1) * wave({5, 4}, 1.1));
                 }),
                 std::function<Array(const Array&)>([](const Array& x) { return logsumexp(x); })}) {
    std::string text = jit(grad(f)).lower(wave({5, 4})).as_text();
    EXPECT_EQ(count_of(text, "= equal("), 0) << text;  // of the maximum's derivative
  }
}

TEST_F(CustomDerivatives, ReluHasNoSlopeAtZero) {
  Array x = array(std::vector<float>{-1, 0, 2});
  EXPECT_THAT(relu(x).to_vector<float>(), ElementsAre(0, 0, 2));
  EXPECT_THAT(grad([](const Array& y) { return sum(relu(y)); })(x).to_vector<float>(), ElementsAre(0, 0, 1));
  EXPECT_TRUE(std::isnan(relu(full({}, std::nan(""))).item<float>()));
}

// ---- checkpoint

Array block(const Array& w, const Array& x) { return sin(matmul(tanh(matmul(x, w)), w)); }

TEST_F(CustomDerivatives, CheckpointChangesNoValue) {
  Array w = wave({6, 6}), x = wave({8, 6}, 0.4);
  auto loss = [](auto f) { return [f](const Array& v, const Array& y) { return sum(f(v, f(v, y))); }; };
  auto plain = loss(block);
  auto saved = loss(checkpoint(block));
  for (const CheckpointPolicy& policy :
       {checkpoint_policies::nothing_saveable, checkpoint_policies::everything_saveable, checkpoint_policies::dots_saveable,
        checkpoint_policies::dots_with_no_batch_dims_saveable, checkpoint_policies::save_only_these_names({"h"})}) {
    auto f = loss(checkpoint(block, {.policy = policy}));
    auto [gw, gx] = grad<0, 1>(f)(w, x);
    auto [ww, wx] = grad<0, 1>(plain)(w, x);
    expect_same(gw, ww, policy.name);
    expect_same(gx, wx, policy.name);
  }
  expect_same(saved(w, x), plain(w, x), "eager value");
  expect_same(jit(saved)(w, x), plain(w, x), "value in jit");
  expect_same(std::get<1>(jvp(saved, std::tuple(w, x), std::tuple(w * 0.3, x))),
              std::get<1>(jvp(plain, std::tuple(w, x), std::tuple(w * 0.3, x))), "tangent");
  auto slope = [&](auto f) { return [f](const Array& v, const Array& y) { return sum(square(grad(f)(v, y))); }; };
  expect_same(jit(grad(slope(saved)))(w, x), grad(slope(plain))(w, x), "gradient of the gradient", 2e-4F);
  expect_same(vmap(checkpoint(block), {.in_axes = {std::nullopt, 0}})(w, wave({3, 8, 6})),
              vmap(block, {.in_axes = {std::nullopt, 0}})(w, wave({3, 8, 6})), "batch");
}

TEST_F(CustomDerivatives, CheckpointSavesOperandsAndComputesAgain) {
  Array w = wave({6, 6}), x = wave({8, 6}, 0.4);
  auto products = [&](auto f) {
    auto loss = [f](const Array& v, const Array& y) { return sum(f(v, y)); };
    // The text has every op twice: in the graph, and as a step.
    return count_of(jit(value_and_grad(loss)).lower(w, x).compile().as_text(), "= dot_general(") / 2;
  };
  // Forward 2, backward 3: of the first product only w's cotangent is asked for. What is computed again: both products.
  EXPECT_EQ(products(block), 5);
  EXPECT_EQ(products(checkpoint(block)), 7);
  EXPECT_EQ(products(checkpoint(block, {.policy = checkpoint_policies::dots_saveable})), 5);
  EXPECT_EQ(products(checkpoint(block, {.policy = checkpoint_policies::dots_with_no_batch_dims_saveable})), 5);
  EXPECT_EQ(products(checkpoint(block, {.policy = checkpoint_policies::everything_saveable})), 5);
  auto named = [](const Array& v, const Array& y) { return sin(matmul(tanh(checkpoint_name(matmul(y, v), "h")), v)); };
  EXPECT_EQ(products(checkpoint(named, {.policy = checkpoint_policies::save_only_these_names({"h"})})), 6);
  EXPECT_EQ(products(checkpoint(named, {.policy = checkpoint_policies::save_only_these_names({"other"})})), 7);
}

// What a scan saves of each iteration shows in its stacked results.
TEST_F(CustomDerivatives, ACheckpointedBodyOfAScanStacksItsCarryAlone) {
  Array w = wave({4, 4}), x = wave({3, 4}, 0.4);
  auto run = [&](auto f) {
    return [f](const Array& v, const Array& y) {
      return sum(fori_loop(
          0, 5, [&](const Array&, const Array& c) { return f(v, c); }, y));
    };
  };
  auto stacked = [&](auto f) { return count_of(jit(grad(run(f))).lower(w, x).as_text(), "float32[5,"); };
  EXPECT_LT(stacked(checkpoint(block)), stacked(block));
  expect_same(grad(run(checkpoint(block)))(w, x), grad(run(block))(w, x), "gradient");
}

// A policy keeps what it saves of each turn of a loop, and of the branch that is taken.
TEST_F(CustomDerivatives, APolicyKeepsWithinLoopsAndBranches) {
  Array w = wave({4, 4}, 0.9), x = wave({3, 4}, 0.4);
  auto step = [](const Array& v, const Array& y) { return sin(matmul(tanh(checkpoint_name(matmul(y, v), "h")), v)); };
  auto loop = [&](const Array& v, const Array& y) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& c) { return step(v, c); }, y);
  };
  auto loops = [&](const Array& v, const Array& y) {
    return fori_loop(
        0, 2, [&](const Array&, const Array& c) { return loop(v, tanh(matmul(c, v))); }, y);
  };
  auto branches = [&](const Array& v, const Array& y) {
    return cond(
        sum(y) > 0.1, [&](const Array& a, const Array& b) { return loop(a, b); },
        [&](const Array& a, const Array& b) { return cos(matmul(b, matmul(a, a))); }, v, y);
  };
  auto products = [&](auto f) {
    return count_of(jit(value_and_grad([f](const Array& v, const Array& y) { return sum(f(v, y)); })).lower(w, x).as_text(),
                    "= dot_general(");
  };
  auto hold = [&](auto f, const char* what, std::vector<int> again) {
    auto slope = [&](auto g) { return grad<0, 1>([g](const Array& v, const Array& y) { return sum(square(g(v, y))); })(w, x); };
    auto [ww, wx] = slope(f);
    std::size_t at = 0;
    for (const CheckpointPolicy& policy : {checkpoint_policies::nothing_saveable, checkpoint_policies::dots_saveable,
                                           checkpoint_policies::save_only_these_names({"h"}), checkpoint_policies::everything_saveable}) {
      auto [gw, gx] = slope(checkpoint(f, {.policy = policy}));
      expect_same(gw, ww, policy.name);
      expect_same(gx, wx, policy.name);
      EXPECT_EQ(products(checkpoint(f, {.policy = policy})) - products(f), again[at++]) << what << ", " << policy.name;
    }
  };
  hold(loop, "a loop", {2, 0, 1, 0});
  hold(loops, "a loop in a loop", {3, 0, 2, 0});
  hold(branches, "branches", {4, 0, 3, 0});
}

TEST_F(CustomDerivatives, CheckpointOfLoopsAndPerDeviceCode) {
  Array x = device_put(wave({8, 4}), NamedSharding(mesh, P("a", "b"))), w = wave({4, 4}, 0.9);
  auto looped = [](const Array& v, const Array& y) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& c) { return sin(matmul(c, v)); }, y);
  };
  auto devices = [m = mesh](const Array& z) {
    return shard_map(checkpoint([](const Array& y) { return sin(y) * psum(sum(y * y), {"a"}); }),
                     {.mesh = m, .in_specs = {P("a")}, .out_specs = {P("a")}})(z);
  };
  auto plain = [m = mesh](const Array& z) {
    return shard_map([](const Array& y) { return sin(y) * psum(sum(y * y), {"a"}); },
                     {.mesh = m, .in_specs = {P("a")}, .out_specs = {P("a")}})(z);
  };
  auto total = [](auto f) { return [f](const auto&... args) { return sum(square(f(args...))); }; };
  expect_same(jit(grad<0>(total(checkpoint(looped))))(w, x), grad<0>(total(looped))(w, x), "loop inside");
  expect_same(grad(total(devices))(x), grad(total(plain))(x), "inside shard_map");
  expect_same(jit(grad(total(checkpoint(devices))))(x), grad(total(plain))(x), "outside and inside shard_map");
}

// ---- custom_jvp

Array log1pexp(const Array& x) {
  auto rule = [](const auto& primals, const auto& tangents) {
    const Array &at = std::get<0>(primals), &along = std::get<0>(tangents);
    return std::pair(log1pexp(at), along * logistic(at));  // calls itself: rules are traced when they are asked for
  };
  return custom_jvp([](const Array& y) { return log1p(exp(y)); }, rule, "log1pexp")(x);
}

TEST_F(CustomDerivatives, AnOwnDerivativeServesForwardAndReverseMode) {
  Array x = full({}, 100.0), v = wave({5});
  EXPECT_THAT(grad(log1pexp)(x).item<float>(), FloatNear(1, 1e-6F));  // exp overflows in the plain function's derivative
  EXPECT_TRUE(std::isnan(grad([](const Array& y) { return log1p(exp(y)); })(x).item<float>()));
  auto slope = [](const Array& y) { return grad(log1pexp)(y); };
  expect_same(vmap(slope)(v), logistic(v), "grad in vmap");
  expect_same(grad([](const Array& y) { return sum(vmap(log1pexp)(y)); })(v), logistic(v), "vmap in grad");
  expect_same(vmap(grad(grad(log1pexp)))(v), logistic(v) * (1 - logistic(v)), "second derivative");
  expect_same(std::get<1>(jvp([](const Array& y) { return jit(log1pexp)(y); }, std::tuple(v), std::tuple(v))), v * logistic(v),
              "tangent in jit");
  expect_same(log1pexp(v), log1p(exp(v)), "value");
}

TEST_F(CustomDerivatives, OwnDerivativesInsideLoopsBranchesAndPerDeviceCode) {
  Array x = device_put(wave({8, 4}), NamedSharding(mesh, P("a", "b")));
  auto twice = custom_jvp(
      [](const Array& y) { return sin(y); },
      [](const auto& primals, const auto& tangents) { return std::pair(sin(std::get<0>(primals)), 2.0 * std::get<0>(tangents)); });
  auto looped = [&](const Array& y) {
    return sum(fori_loop(
        0, 3, [&](const Array&, const Array& c) { return twice(c); }, y));
  };
  expect_same(jit(grad(looped))(x), full({8, 4}, 8.0), "in a loop");
  auto chosen = [&](const Array& y) {
    return sum(cond(
        sum(y) > 100.0, [](const Array& z) { return z; }, twice, y));
  };
  expect_same(grad(chosen)(x), full({8, 4}, 2.0), "in a branch");
  auto devices = [&](const Array& y) {
    return sum(
        shard_map([&](const Array& z) { return twice(z); }, {.mesh = mesh, .in_specs = {P("b", "a")}, .out_specs = {P("b", "a")}})(y));
  };
  expect_same(jit(grad(devices))(x), full({8, 4}, 2.0), "in per-device code");
  EXPECT_THAT(jit(devices).lower(x).compile().as_text(), Not(HasSubstr("custom_jvp")));
}

TEST_F(CustomDerivatives, WhatAFunctionCapturesIsConstantToItsRule) {
  Array scale = full({}, 3.0);
  auto f = [&](const Array& x) {
    auto times = custom_jvp([=](const Array& y) { return y * scale; },
                            [=](const auto& p, const auto& t) { return std::pair(std::get<0>(p) * scale, std::get<0>(t) * scale * 10.0); });
    return sum(times(x));
  };
  expect_same(jit(grad(f))(wave({4})), full({4}, 30.0), "concrete");
  auto g = [](const Array& x, const Array& y) {
    Array inner = stop_gradient(sin(y));
    auto times = custom_jvp([=](const Array& z) { return z * inner; },
                            [=](const auto& p, const auto& t) { return std::pair(std::get<0>(p) * inner, std::get<0>(t) * inner * 10.0); });
    return sum(times(x));
  };
  expect_same(jit(grad(g))(wave({4}), wave({4})), 10.0 * sin(wave({4})), "of the function around");
  auto varying = [](const Array& x) {
    auto times = custom_jvp([=](const Array& z) { return z * x; },
                            [=](const auto& p, const auto& t) { return std::pair(std::get<0>(p), std::get<0>(t)); });
    return sum(times(stop_gradient(x)));
  };
  EXPECT_THAT(error_of([&] { grad(varying)(wave({4})); }),
              HasSubstr("Detected differentiation of a custom_jvp function with respect to a closed-over value."));
}

// ---- custom_vjp

auto clipped(double low, double high) {
  return custom_vjp([](const Array& x) { return x; }, [](const Array& x) { return std::pair(x, std::tuple<>()); },
                    [low, high](const std::tuple<>&, const Array& g) { return std::tuple(clip(g, low, high)); }, "clipped");
}

TEST_F(CustomDerivatives, AnOwnBackwardPass) {
  Array x = wave({6}), sharded = device_put(wave({8}), NamedSharding(mesh, P("a")));
  auto f = [](const Array& y) { return sum(y * clipped(-0.5, 0.5)(y) * 1.0); };
  expect_same(grad(f)(x), x + clip(x, -0.5, 0.5), "gradient");
  Array got = jit(grad(f))(sharded);
  expect_same(got, wave({8}) + clip(wave({8}), -0.5, 0.5), "sharded in jit");
  EXPECT_EQ(got.sharding().spec_text(), sharded.sharding().spec_text());
  auto [y, pull] = vjp(clipped(-0.5, 0.5), x);
  expect_same(y, x, "value");
  expect_same(std::get<0>(pull(full({6}, 7.0))), full({6}, 0.5), "pulled");
  expect_same(vmap(grad([](const Array& z) { return sum(z * clipped(-0.5, 0.5)(z)); }))(wave({3, 6})),
              wave({3, 6}) + clip(wave({3, 6}), -0.5, 0.5), "in vmap");
}

// Trees, integers and static values among the arguments; residuals of two arrays; a parameter that is the same for a batch.
TEST_F(CustomDerivatives, BackwardPassesOverTrees) {
  auto f = [](const Pieces& p, const Array& x, const Array& rows, int power) { return p.w * take(x, rows) * double(power) + p.b; };
  auto layer = custom_vjp(
      f,
      [f](const Pieces& p, const Array& x, const Array& rows, int power) {
        return std::pair(f(p, x, rows, power), std::tuple(take(x, rows), p.w * double(power)));
      },
      [](const std::tuple<Array, Array>& saved, const Array& g) {
        return std::tuple(Pieces{g * std::get<0>(saved), Array()}, zeros({4}) + 1.0, Array(), 0);  // b has none, x a wrong one on purpose
      });
  Array x = wave({4}), rows = array(std::vector<int>{2, 0, 3});
  Pieces p{wave({3}, 1.2), wave({3}, 0.2)};
  auto loss = [&](const Pieces& q, const Array& y) { return sum(layer(q, y, rows, 2)); };
  auto [gp, gx] = jit(grad<0, 1>(loss))(p, x);
  expect_same(gp.w, take(x, rows), "w");
  expect_same(gp.b, zeros({3}), "b");
  expect_same(gx, ones({4}), "x");
  Array batch = wave({5, 4});
  auto over_batch = [&](const Pieces& q) { return sum(vmap([&](const Array& y) { return layer(q, y, rows, 2); })(batch)); };
  Array wanted = take(sum(batch, 0), rows);
  expect_same(grad(over_batch)(p).w, wanted, "the same for a batch");
  auto given = [&](const Pieces& q) {
    return sum(vmap(layer, {.in_axes = {std::nullopt, 0, std::nullopt, std::nullopt}})(q, batch, rows, 2));
  };
  expect_same(grad(given)(p).w, wanted, "summed over the batch");
}

TEST_F(CustomDerivatives, BackwardPassesInsideLoopsAndPerDeviceCode) {
  auto scaled = custom_vjp([](const Array& x) { return sin(x); }, [](const Array& x) { return std::pair(sin(x), x); },
                           [](const Array& x, const Array& g) { return std::tuple(g * cos(x) * 3.0); });
  auto plain = [](const Array& x) { return sin(x); };
  Array x = device_put(wave({8, 4}), NamedSharding(mesh, P("a", "b")));
  auto looped = [](auto f) {
    return [f](const Array& y) {
      return sum(fori_loop(
          0, 2, [&](const Array&, const Array& c) { return f(c); }, y));
    };
  };
  expect_same(jit(grad(looped(scaled)))(x), 9.0 * grad(looped(plain))(x), "in a loop");
  expect_same(grad(looped(checkpoint(scaled)))(x), 9.0 * grad(looped(plain))(x), "in a checkpoint in a loop");
  auto devices = [&](auto f) {
    return [this, f](const Array& y) {
      return sum(shard_map([&](const Array& z) { return f(z) * psum(sum(z), {"a"}); },
                           {.mesh = mesh, .in_specs = {P("a")}, .out_specs = {P("a")}})(y));
    };
  };
  auto frozen = [](const Array& z) { return stop_gradient(sin(z)); };
  expect_same(jit(grad(devices(scaled)))(x) - grad(devices(frozen))(x), 3.0 * (grad(devices(plain))(x) - grad(devices(frozen))(x)),
              "per device", 1e-4F);
  auto second = [&](const Array& y) { return sum(grad([&](const Array& z) { return sum(scaled(z)); })(y)); };
  expect_same(grad(second)(x), -3.0 * sin(x), "gradient of the gradient");
}

TEST_F(CustomDerivatives, ForwardModeOfABackwardPassIsRefused) {
  Array x = wave({3});
  EXPECT_THAT(error_of([&] { jvp(clipped(-1, 1), std::tuple(x), std::tuple(x)); }),
              HasSubstr("can't apply forward-mode differentiation (jvp) to a custom_vjp function."));
  EXPECT_THAT(error_of([&] {
                jvp(
                    [](const Array& y) {
                      return fori_loop(
                          0, 2, [](const Array&, const Array& c) { return clipped(-1, 1)(c); }, y);
                    },
                    std::tuple(x), std::tuple(x));
              }),
              HasSubstr("can't apply forward-mode differentiation (jvp) to a custom_vjp function."));
}

TEST_F(CustomDerivatives, RulesThatDoNotFit) {
  Array x = wave({3});
  auto f = [](const Array& y) { return sin(y); };
  auto with_jvp = [&](auto rule) { return error_of([&] { jvp(custom_jvp(f, rule, "f"), std::tuple(x), std::tuple(x)); }); };
  EXPECT_THAT(
      with_jvp([](const auto& p, const auto& t) { return std::pair(sum(std::get<0>(p)), std::get<0>(t)); }),
      HasSubstr("but instead the JVP rule output's first element had shapes/dtypes of:\n    (float32[])\nwhile the custom_jvp-decorated "
                "function f had output shapes/dtypes of:\n    (float32[3])"));
  EXPECT_THAT(with_jvp([](const auto& p, const auto& t) { return std::pair(sin(std::get<0>(p)), sum(std::get<0>(t))); }),
              HasSubstr("Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. Expected float32[3] "
                        "(tangent type of float32[3]) but got float32[]."));
  EXPECT_THAT(
      with_jvp([](const auto& p, const auto&) { return std::pair(sin(std::get<0>(p)), std::tuple<>()); }),
      HasSubstr("must produce primal and tangent outputs with equal container (pytree) structures, but got 1 and 0 leaves respectively."));
  auto with_vjp = [&](auto fwd, auto bwd) {
    return error_of([&] { grad([&](const Array& y) { return sum(custom_vjp(f, fwd, bwd)(y)); })(x); });
  };
  auto fwd = [](const Array& y) { return std::pair(sin(y), y); };
  EXPECT_THAT(
      with_vjp([](const Array& y) { return std::pair(sum(y), y); }, [](const Array&, const Array& g) { return std::tuple(g); }),
      HasSubstr("but instead the fwd rule output's first element had shapes/dtypes of:\n    (float32[])\nwhile the custom_vjp-decorated"));
  EXPECT_THAT(with_vjp(fwd, [](const Array&, const Array& g) { return std::tuple(sum(g)); }),
              HasSubstr("at output[0] the bwd rule produced an output of type float32[] corresponding to an input of type float32[3]."));
  EXPECT_THAT(
      with_vjp(fwd, [](const Array&, const Array& g) { return std::tuple(g, g); }),
      HasSubstr("in particular must produce a tuple of length equal to the number of arguments to the primal function, but got bwd output "
                "structure (float32[3], float32[3]) for primal input structure (float32[3])"));
}

}  // namespace
}  // namespace shardlab
