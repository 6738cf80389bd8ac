// Unifies over processes what each tells with ids of its own: sites, programs, meshes, layouts.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "traces/recorder/frame_names.h"
#include "traces/recorder/process_trace.h"
#include "traces/trace_writer.h"

namespace shardlab::recorder {

struct UnifiedProgram {
  traces::Id id = 0;  // 0: its record was lost
  std::uint64_t fingerprint = 0;
  std::string name;
  std::vector<int> devices, processes;
  int device_set = -1;                               // one number for each ordered list of devices
  std::vector<traces::CollectiveShape> collectives;  // text borrowed from `words`; site 0 where the launch's place is the better
  std::deque<std::string> words;
};

// Programs are equal when fingerprint, devices and text are; their sites are those of the first process that tells them.
class Definitions {
 public:
  // Both outlive this. Writes all definitions of all processes.
  Definitions(traces::TraceWriter& writer, const std::vector<ProcessTrace>& processes);
  // The same processes later: writes what they have told since.
  void update(const std::vector<ProcessTrace>& processes);

  // `index` is into the processes given; ids are the process's own.
  traces::Id site(std::size_t index, std::uint32_t id) const;
  const UnifiedProgram& program(std::size_t index, std::uint32_t id) const;
  traces::Id layout(std::size_t index, std::uint32_t id) const;
  // The innermost of a stack's calls that have a name; 0: none has.
  traces::Id frame(std::size_t index, std::uint32_t stack) const;

 private:
  struct OfProcess {
    std::vector<traces::Id> sites, layouts, frames;
    std::size_t stacks_done = 0;
    std::vector<const UnifiedProgram*> programs;
  };
  void add_sites(const ProcessTrace& process, OfProcess& own);
  void add_programs(const ProcessTrace& process, OfProcess& own);
  void add_layouts(const ProcessTrace& process, OfProcess& own);
  void add_stacks(const ProcessTrace& process, OfProcess& own);
  const UnifiedProgram* add_program(const ProgramRecord& record, const OfProcess& own);
  traces::Id add_mesh(const LayoutRecord& record);
  traces::Id add_layout(const LayoutRecord& record);

  traces::TraceWriter& writer_;
  std::vector<OfProcess> own_;
  std::map<std::string, UnifiedProgram> programs_;  // by what makes them equal
  FrameNames frame_names_;
  std::map<std::vector<int>, int> device_sets_;
  std::map<std::string, traces::Id> meshes_, layouts_;
};

}  // namespace shardlab::recorder
