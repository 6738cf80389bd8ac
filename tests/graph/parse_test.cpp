// parse_graph reads what print wrote, and refuses everything else with line and column.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/graph/builder.h"
#include "runtime/ops/registry.h"

namespace shardlab {
namespace {

using ::testing::HasSubstr;

// A graph of one node for each sample of each op.
std::vector<std::string> sample_texts() {
  std::vector<std::string> texts;
  for (const OpDef* op : all_ops()) {
    if (!op->is_primitive()) continue;
    for (const Sample& sample : op->samples()) {
      GraphBuilder b;
      std::vector<ValueId> operands;
      for (const TensorType& type : sample.operands) operands.push_back(b.param(type));
      b.set_results(b.emit(*op, operands, sample.attrs));
      texts.push_back(print(b.graph()));
    }
  }
  return texts;
}

TEST(Parse, ReadsBackEveryOp) {
  for (const std::string& text : sample_texts()) {
    Graph graph = parse_graph(text, find_op);
    EXPECT_NO_THROW(verify(graph)) << text;
    EXPECT_EQ(print(graph), text);
  }
}

TEST(Parse, ReadsShardings) {
  std::vector<Sharding> shardings = {
      Sharding(Mesh({4, 2}, {"a", "b"}, {0, 1, 2, 3, 4, 5, 6, 7}), P("a", None)),
      Sharding(Mesh({4, 2}, {"a", "b"}, {7, 6, 5, 4, 3, 2, 1, 0}), P(std::vector<std::string>{"a", "b"})),
      Sharding(Mesh({4}, {"a"}, {0, 1, 2, 3}), Spec{{{0, 1, 2}}, {{0, 2, 2}}}),
      Sharding(Mesh({4}, {"a"}, {0, 1, 2, 3}), P()),
      Sharding(Mesh({4}, {"a"}, {0, 1, 2, 3}, {AxisType::kExplicit}), P("a")),
      Sharding(Mesh({2, 2}, {"a", "b"}, {3, 1, 2, 0}, {AxisType::kAuto, AxisType::kExplicit}), P(None, "b")),
      Sharding::on_device(3),
  };
  for (const Sharding& sharding : shardings) {
    GraphBuilder b("step 1");
    ValueId x = b.param({DType::kFloat32, {8, 4}});
    b.set_results({b.emit1(*find_op("with_sharding_constraint"), {x}, Attrs{{"sharding", sharding}})});
    Graph graph = parse_graph(print(b.graph()), find_op);
    EXPECT_EQ(print(graph), print(b.graph()));
    EXPECT_TRUE(graph.nodes[0].attrs.sharding("sharding") == sharding) << sharding.text();
  }
}

TEST(Parse, RefusesWithLineAndColumn) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "line 1, column 1: wanted the program's name, got the end of the text"},
      {"main() {\n  %0 = nonsense() : float32[]\n}", "line 2, column 8: unknown op 'nonsense'"},
      {"main() {\n  %0 = mean() : float32[]\n}", "'mean' is no primitive"},
      {"main(%0: float32[2]) {\n  %1 = sin(%2) : float32[2]\n  return %1\n}", "line 2, column 12: %2 is used before it is defined"},
      {"main(%0: float32[2]) {\n  %0 = sin(%0) : float32[2]\n  return %0\n}", "%0 is defined twice"},
      {"main(%0: float32[2]) {\n  %1 = sin(%0) : float32[3]\n  return %1\n}", "sin gives float32[2], the text says float32[3]"},
      {"main(%0: float32[2]) {\n  %1 = add(%0) : float32[2]\n  return %1\n}", "add does not take 1 operands"},
      {"main(%0: float33[2]) {\n  return %0\n}", "line 1, column 10: unknown dtype 'float33'"},
      {"main(%0: float32[-2]) {\n  return %0\n}", "the size -2 is negative"},
      {"main(%0: float32[4611686018427387904,4]) {\n  return %0\n}", "more than 281474976710656 elements"},
      {"main(%0: float32[99999999999999999999]) {\n  return %0\n}", "does not fit 64 bits"},
      {"main(%0: float32[4]) {\n  %1 = reshape(%0) {shape = [5]} : float32[5]\n  return %1\n}", "cannot reshape"},
      {"main(%0: float32[4]) {\n  %1 = reshape(%0) {shape = 4} : float32[4]\n  return %1\n}", "'shape' is 4, wanted a list"},
      {"main() {\n  %0 = constant() {value = float32[17]{sha256:00}} : float32[17]\n}", "left out of the text"},
      {"main() {\n  %0 = constant() {value = int32[]{3000000000}} : int32[]\n}", "does not fit the dtype"},
      {"main() {\n  return\n} x", "wanted the end of the text"},
      {"\"main() {}", "the quoted text does not end"},
  };
  for (const auto& [text, wanted] : cases) {
    try {
      parse_graph(text, find_op);
      ADD_FAILURE() << "accepted: " << text;
    } catch (const UserError& error) { EXPECT_THAT(error.what(), HasSubstr(wanted)); }
  }
}

// Damaged texts are refused or give sound graphs; nothing else happens.
TEST(Parse, SurvivesDamage) {
  std::vector<std::string> texts = sample_texts();
  std::mt19937 random(17);
  const std::string kAlphabet = "%0123456789[]{}(),:=-+.eE\"'\\ \nabfinrstux/";
  int refused = 0, read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = texts[random() % texts.size()];
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) {
      std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = kAlphabet[random() % kAlphabet.size()];
          break;
        case 1:
          text.insert(at, 1, kAlphabet[random() % kAlphabet.size()]);
          break;
        case 2:
          text.erase(at, 1 + random() % 5);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 12));
          break;
      }
      if (text.empty()) text.push_back(' ');
    }
    try {
      Graph graph = parse_graph(text, find_op);
      verify(graph);
      ++read;
    } catch (const UserError&) { ++refused; }
  }
  EXPECT_GT(refused, 1000);
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace shardlab
