// From recorded tracks to lanes: batched events are shared by the devices they concern, overlaps get rows of their own.
#pragma once

#include <map>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

class LaneBuilder {
 public:
  // At most so many rows a device; what overlaps still more is cut short in the last.
  static constexpr std::size_t kRowsMax = 4;

  explicit LaneBuilder(TraceData& trace) : trace_(trace) {}

  // The events of a process's devices in lockstep, to be filled before the tracks that refer to it are added.
  LaneEvents& batch(std::int64_t id) { return *batches_[id].events; }

  struct Track {
    int process = 0;
    int device = -1;
    std::string name;
    std::int64_t batch = 0;  // 0: none
    LaneEvents own;
    Lane::Summary summary;
  };
  void add(Track track);
  // Puts the lanes in order: by process, its host first, then its devices.
  void finish();

 private:
  using Rows = std::vector<std::shared_ptr<LaneEvents>>;
  struct Batch {
    std::shared_ptr<LaneEvents> events = std::make_shared<LaneEvents>();
    std::vector<const DeviceGroups*> groups;  // the distinct ones of its collectives, and of its programs
    std::map<std::vector<bool>, Rows> rows;   // by which of `groups` a device is in
    bool scanned = false;
  };
  // The devices that an event concerns; null: all of the batch.
  const DeviceGroups* concerned(const LaneEvents& events, std::size_t i);
  void scan(Batch& batch);
  const Rows& rows_for(Batch& batch, int device);
  void add_lanes(const Track& track, const Rows& rows);

  TraceData& trace_;
  std::map<std::int64_t, Batch> batches_;
  std::map<int, DeviceGroups> programs_;  // their devices, as one group
};

// Splits what overlaps into rows without overlaps; open events last to the end of time. Sorts by begin first.
std::vector<std::shared_ptr<LaneEvents>> split_rows(LaneEvents events, std::size_t rows_max);

// For each member that had to wait: when the last of its peers had come. Those of whom one never came keep kOpen.
void find_starts(Collective& collective, const std::vector<Device>& devices);

}  // namespace shardlab::gui
