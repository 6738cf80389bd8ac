// What devices hold of arrays over time, what a launch holds between its steps, and which arrays those are.
//
// Every device counts its own part, also where virtual devices share the memory of equal replicas: so it would be on a real cluster. An
// array whose end was not recorded is held to the end.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gui/models/step_counter.h"
#include "gui/models/trace_data.h"

namespace shardlab::gui {

// Devices of one process that hold the same amounts at all times.
struct DeviceMemory {
  int process = 0;
  std::vector<int> devices;  // ordinals, ascending
  StepCounter arrays;
  StepCounter with_steps;  // and what launches hold, at most, between their steps; empty where none holds anything
};

class MemoryUse {
 public:
  struct Moment {
    int device = -1;  // -1: no device holds anything
    Ns time = 0;
    std::int64_t arrays = 0, with_steps = 0;
  };

  // Of `wall`, at the times of `shown`, which is the same trace or its copy on another axis.
  static std::shared_ptr<const MemoryUse> make(const TraceData& wall, const TraceData& shown);

  const std::vector<DeviceMemory>& devices() const { return devices_; }
  bool empty() const { return devices_.empty(); }
  // The most that any device of the process holds at each time, or any device at all; null where none holds anything.
  struct Most {
    const StepCounter* arrays = nullptr;
    const StepCounter* with_steps = nullptr;  // as in DeviceMemory, never null beside `arrays`
  };
  Most of_process(int process) const;
  Most of_all() const;
  // Index into devices(), -1 where it holds nothing ever.
  int index_of(int device) const;
  std::int64_t most() const { return most_; }  // of any device, with what launches hold

  // The fullest device by its arrays, and when; `only`: indices into devices() to choose from, null: all.
  Moment peak(TimeRange range, const std::vector<int>* only = nullptr) const;
  Moment at(Ns time, const std::vector<int>* only = nullptr) const;

  // Where several are to be taken together; else it is the one's.
  struct Together {
    std::vector<int> of;  // indices into devices_
    StepCounter arrays, with_steps;
  };

 private:
  void take_together(Together& together) const;
  Most most(const Together& together) const;

  std::vector<DeviceMemory> devices_;  // by process, then device
  std::vector<int> index_;             // by ordinal
  std::map<int, Together> processes_;
  Together all_;
  std::int64_t most_ = 0;
};

// An array of which a device holds a part.
struct HeldArray {
  int array = -1;  // index into the trace's
  std::int64_t bytes = 0;
  Ns begin = 0, end = kOpen;  // there
  bool donated = false;
  int last_taker = -1;  // of find_takers
  std::int64_t takers = 0;
};

// What the device held at that time of the trace's clock, the largest first.
std::vector<HeldArray> held_at(const TraceData& trace, int device, Ns time);

// Adds to each how many launches of the device's process, from that time on, take it, and the last of them: index into the trace's, -1:
// none.
void find_takers(const TraceData& trace, int device, Ns time, std::vector<HeldArray>& held);

// "x float32[8,16] at toy.cpp:31".
std::string held_text(const TraceData& trace, const HeldArray& held);

// Why there is nothing to show, or "".
std::string why_no_memory(const TraceData& trace);

}  // namespace shardlab::gui
