// Programs on two meshes of the same devices whose axes do not nest: the same as in make_mesh_parts_goldens.py, beside JAX's values,
// shardings and bytes.
#include <shardlab/shardlab.h>

#include <gtest/gtest.h>

#include "tests/exec/jax_goldens.h"

// Parameters have their arguments' names, as users write them.
#pragma GCC diagnostic ignored "-Wshadow"

using namespace shardlab;  // as a user's program has it
using testing_goldens::Seen;

namespace {

using In = const Array&;

Array on(const Array& x, const Mesh& mesh, PartitionSpec spec) { return device_put(x, NamedSharding(mesh, std::move(spec))); }

TEST(MeshParts, LieOnTheMeshesThatJaxGivesThem) {
  Seen seen("mesh_parts.txt");
  std::vector<Device> six = devices();
  six.resize(6);
  const Mesh A = make_mesh({2, 3}, {"a", "b"}, six), B = make_mesh({3, 2}, {"p", "q"}, six);
  const auto x = on(sin(arange(144.).reshape({12, 12})), A, P("a", "b")), w = on(cos(arange(144.).reshape({12, 12})), B, P("p", "q"));
  const auto u = cos(arange(12.));
  const auto f =
      shard_map([](In t) { return t * 2 + axis_index("p"); }, {.mesh = B, .in_specs = {P("p", "q")}, .out_specs = {P("p", "q")}});
  const auto g =
      shard_map([](In t) { return t * 3 + axis_index("a"); }, {.mesh = A, .in_specs = {P("a", "b")}, .out_specs = {P("a", "b")}});
  const auto s = shard_map([](In t) { return psum(t, "p"); }, {.mesh = B, .in_specs = {P("p", "q")}, .out_specs = {P(nullptr, "q")}});
  auto hold = [&](In v) { return with_sharding_constraint(cos(v), NamedSharding(B, P("p", "q"))); };
  auto asked = [](const Mesh& mesh, PartitionSpec spec) { return JitOptions{.out_shardings = {NamedSharding(mesh, std::move(spec))}}; };
  seen.run("code", jit(f), x);
  seen.run("cos", jit([&](In x) { return cos(f(x)); }), x);
  seen.run("product", jit([&](In x) { return matmul(f(x), f(x)); }), x);
  seen.run("rows", jit([&](In x) { return sum(f(x), 0); }), x);
  seen.run("columns", jit([&](In x) { return sum(f(x), 1); }), x);
  seen.run("all", jit([&](In x) { return sum(f(x)); }), x);
  seen.run("met", jit([&](In x) { return cos(f(x)) + x; }), x);
  seen.run("met_product", jit([&](In x) { return matmul(f(x), x); }), x);
  seen.run("met_code", jit([&](In x) { return matmul(f(x), g(x)); }), x);
  seen.run("beside", jit([&](In x) { return std::pair{f(x), cos(x)}; }), x);
  seen.run("each", jit([&](In x) { return std::pair{cos(f(x)), sin(g(x))}; }), x);
  seen.run("turns", jit([&](In x) { return cos(f(sin(g(cos(f(x)))))); }), x);
  seen.run("met_then", jit([&](In x) { return cos(f(x) + x); }), x);
  seen.run("met_asked", jit([&](In x) { return f(x) + x; }, asked(A, P("a"))), x);
  seen.run("asked_back", jit([&](In x) { return cos(f(x)); }, asked(A, P("a", "b"))), x);
  seen.run("asked_there", jit([&](In x) { return cos(f(x)); }, asked(B, P("q"))), x);
  seen.run("free", jit([&](In x, In u) { return cos(f(x)) + u; }), x, u);
  seen.run("constant", jit([&](In x) { return cos(f(x)) + arange(12.); }), x);
  seen.run("sum_inside", jit([&](In x) { return sin(s(x)); }), x);
  seen.run("turned", jit([&](In x) { return transpose(f(x)); }), x);
  seen.run("flat", jit([&](In x) { return f(x).reshape({144}); }), x);
  seen.run("sorted", jit([&](In x) { return sort(f(x), {.axis = 0}); }), x);
  seen.run("arguments", jit([](In x, In w) { return std::pair{cos(x), cos(w)}; }), x, w);
  seen.run("arguments_met", jit([](In x, In w) { return cos(x) + w; }), x, w);
  seen.run("held", jit([&](In x) { return hold(x) * 2; }), x);
  seen.run("held_rows", jit([&](In x) { return std::pair{sum(hold(x), 0), cos(x)}; }), x);
  seen.run("gradient", jit(grad([&](In x) { return sum(square(f(x))); })), x);
  seen.run("gradient_met", jit(grad([&](In x) { return sum(sin(f(x)) * x); })), x);
  seen.run("loop", jit([&](In x) { return scan([](In c, In) { return std::pair{sin(c), sum(c)}; }, f(x), zeros({3})); }), x);
  seen.run("code_in_loop", jit([&](In x) {
             return fori_loop(
                 0, 3, [&](In, In c) { return f(c); }, x);
           }),
           x);
  seen.run("where", jit([&](In x) { return where(f(x) > 0, f(x), 0.0); }), x);
  seen.run("between", jit([&](In x) { return f(sin(f(x))); }), x);
  seen.run("met_between", jit([&](In x) { return sin(f(f(x) + x)); }), x);
  seen.run("back", jit([&](In x) { return sin(g(cos(f(x)))); }), x);
  seen.run("joined", jit([&](In x) { return concatenate({f(x), f(x)}); }), x);
  seen.run("whole", jit([&](In x) { return cos(f(x)); }), on(x, A, P()));
}

}  // namespace
