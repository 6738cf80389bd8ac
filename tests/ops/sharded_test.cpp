// Generated from the registry: every op evaluated in parts by its factor rule equals the whole.
#include <gtest/gtest.h>

#include "runtime/ops/combine.h"
#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;

// Part `part` of `parts` along a factor that is one of a dimension's factors, for the parts where it is the major-most or alone.
// A dimension made of several factors is cut along its first one, as no other cut gives a box.
Box box_of_part(const Shape& shape, const FactorRule::TensorMap& map, int factor, std::int64_t parts, std::int64_t part) {
  Box box = whole(shape);
  for (std::size_t d = 0; d < map.size(); ++d)
    if (map[d].front() == factor) box[d] = {shape[d] / parts * part, shape[d] / parts * (part + 1)};
  return box;
}

// Whether the factor, wherever it occurs, is a dimension's first: then cutting it gives boxes.
bool gives_boxes(const FactorRule& rule, int factor) {
  auto first_everywhere = [&](const std::vector<FactorRule::TensorMap>& maps) {
    for (const auto& map : maps)
      for (const auto& factors : map)
        for (std::size_t i = 1; i < factors.size(); ++i)
          if (factors[i] == factor) return false;
    return true;
  };
  return first_everywhere(rule.operands) && first_everywhere(rule.results);
}

// A private factor of a reshape's operand is whole wherever the other side is: cutting it alone is no valid partition.
bool is_on_operands(const FactorRule& rule, int factor) {
  for (const auto& map : rule.operands)
    for (const auto& factors : map)
      for (int f : factors)
        if (f == factor) return true;
  return false;
}
bool is_on_results(const FactorRule& rule, int factor) {
  for (const auto& map : rule.results)
    for (const auto& factors : map)
      for (int f : factors)
        if (f == factor) return true;
  return false;
}

std::vector<TensorType> types_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorType> types;
  for (const Tensor& tensor : tensors) types.push_back(tensor.type);
  return types;
}

std::vector<Tensor> run_in_parts(const OpDef& op, const std::vector<Tensor>& operands, const std::vector<TensorType>& result_types,
                                 const FactorRule& rule, int factor, std::int64_t parts, const Attrs& attrs) {
  std::vector<std::shared_ptr<Buffer>> buffers;
  for (const TensorType& type : result_types) buffers.push_back(std::make_shared<Buffer>(std::size_t(type.bytes())));
  for (std::int64_t part = 0; part < parts; ++part) {
    std::vector<Tensor> local;
    std::vector<Box> operand_boxes, result_boxes;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      operand_boxes.push_back(box_of_part(operands[i].type.shape, rule.operands[i], factor, parts, part));
      local.push_back(part_of(operands[i], operand_boxes.back()));
    }
    for (std::size_t i = 0; i < result_types.size(); ++i)
      result_boxes.push_back(box_of_part(result_types[i].shape, rule.results[i], factor, parts, part));
    std::vector<Tensor> results = run_part(op, types_of(operands), local, operand_boxes, result_types, result_boxes, attrs);
    bool reduces = rule.factors[std::size_t(factor)].kind == FactorKind::kReduce;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (reduces && part > 0)
        ops::combine(*op.reduction, result_types[i].dtype, buffers[i]->data(), buffers[i]->data(), results[i].data->data(),
                     result_types[i].elements());
      else
        copy_box(results[i].data->data(), result_boxes[i], buffers[i]->data(), whole(result_types[i].shape), result_boxes[i],
                 size_of(result_types[i].dtype));
    }
  }
  std::vector<Tensor> assembled;
  for (std::size_t i = 0; i < result_types.size(); ++i) assembled.push_back({result_types[i], buffers[i]});
  return assembled;
}

class Sharded : public ::testing::TestWithParam<const OpDef*> {};

TEST_P(Sharded, PartsGiveTheWhole) {
  const OpDef& op = *GetParam();
  std::mt19937 random(7);
  int cuts = 0;
  for (const Sample& sample : op.samples()) {
    SCOPED_TRACE(describe(op, sample));
    std::vector<Tensor> operands;
    for (const TensorType& type : sample.operands) operands.push_back(random_tensor(type, random));
    std::vector<Tensor> wanted = run(op, operands, sample.attrs);
    std::vector<TensorType> result_types;
    for (const Tensor& tensor : wanted) result_types.push_back(tensor.type);
    FactorRule rule = op.rule(sample.operands, result_types, sample.attrs);
    if (op.constant) {  // any part of the result
      rule = FactorRule(sample.operands, result_types);
      rule.fill(sample.operands, result_types);
    }
    for (int factor = 0; factor < int(rule.factors.size()); ++factor) {
      const Factor& cut = rule.factors[std::size_t(factor)];
      bool passes = cut.kind == FactorKind::kPass || (cut.kind == FactorKind::kReduce && op.reduction.has_value());
      bool is_private_to_one_side =
          (op.pass_through && !is_on_operands(rule, factor)) || (cut.kind == FactorKind::kPass && !is_on_results(rule, factor));
      if (!passes || is_private_to_one_side || !gives_boxes(rule, factor)) continue;
      for (std::int64_t parts : {2, 3}) {
        if (cut.size % parts != 0 || cut.size == 0) continue;
        ++cuts;
        std::vector<Tensor> got = run_in_parts(op, operands, result_types, rule, factor, parts, sample.attrs);
        bool exact = cut.kind == FactorKind::kPass;
        for (std::size_t i = 0; i < got.size(); ++i)
          expect_near(got[i], wanted[i], exact ? 0 : 1e-5, rule.text() + " cut along factor " + std::to_string(factor));
      }
    }
  }
  EXPECT_GT(cuts, 0);
}

std::vector<const OpDef*> primitives() {
  std::vector<const OpDef*> result;
  for (const OpDef* op : all_ops())
    if (op->is_primitive()) result.push_back(op);
  return result;
}

INSTANTIATE_TEST_SUITE_P(EveryPrimitive, Sharded, ::testing::ValuesIn(primitives()),
                         [](const auto& each) { return std::string(each.param->name); });

}  // namespace
}  // namespace shardlab
