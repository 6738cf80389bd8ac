// Who waited for whom, and when: from recorded waits, reads that wait for agreement, and, where the run ended in a verdict, the calls
// that its processes stood at.
#pragma once

#include <algorithm>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// `process` could not go on before `peer` came.
struct Wait {
  int process = 0, peer = 0;
  Ns begin = 0, end = kOpen;
  int collective = -1;  // that it waits in, or
  int launch = -1;      // index of the launch that the peer has not issued, or stands elsewhere than at,
  int read = -1;        // and of the host read that needs it; -1: the launch itself does
  int beside = -1;      // index of the ledger's wait, of one beside the launches: at a barrier, for a key
  bool any = false;     // any of those that it waits for so would do
  bool at(Ns time) const { return begin <= time && time < end; }
};

// Waits by their begin. Those of a moment are found without looking at all: of each block the latest end is known.
class WaitList {
 public:
  WaitList(std::vector<Wait> waits = {});

  std::size_t size() const { return waits_.size(); }
  bool empty() const { return waits_.empty(); }
  const Wait& operator[](std::size_t index) const { return waits_[index]; }
  auto begin() const { return waits_.begin(); }
  auto end() const { return waits_.end(); }
  // The first that begins at `time` or later.
  std::size_t first_from(Ns time) const;

  // `visit` gets each that holds at `time`, by begin.
  template <typename Visit>
  void at(Ns time, Visit visit) const {
    const std::size_t to = first_from(time == kOpen ? kOpen : time + 1);
    for (std::size_t i = 0; i < to; ++i) {
      if (i % kBlock == 0 && end_max_[i / kBlock] <= time) {
        i += kBlock - 1;
        continue;
      }
      if (waits_[i].at(time)) visit(waits_[i]);
    }
  }

 private:
  static constexpr std::size_t kBlock = 64;
  std::vector<Wait> waits_;
  std::vector<Ns> end_max_;  // of each block
};

WaitList find_waits(const TraceData& trace);
// Times at which somebody began or ceased to wait, ascending, each once.
std::vector<Ns> change_times(const WaitList& waits);
// From when on a wait's end says nothing, since the verdict ended all of them; kOpen: there was none.
Ns verdict_time(const TraceData& trace);

}  // namespace shardlab::gui
