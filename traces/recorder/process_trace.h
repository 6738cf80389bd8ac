// What one process recorded, decoded from its part.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "traces/database.h"
#include "traces/recorder/record.h"
#include "traces/rows.h"

namespace shardlab::recorder {

struct CallTrace {
  Ns start_ns = traces::kNoTime, wait_ns = traces::kNoTime, end_ns = traces::kNoTime;
  traces::MemberStatus status = traces::MemberStatus::kIssued;
  std::int64_t moved_bytes = 0;
  std::vector<std::int32_t> peers;
};

struct LaunchTrace {
  std::int64_t number = 0, seq = 0, epoch = 0;
  std::uint32_t program = 0, site = 0, stack = 0;  // the process's own ids; 0: unknown
  Ns issued_ns = 0, started_ns = traces::kNoTime, done_ns = traces::kNoTime;
  traces::MemberStatus status = traces::MemberStatus::kIssued;
  std::vector<CallTrace> calls;  // by index in the program; may be shorter
};

// Definitions lie at their ids, as far as they were recorded. Launches are numbered on from epoch to epoch.
struct ProcessTrace {
  int process = 0, incarnation = 0;
  std::vector<EpochRecord> epochs;                 // of an elastic job, but the first
  std::int64_t first_launch = 0, next_launch = 0;  // numbers of the present epoch, and of the next
  ProcessRecord info;
  std::vector<DeviceRecord> devices;  // of the whole job
  std::vector<std::string> texts;
  std::vector<SiteRecord> sites;
  std::vector<ProgramRecord> programs;
  std::vector<LayoutRecord> layouts;
  std::vector<ModuleRecord> modules;
  std::vector<StackRecord> stacks;
  std::map<std::int64_t, LaunchTrace> launches;
  std::map<std::int64_t, std::vector<TakenRecord>> takes;  // by the number of the launch
  std::vector<ComputeRecord> computes;
  std::map<std::int64_t, ArrayRecord> arrays;         // by the process's id, which counts up
  std::unordered_set<std::int64_t> arrays_taken;      // ids of arrays that a follower has taken out, and that have not ended
  std::map<std::int64_t, ArrayEndRecord> array_ends;  // by the process's id
  std::map<std::int64_t, ChecksumsRecord> checksums;  // the same
  std::vector<HostReadRecord> host_reads;
  std::vector<traces::DroppedRow> dropped;
  std::vector<std::string> problems;  // whole sentences without a full stop
  Ns first_ns = traces::kNoTime, last_ns = traces::kNoTime;
  bool records_array_ends = true;  // programs of an older shardlab do not
  bool closed = false;
  bool gone = false;  // it did not close, and there is no such process any more
  std::int64_t records = 0;

  // Null where it was not recorded.
  const ProgramRecord* program(std::uint32_t id) const;
  const SiteRecord* site(std::uint32_t id) const;
  const LayoutRecord* layout(std::uint32_t id) const;
  std::string_view text(std::uint32_t id) const;
};

// Reads a part bit by bit while its process writes it.
class PartReader {
 public:
  // Throws IoError where the file is missing or no part at all.
  PartReader(const std::string& path, int process);
  // Adds to `trace` what was written since the last time; what cannot be read becomes a problem.
  void read(ProcessTrace& trace);

 private:
  int process_;
  std::int64_t version_ = 0;  // of the schema
  traces::Database database_;
  std::int64_t position_ = -1, dropped_ = 0;  // of the last record, the last row of what was dropped
};

// Reads a part; what cannot be read becomes a problem. Throws IoError where the file is missing or no part at all.
// Launches are numbered from `first_launch` on: those before are of an earlier incarnation.
ProcessTrace read_part(const std::string& path, int process, std::int64_t first_launch = 0);

}  // namespace shardlab::recorder
