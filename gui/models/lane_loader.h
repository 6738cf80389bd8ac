// Reads the events of a trace into lanes, over several threads where there are many.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "gui/models/lane_builder.h"
#include "gui/models/last_load.h"
#include "gui/models/trace_loader.h"
#include "traces/trace_reader.h"

namespace shardlab::gui {

// A time of the file, which may lack it.
inline Ns open_if_missing(Ns time) { return time == traces::kNoTime ? kOpen : time; }

// Once everything else of the trace is there: events refer to its sites and collectives.
class LaneLoader {
 public:
  // All outlive this. `collective_of`: from the file's ids to indices of the trace's collectives, -1 for none.
  LaneLoader(const LoadOptions& options, traces::TraceReader& reader, TraceData& trace, const std::vector<int>& collective_of);

  // What the file says of its lanes, for a first picture before the events are read; null where there are few.
  TracePtr preview() const;
  // Before load(), of a trace that grows: tracks and labels as the file has them, left by the last load and brought up to date. `since`:
  // what is to be read anew; null: all.
  void keep(std::map<traces::Id, LaneEvents>& tracks, LabelRows& labels, const traces::Growth* since);
  // Before load(): events that begin earlier are left out; `share`: of the time, for what is made room for.
  void read_from(Ns from, double share) { from_ = from, share_ = share; }
  // By what the file says of its tracks.
  TimeRange summary_range() const { return summary_range_; }
  // Lanes, labels and the range; incomplete where the load was stopped.
  void load();
  std::int64_t rows_read() const { return events_done_; }

 private:
  using Labels = LabelRows;  // of one reading thread; renumbered into the trace's when all have ended

  // By program, whether some of a process's devices run it without the others; empty: none is so.
  std::vector<bool> parting_programs(int process) const;
  void read_events(traces::TraceReader& reader, const traces::TrackRow& track, Labels& labels, LaneEvents& events);
  // What stands of a track, and the time from which it is to be read; kNoRow: it stands whole.
  Ns take_kept(const traces::TrackRow& track, LaneEvents& events);
  // Returns what the other threads' readers missed.
  std::vector<std::string> read_all(std::vector<Labels>& labels, std::vector<std::uint32_t>& reader_of, std::vector<LaneEvents>& events);
  void renumber(const std::vector<Labels>& labels, const std::vector<std::uint32_t>& reader_of, std::vector<LaneEvents>& events);
  void keep_and_index(std::vector<LaneEvents>& events);
  void tell_progress(std::int64_t events);

  const LoadOptions& options_;
  traces::TraceReader& reader_;
  TraceData& trace_;
  const std::vector<int>& collective_of_;
  std::vector<traces::TrackRow> tracks_;
  TimeRange summary_range_;
  std::int64_t events_total_ = 0;
  std::atomic<std::int64_t> events_done_ = 0;
  std::map<traces::Id, LaneEvents>* kept_ = nullptr;
  LabelRows* kept_labels_ = nullptr;
  const traces::Growth* since_ = nullptr;
  Ns from_ = std::numeric_limits<Ns>::min();
  double share_ = 1;
};

}  // namespace shardlab::gui
