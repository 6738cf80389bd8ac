#include "runtime/exec/member_moves.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "runtime/comm/collectives.h"

namespace shardlab {
namespace {

using Groups = std::vector<std::vector<int>>;
using spmd::Transfer;

Axes pieces_of(const Node& node, const Mesh& mesh) {
  Axes pieces;
  for (const std::string& name : node.attrs.strings("axis_name")) {
    auto axis = mesh.axis_index(name);
    SL_CHECK(axis.has_value(), "{} names axis '{}', which {} lacks", node.op->name, name, mesh.text());
    pieces.push_back(mesh.whole_axis(*axis));
  }
  return pieces;
}

Box numbered(int number, const Shape& shape) {
  Box box = whole(shape);
  box.insert(box.begin(), Interval{number, number + 1});
  return box;
}

// Grows plans group by group.
class Planner {
 public:
  Planner(const Graph& graph, const Node& node, const Mesh& mesh, const MemberParts& parts, const Ownership& ownership, Groups groups)
      : node_(node),
        mesh_(mesh),
        parts_(parts),
        ownership_(ownership),
        operand_(graph.type(node.operands[0])),
        result_(graph.type(node.results[0])),
        groups_(std::move(groups)),
        from_{mesh.devices(), std::vector<Box>(std::size_t(mesh.size()))},
        to_(from_) {}

  MemberMove run() {
    std::string_view kind = node_.op->collective;
    if (groups_[0].size() == 1) return alone();
    if (node_.op->reduction) return reduction(kind == "reduce-scatter");
    if (kind == "all-gather") gather();
    if (kind == "all-to-all") to_all();
    if (kind == "collective-permute") permute();
    if (kind == "collective-broadcast") broadcast();
    MemberMove move;
    move.plan = MovePlan(from_, to_, transfers_, operand_.dtype, ownership_);
    move.paddings = std::move(paddings_);
    move.info = describe();
    return move;
  }

 private:
  std::int64_t size() const { return std::int64_t(groups_[0].size()); }
  bool is_local(int position) const { return ownership_.process_of(mesh_.devices()[std::size_t(position)]) == ownership_.self; }
  Box& from(int position) { return from_.boxes[std::size_t(position)]; }
  Box& to(int position) { return to_.boxes[std::size_t(position)]; }

  // Groups of one: a permute may still leave its device without a source.
  MemberMove alone() {
    MemberMove move;
    if (node_.op->collective != "collective-permute" || !node_.attrs.integers("perm").empty()) return move;
    for (int p = 0; p < mesh_.size(); ++p) {
      to(p) = numbered(p, sizes(parts_.result[std::size_t(p)]));
      pad(p, {});
    }
    move.paddings = std::move(paddings_);
    return move;
  }

  // The sizes of what a position holds; those of a group's members are equal.
  static Shape sizes(const Box& box) {
    Shape shape;
    for (const Interval& interval : box) shape.push_back(interval.size());
    return shape;
  }
  Shape held(int position) const { return sizes(parts_.operand[std::size_t(position)]); }
  std::int64_t result_bytes(int position) const { return element_count(parts_.result[std::size_t(position)]) * size_of(result_.dtype); }

  template <typename F>
  void each_member(F&& f) {
    for (std::size_t g = 0; g < groups_.size(); ++g)
      for (std::size_t r = 0; r < groups_[g].size(); ++r) f(int(g), std::int64_t(r), groups_[g][r]);
  }

  MemberMove reduction(bool scatters) {
    std::size_t axis = scatters ? std::size_t(node_.attrs.integer("scatter_dimension")) : 0;
    each_member([&](int group, std::int64_t rank, int position) {
      from(position) = to(position) = numbered(group, held(position));
      if (!scatters) return;
      std::int64_t part = operand_.shape[axis] / size();
      to(position)[axis + 1] = {rank * part, (rank + 1) * part};
    });
    MemberMove move;
    move.plan = ReducePlan(from_, to_, groups_, *node_.op->reduction, operand_.dtype, ownership_);
    move.info = describe();
    return move;
  }

  void gather() {
    std::size_t axis = std::size_t(node_.attrs.integer("axis"));
    each_member([&](int group, std::int64_t rank, int position) {
      Shape shape = held(position);
      if (!node_.attrs.flag("tiled")) shape.insert(shape.begin() + std::ptrdiff_t(axis), 1);
      std::int64_t part = shape[axis];
      from(position) = to(position) = numbered(group, shape);
      from(position)[axis + 1] = {rank * part, (rank + 1) * part};
      to(position)[axis + 1] = {0, size() * part};
    });
    for (const auto& group : groups_)
      for (int target : group)
        for (int source : group) transfers_.push_back({source, target, from(source), 0});
  }

  // With the source's rank as a dimension before the one that grows.
  void to_all() {
    std::size_t split = std::size_t(node_.attrs.integer("split_axis")), concat = std::size_t(node_.attrs.integer("concat_axis"));
    std::int64_t extent = operand_.shape[split];
    std::vector<std::int64_t> sizes = node_.attrs.has("split_sizes") ? node_.attrs.integers("split_sizes")
                                                                     : std::vector<std::int64_t>(std::size_t(size()), extent / size());
    std::vector<std::int64_t> starts(sizes.size(), 0);
    std::partial_sum(sizes.begin(), sizes.end() - 1, starts.begin() + 1);
    std::int64_t widest = *std::max_element(sizes.begin(), sizes.end());
    std::size_t ranks = concat + 1, cut = split + 1 + (split >= concat ? 1 : 0);
    each_member([&](int group, std::int64_t rank, int position) {
      Box box = numbered(group, held(position));
      box.insert(box.begin() + std::ptrdiff_t(ranks), Interval{rank, rank + 1});
      from(position) = box;
      box[ranks] = {0, size()};
      box[cut] = {starts[std::size_t(rank)], starts[std::size_t(rank)] + widest};
      to(position) = box;
    });
    for (const auto& group : groups_)
      for (std::size_t r = 0; r < group.size(); ++r) {
        Interval part{starts[r], starts[r] + sizes[r]};
        for (int source : group) {
          Box box = from(source);
          box[cut] = part;
          if (part.size() > 0) transfers_.push_back({source, group[r], box, 0});
        }
        if (sizes[r] == widest) continue;
        Box received = to(group[r]);
        received[cut] = part;
        pad(group[r], received);
      }
  }

  void permute() {
    const auto& perm = node_.attrs.integers("perm");
    for (const auto& group : groups_) {
      for (int position : group) from(position) = to(position) = numbered(position, held(position));
      std::vector<bool> fed(group.size(), false);
      for (std::size_t i = 0; i < perm.size(); i += 2) {
        int source = group[std::size_t(perm[i])], target = group[std::size_t(perm[i + 1])];
        fed[std::size_t(perm[i + 1])] = true;
        to(target) = numbered(source, held(source));
        transfers_.push_back({source, target, to(target), 0});
      }
      for (std::size_t r = 0; r < group.size(); ++r)
        if (!fed[r]) pad(group[r], {});
    }
  }

  void broadcast() {
    std::size_t source_rank = std::size_t(node_.attrs.integer("source"));
    for (const auto& group : groups_) {
      int source = group[source_rank];
      for (int position : group) {
        from(position) = numbered(position, held(position));
        to(position) = numbered(source, held(source));
        transfers_.push_back({source, position, to(position), 0});
      }
    }
  }

  void pad(int position, Box received) {
    if (!is_local(position)) return;
    paddings_.push_back({position, to(position), std::move(received), result_bytes(position), size_of(result_.dtype)});
  }

  comm::CollectiveInfo describe() const {
    auto ordinal = [&](int position) { return mesh_.devices()[std::size_t(position)]; };
    comm::CollectiveInfo info;
    info.kind = node_.op->collective;
    info.axes = node_.attrs.strings("axis_name");
    info.dtype = name_of(result_.dtype);
    info.shape = sizes(parts_.result[0]);
    if (node_.op->reduction) info.reduction = name_of(*node_.op->reduction);
    info.bytes = result_bytes(0);
    info.op = node_.user_op;
    info.cause = fmt::format("{} over {} in per-device code", node_.op->name, fmt::join(info.axes, ", "));
    info.sharding_before = "per device " + operand_.text();
    info.sharding_after = "per device " + result_.text();
    info.where = node_.where;
    const comm::CollectiveDef* def = comm::find_collective(info.kind);
    SL_CHECK(def != nullptr, "no collective is called {}", info.kind);
    if (def->by_pairs) {
      for (const Transfer& transfer : transfers_)
        if (transfer.source != transfer.target) info.pairs.emplace_back(ordinal(transfer.source), ordinal(transfer.target));
      info.wire_bytes = def->wire_bytes(std::int64_t(info.pairs.size()), info.bytes);
      return info;
    }
    for (const auto& group : groups_) {
      info.groups.emplace_back();
      for (int position : group) info.groups.back().push_back(ordinal(position));
      info.wire_bytes += def->wire_bytes(std::int64_t(group.size()), info.bytes);
    }
    return info;
  }

  const Node& node_;
  const Mesh& mesh_;
  const MemberParts& parts_;
  const Ownership& ownership_;
  TensorType operand_, result_;
  Groups groups_;
  Layout from_, to_;
  std::vector<Transfer> transfers_;
  std::vector<ZeroFill> paddings_;
};

}  // namespace

std::vector<std::vector<int>> member_groups(const Node& node, const Mesh& mesh) {
  Groups all = groups_along(mesh, pieces_of(node, mesh));
  if (!node.attrs.has("axis_index_groups")) return all;
  const auto& lists = node.attrs.integers("axis_index_groups");
  Groups groups;
  for (const auto& group : all)
    for (std::size_t i = 0; i < lists.size(); i += std::size_t(lists[i]) + 1) {
      groups.emplace_back();
      for (std::int64_t k = 1; k <= lists[i]; ++k) groups.back().push_back(group[std::size_t(lists[i + std::size_t(k)])]);
    }
  return groups;
}

std::vector<std::int32_t> member_ranks(const Node& node, const Mesh& mesh) {
  std::vector<std::int32_t> ranks(std::size_t(mesh.size()), 0);
  for (int position = 0; position < mesh.size(); ++position)
    for (const AxisPiece& piece : pieces_of(node, mesh))
      ranks[std::size_t(position)] = std::int32_t(ranks[std::size_t(position)] * piece.size + mesh.coordinate(position, piece.axis));
  return ranks;
}

MemberMove plan_member_move(const Graph& graph, const Node& node, const Mesh& mesh, const MemberParts& parts, const Ownership& ownership,
                            std::vector<std::vector<int>> groups) {
  SL_CHECK(node.operands.size() == 1 && node.results.size() == 1, "{} moves one value at a time", node.op->name);
  return Planner(graph, node, mesh, parts, ownership, std::move(groups)).run();
}

}  // namespace shardlab
