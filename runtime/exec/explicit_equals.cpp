#include "runtime/exec/explicit_equals.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/exec/explicit_types.h"
#include "runtime/ops/calls.h"
#include "runtime/ops/primitives.h"

namespace shardlab {
namespace {

class Equals {
 public:
  Equals(const TypedValues& values, const Node& node, const std::vector<Spec>& operands)
      : values_(values), node_(node), operands_(operands) {}

  std::optional<Spec> joined(bool is_asked) const {
    const std::optional<std::size_t> common = common_from(0, "All operands should have the same sharding. Got shardings {}", is_asked);
    if (!common) return std::nullopt;
    const Spec& found = operands_[*common];
    const std::string why = uneven_text(found, values_.graph.type(node_.results[0]).shape, values_.mesh);
    if (why.empty()) return found;
    if (!is_asked) fail(why);
    return std::nullopt;
  }

  // What the user selects. Where other functions do inside, and in derivatives, whatever is cut decides.
  void check_selected(bool is_asked) const {
    if (is_asked || is_broadcast() || !is_users()) return;
    const std::optional<std::size_t> common = common_from(1, "select cases must have the same shardings, got [{}].", is_asked);
    const bool has_which = !operands_[0].empty() && !is_open(0);
    if (common && has_which && !are_alike(0, *common))
      fail(fmt::format("select `which` must be scalar or have the same sharding as cases, got `which` sharding {} but case sharding {}.",
                       abstract_sharding_text(operands_[0], values_.mesh), abstract_sharding_text(operands_[*common], values_.mesh)));
  }

 private:
  // It has any type.
  bool is_open(std::size_t i) const {
    const ValueId value = node_.operands[i];
    if (!values_.on_mesh[std::size_t(value)]) return true;
    const Node* made = producer_of(values_.graph, value);
    return values_.is_constant[std::size_t(value)] && made != nullptr && made->user_op == node_.user_op;
  }

  // The same type, where what is repeated is cut along the batch as the other is.
  bool are_alike(std::size_t i, std::size_t j) const {
    Spec a = operands_[i], b = operands_[j];
    if (const std::int64_t dim = repeated_dim(values_.graph, node_.operands[i]); dim >= 0 && a[std::size_t(dim)].empty())
      a[std::size_t(dim)] = b[std::size_t(dim)];
    if (const std::int64_t dim = repeated_dim(values_.graph, node_.operands[j]); dim >= 0 && b[std::size_t(dim)].empty())
      b[std::size_t(dim)] = a[std::size_t(dim)];
    return a == b;
  }

  // One of the operands, of which none differs; nothing where all of them are open.
  std::optional<std::size_t> common_from(std::size_t first, const char* text, bool is_asked) const {
    std::optional<std::size_t> common;
    bool differ = false;
    for (std::size_t i = first; i < operands_.size(); ++i) {
      if (is_open(i)) continue;
      differ |= common && !are_alike(*common, i);
      // What vmap repeats says less than another one.
      if (!common || repeated_dim(values_.graph, node_.operands[*common]) >= 0) common = i;
    }
    if (!differ) return common;
    if (is_asked) return std::nullopt;
    std::vector<std::string> shardings;
    for (std::size_t i = first; i < operands_.size(); ++i) shardings.push_back(abstract_sharding_text(operands_[i], values_.mesh));
    fail(fmt::format(fmt::runtime(text), fmt::format("{}", fmt::join(shardings, ", "))));
  }

  bool is_users() const {
    static constexpr std::string_view kSelections[] = {"select", "select_n", "where", "choose", "piecewise"};
    return std::find(std::begin(kSelections), std::end(kSelections), node_.user_op) != std::end(kSelections);
  }

  // Operands of several shapes are cut as all of them together, the larger ones too.
  bool is_broadcast() const {
    return std::any_of(node_.operands.begin(), node_.operands.end(), [&](ValueId value) {
      const Node* made = producer_of(values_.graph, value);
      return made != nullptr && (ops::is_implicit_broadcast(*made) || is_broadcast_for(*made, node_));
    });
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw_user_error("{}; reshard some of the operands [{} at {}]", why, node_.user_op, node_.where.text());
  }

  const TypedValues& values_;
  const Node& node_;
  const std::vector<Spec>& operands_;
};

}  // namespace

const Node* producer_of(const Graph& graph, ValueId value) {
  const NodeId producer = graph.values[std::size_t(value)].producer;
  return producer < 0 ? nullptr : &graph.nodes[std::size_t(producer)];
}

std::int64_t repeated_dim(const Graph& graph, ValueId value) {
  const Node* made = producer_of(graph, value);
  return made == nullptr ? -1 : made->attrs.integer(ops::kRepeatedDim, -1);
}

bool is_broadcast_for(const Node& made, const Node& selection) {
  return made.op == &ops::kBroadcastInDim && !made.attrs.has(ops::kRepeatedDim) && made.user_op == selection.user_op;
}

std::optional<Spec> type_of_equals(const TypedValues& values, const Node& node, const std::vector<Spec>& operands, bool is_asked) {
  const Equals equals(values, node, operands);
  if (node.op == &ops::kConcatenate) return equals.joined(is_asked);
  if (node.op == &ops::kSelect) equals.check_selected(is_asked);
  return std::nullopt;
}

}  // namespace shardlab
