#include "runtime/spmd/search_order.h"

#include <numeric>

namespace shardlab::spmd {

std::vector<NodeId> program_order(const Graph& graph) {
  std::vector<NodeId> order(graph.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<NodeId> late_order(const Graph& graph) {
  std::vector<NodeId> order, pending;
  std::vector<int> visited(graph.nodes.size(), 0);  // 1: its operands are pending, 2: in the order
  auto add = [&](ValueId value) {
    if (NodeId producer = graph.values[std::size_t(value)].producer; producer >= 0) pending.push_back(producer);
  };
  auto run = [&] {
    while (!pending.empty()) {
      NodeId n = pending.back();
      int& state = visited[std::size_t(n)];
      if (state == 0) {
        state = 1;
        const std::vector<ValueId>& operands = graph.nodes[std::size_t(n)].operands;
        for (auto operand = operands.rbegin(); operand != operands.rend(); ++operand) add(*operand);
        continue;
      }
      pending.pop_back();
      if (state == 1) order.push_back(n);
      state = 2;
    }
  };
  for (ValueId result : graph.results) {
    add(result);
    run();
  }
  for (NodeId n = 0; n < NodeId(graph.nodes.size()); ++n) {
    pending.push_back(n);
    run();
  }
  return order;
}

}  // namespace shardlab::spmd
