#include "runtime/spmd/exchange.h"

#include <algorithm>
#include <map>

namespace shardlab::spmd {
namespace {

// Gives the edges of one bipartite multigraph colours, so that no two edges at a node are alike; as many as the largest degree.
class EdgeColouring {
 public:
  EdgeColouring(int positions, std::vector<Transfer*> edges) : edges_(std::move(edges)) {
    std::vector<int> out(std::size_t(positions), 0), in(std::size_t(positions), 0);
    for (const Transfer* edge : edges_) colours_ = std::max({colours_, ++out[std::size_t(edge->source)], ++in[std::size_t(edge->target)]});
    at_source_.assign(std::size_t(positions) * std::size_t(colours_), -1);
    at_target_ = at_source_;
  }

  // Writes the colours, counted from `first`, into the transfers' `call`.
  int run(int first) {
    for (int edge = 0; edge < int(edges_.size()); ++edge) {
      int source = edges_[std::size_t(edge)]->source, target = edges_[std::size_t(edge)]->target;
      int free_at_source = free_colour(at_source_, source), free_at_target = free_colour(at_target_, target);
      if (free_at_source != free_at_target) flip(target, free_at_source, free_at_target);
      set(edge, free_at_source);
    }
    for (int position = 0; position < int(at_source_.size()); ++position)
      if (at_source_[std::size_t(position)] >= 0)
        edges_[std::size_t(at_source_[std::size_t(position)])]->call = first + position % colours_;
    return colours_;
  }

 private:
  int& at(std::vector<int>& table, int position, int colour) {
    return table[std::size_t(position) * std::size_t(colours_) + std::size_t(colour)];
  }

  int free_colour(std::vector<int>& table, int position) {
    int colour = 0;
    while (at(table, position, colour) >= 0) ++colour;
    return colour;
  }

  void set(int edge, int colour) {
    at(at_source_, edges_[std::size_t(edge)]->source, colour) = edge;
    at(at_target_, edges_[std::size_t(edge)]->target, colour) = edge;
  }

  // Exchanges two colours along the path that starts at `target` with `wanted`, so that `wanted` becomes free there. The path never
  // ends at the new edge's source, where `wanted` is free already.
  void flip(int target, int wanted, int other) {
    std::vector<int> path;
    int colour = wanted, node = target;
    bool at_a_target = true;
    for (int edge; (edge = at(at_a_target ? at_target_ : at_source_, node, colour)) >= 0;) {
      path.push_back(edge);
      node = at_a_target ? edges_[std::size_t(edge)]->source : edges_[std::size_t(edge)]->target;
      at_a_target = !at_a_target;
      colour = colour == wanted ? other : wanted;
    }
    colour = wanted;
    for (int edge : path) {
      at(at_source_, edges_[std::size_t(edge)]->source, colour) = -1;
      at(at_target_, edges_[std::size_t(edge)]->target, colour) = -1;
      colour = colour == wanted ? other : wanted;
    }
    colour = other;
    for (int edge : path) {
      set(edge, colour);
      colour = colour == wanted ? other : wanted;
    }
  }

  std::vector<Transfer*> edges_;
  int colours_ = 0;
  std::vector<int> at_source_, at_target_;  // position × colour → edge or -1
};

// The distinct blocks of a layout, and who holds each.
class Holders {
 public:
  explicit Holders(const std::vector<Box>& held) {
    std::map<std::vector<std::int64_t>, std::size_t> known;
    for (int p = 0; p < int(held.size()); ++p) {
      const Box& box = held[std::size_t(p)];
      if (element_count(box) == 0) continue;
      std::vector<std::int64_t> start;
      for (const Interval& interval : box) start.push_back(interval.start);
      auto [found, is_new] = known.try_emplace(std::move(start), blocks_.size());
      if (is_new) blocks_.push_back({box, {}});
      blocks_[found->second].positions.push_back(p);
    }
  }

  // Calls visit(part of `box`, positions that hold it) for each block that `box` meets.
  template <typename Visitor>
  void for_each_part(const Box& box, Visitor&& visit) const {
    for (const Block& block : blocks_) {
      bool meets = true;
      for (std::size_t d = 0; d < box.size() && meets; ++d)
        meets = std::max(block.box[d].start, box[d].start) < std::min(block.box[d].stop, box[d].stop);
      if (meets) visit(intersect(block.box, box), block.positions);
    }
  }

 private:
  struct Block {
    Box box;
    std::vector<int> positions;
  };
  std::vector<Block> blocks_;
};

}  // namespace

std::optional<Exchange> plan_exchange(const std::vector<Box>& held, const std::vector<Box>& wanted) {
  Exchange exchange;
  Holders holders(held);
  int positions = int(wanted.size());
  // A source holds one block, so that the loads of different blocks do not meet and the least loaded holder is the best.
  std::map<Shape, std::vector<int>> loads;  // per shape of part, per position
  for (int target = 0; target < positions; ++target) {
    if (element_count(wanted[std::size_t(target)]) == 0) continue;
    holders.for_each_part(wanted[std::size_t(target)], [&](const Box& part, const std::vector<int>& sources) {
      if (std::find(sources.begin(), sources.end(), target) != sources.end()) {
        exchange.transfers.push_back({target, target, part, 0});
        return;
      }
      auto& load = loads[shape_of(part)];
      load.resize(std::size_t(positions), 0);
      auto distance = [&](int source) { return (source - target + positions) % positions; };
      int source = *std::min_element(sources.begin(), sources.end(), [&](int a, int b) {
        return std::pair(load[std::size_t(a)], distance(a)) < std::pair(load[std::size_t(b)], distance(b));
      });
      ++load[std::size_t(source)];
      exchange.transfers.push_back({source, target, part, 0});
    });
    if (exchange.transfers.size() > kExchangePartsMax) return std::nullopt;
  }
  std::map<Shape, std::vector<Transfer*>> by_shape;
  for (Transfer& transfer : exchange.transfers)
    if (transfer.source != transfer.target) by_shape[shape_of(transfer.box)].push_back(&transfer);
  for (auto& [part_shape, edges] : by_shape) exchange.calls += EdgeColouring(positions, std::move(edges)).run(exchange.calls);
  return exchange;
}

}  // namespace shardlab::spmd
