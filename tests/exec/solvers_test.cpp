// Solvers, minima, special functions and transformations of jax.scipy and jax.lax: values, gradients and shardings are JAX's, on whole and
// cut arguments; make_solvers_goldens.py has the same programs in Python.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <shardlab/shardlab.h>

#include "tests/exec/jax_goldens.h"
#include "tests/support/error_of.h"

// Parameters have their arguments' names, as users write them.
#pragma GCC diagnostic ignored "-Wshadow"

using namespace shardlab;  // as a user's program has it
using testing::HasSubstr;
using testing_goldens::on;
using testing_goldens::Seen;

namespace {

void krylov(Seen& seen, const Mesh& mesh) {
  auto A = random::normal(random::key(0), {8, 8}), S = dot(A, A.T()) + 8 * eye(8), G = A + 8 * eye(8), b = arange(8.0);
  auto cut = on(mesh, S, P("x")), right = on(mesh, b, P("x"));
  auto cg_of = [](const Array& S, const Array& b) { return linalg::cg([&](const Array& x) { return dot(S, x); }, b).x; };
  auto bicgstab_of = [](const Array& S, const Array& b) { return linalg::bicgstab(S, b).x; };
  auto gmres_of = [](const std::string& method) {
    return [method](const Array& S, const Array& b) {
      linalg::GmresOptions<Array> options;
      options.solve_method = method;
      return linalg::gmres([&](const Array& x) { return dot(S, x); }, b, options).x;
    };
  };
  seen.add("cg", cg_of(S, b));
  seen.add("cg.cut", jit(cg_of)(cut, right));
  seen.add("bicgstab", bicgstab_of(G, b));
  seen.add("gmres", gmres_of("batched")(G, b));
  seen.add("gmres.incremental", gmres_of("incremental")(G, b));
  seen.add("gmres.cut", jit(gmres_of("batched"))(on(mesh, G, P("x")), right));
  auto gradients = [&](const char* name, const auto& solve, const Array& S, const Array& b) {
    seen.add(name, jit(grad<0, 1>([&](const Array& S, const Array& b) { return sum(square(solve(S, b))); }))(S, b));
  };
  gradients("cg.grad", cg_of, cut, right);
  gradients("bicgstab.grad", bicgstab_of, G, b);
  gradients("gmres.grad", gmres_of("batched"), G, b);
  seen.add("cg.hessian", jit(hessian([&](const Array& b) { return sum(sin(cg_of(S, b))); }))(b));
  seen.add("cg.jvp", jvp(cg_of, std::tuple{S, b}, std::tuple{A, ones({8})}).second);
  seen.add("cg.vmap", jit(vmap(cg_of, {.in_axes = {std::nullopt, 0}}))(S, eye(8)));
  using Tree = std::map<std::string, Array>;
  auto of_tree = [&](const Tree& x) { return Tree{{"a", 3 * x.at("a") + x.at("b")}, {"b", x.at("a") + 2 * x.at("b")}}; };
  seen.add("cg.tree", linalg::cg(of_tree, Tree{{"a", arange(3.0)}, {"b", ones({3})}}).x);
}

void roots(Seen& seen, const Mesh&) {
  auto newton = [](const auto& f, const Array& guess) {
    return while_loop([&](const Array& x) { return abs(f(x)) > 1e-6; }, [&](const Array& x) { return x - f(x) / grad(f)(x); }, guess);
  };
  auto tangent = [](const auto& g, const Array& y) { return y / g(ones_like(y)); };
  auto root = [&](const Array& a) {
    return custom_root([&](const Array& x) { return x * x * x - a; }, full({}, 1.5, float32), newton, tangent);
  };
  auto a = full({}, 3.0, float32);
  seen.add("root", root(a));
  seen.add("root.grad", jit(value_and_grad(root))(a));
  seen.add("root.second", grad(grad(root))(a));
  seen.add("root.vmap", jit(vmap(grad(root)))(arange(1.0, 5.0)));
}

void minima(Seen& seen, const Mesh& mesh) {
  auto rosenbrock = [](const Array& x) {
    auto next = x[Slice{1}], last = x[Slice{.stop = -1}];
    return sum(100.0 * square(next - square(last)) + square(1 - last));
  };
  auto found = optimize::minimize(rosenbrock, array<float>({0.8f, 1.1f, 0.9f}));
  EXPECT_LT(found.fun.item<float>(), 1e-4);  // where float32 ends the search hangs on rounding
  auto bowl = [](const Array& x) { return sum(square(x - arange(4.0))) + 0.1 * sum(square(square(x))); };
  auto least = jit([&](const Array& x) {
    auto found = optimize::minimize(bowl, x);
    return std::tuple{found.x, found.fun};
  });
  seen.add("minimize", least(ones({4})));
  seen.add("minimize.cut", least(on(mesh, zeros({4}), P("x"))));
}

void special(Seen& seen, const Mesh& mesh) {
  auto points = [&](double low, double high) { return on(mesh, linspace(low, high, 16), P("x")); };
  auto both = [&](const std::string& name, const auto& f, const Array& x) {
    seen.add(name, f(x));
    seen.add(name + ".grad", grad([&](const Array& t) { return sum(sin(f(t))); })(x));
  };
  both(
      "erfcx", [](const Array& x) { return erfcx(x); }, points(-2, 8));
  both(
      "dawsn", [](const Array& x) { return dawsn(x); }, points(-9, 8));
  both(
      "sine", [](const Array& x) { return sici(x).first; }, points(-12, 20));
  both(
      "cosine", [](const Array& x) { return sici(x).second; }, points(0.3, 20));
  both(
      "fresnel.s", [](const Array& x) { return fresnel(x).first; }, points(-5, 6));
  both(
      "fresnel.c", [](const Array& x) { return fresnel(x).second; }, points(-5, 6));
  auto h = points(-2, 3), a = points(-2.5, 2);
  seen.add("owens_t", owens_t(h, a));
  seen.add("owens_t.grad", grad<0, 1>([](const Array& h, const Array& a) { return sum(sin(owens_t(h, a))); })(h, a));
  auto z = points(-3, 3) + points(-2, 2.5) * std::complex<double>(0, 1);
  auto w = wofz(z);
  seen.add("wofz", std::tuple{real(w), imag(w)});
  seen.add("wofz.grad", real(grad([](const Array& z) { return sum(real(wofz(z))); })(z)));
  auto x = points(-0.7, 0.7), p = points(0.4, 2), q = points(1.3, 2.4);
  seen.add("hyp1f1.grad", grad<0, 1, 2>([](const Array& p, const Array& q, const Array& x) { return sum(hyp1f1(p, q, x)); })(p, q, x));
  seen.add("hyp2f1.grad", grad<0, 1, 2, 3>([](const Array& p, const Array& r, const Array& q, const Array& x) {
             return sum(hyp2f1(p, r, q, x));
           })(p, q - 0.2, q, x));
}

void transformations(Seen& seen, const Mesh& mesh) {
  auto clipped = custom_gradient([](const Array& x) {
    auto y = exp(x);
    return std::pair(sum(y), [=](const Array& g) { return clip(g * y, -2.0, 2.0); });
  });
  auto x = on(mesh, arange(8.0) / 4, P("x"));
  seen.add("custom_gradient", jit(value_and_grad(clipped))(x));
  seen.add("custom_gradient.vmap", vmap(grad(clipped))(arange(6.0).reshape({2, 3})));
  auto W = random::normal(random::key(5), {3, 4});
  auto linear = [&](const Array& x, const Array& y) { return dot(W, x) + 2 * y; };
  auto transpose = linear_transpose(linear)(ShapeDtypeStruct({4}, float32), ShapeDtypeStruct({3}, float32));
  seen.add("linear_transpose", transpose(arange(3.0)));
}

TEST(Solvers, GiveWhatJaxGives) {
  Seen seen("solvers.txt");
  const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  for (auto program : {krylov, roots, minima, special, transformations}) program(seen, mesh);
}

TEST(Solvers, ErrorsHaveJaxsTexts) {
  auto matvec = [](const Array& x) { return 2 * x; };
  auto halve = [](const auto&, const Array& b) { return b / 2; };
  auto once = [&](const Array& b) { return sum(custom_linear_solve(matvec, b, halve)); };
  EXPECT_THAT(error_of([&] { grad(once)(ones({3})); }),
              HasSubstr("transpose_solve required for backwards mode automatic differentiation of custom_linear_solve"));
  EXPECT_EQ(jvp(once, std::tuple{ones({3})}, std::tuple{ones({3})}).second.item<float>(), 1.5f);
  EXPECT_THAT(error_of([&] {
                linalg::cg(ones({3, 2}), ones({3}));
              }),
              HasSubstr("linear operator must be a square matrix, but has shape: (3, 2)"));
  EXPECT_THAT(error_of([&] { linalg::cg(eye(3), ones({3}), {.x0 = ones({2})}); }),
              HasSubstr("arrays in x0 and b must have matching shapes: (2,) vs (3,)"));
  EXPECT_THAT(error_of([&] { optimize::minimize([](const Array& x) { return sum(x); }, ones({3}), {.method = "nelder"}); }),
              HasSubstr("Method nelder not recognized"));
  EXPECT_THAT(error_of([&] { linear_transpose([](const Array& x) { return sin(x); })(ones({3})); }), HasSubstr("not linear"));
}

TEST(Solvers, ShapesAndGraphsWithoutValues) {
  auto f = [](const Array& x, const Array& y) { return std::map<std::string, Array>{{"p", dot(x, y)}, {"s", sum(x)}}; };
  auto shapes = eval_shape(f)(ShapeDtypeStruct({4, 3}, float32), ShapeDtypeStruct({3, 2}, float32));
  EXPECT_EQ(shapes.at("p").type().text(), "float32[4,2]");
  EXPECT_EQ(shapes.at("s").type().text(), "float32[]");
  EXPECT_THAT(error_of([&] { shapes.at("p").to_vector<float>(); }), HasSubstr("no data"));
  EXPECT_THAT(make_jaxpr([](const Array& x) { return sin(x) + 1; })(ShapeDtypeStruct({4}, float32)), HasSubstr("sin"));
  EXPECT_THAT(jit(f).lower(ShapeDtypeStruct({4, 3}, float32), ShapeDtypeStruct({3, 2}, float32)).as_text(), HasSubstr("dot_general"));
}

}  // namespace
