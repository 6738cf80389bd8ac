#include "runtime/exec/replication.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace shardlab {
namespace {

VaryingAxes axes_in(const std::vector<std::string>& names, const Mesh& mesh) {
  VaryingAxes axes = 0;
  for (const std::string& name : names)
    if (auto axis = mesh.axis_index(name)) axes |= VaryingAxes(1) << *axis;
  return axes;
}

VaryingAxes axes_in(const Sharding& sharding, int rank) {
  VaryingAxes axes = 0;
  for (const Axes& dimension : sharding.spec(rank))
    for (const AxisPiece& piece : dimension) axes |= VaryingAxes(1) << piece.axis;
  return axes;
}

std::string names_of(VaryingAxes axes, const Mesh& mesh) {
  std::vector<std::string> names;
  for (int axis = 0; axis < mesh.axis_count(); ++axis)
    if ((axes >> axis & 1) != 0) names.push_back(mesh.axis_names()[std::size_t(axis)]);
  return fmt::format("{}", fmt::join(names, ","));
}

class Analysis {
 public:
  Analysis(const Graph& graph, const Mesh& mesh) : graph_(graph), mesh_(mesh), varying_(graph.values.size(), 0) {}

  void run(const std::vector<VaryingAxes>& params) {
    for (std::size_t i = 0; i < graph_.params.size(); ++i) varying_[std::size_t(graph_.params[i])] = params.at(i);
    for (const Node& node : graph_.nodes) {
      std::vector<VaryingAxes> results = of_node(node);
      for (std::size_t i = 0; i < results.size(); ++i) varying_[std::size_t(node.results[i])] = results[i];
    }
  }

  VaryingAxes at(ValueId id) const { return varying_[std::size_t(id)]; }
  std::vector<VaryingAxes> results() const {
    std::vector<VaryingAxes> all;
    for (ValueId id : graph_.results) all.push_back(at(id));
    return all;
  }

 private:
  std::vector<VaryingAxes> of_node(const Node& node) const {
    if (node.op->region != RegionKind::kNone) return of_region(node);
    VaryingAxes all = 0;
    for (ValueId id : node.operands) all |= at(id);
    if (node.op->member) {
      VaryingAxes named = axes_in(node.attrs.strings("axis_name"), mesh_);
      bool replicates = node.op->collective == "all-reduce" && !node.attrs.has("axis_index_groups");
      all = replicates ? all & ~named : all | named;
    }
    return std::vector<VaryingAxes>(node.results.size(), all);
  }

  std::vector<VaryingAxes> of_region(const Node& node) const {
    std::vector<VaryingAxes> operands;
    for (ValueId id : node.operands) operands.push_back(at(id));
    const Bodies& bodies = node.attrs.bodies();
    std::vector<VaryingAxes> results(node.results.size(), 0);
    auto join = [](std::vector<VaryingAxes>& into, std::size_t first, const std::vector<VaryingAxes>& more, std::size_t count) {
      bool grew = false;
      for (std::size_t i = 0; i < count; ++i) {
        grew |= (more[i] & ~into[first + i]) != 0;
        into[first + i] |= more[i];
      }
      return grew;
    };
    if (node.op->region == RegionKind::kBranch) {
      std::vector<VaryingAxes> params(operands.begin() + 1, operands.end());
      for (const GraphRef& body : bodies) join(results, 0, varying_results(*body, params, mesh_), results.size());
      for (VaryingAxes& each : results) each |= operands[0];
      return results;
    }
    if (node.op->region == RegionKind::kWhile || node.op->region == RegionKind::kScan) {
      std::size_t consts = std::size_t(node.attrs.integer("num_consts", 0));
      bool is_while = node.op->region == RegionKind::kWhile;
      std::size_t carried = is_while ? results.size() : std::size_t(node.attrs.integer("num_carry", 0));
      while (true) {  // axes are only added: it ends
        std::vector<VaryingAxes> out = varying_results(*bodies.back(), operands, mesh_);
        if (is_while)
          for (VaryingAxes& each : out) each |= varying_results(*bodies[0], operands, mesh_).at(0);
        results = out;
        if (!join(operands, consts, out, carried)) break;
      }
      join(results, 0, std::vector<VaryingAxes>(operands.begin() + std::ptrdiff_t(consts), operands.end()), carried);
      return results;
    }
    return varying_results(*bodies[0], operands, mesh_);
  }

  const Graph& graph_;
  const Mesh& mesh_;
  std::vector<VaryingAxes> varying_;
};

// From a value back to where an axis comes in.
std::string reason(const Graph& body, const Analysis& analysis, ValueId id, VaryingAxes axis, const Mesh& mesh,
                   const std::vector<Sharding>& in_specs) {
  std::string through;
  while (true) {
    const Value& value = body.values[std::size_t(id)];
    std::string name = names_of(axis, mesh);
    if (value.producer < 0)
      return fmt::format("argument {} is cut over '{}' by in_specs[{}] = {}{}", value.result_index, name, value.result_index,
                         in_specs[std::size_t(value.result_index)].spec_text(), through);
    const Node& node = body.nodes[std::size_t(value.producer)];
    auto from = std::find_if(node.operands.begin(), node.operands.end(), [&](ValueId each) { return (analysis.at(each) & axis) != 0; });
    if (from == node.operands.end()) return fmt::format("{} at {} differs along '{}'{}", node.user_op, node.where.text(), name, through);
    if (through.empty()) through = fmt::format(", and {} at {} keeps that", node.user_op, node.where.text());
    id = *from;
  }
}

}  // namespace

std::vector<VaryingAxes> varying_results(const Graph& body, const std::vector<VaryingAxes>& params, const Mesh& mesh) {
  Analysis analysis(body, mesh);
  analysis.run(params);
  return analysis.results();
}

void check_replication(const Graph& body, const std::vector<Sharding>& in_specs, const std::vector<Sharding>& out_specs, const Mesh& mesh,
                       const std::string& name, const std::vector<std::string>& manual) {
  std::vector<VaryingAxes> params;
  for (std::size_t i = 0; i < in_specs.size(); ++i) params.push_back(axes_in(in_specs[i], body.type(body.params[i]).rank()));
  Analysis analysis(body, mesh);
  analysis.run(params);
  std::vector<std::string> failures;
  VaryingAxes all = axes_in(manual, mesh);
  for (std::size_t i = 0; i < out_specs.size(); ++i) {
    ValueId result = body.results[i];
    VaryingAxes named = axes_in(out_specs[i], body.type(result).rank()), got = analysis.at(result), unnamed = all & ~named;
    VaryingAxes extra = got & unnamed;
    if (extra == 0) continue;
    std::string key = out_specs.size() == 1 ? "" : fmt::format("[{}]", i);
    VaryingAxes first = extra & (~extra + 1);
    std::string why = reason(body, analysis, result, first, mesh, in_specs);
    bool single = (unnamed & (unnamed - 1)) == 0;
    std::string text = single ? fmt::format(
                                    "out_specs{} is {} which implies that the corresponding output value is replicated across mesh "
                                    "axis '{}', but could not infer replication over any axes",
                                    key, out_specs[i].spec_text(), names_of(unnamed, mesh))
                              : fmt::format(
                                    "out_specs{} is {} which implies that the corresponding output value is only varying across "
                                    "mesh axes {{{}}} and not {{{}}}, but it was inferred to be possibly varying over {{{}}}",
                                    key, out_specs[i].spec_text(), names_of(named, mesh), names_of(extra, mesh), names_of(got, mesh));
    failures.push_back(fmt::format("{}: {}", text, why));
  }
  if (failures.empty()) return;
  std::string text = failures.size() == 1 ? failures[0] : fmt::format("* {}", fmt::join(failures, "\n\n* "));
  std::vector<std::string> axes;
  for (const std::string& axis : mesh.axis_names()) axes.push_back(fmt::format("'{}'", axis));
  throw_user_error(
      "shard_map applied to the function '{}' was given out_specs which require replication which can't be statically inferred given the "
      "mesh:\n\nThe mesh given has shape {} with corresponding axis names ({}).\n\n{}\n\nCheck if these output values are meant to be "
      "replicated over those mesh axes. If not, consider revising the corresponding out_specs entries. If so, consider disabling the check "
      "by passing the check_vma=False argument to `jax.shard_map` (here: ShardMapOptions::check_vma).",
      name, text_of(mesh.shape()), fmt::join(axes, ", "), text);
}

}  // namespace shardlab
