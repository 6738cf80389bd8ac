// Programs of JAX's pages "Debugging runtime values" and "External callbacks", with what JAX 0.10.2 prints and computes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/exec/autodiff.h"
#include "runtime/exec/callbacks.h"
#include "runtime/exec/control_flow.h"
#include "runtime/exec/custom_derivatives.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "runtime/exec/vmap.h"
#include "tests/support/eight_devices.h"

namespace shardlab {
namespace {

using Floats = std::vector<float>;

using CallbacksOfThePages = OnEightDevices;

TEST_F(CallbacksOfThePages, AGradientIsPrintedOnItsWayBack) {
  auto print_grad = [](const Array& x) {
    return custom_vjp([](const Array& y) { return y; }, [](const Array& y) { return std::pair(y, std::tuple<>()); },
                      [](const std::tuple<>&, const Array& g) {
                        debug::print("x_grad: {}", g);
                        return std::tuple(g);
                      })(x);
  };
  auto f = [&](const Array& x) { return print_grad(x) * 2.0; };
  EXPECT_EQ(printed([&] { grad(f)(ones({})); }), "x_grad: 2.0\n");
  EXPECT_EQ(printed([&] { jit(grad(f))(ones({})); }), "x_grad: 2.0\n");
}

TEST_F(CallbacksOfThePages, MapsLoopsAndBranchesPrintAsTheyRun) {
  const Array xs = arange(3.0);
  auto show = [](const Array& x) {
    debug::print("x: {}", x);
    return x;
  };
  EXPECT_EQ(printed([&] { vmap(show)(xs); }), "x: 0.0\nx: 1.0\nx: 2.0\n");
  EXPECT_EQ(printed([&] { map(show, xs); }), "x: 0.0\nx: 1.0\nx: 2.0\n");
  auto loop = jit([](const Array& n) {
    return while_loop([&](const Array& i) { return i < n; },
                      [](const Array& i) {
                        debug::print("loop {}", i);
                        return i + 1;
                      },
                      zeros({}, int32));
  });
  EXPECT_EQ(printed([&] { loop(full({}, 3)); }), "loop 0\nloop 1\nloop 2\n");
  // The element that diverges is printed alone: a branch by a value of one.
  auto guard = jit([](const Array& x) {
    auto bad = any(isnan(log(x)));
    return cond(
        bad,
        [](const Array& y) {
          debug::print("nan in {}", y);
          return y;
        },
        [](const Array& y) { return y; }, x);
  });
  EXPECT_EQ(printed([&] { guard(array<float>({1, 2})); }), "");
  EXPECT_EQ(printed([&] { guard(array<float>({1, -2})); }), "nan in [ 1. -2.]\n");
}

// The Bessel function of the first kind by the host's library, with its derivative.
Array jv(int v, const Array& z) {
  auto on_host = [v](const HostArrays& args) {
    Floats values = args[0].to_vector<float>();
    for (float& x : values) x = float(v < 0 ? -std::cyl_bessel_j(double(-v), double(x)) : std::cyl_bessel_j(double(v), double(x)));
    return HostArray(values, args[0].shape());
  };
  auto call = [on_host](const Array& x) { return pure_callback(on_host, x.type(), {x}, {.vmap_method = "expand_dims"}); };
  auto rule = [v, call](const std::tuple<Array>& primals, const std::tuple<Array>& tangents) {
    const Array& x = std::get<0>(primals);
    Array slope = v == 0 ? -jv(1, x) : (jv(v - 1, x) - jv(v + 1, x)) / 2;
    return std::pair(call(x), slope * std::get<0>(tangents));
  };
  return custom_jvp(call, rule, "jv")(z);
}

TEST_F(CallbacksOfThePages, AFunctionOfTheHostsLibraryHasDerivativesAndBatches) {
  const Array z = arange(4.0);
  const Floats j0{1.0F, 0.7651977F, 0.22389078F, -0.26005196F}, dj0{0, -0.44005057F, -0.5767248F, -0.33905897F};
  const Floats d2j0{-0.5F, -0.3251471F, 0.06447163F, 0.37307160F};
  auto near = [](const Floats& wanted) { return testing::Pointwise(testing::FloatNear(1e-6F), wanted); };
  auto f = [](const Array& x) { return jv(0, x); };
  EXPECT_THAT(f(z).to_vector<float>(), near(j0));
  EXPECT_THAT(jit(f)(z).to_vector<float>(), near(j0));
  EXPECT_THAT(jit(vmap(f))(z).to_vector<float>(), near(j0));
  auto slope = [&](const Array& x) { return grad(f)(x); };
  EXPECT_THAT(vmap(slope)(z).to_vector<float>(), near(dj0));
  EXPECT_THAT(jit(vmap(slope))(z).to_vector<float>(), near(dj0));
  EXPECT_THAT(vmap([&](const Array& x) { return grad(slope)(x); })(z).to_vector<float>(), near(d2j0));
  Mesh mesh({4}, {"i"}, {0, 1, 2, 3});
  EXPECT_THAT(jit(f)(device_put(z, NamedSharding(mesh, P("i")))).to_vector<float>(), near(j0));
  auto devices = shard_map(f, {.mesh = mesh, .in_specs = {P("i")}, .out_specs = {P("i")}});
  EXPECT_THAT(jit(devices)(z).to_vector<float>(), near(j0));
}

TEST_F(CallbacksOfThePages, StateOfTheHostIsUpdatedByIoCallbacks) {
  int state = 0;
  auto host_step = [&](const HostArrays& args) {
    state += args[0].item<int>();
    return HostArray(state);
  };
  auto counted = jit([&](const Array& x) { return x * io_callback(host_step, {DType::kInt32, {}}, {1}, {.ordered = true}); });
  const Array x = arange(3);
  EXPECT_EQ(counted(x).to_vector<int>(), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(counted(x).to_vector<int>(), (std::vector<int>{0, 2, 4}));
  EXPECT_EQ(state, 2);
  std::vector<std::pair<int, float>> log;
  auto train = jit([&](const Array& w) {
    return fori_loop(
        0, 3,
        [&](const Array& i, const Array& at) {
          io_callback([&](const HostArrays& args) { return log.emplace_back(args[0].item<int>(), args[1].item<float>()), HostArrays(); },
                      std::vector<TensorType>{}, {i, sum(at * at)}, {.ordered = true});
          return at - 0.25 * (2 * at);
        },
        w);
  });
  train(ones({4})).block_until_ready();
  EXPECT_THAT(log, testing::ElementsAre(testing::Pair(0, 4.0F), testing::Pair(1, 1.0F), testing::Pair(2, 0.25F)));
}

}  // namespace
}  // namespace shardlab
