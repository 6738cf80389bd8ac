// Which shardings values get: the measured cases of JAX.
#include "runtime/spmd/propagate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/transform/grad.h"
#include "tests/spmd/graphs.h"

namespace shardlab::spmd {
namespace {

using namespace shardlab::testing;

std::string results_of(const PropagationInput& input) {
  Propagation propagation = propagate(input);
  std::string text;
  for (const Spec& spec : propagation.results) text += (text.empty() ? "" : "; ") + text_of(spec, input.mesh);
  return text;
}

struct BinaryCase {
  const char *op, *lhs, *rhs, *result;
};

TEST(Propagate, TwoOperands) {
  Mesh mesh = mesh_of({4, 2});
  for (const BinaryCase& c : {BinaryCase{"add", "a-", "b-", "P(None, None)"},           // a true conflict
                              BinaryCase{"add", "b-", "-(ab)", "P(None, ('a', 'b'))"},  // the more sharded factor
                              BinaryCase{"add", "-a", "a-", "P(None, 'a')"},            // the first operand
                              BinaryCase{"add", "(ba)-", "(ab)-", "P(None, None)"}, BinaryCase{"add", "(ab)-", "a-", "P(('a', 'b'), None)"},
                              // The second operand first.
                              BinaryCase{"gammainc", "ba", "ab", "P('a', 'b')"}, BinaryCase{"gammaincc", "-a", "b-", "P('b', 'a')"},
                              BinaryCase{"gammaincc", "-a", "a-", "P('a', None)"},

                              BinaryCase{"matmul", "a-", "-b", "P('a', 'b')"}, BinaryCase{"matmul", "a-", "-a", "P('a', None)"},
                              BinaryCase{"matmul", "ab", "b-", "P('a', None)"}, BinaryCase{"matmul", "-b", "b-", "P(None, None)"}}) {
    Build build;
    bool is_matmul = std::string_view(c.op) == "matmul";
    ValueId x = build.param({16, 8}), y = build.param(is_matmul ? Shape{8, 16} : Shape{16, 8});
    Graph graph = build.finish({build.op(c.op, {x, y})});
    EXPECT_EQ(results_of(input_of(graph, mesh, {c.lhs, c.rhs})), c.result) << c.op << " " << c.lhs << " " << c.rhs;
  }
}

// As JAX's loops and choices meet them.
TEST(Propagate, OperandsOneAfterAnother) {
  Mesh mesh = mesh_of({4, 2});
  struct Case {
    const char* op;
    std::vector<std::string_view> params;
    const char* result;
  };
  for (const Case& c :
       {Case{"betainc", {"a-", "b-", "--"}, "P('a', None)"}, Case{"betainc", {"--", "a-", "b-"}, "P('a', None)"},
        Case{"betainc", {"a-", "--", "-a"}, "P('a', None)"}, Case{"hyp1f1", {"a-", "--", "b-"}, "P('a', None)"},
        Case{"hyp1f1", {"--", "a-", "b-"}, "P('a', None)"}, Case{"stats.beta.cdf", {"a-", "b-", "--"}, "P('b', None)"},
        Case{"stats.beta.cdf", {"a-", "--", "-a"}, "P(None, 'a')"}, Case{"stats.beta.sf", {"--", "a-", "b-"}, "P('b', None)"},
        Case{"hyp2f1", {"a-", "b-", "--", "--"}, "P('a', None)"},
        // Made of many ops, some of them loops.
        Case{"nextafter", {"a-", "b-"}, "P('b', None)"}, Case{"nextafter", {"-a", "a-"}, "P(None, 'a')"},
        Case{"nextafter", {"ab", "ba"}, "P('b', 'a')"}, Case{"igamma", {"-a", "a-"}, "P('a', None)"},
        Case{"igamma_grad_a", {"a-", "b-"}, "P('b', None)"}, Case{"igamma_grad_a", {"ba", "ab"}, "P('a', 'b')"},
        Case{"random_gamma_grad", {"-a", "a-"}, "P('a', None)"}, Case{"owens_t", {"a-", "b-"}, "P('b', None)"},
        Case{"owens_t", {"-b", "ab"}, "P('a', 'b')"}, Case{"gcd", {"a-", "b-"}, "P('a', None)"}, Case{"gcd", {"-a", "a-"}, "P(None, 'a')"},
        Case{"expn", {"-b", "b-"}, "P('b', None)"}, Case{"expn", {"a-", "b-"}, "P(None, None)"},
        Case{"remainder", {"a-", "b-"}, "P('b', None)"}, Case{"remainder", {"-a", "a-"}, "P(None, 'a')"}}) {
    Build build;
    std::vector<Arg> params;
    const DType dtype = std::string_view(c.op) == "gcd" ? DType::kInt32 : DType::kFloat32;
    for (std::size_t i = 0; i < c.params.size(); ++i) params.push_back(build.param({16, 8}, dtype));
    Graph graph = build.finish({build.op(c.op, params)});
    EXPECT_EQ(results_of(input_of(graph, mesh, c.params)), c.result) << c.op << " " << ::testing::PrintToString(c.params);
  }
}

// The shorter polynomial is an update of the longer one.
TEST(Propagate, SumsOfPolynomials) {
  Mesh mesh = mesh_of({4, 2});
  struct Case {
    const char* op;
    Shape x, y;
    std::vector<std::string_view> params;
    const char* result;
  };
  for (const Case& c : {Case{"polyadd", {8}, {16}, {"b", "a"}, "P('a',)"}, Case{"polysub", {16}, {8}, {"a", "b"}, "P('a',)"},
                        Case{"polyadd", {16}, {16}, {"a", "b"}, "P(None,)"}}) {
    Build build;
    Graph graph = build.finish({build.op(c.op, {build.param(c.x), build.param(c.y)})});
    EXPECT_EQ(results_of(input_of(graph, mesh, c.params)), c.result) << c.op;
  }
}

// By one operand, of the result's sum.
TEST(Propagate, GradientsOfElementwiseOps) {
  Mesh mesh = mesh_of({4, 2});
  struct Case {
    const char* op;
    std::vector<std::string_view> params;
    std::size_t by;
    const char* result;
  };
  for (const Case& c : {Case{"remainder", {"-a", "--"}, 0, "P(None, 'a')"}, Case{"remainder", {"a-", "b-"}, 0, "P('b', None)"},
                        Case{"gammaincc", {"-a", "-b"}, 1, "P(None, None)"}, Case{"stats.beta.cdf", {"-a", "-a", "a-"}, 0, "P(None, 'a')"},
                        Case{"clamp", {"a-", "-a", "a-"}, 0, "P('a', None)"}, Case{"clamp", {"--", "-a", "b-"}, 0, "P('b', 'a')"}}) {
    Build build;
    std::vector<Arg> params;
    for (std::size_t i = 0; i < c.params.size(); ++i) params.push_back(build.param({16, 8}));
    const Graph loss = build.finish({build.op("sum", {build.op(c.op, params)})});
    std::vector<bool> active(c.params.size(), false);
    active[c.by] = true;
    Graph graph = transform::value_and_grad(loss, active, "f", {});
    graph.results.erase(graph.results.begin());
    EXPECT_EQ(results_of(input_of(graph, mesh, c.params)), c.result) << c.op << " " << ::testing::PrintToString(c.params);
  }
}

struct UnaryCase {
  const char* op;
  Attrs attrs;
  Shape shape;
  const char *param, *result;
};

TEST(Propagate, OneOperand) {
  Mesh mesh = mesh_of({4, 2});
  using Ints = std::vector<std::int64_t>;
  for (const UnaryCase& c :
       {UnaryCase{"sin", {}, {16, 8}, "a(b)", "P('a', 'b')"}, UnaryCase{"sum", Attrs{{"axis", std::int64_t(0)}}, {16, 8}, "ab", "P('b',)"},
        UnaryCase{"sum", {}, {16, 8}, "ba", "P()"}, UnaryCase{"transpose", {}, {16, 8}, "ab", "P('b', 'a')"},
        UnaryCase{"reshape", Attrs{{"shape", Ints{32, 4}}}, {16, 8}, "a-", "P('a', None)"},
        UnaryCase{"reshape", Attrs{{"shape", Ints{4, 4, 8}}}, {16, 8}, "ab", "P('a', None, 'b')"},
        // Inside it is a:(1)2 and a:(2)2: sub-axes do not leave the function.
        UnaryCase{"reshape", Attrs{{"shape", Ints{2, 8}}}, {16}, "a", "P(None, None)"}}) {
    Build build;
    Graph graph = build.finish({build.op(c.op, {build.param(c.shape)}, c.attrs)});
    EXPECT_EQ(results_of(input_of(graph, mesh, {c.param})), c.result) << c.op << " " << c.param;
  }
}

TEST(Propagate, SubAxesAreKeptInside) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId y = build.op("reshape", {build.param({16})}, Attrs{{"shape", std::vector<std::int64_t>{2, 8}}});
  Graph graph = build.finish({y});
  Propagation propagation = propagate(input_of(graph, mesh, {"a"}));
  const ValueSharding& inner = propagation.values[std::size_t(propagation.graph.results[0])];
  ASSERT_TRUE(inner);
  EXPECT_EQ((*inner)[0].axes, (Axes{{0, 1, 2}}));
  EXPECT_EQ((*inner)[1].axes, (Axes{{0, 2, 2}}));
}

TEST(Propagate, AConstraintIsPushedBackToItsUnconstrainedInput) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId h = build.op("sin", {build.param({16, 8})});
  ValueId y = build.constraint(h, mesh, "-a");
  Graph graph = build.finish({h, y});
  EXPECT_EQ(results_of(input_of(graph, mesh, {"(ab)-"})), "P(None, 'a'); P(None, 'a')");
}

TEST(Propagate, TwoDifferentConstraintsAreNotPushedBack) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId h = build.op("sin", {build.param({16, 8})});
  Graph graph = build.finish({h, build.constraint(h, mesh, "-a"), build.constraint(h, mesh, "b-")});
  EXPECT_EQ(results_of(input_of(graph, mesh, {"a-"})), "P('a', None); P(None, 'a'); P('b', None)");
}

// Two products want one operand cut their way: that of the first result has its way, as in JAX, whichever was written first.
TEST(Propagate, TheFirstResultComesFirst) {
  Mesh mesh = mesh_of({2, 4});
  auto results = [&](bool swapped) {
    Build build;
    ValueId z = build.param({8, 16}), x = build.param({8, 16, 4}), y = build.param({8, 16, 4});
    Attrs dims{{"contract", std::vector<std::int64_t>{1, 1}}, {"batch", std::vector<std::int64_t>{0, 0}}};
    ValueId first = build.op("dot_general", {z, x}, dims), second = build.op("dot_general", {z, y}, dims);
    Graph graph = swapped ? build.finish({second, first}) : build.finish({first, second});
    PropagationInput input = input_of(graph, mesh, {"--", "a--", "b--"});
    input.params[0] = std::nullopt;
    return results_of(input);
  };
  EXPECT_EQ(results(false), "P('a', None); P(None, None)");
  EXPECT_EQ(results(true), "P('b', None); P(None, None)");
}

// They are written as the argument that lies so, or as they were asked for.
TEST(Propagate, AxesOfSizeOneCutNothing) {
  Mesh mesh = mesh_of({1, 8});
  Build build;
  ValueId x = build.param({8, 8}), y = build.param({8, 8});
  Graph graph = build.finish({build.op("mul", {x, x}), build.op("transpose", {x}), build.op("add", {y, y})});
  EXPECT_EQ(results_of(input_of(graph, mesh, {"ab", "a-"})), "P('a', 'b'); P('b', None); P('a', None)");
  Build both;
  ValueId u = both.param({8, 8}), v = both.param({8, 8});
  Graph sum = both.finish({both.op("add", {u, v})});
  EXPECT_EQ(results_of(input_of(sum, mesh, {"a-", "b-"})), "P('b', None)");
  EXPECT_EQ(results_of(input_of(sum, mesh, {"-b", "-a"})), "P(None, 'b')");
}

TEST(Propagate, OutShardingsAreClosedAndReachBack) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({16, 8});
  Graph graph = build.finish({build.op("sin", {x})});
  PropagationInput input = input_of(graph, mesh, {"?"});
  input.results = {spec_of(mesh, "ab")};
  Propagation propagation = propagate(input);
  EXPECT_EQ(text_of(propagation.results[0], mesh), "P('a', 'b')");
  ASSERT_TRUE(propagation.values[0]);
  EXPECT_EQ((*propagation.values[0])[1].axes, (Axes{mesh.whole_axis(1)}));
}

TEST(Propagate, AConstantLinksNoUsers) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({8, 8}), y = build.param({8, 8});
  ValueId c = build.op("arange", {Scalar{std::int64_t(64)}}, Attrs{{"dtype", DType::kFloat32}});
  c = build.op("reshape", {c}, Attrs{{"shape", std::vector<std::int64_t>{8, 8}}});
  Graph graph = build.finish({build.op("add", {x, c}), build.op("add", {y, c})});
  EXPECT_EQ(results_of(input_of(graph, mesh, {"a-", "-b"})), "P('a', None); P(None, 'b')");
}

TEST(Propagate, OriginsSayWhy) {
  Mesh mesh = mesh_of({4, 2});
  Build build;
  ValueId x = build.param({16, 8}), w = build.param({8, 16});
  Graph graph = build.finish({build.op("relu", {build.op("matmul", {x, w})})});
  Propagation propagation = propagate(input_of(graph, mesh, {"a-", "-b"}));
  std::vector<std::string> reasons;
  for (const auto& origins : propagation.origins)
    for (const Origin& origin : origins) {
      std::string from = origin.kind == Origin::Kind::kParameter ? fmt::format("parameter {}", origin.index)
                                                                 : fmt::format("%{} through node {}", origin.from, origin.node);
      reasons.push_back(fmt::format("{} {}: {}", origin.dimension, mesh.text_of(origin.piece), from));
    }
  EXPECT_THAT(reasons, ::testing::IsSupersetOf({"0 a: parameter 0", "1 b: parameter 1", "0 a: %0 through node 0"}));
}

TEST(Propagate, TheSameForAnyDeviceOrder) {
  Mesh mesh = mesh_of({4, 2}, {7, 6, 5, 4, 0, 1, 2, 3});
  Build build;
  Graph graph = build.finish({build.op("sum", {build.param({16, 8})}, Attrs{{"axis", std::int64_t(1)}})});
  EXPECT_EQ(results_of(input_of(graph, mesh, {"ab"})), "P('a',)");
}

}  // namespace
}  // namespace shardlab::spmd
