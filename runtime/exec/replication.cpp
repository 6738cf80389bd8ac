#include "runtime/exec/replication.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/exec/explicit_marks.h"

namespace shardlab {
namespace {

using transform::axes_in;
using transform::VaryingAxes;

std::string names_text(VaryingAxes axes, const Mesh& mesh) { return fmt::format("{}", fmt::join(names_in(axes, mesh), ",")); }

// From a value back to where an axis comes in.
std::string reason(const Graph& body, const transform::Varying& varying, ValueId id, VaryingAxes axis, const Mesh& mesh,
                   const std::vector<Sharding>& in_specs) {
  std::string through;
  while (true) {
    const Value& value = body.values[std::size_t(id)];
    std::string name = names_text(axis, mesh);
    if (value.producer < 0)
      return fmt::format("argument {} is cut over '{}' by in_specs[{}] = {}{}", value.result_index, name, value.result_index,
                         in_specs[std::size_t(value.result_index)].spec_text(), through);
    const Node& node = body.nodes[std::size_t(value.producer)];
    auto from = std::find_if(node.operands.begin(), node.operands.end(), [&](ValueId each) { return (varying.at(each) & axis) != 0; });
    if (from == node.operands.end()) return fmt::format("{} at {} differs along '{}'{}", node.user_op, node.where.text(), name, through);
    if (through.empty()) through = fmt::format(", and {} at {} keeps that", node.user_op, node.where.text());
    id = *from;
  }
}

}  // namespace

void check_replication(const Graph& body, const std::vector<Sharding>& in_specs, const std::vector<Sharding>& out_specs, const Mesh& mesh,
                       const std::string& name, const std::vector<std::string>& manual) {
  const transform::Varying varying(body, transform::varying_params(body, in_specs), mesh);
  std::vector<std::string> failures;
  VaryingAxes all = axes_in(manual, mesh);
  for (std::size_t i = 0; i < out_specs.size(); ++i) {
    ValueId result = body.results[i];
    VaryingAxes named = axes_in(out_specs[i], body.type(result).rank()), got = varying.at(result), unnamed = all & ~named;
    VaryingAxes extra = got & unnamed;
    if (extra == 0) continue;
    std::string key = out_specs.size() == 1 ? "" : fmt::format("[{}]", i);
    VaryingAxes first = extra & (~extra + 1);
    std::string why = reason(body, varying, result, first, mesh, in_specs);
    bool single = (unnamed & (unnamed - 1)) == 0;
    std::string text = single ? fmt::format(
                                    "out_specs{} is {} which implies that the corresponding output value is replicated across mesh "
                                    "axis '{}', but could not infer replication over any axes",
                                    key, out_specs[i].spec_text(), names_text(unnamed, mesh))
                              : fmt::format(
                                    "out_specs{} is {} which implies that the corresponding output value is only varying across "
                                    "mesh axes {{{}}} and not {{{}}}, but it was inferred to be possibly varying over {{{}}}",
                                    key, out_specs[i].spec_text(), names_text(named, mesh), names_text(extra, mesh), names_text(got, mesh));
    failures.push_back(fmt::format("{}: {}; psum, pmean or pmax over '{}' makes it the same there, or name '{}' in out_specs{}", text, why,
                                   names_text(first, mesh), names_text(first, mesh), key));
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
