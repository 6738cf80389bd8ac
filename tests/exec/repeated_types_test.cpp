// What vmap repeats for every element, on Explicit axes: the same programs as in make_repeated_goldens.py, beside JAX's types.
#include <shardlab/shardlab.h>

#include <gtest/gtest.h>

#include "tests/exec/jax_goldens.h"

// Parameters have their arguments' names, as users write them.
#pragma GCC diagnostic ignored "-Wshadow"

using namespace shardlab;  // as a user's program has it
using testing_goldens::Seen;

namespace {

constexpr AxisType E = AxisType::kExplicit, A = AxisType::kAuto;

struct Mode {
  std::string mark;
  std::vector<AxisType> types;
  bool has_context;
};

void mode(Seen& seen, const Mode& mode) {
  const Mesh mesh = make_mesh({4, 2}, {"x", "y"}, {.axis_types = mode.types});
  auto put = [&](const Array& x, PartitionSpec spec) { return device_put(x, NamedSharding(mesh, std::move(spec))); };
  auto a = put(sin(arange(64.).reshape({8, 8})), P("x", "y")), c = put(arange(8.), P()), n = cos(arange(8.));
  std::optional<MeshScope> scope;
  if (mode.has_context) scope.emplace(mesh);
  auto show = [&](const std::string& name, const auto& f, const auto&... args) {
    seen.add(mode.mark + "_" + name, jit(f)(args...));
    if (mode.has_context) seen.add(mode.mark + "_" + name + "_eager", f(args...));
  };
  using In = const Array&;
  const VmapOptions one{.in_axes = {0, std::nullopt}};
  auto argument = [](In r, In c) { return std::pair{c, r}; };
  auto host = [&](In r) { return std::pair{n, r}; };
  auto same = [](In z) { return z; };
  auto twice = [](In z) { return z * 2; };
  show("argument", vmap(argument, one), a, c);
  show("argument_computed", vmap([](In r, In c) { return std::pair{c * 2, r}; }, one), a, c);
  show("argument_last", vmap(argument, {.in_axes = {0, std::nullopt}, .out_axes = {1}}), a, c);
  show("argument_of_columns", vmap(argument, {.in_axes = {1, std::nullopt}}), a, c);
  show(
      "captured", [](In a, In c) { return vmap([&](In r) {
                                     return std::pair{c, r};
                                   })(a); }, a, c);
  show("host", vmap(host), a);
  show("host_last", vmap(host, {.out_axes = {1}}), a);
  show("host_computed", vmap([&](In r) { return std::pair{n * 2, r}; }), a);
  show("host_with_placed", vmap([&](In r, In c) { return std::pair{n + c, r}; }, one), a, c);
  show("host_argument", vmap(argument, one), a, n);
  show("ones", vmap([](In r) { return std::pair{ones({3}), r}; }), a);
  show("iota", vmap([](In r) { return std::pair{arange(3.) * 2, r}; }), a);
  show("inner", vmap(vmap(argument, one), one), a, c);
  show("inner_host", vmap(vmap(host)), a);
  show("choice", vmap([&](In r, In c) { return std::pair{cond(c[1] > 0, same, twice, n), r}; }, one), a, c);
  show("checkpoint", vmap([&](In r) { return std::pair{checkpoint(same)(n), r}; }), a);
  auto loop = [](In a, const auto& inside) { return scan([&](In k, In) { return std::pair{k, vmap(inside)(k)}; }, a, zeros({3})); };
  show(
      "loop", [&](In a, In n) { return loop(a, [&](In) { return n; }); }, a, n);
  show(
      "loop_computed", [&](In a, In n) { return loop(a, [&](In) { return n * 2; }); }, a, n);
  show(
      "loop_slices",
      [](In a, In) {
        return scan([](In k, In e) { return std::pair{k, vmap([&](In) { return e; })(k)}; }, a, ones({3, 8}));
      },
      a, n);
  show(
      "then_added", [&](In a) { return vmap([&](In) { return n; })(a) + a; }, a);
  const VmapOptions over_x{.in_axes = {0, std::nullopt}, .spmd_axis_name = {"x"}};
  show("uncut", vmap(argument, over_x), put(ones({8, 8}), P()), c);
  show("spmd", vmap(argument, over_x), a, c);
}

TEST(RepeatedTypes, AreJaxs) {
  Seen seen("repeated_types.txt");
  mode(seen, {"context", {E, E}, true});
  mode(seen, {"mixed", {E, A}, true});
  mode(seen, {"free", {E, E}, false});
}

}  // namespace
