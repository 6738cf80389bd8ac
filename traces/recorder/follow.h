// Follows a job while it runs: a trace of what its processes have written so far, brought up to date at the cost of what is new.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "traces/recorder/merge_rows.h"

namespace shardlab::recorder {

// Reads each part on from where it stopped. A launch that all its processes have ended is written once, when it was so at the last look
// already (what belongs to it has come by then), and forgotten; launches that are open are few, and are written anew at each look. The
// trace says what a merge of the whole says, but ids count in the order of discovery, and launches do not tell of arrays that they took
// before these were first told of. One thread at a time.
class Follower {
 public:
  struct Look {
    bool grown = false;     // something was new
    std::int64_t rows = 0;  // written now
  };

  // `out` is replaced, and from then on changed in place: read it between two looks.
  Follower(std::string directory, std::string out);
  ~Follower();
  // Throws IoError where `out` cannot be written.
  Look look();

 private:
  struct Part;
  // What a process did, apart from what it told of itself.
  struct Deeds {
    std::map<std::int64_t, LaunchTrace> launches;
    std::map<std::int64_t, std::vector<TakenRecord>> takes;
    std::vector<ComputeRecord> computes;
    std::map<std::int64_t, ArrayRecord> arrays;
    std::vector<HostReadRecord> host_reads;
  };

  // Of each process, by index, how many incarnations have recorded.
  void begin(const std::map<int, int>& incarnations);
  bool may_read(std::size_t index);
  Look bring_up_to_date();
  bool read();
  bool read_part(std::size_t index);
  std::vector<Deeds> take_settled();
  void write(bool settled);
  void forget_ended_arrays(const std::vector<Deeds>& rest);

  MergeOptions options_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::map<int, int> incarnations_;      // of parts_, which has those of a process one after the other
  std::vector<ProcessTrace> processes_;  // by index of parts_; without what has been written for good
  std::unique_ptr<traces::TraceWriter> writer_;
  std::unique_ptr<Definitions> definitions_;
  Tracks tracks_;
  ArrayIds array_ids_;                     // of those that have been written for good, until nothing more is to come of them
  std::vector<traces::ImportLogRow> log_;  // of what stays
};

}  // namespace shardlab::recorder
