// What an export takes from a trace: lanes, their events properly nested, collectives, counters; a row at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "traces/exporters/program_steps.h"
#include "traces/trace_reader.h"

namespace shardlab::exporters {

using traces::Id;
using traces::kNoTime;
using traces::Ns;

// A line of the timeline: one device, or the thread of a process that issues.
struct Lane {
  int process = 0;
  int device = -1;  // ordinal; -1: the host's
  std::string name;
  Id own = 0, batch = 0;  // tracks; batch: of what all devices of the process do in lockstep, 0 where there is none
};

// What a collective is, whichever device sees it. Text is borrowed from the source.
struct CollectiveFacts {
  Id id = 0, program = 0;
  std::int64_t seq = 0, launch = 0;
  int call = 0;
  traces::MatchState state = traces::MatchState::kMatched;
  traces::CollectiveShape what;
  Id kind = 0, op = 0, axes = 0, groups = 0;  // strings
  const std::vector<int>* devices = nullptr;
  // That the device is in; all its devices where it has pairs instead of groups.
  std::vector<int> group_of(int device) const;
};

struct Event {
  Ns begin = 0, end = kNoTime;  // kNoTime: it never ended, and what follows lies within it
  bool moment = false;          // has no duration
  bool cut = false;             // ends here because what it lies in does
  traces::EventKind kind = traces::EventKind::kCompute;
  Id name = 0, site = 0;  // a string, a site
  std::int64_t launch = -1;
  std::uint32_t flags = 0;                      // of traces/rows.h
  const CollectiveFacts* collective = nullptr;  // until the next event; null for others, and where its row was lost
};

// A member of a collective and the slice that shows it: on the lane of its process's first device in it, or its own.
struct FlowPoint {
  Id collective = 0;
  int process = 0, device = 0;
  Ns time = 0;
};

// One thread at a time. Damage ends what it hits, and is told in notices().
class Source {
 public:
  explicit Source(const std::string& path);

  traces::TraceReader& reader() { return reader_; }
  std::string_view text(Id string) const { return reader_.text(string); }
  const std::vector<traces::ProcessRow>& processes() const { return processes_; }
  const std::vector<Lane>& lanes() const { return lanes_; }  // by process, the host's first, then by device

  // By begin; each lies wholly within the one before that has not ended.
  void for_each_event(const Lane& lane, const std::function<void(const Event&)>& visit);
  // Collective by collective, by time within; those of one member are left out.
  void for_each_flow(const std::function<void(const std::vector<FlowPoint>&)>& visit);
  // Bytes that devices hold of arrays, after each change: by device, then time. None of a trace that does not record when arrays end.
  void for_each_memory(const std::function<void(int device, Ns time, std::int64_t bytes)>& visit);
  // Bytes of the calls of collectives that have begun and not ended, over all processes, by time.
  void for_each_in_flight(const std::function<void(Ns time, std::int64_t bytes)>& visit);

  // Of the program that the process ran in that launch; none where its record was lost.
  const std::vector<ProgramStep>& steps_of(int process, std::int64_t launch);

  // The trace's, and what could not be read here.
  std::vector<std::string> notices();

 private:
  class Track;
  const CollectiveFacts* facts(Id collective);
  const std::vector<int>& devices_of(Id groups, Id pairs, const traces::CollectiveShape& what);
  Id program_of(int process, std::int64_t launch);  // 0 where its record was lost
  // Whether the device runs the launch's program with others of its process; so it is taken where nothing is known of it.
  bool takes_part(const Lane& lane, std::int64_t launch);
  void guarded(std::string_view what, const std::function<void()>& read);

  traces::TraceReader reader_;
  traces::Database database_;
  std::vector<traces::ProcessRow> processes_;
  std::vector<Lane> lanes_;
  std::unique_ptr<traces::Statement> find_, find_program_;  // a collective by its id, a program by a launch of it
  std::map<Id, std::vector<ProgramStep>> steps_;            // by program, 0 for none
  std::map<Id, std::vector<int>> program_devices_;          // the same, ascending
  std::pair<std::int64_t, bool> asked_{-1, true};           // of takes_part: the last launch of the lane at hand
  CollectiveFacts facts_;
  bool facts_known_ = false;
  std::map<std::pair<Id, Id>, std::vector<int>> devices_;  // by groups and pairs
  std::set<std::string> missed_;
};

}  // namespace shardlab::exporters
