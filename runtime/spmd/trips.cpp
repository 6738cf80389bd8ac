#include "runtime/spmd/trips.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace shardlab::spmd {
namespace {

struct Number {
  alignas(16) std::array<std::byte, 16> bytes = {};
};
using Numbers = std::vector<std::optional<Number>>;

// Values of no rank that follow from constants and from what is known of the parameters.
class Evaluation {
 public:
  Evaluation(const Graph& graph, const Numbers& params) : graph_(graph) {
    for (std::size_t i = 0; i < params.size(); ++i) found_[graph.params[i]] = params[i];
  }

  std::optional<Number> operator()(ValueId id) {
    if (graph_.type(id).rank() != 0) return std::nullopt;
    if (auto known = found_.find(id); known != found_.end()) return known->second;
    const NodeId producer = graph_.values[std::size_t(id)].producer;
    const std::optional<Number> number = producer < 0 ? std::nullopt : computed(graph_.nodes[std::size_t(producer)]);
    found_[id] = number;
    return number;
  }

 private:
  std::optional<Number> computed(const Node& node) {
    const OpDef& op = *node.op;
    if (op.kernel == nullptr || op.region != RegionKind::kNone || op.member || node.results.size() != 1) return std::nullopt;
    static const Box kBox;
    static const Shape kShape;
    std::vector<Number> operands;
    for (ValueId id : node.operands) {
      const std::optional<Number> operand = (*this)(id);
      if (!operand) return std::nullopt;
      operands.push_back(*operand);
    }
    std::vector<ConstView> views;
    for (std::size_t i = 0; i < operands.size(); ++i)
      views.push_back({graph_.type(node.operands[i]), operands[i].bytes.data(), &kBox, &kShape});
    Number number;
    MutableView result{graph_.type(node.results[0]), number.bytes.data(), &kBox};
    op.kernel({views, {&result, 1}, node.attrs});
    return number;
  }

  const Graph& graph_;
  std::map<ValueId, std::optional<Number>> found_;
};

std::optional<std::int64_t> counted(const Graph& graph, const Node& loop) {
  const Graph &condition = *loop.attrs.bodies()[0], &body = *loop.attrs.bodies()[1];
  const std::size_t consts = std::size_t(loop.attrs.integer("num_consts", 0));
  Numbers params;
  Evaluation around(graph, Numbers(graph.params.size()));
  for (ValueId id : loop.operands) params.push_back(around(id));
  for (std::int64_t trips = 0; trips < kTripsMax; ++trips) {
    const std::optional<Number> goes_on = Evaluation(condition, params)(condition.results[0]);
    if (!goes_on) return std::nullopt;
    if (goes_on->bytes[0] == std::byte{0}) return trips;
    Evaluation next(body, params);
    Numbers changed = params;
    for (std::size_t i = 0; i < body.results.size(); ++i) changed[consts + i] = next(body.results[i]);
    params = std::move(changed);
  }
  return kTripsMax;
}

}  // namespace

std::optional<std::int64_t> known_trips(const Graph& graph, const Node& loop) {
  return loop.op->region == RegionKind::kScan ? loop.attrs.integer("length") : counted(graph, loop);
}

std::int64_t trips_of(const Graph& graph, const Node& node) {
  const bool is_loop = node.op->region == RegionKind::kScan || node.op->region == RegionKind::kWhile;
  return is_loop ? known_trips(graph, node).value_or(1) : 1;
}

}  // namespace shardlab::spmd
