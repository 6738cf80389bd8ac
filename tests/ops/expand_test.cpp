// What user calls expand to, as graph texts: the decompositions that propagation relies on; and their values.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;
using Dims = std::vector<std::int64_t>;

TensorType f32(Shape shape) { return {DType::kFloat32, std::move(shape)}; }
TensorType i32(Shape shape) { return {DType::kInt32, std::move(shape)}; }
Attrs axis(std::int64_t value) { return Attrs{{"axis", value}}; }
Attrs axis_kept(std::int64_t value) { return Attrs{{"axis", value}, {"keepdims", true}}; }

TEST(Expand, Texts) {
  auto text = [](std::string_view op, std::vector<TensorType> params, Attrs attrs = {}, std::vector<Scalar> scalars = {}) {
    return print(graph_of(op, params, attrs, scalars));
  };
  EXPECT_EQ(text("square", {f32({4})}), R"(main(%0: float32[4]) {
  %1 = square(%0) : float32[4]
  return %1
}
)");
  EXPECT_EQ(text("relu", {f32({4, 2})}), R"(main(%0: float32[4,2]) {
  %1 = relu(%0) : float32[4,2]
  return %1
}
)");
  EXPECT_EQ(text("mean", {f32({4, 2})}, axis_kept(-1)), R"(main(%0: float32[4,2]) {
  %1 = reduce_sum(%0) {axes = [1]} : float32[4]
  %2 = reshape(%1) {shape = [4, 1]} : float32[4,1]
  %3 = constant() {value = float32[]{2.0}} : float32[]
  %4 = broadcast_in_dim(%3) {dims = [], shape = [4, 1]} : float32[4,1]
  %5 = div(%2, %4) : float32[4,1]
  return %5
}
)");
  EXPECT_EQ(text("add", {f32({4, 1}), i32({2})}), R"(main(%0: float32[4,1], %1: int32[2]) {
  %2 = reshape(%0) {shape = [4]} : float32[4]
  %3 = broadcast_in_dim(%2) {dims = [0], implicit = true, shape = [4, 2]} : float32[4,2]
  %4 = convert(%1) {dtype = float32} : float32[2]
  %5 = broadcast_in_dim(%4) {dims = [1], implicit = true, shape = [4, 2]} : float32[4,2]
  %6 = add(%3, %5) : float32[4,2]
  return %6
}
)");
  EXPECT_EQ(text("softmax", {f32({4, 2})}, axis(0)), R"(main(%0: float32[4,2]) {
  %1 = reduce_max(%0) {axes = [0]} : float32[2]
  %2 = constant() {value = float32[]{-inf}} : float32[]
  %3 = broadcast_in_dim(%2) {dims = [], shape = [2]} : float32[2]
  %4 = maximum(%1, %3) : float32[2]
  %5 = reshape(%4) {shape = [1, 2]} : float32[1,2]
  %6 = stop_gradient(%5) : float32[1,2]
  %7 = reshape(%6) {shape = [2]} : float32[2]
  %8 = broadcast_in_dim(%7) {dims = [1], implicit = true, shape = [4, 2]} : float32[4,2]
  %9 = sub(%0, %8) : float32[4,2]
  %10 = exp(%9) : float32[4,2]
  %11 = reduce_sum(%10) {axes = [0]} : float32[2]
  %12 = reshape(%11) {shape = [1, 2]} : float32[1,2]
  %13 = reshape(%12) {shape = [2]} : float32[2]
  %14 = broadcast_in_dim(%13) {dims = [1], implicit = true, shape = [4, 2]} : float32[4,2]
  %15 = div(%10, %14) : float32[4,2]
  return %15
}
)");
  EXPECT_EQ(text("matmul", {f32({3, 1, 4, 8}), f32({5, 8, 2})}), R"(main(%0: float32[3,1,4,8], %1: float32[5,8,2]) {
  %2 = reshape(%0) {shape = [3, 4, 8]} : float32[3,4,8]
  %3 = dot_general(%2, %1) {batch = [], contract = [2, 1]} : float32[3,4,5,2]
  %4 = transpose(%3) {axes = [0, 2, 1, 3]} : float32[3,5,4,2]
  return %4
}
)");
  EXPECT_EQ(text("einsum", {f32({8, 4, 16}), f32({8, 16, 2})}, Attrs{{"subscripts", std::string("bij,bjk->bik")}}),
            R"(main(%0: float32[8,4,16], %1: float32[8,16,2]) {
  %2 = dot_general(%0, %1) {batch = [0, 0], contract = [2, 1]} : float32[8,4,2]
  return %2
}
)");
  EXPECT_EQ(text("arange", {}, {}, {Scalar{std::int64_t(2)}, Scalar{std::int64_t(10)}, Scalar{std::int64_t(3)}}), R"(main() {
  %0 = iota() {dimension = 0, dtype = int32, shape = [3]} : int32[3]
  %1 = constant() {value = int32[]{3}} : int32[]
  %2 = broadcast_in_dim(%1) {dims = [], shape = [3]} : int32[3]
  %3 = mul(%0, %2) : int32[3]
  %4 = constant() {value = int32[]{2}} : int32[]
  %5 = broadcast_in_dim(%4) {dims = [], shape = [3]} : int32[3]
  %6 = add(%3, %5) : int32[3]
  return %6
}
)");
}

TEST(Expand, Dtypes) {
  auto dtype = [](std::string_view op, std::vector<DType> params, std::vector<Scalar> scalars = {}, Attrs attrs = {}) {
    std::vector<TensorType> types;
    for (DType each : params) types.push_back({each, {4}});
    Graph graph = graph_of(op, types, attrs, scalars);
    return graph.type(graph.results[0]).dtype;
  };
  constexpr DType kI = DType::kInt32, kU = DType::kUint32, kF = DType::kFloat32, kB = DType::kBool, kC = DType::kComplex64;
  const Scalar one{std::int64_t(1)}, half{0.5}, truth{true}, imaginary{std::complex<double>(0, 1)};
  EXPECT_EQ(dtype("add", {kI, kF}), kF);
  EXPECT_EQ(dtype("add", {kI, kU}), kI);
  EXPECT_EQ(dtype("add", {kB, kI}), kI);
  EXPECT_EQ(dtype("mul", {kF, kC}), kC);
  EXPECT_EQ(dtype("mul", {kI}, {one}), kI);
  EXPECT_EQ(dtype("mul", {kI}, {half}), kF);
  EXPECT_EQ(dtype("mul", {kF}, {one}), kF);
  EXPECT_EQ(dtype("mul", {kB}, {one}), kI);
  EXPECT_EQ(dtype("mul", {kB}, {truth}), kB);
  EXPECT_EQ(dtype("mul", {kF}, {imaginary}), kC);
  EXPECT_EQ(dtype("div", {kI, kI}), kF);
  EXPECT_EQ(dtype("sin", {kI}), kF);
  EXPECT_EQ(dtype("floor", {kI}), kI);
  EXPECT_EQ(dtype("abs", {kC}), kF);
  EXPECT_EQ(dtype("less", {kI, kF}), kB);
  EXPECT_EQ(dtype("sum", {kB}), kI);
  EXPECT_EQ(dtype("sum", {kU}), kU);
  EXPECT_EQ(dtype("mean", {kI}), kF);
  EXPECT_EQ(dtype("max", {kI}), kI);
  EXPECT_EQ(dtype("any", {kF}), kB);
  EXPECT_EQ(dtype("matmul", {kI, kF}), kF);
  EXPECT_EQ(dtype("arange", {}, {one}), kI);
  EXPECT_EQ(dtype("arange", {}, {half}), kF);
  EXPECT_EQ(dtype("full", {}, {one}, Attrs{{"shape", Shape{2}}}), kI);
  EXPECT_EQ(dtype("zeros", {}, {}, Attrs{{"shape", Shape{2}}}), kF);
}

std::vector<float> floats(const Tensor& tensor) { return {tensor.as<float>(), tensor.as<float>() + tensor.type.elements()}; }

void expect_floats(const Tensor& got, const std::vector<double>& wanted, double tolerance = 1e-6) {
  ASSERT_EQ(got.type.elements(), std::int64_t(wanted.size()));
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got.as<float>()[i], wanted[i], tolerance) << i;
}

TEST(Expand, ValuesOfStatistics) {
  Tensor x = tensor_of<float>({2, 3}, {1, 2, 4, 3, 3, 9});
  expect_floats(call("mean", {x}, axis(1))[0], {7.0 / 3, 5});
  expect_floats(call("var", {x}, axis(1))[0], {14.0 / 9, 8});
  expect_floats(call("std", {x}, axis(1))[0], {std::sqrt(14.0 / 9), std::sqrt(8.0)});
  expect_floats(call("var", {x}, Attrs{{"axis", std::int64_t(1)}, {"ddof", std::int64_t(1)}})[0], {7.0 / 3, 12});
  EXPECT_TRUE(std::isnan(floats(call("var", {x}, Attrs{{"ddof", std::int64_t(6)}})[0])[0]));
  expect_floats(call("mean", {x}, Attrs{{"axis", Dims{0, -1}}})[0], {22.0 / 6});
  EXPECT_EQ(call("sum", {x}, axis_kept(0))[0].type.shape, (Shape{1, 3}));
  EXPECT_EQ(call("sum", {x}, Attrs{{"axis", Dims{}}})[0].type.shape, (Shape{2, 3}));
}

TEST(Expand, ValuesOfNetworks) {
  Tensor x = tensor_of<float>({3}, {-1, 0.5, 100});
  std::vector<float> softmax = floats(call("softmax", {x})[0]);
  EXPECT_NEAR(softmax[2], 1, 1e-6);
  EXPECT_EQ(softmax[0], std::exp(-101.0f));
  expect_floats(call("logsumexp", {x})[0], {100});
  expect_floats(call("log_softmax", {x})[0], {-101, -99.5, 0}, 1e-5);
  expect_floats(call("softplus", {x})[0], {std::log1p(std::exp(-1.0)), std::log1p(std::exp(0.5)), 100});
  const Tensor negative = tensor_of<float>({3}, {-1.5f, -0.5f, -2.5f}), other = tensor_of<float>({3}, {2.5f, -0.75f, -1.25f});
  expect_floats(call("beta", {negative, other})[0], {3.141591, 4.3700924, -13.83851}, 1e-4);
  expect_floats(call("gammasgn", {tensor_of<float>({4}, {-0.0f, 0.0f, -1.5f, -2.5f})})[0], {-1, 1, 1, -1});
  expect_floats(call("gelu", {x})[0], {-0.15880801, 0.34571401, 100}, 1e-6);
  expect_floats(call("gelu", {x}, Attrs{{"approximate", false}})[0], {-0.15865525, 0.34573123, 100}, 1e-6);
  expect_floats(call("silu", {x})[0], {-1 / (1 + std::exp(1.0)), 0.5 / (1 + std::exp(-0.5)), 100});
  float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(floats(call("logsumexp", {tensor_of<float>({2}, {-inf, -inf})})[0])[0], -inf);
}

TEST(Expand, ValuesOfCreation) {
  auto number = [](double value) { return Scalar{value}; };
  expect_floats(call("arange", {}, {}, {number(0), number(1), number(0.25)})[0], {0, 0.25, 0.5, 0.75});
  expect_floats(call("linspace", {}, Attrs{{"num", std::int64_t(5)}}, {number(-1), number(1)})[0], {-1, -0.5, 0, 0.5, 1});
  expect_floats(call("eye", {}, {}, {Scalar{std::int64_t(2)}})[0], {1, 0, 0, 1});
  expect_floats(call("eye", {}, {{"k", std::int64_t(1)}, {"M", std::int64_t(3)}}, {Scalar{std::int64_t(2)}})[0], {0, 1, 0, 0, 0, 1});
  expect_floats(call("ones", {}, Attrs{{"shape", Shape{2}}})[0], {1, 1});
  EXPECT_EQ(call("arange", {}, {}, {Scalar{std::int64_t(-3)}})[0].type.shape, (Shape{0}));
  EXPECT_EQ(call("full_like", {tensor_of<std::int32_t>({2}, {5, 6})}, {}, {number(2.9)})[0].as<std::int32_t>()[1], 2);
}

TEST(Expand, ValuesOfEinsum) {
  Tensor x = tensor_of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), square = tensor_of<float>({2, 2}, {1, 2, 3, 4});
  auto einsum = [](const std::string& subscripts, std::vector<Tensor> operands) {
    return call("einsum", operands, Attrs{{"subscripts", subscripts}})[0];
  };
  expect_floats(einsum("ij->ji", {x}), {1, 4, 2, 5, 3, 6});
  expect_floats(einsum("ij->", {x}), {21});
  expect_floats(einsum("ij->j", {x}), {5, 7, 9});
  expect_floats(einsum("ii", {square}), {5});
  expect_floats(einsum("ii->i", {square}), {1, 4});
  expect_floats(einsum("ki,kj->ij", {x, x}), {17, 22, 27, 22, 29, 36, 27, 36, 45});
  expect_floats(einsum("ij,kj->ki", {x, x}), {14, 32, 32, 77});
  expect_floats(einsum("ij,jk", {square, x}), {9, 12, 15, 19, 26, 33});
  expect_floats(einsum("ij,kl->i", {square, square}), {30, 70});
  expect_floats(einsum("ij,ij->ij", {x, x}), {1, 4, 9, 16, 25, 36});
  expect_floats(einsum("ib,bj->bij", {square, square}), {1, 2, 3, 6, 6, 8, 12, 16});
}

// The cheapest pair first, as opt_einsum's optimal path: with a vector at the end the matrices never meet.
TEST(Expand, EinsumContractsInTheCheapestOrder) {
  auto einsum = [](const std::string& subscripts, std::vector<TensorType> types) {
    return print(graph_of("einsum", types, Attrs{{"subscripts", subscripts}}, {}));
  };
  EXPECT_EQ(einsum("ij,jk,k->i", {f32({4, 6}), f32({6, 8}), f32({8})}),
            R"(main(%0: float32[4,6], %1: float32[6,8], %2: float32[8]) {
  %3 = dot_general(%1, %2) {batch = [], contract = [1, 0]} : float32[6]
  %4 = dot_general(%0, %3) {batch = [], contract = [1, 0]} : float32[4]
  return %4
}
)");
  // Three orders cost the same: opt_einsum's is not the first.
  EXPECT_EQ(einsum("bca,acb,ab->ac", {f32({8, 8, 6}), f32({6, 8, 8}), f32({6, 8})}),
            R"(main(%0: float32[8,8,6], %1: float32[6,8,8], %2: float32[6,8]) {
  %3 = dot_general(%0, %2) {batch = [2, 0, 0, 1], contract = []} : float32[6,8,8]
  %4 = dot_general(%1, %3) {batch = [0, 1, 0, 2], contract = [2, 1]} : float32[6,8]
  return %4
}
)");
  EXPECT_EQ(einsum("ii->", {f32({4, 4})}), R"(main(%0: float32[4,4]) {
  %1 = iota() {dimension = 0, dtype = int32, shape = [4, 4]} : int32[4,4]
  %2 = iota() {dimension = 1, dtype = int32, shape = [4, 4]} : int32[4,4]
  %3 = equal(%1, %2) : bool[4,4]
  %4 = constant() {value = float32[]{0.0}} : float32[]
  %5 = broadcast_in_dim(%4) {dims = [], shape = [4, 4]} : float32[4,4]
  %6 = select(%3, %0, %5) : float32[4,4]
  %7 = reduce_sum(%6) {axes = [0, 1]} : float32[]
  return %7
}
)");
}

TEST(Expand, ValuesOfEinsumOverManyOperands) {
  Tensor square = tensor_of<float>({2, 2}, {1, 2, 3, 4}), cube = tensor_of<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  auto einsum = [](const std::string& subscripts, std::vector<Tensor> operands) {
    return call("einsum", operands, Attrs{{"subscripts", subscripts}})[0];
  };
  expect_floats(einsum("ij,jk,kl->il", {square, square, square}), {37, 54, 81, 118});
  expect_floats(einsum("ij,jk,kl->li", {square, square, square}), {37, 81, 54, 118});
  expect_floats(einsum("iii->i", {cube}), {1, 8});
  expect_floats(einsum("iij,j->i", {cube, tensor_of<float>({2}, {1, 10})}), {21, 87});
  expect_floats(einsum("ij,jk,kl,lm,mn,no,op,pq->iq", std::vector<Tensor>(8, square)), {165751, 241570, 362355, 528106});
}

TEST(Expand, ValuesOfViewsAndTruth) {
  Tensor x = tensor_of<float>({1, 3}, {0, 1, NAN});
  EXPECT_EQ(call("squeeze", {x})[0].type.shape, (Shape{3}));
  EXPECT_EQ(call("expand_dims", {x}, axis(-1))[0].type.shape, (Shape{1, 3, 1}));
  EXPECT_EQ(call("broadcast_to", {x}, Attrs{{"shape", Shape{2, 4, 3}}})[0].type.shape, (Shape{2, 4, 3}));
  EXPECT_EQ(call("reshape", {x}, Attrs{{"shape", std::int64_t(-1)}})[0].type.shape, (Shape{3}));
  EXPECT_TRUE(call("isnan", {x})[0].as<bool>()[2]);
  EXPECT_TRUE(std::isnan(call("heaviside", {x, x})[0].as<float>()[2]));
  EXPECT_FALSE(call("logical_and", {x, x})[0].as<bool>()[0]);
  EXPECT_TRUE(call("logical_not", {x})[0].as<bool>()[0]);
  expect_floats(call("clip", {tensor_of<float>({3}, {-5, 0.5, 5})}, {}, {Scalar{std::int64_t(-1)}, Scalar{std::int64_t(1)}})[0],
                {-1, 0.5, 1});
  expect_floats(call("floor_divide", {tensor_of<float>({2}, {7, -7}), tensor_of<float>({2}, {2, 2})})[0], {3, -4});
}

}  // namespace
}  // namespace shardlab
