// What is left of a program once the arithmetic that changes nothing is left out.
#include "runtime/transform/lighten.h"

#include <gtest/gtest.h>

#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;

bool always(const LiesAs&, const LiesAs&) { return true; }

struct Case {
  const char* name;
  const char* parameters;
  const char* nodes;    // as written; %9 is the result
  const char* lighter;  // what is left of them; "": nothing is left out
};

class Lighten : public ::testing::TestWithParam<Case> {};

std::string program(const Case& c, const char* nodes) { return fmt::format("f({}) {{\n{}}}\n", c.parameters, nodes); }

// Numbered anew, as print() does.
std::string canonical(const std::string& text) { return print(parse_graph(text, find_op)); }

TEST_P(Lighten, LeavesOutWhatChangesNothing) {
  const Case& c = GetParam();
  const Graph graph = parse_graph(program(c, c.nodes), find_op);
  const auto lighter = transform::lightened(graph, always);
  if (std::string_view(c.lighter).empty()) {
    EXPECT_FALSE(lighter.has_value()) << print(lighter->graph);
    return;
  }
  ASSERT_TRUE(lighter.has_value());
  verify(lighter->graph);
  EXPECT_EQ(print(lighter->graph), canonical(program(c, c.lighter)));
  ASSERT_EQ(lighter->values.size(), lighter->graph.values.size());
  for (std::size_t id = 0; id < lighter->values.size(); ++id)
    if (const LiesAs& lies = lighter->values[id]; lies.value >= 0) {
      const Shape &own = lighter->graph.values[id].type.shape, &as = graph.type(lies.value).shape;
      ASSERT_EQ(lies.dims.size(), own.size());
      for (std::size_t d = 0; d < own.size(); ++d) EXPECT_TRUE(lies.dims[d] < 0 || own[d] == as[std::size_t(lies.dims[d])]);
    }
  std::mt19937 random(7);
  std::vector<Tensor> params;
  for (ValueId id : graph.params) params.push_back(random_tensor(graph.type(id), random));
  const std::vector<Tensor> before = run(graph, params), after = run(lighter->graph, params);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(std::memcmp(before[i].data->data(), after[i].data->data(), std::size_t(before[i].type.bytes())), 0);
}

// Each device reduces its part of an operand once, wherever the results go.
TEST(LightenApart, ReducesAnOperandOnce) {
  const Graph graph = parse_graph(
      "f(%0: float32[4,6]) {\n%1 = reduce_sum(%0) {axes = [1]} : float32[4]\n%2 = sin(%1) : float32[4]\n"
      "%3 = reduce_sum(%0) {axes = [1]} : float32[4]\n%4 = cos(%3) : float32[4]\nreturn %2, %4\n}\n",
      find_op);
  const auto lighter = transform::lightened(graph, [](const LiesAs& a, const LiesAs& b) { return a.value == b.value; });
  ASSERT_TRUE(lighter.has_value());
  EXPECT_EQ(std::count_if(lighter->graph.nodes.begin(), lighter->graph.nodes.end(), [](const Node& node) { return node.op->reduction; }), 1)
      << print(lighter->graph);
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Lighten,
    ::testing::Values(
        Case{"TurnedProduct", "%0: float32[5,4,6], %1: float32[6,3,5]",
             "%2 = dot_general(%0, %1) {batch = [0, 2], contract = [2, 0]} : float32[5,4,3]\n"
             "%3 = transpose(%2) {axes = [0, 2, 1]} : float32[5,3,4]\nreturn %3\n",
             "%2 = dot_general(%1, %0) {batch = [2, 0], contract = [0, 2]} : float32[5,3,4]\nreturn %2\n"},
        Case{"ProductTurnedOtherwise", "%0: float32[4,2,6], %1: float32[6,3]",
             "%2 = dot_general(%0, %1) {batch = [], contract = [2, 0]} : float32[4,2,3]\n"
             "%3 = transpose(%2) {axes = [2, 1, 0]} : float32[3,2,4]\nreturn %3\n",
             ""},
        Case{"ChosenByConstantsInBounds", "%0: float32[3], %1: float32[3]",
             "%2 = constant() {value = int32[3]{3, 0, 2}} : int32[3]\n%3 = constant() {value = int32[]{0}} : int32[]\n"
             "%4 = broadcast_in_dim(%3) {dims = [], shape = [3]} : int32[3]\n%5 = greater_equal(%2, %4) : bool[3]\n"
             "%6 = select(%5, %0, %1) : float32[3]\n%7 = sin(%6) : float32[3]\nreturn %7\n",
             "%2 = sin(%0) : float32[3]\nreturn %2\n"},
        Case{"ChosenByConstantsOutOfBounds", "%0: float32[3], %1: float32[3]",
             "%2 = constant() {value = int32[3]{3, 0, 2}} : int32[3]\n%3 = constant() {value = int32[]{3}} : int32[]\n"
             "%4 = broadcast_in_dim(%3) {dims = [], shape = [3]} : int32[3]\n%5 = greater(%2, %4) : bool[3]\n"
             "%6 = select(%5, %0, %1) : float32[3]\n%7 = sin(%6) : float32[3]\nreturn %7\n",
             "%2 = sin(%1) : float32[3]\nreturn %2\n"},
        Case{"ChosenByConstantsOnBothSides", "%0: float32[3], %1: float32[3]",
             "%2 = constant() {value = int32[3]{3, -1, 2}} : int32[3]\n%3 = constant() {value = int32[]{0}} : int32[]\n"
             "%4 = broadcast_in_dim(%3) {dims = [], shape = [3]} : int32[3]\n%5 = greater_equal(%2, %4) : bool[3]\n"
             "%6 = select(%5, %0, %1) : float32[3]\n%7 = sin(%6) : float32[3]\nreturn %7\n",
             ""},
        Case{"ChosenByConstantsThatNoDoubleHolds", "%0: float32[2], %1: float32[2]",
             "%2 = constant() {value = int64[2]{9007199254740993, 1}} : int64[2]\n%3 = constant() {value = int64[]{9007199254740992}} : "
             "int64[]\n"
             "%4 = broadcast_in_dim(%3) {dims = [], shape = [2]} : int64[2]\n%5 = less_equal(%2, %4) : bool[2]\n"
             "%6 = select(%5, %0, %1) : float32[2]\n%7 = sin(%6) : float32[2]\nreturn %7\n",
             ""},
        Case{"ConvertedByWayOfMore", "%0: int32[4]",
             "%1 = convert(%0) {dtype = int64} : int64[4]\n%2 = convert(%1) {dtype = float32} : float32[4]\nreturn %2\n",
             "%1 = convert(%0) {dtype = float32} : float32[4]\nreturn %1\n"},
        Case{"ConvertedThereAndBack", "%0: bfloat16[4]",
             "%1 = convert(%0) {dtype = float32} : float32[4]\n%2 = convert(%1) {dtype = bfloat16} : bfloat16[4]\n"
             "%3 = sin(%2) : bfloat16[4]\nreturn %3\n",
             "%1 = sin(%0) : bfloat16[4]\nreturn %1\n"},
        Case{"ConvertedByWayOfLess", "%0: float32[4]",
             "%1 = convert(%0) {dtype = int32} : int32[4]\n%2 = convert(%1) {dtype = float32} : float32[4]\nreturn %2\n", ""},
        Case{"ConvertedWithoutSign", "%0: int32[4]",
             "%1 = convert(%0) {dtype = uint64} : uint64[4]\n%2 = convert(%1) {dtype = float32} : float32[4]\nreturn %2\n", ""},
        Case{"Maximum", "%0: float32[4,6]", "%1 = maximum(%0, %0) : float32[4,6]\n%2 = sin(%1) : float32[4,6]\nreturn %2\n",
             "%2 = sin(%0) : float32[4,6]\nreturn %2\n"},
        Case{"RepeatedThenReshaped", "%0: float32[4]",
             "%1 = broadcast_in_dim(%0) {dims = [0], shape = [4,2]} : float32[4,2]\n%2 = reshape(%1) {shape = [8]} : float32[8]\n"
             "%3 = constant() {value = float32[]{3.0}} : float32[]\n%4 = broadcast_in_dim(%3) {dims = [], shape = [8]} : float32[8]\n"
             "%5 = mul(%4, %2) : float32[8]\nreturn %5\n",
             "%1 = constant() {value = float32[]{3.0}} : float32[]\n%2 = broadcast_in_dim(%1) {dims = [], shape = [4]} : float32[4]\n"
             "%3 = mul(%2, %0) : float32[4]\n%4 = broadcast_in_dim(%3) {dims = [0], shape = [4,2]} : float32[4,2]\n"
             "%5 = reshape(%4) {shape = [8]} : float32[8]\nreturn %5\n"},
        Case{"ReshapedOtherwise", "%0: float32[4], %1: float32[8]",
             "%2 = broadcast_in_dim(%0) {dims = [0], shape = [4,2]} : float32[4,2]\n%3 = reshape(%2) {shape = [8]} : float32[8]\n"
             "%4 = mul(%3, %1) : float32[8]\nreturn %4\n",
             ""},
        Case{"ReshapedBack", "%0: float32[4,2]",
             "%1 = reshape(%0) {shape = [8]} : float32[8]\n%2 = reshape(%1) {shape = [4,2]} : float32[4,2]\n%3 = sin(%2) : float32[4,2]\n"
             "return %3\n",
             "%1 = sin(%0) : float32[4,2]\nreturn %1\n"},
        Case{"FunctionOfANumber", "%0: float32[4]",
             "%1 = constant() {value = float32[]{1.0}} : float32[]\n%2 = log(%1) : float32[]\n"
             "%3 = broadcast_in_dim(%2) {dims = [], shape = [4]} : float32[4]\n%4 = add(%0, %3) : float32[4]\n%5 = sin(%4) : float32[4]\n"
             "return %5\n",
             "%1 = sin(%0) : float32[4]\nreturn %1\n"},
        Case{"ProductWithATruth", "%0: int32[4], %1: bool[4]",
             "%2 = convert(%1) {dtype = int32} : int32[4]\n%3 = mul(%0, %2) : int32[4]\nreturn %3\n",
             "%2 = constant() {value = int32[]{0}} : int32[]\n%3 = broadcast_in_dim(%2) {dims = [], shape = [4]} : int32[4]\n"
             "%4 = select(%1, %0, %3) : int32[4]\nreturn %4\n"},
        Case{"TwoListsOfConstants", "%0: float32[4]",
             "%1 = constant() {value = float32[4]{1.0, 3.0, 5.0, 7.0}} : float32[4]\n%2 = iota() {dimension = 0, dtype = float32, shape = "
             "[4]} "
             ": float32[4]\n"
             "%3 = mul(%0, %1) : float32[4]\n%4 = mul(%3, %2) : float32[4]\nreturn %4\n",
             "%1 = constant() {value = float32[4]{1.0, 3.0, 5.0, 7.0}} : float32[4]\n%2 = iota() {dimension = 0, dtype = float32, shape = "
             "[4]} "
             ": float32[4]\n"
             "%3 = mul(%1, %2) : float32[4]\n%4 = mul(%0, %3) : float32[4]\nreturn %4\n"},
        Case{
            "ScaledProductWithoutSums", "%0: float32[4,2], %1: float32[4]",
            "%2 = dot_general(%0, %1) {batch = [0,0], contract = []} : float32[4,2]\n%3 = constant() {value = float32[]{2.0}} : float32[]\n"
            "%4 = broadcast_in_dim(%3) {dims = [], shape = [4,2]} : float32[4,2]\n%5 = mul(%4, %2) : float32[4,2]\nreturn %5\n",
            "%2 = constant() {value = float32[]{2.0}} : float32[]\n%3 = broadcast_in_dim(%2) {dims = [], shape = [4]} : float32[4]\n"
            "%4 = mul(%1, %3) : float32[4]\n%5 = dot_general(%0, %4) {batch = [0,0], contract = []} : float32[4,2]\nreturn %5\n"},
        Case{
            "ScaledByThree", "%0: float32[4,2], %1: float32[4]",
            "%2 = dot_general(%0, %1) {batch = [0,0], contract = []} : float32[4,2]\n%3 = constant() {value = float32[]{3.0}} : float32[]\n"
            "%4 = broadcast_in_dim(%3) {dims = [], shape = [4,2]} : float32[4,2]\n%5 = mul(%4, %2) : float32[4,2]\nreturn %5\n",
            ""},
        Case{"ScaledAndRepeated", "%0: float32[4,2], %1: float32[4]",
             "%2 = broadcast_in_dim(%1) {dims = [0], shape = [4,2]} : float32[4,2]\n%3 = constant() {value = float32[]{2.0}} : float32[]\n"
             "%4 = broadcast_in_dim(%3) {dims = [], shape = [4,2]} : float32[4,2]\n%5 = mul(%4, %0) : float32[4,2]\n"
             "%6 = mul(%5, %2) : float32[4,2]\nreturn %6\n",
             "%2 = constant() {value = float32[]{2.0}} : float32[]\n%3 = broadcast_in_dim(%2) {dims = [], shape = [4]} : float32[4]\n"
             "%4 = mul(%1, %3) : float32[4]\n%5 = broadcast_in_dim(%4) {dims = [0], shape = [4,2]} : float32[4,2]\n"
             "%6 = mul(%0, %5) : float32[4,2]\nreturn %6\n"},
        Case{"SumOfThreePads", "%0: float32[2,3], %1: float32[2,2], %2: float32[2,4]",
             "%3 = constant() {value = float32[]{0.0}} : float32[]\n%4 = pad(%0, %3) {padding = [0,0,0,0,7,0]} : float32[2,10]\n"
             "%5 = pad(%1, %3) {padding = [0,0,0,3,5,0]} : float32[2,10]\n%6 = add(%4, %5) : float32[2,10]\n"
             "%7 = pad(%2, %3) {padding = [0,0,0,6,0,0]} : float32[2,10]\n%8 = add(%6, %7) : float32[2,10]\nreturn %8\n",
             "%3 = constant() {value = float32[]{0.0}} : float32[]\n%4 = broadcast_in_dim(%3) {dims = [], shape = [2,1]} : float32[2,1]\n"
             "%5 = concatenate(%0, %1, %4, %2) {axis = 1} : float32[2,10]\nreturn %5\n"},
        Case{"SumOfPadsThatOverlap", "%0: float32[6], %1: float32[6]",
             "%2 = constant() {value = float32[]{0.0}} : float32[]\n%3 = pad(%0, %2) {padding = [0,4,0]} : float32[10]\n"
             "%4 = pad(%1, %2) {padding = [4,0,0]} : float32[10]\n%5 = add(%3, %4) : float32[10]\nreturn %5\n",
             ""},
        Case{"DifferenceOfSums", "%0: float32[4,2], %1: float32[4,2]",
             "%2 = reduce_sum(%0) {axes = [0]} : float32[2]\n%3 = reduce_sum(%1) {axes = [0]} : float32[2]\n"
             "%4 = sub(%2, %3) : float32[2]\nreturn %4\n",
             "%2 = sub(%0, %1) : float32[4,2]\n%3 = reduce_sum(%2) {axes = [0]} : float32[2]\nreturn %3\n"},
        Case{"SumsOfOtherDimensions", "%0: float32[4,2,2], %1: float32[4,2,2]",
             "%2 = reduce_sum(%0) {axes = [0,1]} : float32[2]\n%3 = reduce_sum(%1) {axes = [0,2]} : float32[2]\n"
             "%4 = add(%2, %3) : float32[2]\nreturn %4\n",
             ""},
        Case{"ZeroAsAnotherType", "%0: float32[4]",
             "%1 = constant() {value = int32[]{0}} : int32[]\n%2 = broadcast_in_dim(%1) {dims = [], shape = [4]} : int32[4]\n"
             "%3 = convert(%2) {dtype = float32} : float32[4]\n%4 = add(%0, %3) : float32[4]\n%5 = sin(%4) : float32[4]\nreturn %5\n",
             "%1 = sin(%0) : float32[4]\nreturn %1\n"},
        Case{"ConjugateTwice", "%0: complex64[4]",
             "%1 = conj(%0) : complex64[4]\n%2 = conj(%1) : complex64[4]\n%3 = sin(%2) : complex64[4]\nreturn %3\n",
             "%1 = sin(%0) : complex64[4]\nreturn %1\n"},
        Case{"ChoiceBetweenEquals", "%0: bool[4], %1: float32[4]",
             "%2 = sin(%1) : float32[4]\n%3 = sin(%1) : float32[4]\n%4 = select(%0, %2, %3) : float32[4]\nreturn %4\n",
             "%2 = sin(%1) : float32[4]\nreturn %2\n"},
        Case{"NeverLess", "%0: int32[4], %1: int32[4]",
             "%2 = constant() {value = int32[]{0}} : int32[]\n%3 = broadcast_in_dim(%2) {dims = [], shape = [4]} : int32[4]\n"
             "%4 = maximum(%0, %3) : int32[4]\n%5 = less(%4, %3) : bool[4]\n%6 = select(%5, %1, %4) : int32[4]\nreturn %6\n",
             "%2 = constant() {value = int32[]{0}} : int32[]\n%3 = broadcast_in_dim(%2) {dims = [], shape = [4]} : int32[4]\n"
             "%4 = maximum(%0, %3) : int32[4]\nreturn %4\n"},
        Case{"LessAfterAll", "%0: int32[4], %1: int32[4]",
             "%2 = constant() {value = int32[]{0}} : int32[]\n%3 = broadcast_in_dim(%2) {dims = [], shape = [4]} : int32[4]\n"
             "%4 = constant() {value = int32[]{1}} : int32[]\n%5 = broadcast_in_dim(%4) {dims = [], shape = [4]} : int32[4]\n"
             "%6 = maximum(%0, %3) : int32[4]\n%7 = less(%6, %5) : bool[4]\n%8 = select(%7, %1, %6) : int32[4]\nreturn %8\n",
             ""},
        Case{"LargeWindow", "%0: float32[2,3,4], %1: float32[5,3,9]",
             "%2 = conv(%0, %1) {batch_group_count = 1, feature_group_count = 1, lhs_dilation = [2], lhs_spec = [0,1,2], out_spec = "
             "[0,2,1], pads = [3,5], rhs_dilation = [1], rhs_spec = [0,1,2], window_strides = [2]} : float32[2,4,5]\nreturn %2\n",
             "%2 = rev(%1) {dims = [2]} : float32[5,3,9]\n%3 = rev(%0) {dims = [2]} : float32[2,3,4]\n"
             "%4 = conv(%2, %3) {batch_group_count = 1, feature_group_count = 1, lhs_dilation = [1], lhs_spec = [0,1,2], out_spec = "
             "[2,0,1], pads = [1,3], rhs_dilation = [2], rhs_spec = [0,1,2], window_strides = [2]} : float32[2,4,5]\nreturn %4\n"},
        Case{"SmallWindow", "%0: float32[2,3,4], %1: float32[5,3,4]",
             "%2 = conv(%0, %1) {batch_group_count = 1, feature_group_count = 1, lhs_dilation = [2], lhs_spec = [0,1,2], out_spec = "
             "[0,2,1], pads = [3,5], rhs_dilation = [1], rhs_spec = [0,1,2], window_strides = [2]} : float32[2,6,5]\nreturn %2\n",
             ""},
        Case{"MaximumOfWhatIsTakenAlready", "%0: float32[4], %1: float32[4]",
             "%2 = maximum(%0, %1) : float32[4]\n%3 = maximum(%1, %2) : float32[4]\nreturn %3\n",
             "%2 = maximum(%0, %1) : float32[4]\nreturn %2\n"},
        Case{"MinimumOfAMaximum", "%0: float32[4], %1: float32[4]",
             "%2 = maximum(%0, %1) : float32[4]\n%3 = minimum(%2, %1) : float32[4]\nreturn %3\n", ""},
        Case{"ReluTwice", "%0: float32[4]",
             "%1 = relu(%0) : float32[4]\n%2 = relu(%1) : float32[4]\n%3 = maximum(%2, %0) : float32[4]\n%4 = abs(%3) : float32[4]\n"
             "return %4\n",
             "%1 = relu(%0) : float32[4]\nreturn %1\n"},
        Case{"SignOfASum", "%0: float32[4,6]", "%1 = neg(%0) : float32[4,6]\n%2 = reduce_sum(%1) {axes = [1]} : float32[4]\nreturn %2\n",
             "%1 = reduce_sum(%0) {axes = [1]} : float32[4]\n%2 = neg(%1) : float32[4]\nreturn %2\n"},
        Case{"ScaledAtOnce", "%0: float32[4], %1: float32[]",
             "%2 = constant() {value = float32[]{2.0}} : float32[]\n%3 = broadcast_in_dim(%2) {dims = [], shape = [4]} : float32[4]\n"
             "%4 = mul(%3, %0) : float32[4]\n%5 = broadcast_in_dim(%1) {dims = [], shape = [4]} : float32[4]\n"
             "%6 = mul(%4, %5) : float32[4]\nreturn %6\n",
             "%2 = constant() {value = float32[]{2.0}} : float32[]\n%3 = mul(%2, %1) : float32[]\n"
             "%4 = broadcast_in_dim(%3) {dims = [], shape = [4]} : float32[4]\n%5 = mul(%0, %4) : float32[4]\nreturn %5\n"},
        Case{"ScaledByANumberFirst", "%0: float32[4], %1: float32[]",
             "%2 = constant() {value = float32[]{3.0}} : float32[]\n%3 = broadcast_in_dim(%2) {dims = [], shape = [4]} : float32[4]\n"
             "%4 = mul(%3, %0) : float32[4]\n%5 = broadcast_in_dim(%1) {dims = [], shape = [4]} : float32[4]\n"
             "%6 = mul(%4, %5) : float32[4]\nreturn %6\n",
             "%2 = constant() {value = float32[]{3.0}} : float32[]\n%3 = mul(%2, %1) : float32[]\n"
             "%4 = broadcast_in_dim(%3) {dims = [], shape = [4]} : float32[4]\n%5 = mul(%0, %4) : float32[4]\nreturn %5\n"},
        Case{"OtherScalesRound", "%0: float32[4], %1: float32[]",
             "%2 = constant() {value = float32[]{3.0}} : float32[]\n%3 = broadcast_in_dim(%2) {dims = [], shape = [4]} : float32[4]\n"
             "%4 = broadcast_in_dim(%1) {dims = [], shape = [4]} : float32[4]\n%5 = mul(%4, %0) : float32[4]\n"
             "%6 = mul(%5, %3) : float32[4]\nreturn %6\n",
             ""},
        Case{"SumOfOneIsNoMaximum", "%0: float32[4]", "%1 = add(%0, %0) : float32[4]\nreturn %1\n", ""},
        Case{"EqualNodes", "%0: float32[4]",
             "%1 = sin(%0) : float32[4]\n%2 = sin(%0) : float32[4]\n%3 = mul(%1, %2) : float32[4]\nreturn %3\n",
             "%1 = sin(%0) : float32[4]\n%3 = mul(%1, %1) : float32[4]\nreturn %3\n"},
        Case{"AbsoluteSquare", "%0: float32[4]", "%1 = mul(%0, %0) : float32[4]\n%2 = abs(%1) : float32[4]\nreturn %2\n",
             "%1 = mul(%0, %0) : float32[4]\nreturn %1\n"},
        Case{"SquaresOfIntegersOverflow", "%0: int32[4]", "%1 = mul(%0, %0) : int32[4]\n%2 = abs(%1) : int32[4]\nreturn %2\n", ""},
        Case{"TwoSigns", "%0: float32[4], %1: float32[4]",
             "%2 = neg(%0) : float32[4]\n%3 = neg(%1) : float32[4]\n%4 = mul(%2, %3) : float32[4]\nreturn %4\n",
             "%2 = mul(%0, %1) : float32[4]\nreturn %2\n"},
        Case{"Neutral", "%0: float32[4]",
             "%1 = constant() {value = float32[]{1.0}} : float32[]\n%2 = broadcast_in_dim(%1) {dims = [], shape = [4]} : float32[4]\n"
             "%3 = div(%0, %2) : float32[4]\n%4 = mul(%2, %3) : float32[4]\nreturn %4\n",
             "return %0\n"},
        Case{"ComputedOnce", "%0: float32[6]",
             "%1 = broadcast_in_dim(%0) {dims = [1], shape = [4, 6]} : float32[4,6]\n%2 = exp(%1) : float32[4,6]\n"
             "%3 = add(%2, %1) : float32[4,6]\nreturn %3\n",
             "%1 = exp(%0) : float32[6]\n%2 = add(%1, %0) : float32[6]\n"
             "%3 = broadcast_in_dim(%2) {dims = [1], shape = [4, 6]} : float32[4,6]\nreturn %3\n"},
        Case{"TogetherTheyVary", "%0: float32[6], %1: float32[4]",
             "%2 = broadcast_in_dim(%0) {dims = [1], shape = [4, 6]} : float32[4,6]\n"
             "%3 = broadcast_in_dim(%1) {dims = [0], shape = [4, 6]} : float32[4,6]\n%4 = add(%2, %3) : float32[4,6]\nreturn %4\n",
             ""},
        Case{"ReducedOnce", "%0: float32[3,6]",
             "%1 = broadcast_in_dim(%0) {dims = [1, 2], shape = [4, 3, 6]} : float32[4,3,6]\n"
             "%2 = reduce_max(%1) {axes = [0, 2]} : float32[3]\nreturn %2\n",
             "%1 = reduce_max(%0) {axes = [1]} : float32[3]\nreturn %1\n"},
        Case{
            "SumOfEqualElements", "%0: int32[6]",
            "%1 = broadcast_in_dim(%0) {dims = [1], shape = [5, 6]} : int32[5,6]\n%2 = reduce_sum(%1) {axes = [0]} : int32[6]\nreturn %2\n",
            "%1 = constant() {value = int32[]{5}} : int32[]\n%2 = broadcast_in_dim(%1) {dims = [], shape = [6]} : int32[6]\n"
            "%3 = mul(%0, %2) : int32[6]\nreturn %3\n"},
        Case{"MaximumOfMaxima", "%0: float32[4,3,6]",
             "%1 = reduce_max(%0) {axes = [1]} : float32[4,6]\n%2 = reduce_max(%1) {axes = [1]} : float32[4]\nreturn %2\n",
             "%1 = reduce_max(%0) {axes = [1, 2]} : float32[4]\nreturn %1\n"},
        Case{"SignOfASumOfSums", "%0: int32[4,3,6]",
             "%1 = neg(%0) : int32[4,3,6]\n%2 = reduce_sum(%1) {axes = [0]} : int32[3,6]\n"
             "%3 = reduce_sum(%2) {axes = [1]} : int32[3]\nreturn %3\n",
             "%1 = reduce_sum(%0) {axes = [0, 2]} : int32[3]\n%2 = neg(%1) : int32[3]\nreturn %2\n"},
        Case{"SumsThatOthersUse", "%0: int32[4,6]",
             "%1 = reduce_sum(%0) {axes = [0]} : int32[6]\n%2 = reduce_sum(%1) {axes = [0]} : int32[]\nreturn %2, %1\n", ""},
        Case{"SumOfMaxima", "%0: int32[4,6]",
             "%1 = reduce_max(%0) {axes = [0]} : int32[6]\n%2 = reduce_sum(%1) {axes = [0]} : int32[]\nreturn %2\n", ""},
        Case{"SumOfSingleElements", "%0: float32[4,1]", "%1 = reduce_sum(%0) {axes = [1]} : float32[4]\nreturn %1\n",
             "%1 = reshape(%0) {shape = [4]} : float32[4]\nreturn %1\n"},
        Case{
            "BroadcastTwice", "%0: float32[3]",
            "%1 = broadcast_in_dim(%0) {dims = [1], shape = [2, 3]} : float32[2,3]\n%2 = reshape(%1) {shape = [2, 1, 3]} : float32[2,1,3]\n"
            "return %2\n",
            "%1 = broadcast_in_dim(%0) {dims = [2], shape = [2, 1, 3]} : float32[2,1,3]\nreturn %1\n"},
        Case{"RepeatsInOtherDimensions", "%0: float32[6,5]",
             "%1 = broadcast_in_dim(%0) {dims = [1, 2], shape = [8, 6, 5]} : float32[8,6,5]\n"
             "%2 = reshape(%1) {shape = [2, 4, 6, 5]} : float32[2,4,6,5]\nreturn %2\n",
             "%1 = broadcast_in_dim(%0) {dims = [2, 3], shape = [2, 4, 6, 5]} : float32[2,4,6,5]\nreturn %1\n"},
        Case{"CutElsewhereTheyVary", "%0: float32[6]",
             "%1 = broadcast_in_dim(%0) {dims = [1], shape = [8, 6]} : float32[8,6]\n%2 = reshape(%1) {shape = [6, 8]} : float32[6,8]\n"
             "return %2\n",
             ""},
        Case{"ProductOfRows", "%0: float32[3], %1: float32[3,5]",
             "%2 = broadcast_in_dim(%0) {dims = [1], shape = [4, 3]} : float32[4,3]\n"
             "%3 = dot_general(%2, %1) {batch = [], contract = [1, 0]} : float32[4,5]\nreturn %3\n",
             "%2 = dot_general(%0, %1) {batch = [], contract = [0, 0]} : float32[5]\n"
             "%3 = broadcast_in_dim(%2) {dims = [1], shape = [4, 5]} : float32[4,5]\nreturn %3\n"},
        Case{"SumsAndProductsWithTwoNumbers", "%0: float32[4], %1: int32[4]",
             "%2 = constant() {value = float32[]{0.75}} : float32[]\n%3 = broadcast_in_dim(%2) {dims = [], shape = [4]} : float32[4]\n"
             "%4 = mul(%0, %3) : float32[4]\n%5 = mul(%4, %3) : float32[4]\n"
             "%6 = constant() {value = int32[]{5}} : int32[]\n%7 = broadcast_in_dim(%6) {dims = [], shape = [4]} : int32[4]\n"
             "%8 = sub(%7, %1) : int32[4]\n%9 = sub(%8, %7) : int32[4]\nreturn %5, %9\n",
             "%2 = constant() {value = float32[]{0.5625}} : float32[]\n%3 = broadcast_in_dim(%2) {dims = [], shape = [4]} : float32[4]\n"
             "%4 = mul(%0, %3) : float32[4]\n%5 = constant() {value = int32[]{0}} : int32[]\n"
             "%6 = broadcast_in_dim(%5) {dims = [], shape = [4]} : int32[4]\n%7 = sub(%6, %1) : int32[4]\nreturn %4, %7\n"},
        Case{"WhatUndoesASum", "%0: int32[4]",
             "%1 = constant() {value = int32[]{3}} : int32[]\n%2 = broadcast_in_dim(%1) {dims = [], shape = [4]} : int32[4]\n"
             "%3 = add(%0, %2) : int32[4]\n%4 = sub(%3, %2) : int32[4]\n%5 = neg(%4) : int32[4]\nreturn %5\n",
             "%1 = neg(%0) : int32[4]\nreturn %1\n"},
        Case{"MeanOfEqualElements", "%0: float32[5]",
             "%1 = broadcast_in_dim(%0) {dims = [1], shape = [8, 5]} : float32[8,5]\n%2 = reduce_sum(%1) {axes = [0]} : float32[5]\n"
             "%3 = reshape(%2) {shape = [1, 5]} : float32[1,5]\n%4 = constant() {value = float32[]{8}} : float32[]\n"
             "%5 = broadcast_in_dim(%4) {dims = [], shape = [1, 5]} : float32[1,5]\n%6 = div(%3, %5) : float32[1,5]\nreturn %6\n",
             "%1 = reshape(%0) {shape = [1, 5]} : float32[1,5]\nreturn %1\n"},
        Case{"SignsOfWhatRepeats", "%0: float32[6]",
             "%1 = neg(%0) : float32[6]\n%2 = broadcast_in_dim(%1) {dims = [1], shape = [4, 6]} : float32[4,6]\n"
             "%3 = mul(%2, %2) : float32[4,6]\nreturn %3\n",
             "%1 = mul(%0, %0) : float32[6]\n%2 = broadcast_in_dim(%1) {dims = [1], shape = [4, 6]} : float32[4,6]\nreturn %2\n"},
        Case{"SquareOfAnAbsolute", "%0: float32[6]", "%1 = abs(%0) : float32[6]\n%2 = mul(%1, %1) : float32[6]\nreturn %2\n",
             "%1 = mul(%0, %0) : float32[6]\nreturn %1\n"},
        Case{"ReductionsOfEqualParts", "%0: int32[3,4], %1: int32[2,4]",
             "%2 = concatenate(%0, %1, %0) {axis = 0} : int32[8,4]\n%3 = reduce_max(%2) {axes = [0]} : int32[4]\n"
             "%4 = reduce_sum(%2) {axes = [0]} : int32[4]\nreturn %3, %4\n",
             "%2 = reduce_max(%0) {axes = [0]} : int32[4]\n%3 = reduce_max(%1) {axes = [0]} : int32[4]\n%4 = maximum(%2, %3) : int32[4]\n"
             "%5 = reduce_sum(%0) {axes = [0]} : int32[4]\n%6 = reduce_sum(%1) {axes = [0]} : int32[4]\n%7 = add(%5, %6) : int32[4]\n"
             "%8 = add(%7, %5) : int32[4]\nreturn %4, %8\n"},
        Case{"PartsSideBySide", "%0: int32[3,4]",
             "%1 = concatenate(%0, %0) {axis = 1} : int32[3,8]\n%2 = reduce_sum(%1) {axes = [0]} : int32[8]\nreturn %2\n",
             "%1 = reduce_sum(%0) {axes = [0]} : int32[4]\n%2 = concatenate(%1, %1) {axis = 0} : int32[8]\nreturn %2\n"},
        Case{"AllOfAReshape", "%0: int32[3,4]",
             "%1 = concatenate(%0, %0) {axis = 1} : int32[3,8]\n%2 = reshape(%1) {shape = [24]} : int32[24]\n"
             "%3 = reduce_max(%2) {axes = [0]} : int32[]\nreturn %3\n",
             "%1 = reduce_max(%0) {axes = [0, 1]} : int32[]\nreturn %1\n"},
        Case{"PartsSideBySideTransposed", "%0: int32[3,4]",
             "%1 = concatenate(%0, %0) {axis = 1} : int32[3,8]\n%2 = transpose(%1) {axes = [1, 0]} : int32[8,3]\n"
             "%3 = reduce_max(%2) {axes = [0]} : int32[3]\nreturn %3\n",
             "%1 = transpose(%0) {axes = [1, 0]} : int32[4,3]\n%2 = reduce_max(%1) {axes = [0]} : int32[3]\nreturn %2\n"},
        Case{"TransposedRepeats", "%0: float32[2,3]",
             "%1 = broadcast_in_dim(%0) {dims = [1, 2], shape = [4, 2, 3]} : float32[4,2,3]\n"
             "%2 = transpose(%1) {axes = [2, 0, 1]} : float32[3,4,2]\n%3 = exp(%2) : float32[3,4,2]\nreturn %3\n",
             "%1 = transpose(%0) {axes = [1, 0]} : float32[3,2]\n%2 = exp(%1) : float32[3,2]\n"
             "%3 = broadcast_in_dim(%2) {dims = [0, 2], shape = [3, 4, 2]} : float32[3,4,2]\nreturn %3\n"},
        Case{"ProductBesideRepeats", "%0: float32[2,3]",
             "%1 = broadcast_in_dim(%0) {dims = [1, 2], shape = [4, 2, 3]} : float32[4,2,3]\n"
             "%2 = reduce_prod(%1) {axes = [2]} : float32[4,2]\nreturn %2\n",
             "%1 = reduce_prod(%0) {axes = [1]} : float32[2]\n"
             "%2 = broadcast_in_dim(%1) {dims = [1], shape = [4, 2]} : float32[4,2]\nreturn %2\n"},
        Case{"ProductOfRepeats", "%0: float32[2,3]",
             "%1 = broadcast_in_dim(%0) {dims = [1, 2], shape = [4, 2, 3]} : float32[4,2,3]\n"
             "%2 = reduce_prod(%1) {axes = [0]} : float32[2,3]\nreturn %2\n",
             ""},
        Case{"EqualWorkOnATranspose", "%0: float32[4,6]",
             "%1 = transpose(%0) {axes = [1, 0]} : float32[6,4]\n%2 = reduce_max(%1) {axes = [1]} : float32[6]\n"
             "%3 = broadcast_in_dim(%2) {dims = [0], shape = [6, 4]} : float32[6,4]\n%4 = sub(%1, %3) : float32[6,4]\n"
             "%5 = reduce_max(%0) {axes = [0]} : float32[6]\n%6 = broadcast_in_dim(%5) {dims = [1], shape = [4, 6]} : float32[4,6]\n"
             "%7 = sub(%0, %6) : float32[4,6]\nreturn %4, %7\n",
             "%1 = transpose(%0) {axes = [1, 0]} : float32[6,4]\n%2 = reduce_max(%1) {axes = [1]} : float32[6]\n"
             "%3 = broadcast_in_dim(%2) {dims = [0], shape = [6, 4]} : float32[6,4]\n%4 = sub(%1, %3) : float32[6,4]\n"
             "%5 = transpose(%4) {axes = [1, 0]} : float32[4,6]\nreturn %4, %5\n"},
        Case{"OtherWorkOnATranspose", "%0: float32[4,4]",
             "%1 = transpose(%0) {axes = [1, 0]} : float32[4,4]\n%2 = reduce_max(%1) {axes = [1]} : float32[4]\n"
             "%3 = reduce_max(%0) {axes = [1]} : float32[4]\n%4 = sub(%0, %1) : float32[4,4]\n%5 = sub(%1, %0) : float32[4,4]\n"
             "return %2, %3, %4, %5\n",
             ""},
        Case{"ReductionOfAReshapedJoin", "%0: int32[3,4], %1: int32[2,4]",
             "%2 = concatenate(%0, %0, %1) {axis = 0} : int32[8,4]\n%3 = reshape(%2) {shape = [32]} : int32[32]\n"
             "%4 = reduce_max(%3) {axes = [0]} : int32[]\nreturn %4\n",
             "%2 = reduce_max(%0) {axes = [0, 1]} : int32[]\n%3 = reduce_max(%1) {axes = [0, 1]} : int32[]\n"
             "%4 = maximum(%2, %3) : int32[]\nreturn %4\n"},
        Case{"PartsThatAReshapeMixes", "%0: int32[3,4]",
             "%1 = concatenate(%0, %0) {axis = 1} : int32[3,8]\n%2 = reshape(%1) {shape = [4, 6]} : int32[4,6]\n"
             "%3 = reduce_max(%2) {axes = [1]} : int32[4]\nreturn %3\n",
             ""},
        Case{"PartsThatAReshapeCuts", "%0: int32[3,2]",
             "%1 = concatenate(%0, %0) {axis = 0} : int32[6,2]\n%2 = reshape(%1) {shape = [3, 4]} : int32[3,4]\n"
             "%3 = reduce_max(%2) {axes = [0]} : int32[4]\nreturn %3\n",
             ""},
        Case{"SliceOfWhatRepeats", "%0: float32[5,6]",
             "%1 = broadcast_in_dim(%0) {dims = [1, 2], shape = [4, 5, 6]} : float32[4,5,6]\n"
             "%2 = slice(%1) {limit = [4, 5, 6], start = [0, 1, 2], stride = [2, 1, 2]} : float32[2,4,2]\n"
             "%3 = sin(%2) : float32[2,4,2]\nreturn %3\n",
             "%1 = slice(%0) {limit = [5, 6], start = [1, 2], stride = [1, 2]} : float32[4,2]\n%2 = sin(%1) : float32[4,2]\n"
             "%3 = broadcast_in_dim(%2) {dims = [1, 2], shape = [2, 4, 2]} : float32[2,4,2]\nreturn %3\n"},
        Case{"ChosenByNumbers", "%0: float32[4], %1: float32[4]",
             "%2 = constant() {value = float32[]{1.0}} : float32[]\n%3 = constant() {value = float32[]{0}} : float32[]\n"
             "%4 = greater(%2, %3) : bool[]\n%5 = broadcast_in_dim(%4) {dims = [], shape = [4]} : bool[4]\n"
             "%6 = less(%0, %1) : bool[4]\n%7 = and(%5, %6) : bool[4]\n%8 = not(%5) : bool[4]\n"
             "%9 = select(%8, %0, %1) : float32[4]\n%10 = select(%7, %0, %9) : float32[4]\nreturn %10\n",
             "%2 = less(%0, %1) : bool[4]\n%3 = select(%2, %0, %1) : float32[4]\nreturn %3\n"},
        Case{"HeldBetweenNumbers", "%0: float32[4]",
             "%1 = constant() {value = float32[]{-0.5}} : float32[]\n%2 = broadcast_in_dim(%1) {dims = [], shape = [4]} : float32[4]\n"
             "%3 = constant() {value = float32[]{0.5}} : float32[]\n%4 = broadcast_in_dim(%3) {dims = [], shape = [4]} : float32[4]\n"
             "%5 = maximum(%2, %0) : float32[4]\n%6 = minimum(%4, %5) : float32[4]\nreturn %6\n",
             "%1 = constant() {value = float32[]{-0.5}} : float32[]\n%2 = broadcast_in_dim(%1) {dims = [], shape = [4]} : float32[4]\n"
             "%3 = constant() {value = float32[]{0.5}} : float32[]\n%4 = broadcast_in_dim(%3) {dims = [], shape = [4]} : float32[4]\n"
             "%5 = clamp(%2, %0, %4) : float32[4]\nreturn %5\n"},
        Case{"LimitsThatCross", "%0: float32[4]",
             "%1 = constant() {value = float32[]{0.5}} : float32[]\n%2 = broadcast_in_dim(%1) {dims = [], shape = [4]} : float32[4]\n"
             "%3 = constant() {value = float32[]{-0.5}} : float32[]\n%4 = broadcast_in_dim(%3) {dims = [], shape = [4]} : float32[4]\n"
             "%5 = maximum(%2, %0) : float32[4]\n%6 = minimum(%4, %5) : float32[4]\nreturn %6\n",
             ""},
        Case{"SliceOfRepeatsAlone", "%0: float32[6]",
             "%1 = broadcast_in_dim(%0) {dims = [1], shape = [4, 6]} : float32[4,6]\n"
             "%2 = slice(%1) {limit = [3, 6], start = [1, 0]} : float32[2,6]\nreturn %2\n",
             "%1 = broadcast_in_dim(%0) {dims = [1], shape = [2, 6]} : float32[2,6]\nreturn %1\n"},
        Case{"SortOfSingleElements", "%0: float32[1,6]",
             "%1 = sort(%0) {axis = 0} : float32[1,6]\n%2 = cumsum(%1) {axis = 0} : float32[1,6]\n"
             "%3 = sin(%2) : float32[1,6]\nreturn %3\n",
             "%1 = sin(%0) : float32[1,6]\nreturn %1\n"},
        Case{"SortOfSeveralSingleElements", "%0: float32[1,6], %1: float32[1,6]",
             "%2, %3 = sort(%0, %1) {axis = 0} : float32[1,6], float32[1,6]\nreturn %3, %2\n", "return %1, %0\n"},
        Case{"SortOfWhatNobodyUses", "%0: float32[4,6], %1: float32[4,6], %2: float32[4,6]",
             "%3, %4, %5 = sort(%0, %1, %2) {axis = 0} : float32[4,6], float32[4,6], float32[4,6]\nreturn %5\n",
             "%3, %4 = sort(%0, %2) {axis = 0} : float32[4,6], float32[4,6]\nreturn %4\n"},
        Case{"SortByTwo", "%0: float32[4,6], %1: float32[4,6]",
             "%2, %3 = sort(%0, %1) {axis = 0, num_keys = 2} : float32[4,6], float32[4,6]\nreturn %2\n", ""},
        Case{"BestOfOne", "%0: float32[1,6]", "%1 = argmax(%0) {axis = 0} : int32[6]\nreturn %1\n",
             "%1 = constant() {value = int32[]{0}} : int32[]\n%2 = broadcast_in_dim(%1) {dims = [], shape = [6]} : int32[6]\nreturn %2\n"},
        Case{"FirstOfOne", "%0: float32[6,1]", "%1, %2 = top_k(%0) {k = 1} : float32[6,1], int32[6,1]\nreturn %1, %2\n",
             "%1 = constant() {value = int32[]{0}} : int32[]\n%2 = broadcast_in_dim(%1) {dims = [], shape = [6, 1]} : int32[6,1]\n"
             "return %0, %2\n"},
        Case{"SliceOfAll", "%0: float32[4,6], %1: int32[]",
             "%2 = dynamic_slice(%0, %1, %1) {sizes = [4, 6]} : float32[4,6]\n%3 = sin(%2) : float32[4,6]\nreturn %3\n",
             "%2 = sin(%0) : float32[4,6]\nreturn %2\n"},
        Case{"SliceOfAllOfOneDimension", "%0: float32[4,6], %1: int32[]",
             "%2 = dynamic_slice(%0, %1, %1) {sizes = [4, 3]} : float32[4,3]\nreturn %2\n",
             "%2 = constant() {value = int32[]{0}} : int32[]\n%3 = dynamic_slice(%0, %2, %1) {sizes = [4, 3]} : float32[4,3]\nreturn %3\n"},
        Case{"SquareOfMagnitudes", "%0: complex64[4]", "%1 = abs(%0) : float32[4]\n%2 = mul(%1, %1) : float32[4]\nreturn %2\n", ""},
        Case{"UpdateOfAll", "%0: float32[4,6], %1: float32[4,6], %2: int32[]",
             "%3 = dynamic_update_slice(%0, %1, %2, %2) : float32[4,6]\nreturn %3\n", "return %1\n"},
        Case{"SumWithAnUpdateOfZeros", "%0: float32[4,6], %1: float32[1,6], %2: int32[], %3: int32[]",
             "%4 = constant() {value = float32[]{0}} : float32[]\n%5 = broadcast_in_dim(%4) {dims = [], shape = [4, 6]} : float32[4,6]\n"
             "%6 = dynamic_update_slice(%5, %1, %2, %3) : float32[4,6]\n%7 = add(%6, %0) : float32[4,6]\nreturn %7\n",
             "%4 = constant() {value = int32[]{0}} : int32[]\n%5 = dynamic_slice(%0, %2, %4) {sizes = [1, 6]} : float32[1,6]\n"
             "%6 = add(%5, %1) : float32[1,6]\n%7 = dynamic_update_slice(%0, %6, %2, %4) : float32[4,6]\nreturn %7\n"},
        Case{"SumWithAnUpdateOfZerosThatOthersUse", "%0: float32[4,6], %1: float32[1,3], %2: int32[], %3: int32[]",
             "%4 = constant() {value = float32[]{0}} : float32[]\n%5 = broadcast_in_dim(%4) {dims = [], shape = [4, 6]} : float32[4,6]\n"
             "%6 = dynamic_update_slice(%5, %1, %2, %3) : float32[4,6]\n%7 = add(%0, %6) : float32[4,6]\nreturn %7, %6\n",
             ""},
        Case{"SumWithAnUpdateOfOthers", "%0: float32[4,6], %1: float32[1,3], %2: int32[], %3: float32[4,6]",
             "%4 = dynamic_update_slice(%3, %1, %2, %2) : float32[4,6]\n%5 = add(%0, %4) : float32[4,6]\nreturn %5\n", ""},
        Case{"ProductsOfSwappedFactors", "%0: float32[4], %1: float32[4]",
             "%2 = mul(%0, %1) : float32[4]\n%3 = mul(%1, %0) : float32[4]\n%4 = sub(%2, %3) : float32[4]\nreturn %4\n",
             "%2 = mul(%0, %1) : float32[4]\n%3 = sub(%2, %2) : float32[4]\nreturn %3\n"},
        Case{"DifferencesOfSwappedOperands", "%0: float32[4], %1: float32[4]",
             "%2 = sub(%0, %1) : float32[4]\n%3 = sub(%1, %0) : float32[4]\n%4 = mul(%2, %3) : float32[4]\nreturn %4\n", ""},
        Case{"CutAwayWhole", "%0: float32[1,6], %1: float32[]",
             "%2 = sin(%0) : float32[1,6]\n%3 = pad(%2, %1) {padding = [-1, 1, 0, 0, 0, 0]} : float32[1,6]\nreturn %3\n",
             "%2 = broadcast_in_dim(%1) {dims = [], shape = [1, 6]} : float32[1,6]\nreturn %2\n"},
        Case{"WindowBetweenElements", "%0: float32[1,1,2], %1: float32[1,1,1]",
             "%2 = sin(%0) : float32[1,1,2]\n%3 = conv(%2, %1) {batch_group_count = 1, feature_group_count = 1, lhs_dilation = [2], "
             "lhs_spec = [0,1,2], out_spec = [0,1,2], "
             "pads = [-1,-1], rhs_dilation = [1], rhs_spec = [0,1,2], window_strides = [1]} : float32[1,1,1]\nreturn %3\n",
             "%2 = constant() {value = float32[]{0}} : float32[]\n%3 = broadcast_in_dim(%2) {dims = [], shape = [1, 1, 2]} : "
             "float32[1,1,2]\n"
             "%4 = conv(%3, %1) {batch_group_count = 1, feature_group_count = 1, lhs_dilation = [2], lhs_spec = [0,1,2], out_spec = "
             "[0,1,2], "
             "pads = [-1,-1], rhs_dilation = [1], rhs_spec = [0,1,2], window_strides = [1]} : float32[1,1,1]\nreturn %4\n"},
        Case{"CutAwayInPart", "%0: float32[2,6], %1: float32[]",
             "%2 = sin(%0) : float32[2,6]\n%3 = pad(%2, %1) {padding = [-1, 1, 0, 0, 0, 0]} : float32[2,6]\nreturn %3\n", ""}),
    [](const auto& each) { return std::string(each.param.name); });

// Users find a value that lies elsewhere by another name.
// Of real numbers; where exp overflows nothing is lost, as in XLA.
TEST(LightenLogarithms, UndoExponentials) {
  for (const char* dtype : {"float32", "complex64"}) {
    const std::string text =
        fmt::format("f(%0: {0}[4]) {{\n%1 = exp(%0) : {0}[4]\n%2 = log(%1) : {0}[4]\n%3 = sin(%2) : {0}[4]\nreturn %3\n}}\n", dtype);
    const auto lighter = transform::lightened(parse_graph(text, find_op), always);
    ASSERT_EQ(lighter.has_value(), std::string_view(dtype) == "float32");
    if (lighter) { EXPECT_EQ(print(lighter->graph), canonical("f(%0: float32[4]) {\n%1 = sin(%0) : float32[4]\nreturn %1\n}\n")); }
  }
}

TEST(LightenNames, WhatLiesElsewhereStaysApart) {
  const Graph graph = parse_graph(
      "f(%0: float32[4]) {\n%1 = maximum(%0, %0) : float32[4]\n%2 = sin(%0) : float32[4]\n%3 = sin(%0) : float32[4]\n"
      "return %1, %2, %3\n}\n",
      find_op);
  EXPECT_EQ(print(transform::lightened(graph, [](const LiesAs& a, const LiesAs& b) { return a == b; })->graph),
            "f(%0: float32[4]) {\n  %1 = reshape(%0) {shape = [4]} : float32[4]\n  %2 = sin(%0) : float32[4]\n"
            "  %3 = sin(%0) : float32[4]\n  return %1, %2, %3\n}\n");
}

TEST(LightenNames, PartsOfWhatIsThereWholeAreTakenFromIt) {
  auto lightened = [](ValueId whole) {
    const Graph graph = parse_graph(
        "f(%0: float32[4,4]) {\n%1 = cumsum(%0) {axis = 0, reverse = false} : float32[4,4]\n"
        "%2 = cumsum(%0) {axis = 0, reverse = false} : float32[4,4]\nreturn %1, %2\n}\n",
        find_op);
    return transform::lightened(graph, [=](const LiesAs& a, const LiesAs& b) { return a == b || (a.value == whole && b.value == whole); });
  };
  EXPECT_EQ(print(lightened(1)->graph),
            "f(%0: float32[4,4]) {\n  %1 = cumsum(%0) {axis = 0, reverse = false} : float32[4,4]\n"
            "  %2 = reshape(%1) {shape = [4, 4]} : float32[4,4]\n  return %1, %2\n}\n");
  EXPECT_FALSE(lightened(2).has_value());  // the later one is whole
}

// What is left of a collective over four devices of the number 2 in 8 places.
std::string left_of(const char* op, const char* attrs, const char* result, const char* dtype = "float32") {
  const std::string text = fmt::format(
      "f() {{\n%0 = constant() {{value = {0}[]{{2}}}} : {0}[]\n%1 = broadcast_in_dim(%0) {{dims = [], shape = [8]}} : {0}[8]\n"
      "%2 = {1}(%1) {{{2}}} : {0}[{3}]\nreturn %2\n}}\n",
      dtype, op, attrs, result);
  const auto lighter = transform::lightened(parse_graph(text, find_op), always);
  return lighter ? print(lighter->graph) : "";
}

TEST(LightenCollectives, OfNumbersAreNumbers) {
  auto number = [](double value, const char* result, const char* dtype = "float32") {
    return canonical(
        fmt::format("f() {{\n%0 = constant() {{value = {0}[]{{{1}}}}} : {0}[]\n%1 = broadcast_in_dim(%0) {{dims = [], shape = [{2}]}} : "
                    "{0}[{2}]\nreturn %1\n}}\n",
                    dtype, value, result));
  };
  constexpr const char* kAll = "axis_name = [\"a\"], axis_size = 4";
  EXPECT_EQ(left_of("psum", kAll, "8"), number(8, "8"));
  EXPECT_EQ(left_of("pmax", kAll, "8"), number(2, "8"));
  EXPECT_EQ(left_of("all_gather", "axis = 0, axis_name = [\"a\"], axis_size = 4, tiled = true", "32"), number(2, "32"));
  EXPECT_EQ(left_of("psum_scatter", "axis_name = [\"a\"], axis_size = 4, scatter_dimension = 0, tiled = true", "2"), number(8, "2"));
  EXPECT_EQ(left_of("ppermute", "axis_name = [\"a\"], axis_size = 4, perm = [0, 1, 1, 2, 2, 3, 3, 0]", "8"), number(2, "8"));
  EXPECT_EQ(left_of("psum", kAll, "8", "int8"), number(8, "8", "int8"));
  // Who is sent nothing has zeros.
  EXPECT_EQ(left_of("ppermute", "axis_name = [\"a\"], axis_size = 4, perm = [0, 1, 1, 2]", "8"), "");
}

}  // namespace
}  // namespace shardlab
