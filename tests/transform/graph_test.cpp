// The transformations on whole graphs: what they emit, and the errors where they cannot.
#include <gtest/gtest.h>

#include "runtime/transform/batch.h"
#include "runtime/transform/grad.h"
#include "runtime/transform/simplify.h"
#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;

Graph parsed(std::string_view text) { return parse_graph(text, find_op); }

std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const UserError& error) { return error.what(); }
  return "no error";
}

TEST(Transform, JvpHasTheTangentBesideTheResult) {
  Graph graph = parsed("f(%0: float32[3]) {\n  %1 = sin(%0) : float32[3]\n  return %1\n}\n");
  EXPECT_EQ(print(transform::jvp(graph, {true})),
            "f(%0: float32[3], %1: float32[3]) {\n"
            "  %2 = sin(%0) : float32[3]\n"
            "  %3 = cos(%0) : float32[3]\n"
            "  %4 = mul(%1, %3) : float32[3]\n"
            "  return %2, %4\n"
            "}\n");
}

TEST(Transform, GradTransposesTheLinearPart) {
  Graph graph = parsed(
      "f(%0: float32[3], %1: float32[3]) {\n  %2 = mul(%0, %1) : float32[3]\n  %3 = reduce_sum(%2) {axes = [0]} : float32[]\n"
      "  return %3\n}\n");
  Graph grad = transform::value_and_grad(graph, {true, true}, "f", {});
  verify(grad);
  EXPECT_EQ(print(grad),
            "f(%0: float32[3], %1: float32[3]) {\n"
            "  %2 = mul(%0, %1) : float32[3]\n"
            "  %3 = reduce_sum(%2) {axes = [0]} : float32[]\n"
            "  %4 = constant() {value = float32[]{1.0}} : float32[]\n"
            "  %5 = broadcast_in_dim(%4) {dims = [], shape = [3]} : float32[3]\n"
            "  %6 = mul(%0, %5) : float32[3]\n"
            "  %7 = mul(%5, %1) : float32[3]\n"
            "  return %3, %7, %6\n"
            "}\n");
}

TEST(Transform, WhatIsNotAskedForIsNotComputed) {
  Graph graph = parsed(
      "f(%0: float32[3], %1: float32[3]) {\n  %2 = mul(%0, %1) : float32[3]\n  %3 = reduce_sum(%2) {axes = [0]} : float32[]\n"
      "  return %3\n}\n");
  Graph grad = transform::value_and_grad(graph, {false, true}, "f", {});
  EXPECT_EQ(grad.nodes.size(), 5u) << print(grad);
}

TEST(Transform, GradOfGradIsTheSecondDerivative) {
  Graph graph = parsed("f(%0: float32[]) {\n  %1 = sin(%0) : float32[]\n  return %1\n}\n");
  Graph once = transform::value_and_grad(graph, {true}, "f", {});
  once.results = {once.results[1]};
  EXPECT_NEAR(run(once, {tensor_of<float>({}, {0.5f})})[0].as<float>()[0], std::cos(0.5), 1e-6);
  Graph twice = transform::value_and_grad(once, {true}, "f", {});
  EXPECT_NEAR(run(twice, {tensor_of<float>({}, {0.5f})})[1].as<float>()[0], -std::sin(0.5), 1e-6);
}

TEST(Transform, GradientsOfOtherThanScalarsAreRefused) {
  Graph graph = parsed("f(%0: float32[4]) {\n  %1 = sin(%0) : float32[4]\n  return %1\n}\n");
  std::string error = error_of([&] { transform::value_and_grad(graph, {true}, "f", {}); });
  EXPECT_NE(error.find("Gradient only defined for scalar-output functions. Output had shape: (4,)."), std::string::npos) << error;
}

TEST(Transform, GradientsAlongIntegersAreRefused) {
  Graph graph = parsed("f(%0: int32[]) {\n  return %0\n}\n");
  std::string error = error_of([&] { transform::value_and_grad(graph, {true}, "f", {}); });
  EXPECT_NE(error.find("grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got int32."),
            std::string::npos)
      << error;
}

TEST(Transform, SortsCarryAlongWhatSomeoneNeeds) {
  Graph graph = parsed(
      "f(%0: bool[4], %1: int32[4], %2: float32[4], %3: float32[4]) {\n"
      "  %4, %5, %6, %7 = sort(%0, %1, %2, %3) {axis = 0, num_keys = 2} : bool[4], int32[4], float32[4], float32[4]\n"
      "  return %7\n}\n");
  Graph simple = transform::simplified(graph, true);
  verify(simple);
  EXPECT_EQ(print(simple),
            "f(%0: bool[4], %1: int32[4], %2: float32[4], %3: float32[4]) {\n"
            "  %4, %5, %6 = sort(%0, %1, %3) {axis = 0, num_keys = 2} : bool[4], int32[4], float32[4]\n"
            "  return %6\n}\n");
}

}  // namespace
}  // namespace shardlab
