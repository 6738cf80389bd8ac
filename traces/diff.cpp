#include "traces/diff.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

namespace shardlab::traces {
namespace {

// One launch of one process as people know it: what it runs, where, and what it moves.
struct Step {
  std::string text, place;
};

std::string program_text(const ProgramRow& program) {
  std::vector<std::string> values;
  for (const ProgramValueRow& value : program.values)
    values.push_back(fmt::format("{}{}[{}] {}", value.is_result ? "-> " : "", value.dtype, fmt::join(value.shape, ","), value.sharding));
  std::string text = fmt::format("{} on {}: {}", program.name, program.mesh, fmt::join(values, "; "));
  for (const CollectiveShape& each : program.collectives)
    text += fmt::format("; {} of {} over {}{}, {} bytes", each.kind, each.op, each.groups, each.pairs, each.wire_bytes);
  return text;
}

std::map<int, std::vector<Step>> steps_of(TraceReader& reader) {
  std::map<Id, std::string> programs;
  for (const ProgramRow& program : reader.programs()) programs[program.id] = program_text(program);
  std::vector<LaunchRow> launches = reader.launches();
  std::stable_sort(launches.begin(), launches.end(),
                   [](const LaunchRow& a, const LaunchRow& b) { return std::pair(a.process, a.launch) < std::pair(b.process, b.launch); });
  std::map<int, std::vector<Step>> steps;
  for (const LaunchRow& launch : launches) steps[launch.process].push_back({programs[launch.program], reader.site(launch.site).text()});
  return steps;
}

std::map<std::string, std::string> arrays_of(TraceReader& reader) {
  std::map<Id, std::string> layouts;
  for (const LayoutRow& layout : reader.layouts()) {
    std::vector<std::string> shards;
    for (const ShardRow& shard : layout.shards) shards.push_back(fmt::format("{}:{}", shard.device, shard.ranges));
    layouts[layout.id] = fmt::format("({}) {}, {}", fmt::join(layout.shape, ", "), layout.spec, fmt::join(shards, " "));
  }
  std::map<std::string, std::string> arrays;  // the last of each name; what nobody placed is each process's own
  for (const ArrayRow& array : reader.arrays())
    if (!array.name.empty())
      arrays[array.committed ? std::string(array.name) : fmt::format("{} of process {}", array.name, array.process)] =
          fmt::format("{} {}", array.dtype, layouts[array.layout]);
  return arrays;
}

std::vector<std::string> verdicts_of(TraceReader& reader) {
  std::vector<std::string> verdicts;
  for (const Diagnosis& each : reader.diagnoses())
    verdicts.push_back(fmt::format("{} of processes {}", each.code, fmt::join(each.processes, ", ")));
  return verdicts;
}

std::string machine_of(TraceReader& reader) {
  std::map<int, int> devices;
  for (const DeviceRow& device : reader.devices()) ++devices[device.process];
  std::vector<std::string> each;
  for (auto [process, count] : devices) each.push_back(std::to_string(count));
  return fmt::format("{} processes with {} devices", devices.size(), fmt::join(each, ", "));
}

}  // namespace

std::vector<Difference> differences(TraceReader& left, TraceReader& right, std::size_t most) {
  std::vector<Difference> found;
  auto add = [&](Difference difference) {
    if (found.size() < most) found.push_back(std::move(difference));
  };
  if (std::string a = machine_of(left), b = machine_of(right); a != b) add({"devices", -1, "", a, b});
  auto a = steps_of(left), b = steps_of(right);
  std::set<int> processes;
  for (const auto* steps : {&a, &b})
    for (const auto& [process, list] : *steps) processes.insert(process);
  for (int process : processes) {
    const std::vector<Step>&mine = a[process], &theirs = b[process];
    for (std::size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i) {
      std::string x = i < mine.size() ? mine[i].text : "", y = i < theirs.size() ? theirs[i].text : "";
      if (x == y) continue;
      add({"launch", process, i < mine.size() ? mine[i].place : theirs[i].place, x, y});
      break;
    }
  }
  auto arrays = arrays_of(left), others = arrays_of(right);
  std::set<std::string> names;
  for (const auto* each : {&arrays, &others})
    for (const auto& [name, text] : *each) names.insert(name);
  for (const std::string& name : names)
    if (arrays[name] != others[name]) add({"array", -1, name, arrays[name], others[name]});
  std::vector<std::string> verdicts = verdicts_of(left), other_verdicts = verdicts_of(right);
  for (std::size_t i = 0; i < std::max(verdicts.size(), other_verdicts.size()); ++i) {
    std::string x = i < verdicts.size() ? verdicts[i] : "", y = i < other_verdicts.size() ? other_verdicts[i] : "";
    if (x != y) add({"diagnosis", -1, "", x, y});
  }
  return found;
}

std::string text_of(const Difference& difference) {
  std::string head = difference.what;
  if (difference.process >= 0) head += fmt::format(" of process {}", difference.process);
  if (!difference.place.empty()) head += fmt::format(" at {}", difference.place);
  auto side = [](const std::string& text) { return text.empty() ? std::string("nothing") : text; };
  return fmt::format("{}\n  left:  {}\n  right: {}", head, side(difference.left), side(difference.right));
}

}  // namespace shardlab::traces
