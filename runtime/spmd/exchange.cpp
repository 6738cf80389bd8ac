#include "runtime/spmd/exchange.h"

#include <algorithm>
#include <map>

#include "runtime/spmd/layout.h"

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

// Who holds which block under a spec.
class Holders {
 public:
  Holders(const Mesh& mesh, const Shape& shape, const Spec& spec) : shape_(shape), boxes_(boxes_of(shape, spec, mesh)) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      parts_.push_back(shardlab::part_count(spec[d]));
      blocks_.push_back(shape[d] / parts_.back());
    }
    positions_.resize(std::size_t(element_count(parts_)));
    for (int p = 0; p < mesh.size(); ++p) positions_[block_of(boxes_[std::size_t(p)])].push_back(p);
  }

  const Box& box(int position) const { return boxes_[std::size_t(position)]; }

  // Calls visit(part of `box`, positions that hold it) for each block that `box` meets.
  template <typename Visitor>
  void for_each_part(const Box& box, Visitor&& visit) const {
    Shape first, index, last;
    for (std::size_t d = 0; d < box.size(); ++d) {
      first.push_back(box[d].start / blocks_[d]);
      last.push_back((box[d].stop - 1) / blocks_[d]);
    }
    index = first;
    while (true) {
      Box block(box.size());
      for (std::size_t d = 0; d < box.size(); ++d) block[d] = {index[d] * blocks_[d], (index[d] + 1) * blocks_[d]};
      visit(intersect(block, box), positions_[block_of(block)]);
      std::size_t d = box.size();
      while (d > 0 && index[d - 1] == last[d - 1]) {
        index[d - 1] = first[d - 1];
        --d;
      }
      if (d == 0) return;
      ++index[d - 1];
    }
  }

 private:
  std::size_t block_of(const Box& box) const {
    std::int64_t block = 0;
    for (std::size_t d = 0; d < box.size(); ++d) block = block * parts_[d] + box[d].start / blocks_[d];
    return std::size_t(block);
  }

  Shape shape_, parts_, blocks_;
  std::vector<Box> boxes_;
  std::vector<std::vector<int>> positions_;  // per block
};

}  // namespace

std::int64_t exchange_parts(const Mesh& mesh, const Shape& shape, const Spec& from, const Spec& to) {
  std::int64_t parts = mesh.size();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    std::int64_t from_block = std::max<std::int64_t>(1, shape[d] / shardlab::part_count(from[d]));
    std::int64_t to_block = shape[d] / shardlab::part_count(to[d]);
    parts *= (to_block + from_block - 1) / from_block + (to_block % from_block != 0 ? 1 : 0);
  }
  return parts;
}

Exchange plan_exchange(const Mesh& mesh, const Shape& shape, const Spec& from, const Spec& to) {
  Exchange exchange;
  if (element_count(shape) == 0) return exchange;
  Holders holders(mesh, shape, from);
  // A source holds one block, so that the loads of different blocks do not meet and the least loaded holder is the best.
  std::map<Shape, std::vector<int>> loads;  // per shape of part, per position
  for (int target = 0; target < mesh.size(); ++target) {
    holders.for_each_part(box_of(shape, to, mesh, target), [&](const Box& part, const std::vector<int>& sources) {
      if (std::find(sources.begin(), sources.end(), target) != sources.end()) {
        exchange.transfers.push_back({target, target, part, 0});
        return;
      }
      auto& load = loads[shape_of(part)];
      load.resize(std::size_t(mesh.size()), 0);
      auto distance = [&](int source) { return (source - target + mesh.size()) % mesh.size(); };
      int source = *std::min_element(sources.begin(), sources.end(), [&](int a, int b) {
        return std::pair(load[std::size_t(a)], distance(a)) < std::pair(load[std::size_t(b)], distance(b));
      });
      ++load[std::size_t(source)];
      exchange.transfers.push_back({source, target, part, 0});
    });
  }
  std::map<Shape, std::vector<Transfer*>> by_shape;
  for (Transfer& transfer : exchange.transfers)
    if (transfer.source != transfer.target) by_shape[shape_of(transfer.box)].push_back(&transfer);
  for (auto& [part_shape, edges] : by_shape) exchange.calls += EdgeColouring(mesh.size(), std::move(edges)).run(exchange.calls);
  return exchange;
}

}  // namespace shardlab::spmd
