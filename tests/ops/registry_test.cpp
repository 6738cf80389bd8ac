// Every definition is complete and consistent.
#include <gtest/gtest.h>

#include <set>

#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;

TEST(Registry, FindsEveryNameAndAlias) {
  for (const OpDef* op : all_ops()) {
    EXPECT_EQ(find_op(op->name), op);
    for (std::string_view alias : op->aliases) EXPECT_EQ(find_op(alias), op) << alias;
  }
  EXPECT_EQ(find_op("subtract"), find_op("sub"));
  EXPECT_EQ(find_op("no such op"), nullptr);
}

TEST(Registry, DefinitionsAreComplete) {
  for (const OpDef* op : all_ops()) {
    SCOPED_TRACE(op->name);
    EXPECT_FALSE(op->doc.empty());
    EXPECT_TRUE(op->doc.ends_with("."));
    EXPECT_NE(op->expand, nullptr);
    std::set<std::string_view> attrs;
    for (const AttrDef& attr : op->attrs) EXPECT_TRUE(attrs.insert(attr.name).second && !attr.doc.empty()) << attr.name;
    if (!op->is_primitive()) {
      EXPECT_TRUE(op->kernel == nullptr && op->rule == nullptr && op->tile == nullptr);
      continue;
    }
    EXPECT_NE(op->rule, nullptr);
    EXPECT_NE(op->kernel, nullptr);
    ASSERT_NE(op->samples, nullptr);
    EXPECT_FALSE(op->samples().empty());
    EXPECT_EQ(op->constant, op->operands_max == 0);
    if (op->tile != nullptr) { EXPECT_TRUE(op->elementwise); }
  }
}

// Whatever the rule says fits the shapes: factor sizes multiply to dimensions, reduced factors come with a reduction.
TEST(Registry, RulesFitTheirSamples) {
  for (const OpDef* op : all_ops()) {
    if (!op->is_primitive()) continue;
    for (const Sample& sample : op->samples()) {
      SCOPED_TRACE(describe(*op, sample));
      std::vector<TensorType> results = op->infer(*op, sample.operands, sample.attrs);
      FactorRule rule = op->rule(sample.operands, results, sample.attrs);
      ASSERT_EQ(rule.present, !op->constant);
      if (!rule.present) continue;
      ASSERT_EQ(rule.operands.size(), sample.operands.size());
      ASSERT_EQ(rule.results.size(), results.size());
      // Along a dimension whose parts are exchanged or wanted whole, both sides have the operand's or the result's size.
      auto is_exchanged = [&](int factor) {
        FactorKind kind = rule.factors[std::size_t(factor)].kind;
        return kind == FactorKind::kPermute || kind == FactorKind::kReplicate;
      };
      auto check = [&](const FactorRule::TensorMap& map, const TensorType& type, bool may_be_partial) {
        ASSERT_EQ(int(map.size()), type.rank());
        for (std::size_t d = 0; d < map.size(); ++d) {
          ASSERT_FALSE(map[d].empty());
          std::int64_t product = 1;
          for (int factor : map[d]) product *= rule.factors[std::size_t(factor)].size;
          EXPECT_TRUE(product == type.shape[d] || may_be_partial || is_exchanged(map[d][0])) << "dimension " << d;
        }
      };
      for (std::size_t i = 0; i < results.size(); ++i) check(rule.results[i], results[i], false);
      for (std::size_t i = 0; i < sample.operands.size(); ++i) check(rule.operands[i], sample.operands[i], false);
      for (const Factor& factor : rule.factors) {
        if (factor.kind == FactorKind::kReduce) { EXPECT_TRUE(op->reduction.has_value() || op->in_parts != nullptr); }
      }
    }
  }
}

// What a primitive's expansion makes of its own samples is the primitive itself, or nothing to do.
TEST(Registry, PrimitivesExpandToThemselves) {
  for (const OpDef* op : all_ops()) {
    if (!op->is_primitive() || op->operands_max == 0) continue;
    for (const Sample& sample : op->samples()) {
      SCOPED_TRACE(describe(*op, sample));
      Graph graph = graph_of(op->name, sample.operands, sample.attrs);
      bool divides_integers = op->name == "div" || op->name == "atan2" || op->name == "shift_right_arithmetic";
      if (divides_integers || graph.nodes.empty()) continue;
      EXPECT_EQ(graph.nodes.back().op, op);
      EXPECT_EQ(graph.type(graph.results[0]), op->infer(*op, sample.operands, sample.attrs)[0]);
    }
  }
}

}  // namespace
}  // namespace shardlab
