#include "runtime/exec/explicit_marks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

namespace shardlab {
namespace {

// "auto_axes." before the name of an op, or "auto_axes[x,y]." for some axes.
constexpr std::string_view kAutoMark = "auto_axes", kExplicitMark = "explicit_axes";

AxisSet set_of(int axis) { return AxisSet(1) << axis; }

struct Mark {
  AxisType type = AxisType::kAuto;
  std::string_view axes;   // "x,y"; empty: all
  std::size_t length = 0;  // of the mark with its point
};

std::optional<Mark> mark_at(std::string_view text) {
  for (auto [word, type] : {std::pair(kAutoMark, AxisType::kAuto), std::pair(kExplicitMark, AxisType::kExplicit)}) {
    if (!text.starts_with(word)) continue;
    const std::string_view rest = text.substr(word.size());
    if (rest.starts_with('.')) return Mark{type, {}, word.size() + 1};
    const std::size_t end = rest.starts_with('[') ? rest.find("].") : std::string_view::npos;
    if (end != std::string_view::npos) return Mark{type, rest.substr(1, end - 1), word.size() + end + 2};
  }
  return std::nullopt;
}

AxisSet named_axes(std::string_view list, const Mesh& mesh) {
  if (list.empty()) return all_axes_of(mesh);
  AxisSet axes = 0;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (auto axis = mesh.axis_index(list.substr(begin, end - begin))) axes |= set_of(*axis);
    begin = end + 1;
  }
  return axes;
}

}  // namespace

AxisSet all_axes_of(const Mesh& mesh) {
  AxisSet axes = 0;
  for (int axis = 0; axis < mesh.axis_count(); ++axis) axes |= set_of(axis);
  return axes;
}

AxisSet explicit_axes_of(const Mesh& mesh) {
  AxisSet axes = 0;
  for (int axis = 0; axis < mesh.axis_count(); ++axis)
    if (mesh.axis_types()[std::size_t(axis)] == AxisType::kExplicit) axes |= set_of(axis);
  return axes;
}

AxisSet axes_named(const std::vector<std::string>& names, const Mesh& mesh) {
  return named_axes(fmt::format("{}", fmt::join(names, ",")), mesh);
}

std::vector<std::string> names_in(AxisSet axes, const Mesh& mesh) {
  std::vector<std::string> names;
  for (int axis = 0; axis < mesh.axis_count(); ++axis)
    if ((axes >> axis & 1) != 0) names.push_back(mesh.axis_names()[std::size_t(axis)]);
  return names;
}

bool is_partly_explicit(const Mesh& mesh) { return mesh.has_explicit_axes() && !mesh.is_explicit(); }

Spec within(const Spec& spec, AxisSet axes) {
  Spec result = spec;
  for (Axes& dim : result) std::erase_if(dim, [&](const AxisPiece& piece) { return (axes & set_of(piece.axis)) == 0; });
  return result;
}

AxisSet axes_in(const Spec& spec) {
  AxisSet axes = 0;
  for (const Axes& dim : spec)
    for (const AxisPiece& piece : dim) axes |= set_of(piece.axis);
  return axes;
}

std::string marked(std::string_view user_op, AxisType type, const std::vector<std::string>& axes) {
  const std::string list = axes.empty() ? std::string() : fmt::format("[{}]", fmt::join(axes, ","));
  return fmt::format("{}{}.{}", type == AxisType::kExplicit ? kExplicitMark : kAutoMark, list, user_op);
}

AxisSet typed_axes(const Node& node, const Mesh& mesh, AxisSet around) {
  AxisSet typed = around;
  std::string_view rest = node.user_op;
  while (!rest.empty()) {
    if (auto mark = mark_at(rest)) {
      const AxisSet axes = named_axes(mark->axes, mesh);
      typed = mark->type == AxisType::kExplicit ? typed | axes : typed & ~axes;
      rest.remove_prefix(mark->length);
      continue;
    }
    const std::size_t point = rest.find('.');  // a mark may stand behind another name: "psum.auto_axes.sin"
    if (point == std::string_view::npos) break;
    rest.remove_prefix(point + 1);
  }
  return typed;
}

}  // namespace shardlab
