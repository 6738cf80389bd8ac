// Derivatives and batches through loops, branches and per-device code: against the same computation written out, on one device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/exec/array_ops.h"
#include "runtime/exec/autodiff.h"
#include "runtime/exec/context.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/shard_map.h"
#include "runtime/exec/vmap.h"
#include "tests/support/eight_devices.h"

namespace shardlab {
namespace {

using ::testing::HasSubstr;
using Arrays = std::vector<Array>;
using Function = std::function<Array(const Arrays&)>;

class RegionTransforms : public OnEightDevices {
 protected:
  Mesh mesh = Mesh({4, 2}, {"a", "b"}, {5, 1, 2, 0, 7, 4, 6, 3});
};

// Values, gradients, tangents, and gradients of gradients, in jit too.
void expect_same_derivatives(const Function& got, const Function& wanted, const Arrays& args, bool second = true) {
  expect_same(got(args), wanted(args), "value");
  Arrays wanted_gradients = grad(wanted)(args);
  for (const Arrays& gradients : {grad(got)(args), jit(grad(got))(args)})
    for (std::size_t i = 0; i < args.size(); ++i) expect_same(gradients[i], wanted_gradients[i], fmt::format("gradient {}", i));
  Arrays tangents;
  for (const Array& each : args) tangents.push_back(wave(each.shape(), 1.3));
  expect_same(std::get<1>(jvp(got, std::tuple(args), std::tuple(tangents))),
              std::get<1>(jvp(wanted, std::tuple(args), std::tuple(tangents))), "tangent");
  if (!second) return;
  auto size_of = [](const Function& f) {
    return Function([f](const Arrays& x) {
      Array sum_of_squares = zeros({});
      for (const Array& each : grad(f)(x)) sum_of_squares = sum_of_squares + sum(each * each);
      return sum_of_squares;
    });
  };
  Arrays a = grad(size_of(got))(args), b = grad(size_of(wanted))(args);
  for (std::size_t i = 0; i < args.size(); ++i) expect_same(a[i], b[i], fmt::format("second gradient {}", i), 2e-4F);
}

TEST_F(RegionTransforms, ScanAsWrittenOut) {
  for (bool reverse : {false, true}) {
    auto step = [](const Array& w, const Array& h, const Array& x) { return tanh(matmul(w, h) + x); };
    Function scanned = [&](const Arrays& p) {
      auto body = [&](const Array& h, const Array& x) {
        Array next = step(p[0], h, x);
        return std::tuple(next, next * h);
      };
      auto [last, ys] = scan(body, p[1], p[2], {.reverse = reverse});
      return sum(last * last) + sum(ys * wave(ys.shape()));
    };
    Function written = [&](const Arrays& p) {
      Array h = p[1], total = zeros({});
      Array weights = wave({4, 3});
      for (int k = 0; k < 4; ++k) {
        int i = reverse ? 3 - k : k;
        auto row = [&](const Array& x) { return squeeze(slice(x, {i, 0}, {i + 1, 3}), 0); };
        Array next = step(p[0], h, row(p[2]));
        total = total + sum(next * h * row(weights));
        h = next;
      }
      return sum(h * h) + total;
    };
    expect_same_derivatives(scanned, written, {wave({3, 3}), wave({3}, 0.2), wave({4, 3}, 0.5)});
  }
}

TEST_F(RegionTransforms, LoopsWithIntegerCarriesAndConstantStarts) {
  Function looped = [](const Arrays& p) {
    return sum(fori_loop(
        0, 3, [&](const Array& i, const Array& x) { return x * p[0] + astype(i, float32); }, ones({2})));
  };
  Function written = [](const Arrays& p) { return sum(((ones({2}) * p[0]) * p[0] + 1) * p[0] + 2); };
  expect_same_derivatives(looped, written, {wave({2})});
}

TEST_F(RegionTransforms, WhileForwardsOnly) {
  auto looped = [](const Array& x) {
    auto below = [](const Array& y) { return less(sum(y), 10.0); };
    return while_loop(
        below, [](const Array& y) { return y * y + 1; }, x);
  };
  auto written = [](const Array& x) {
    Array y = x * x + 1;
    y = y * y + 1;
    return y;
  };
  Array x = full({2}, 1.0), t = wave({2});
  expect_same(std::get<1>(jvp(looped, std::tuple(x), std::tuple(t))), std::get<1>(jvp(written, std::tuple(x), std::tuple(t))), "tangent");
  EXPECT_THAT(error_of([&] { grad([&](const Array& y) { return sum(looped(y)); })(x); }),
              HasSubstr("Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop values."));
}

TEST_F(RegionTransforms, BranchesAsWrittenOut) {
  for (int index : {0, 1, 2}) {
    std::vector<ArrayFunction> branches = {[](const Arrays& x) { return Arrays{sin(x[0]) * x[1]}; },
                                           [](const Arrays& x) { return Arrays{x[0]}; },
                                           [](const Arrays& x) { return Arrays{exp(x[1]) * x[0] * x[0]}; }};
    Function chosen = [&](const Arrays& p) { return sum(switch_branches(full({}, index, int32), branches, p, Where())[0]); };
    Function written = [&](const Arrays& p) { return sum(branches[std::size_t(index)](p)[0]); };
    expect_same_derivatives(chosen, written, {wave({3}), wave({3}, 0.4)});
  }
}

TEST_F(RegionTransforms, PerDeviceCodeAsOnOneDevice) {
  Arrays args = {wave({8, 4}), wave({4, 6}, 0.4)};
  auto dense = [](const Array& x, const Array& w) { return tanh(matmul(x, w)); };
  Function alone = [&](const Arrays& p) { return sum(dense(p[0], p[1]) * wave({8, 6}, 0.9)); };
  auto with = [&](ArrayFunction local, PartitionSpec x, PartitionSpec w, PartitionSpec out) {
    return Function([=, this](const Arrays& p) {
      Array y = shard_map(local, {.mesh = mesh, .in_specs = {x, w}, .out_specs = {out}, .check_vma = false}, p, Where())[0];
      return sum(y * wave({8, 6}, 0.9));
    });
  };
  // Data parallel: the weights are on all devices. Residuals are cut.
  expect_same_derivatives(with([&](const Arrays& t) { return Arrays{dense(t[0], t[1])}; }, P("a"), P(), P("a")), alone, args);
  // The contraction is cut: partial products are summed.
  expect_same_derivatives(with([](const Arrays& t) { return Arrays{tanh(psum(matmul(t[0], t[1]), {"a"}))}; }, P(nullptr, "a"), P("a"), P()),
                          alone, args);
  // Weights gathered when needed, results scattered.
  expect_same_derivatives(
      with([](const Arrays& t) { return Arrays{tanh(matmul(t[0], all_gather(t[1], {"b"}, {.tiled = true})))}; }, P("a"), P("b"), P("a")),
      alone, args);
  expect_same_derivatives(
      with([](const Arrays& t) { return Arrays{tanh(psum_scatter(matmul(t[0], t[1]), {"a"}, {.scatter_dimension = 0, .tiled = true}))}; },
           P(nullptr, "a"), P("a"), P("a")),
      alone, args);
}

TEST_F(RegionTransforms, CollectivesThatMove) {
  Arrays args = {wave({8, 4})};
  Array weights = wave({8, 4}, 0.9);
  auto with = [&](ArrayFunction local, PartitionSpec in, PartitionSpec out) {
    return Function([=, this](const Arrays& p) {
      return sum(shard_map(local, {.mesh = mesh, .in_specs = {in}, .out_specs = {out}, .check_vma = false}, p, Where())[0] * weights);
    });
  };
  auto ring = with([](const Arrays& t) { return Arrays{ppermute(sin(t[0]), {"a"}, {{0, 1}, {1, 2}, {2, 3}})}; }, P("a"), P("a"));
  expect_same_derivatives(
      ring,
      [&](const Arrays& p) {
        return sum(sin(slice(p[0], {0, 0}, {6, 4})) * slice(weights, {2, 0}, {8, 4}));
      },
      args);
  auto swapped =
      with([](const Arrays& t) { return Arrays{sin(all_to_all(t[0], {"a"}, {.split_axis = 1, .concat_axis = 0, .tiled = true}))}; }, P("a"),
           P(nullptr, "a"));
  expect_same_derivatives(
      swapped, [&](const Arrays& p) { return sum(sin(p[0]) * weights); }, args);
  auto mean_of_rows = with([](const Arrays& t) { return Arrays{pmean(t[0] * t[0], {"a", "b"}) + t[0]}; }, P("a"), P("a"));
  expect_same_derivatives(
      mean_of_rows,
      [&](const Arrays& p) {
        Array mean_rows = mean((p[0] * p[0]).reshape({4, 2, 4}), {.axis = {0}});
        return sum(((p[0].reshape({4, 2, 4}) + mean_rows).reshape({8, 4})) * weights);
      },
      args);
  auto from_one = with([](const Arrays& t) { return Arrays{pbroadcast(t[0] * t[0], {"a"}, 2)}; }, P("a"), P("a"));
  expect_same_derivatives(
      from_one,
      [&](const Arrays& p) {
        Array rows = slice(p[0], {4, 0}, {6, 4});
        return sum(concatenate({rows * rows, rows * rows, rows * rows, rows * rows}) * weights);
      },
      args);
}

// As much moves for a derivative as in JAX, which knows along which axes devices differ.
TEST_F(RegionTransforms, DevicesThatHaveTheSameSumNothing) {
  auto bytes = [&](const auto& local, PartitionSpec in, PartitionSpec out) {
    auto code = shard_map(local, {.mesh = mesh, .in_specs = {in}, .out_specs = {out}});
    auto f = jit(grad([&](const Array& x) { return sum(square(code(x))); }));
    const std::string why = f.explain(device_put(wave({8, 4}), NamedSharding(mesh, in)));
    const std::string end = " bytes on the wire, where loops go round once\n";
    return std::stoll(why.substr(why.rfind('\n', why.size() - 2) + 1, why.size() - end.size()));
  };
  std::vector<std::pair<int, int>> ring = {{0, 1}, {1, 2}, {2, 3}, {3, 0}};
  const std::int64_t part = 2 * 4 * 4;  // bytes of what a device holds
  // Nobody names "b": its two devices have the same.
  EXPECT_EQ(bytes([](const Array& x) { return sin(x); }, P("a"), P("a")), 0);
  EXPECT_EQ(bytes([&](const Array& x) { return sin(ppermute(x, "a", ring)); }, P("a"), P("a")), 2 * 8 * part);
  // The cotangent of a sum is the same on all devices.
  EXPECT_EQ(bytes([](const Array& x) { return psum(sin(x), "a"); }, P("a"), P()), 2 * 3 * part * 2);
  // In a loop, too, whose carry differs along "a" from its second round on.
  auto loop = [&](const Array& x) {
    return fori_loop(
        0, 3, [&](const Array&, const Array& c) { return c + sin(ppermute(x * c, "a", ring)); }, pvary(ones({2, 4}), "a"));
  };
  EXPECT_EQ(bytes(loop, P("a"), P("a")), 2 * 8 * part);
}

TEST_F(RegionTransforms, ScanWithinPerDeviceCode) {
  Function sharded = [&](const Arrays& p) {
    auto local = [](const Arrays& t) {
      auto body = [](const Array& carry, const Array& row) {
        Array next = psum(sin(carry * row), {"a"});
        return std::tuple(next, next * 2);
      };
      auto [last, ys] = scan(body, t[0], t[1]);
      return Arrays{last + sum(ys, {.axis = {0}})};
    };
    return sum(shard_map(ArrayFunction(local), {.mesh = mesh, .in_specs = {P(), P(nullptr, "a")}, .out_specs = {P()}, .check_vma = false},
                         p, Where())[0]);
  };
  Function alone = [](const Arrays& p) {
    Array carry = p[0], total = zeros({1});
    for (int k = 0; k < 3; ++k) {
      Array row = squeeze(slice(p[1], {k, 0}, {k + 1, 4}), 0);
      carry = sum(sin(carry * row), {.axis = {0}, .keepdims = true});
      total = total + carry * 2;
    }
    return sum(carry + total);
  };
  expect_same_derivatives(sharded, alone, {wave({1}), wave({3, 4}, 0.5)});
}

// vmap against a loop over the batch.
void expect_same_batch(const Function& f, const Arrays& args) {
  std::vector<Array> rows;
  std::int64_t size = args[0].shape()[0];
  for (std::int64_t i = 0; i < size; ++i) {
    Arrays element;
    for (const Array& each : args) {
      Shape start(each.shape().size(), 0), end = each.shape();
      start[0] = i;
      end[0] = i + 1;
      element.push_back(squeeze(slice(each, start, end), 0));
    }
    rows.push_back(f(element));
  }
  Array wanted = stack(rows);
  for (const Array& got : {vmap(f)(args), jit(vmap(f))(args)}) expect_same(got, wanted, "batch");
}

TEST_F(RegionTransforms, BatchesOfLoopsAndBranches) {
  Array shared = wave({3});
  expect_same_batch(
      [&](const Arrays& p) {
        auto [last, ys] = scan([&](const Array& h, const Array& x) { return std::tuple(sin(h * shared + x), h * x); }, ones({3}), p[0]);
        return concatenate({last, ys.reshape({12})});
      },
      {wave({5, 4, 3})});
  expect_same_batch(
      [](const Arrays& p) {
        return while_loop([](const Array& y) { return less(sum(y), 10.0); }, [](const Array& y) { return y * 2 + 1; }, p[0]);
      },
      {arange(10, float32).reshape({5, 2})});
  for (bool own : {false, true})
    expect_same_batch(
        [&](const Arrays& p) {
          Array predicate = own ? greater(sum(p[0]), 0.0) : greater(sum(shared), 0.0);
          return cond(
              predicate, [&](const Array& x) { return sin(x) + shared; }, [](const Array& x) { return x * 2; }, p[0]);
        },
        {wave({5, 3})});
}

TEST_F(RegionTransforms, BatchesOfPerDeviceCode) {
  auto in_map = [&](std::function<Array(const Array&)> local, PartitionSpec in, PartitionSpec out) {
    return Function([=, this](const Arrays& p) {
      ArrayFunction tile = [local](const Arrays& t) { return Arrays{local(t[0])}; };
      return shard_map(tile, {.mesh = mesh, .in_specs = {in}, .out_specs = {out}, .check_vma = false}, p, Where())[0];
    });
  };
  Arrays args = {wave({5, 8, 4})};
  expect_same_batch(in_map([](const Array& t) { return psum(t, {"a"}); }, P("a"), P()), args);
  expect_same_batch(in_map([](const Array& t) { return all_gather(t, {"a"}, {.axis = 1, .tiled = true}); }, P("a"), P()), args);
  expect_same_batch(in_map([](const Array& t) { return all_gather(t, {"b"}); }, P("a"), P(nullptr, "a")), args);
  expect_same_batch(in_map([](const Array& t) { return psum_scatter(t, {"a"}, {.scatter_dimension = 1, .tiled = true}); }, P("a"), P("a")),
                    args);
  expect_same_batch(in_map([](const Array& t) { return all_to_all(t, {"a"}, {.split_axis = 1, .concat_axis = 0, .tiled = true}); }, P("a"),
                           P(nullptr, "a")),
                    args);
  expect_same_batch(in_map([](const Array& t) { return ppermute(t, {"a"}, {{0, 3}, {3, 0}}); }, P("a"), P("a")), args);
}

}  // namespace
}  // namespace shardlab
