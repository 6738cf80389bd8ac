#include "runtime/exec/varying_types.h"

#include <fmt/ranges.h>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/explicit_marks.h"
#include "runtime/exec/shard_map.h"

namespace shardlab {
namespace {

using transform::VaryingAxes;

// The mesh of per-device code whose types tell what varies; nothing elsewhere.
std::optional<Mesh> telling_mesh() {
  const Context& context = Context::current();
  if (!context.tracer() || !context.tracer()->tells_varying()) return {};
  return context.tracer()->bound()->mesh;
}

std::vector<VaryingAxes> varying_of(const std::vector<Array>& arrays, const Mesh& mesh) {
  std::vector<VaryingAxes> axes;
  for (const TracedType& type : traced_types(arrays, mesh)) axes.push_back(type.varying);
  return axes;
}

std::vector<VaryingAxes> varying_results(const TracedBody& body, std::vector<Array> args, const Mesh& mesh) {
  args.insert(args.end(), body.captured.begin(), body.captured.end());
  return transform::Varying(body.graph, varying_of(args, mesh), mesh).results();
}

// As JAX writes the type: "float32[4]{V:(x,y)}".
std::string varying_text(const TensorType& type, VaryingAxes axes, const Mesh& mesh) {
  const std::vector<std::string> names = names_in(axes, mesh);
  if (names.empty()) return type.text();
  const std::string joined = fmt::format("{}", fmt::join(names, ","));
  return fmt::format("{}{{V:{}}}", type.text(), names.size() == 1 ? joined : "(" + joined + ")");
}

// What makes up for axes that are missing.
std::string cast_text(VaryingAxes axes, const Mesh& mesh) {
  std::vector<std::string> names;
  for (const std::string& name : names_in(axes, mesh)) names.push_back(fmt::format("\"{}\"", name));
  return fmt::format("pcast(…, {{{}}}, \"varying\")", fmt::join(names, ", "));
}

}  // namespace

Array varying_like(const Array& made, const Array& like) {
  const std::optional<Mesh> mesh = telling_mesh();
  if (!mesh) return made;
  const std::vector<VaryingAxes> axes = varying_of({made, like}, *mesh);
  const VaryingAxes missing = axes[1] & ~axes[0];
  return missing == 0 ? made : pvary(made, names_in(missing, *mesh));
}

void check_carry_varies(std::string_view loop, const TracedBody& body, const std::vector<Array>& args, std::size_t carried, Where where) {
  const std::optional<Mesh> mesh = telling_mesh();
  if (!mesh) return;
  const std::vector<VaryingAxes> given = varying_of(args, *mesh), made = varying_results(body, args, *mesh);
  std::string differences, remedies;
  for (std::size_t i = 0; i < carried && i < made.size(); ++i) {
    if (given[i] == made[i]) continue;
    const std::string which = carried == 1 ? "the input carry" : fmt::format("the input carry component carry[{}]", i);
    differences += fmt::format(
        "\n  * {} has type {} but the corresponding output carry component has type {}, so the manual axis types do "
        "not match",
        which, varying_text(args[i].type(), given[i], *mesh), varying_text(body.graph.type(body.graph.results[i]), made[i], *mesh));
    if (const VaryingAxes missing = made[i] & ~given[i]; missing != 0)
      remedies += fmt::format("\n  * applying `{}` to the initial value of {}", cast_text(missing, *mesh), which);
  }
  if (differences.empty()) return;
  if (!remedies.empty()) remedies = "\n\nThis might be fixed by:" + remedies;
  throw_user_error(
      "{} function carry input and carry output must have equal types, but they differ:\n{}{}\n\nRevise the function so that all output "
      "types match the corresponding input types. [{}]",
      loop, differences, remedies, where.text());
}

void check_branches_vary(const std::vector<TracedBody>& branches, const std::vector<Array>& operands, Where where) {
  const std::optional<Mesh> mesh = telling_mesh();
  if (!mesh) return;
  const std::vector<VaryingAxes> first = varying_results(branches[0], operands, *mesh);
  for (std::size_t b = 1; b < branches.size(); ++b) {
    const std::vector<VaryingAxes> other = varying_results(branches[b], operands, *mesh);
    for (std::size_t i = 0; i < first.size() && i < other.size(); ++i) {
      if (first[i] == other[i]) continue;
      auto type = [&](std::size_t branch, VaryingAxes axes) {
        const Graph& graph = branches[branch].graph;
        return varying_text(graph.type(graph.results[i]), axes, *mesh);
      };
      const bool lacks = (other[i] & ~first[i]) != 0;
      throw_user_error(
          "cond branches must have equal output types but they differ.\n\nResult {} of branch 0 has type {} but the corresponding output "
          "of "
          "branch {} has type {}, so the manual axis types do not match. (Of a cond branch 0 is the one of false.)\n\nThis might be fixed "
          "by applying `{}` to the output of branch {}.\n\nRevise the branches so that all output types match. [{}]",
          i, type(0, first[i]), b, type(b, other[i]), cast_text(lacks ? other[i] & ~first[i] : first[i] & ~other[i], *mesh), lacks ? 0 : b,
          where.text());
    }
  }
}

void check_cast(const Array& x, const std::vector<std::string>& axes, Where where) {
  const std::optional<Mesh> mesh = telling_mesh();
  if (!mesh) return;
  const VaryingAxes varying = varying_of({x}, *mesh)[0];
  if ((varying & transform::axes_in(axes, *mesh)) == 0) return;
  throw_user_error("Unsupported pcast from=varying, to='varying': the value has type {} and varies over {} already [{}]",
                   varying_text(x.type(), varying, *mesh), fmt::join(names_in(varying & transform::axes_in(axes, *mesh), *mesh), ", "),
                   where.text());
}

}  // namespace shardlab
