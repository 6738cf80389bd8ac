// jax.scipy.stats and the integrals that it is made of: values, gradients and shardings are JAX's (make_stats_goldens.py).
#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <set>

#include "runtime/ops/registry.h"
#include "tests/exec/jax_goldens.h"
#include "tests/support/error_of.h"

using namespace shardlab;  // as a user's program has it
using testing_goldens::Seen;

namespace {

using ::testing::HasSubstr;

const std::map<std::string, std::vector<double>> kParameters = {{"bernoulli", {0.3}},         {"beta", {1.4, 2.3, 0.1, 1.3}},
                                                                {"betabinom", {5, 1.2, 2.3}}, {"binom", {5, 0.3}},
                                                                {"cauchy", {0.1, 1.3}},       {"chi2", {2.7, 0.1, 1.3}},
                                                                {"expon", {0.1, 1.3}},        {"gamma", {1.7, 0.1, 1.3}},
                                                                {"gennorm", {1.6}},           {"geom", {0.3, -1}},
                                                                {"gumbel_l", {0.1, 1.3}},     {"gumbel_r", {0.1, 1.3}},
                                                                {"laplace", {0.1, 1.3}},      {"logistic", {0.1, 1.3}},
                                                                {"nbinom", {2.5, 0.4}},       {"norm", {0.1, 1.3}},
                                                                {"pareto", {1.7, -1.2, 1.3}}, {"poisson", {1.7}},
                                                                {"t", {2.7, 0.1, 1.3}},       {"truncnorm", {-0.3, 1.1, 0.1, 1.3}},
                                                                {"uniform", {0.1, 1.3}},      {"vonmises", {1.7}},
                                                                {"wrapcauchy", {0.4}}};

Array wide() { return linspace(-0.4, 3.4, 16).reshape({8, 2}); }
Array inside() { return linspace(0.2, 0.9, 16).reshape({8, 2}); }
Array tamed(const Array& x) {
  const double infinity = std::numeric_limits<double>::infinity();
  return where(isnan(x), -7.0, where(x == infinity, 9.0, where(x == -infinity, -5.0, x)));
}
Array on(const Array& x, const P& spec) {
  static const Mesh mesh = make_mesh({4, 2}, {"x", "y"});
  return device_put(x, NamedSharding(mesh, spec));
}

// A member of a distribution, called as a scenario does.
struct Member {
  std::string distribution, name;
  explicit Member(std::string_view op) {
    const std::size_t dot = op.find('.', 6);
    distribution = op.substr(6, dot - 6);
    name = op.substr(dot + 1);
  }
  bool is_inverse() const { return name == "ppf" || name == "isf"; }
  bool is_discrete() const {
    static const std::set<std::string> names = {"bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"};
    return names.contains(distribution);
  }
  bool has_gradient() const {
    const bool is_beta_integral = distribution == "beta" && name != "pdf" && name != "logpdf";
    return !is_beta_integral && !distribution.starts_with("gumbel") && !(is_discrete() && is_inverse());
  }
  Array operator()(const Array& x, const std::function<Array(double)>& parameter) const {
    std::vector<Operand> operands{x};
    for (double each : kParameters.at(distribution)) operands.emplace_back(parameter(each));
    return apply("stats." + distribution + "." + name, operands, {}, operands[0].where()).at(0);
  }
};

void distributions(Seen& seen) {
  for (const OpDef* op : all_ops()) {
    if (!op->name.starts_with("stats.") || op->name.find('.', 6) == std::string_view::npos) continue;
    const Member member(op->name);
    if (!kParameters.contains(member.distribution)) continue;  // of vectors
    const Array counts = arange(16).reshape({8, 2}) % 8 - 1;
    const Array x = on(member.is_discrete() && !member.is_inverse() ? counts : wide(), P("x"));
    const std::string key = member.distribution + "." + member.name;
    seen.add(key, jit([&](const Array& t) { return tamed(member(t, [](double p) { return full({}, p, float32); })); })(x));
    if (!member.has_gradient()) continue;
    const Array at = member.is_discrete() ? arange(16) % (member.distribution == "bernoulli" ? 2 : 5) : inside();
    auto total = [&](const Array& s) {
      const Array value = member(member.is_discrete() ? at : at * s, [&](double p) { return s * p; });
      return sum(member.name.starts_with("log") ? exp(value) : sin(value));
    };
    seen.add("grad." + key, jit(grad(total))(full({}, 1.0, float32)));
  }
}

void integrals(Seen& seen) {
  const Array a = linspace(0.1, 6.0, 16).reshape({8, 2}), x = flip(linspace(0.05, 7.0, 16)).reshape({8, 2});
  const Array shares = linspace(0.01, 0.99, 16).reshape({8, 2}), cut_a = on(a, P("x")), cut_x = on(x, P("x")), whole_x = on(x, P());
  auto run = [&](const std::string& name, auto f, const auto&... args) { seen.add(name, jit(f)(args...)); };
  using Two = Array (*)(const Operand&, const Operand&);
  for (auto [name, f] : {std::pair<std::string, Two>{"gammainc", gammainc}, {"gammaincc", gammaincc}}) {
    run(
        name, [f = f](const Array& s, const Array& t) { return f(s, t); }, cut_a, whole_x);
    auto total = [f = f](const Array& s, const Array& t) { return sum(sin(f(s, t))); };
    run("grad0." + name, grad(total), cut_a, whole_x);
    run("grad1." + name, grad<1>(total), cut_a, whole_x);
  }
  run(
      "igamma_grad_a", [](const Array& s, const Array& t) { return igamma_grad_a(s, t); }, cut_a, whole_x);
  run(
      "random_gamma_grad", [](const Array& s, const Array& t) { return random_gamma_grad(s, t); }, cut_a, whole_x);
  run(
      "betainc", [](const Array& s, const Array& t) { return betainc(s, 2.5, t); }, cut_a, on(shares, P()));
  run("grad.betainc", grad([&](const Array& t) { return sum(sin(betainc(a, 2.5, t))); }), on(shares, P()));
  run(
      "exp1", [](const Array& t) { return exp1(t); }, cut_x);
  for (int n : {0, 1, 2, 5}) {
    run(
        "expn." + std::to_string(n), [n](const Array& t) { return expn(n, t); }, cut_x);
    if (n > 0) run("grad.expn." + std::to_string(n), grad([n](const Array& t) { return sum(sin(expn(n, t))); }), cut_x);
  }
  const Array both_signs = on(x - 2.5, P("x"));
  run(
      "expi", [](const Array& t) { return expi(t); }, both_signs);
  run("grad.expi", grad([](const Array& t) { return sum(sin(expi(t))); }), both_signs);
  auto kummer = [](const Array& t) { return hyp1f1(1.3, 2.7, t); };
  auto gauss = [](const Array& t) { return hyp2f1(1.3, 0.6, 2.7, t / 9); };
  run("hyp1f1", kummer, cut_x);
  run("grad.hyp1f1", grad([=](const Array& t) { return sum(sin(kummer(t))); }), cut_x);
  run("hyp2f1", gauss, cut_x);
  run("grad.hyp2f1", grad([=](const Array& t) { return sum(sin(gauss(t))); }), cut_x);
  run(
      "bessel_jn", [](const Array& t) { return bessel_jn(t + 6, 3); }, cut_x);
  run("grad.bessel_jn", grad([](const Array& t) { return sum(sin(bessel_jn(t + 6, 2))); }), cut_x);
  run(
      "half.gammainc", [](const Array& s) { return gammainc(s, full({}, 2, bfloat16)); }, on(a.astype(bfloat16), P()));
  run(
      "whole.gammainc", [](const Array& s) { return gammainc(s, 3); }, on(arange(8) + 1, P()));
}

void of_vectors(Seen& seen) {
  namespace normal = stats::multivariate_normal;
  auto run = [&](const std::string& name, auto f, const Array& at) { seen.add(name, jit(f)(at)); };
  const Array vectors = sin(arange(24, float32)).reshape({8, 3}), cut = on(vectors, P("x"));
  const Array mean = array<float>({0.1F, -0.2F, 0.3F}),
              covariance = array<float>({2, 0.3F, 0.1F, 0.3F, 1.5F, -0.2F, 0.1F, -0.2F, 1}, {3, 3});
  run(
      "mvn.logpdf", [&](const Array& t) { return normal::logpdf(t, mean, covariance); }, cut);
  run(
      "mvn.pdf", [&](const Array& t) { return normal::pdf(t, mean, 1.5); }, cut);
  run(
      "mvn.scalar", [](const Array& t) { return normal::logpdf(t, 0.5, 1.5); }, cut);
  run("grad.mvn", grad([&](const Array& c) { return sum(sin(normal::logpdf(vectors, mean, c))); }), on(covariance, P()));
  const Array simplex = on(transpose(softmax(vectors, {.axis = 1})), P()), alpha = array<float>({0.5F, 1.5F, 2.5F});
  run(
      "dirichlet.logpdf", [&](const Array& t) { return stats::dirichlet::logpdf(t, alpha); }, simplex);
  run(
      "dirichlet.pdf",
      [&](const Array& t) {
        return stats::dirichlet::pdf(slice(t, {0, 0}, {2, 8}), alpha);
      },
      simplex);
  const Array counts = array<std::int32_t>({3, 4, 5}), chances = on(array<float>({0.2F, 0.5F, 0.3F}), P());
  run(
      "multinomial.logpmf", [&](const Array& p) { return stats::multinomial::logpmf(counts, 12, p); }, chances);
  run(
      "multinomial.pmf", [&](const Array& p) { return stats::multinomial::pmf(counts, 11, p); }, chances);
  run(
      "sem", [](const Array& t) { return stats::sem(t); }, cut);
  run(
      "sem.all", [](const Array& t) { return stats::sem(t, std::nullopt, 0); }, on(vectors, P()));
  for (std::string method : {"average", "min", "max", "dense", "ordinal"})
    run(
        "rankdata." + method, [method](const Array& t) { return stats::rankdata(t, method); }, on(floor(vectors * 3), P()));
}

TEST(Stats, AreJaxs) {
  Seen seen("stats.txt");
  of_vectors(seen);
  distributions(seen);
  integrals(seen);
}

TEST(Stats, ParametersHaveDefaultsAndNames) {
  const Array x = inside();
  EXPECT_TRUE(allclose(stats::norm::logpdf(x), stats::norm::logpdf(x, 0, 1)).item<bool>());
  const std::vector<Operand> given{x, 2.0};
  const Array named = apply("stats.norm.cdf", given, {{"scale", std::int64_t(1)}}, given[0].where()).at(0);
  EXPECT_TRUE(allclose(named, stats::norm::cdf(x, 0, 2)).item<bool>());
  EXPECT_EQ(stats::poisson::pmf(arange(3), 2).dtype(), float32);
}

// Where JAX takes complex numbers; its values.
TEST(Stats, Complex) {
  const Array real = where(arange(2) == 0, 0.3, -1.2), imaginary = where(arange(2) == 0, 0.4, 0.5), z = complex(real, imaginary);
  auto expect = [](const Array& got, std::complex<float> first, std::complex<float> second) {
    EXPECT_EQ(got.dtype(), complex64);
    const std::vector<std::complex<float>> values = got.to_vector<std::complex<float>>();
    EXPECT_LT(std::abs(values.at(0) - first), 2e-6f);
    EXPECT_LT(std::abs(values.at(1) - second), 2e-6f);
  };
  expect(stats::norm::pdf(z), {0.41018137f, -0.0494594f}, {0.1816082f, 0.12424485f});
  expect(stats::cauchy::cdf(z), {0.6073884f, 0.12066709f}, {0.2054446f, 0.06214188f});
  expect(stats::cauchy::logcdf(z), {-0.47923237f, 0.19611202f}, {-1.5388064f, 0.293726f});
  expect(stats::cauchy::isf(z), {0.14581925f, -0.94020087f}, {-0.08429158f, -1.0235578f});
  expect(stats::logistic::logpdf(z), {-1.3693514f, -0.06034279f}, {-1.6820332f, 0.2725625f});
  expect(stats::logistic::ppf(z), {-0.4777557f, 1.4464413f}, {-0.55127454f, 2.9702783f});
}

TEST(Stats, Errors) {
  const std::vector<Operand> alone{inside()};
  EXPECT_THAT(error_of([&] { apply("stats.gamma.pdf", alone, {}, alone[0].where()); }),
              HasSubstr("missing 1 required positional argument: 'a'"));
  EXPECT_THAT(error_of([] { stats::norm::cdf(ones({2}, complex64)); }), HasSubstr("does not support complex-valued inputs."));
  EXPECT_THAT(error_of([] { grad([](const Array& a) { return sum(betainc(a, 2, 0.5)); })(ones({2})); }),
              HasSubstr("Betainc gradient with respect to a and b not supported."));
  EXPECT_THAT(error_of([] { stats::multinomial::pmf(1.5, 2, ones({2})); }), HasSubstr("x and n must be of integer type"));
  EXPECT_THAT(error_of([] { stats::dirichlet::pdf(ones({4}), ones({2})); }),
              HasSubstr("or one entry fewer; got x.shape=(4,), alpha.shape=(2,)"));
  EXPECT_THAT(error_of([] { stats::rankdata(ones({4}), "best"); }), HasSubstr("unknown method 'best'"));
  EXPECT_THAT(error_of([] { grad([](const Array& n) { return sum(expn(n, 2)); })(ones({2})); }),
              HasSubstr("expn gradient with respect to n is not supported"));
}

}  // namespace
