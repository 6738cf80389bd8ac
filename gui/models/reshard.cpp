#include "gui/models/reshard.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "gui/models/format.h"

namespace shardlab::gui {
namespace {

// Reads the small language of sharding texts: names in quotes, tuples, None.
class SpecParser {
 public:
  explicit SpecParser(const std::string& text) : text_(text) {}

  std::optional<Spec> parse() {
    Spec spec;
    if (!eat("P(")) return {};
    while (!eat(")")) {
      auto axes = dimension();
      if (!axes) return {};
      spec.axes.push_back(std::move(*axes));
      if (!eat(",") && peek() != ')') return {};
    }
    if (eat("partial over")) {
      auto axes = dimension();
      if (!axes) return {};
      spec.partial = std::move(*axes);
    }
    return spec;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool eat(std::string_view word) {
    skip();
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string> name() {
    if (eat("'")) {
      const std::size_t end = text_.find('\'', at_);
      if (end == std::string::npos) return {};
      std::string word = text_.substr(at_, end - at_);
      at_ = end + 1;
      return word;
    }
    std::string word;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) word += text_[at_++];
    if (word.empty()) return {};
    return word;
  }
  std::optional<std::vector<std::string>> dimension() {
    if (eat("None")) return std::vector<std::string>{};
    std::vector<std::string> axes;
    const bool tuple = eat("(");
    do {
      if (tuple && peek() == ')') break;
      auto axis = name();
      if (!axis) return {};
      axes.push_back(std::move(*axis));
    } while (tuple && eat(","));
    if (tuple && !eat(")")) return {};
    return axes;
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

std::int64_t volume(const std::vector<std::int64_t>& begin, const std::vector<std::int64_t>& end) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < begin.size(); ++d) elements *= std::max<std::int64_t>(end[d] - begin[d], 0);
  return elements;
}

std::int64_t overlap(const Shard& a, const Shard& b, Move& move) {
  move.begin.resize(a.begin.size());
  move.end.resize(a.begin.size());
  for (std::size_t d = 0; d < a.begin.size(); ++d) {
    move.begin[d] = std::max(a.begin[d], b.begin[d]);
    move.end[d] = std::min(a.end[d], b.end[d]);
    if (move.begin[d] >= move.end[d]) return 0;
  }
  return volume(move.begin, move.end);
}

int mesh_with_axes(const TraceData& trace, const std::vector<int>& devices, const Spec& a, const Spec& b) {
  for (std::size_t m = 0; m < trace.meshes.size(); ++m) {
    const Mesh& mesh = trace.meshes[m];
    std::vector<int> sorted = mesh.devices;
    std::sort(sorted.begin(), sorted.end());
    if (!std::includes(sorted.begin(), sorted.end(), devices.begin(), devices.end())) continue;
    const auto knows = [&](const std::string& axis) {
      return std::any_of(mesh.axes.begin(), mesh.axes.end(), [&](const auto& each) { return each.name == axis; });
    };
    bool all = true;
    for (const Spec* spec : {&a, &b}) {
      for (const auto& dim : spec->axes) all &= std::all_of(dim.begin(), dim.end(), knows);
      all &= std::all_of(spec->partial.begin(), spec->partial.end(), knows);
    }
    if (all) return int(m);
  }
  return -1;
}

std::int64_t parts_of(const Mesh& mesh, const std::vector<std::string>& axes) {
  std::int64_t parts = 1;
  for (const auto& name : axes)
    for (const auto& axis : mesh.axes)
      if (axis.name == name) parts *= axis.size;
  return parts;
}

std::vector<std::int64_t> parse_shape(const std::string& text) {
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < text.size();) {
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    std::size_t used = 0;
    shape.push_back(std::stoll(text.substr(i), &used));
    i += used;
  }
  return shape;
}

}  // namespace

std::optional<Spec> parse_spec(const std::string& text) { return SpecParser(text).parse(); }

std::shared_ptr<const ArrayLayout> make_layout(const TraceData& trace, int mesh, const std::vector<std::int64_t>& shape, const Spec& spec) {
  if (mesh < 0 || std::size_t(mesh) >= trace.meshes.size() || spec.axes.size() > shape.size()) return nullptr;
  const Mesh& grid = trace.meshes[std::size_t(mesh)];
  std::map<std::string, std::size_t> position;
  for (std::size_t a = 0; a < grid.axes.size(); ++a) position[grid.axes[a].name] = a;
  ArrayLayout layout{.shape = shape, .mesh = mesh};
  std::vector<std::string> words;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto axes = d < spec.axes.size() ? spec.axes[d] : std::vector<std::string>{};
    for (const auto& axis : axes)
      if (!position.contains(axis)) return nullptr;
    layout.dim_axes.push_back(fmt::format("{}", fmt::join(axes, ",")));
    words.push_back(axes.empty()       ? "None"
                    : axes.size() == 1 ? fmt::format("'{}'", axes[0])
                                       : fmt::format("('{}')", fmt::join(axes, "', '")));
  }
  layout.spec = fmt::format("P({})", fmt::join(words, ", "));
  for (std::size_t i = 0; i < grid.devices.size(); ++i) {
    std::vector<std::int64_t> coordinates(grid.axes.size());
    std::int64_t rest = std::int64_t(i);
    for (std::size_t a = grid.axes.size(); a-- > 0;) {
      coordinates[a] = rest % grid.axes[a].size;
      rest /= grid.axes[a].size;
    }
    Shard shard{.device = grid.devices[i]};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      std::int64_t part = 0, parts = 1;
      if (d < spec.axes.size())
        for (const auto& axis : spec.axes[d]) {
          part = part * grid.axes[position[axis]].size + coordinates[position[axis]];
          parts *= grid.axes[position[axis]].size;
        }
      const std::int64_t piece = (shape[d] + parts - 1) / parts;
      shard.begin.push_back(std::min(shape[d], piece * part));
      shard.end.push_back(std::min(shape[d], piece * (part + 1)));
    }
    layout.shards.push_back(std::move(shard));
  }
  return std::make_shared<const ArrayLayout>(std::move(layout));
}

std::string Move::slice_text() const {
  std::string text = "[";
  for (std::size_t d = 0; d < begin.size(); ++d) text += fmt::format("{}{}:{}", d ? ", " : "", begin[d], end[d]);
  return text + "]";
}

MovePlan plan_moves(const TraceData& trace, const ArrayLayout& before, const ArrayLayout& after) {
  MovePlan plan;
  // The distinct parts before, with their holders.
  std::map<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>, std::vector<const Shard*>> parts;
  std::map<int, const Shard*> own;
  for (const auto& shard : before.shards) {
    if (volume(shard.begin, shard.end) == 0) continue;
    parts[{shard.begin, shard.end}].push_back(&shard);
    own[shard.device] = &shard;
  }
  std::map<int, int> process_of;
  for (const auto& device : trace.devices) process_of[device.ordinal] = device.process;
  std::map<int, std::int64_t> sent;
  for (const auto& target : after.shards) {
    const std::int64_t wanted = volume(target.begin, target.end);
    std::int64_t found = 0;
    for (const auto& [slice, holders] : parts) {
      Move move{.target = target.device};
      move.elements = overlap(*holders[0], target, move);
      if (move.elements == 0) continue;
      found += move.elements;
      const auto mine = own.find(target.device);
      if (mine != own.end() && mine->second->same_slice(*holders[0])) {
        plan.kept += move.elements;
        continue;
      }
      const Shard* best = nullptr;
      for (const Shard* holder : holders) {
        const auto rank = [&](const Shard* each) {
          return std::tuple(process_of[each->device] != process_of[target.device], sent[each->device], each->device);
        };
        if (!best || rank(holder) < rank(best)) best = holder;
      }
      move.source = best->device;
      sent[best->device] += move.elements;
      plan.elements += move.elements;
      if (process_of[move.source] != process_of[move.target]) plan.across += move.elements;
      plan.moves.push_back(std::move(move));
    }
    plan.missing += wanted - found;
  }
  return plan;
}

std::optional<Reshard> reshard_of_collective(const TraceData& trace, int collective) {
  if (collective < 0 || std::size_t(collective) >= trace.collectives.size()) return {};
  const CollectiveType& type = *trace.collectives[std::size_t(collective)].type;
  const auto before = parse_spec(type.sharding_before), after = parse_spec(type.sharding_after);
  if (!after) return {};
  Reshard reshard{.name = type.op, .dtype = type.dtype, .why = type.cause};
  reshard.from_host = type.sharding_before == "host";
  if (!before && !reshard.from_host) return {};
  const int mesh = mesh_with_axes(trace, type.groups->devices, before.value_or(Spec{}), *after);
  if (mesh < 0) return {};
  // The whole shape follows from one device's result and the axes that cut it.
  std::vector<std::int64_t> shape = parse_shape(type.shape);
  if (shape.size() < after->axes.size()) return {};
  for (std::size_t d = 0; d < after->axes.size(); ++d) shape[d] *= parts_of(trace.meshes[std::size_t(mesh)], after->axes[d]);
  if (before) reshard.before = make_layout(trace, mesh, shape, *before);
  reshard.after = make_layout(trace, mesh, shape, *after);
  if (!reshard.after || (before && !reshard.before)) return {};
  if (before) reshard.partial_before = before->partial;
  reshard.partial_after = after->partial;
  reshard.recorded = fmt::format("{}, {} on the wire", type.kind, bytes_text(type.wire_bytes).toStdString());
  return reshard;
}

std::optional<Reshard> reshard_of_array(const TraceData& trace, int array) {
  if (array < 0 || std::size_t(array) >= trace.arrays.size()) return {};
  const Array& result = trace.arrays[std::size_t(array)];
  const Launch* launch = result.launch < 0 ? nullptr : trace.launch(result.process, result.launch);
  if (!launch || launch->program < 0) return {};
  const Program& program = trace.programs[std::size_t(launch->program)];
  for (const auto& operand : program.operands) {
    if (operand.shape != result.layout->shape) continue;
    Reshard reshard{.name = result.display_name(), .dtype = result.dtype, .after = result.layout, .why = program.name};
    if (operand.sharding == "host") {
      reshard.from_host = true;
      return reshard;
    }
    // The array that lay so last, before this launch; else the layout as the text says it.
    for (std::size_t i = 0; i < trace.arrays.size(); ++i) {
      const Array& other = trace.arrays[i];
      if (int(i) != array && other.layout->spec == operand.sharding && other.layout->shape == operand.shape && other.time <= result.time)
        reshard.before = other.layout;
    }
    if (const auto spec = parse_spec(operand.sharding)) {
      if (!reshard.before) reshard.before = make_layout(trace, result.layout->mesh, operand.shape, *spec);
      reshard.partial_before = spec->partial;
    }
    if (!reshard.before) continue;
    for (const auto& call : trace.collectives)
      if (call.program == launch->program && call.launch == launch->number) {
        reshard.recorded += fmt::format("{}{}, {} on the wire", reshard.recorded.empty() ? "" : "; ", call.type->kind,
                                        bytes_text(call.type->wire_bytes).toStdString());
        if (!call.type->cause.empty()) reshard.why = call.type->cause;
      }
    return reshard;
  }
  return {};
}

}  // namespace shardlab::gui
