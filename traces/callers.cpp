#include "traces/callers.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace shardlab::traces {
namespace {

// What a trace has of launches, to look sides up in.
class Stacks {
 public:
  explicit Stacks(TraceReader& reader) : reader_(reader), frames_(reader.frames()) {
    if (frames_.empty()) return;
    launches_ = reader.launches();
    programs_ = reader.programs();
    for (const ProgramRow& program : programs_) of_id_[program.id] = &program;
  }
  Callers of(const Participant& side) const {
    const LaunchRow* launch = launch_of(side);
    Callers callers;
    // Parents come first in a whole table; a torn one ends the chain.
    for (Id id = launch ? launch->frame : 0; id > 0 && id <= std::ssize(frames_); id = frames_[std::size_t(id) - 1].parent) {
      const FrameRow& frame = frames_[std::size_t(id) - 1];
      if (frame.id != id || frame.parent >= id) break;
      if (!frame.function.empty()) callers.push_back(frame);
      if (frame.function == "main") break;
    }
    return callers;
  }

 private:
  // The place must be the launch's own: a process may have gone on since.
  const LaunchRow* launch_of(const Participant& side) const {
    if (side.seq < 0) return nullptr;
    auto launch =
        std::partition_point(launches_.begin(), launches_.end(), [&](const LaunchRow& each) { return each.process < side.process; });
    for (; launch != launches_.end() && launch->process == side.process; ++launch) {
      const auto program = of_id_.find(launch->program);
      if (program == of_id_.end() || !stands_in(side, launch->seq, program->second->name, program->second->devices)) continue;
      if (reader_.site(launch->site).text() == side.where) return &*launch;
    }
    return nullptr;
  }

  TraceReader& reader_;
  std::vector<FrameRow> frames_;
  std::vector<LaunchRow> launches_;
  std::vector<ProgramRow> programs_;
  std::map<Id, const ProgramRow*> of_id_;
};

}  // namespace

std::string callers_text(std::span<const FrameRow> callers, std::string_view where) {
  std::string text;
  for (std::size_t i = 0; i < callers.size(); ++i) {
    if (i == kCallersTold) return text + ", …";
    const FrameRow& caller = callers[i];
    text += fmt::format("{}{}", i == 0 ? "" : ", ", caller.function);
    if (caller.file.empty()) continue;
    const std::string place = fmt::format("{}:{}", caller.file.substr(caller.file.rfind('/') + 1), caller.line);
    if (i > 0 || place != where) text += fmt::format(" ({})", place);
  }
  return text;
}

bool stands_in(const Participant& side, std::int64_t seq, std::string_view program, const std::vector<int>& devices) {
  return side.seq == seq && side.op == program && (side.devices.empty() || side.devices == devices);
}

std::vector<std::vector<Callers>> add_callers(TraceReader& reader, std::vector<Diagnosis>& diagnoses) {
  std::vector<std::vector<Callers>> all;
  if (diagnoses.empty()) return all;
  const Stacks stacks(reader);
  for (Diagnosis& diagnosis : diagnoses) {
    std::vector<Callers>& own = all.emplace_back();
    for (Participant& side : diagnosis.participants) {
      const Callers& callers = own.emplace_back(stacks.of(side));
      if (!callers.empty()) side.callers = callers_text(callers, side.where);
    }
  }
  return all;
}

}  // namespace shardlab::traces
