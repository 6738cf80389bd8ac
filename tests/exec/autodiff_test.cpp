// grad, vjp, jvp, linearize, vmap and the Jacobians as users call them: nested in each other and in jit, over trees, and their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/exec/autodiff.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/lax.h"
#include "runtime/exec/linalg.h"
#include "runtime/exec/numpy.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/vmap.h"
#include "tests/support/error_of.h"

using namespace shardlab;  // as a user's program has it

struct Layer {
  Array w, b;
};
SHARDLAB_TREE(Layer, w, b)

namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

auto near(float value) { return FloatNear(value, 1e-5f); }
Array ramp(std::int64_t n) { return arange(n, float32) * 0.5; }

TEST(Autodiff, GradOfAScalarFunction) {
  auto f = [](const Array& x) { return sum(sin(x)); };
  EXPECT_THAT(grad(f)(ramp(3)).to_vector<float>(), ElementsAre(near(1), near(std::cos(0.5f)), near(std::cos(1.0f))));
}

TEST(Autodiff, GradOfGradAndJitInsideAndOutside) {
  auto f = [](const Array& x) { return x * x * x; };
  Array x = full({}, 2.0);
  EXPECT_THAT(grad(grad(f))(x).item<float>(), near(12));
  EXPECT_THAT(grad(jit(f))(x).item<float>(), near(12));
  EXPECT_THAT(jit(grad(grad(f)))(x).item<float>(), near(12));
  EXPECT_THAT(jit(grad(jit(f)))(x).item<float>(), near(12));
}

// A fraction and a power of 2: the power stays as it is. Out of reach of 2^300 is no result of it.
TEST(Autodiff, OfTheFractionAndPowerOfANumber) {
  const Array x = full({}, 6.0);
  auto scaled = [](const Array& each) { return ldexp(each, 3); };
  auto fraction = [](const Array& each) { return frexp(each).first; };
  EXPECT_THAT(grad(scaled)(x).item<float>(), near(8));
  EXPECT_THAT(grad(fraction)(x).item<float>(), near(0.125f));
  EXPECT_EQ(ldexp(full({}, std::ldexp(1.0, -100)), 200).item<float>(), std::ldexp(1.0f, 100));
}

// Where |x| has a kink, sums of exponentials are smooth: as JAX's own rules for them say.
TEST(Autodiff, WhereTheTermsOfALogarithmAreEqual) {
  Array zero = zeros({}), one = ones({});
  auto by_name = [](std::string_view op) { return [op](const Array& x) { return apply(op, {x}, {}, {}).at(0); }; };
  EXPECT_THAT(grad(by_name("softplus"))(zero).item<float>(), near(0.5f));
  EXPECT_THAT(grad(by_name("log_sigmoid"))(zero).item<float>(), near(0.5f));
  EXPECT_THAT(grad(by_name("mish"))(zero).item<float>(), near(0.6f));
  for (std::string_view op : {"logaddexp", "logaddexp2"}) {
    auto f = [op](const Array& x, const Array& y) { return apply(op, {x, y}, {}, {}).at(0); };
    auto [value, both] = value_and_grad<0, 1>(f)(one, one);
    EXPECT_THAT(value.item<float>(), near(op == "logaddexp" ? 1 + std::log(2.0f) : 2));
    EXPECT_THAT(std::get<0>(both).item<float>(), near(0.5f)) << op;
    EXPECT_THAT(std::get<1>(both).item<float>(), near(0.5f)) << op;
  }
}

// Functions whose derivative is a rule of its own, as JAX's is: where those of the ops that they are made of have a kink, no value or no
// digits left, and once more derived. The numbers are JAX's.
TEST(Autodiff, OwnRules) {
  auto by_name = [](std::string_view op) { return [op](const Array& x) { return apply(op, {x}, {}, {}).at(0); }; };
  auto slope = [&](std::string_view op, double at) { return grad(by_name(op))(full({}, at)).item<float>(); };
  auto bend = [&](std::string_view op, double at) { return grad(grad(by_name(op)))(full({}, at)).item<float>(); };
  for (auto [at, wanted] : {std::pair{0.0, 0.0f}, {3.0, 1.0f}, {6.0, 0.0f}}) EXPECT_EQ(slope("relu6", at), wanted);
  EXPECT_EQ(slope("sinc", 0), 0);
  EXPECT_THAT(bend("sinc", 0), near(-3.2898684f));
  EXPECT_THAT(slope("entr", 0.5), near(-0.30685282f));
  EXPECT_THAT(bend("entr", 0.5), near(-2));
  EXPECT_THAT(slope("log_ndtr", -30), FloatNear(30.032578f, 1e-4f));
  EXPECT_THAT(slope("log_ndtr", 8), FloatNear(5.0522754e-15f, 1e-19f));
  EXPECT_THAT(bend("log_ndtr", -1), near(-0.800902f));
  EXPECT_THAT(slope("i0", 0), near(0));
  EXPECT_THAT(slope("i0", 1.5), near(0.9816665f));
  EXPECT_THAT(bend("i0", 1.5), near(0.9922789f));
  EXPECT_THAT(slope("i0e", -9), near(0.0077345f));
  EXPECT_THAT(bend("i0e", 1.5), near(0.1507622f));
  EXPECT_THAT(slope("i1", 0), near(0.5f));
  EXPECT_THAT(slope("i1e", -9), near(-0.0064016f));
  EXPECT_THAT(bend("i1e", 1.5), near(-0.0549899f));
  EXPECT_THAT(slope("logit", 0.25), near(5.3333335f));
  EXPECT_THAT(bend("logit", 0.25), near(-14.222223f));
  EXPECT_THAT(slope("log1mexp", 0.3), near(2.8582962f));
  EXPECT_THAT(bend("softplus", 0.5), near(0.23500371f));
  auto poch = grad<0, 1>([](const Array& z, const Array& m) { return apply("poch", {z, m}, {}, {}).at(0); })(full({}, 2.5), full({}, 1.5));
  EXPECT_THAT(std::get<0>(poch).item<float>(), near(2.4958003f));
  EXPECT_THAT(std::get<1>(poch).item<float>(), near(5.6695127f));
  auto by_zero = grad<0, 1>([](const Array& x, const Array& y) { return apply("xlogy", {x, y}, {}, {}).at(0); })(zeros({}), full({}, 2.0));
  EXPECT_THAT(std::get<0>(by_zero).item<float>(), near(0.6931472f));
  EXPECT_EQ(std::get<1>(by_zero).item<float>(), 0);
  EXPECT_THAT(grad(grad([](const Array& x) { return power(x, 5); }))(full({}, 2.0)).item<float>(), near(160));
  EXPECT_THAT(grad([](const Array& x) { return power(x, -2); })(full({}, 2.0)).item<float>(), near(-0.25f));
}

// Solutions, inverses and determinants by their factors; of a singular matrix the determinant has a gradient too.
TEST(Autodiff, OwnRulesOfMatrices) {
  const Array a = array<float>({1, 2, 3, 4, 2, 4, 6, 9, 0, 1, 1, 1, 1, 0, 2, 1}, {4, 4}), b = 3 * eye(4) + a;
  const Array singular = array<float>({1, 2, 3, 4, 2, 4, 6, 8, 0, 1, 1, 1, 1, 0, 2, 1}, {4, 4});
  EXPECT_THAT(grad([](const Array& x) { return linalg::det(x); })(singular).reshape({16}).to_vector<float>(),
              testing::Pointwise(FloatNear(1e-4f), {6, 4, -2, -2, -3, -2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  auto bend = [](auto f) { return grad(grad(f))(full({}, 0.3)).template item<float>(); };
  const Array i = arange(4, float32);
  auto turned = [&](const Array& t) { return linalg::det(a + t * (i.reshape({4, 1}) * (i + 1)) + t * t * eye(4)); };
  EXPECT_THAT(bend(turned), FloatNear(37.422997f, 1e-3f));
  EXPECT_THAT(bend([&](const Array& t) { return sum(sin(linalg::inv(b + t * a))); }), FloatNear(0.27723333f, 1e-4f));
  EXPECT_THAT(bend([&](const Array& t) { return sum(sin(linalg::solve(b + t * a, a * t * t))); }), FloatNear(3.3253841f, 1e-4f));
  EXPECT_THAT(bend([&](const Array& t) { return linalg::slogdet(b + t * a).logabsdet; }), near(-0.13435215f));
}

TEST(Autodiff, SeveralArgumentsAndTheValue) {
  auto f = [](const Array& x, const Array& y) { return sum(x * y); };
  auto [value, both] = value_and_grad<0, 1>(f)(ramp(3), ramp(3) + 1);
  EXPECT_THAT(value.item<float>(), near(0.5f * 1.5f + 2));
  EXPECT_THAT(std::get<0>(both).to_vector<float>(), ElementsAre(1, 1.5, 2));
  EXPECT_THAT(std::get<1>(both).to_vector<float>(), ElementsAre(0, 0.5, 1));
}

TEST(Autodiff, GradientsHaveTheStructureOfTheirParameters) {
  auto loss = [](const std::vector<Layer>& params, const Array& x) {
    Array h = x;
    for (const Layer& layer : params) h = matmul(h, layer.w) + layer.b;
    return sum(h);
  };
  std::vector<Layer> params = {{ones({2, 3}), zeros({3})}, {ones({3, 1}), zeros({1})}};
  std::vector<Layer> gradients = jit(grad(loss))(params, ones({4, 2}));
  ASSERT_EQ(gradients.size(), 2u);
  EXPECT_THAT(gradients[1].w.to_vector<float>(), ElementsAre(8, 8, 8));
  EXPECT_THAT(gradients[0].b.to_vector<float>(), ElementsAre(4, 4, 4));
  std::vector<Layer> stepped = tree::map([](const Array& p, const Array& g) { return p - 0.5 * g; }, params, gradients);
  EXPECT_THAT(stepped[1].b.to_vector<float>(), ElementsAre(-2));
}

TEST(Autodiff, JitKnowsTreesOfOtherSizesApart) {
  auto total = jit([](const std::vector<Array>& parts) {
    std::vector<Array> sums;
    for (const Array& part : parts) sums.push_back(sum(part));
    return sums;
  });
  EXPECT_EQ(total(std::vector<Array>{ramp(2), ramp(3)}).size(), 2u);
  EXPECT_EQ(total(std::vector<Array>{ramp(2)}).size(), 1u);
  EXPECT_EQ(total(std::vector<Array>{ramp(2), ramp(3)}).size(), 2u);
}

TEST(Autodiff, AuxiliaryResultsPassThrough) {
  auto f = [](const Array& x) { return std::pair(sum(x * x), x + 1); };
  auto [gradient, all] = grad(f)(ramp(2));
  EXPECT_THAT(gradient.to_vector<float>(), ElementsAre(0, 1));
  EXPECT_THAT(all.second.to_vector<float>(), ElementsAre(1, 1.5));
}

TEST(Autodiff, CapturedArraysAreConstantAndStayWhereTheyLie) {
  Mesh mesh = make_mesh({8}, {"a"});
  Array x = device_put(ramp(16), NamedSharding(mesh, P("a")));
  Array gradient = grad([&](const Array& w) { return sum(w * x); })(full({}, 3.0));
  EXPECT_THAT(gradient.item<float>(), near(60));
  Array of_x = grad([](const Array& each) { return sum(each * each); })(x);
  EXPECT_TRUE(of_x.sharding().is_equivalent_to(x.sharding(), x.shape()));
}

// As JAX's do, 0.10.2: outside of jit by each op's operands.
TEST(Autodiff, GradientsOutsideOfJitLieAsIfOpsRanOneByOne) {
  const Mesh mesh = make_mesh({4, 2}, {"a", "b"});
  const Array x = device_put(reshape(ramp(96), {16, 6}), NamedSharding(mesh, P("a", "b")));
  const Array w = device_put(reshape(ramp(48), {6, 8}), NamedSharding(mesh, P()));
  const Array u = device_put(reshape(ramp(48), {8, 6}), NamedSharding(mesh, P(SpecEntry{"b", "a"})));
  auto loss = [](const Array& in, const Array& first, const Array& last) {
    return sum(square(matmul(gelu(matmul(in, first)), last) + in));
  };
  auto lies = [](const Array& gradient, const Sharding& wanted) { return gradient.sharding().is_equivalent_to(wanted, gradient.shape()); };
  const Sharding by_ops = NamedSharding(mesh, P(nullptr, "b"));
  EXPECT_TRUE(lies(grad<2>(loss)(x, w, u), by_ops));
  EXPECT_TRUE(lies(std::get<2>(vjp(loss, x, w, u).second(ones({}))), by_ops));
  EXPECT_TRUE(lies(grad<2>(jit(loss))(x, w, u), NamedSharding(mesh, P("b"))));
}

TEST(Autodiff, JvpVjpAndLinearizeAgree) {
  auto f = [](const Array& x, const Array& y) { return sin(x) * y; };
  Array x = ramp(3), y = ramp(3) + 1;
  auto [value, tangent] = jvp(f, std::tuple{x, y}, std::tuple{ones({3}), zeros({3})});
  auto [again, push] = linearize(f, x, y);
  EXPECT_EQ(value.to_vector<float>(), again.to_vector<float>());
  EXPECT_EQ(tangent.to_vector<float>(), push(ones({3}), zeros({3})).to_vector<float>());
  auto [third, pull] = vjp(f, x, y);
  auto [dx, dy] = pull(ones({3}));
  EXPECT_EQ(dx.to_vector<float>(), tangent.to_vector<float>());
  EXPECT_THAT(dy.to_vector<float>(), ElementsAre(near(0), near(std::sin(0.5f)), near(std::sin(1.0f))));
}

TEST(Autodiff, JacobiansAndTheHessian) {
  auto f = [](const Array& x) { return x * x; };
  EXPECT_THAT(jacfwd(f)(ramp(2)).to_vector<float>(), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(jacrev(f)(ramp(2)).to_vector<float>(), ElementsAre(0, 0, 0, 1));
  auto cube = [](const Array& x) { return sum(x * x * x); };
  EXPECT_THAT(hessian(cube)(ramp(2)).to_vector<float>(), ElementsAre(0, 0, 0, near(3)));
  // Along one of several arguments, which may be trees and numbers.
  using Weights = std::map<std::string, Array>;
  auto scaled = [](const Weights& w, const Array& x, int power) { return w.at("a") * x * x * double(power); };
  const Weights weights{{"a", full({2}, 3.0)}};
  EXPECT_THAT(jacfwd<1>(scaled)(weights, ramp(2), 2).to_vector<float>(), ElementsAre(0, 0, 0, 6));
  EXPECT_THAT(jit(jacrev<1>(scaled))(weights, ramp(2), 2).to_vector<float>(), ElementsAre(0, 0, 0, 6));
  auto energy = [&](const Array& x, const Weights& w) { return sum(scaled(w, x, 1)); };
  EXPECT_THAT(hessian(energy)(ramp(2), weights).to_vector<float>(), ElementsAre(6, 0, 0, 6));
}

TEST(Vmap, OfAFunctionOfGradAndOfVmap) {
  Array xs = reshape(arange(6, float32), {2, 3});
  auto dot_with = [](const Array& x, const Array& y) { return sum(x * y); };
  EXPECT_THAT(vmap(dot_with, {.in_axes = {0, std::nullopt}})(xs, ones({3})).to_vector<float>(), ElementsAre(3, 12));
  EXPECT_THAT(vmap(dot_with, {.in_axes = {1, 1}})(xs, xs).to_vector<float>(), ElementsAre(9, 17, 29));
  auto square_sum = [](const Array& x) { return sum(x * x); };
  EXPECT_THAT(vmap(grad(square_sum))(xs).to_vector<float>(), ElementsAre(0, 2, 4, 6, 8, 10));
  auto product = [](const Array& x, const Array& y) { return x * y; };
  auto outer = vmap(vmap(product, {.in_axes = {std::nullopt, 0}}), {.in_axes = {0, std::nullopt}});
  EXPECT_THAT(outer(ramp(2), ramp(3)).to_vector<float>(), ElementsAre(0, 0, 0, 0, 0.25, 0.5));
  EXPECT_EQ(vmap([](const Array& x) { return sin(x); }, {.out_axes = {-1}})(xs).shape(), (Shape{3, 2}));
}

TEST(Vmap, OfNoElementsOverAConvolution) {
  auto convolved = [](const Array& x, const Array& w) { return conv(x, w, {1, 1}, "SAME"); };
  const Array images = zeros({0, 2, 3, 5, 5}), kernels = zeros({0, 4, 3, 2, 2}), image = zeros({2, 3, 5, 5}), kernel = zeros({4, 3, 2, 2});
  const Shape none{0, 2, 4, 5, 5};
  EXPECT_EQ(vmap(convolved)(images, kernels).shape(), none);
  EXPECT_EQ(vmap(convolved, {.in_axes = {0, std::nullopt}})(images, kernel).shape(), none);
  EXPECT_EQ(vmap(convolved, {.in_axes = {std::nullopt, 0}})(image, kernels).shape(), none);
}

TEST(Autodiff, Errors) {
  auto identity = [](const Array& x) { return x; };
  EXPECT_THAT(
      error_of([&] { grad(identity)(ramp(3)); }),
      AllOf(HasSubstr("Gradient only defined for scalar-output functions. Output had shape: (3,)."), HasSubstr("autodiff_test.cpp:")));
  EXPECT_THAT(error_of([&] { grad(identity)(full({}, 3)); }),
              HasSubstr("grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got int32."));
  EXPECT_THAT(error_of([&] { jvp(identity, std::tuple{ramp(3)}, std::tuple{ramp(2)}); }),
              HasSubstr("jvp called with different primal and tangent shapes;Got primal shape (3,) and tangent shape as (2,)"));
  EXPECT_THAT(
      error_of([&] { jvp(identity, std::tuple{ramp(3)}, std::tuple{full({3}, 1)}); }),
      HasSubstr("primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of int/bool primal dtype the "
                "tangent dtype must be float0.Got primal dtype float32 and so expected tangent dtype float32, but got tangent dtype "
                "int32 instead."));
}

TEST(Autodiff, LinearFunctionsRefuseWhatDoesNotFit) {
  auto both = [](const Array& x) { return std::pair(sin(x), round(x).astype(int32)); };
  auto [y, pull] = vjp([](const Array& x) { return sin(x); }, ramp(3));
  for (const Array& cotangent : {ramp(4), full({3}, 1), full({}, 1.0), ones({3}).astype(float16)})
    EXPECT_THAT(error_of([&, pull = pull] { pull(cotangent); }),
                AllOf(HasSubstr("unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got " + cotangent.type().text() +
                                ", but expected float32[3] because the corresponding output of the differentiated function had JAX type "
                                "float32[3]"),
                      HasSubstr("autodiff_test.cpp:")));
  auto [z, push] = linearize([](const Array& x) { return sin(x); }, ramp(3));
  EXPECT_THAT(error_of([push = push] { push(ramp(4)); }),
              HasSubstr("linearized function called on tangent values inconsistent with the original primal values:\nGot tangent aval "
                        "float32[4] for primal aval float32[3] but expected float32[3]."));
  // What stands for the cotangent of integers is not looked at.
  auto [pair, pull_both] = vjp(both, zeros({3}));
  EXPECT_THAT(std::get<0>(pull_both({ones({3}), ones({2})})).to_vector<float>(), ElementsAre(1, 1, 1));
}

TEST(Vmap, Errors) {
  auto add_both = [](const Array& x, const Array& y) { return x + y; };
  EXPECT_THAT(error_of([&] { vmap(add_both)(ramp(2), ramp(3)); }),
              AllOf(HasSubstr("vmap got inconsistent sizes for array axes to be mapped"),
                    HasSubstr("one axis had size 2: axis 0 of args[0] of type float32[2]")));
  EXPECT_THAT(
      error_of([&] {
        vmap(add_both, {.in_axes = {1, 0}})(ramp(2), ramp(2));
      }),
      HasSubstr(
          "vmap was requested to map its argument along axis 1, which implies that its rank should be at least 2, but is only 1 (its shape "
          "is (2,)): args[0] of f"));
  EXPECT_THAT(error_of([&] { vmap(add_both, {.in_axes = {std::nullopt}})(ramp(2), ramp(2)); }),
              HasSubstr("vmap must have at least one non-None value in in_axes"));
  EXPECT_THAT(error_of([&] { vmap(add_both, {.out_axes = {std::nullopt}})(ramp(2), ramp(2)); }),
              HasSubstr("at vmap out_axes, got axis spec None but output was batched on axis 0"));
}

}  // namespace
