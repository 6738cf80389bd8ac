// Numbers of the gamma distribution and what is made of them, and counts, drawn again until they are accepted: values, gradients and
// shardings are JAX's (make_draws_goldens.py).
#include <gmock/gmock.h>

#include <limits>

#include "tests/exec/jax_goldens.h"
#include "tests/support/error_of.h"

using namespace shardlab;  // as a user's program has it
using testing_goldens::Seen;

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Array a() { return linspace(0.05, 6.0, 16).reshape({8, 2}); }
Array b() { return flip(linspace(0.2, 4.0, 16)).reshape({8, 2}); }
Array rates() { return linspace(0.0, 40.0, 16).reshape({8, 2}); }
Array shares() { return linspace(0.02, 0.97, 16).reshape({8, 2}); }
Array trials() { return arange(16).reshape({8, 2}) * 7.0; }
Array odds() { return stack({a()[{ellipsis, 0}], b()[{ellipsis, 0}], a()[{ellipsis, 1}] + 1}, 1); }
Array chances() { return odds() / sum(odds(), {.axis = 1, .keepdims = true}); }

template <typename F>
auto total(F f) {
  return [f](const Array& x) { return sum(sin(f(x))); };
}

void draws(Seen& seen, const std::string& prefix, const Sharding& sharding) {
  const Array key = random::key(11);
  auto at = [&](const Array& x) { return device_put(x, sharding); };
  auto run = [&](const std::string& name, auto f, const auto&... args) { seen.add(prefix + name, jit(f)(args...)); };
  auto of_one = [&](const std::string& name, auto f) {
    run(
        name, [f](const Array& k, const Array& x) { return f(k, x); }, key, at(a()));
    run("grad." + name, grad(total([f, key](const Array& x) { return f(key, x); })), at(a()));
  };
  of_one("gamma", [](const Array& k, const Array& x) { return random::gamma(k, x); });
  of_one("loggamma", [](const Array& k, const Array& x) { return random::loggamma(k, x); });
  of_one("chisquare", [](const Array& k, const Array& x) { return random::chisquare(k, x); });
  of_one("t", [](const Array& k, const Array& x) { return random::t(k, x); });
  of_one("generalized_normal", [](const Array& k, const Array& x) { return random::generalized_normal(k, x, {8, 2}); });
  auto of_two = [&](const std::string& name, auto f) {
    run(
        name, [f](const Array& k, const Array& x, const Array& y) { return f(k, x, y); }, key, at(a()), at(b()));
    run("grad." + name, grad(total([f, key](const Array& x) { return f(key, x + 2, b() + 2); })), at(a()));
  };
  of_two("beta", [](const Array& k, const Array& x, const Array& y) { return random::beta(k, x, y); });
  of_two("f", [](const Array& k, const Array& x, const Array& y) { return random::f(k, x, y); });
  run(
      "dirichlet", [](const Array& k, const Array& x) { return random::dirichlet(k, x); }, key, at(odds()));
  run(
      "dirichlet.shape", [](const Array& k, const Array& x) { return random::dirichlet(k, x[0], Shape{4}); }, key, at(odds()));
  run(
      "poisson", [](const Array& k, const Array& x) { return random::poisson(k, x); }, key, at(rates()));
  run(
      "binomial", [](const Array& k, const Array& x, const Array& y) { return random::binomial(k, x, y); }, key, at(trials()),
      at(shares()));
  run(
      "multinomial", [](const Array& k, const Array& x) { return random::multinomial(k, 50, x); }, key, at(chances()));
  const Array first = a()[0];
  run("vmap.gamma", vmap([first](const Array& k) { return random::gamma(k, first); }), stack(random::split(key, 4)));
  run("vmap.poisson", vmap([](const Array& k, const Array& x) { return random::poisson(k, x); }), stack(random::split(key, 8)),
      at(rates()));
}

TEST(Draws, AreJaxs) {
  Seen seen("draws.txt");
  const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  draws(seen, "cut.", NamedSharding(mesh, P("x")));
  draws(seen, "whole.", NamedSharding(mesh, P()));
  auto run = [&](const std::string& name, auto f) { seen.add(name, jit(f)(random::key(11))); };
  run("gamma.shape", [](const Array& k) { return random::gamma(k, 0.3, {3, 4}); });
  run("loggamma.tiny", [](const Array& k) { return random::loggamma(k, 1e-3, {6}); });
  run("poisson.shape", [](const Array& k) { return random::poisson(k, 3.5, {3, 4}); });
  run("poisson.wide", [](const Array& k) { return random::poisson(k, 2000.0, {5}, int16); });
  run("binomial.shape", [](const Array& k) { return random::binomial(k, 10, 0.4, {3, 4}); });
  run("binomial.odd", [](const Array& k) {
    const float none = std::numeric_limits<float>::quiet_NaN(), endless = std::numeric_limits<float>::infinity();
    const Array n = array<float>({-1, endless, none, 5, 5, 5, 0}), p = array<float>({0.5, 0.5, 0.5, -0.1F, 0, 1, 0.5});
    const Array drawn = random::binomial(k, n, p);
    return where(isnan(drawn), -7.0, where(isinf(drawn), -9.0, drawn));
  });
  run("ball", [](const Array& k) { return random::ball(k, 3, 2, {5}); });
  run("ball.1", [](const Array& k) { return random::ball(k, 2, 1, {5}); });
  config::update("jax_threefry_partitionable", false);
  run("older.gamma", [](const Array& k) { return random::gamma(k, linspace(0.3, 4.0, 7)); });
  run("older.poisson", [](const Array& k) { return random::poisson(k, linspace(0.3, 14.0, 7)); });
  config::update("jax_threefry_partitionable", true);
}

// Forward mode on forward mode, as jax.jvp of jax.jvp; JAX's numbers come of loops in float32.
TEST(Draws, GammaHasDerivativesOfEveryOrder) {
  const Array key = random::key(7), a = array<float>({0.3F, 1.0F, 2.5F, 8.0F}), one = ones({4});
  auto expect = [&](auto draw, const std::vector<std::vector<float>>& wanted) {
    auto along = [one](auto f) { return [f, one](const Array& x) { return std::get<1>(jvp(f, std::tuple{x}, std::tuple{one})); }; };
    auto first = along(draw);
    auto second = along(first);
    const std::vector<Array> found = {first(a), second(a), along(second)(a)};
    for (std::size_t order = 0; order < found.size(); ++order) {
      const std::vector<float> got = found[order].to_vector<float>();
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], wanted[order][i], 2e-3 * std::fabs(wanted[order][i])) << order << " " << i;
    }
  };
  expect([key](const Array& x) { return random::gamma(key, x); }, {{2.7065958e-05, 4.8733953e-01, 7.6069146e-01, 1.2068626e+00},
                                                                   {0.00110335, 0.3284565, 0.0564412, -0.01342641},
                                                                   {0.03714308, -0.54272825, -0.03945927, 0.00261043}});
  expect([key](const Array& x) { return random::loggamma(key, x); }, {{47.35221, 2.2363555, 0.5782273, 0.10691749},
                                                                      {-3.1189990e+02, -3.4940300, -2.9144397e-01, -1.2620826e-02},
                                                                      {3.115043e+03, 9.766497, 2.822398e-01, 3.057222e-03}});
}

// What is counted does not vary.
TEST(Draws, CountsHaveNoDerivatives) {
  const Array key = random::key(3), p = full({2}, 0.5);
  EXPECT_THAT(grad([&](const Array& x) { return sum(random::poisson(key, x) * 1.0); })(p).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_THAT(grad([&](const Array& x) { return sum(random::binomial(key, 10, x)); })(p).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_THAT(grad([&](const Array& x) { return sum(random::multinomial(key, 10, x)); })(p).to_vector<float>(), ElementsAre(0, 0));
}

// The numbers are jax.random.randint's, of key 5.
TEST(Draws, WholeNumbersBetweenArrays) {
  const Array key = random::key(5), low = remainder(arange(6) * 5, 7), high = low * 3 + 1;
  EXPECT_THAT(random::randint(key, {6}, low, high).to_vector<std::int32_t>(), ElementsAre(0, 7, 3, 1, 7, 11));
  EXPECT_THAT(random::randint(key, {2, 6}, 0, low + 1, uint8).to_vector<std::uint8_t>(), ElementsAre(0, 0, 3, 0, 2, 1, 0, 1, 1, 1, 2, 2));
  EXPECT_THAT(error_of([&] { random::randint(key, {2}, 0.5, low); }), HasSubstr("minval must be whole numbers"));
  EXPECT_THAT(error_of([&] { random::randint(key, {2}, 0, high); }), HasSubstr("(6,)"));
}

TEST(Draws, ComplexNormalNumbers) {
  const std::vector<Complex64> wanted{{-1.6817402f, -1.3740652f}, {-1.206442f, 0.07411618f}, {-0.34746975f, -0.0336509f}};
  const auto drawn = random::normal(random::key(3), {3}, complex64).to_vector<Complex64>();
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_LT(std::abs(drawn.at(i) - wanted[i]), 1e-6) << i;
}

TEST(Draws, Errors) {
  const Array key = random::key(0);
  EXPECT_THAT(error_of([&] { random::gamma(key, 1.0, {2}, int32); }), HasSubstr("dtype argument to `gamma` must be a float dtype"));
  EXPECT_THAT(error_of([&] { random::poisson(key, 1.0, {2}, float32); }), HasSubstr("dtype argument to `poisson` must be an int dtype"));
  EXPECT_THAT(error_of([&] { random::binomial(key, 1, 0.5, {2}, int32); }),
              HasSubstr("dtype argument to `binomial` must be a float dtype"));
  EXPECT_THAT(error_of([&] { random::dirichlet(key, 1.0); }), HasSubstr("dirichlet requires alpha.ndim >= 1, got alpha.ndim == 0"));
  EXPECT_THAT(error_of([&] { random::gamma(key, ones({3}), {2}); }), HasSubstr("(3,)"));
}

}  // namespace
