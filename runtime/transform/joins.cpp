#include "runtime/transform/joins.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "runtime/ops/primitives.h"
#include "runtime/transform/inline.h"

namespace shardlab::transform {
namespace {

// The parts of a concatenation that a slice touches, and where the first of them begins.
struct Touched {
  std::size_t first = 0, last = 0;
  std::int64_t begin = 0;
  int dim = 0;
};

std::vector<int> uses_of(const Graph& graph) {
  std::vector<int> uses(graph.values.size(), 0);
  for (const Node& node : graph.nodes)
    for (ValueId id : node.operands) ++uses[std::size_t(id)];
  for (ValueId id : graph.results) ++uses[std::size_t(id)];
  return uses;
}

// XLA simplifies functions one by one, before it inlines calls: what follows sees joins of the node's own call alone.
const Node* joined_by(const Graph& graph, ValueId id) {
  const Value& value = graph.values[std::size_t(id)];
  if (value.producer < 0) return nullptr;
  const Node& node = graph.nodes[std::size_t(value.producer)];
  return node.op == &ops::kConcatenate ? &node : nullptr;
}

// Nothing where the slice touches all parts, or several of a concatenation that others use.
std::optional<Touched> touched_by(const Graph& graph, const Node& node, const std::vector<int>& uses) {
  if (node.op != &ops::kSlice) return std::nullopt;
  const Node* join = joined_by(graph, node.operands[0]);
  if (join == nullptr || join->call != node.call) return std::nullopt;
  Touched touched{.dim = int(join->attrs.integer("axis"))};
  std::int64_t start = node.attrs.integers("start")[std::size_t(touched.dim)],
               stop = node.attrs.integers("limit")[std::size_t(touched.dim)];
  if (start >= stop) return std::nullopt;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < join->operands.size(); ++i) {
    std::int64_t end = begin + graph.type(join->operands[i]).shape[std::size_t(touched.dim)];
    if (begin <= start && start < end) {
      touched.first = i;
      touched.begin = begin;
    }
    if (begin < stop && stop <= end) touched.last = i;
    begin = end;
  }
  bool is_all = touched.first == 0 && touched.last + 1 == join->operands.size();
  bool is_shared = uses[std::size_t(node.operands[0])] > 1;
  return is_all || (touched.first != touched.last && is_shared) ? std::nullopt : std::optional(touched);
}

ValueId sliced_parts(GraphBuilder& b, const Graph& graph, const Node& node, const Touched& touched, const Renaming& renamed) {
  const Node& join = *joined_by(graph, node.operands[0]);
  std::vector<ValueId> parts;
  for (std::size_t i = touched.first; i <= touched.last; ++i) parts.push_back(renamed[join.operands[i]]);
  ValueId source = parts.size() == 1 ? parts[0] : b.emit1(ops::kConcatenate, parts, join.attrs);
  if (b.type(source) == graph.type(node.results[0])) return source;
  Attrs attrs = node.attrs;
  for (std::string_view name : {"start", "limit"}) {
    std::vector<std::int64_t> ends = attrs.integers(name);
    ends[std::size_t(touched.dim)] -= touched.begin;
    attrs.set(name, ends);
  }
  return b.emit1(ops::kSlice, {source}, attrs);
}

// The join that makes an operand of another one, if it is for that one alone.
const Node* joined_within(const Graph& graph, const Node& node, ValueId id, const std::vector<int>& uses) {
  const Node* join = uses[std::size_t(id)] == 1 ? joined_by(graph, id) : nullptr;
  const bool is_alike = join != nullptr && join->call == node.call && join->attrs.integer("axis") == node.attrs.integer("axis");
  return is_alike ? join : nullptr;
}

std::vector<ValueId> parts_of(const Graph& graph, const Node& node, const std::vector<int>& uses) {
  std::vector<ValueId> parts;
  for (ValueId id : node.operands) {
    const Node* join = joined_within(graph, node, id, uses);
    const std::vector<ValueId> own = join == nullptr ? std::vector{id} : parts_of(graph, *join, uses);
    parts.insert(parts.end(), own.begin(), own.end());
  }
  return parts;
}

}  // namespace

Graph with_slices_of_parts(const Graph& graph) {
  const std::vector<int> uses = uses_of(graph);
  return with_replaced(
      graph, [&](const Node& node) { return touched_by(graph, node, uses).has_value(); },
      [&](GraphBuilder& b, const Node& node, const Renaming& renamed) {
        return sliced_parts(b, graph, node, *touched_by(graph, node, uses), renamed);
      });
}

Graph with_flat_joins(const Graph& graph) {
  const std::vector<int> uses = uses_of(graph);
  auto is_nested = [&](const Node& node) {
    return node.op == &ops::kConcatenate && std::any_of(node.operands.begin(), node.operands.end(),
                                                        [&](ValueId id) { return joined_within(graph, node, id, uses) != nullptr; });
  };
  return with_replaced(graph, is_nested, [&](GraphBuilder& b, const Node& node, const Renaming& renamed) {
    std::vector<ValueId> parts;
    for (ValueId id : parts_of(graph, node, uses)) parts.push_back(renamed[id]);
    return b.emit1(ops::kConcatenate, parts, node.attrs);
  });
}

}  // namespace shardlab::transform
