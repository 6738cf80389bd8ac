#include "runtime/spmd/ways.h"

#include <algorithm>
#include <limits>

#include "runtime/spmd/index_map.h"
#include "runtime/spmd/layout.h"
#include "runtime/spmd/product.h"
#include "runtime/spmd/work.h"

namespace shardlab::spmd {
namespace {

Candidate whole_candidate(const Problem& problem, const Node& node) {
  Candidate candidate;
  for (ValueId id : node.operands) candidate.operands.emplace_back(problem.type(id).shape.size());
  for (ValueId id : node.results) candidate.results.emplace_back(problem.type(id).shape.size());
  return candidate;
}

// Whether every factor is a dimension of operand 0.
bool iterates_over_operand(const FactorRule& rule) {
  std::vector<bool> is_there(rule.factors.size(), false);
  for (const std::vector<int>& factors : rule.operands[0])
    for (int factor : factors) is_there[std::size_t(factor)] = true;
  return std::all_of(is_there.begin(), is_there.end(), [](bool there) { return there; });
}

// A linear op of one operand along dimensions that it needs whole and gives whole: a Fourier transform.
bool transforms_whole_dimensions(const Node& node, const FactorRule& rule) {
  auto has_whole = [&](const FactorRule::TensorMap& map) {
    return std::any_of(map.begin(), map.end(), [&](const std::vector<int>& factors) {
      return !factors.empty() && rule.factors[std::size_t(factors[0])].kind == FactorKind::kReplicate;
    });
  };
  return node.op->transpose != nullptr && node.operands.size() == 1 && has_whole(rule.operands[0]) && has_whole(rule.results[0]);
}

// Several results of matrices that must be whole (qr, svd), or one of such a matrix and what is solved by it.
bool is_decomposition(const Node& node, const FactorRule& rule) {
  const std::size_t operands = node.results.size() > 1 ? 1 : 2;
  return node.operands.size() == operands && node.op->needs == nullptr && !node.op->reduction &&
         std::any_of(rule.factors.begin(), rule.factors.end(),
                     [](const auto& factor) { return factor.kind == FactorKind::kReplicate && factor.blocked; });
}

// The work of an op that needs dimensions whole and gives them whole (a sort), where what cuts them cuts another dimension instead, as
// XLA has it: each piece the first one that it divides. `form`: of a tensor of the op, which has the factors of `map`.
std::int64_t work_in_other_parts(const OpShape& op, const Spec& form, const FactorRule::TensorMap& map) {
  std::vector<Axes> pieces(op.rule.factors.size());
  Axes moved;
  for (const FactorSharding& sharding : project(form, map, op.rule.factors)) {
    const std::size_t factor = std::size_t(sharding.factor);
    if (op.can_cut[factor])
      pieces[factor] = sharding.axes;
    else if (op.rule.factors[factor].kind == FactorKind::kReplicate && !op.rule.factors[factor].blocked)
      moved.insert(moved.end(), sharding.axes.begin(), sharding.axes.end());
  }
  if (moved.empty()) return std::numeric_limits<std::int64_t>::max();
  for (const AxisPiece& piece : moved) {
    for (std::size_t factor = 0; factor < pieces.size(); ++factor) {
      if (!op.can_cut[factor] || op.rule.factors[factor].size % (shardlab::part_count(pieces[factor]) * piece.size) != 0) continue;
      pieces[factor].push_back(piece);
      break;
    }
  }
  const auto candidate = cut_factors(op, pieces);
  return candidate ? candidate->work : std::numeric_limits<std::int64_t>::max();
}

// A convolution in groups of several features each.
bool sums_in_groups(const FactorRule& rule) {
  return rule.operands.size() == 2 && std::any_of(rule.operands[0].begin(), rule.operands[0].end(), [&](const std::vector<int>& dim) {
           auto is = [&](int factor, FactorKind kind) {
             return rule.factors[std::size_t(factor)].kind == kind && rule.factors[std::size_t(factor)].size > 1;
           };
           return dim.size() == 2 && is(dim[0], FactorKind::kPass) && is(dim[1], FactorKind::kReduce);
         });
}

// Into how many parts XLA cuts such a convolution: by the groups of the left operand where that is cut along groups alone, the kernel's
// features of one group are cut to single ones (it takes both for one dimension that is summed over), and the result is cut as the left
// operand is, or the kernel into as many parts, or the left operand over all devices; and then by the batch as far as operand and result
// are cut alike. Source: XLA's convolution_handler.cc, and its modules.
std::int64_t parts_in_groups(const OpShape& op, const std::vector<Spec>& forms, const Axes& atoms) {
  const FactorRule& rule = op.rule;
  const Projection left = project(forms[0], rule.operands[0], rule.factors), kernel = project(forms[1], rule.operands[1], rule.factors),
                   result = project(forms[2], rule.results[0], rule.factors);
  auto axes_of = [](const Projection& tensor, int factor) {
    const FactorSharding* sharding = find(tensor, factor);
    return sharding == nullptr ? Axes{} : sharding->axes;
  };
  auto is_reduced = [&](int factor) { return rule.factors[std::size_t(factor)].kind == FactorKind::kReduce; };
  std::int64_t parts = 1, batches = 1;
  for (const std::vector<int>& dim : rule.operands[0]) {
    if (dim.empty()) continue;
    const Axes axes = axes_of(left, dim[0]);
    if (dim.size() == 1 && !is_reduced(dim[0]) && axes == axes_of(result, dim[0])) batches *= shardlab::part_count(axes);
    const bool is_of_groups =
        dim.size() == 2 && !is_reduced(dim[0]) && is_reduced(dim[1]) &&
        std::find(rule.operands[1].begin(), rule.operands[1].end(), std::vector<int>{dim[1]}) != rule.operands[1].end() &&
        std::any_of(rule.operands[1].begin(), rule.operands[1].end(),
                    [&](const std::vector<int>& other) { return other.size() == 2 && other[0] == dim[0]; });
    if (!is_of_groups || !axes_of(left, dim[1]).empty()) continue;
    const std::int64_t left_parts = shardlab::part_count(axes), kernel_parts = shardlab::part_count(axes_of(kernel, dim[1]));
    const bool has_single_features = kernel_parts == rule.factors[std::size_t(dim[1])].size;
    const bool is_cut_alike = axes_of(result, dim[0]) == axes || left_parts == shardlab::part_count(atoms) || left_parts == kernel_parts;
    if (has_single_features && is_cut_alike) parts *= left_parts;
  }
  return parts > 1 ? parts * batches : 1;
}

// Into how many parts XLA cuts a convolution in groups of one feature, however its result is cut: by the groups of the left operand, and by
// those of the kernel where that is cut along groups alone, over all devices or beside a left operand that is cut, too.
std::int64_t parts_of_single_features(const Node& node, const OpShape& op, const std::vector<Spec>& forms, const Axes& atoms) {
  if (node.attrs.integer("feature_group_count", 1) == 1) return 1;
  const FactorRule& rule = op.rule;
  const Projection left = project(forms[0], rule.operands[0], rule.factors), kernel = project(forms[1], rule.operands[1], rule.factors);
  auto parts_of = [](const Projection& tensor, int factor) {
    const FactorSharding* sharding = find(tensor, factor);
    return sharding == nullptr ? 1 : shardlab::part_count(sharding->axes);
  };
  std::int64_t parts = 1;
  for (const std::vector<int>& dim : rule.operands[0])
    for (const std::vector<int>& other : rule.operands[1]) {
      if (dim.empty() || other.empty() || dim[0] != other[0] || rule.factors[std::size_t(dim[0])].kind != FactorKind::kPass) continue;
      parts = std::max(parts, parts_of(left, dim[0]));
      const std::int64_t of_kernel = parts_of(kernel, other[0]);
      const bool is_of_groups_alone = other.size() < 2 || parts_of(kernel, other[1]) == 1;
      if (is_of_groups_alone && (of_kernel == shardlab::part_count(atoms) || part_count(forms[0]) > 1)) parts = std::max(parts, of_kernel);
    }
  return parts;
}

// Such convolutions sum up no parts in XLA's modules.
bool is_dilated_in_batch_groups(const Node& node) {
  if (node.attrs.integer("batch_group_count", 1) == 1 || !node.attrs.has("lhs_dilation")) return false;
  const std::vector<std::int64_t>& dilation = node.attrs.integers("lhs_dilation");
  return std::any_of(dilation.begin(), dilation.end(), [](std::int64_t d) { return d > 1; });
}

// The work of a product where XLA shares it.
std::int64_t product_work(const Problem& problem, const Node& node, const OpShape& op, const std::vector<Spec>& forms) {
  if (sums_in_groups(op.rule)) return std::numeric_limits<std::int64_t>::max();
  std::vector<Shape> shapes;
  for (const auto* values : {&node.operands, &node.results})
    for (ValueId value : *values) shapes.push_back(problem.type(value).shape);
  const auto parts = parts_of_product(op, shapes, forms, problem.atoms(), !is_dilated_in_batch_groups(node));
  if (!parts) return std::numeric_limits<std::int64_t>::max();
  std::int64_t work = 1;
  for (std::size_t f = 0; f < parts->size(); ++f) work *= (op.rule.factors[f].size + (*parts)[f] - 1) / (*parts)[f];
  return work;
}

bool any_overlaps(const Axes& some, const Axes& others) {
  return std::any_of(some.begin(), some.end(), [&](const AxisPiece& piece) { return overlaps_any(piece, others); });
}

// Leaves of the operands' cuts (they come first in `forms`) those alone that no result could have.
void clear_result_factors(const FactorRule& rule, std::vector<Spec>& forms) {
  std::vector<bool> is_in_result(rule.factors.size(), false);
  for (const FactorRule::TensorMap& result : rule.results)
    for (const std::vector<int>& factors : result)
      for (int factor : factors) is_in_result[std::size_t(factor)] = true;
  for (std::size_t i = 0; i < rule.operands.size(); ++i)
    for (std::size_t d = 0; d < forms[i].size(); ++d)
      for (int factor : rule.operands[i][d])
        if (is_in_result[std::size_t(factor)]) forms[i][d].clear();
}

// Whether a device that takes its part of the updates for all places holds less than one that takes all updates for its own places.
bool holds_less_by_indices(const Problem& problem, const Node& node, const OpShape& op, const std::vector<Spec>& forms) {
  std::int64_t places = 1, indices = 1;
  for (std::size_t d = 0; d < forms[0].size(); ++d)
    for (int factor : op.rule.operands[0][d])
      if (op.looked_up[std::size_t(factor)]) places *= part_count(forms[0][d]);
  for (const Axes& axes : forms[1]) indices *= part_count(axes);
  const std::int64_t operand = problem.type(node.operands[0]).elements(), updates = problem.type(node.operands[2]).elements();
  return operand + updates / indices < operand / places + updates;
}

// Where what cuts the places of a scatter cuts its indices too, XLA shares the updates by it and has all places on each device if the
// windows are cut or a device holds less so; false where it does not.
bool clear_places_of_indices(const Problem& problem, const Node& node, const OpShape& op, std::vector<Spec>& forms) {
  const FactorRule& rule = op.rule;
  bool is_shared = holds_less_by_indices(problem, node, op, forms);
  for (std::size_t d = 0; d < forms[0].size(); ++d)
    for (int factor : rule.operands[0][d]) is_shared |= !op.looked_up[std::size_t(factor)] && !forms[0][d].empty();
  if (!is_shared) return false;
  bool has_cleared = false;
  auto cuts_indices = [&](const AxisPiece& piece) {
    return std::any_of(forms[1].begin(), forms[1].end(), [&](const Axes& axes) { return overlaps_any(piece, axes); });
  };
  for (std::size_t t : {std::size_t(0), rule.operands.size()})
    for (std::size_t d = 0; d < forms[t].size(); ++d)
      for (int factor : (t == 0 ? rule.operands[0] : rule.results[0])[d])
        if (Axes& axes = forms[t][d]; op.looked_up[std::size_t(factor)]) {
          const auto first = std::find_if(axes.begin(), axes.end(), cuts_indices);
          has_cleared |= first != axes.end();
          axes.erase(first, axes.end());
        }
  return has_cleared;
}

// Where operands are cut otherwise along a reduced factor, XLA cuts all of them as the first one that is cut: the updates of a scatter as
// its indices, and where both are cut as far as no window of them is by the same axes. Not where the result is cut along what not all of
// them have, the operand's places: there each device takes all updates.
void share_reduced_cuts(const OpShape& op, std::vector<Spec>& forms) {
  const FactorRule& rule = op.rule;
  for (std::size_t t = rule.operands.size(); t < forms.size(); ++t)
    for (std::size_t d = 0; d < forms[t].size(); ++d)
      for (int factor : rule.results[t - rule.operands.size()][d])
        if (op.looked_up[std::size_t(factor)] && !forms[t][d].empty()) return;
  for (std::size_t f = 0; f < rule.factors.size(); ++f) {
    if (rule.factors[f].kind != FactorKind::kReduce) continue;
    std::vector<Axes*> dims;
    Axes elsewhere;  // what cuts other dimensions of the last operand, the updates
    for (std::size_t i = 0; i < rule.operands.size(); ++i)
      for (std::size_t d = 0; d < forms[i].size(); ++d)
        if (rule.operands[i][d] == std::vector<int>{int(f)})
          dims.push_back(&forms[i][d]);
        else if (i + 1 == rule.operands.size())
          elsewhere.insert(elsewhere.end(), forms[i][d].begin(), forms[i][d].end());
    Axes common;
    for (const Axes* axes : dims) {
      if (common.empty())
        common = *axes;
      else if (!axes->empty() && any_overlaps(common, elsewhere)) {
        common.erase(std::find_if(common.begin(), common.end(), [&](const AxisPiece& piece) { return overlaps_any(piece, elsewhere); }),
                     common.end());
        if (common.empty()) common = *axes;
      }
    }
    if (common.empty()) continue;
    for (Axes* axes : dims) *axes = common;
  }
}

// Where an operand is cut along places that are looked up, XLA looks up on each device all that is asked for, and adds: whatever else is
// cut by those axes is whole then.
std::vector<Spec> cut_along_places(const OpShape& op, std::vector<Spec> forms) {
  Axes places;
  for (std::size_t d = 0; d < forms[0].size(); ++d)
    for (int factor : op.rule.operands[0][d])
      if (op.looked_up[std::size_t(factor)] && op.rule.factors[std::size_t(factor)].kind == FactorKind::kReduce)
        places.insert(places.end(), forms[0][d].begin(), forms[0][d].end());
  auto is_of_places = [&](const AxisPiece& piece) { return overlaps_any(piece, places); };
  for (std::size_t i = 1; i < forms.size(); ++i)
    for (Axes& axes : forms[i]) axes.erase(std::find_if(axes.begin(), axes.end(), is_of_places), axes.end());
  return forms;
}

// XLA scatters batches as those of the updates are cut, by axes that cut nothing else of operand and result then. The forms of a scatter
// so; nothing where they lie so already.
std::optional<std::vector<Spec>> cut_as_updates(const OpShape& op, std::vector<Spec> forms) {
  const FactorRule& rule = op.rule;
  const std::vector<Spec> before = forms;
  const std::size_t updates = rule.operands.size() - 1, result = rule.operands.size();
  for (std::size_t u = 0; u < forms[updates].size(); ++u)
    for (std::size_t r = 0; r < forms[result].size(); ++r) {
      const Axes& axes = forms[updates][u];
      if (axes.empty() || rule.operands[updates][u] != rule.results[0][r] || axes == forms[result][r]) continue;
      const bool is_batch = std::find(rule.operands[1].begin(), rule.operands[1].end(), rule.results[0][r]) != rule.operands[1].end();
      if (!is_batch) continue;
      for (std::size_t t : {std::size_t(0), result})
        for (std::size_t d = 0; d < forms[t].size(); ++d) {
          Axes& others = forms[t][d];
          others.erase(std::find_if(others.begin(), others.end(), [&](const AxisPiece& piece) { return overlaps_any(piece, axes); }),
                       others.end());
          if ((t == 0 ? rule.operands[0] : rule.results[0])[d] == rule.results[0][r]) others = axes;
        }
    }
  return forms == before ? std::nullopt : std::optional(std::move(forms));
}

// XLA looks up in each device's part of the operand, whatever the result is cut into: a result cut as the operand is along the dimensions
// that are not looked up.
std::vector<Spec> cut_as_looked_up_in(const OpShape& op, std::vector<Spec> forms) {
  const FactorRule& rule = op.rule;
  for (std::size_t d = 0; d < forms[0].size(); ++d)
    for (std::size_t r = 0; r < rule.results[0].size(); ++r)
      if (!forms[0][d].empty() && rule.operands[0][d] == rule.results[0][r]) forms[rule.operands.size()][r] = forms[0][d];
  return forms;
}

// Of an elementwise op where its operands lie, constants among them; nothing where they lie apart.
std::optional<std::int64_t> work_as_operands_lie(Problem& problem, NodeId id, std::vector<Spec> forms) {
  const Node& node = problem.node(id);
  if (node.operands.empty()) return std::nullopt;
  for (std::size_t i = 1; i < node.operands.size(); ++i)
    if (forms[i] != forms[0]) return std::nullopt;
  for (std::size_t i = node.operands.size(); i < forms.size(); ++i) forms[i].assign(forms[i].size(), {});
  return propagated_work(problem.op_shape(id), forms);
}

// How many operands are no constants.
std::size_t argument_count(const Problem& problem, const Node& node) {
  return std::size_t(std::count_if(node.operands.begin(), node.operands.end(), [&](ValueId id) {
    const NodeId producer = problem.graph().values[std::size_t(id)].producer;
    return producer < 0 || !problem.is_known(producer);
  }));
}

// Adds ways of a product that are no more work than XLA's, where all there are would be more: it shares them unevenly over idle axes.
void share_as_xla(Problem& problem, NodeId id, std::vector<Candidate>& ways) {
  const OpShape& shape = problem.op_shape(id);
  std::vector<Spec> forms;
  for (const auto* values : {&problem.node(id).operands, &problem.node(id).results})
    for (ValueId value : *values) forms.push_back(problem.propagated_form(value));
  const std::int64_t product = product_work(problem, problem.node(id), shape, forms);
  if (std::any_of(ways.begin(), ways.end(), [&](const Candidate& way) { return way.work <= product; })) return;
  std::vector<Candidate> more = candidates_of_less_work(shape, problem.atoms(), product);
  ways.insert(ways.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

std::vector<Candidate> ways_to_compute(Problem& problem, NodeId id, const std::vector<Spec>& at_hand) {
  const Node& node = problem.node(id);
  const OpShape& shape = problem.op_shape(id);
  if (const RegionPlan* region = problem.region(id)) {
    Candidate only;
    only.operands = region->operands;
    only.results = region->results;
    return {only};
  }
  if (node.op->needs != nullptr && !node.op->reduction) return index_map_ways(problem, id);
  if (!shape.rule.present) return {whole_candidate(problem, node)};
  std::vector<Spec> forms = at_hand;
  for (ValueId value : node.results) forms.push_back(problem.kept(value));
  std::vector<Candidate> ways = candidates_of(shape, problem.atoms(), forms);
  if (node.op->needs != nullptr) {  // parts of the result by index map, parts of a reduction by the rule
    std::erase_if(ways, [](const Candidate& way) { return way.partial.empty(); });
    std::vector<Candidate> more = index_map_ways(problem, id);
    ways.insert(ways.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  SL_CHECK(!ways.empty(), "no way to compute {}", node.op->name);
  if (node.op->reduction && !node.op->uses_position) share_as_xla(problem, id, ways);
  return ways;
}

std::optional<std::int64_t> allowed_work(Problem& problem, NodeId id, const std::vector<Candidate>& ways, bool as_results_lie) {
  const Node& node = problem.node(id);
  const OpShape& shape = problem.op_shape(id);
  if (only_moves_data(problem.graph(), node) || !shape.rule.present) return std::nullopt;
  std::vector<Spec> kept, even;  // an uneven cut may be more work for those with the larger parts than a coarser even one
  for (const auto* values : {&node.operands, &node.results})
    for (ValueId value : *values) {
      kept.push_back(problem.propagated_form(value));
      even.push_back(problem.even_form(value));
    }
  std::int64_t masked = 0;  // all devices but one begin from zeros
  const bool is_at_places = node.op->uses_position && node.op->needs == nullptr, is_scatter = is_at_places && node.operands.size() == 3;
  if (is_at_places) {
    if (is_scatter && clear_places_of_indices(problem, node, shape, kept)) {
      clear_places_of_indices(problem, node, shape, even);
      masked = local_elements(problem.type(node.results[0]).shape, kept[node.operands.size()]);
    }
    share_reduced_cuts(shape, kept);
    if (kept == even) share_reduced_cuts(shape, even);
  }
  const std::int64_t product = node.op->reduction ? product_work(problem, node, shape, kept) : std::numeric_limits<std::int64_t>::max();
  const std::int64_t in_groups = sums_in_groups(shape.rule) ? parts_in_groups(shape, kept, problem.atoms()) : 0;
  const std::int64_t in_single_groups = parts_of_single_features(node, shape, even, problem.atoms());
  if (as_results_lie && node.op->elementwise)
    for (std::vector<Spec>* forms : {&kept, &even})
      for (std::size_t i = 0; i < node.operands.size(); ++i) (*forms)[i].assign((*forms)[i].size(), {});
  std::int64_t allowed = std::min(propagated_work(shape, kept), propagated_work(shape, even)) + masked;
  if (is_scatter && problem.may_scatter_whole(node)) {
    for (std::vector<Axes>& form : kept) form.assign(form.size(), {});
    return propagated_work(shape, kept);
  }
  if (is_scatter) {
    const auto in_kept = cut_as_updates(shape, kept), in_even = cut_as_updates(shape, even);
    if (in_kept && in_even) allowed = std::max(allowed, std::min(propagated_work(shape, *in_kept), propagated_work(shape, *in_even)));
  }
  // XLA computes an elementwise op of several operands that lie alike as these lie, be its result cut into more parts or fewer; of one
  // operand, where that lies in smaller parts than the result.
  if (!as_results_lie && node.op->elementwise) {
    const auto in_kept = work_as_operands_lie(problem, id, kept), in_even = work_as_operands_lie(problem, id, even);
    if (in_kept && in_even && argument_count(problem, node) > 1)
      allowed = std::min(*in_kept, *in_even);
    else
      for (const auto& work : {in_kept, in_even}) allowed = std::min(allowed, work.value_or(allowed));
  }
  if (node.op->reduction) {
    allowed = std::max(
        allowed, std::min(propagated_work(shape, cut_along_places(shape, kept)), propagated_work(shape, cut_along_places(shape, even))));
    if (reads_at_places(node))
      allowed = std::max(allowed, std::min(propagated_work(shape, cut_as_looked_up_in(shape, kept)),
                                           propagated_work(shape, cut_as_looked_up_in(shape, even))));
    // A reduction may run where its operands lie, as XLA's does, though its result is wanted in more parts; a product as its result is
    // left, whatever more its operands are cut into.
    for (std::vector<Spec>* forms : {&kept, &even}) {
      if (!iterates_over_operand(shape.rule))
        clear_result_factors(shape.rule, *forms);
      else
        for (std::size_t i = node.operands.size(); i < forms->size(); ++i) (*forms)[i].assign((*forms)[i].size(), {});
    }
    allowed = std::max(allowed, std::min(propagated_work(shape, kept), propagated_work(shape, even)));
  }
  // XLA computes Fourier transforms whole on every device, their batch included.
  if (transforms_whole_dimensions(node, shape.rule)) {
    for (std::vector<Axes>& form : kept) form.assign(form.size(), {});
    allowed = std::max(allowed, propagated_work(shape, kept));
  }
  // XLA calls LAPACK's routines where their operands lie.
  else if (is_decomposition(node, shape.rule)) {
    for (std::vector<Spec>* forms : {&kept, &even})
      for (std::size_t i = node.operands.size(); i < forms->size(); ++i) (*forms)[i].assign((*forms)[i].size(), {});
    allowed = std::max(allowed, std::min(propagated_work(shape, kept), propagated_work(shape, even)));
  }
  // XLA computes sorts in as many parts as their results lie in, whatever their operands are cut into.
  else if (!node.op->reduction && !node.operands.empty() && is_heavy(problem.graph(), node))
    for (const std::vector<Spec>& forms : {even, kept})
      allowed = std::min(allowed, work_in_other_parts(shape, forms[node.operands.size()], shape.rule.results[0]));
  // With an index map any dimension of the result can be cut, and work is counted by the result's elements: by those that a device has as
  // propagation leaves it, be that uneven; by no more than the operands' cuts leave where nothing is reduced (a running sum). XLA computes
  // convolutions in groups of several features whole on every device where their operand is not cut along groups.
  if (node.op->needs != nullptr && problem.type(node.results[0]).elements() > 0) {
    const ValueId result = node.results[0];
    const Shape& elements = problem.type(result).shape;
    const std::int64_t in_kept = local_elements(elements, problem.kept(result));
    const std::int64_t in_propagated = local_elements(elements, problem.propagated_form(result));
    for (const Candidate& way : ways) {
      if (!way.partial.empty() || way.results[0] != problem.kept(result)) continue;
      const std::int64_t in_xla = in_groups > 0 ? element_count(elements) / in_groups
                                                : std::min({in_kept, in_propagated, element_count(elements) / in_single_groups});
      const std::int64_t work = way.work / in_kept * in_xla;
      allowed = node.op->reduction ? work : std::min(allowed, work);
    }
  }
  std::int64_t least = ways[0].work;
  for (const Candidate& way : ways) least = std::min(least, way.work);
  return std::max(std::min(allowed, product), least);
}

std::optional<std::int64_t> allowed_work(Problem& problem) {
  std::int64_t allowed = 0;
  for (NodeId n = 0; n < NodeId(problem.graph().nodes.size()); ++n) {
    const Node& node = problem.node(n);
    if (node.op->region != RegionKind::kNone) return std::nullopt;
    if (!problem.is_planned(n) || reads_at_places(node) || problem.is_known(n)) continue;
    std::vector<Spec> kept;
    for (ValueId value : node.operands) kept.push_back(problem.kept(value));
    const std::int64_t elements = allowed_work(problem, n, ways_to_compute(problem, n, kept), false).value_or(0);
    if (!slides_windows(node)) {
      allowed += elements;
      continue;
    }
    const std::int64_t all = problem.type(node.results[0]).elements(), read = problem.type(node.operands[0]).elements();
    allowed += elements_in_windows(node, all == 0 ? 0 : elements * read / all, elements);
  }
  return allowed;
}

}  // namespace shardlab::spmd
