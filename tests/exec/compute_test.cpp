// One step in rows beside each other gives the bits that it gives as a whole: every primitive that has rows, on its samples.
#include "runtime/exec/compute.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/ops/evaluate.h"

namespace shardlab {
namespace {

using namespace testing_ops;

std::vector<BufferRef> computed(const Graph& graph, const Node& node, const std::vector<Tensor>& operands, ThreadPool& pool) {
  static const std::vector<int> here = {0};
  std::vector<std::vector<BufferRef>> operand_buffers, result_buffers(node.results.size(), std::vector<BufferRef>(1));
  std::vector<std::vector<Box>> operand_boxes, result_boxes;
  for (const Tensor& operand : operands) {
    operand_buffers.push_back({operand.data});
    operand_boxes.push_back({whole(operand.type.shape)});
  }
  for (ValueId id : node.results) result_boxes.push_back({whole(graph.type(id).shape)});
  ComputeCall call{0, node, graph, here, {}, {}, {}, {}};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    call.operands.push_back(&operand_buffers[i]);
    call.operand_boxes.push_back(&operand_boxes[i]);
  }
  for (std::size_t i = 0; i < node.results.size(); ++i) {
    call.results.push_back(&result_buffers[i]);
    call.result_boxes.push_back(&result_boxes[i]);
  }
  compute(call, pool, 1);
  std::vector<BufferRef> results;
  for (const auto& buffers : result_buffers) results.push_back(buffers[0]);
  return results;
}

TEST(Compute, RowsGiveTheWhole) {
  ThreadPool alone(1), three(3);
  std::mt19937 random(11);
  int compared = 0;
  for (const OpDef* op : all_ops()) {
    if (!op->is_primitive() || op->kernel == nullptr || op->member || op->region != RegionKind::kNone) continue;
    for (const Sample& sample : op->samples()) {
      SCOPED_TRACE(describe(*op, sample));
      GraphBuilder builder;
      std::vector<ValueId> params;
      std::vector<Tensor> operands;
      for (const TensorType& type : sample.operands) {
        params.push_back(builder.param(type));
        operands.push_back(random_tensor(type, random));
      }
      builder.set_results(builder.emit(*op, params, sample.attrs));
      const Graph graph = builder.finish();
      const Node& node = graph.nodes.back();
      const auto wanted = computed(graph, node, operands, alone), got = computed(graph, node, operands, three);
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_EQ(wanted[i]->size(), got[i]->size());
        EXPECT_EQ(std::memcmp(wanted[i]->data(), got[i]->data(), wanted[i]->size()), 0) << "result " << i;
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 500);
}

}  // namespace
}  // namespace shardlab
