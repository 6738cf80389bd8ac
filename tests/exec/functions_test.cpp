// Sets, special functions, systems of equations, random vectors and weights: values, gradients and shardings are JAX's
// (make_functions_goldens.py).
#include <gmock/gmock.h>

#include "tests/exec/jax_goldens.h"
#include "tests/support/error_of.h"

using namespace shardlab;  // as a user's program has it
using testing_goldens::Seen;

namespace {

using ::testing::HasSubstr;
namespace la = linalg;

Array column(const Array& matrix, std::int64_t i) { return matrix[{ellipsis, i}]; }
Array x() { return linspace(0.05, 3.4, 16).reshape({8, 2}); }
Array shares() { return linspace(0.001, 0.999, 16).reshape({8, 2}); }
Array counts() { return (arange(16) % 5).reshape({8, 2}); }
Array ys() {
  Array first = column(x(), 0);
  return stack({sin(first * 2), square(first) - first}, 1);
}
Array square_matrix() { return cos(square(arange(64, float32))).reshape({8, 8}) + 3 * eye(8); }
Array corner() { return slice(square_matrix(), {0, 0}, {4, 4}); }

// Programs on arrays placed in one way.
struct Placed {
  Seen& seen;
  std::string name;
  Sharding sharding;

  Array at(const Array& value) const { return device_put(value, sharding); }
  template <typename F, typename... Args>
  void run(const std::string& what, F f, const Args&... args) const {
    seen.add(name + what, jit(f)(args...));
  }
  template <typename F>
  void gradient(const std::string& what, F f, const Array& value) const {
    run("grad." + what, grad([f](const Array& t) { return sum(sin(f(t))); }), value);
  }
};

void special_functions(const Placed& p) {
  const Array v = p.at(x()), s = p.at(shares()), c = p.at(counts());
  auto both = [&](const std::string& what, auto f, const Array& value) {
    p.run(what, f, value);
    p.gradient(what, f, value);
  };
  both(
      "ndtri", [](const Array& t) { return ndtri(t); }, s);
  p.run(
      "spence", [](const Array& t) { return spence(t); }, v);
  p.run(
      "zeta", [](const Array& t, const Array& q) { return zeta(t + 1.25, q); }, v, v);
  both(
      "zeta_at", [](const Array& t) { return zeta(2.5, t); }, v);
  both(
      "polygamma", [](const Array& t) { return polygamma(2, t + 1); }, v);
  both(
      "polygamma_below", [](const Array& t) { return polygamma(1, 0.3 * t - 5.7); }, s);
  both(
      "poch", [](const Array& t) { return poch(t, 1.5); }, v);
  p.run(
      "boxcox", [](const Array& t) { return boxcox(t, floor(t)); }, v);
  both(
      "boxcox1p", [](const Array& t) { return boxcox1p(t, 0.5); }, v);
  p.run(
      "comb", [](const Array& k) { return comb(6, k); }, c);
  p.run(
      "polygammas", [](const Array& k, const Array& t) { return polygamma(k, t); }, c, v);
}

void sets(const Placed& p) {
  const Array v = p.at(square(arange(12)) % 7 - 2.0), w = p.at(arange(16) % 5 * 1.5 - 2.0);
  auto each = [&](const std::string& what, auto f) {
    p.run(
        what + ".2", [f](const Array& s, const Array& t) { return f(s, t, 2, std::nullopt); }, v, w);
    p.run(
        what + ".9", [f](const Array& s, const Array& t) { return f(s, t, 9, std::nullopt); }, v, w);
    p.run(
        what + ".filled", [f](const Array& s, const Array& t) { return f(s, t, 9, -7.0); }, v, w);
  };
  each("intersect1d",
       [](const Array& s, const Array& t, std::int64_t size, std::optional<double> fill) { return intersect1d(s, t, size, fill); });
  each("setdiff1d",
       [](const Array& s, const Array& t, std::int64_t size, std::optional<double> fill) { return setdiff1d(s, t, size, fill); });
  each("setxor1d",
       [](const Array& s, const Array& t, std::int64_t size, std::optional<double> fill) { return setxor1d(s, t, size, fill); });
  p.run(
      "mixed", [](const Array& s, const Array& t) { return setxor1d(s.astype(int32), t, 6); }, v, w);
}

void equations(const Placed& p) {
  const Array v = p.at(x()), y = p.at(ys()), a = p.at(square_matrix());
  p.run(
      "polyfit", [](const Array& s, const Array& t) { return polyfit(column(s, 0), column(t, 0), 3); }, v, y);
  p.run(
      "polyfit.all", [](const Array& s, const Array& t) { return polyfit(column(s, 0), t, 2); }, v, y);
  p.run(
      "polyfit.weighted", [](const Array& s, const Array& t) { return polyfit(column(s, 0), t, 2, Operand(column(s, 1))); }, v, y);
  p.gradient(
      "polyfit", [](const Array& t) { return polyfit(column(x(), 0), t, 2); }, y);
  auto inverse = [](const Array& t) { return la::tensorinv(t.reshape({4, 2, 8})); };
  p.run("tensorinv", inverse, a);
  p.gradient("tensorinv", inverse, a);
  p.run(
      "tensorsolve",
      [](const Array& t) {
        return la::tensorsolve(t.reshape({4, 2, 2, 4}), column(t, 0).reshape({4, 2}));
      },
      a);
  p.run(
      "tensorsolve.axes",
      [](const Array& t) {
        return la::tensorsolve(t.reshape({4, 2, 8}), column(t, 0), {0, 1});
      },
      a);
  p.run(
      "block_diag",
      [](const Array& s, const Array& t) {
        return la::block_diag({s, t, t[{0}], 2.0});
      },
      a, v);
}

TEST(Functions, AreJaxs) {
  Seen seen("functions.txt");
  auto mesh = make_mesh({4, 2}, {"x", "y"});
  for (const Placed& p : {Placed{seen, "cut.", NamedSharding(mesh, P("x"))}, Placed{seen, "whole.", NamedSharding(mesh, P())}}) {
    special_functions(p);
    sets(p);
    equations(p);
  }
  const Array key = random::key(11), covariance = matmul(corner(), matrix_transpose(corner()));
  const Array mean = slice(square_matrix(), {0, 0}, {1, 4}).reshape({4}), means = slice(square_matrix(), {0, 0}, {8, 4});
  auto draw = [&](const std::string& what, auto f) { seen.add(what, jit(f)(key)); };
  draw("mvn", [&](const Array& k) { return random::multivariate_normal(k, mean, covariance, Shape{3, 5}); });
  draw("mvn.batch", [&](const Array& k) { return random::multivariate_normal(k, means, covariance); });
  seen.add("mvn.grad",
           jit(grad([&](const Array& c) { return sum(sin(random::multivariate_normal(key, mean, c, Shape{3}))); }))(covariance));
  draw("orthogonal", [](const Array& k) { return random::orthogonal(k, 4, {2}); });
  draw("orthogonal.wide", [](const Array& k) { return random::orthogonal(k, 3, {}, {}, 5); });
  namespace init = initializers;
  const Shape shape{3, 4, 6};
  draw("glorot_uniform", [&](const Array& k) { return init::glorot_uniform(k, shape); });
  draw("glorot_normal", [&](const Array& k) { return init::glorot_normal(k, shape); });
  draw("lecun_uniform", [&](const Array& k) { return init::lecun_uniform(k, shape); });
  draw("lecun_normal", [&](const Array& k) { return init::lecun_normal(k, shape); });
  draw("he_uniform", [&](const Array& k) { return init::he_uniform(k, shape); });
  draw("he_normal", [&](const Array& k) { return init::he_normal(k, shape); });
  draw("windows", [](const Array& k) { return init::he_normal(k, {6, 3, 3, 4}, {.in_axis = {0}, .out_axis = {3}}); });
  draw("batched", [](const Array& k) {
    return init::lecun_normal(k, {5, 6, 4}, {.in_axis = {1}, .out_axis = {2}, .batch_axis = {0}, .dtype = bfloat16});
  });
  for (const char* mode : {"fan_out", "fan_geo_avg"})
    draw(mode, [&](const Array& k) { return init::variance_scaling(k, {6, 8}, 0.5, mode, "normal"); });
  draw("columns", [](const Array& k) { return init::orthogonal(k, {3, 3, 4}, 2.0); });
  draw("rows", [](const Array& k) { return init::orthogonal(k, {3, 6}, 1.0, 0); });
}

TEST(Functions, Errors) {
  const Array key = random::key(0);
  EXPECT_THAT(error_of([&] { initializers::he_normal(key, {4}); }),
              HasSubstr("Can't compute input and output sizes of a 1-dimensional weights tensor with default in_axis."));
  EXPECT_THAT(error_of([&] {
                initializers::variance_scaling(key, {4, 2}, 1, "fan", "normal");
              }),
              HasSubstr("invalid mode for variance scaling initializer: fan"));
  EXPECT_THAT(error_of([&] {
                initializers::variance_scaling(key, {4, 2}, 1, "fan_in", "cauchy");
              }),
              HasSubstr("invalid distribution for variance scaling initializer: cauchy"));
  EXPECT_THAT(error_of([&] { initializers::orthogonal(key, {4}); }), HasSubstr("orthogonal initializer requires at least a 2D shape"));
  EXPECT_THAT(error_of([&] { random::multivariate_normal(key, zeros({3}), eye(2)); }),
              HasSubstr("multivariate_normal requires cov.shape == (..., n, n) for n=3, but got cov.shape == (2, 2)."));
  EXPECT_THAT(error_of([&] { random::multivariate_normal(key, zeros({2}), eye(2), {}, {}, "qr"); }),
              HasSubstr("method argument must be one of"));
  EXPECT_THAT(error_of([&] { polyfit(zeros({3}), zeros({2}), 1); }), HasSubstr("expected x and y to have same length"));
  EXPECT_THAT(error_of([&] { linalg::tensorinv(zeros({2, 3})); }), HasSubstr("tensorinv is only possible when the product"));
  EXPECT_THAT(error_of([&] { linalg::tensorsolve(zeros({2, 2}), zeros({3})); }), HasSubstr("leading shape of a must match shape of b"));
  EXPECT_THAT(error_of([&] { linalg::block_diag({zeros({2, 2, 2})}); }), HasSubstr("must have at most 2 dimensions"));
  EXPECT_THAT(error_of([&] { polygamma(1, ones({2}, complex64)); }), HasSubstr("does not support complex-valued inputs."));
}

}  // namespace
