// Programs of JAX's documentation, line by line: sharding in types, shard_map, the autodiff cookbook, control flow, pytrees. Values and
// shardings are JAX's; make_docs_goldens.py has the same programs in Python.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <shardlab/shardlab.h>

#include "tests/exec/jax_goldens.h"
#include "tests/support/error_of.h"

// Parameters have their arguments' names, as users write them.
#pragma GCC diagnostic ignored "-Wshadow"

using namespace shardlab;  // as a user's program has it
using testing_goldens::on;
using testing_goldens::Seen;

namespace {

using Params = std::map<std::string, Array>;

void explicit_sharding(Seen& seen, const Mesh&) {
  MeshScope scope(make_mesh({2, 4}, {"x", "y"}, {AxisType::kExplicit, AxisType::kExplicit}));
  const auto xy = P("x", "y");
  seen.add("made.zeros", zeros({4, 4}, {}, {.out_sharding = xy}));
  seen.add("made.ones", ones({4, 4}, int32, {.out_sharding = P("x")}));
  seen.add("made.arange", arange(8, {}, {.out_sharding = P("y")}));
  seen.add("made.full", full({4, 4}, 2.0, float32, {.out_sharding = P(nullptr, "y")}));
  auto key = random::key(0);
  seen.add("made.normal", random::normal(key, {8, 4}, {}, {.out_sharding = xy}));
  seen.add("made.uniform", random::uniform(key, {8, 4}, {.out_sharding = P("x")}));
  seen.add("made.bits", random::bits(key, {8, 4}, {}, {.out_sharding = P("y")}));
  seen.add("made.randint", random::randint(key, {8, 4}, 0, 10, {}, {.out_sharding = xy}));
  seen.add("made.jit", jit([&] { return zeros({4, 4}, {}, {.out_sharding = xy}) + 1; })());
  auto a = arange(16.0, {}, {.out_sharding = P("x")}).reshape({4, 4});
  seen.add("inferred", shard_map([](const Array& a) { return a * 2; }, {.out_specs = {P("x")}})(a));
  seen.add("no_arguments", shard_map([] { return ones({2, 3}); }, {.out_specs = {P(nullptr, nullptr)}})());
  seen.add("fft", real(fft::fft(a, {.axis = 0})));
  seen.add("fft2", real(fft::fft2(ones({8, 8}, {}, {.out_sharding = xy}))));
  auto loss = [](const Array& w, const Array& x) { return sum(tanh(0.1 * dot(x, w, {.out_sharding = P("x", nullptr)}))); };
  seen.add("typed_grad", jit(grad(loss))(ones({4, 3}, {}, {.out_sharding = P("y")}), ones({8, 4}, {}, {.out_sharding = xy})));
}

void shard_map_notebook(Seen& seen, const Mesh& mesh) {
  MeshScope scope(mesh);
  auto tile = full({1, 1}, 3.0);
  int number = 0;
  for (const auto& spec : {P("x", "y"), P("x", nullptr), P(nullptr, nullptr)})
    seen.add("tile" + std::to_string(number++), shard_map([&] { return tile; }, {.out_specs = {spec}})());
  auto g = shard_map([](const Array& x) { return psum(sin(x), "x"); }, {.in_specs = {P("x")}, .out_specs = {P()}});
  auto x = on(mesh, arange(8.0), P("x"));
  seen.add("psum.grad", grad([&](const Array& x) { return sum(square(g(x))); })(x));
  seen.add("psum.jacfwd", jacfwd(g)(x));
  seen.add("psum.vmap", vmap(g, {.in_axes = {1}})(on(mesh, arange(16.0).reshape({8, 2}), P("x"))));
  Params p{{"b", on(mesh, arange(8.0), P("x"))}, {"w", on(mesh, ones({8, 4}), P("x", "y"))}};
  auto mean_of =
      shard_map([](const Params& p) { return pmean(p, "x"); }, {.in_specs = {P("x"), P("x", "y")}, .out_specs = {P(), P(nullptr, "y")}});
  seen.add("tree.pmean", mean_of(p));
  seen.add("tree.constraint", jit([&](const Params& p) { return with_sharding_constraint(p, NamedSharding(mesh, P("y"))); })(p));
}

void cookbook(Seen& seen, const Mesh&) {
  auto W = random::normal(random::key(1), {3}), b = full({}, 0.5, float32);
  auto inputs = array<float>({0.52f, 1.12f, 0.77f, 0.88f, -1.08f, 0.15f, 0.52f, 0.06f, -1.30f, 0.74f, -2.49f, 1.39f}, {4, 3});
  auto targets = array<bool>({true, true, false, true});
  auto predict = [](const Array& W, const Array& b, const Array& x) { return logistic(dot(x, W) + b); };
  auto loss = [&](const Array& W, const Array& b) {
    auto p = predict(W, b, inputs);
    return -sum(log(p * targets + (1 - p) * (1 - targets.astype(int32))));
  };
  seen.add("cookbook.grad", grad<0, 1>(loss)(W, b));
  auto of_tree = [&](const Params& params, const Array& x) { return predict(params.at("W"), params.at("b"), x); };
  seen.add("cookbook.jacrev", jacrev(of_tree)(Params{{"W", W}, {"b", b}}, inputs));
  seen.add("cookbook.jacfwd", jacfwd(of_tree)(Params{{"W", W}, {"b", b}}, inputs));
  auto two = [](const Array& x) { return Params{{"s", sin(x)}, {"o", outer(x, x)}}; };
  seen.add("cookbook.outrev", jacrev(two)(W));
  seen.add("cookbook.outfwd", jacfwd(two)(W));
  seen.add("cookbook.hessian", hessian(loss)(W, b));
  auto hvp = [](const auto& f, const Array& x, const Array& v) { return jvp(grad(f), std::tuple{x}, std::tuple{v}).second; };
  auto f = [](const Array& X) { return sum(square(tanh(X))); };
  seen.add("cookbook.hvp", hvp(f, random::normal(random::key(2), {30, 40}), random::normal(random::key(3), {30, 40})));
  seen.add("cookbook.vmjp", vmap(vjp([&](const Array& W) { return predict(W, b, inputs); }, W).second)(eye(4)));
  auto z = full({}, std::complex<double>(1, 2), complex64);
  seen.add("cookbook.holomorphic", imag(grad([](const Array& z) { return sin(z); }, {.holomorphic = true})(z)));
  seen.add("cookbook.conj", imag(grad([](const Array& z) { return real(conj(z) * z); })(z)));
  auto A = array<float>({5, 2, 3, 5, 4, 9, 5, 9, 1, 7, 3, 8, 5, 7, 1, 2}, {4, 4});
  auto [y, pull] = vjp([](const Array& x) { return linalg::cholesky(x); }, dot(A, A.T()));
  seen.add("cookbook.cholesky", pull(ones({4, 4})));
}

void control_flow(Seen& seen, const Mesh&) {
  auto doubled = [](const Array& n, const Array& x) {
    return fori_loop(
        0, n, [](const Array& i, const Array& c) { return c * 2 + i; }, x);
  };
  seen.add("fori", jit(doubled)(asarray(5), arange(3.0)));
  auto add = [](const Array& i, const Params& c) { return Params{{"s", c.at("s") + i}}; };
  seen.add("fori.both", fori_loop(asarray(2), asarray(6), add, Params{{"s", asarray(0)}}));
  auto xs = arange(20.0).reshape({10, 2});
  for (int size : {3, 5, 16})
    seen.add("map" + std::to_string(size), map(
                                               [](const Array& x) {
                                                 return Params{{"a", sum(x)}, {"b", x * 2}};
                                               },
                                               xs, MapOptions{.batch_size = size}));
  auto times = [](int n) { return [n](const Array& x) { return x * n; }; };
  seen.add("switch", switch_(2, std::tuple{times(1), times(2), times(3)}, arange(3.0)));
}

void pytrees(Seen& seen, const Mesh&) {
  std::map<std::string, std::vector<Array>> t{{"a", {arange(3.0), ones({2})}}, {"b", {zeros({4})}}};
  seen.add("tree.reduce", tree::reduce([](const Array& s, const Array& x) { return s + sum(x); }, t, full({}, 0.0, float32)));
  seen.add("tree.with_path", tree::map_with_path([](const std::string& path, const Array& x) { return x + int(path.size()); }, t));
}

TEST(DocsPrograms, ErrorsHaveJaxsTexts) {
  using testing::HasSubstr;
  const auto real_part = [](const Array& z) { return real(z * z); };
  const Array z = full({}, std::complex<double>(1, 2), complex64), x = full({}, 1.0, float32);
  EXPECT_THAT(error_of([&] { grad(real_part, {.holomorphic = true})(z); }),
              HasSubstr("grad with holomorphic=True requires outputs with complex dtype, but got float32"));
  EXPECT_THAT(error_of([&] { grad(real_part, {.holomorphic = true})(x); }),
              HasSubstr("grad with holomorphic=True requires inputs with complex dtype, but got float32"));
  EXPECT_THAT(error_of([&] { grad([](const Array& v) { return v * v; })(z); }), HasSubstr("pass holomorphic=True"));
  auto loop = [](const Array& n, const Array& c) {
    return fori_loop(
        0, n, [](const Array&, const Array& v) { return v * 2; }, c);
  };
  EXPECT_THAT(error_of([&] { grad<1>(loop)(asarray(3), x); }),
              HasSubstr("Reverse-mode differentiation does not work for lax.while_loop or lax.fori_loop with dynamic start/stop values"));
  EXPECT_THAT(error_of([&] {
                fori_loop(
                    0, arange(3), [](const Array&, const Array& v) { return v; }, x);
              }),
              HasSubstr("lower and upper arguments to fori_loop must be integer scalars"));
  EXPECT_THAT(error_of([&] { random::wrap_key_data(arange(3)); }), HasSubstr("trailing shape (2,) and dtype uint32"));
}

TEST(DocsPrograms, WhatADeviceHolds) {
  const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  const Array x = on(mesh, arange(8.0), P("x")), third = x.addressable_data(5);
  EXPECT_EQ(third.to_vector<float>(), (std::vector<float>{4, 5}));
  EXPECT_EQ(third.sharding().mesh().devices(), (std::vector<int>{mesh.devices()[5]}));
  EXPECT_THAT(error_of([&] { x.addressable_data(8); }), testing::HasSubstr("index 8 is out of range"));
  const Array key = random::key(7);
  EXPECT_EQ(random::key_data(key).to_vector<std::uint32_t>(), (std::vector<std::uint32_t>{0, 7}));
  EXPECT_EQ(random::bits(random::wrap_key_data(random::key_data(key))).item<std::uint32_t>(), random::bits(key).item<std::uint32_t>());
}

TEST(DocsPrograms, GiveWhatJaxGives) {
  Seen seen("docs_programs.txt");
  const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  for (auto program : {explicit_sharding, shard_map_notebook, cookbook, control_flow, pytrees}) program(seen, mesh);
}

}  // namespace
