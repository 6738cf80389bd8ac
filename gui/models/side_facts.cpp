#include "gui/models/side_facts.h"

#include <algorithm>
#include <filesystem>

#include "gui/models/array_uses.h"
#include "traces/callers.h"

namespace shardlab::gui {

bool is_own_step(const Participant& side) { return side.kind == "local" || side.kind == "predicate"; }

const Launch* launch_of_side(const TraceData& trace, const Participant& side) {
  if (is_own_step(side) || side.seq < 0) return nullptr;
  // Launches lie by process, then in the order of issue; a rank counts on one set of devices alone.
  const auto first =
      std::partition_point(trace.launches.begin(), trace.launches.end(), [&](const Launch& each) { return each.process < side.process; });
  for (auto launch = first; launch != trace.launches.end() && launch->process == side.process; ++launch) {
    if (launch->program < 0) continue;
    const Program& program = trace.programs[std::size_t(launch->program)];
    if (traces::stands_in(side, launch->seq, program.name, program.devices)) return &*launch;
  }
  return nullptr;
}

std::string place_with_folders(const TraceData& trace, const std::string& where) {
  const std::size_t colon = where.rfind(':');
  if (colon == std::string::npos) return where;
  for (const Site& site : trace.sites)
    if (site.text() == where) return site.path();
  // A line where nothing was launched, as of an error.
  std::string_view file;
  for (const Site& site : trace.sites) {
    if (site.line <= 0 || site.file == file || std::filesystem::path(site.file).filename() != where.substr(0, colon)) continue;
    if (!file.empty()) return where;
    file = site.file;
  }
  return file.empty() ? where : std::string(file) + where.substr(colon);
}

std::string callers_text(const TraceData& trace, const Launch& launch) {
  traces::Callers callers;
  for (int i = launch.frame; i >= 0; i = trace.frames[std::size_t(i)].parent) {
    const Frame& frame = trace.frames[std::size_t(i)];
    if (!frame.function.empty()) callers.push_back({.function = frame.function, .file = frame.file, .line = frame.line});
    if (frame.function == "main") break;
  }
  return traces::callers_text(callers);
}

namespace {

std::string maker_of(const TraceData& trace, const Array& array) {
  std::string text;
  if (const Launch* launch = array.launch < 0 ? nullptr : trace.launch(array.process, array.launch); launch && launch->program >= 0)
    text = trace.programs[std::size_t(launch->program)].name;
  const std::string place = trace.site_text(array.site);
  if (!place.empty()) text += (text.empty() ? "at " : " at ") + place;
  return text;
}

}  // namespace

std::vector<SideArray> arrays_of_side(const TraceData& trace, const Launch& launch) {
  std::vector<SideArray> arrays;
  if (!trace.array_uses) return arrays;
  for (const ArrayUse& use : trace.array_uses->of_launch(launch.process, launch.number)) {
    const Array& array = trace.arrays[std::size_t(use.array)];
    arrays.push_back({use.array, use.gives, use.donated, use.gives ? std::string() : maker_of(trace, array)});
  }
  return arrays;
}

}  // namespace shardlab::gui
