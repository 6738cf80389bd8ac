#include "runtime/spmd/share_code.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "runtime/graph/host_callback.h"
#include "runtime/spmd/code_part.h"
#include "runtime/spmd/prepare.h"
#include "runtime/spmd/work.h"

namespace shardlab::spmd {
namespace {

// A value of some code: what equal values of all code have alike.
using Number = int;

class Sharer {
 public:
  Sharer(const Propagation& from, const Mesh& mesh) : from_(from), same_(from.graph.values.size()), around_(from.graph.values.size(), -1) {
    std::iota(same_.begin(), same_.end(), 0);
    for (NodeId n = 0; n < NodeId(from.graph.nodes.size()); ++n)
      if (from.graph.nodes[std::size_t(n)].op->region == RegionKind::kManual) {
        Code code(from.graph, from.values, from.bodies, n, mesh);
        if (code.can_hand_over()) codes_.emplace_back(n, std::move(code));
      }
    for (Placed& placed : codes_)
      placed.first_alike =
          std::size_t(std::find_if(codes_.begin(), codes_.end(), [&](const Placed& each) { return are_alike(each.code, placed.code); }) -
                      codes_.begin());
  }

  std::optional<Propagation> run() {
    if (codes_.size() < 2) return std::nullopt;
    bool is_shared = false;
    for (ValueId id : from_.graph.params) around_[std::size_t(id)] = next_++;
    std::size_t code = 0;
    for (NodeId n = 0; n < NodeId(from_.graph.nodes.size()); ++n) {
      if (code < codes_.size() && codes_[code].node == n)
        is_shared = find_shared(code++) || is_shared;
      else
        number(from_.graph.nodes[std::size_t(n)]);
    }
    return is_shared ? std::optional(written()) : std::nullopt;
  }

 private:
  struct At {
    std::size_t code = 0;
    ValueId inside = -1;
  };
  struct Known {
    const Node* node;
    std::size_t code;
  };
  struct Placed {
    NodeId node;
    Code code;
    std::size_t first_alike = 0;       // its values are compared with those of codes that have the same one
    std::vector<Number> numbers = {};  // per value
    CodePart part = {};
    std::vector<At> from = {};  // per value taken, where it is made
    Placed(NodeId n, Code code_) : node(n), code(std::move(code_)) {}
  };

  // What a node around all code gives. Code gets its operands cut as it says, however they lie.
  void number(const Node& node) {
    std::vector<Number> operands;
    for (ValueId id : node.operands) operands.push_back(around_[std::size_t(id)]);
    if (node.op->is_constraint) {
      around_[std::size_t(node.results[0])] = operands[0];
      return;
    }
    auto [first, last] = made_around_.equal_range({node.op, operands});
    const auto equal = std::find_if(first, last, [&](const auto& each) { return each.second->attrs == node.attrs; });
    const bool is_known = equal != last && !has_effects(node);
    for (std::size_t r = 0; r < node.results.size(); ++r)
      around_[std::size_t(node.results[r])] = is_known ? around_[std::size_t(equal->second->results[r])] : next_++;
    if (!is_known) made_around_.emplace(std::pair(node.op, operands), &node);
  }

  // Codes whose values can be compared: of one mesh, per device along the same axes.
  static bool are_alike(const Code& a, const Code& b) {
    auto names = [](const Code& code) {
      return code.node().attrs.has("axis_names") ? code.node().attrs.strings("axis_names") : code.mesh().axis_names();
    };
    auto sorted = [](std::vector<std::string> all) {
      std::sort(all.begin(), all.end());
      return all;
    };
    return a.mesh() == b.mesh() && sorted(names(a)) == sorted(names(b));
  }

  // An earlier node that makes the same.
  const Known* known(std::size_t c, const Node& node, const std::vector<Number>& operands) const {
    const Code& code = codes_[c].code;
    auto [first, last] = made_.equal_range({node.op, operands});
    for (auto each = first; each != last; ++each) {
      const Known& other = each->second;
      const Code& others = codes_[other.code].code;
      if (other.code == c || !(other.node->attrs == node.attrs) || codes_[other.code].first_alike != codes_[c].first_alike) continue;
      bool is_equal = true;
      for (std::size_t r = 0; r < node.results.size(); ++r)
        is_equal = is_equal && code.graph().type(node.results[r]) == others.graph().type(other.node->results[r]) &&
                   code.sharding(node.results[r]) == others.sharding(other.node->results[r]);
      if (is_equal) return &other;
    }
    return nullptr;
  }

  // What earlier nodes make of a node's values.
  struct Shared {
    std::vector<At> made_at;   // per value
    std::vector<bool> given;   // per value: it costs more than to be handed over
    bool is_worth_it = false;  // some of it is exchanged or computed
  };

  // Numbers the values of one node's code.
  Shared compared(std::size_t c) {
    Placed& placed = codes_[c];
    const Code& code = placed.code;
    const Graph& graph = code.graph();
    placed.numbers.assign(graph.values.size(), -1);
    for (std::size_t i = 0; i < graph.params.size(); ++i) placed.numbers[std::size_t(graph.params[i])] = number_of_param(code, i);
    Shared shared{std::vector<At>(graph.values.size()), std::vector<bool>(graph.values.size(), false)};
    const std::vector<bool> constant = constant_expressions(graph);
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      const bool costs = !constant[n] && !is_scalar_broadcast(graph, node) && !code.is_of_place(node);
      std::vector<Number> operands;
      for (ValueId id : node.operands) operands.push_back(placed.numbers[std::size_t(id)]);
      const Known* other = has_effects(node) ? nullptr : known(c, node, operands);
      for (std::size_t r = 0; r < node.results.size(); ++r) {
        const auto id = std::size_t(node.results[r]);
        placed.numbers[id] = other != nullptr ? codes_[other->code].numbers[std::size_t(other->node->results[r])] : next_++;
        if (other == nullptr) continue;
        shared.made_at[id] = {other->code, other->node->results[r]};
        shared.given[id] = costs;
        shared.is_worth_it |=
            shared.given[id] && (communicates(node) || code.is_partial() || (!code.is_scalar_step(node) && !only_moves_data(graph, node)));
      }
      if (other == nullptr && !has_effects(node)) made_.emplace(std::pair(node.op, operands), Known{&node, c});
    }
    if (!shared.is_worth_it) std::fill(shared.given.begin(), shared.given.end(), false);
    return shared;
  }

  // What this one needs not do, because an earlier one does it.
  bool find_shared(std::size_t c) {
    const Shared shared = compared(c);
    Placed& placed = codes_[c];
    const Code& code = placed.code;
    const Graph& graph = code.graph();
    std::vector<bool> wanted = code.needed_by_effects();
    for (std::size_t r = 0; r < graph.results.size(); ++r) {
      const std::optional<ValueId> equal = shared.is_worth_it ? equal_result(c, r) : std::nullopt;
      const ValueId outside = code.node().results[r];
      if (equal) same_[std::size_t(outside)] = *equal;
      around_[std::size_t(outside)] = equal ? around_[std::size_t(*equal)] : next_++;
      placed.part.results.push_back(!equal);
      if (!equal) wanted[std::size_t(graph.results[r])] = true;
    }
    placed.part.needed = code.needed_for(wanted, shared.given);
    for (ValueId id = 0; id < ValueId(graph.values.size()); ++id) {
      if (!shared.given[std::size_t(id)] || !placed.part.needed[std::size_t(id)]) continue;
      placed.part.taken.push_back({id, -1});
      placed.from.push_back(shared.made_at[std::size_t(id)]);
      hand_over(placed.from.back());
    }
    return shared.is_worth_it;
  }

  // What comes by one parameter, cut in one way, is the same in all code.
  Number number_of_param(const Code& code, std::size_t i) {
    const Number around = around_[std::size_t(code.node().operands[i])];
    const Sharding& in = code.node().attrs.shardings("in_specs")[i];
    const ValueSharding& inside = code.sharding(code.graph().params[i]);
    auto found = std::find_if(params_.begin(), params_.end(),
                              [&](const Param& each) { return each.around == around && each.in == in && each.inside == inside; });
    if (found != params_.end()) return found->number;
    params_.push_back({around, in, inside, next_});
    return next_++;
  }

  // An earlier code's result that is the same around both.
  std::optional<ValueId> equal_result(std::size_t c, std::size_t r) const {
    const Code& code = codes_[c].code;
    const ValueId outside = code.node().results[r];
    for (std::size_t earlier = 0; earlier < c; ++earlier) {
      const Code& others = codes_[earlier].code;
      if (codes_[earlier].first_alike != codes_[c].first_alike) continue;
      for (std::size_t i = 0; i < others.graph().results.size(); ++i)
        if (codes_[earlier].numbers[std::size_t(others.graph().results[i])] == codes_[c].numbers[std::size_t(code.graph().results[r])] &&
            others.node().attrs.shardings("out_specs")[i] == code.node().attrs.shardings("out_specs")[r] &&
            from_.values[std::size_t(others.node().results[i])] == from_.values[std::size_t(outside)])
          return same_[std::size_t(others.node().results[i])];
    }
    return std::nullopt;
  }

  void hand_over(const At& at) {
    CodePart& part = codes_[at.code].part;
    if (std::find(part.handed.begin(), part.handed.end(), at.inside) != part.handed.end()) return;
    part.handed.push_back(at.inside);
    std::vector<bool> given(part.needed.size(), false);
    for (const CodePart::Taken& taken : part.taken) given[std::size_t(taken.inside)] = true;
    std::vector<bool> wanted = part.needed;
    wanted[std::size_t(at.inside)] = true;
    part.needed = codes_[at.code].code.needed_for(std::move(wanted), given);
  }

  Propagation written() {
    PropagationCopy copy(from_.graph, from_.values, from_.origins);
    BodyPropagations bodies;
    for (ValueId id : from_.graph.params) copy.copy_param(id);
    auto placed = codes_.begin();
    std::vector<std::vector<ValueId>> names(codes_.size());  // of what each hands over
    for (NodeId n = 0; n < NodeId(from_.graph.nodes.size()); ++n) {
      if (placed != codes_.end() && placed->node == n) {
        CodePart& part = placed->part;
        for (std::size_t i = 0; i < part.taken.size(); ++i) {
          const At& at = placed->from[i];
          const std::vector<ValueId>& handed = codes_[at.code].part.handed;
          part.taken[i].around = names[at.code][std::size_t(std::find(handed.begin(), handed.end(), at.inside) - handed.begin())];
        }
        names[std::size_t(placed - codes_.begin())] = placed->code.add(copy, bodies, part);
        for (ValueId id : placed->code.node().results)
          if (same_[std::size_t(id)] != id) copy.now(id) = copy.now(same_[std::size_t(id)]);
        ++placed;
        continue;
      }
      copy.copy_node(n, from_.graph.nodes[std::size_t(n)]);
      if (auto inner = from_.bodies.find(n); inner != from_.bodies.end()) bodies[copy.node_now(n)] = inner->second;
    }
    return copy.as_program(from_, std::move(bodies));
  }

  struct Param {
    Number around;
    Sharding in;
    ValueSharding inside;
    Number number;
  };

  const Propagation& from_;
  std::vector<Placed> codes_;
  std::vector<ValueId> same_;   // per value around all code the one that stands for it
  std::vector<Number> around_;  // per value around all code
  std::vector<Param> params_;
  template <typename What>
  using Made = std::multimap<std::pair<const OpDef*, std::vector<Number>>, What>;  // by the op and its operands
  Made<Known> made_;
  Made<const Node*> made_around_;
  Number next_ = 0;
};

}  // namespace

std::optional<Propagation> with_code_shared(const Propagation& propagation, const Mesh& mesh) { return Sharer(propagation, mesh).run(); }

}  // namespace shardlab::spmd
