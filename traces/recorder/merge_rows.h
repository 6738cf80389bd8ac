// Writes the rows of a merged trace from what was loaded and joined; incarnations of a process come one after the other and are one row.
#pragma once

#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "traces/recorder/collect.h"
#include "traces/recorder/merge.h"
#include "traces/trace_writer.h"

namespace shardlab::recorder {

// The tracks of a trace, made as their processes and devices are met.
struct Tracks {
  std::vector<traces::Id> host, batch;  // by index of the processes
  std::set<int> devices;
};

// The arrays of a trace, by index of the processes: from the process's id to the trace's.
using ArrayIds = std::vector<std::unordered_map<std::int64_t, traces::Id>>;

class RowWriter {
 public:
  // All outlive this; `joined` gets the ids of its calls, `array_ids` those of the arrays, `log` what was noticed on the way. `before`: the
  // arrays that were written earlier, null: none.
  RowWriter(traces::TraceWriter& writer, const MergeOptions& options, const std::vector<ProcessTrace>& processes,
            const Definitions& definitions, Joined& joined, Tracks& tracks, ArrayIds& array_ids, std::vector<traces::ImportLogRow>& log,
            const ArrayIds* before = nullptr);
  void write_all();
  void write_tracks();
  // What processes did: launches, collectives, events, reads, arrays.
  void write_deeds();
  // What holds for the whole: processes, devices, losses, meta.
  void write_frame();

 private:
  void write_meta();
  void write_processes();
  void write_epochs();
  void write_devices();
  void link_diagnoses();
  void write_launches();
  void write_collectives();
  void write_member_rows(traces::CollectiveRow& row, const LogicalLaunch& launch, const LogicalCall& call);
  void write_wait_edges(const LogicalLaunch& launch, const LogicalCall& call);
  void write_host_events(std::size_t index);
  void write_batch_events(std::size_t index);
  void write_arrays();
  void write_array_ends();
  void write_launch_arrays();
  void write_checksums();
  void write_verdict();
  void write_losses();
  traces::Id array_of(std::size_t index, std::int64_t id) const;  // 0: it is not known
  std::vector<DeviceRecord> all_devices() const;

  traces::TraceWriter& writer_;
  const MergeOptions& options_;
  const std::vector<ProcessTrace>& processes_;
  const Definitions& definitions_;
  Joined& joined_;
  std::vector<traces::ImportLogRow>& log_;
  Tracks& tracks_;
  ArrayIds& array_ids_;
  const ArrayIds* before_;
  std::vector<traces::LaunchArrayRow> gives_;                // of the arrays written
  std::vector<std::vector<std::size_t>> participant_calls_;  // per diagnosis and participant: index of calls + 1, 0 for none
  std::map<std::size_t, traces::Id> diagnosis_of_call_;
};

}  // namespace shardlab::recorder
