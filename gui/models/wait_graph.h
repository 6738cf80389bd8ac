// Who waits for whom at a time, why, and what would free them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "gui/models/wait_list.h"

namespace shardlab::gui {

// Processes that wait for the same are one node.
struct WaitNode {
  std::vector<int> processes;
  bool waits = false;
  bool in_cycle = false;
  bool lasting = false;  // in a cycle that never dissolved
  std::string reason;    // "all-reduce of matmul at toy.cpp:11"
};

// Processes that wait for each other. That alone is no deadlock: what they wait for may be on its way, and the circle dissolves.
struct WaitCycle {
  std::vector<int> processes;  // of a strongly connected set, ascending
  Ns end = kOpen;              // when the first of its waits ended by itself; kOpen: none did, before the verdict or ever
  bool lasting() const { return end == kOpen; }
};

struct WaitGraph {
  std::vector<WaitNode> nodes;             // in a cycle first, then waiting, then free
  std::vector<std::pair<int, int>> edges;  // waits for; indices of nodes
  std::set<std::pair<int, int>> any;       // of the edges: of those that leave the node so, one is enough
  std::vector<WaitCycle> cycles;
  int node_of(int process) const;  // -1: none
};

// The first time with the largest cycle that lasts, else the last with most waits; -1 where nobody waits.
Ns telling_time(const TraceData& trace, const WaitList& waits);
WaitGraph make_wait_graph(const TraceData& trace, const WaitList& waits, Ns time);

// Which processes could go on if these came to where they are waited for; the freed free others in turn.
std::vector<int> freed_by(const WaitList& waits, Ns time, const std::vector<int>& came);
// What would come of it if some processes did not need to wait for some others any more.
struct WhatIf {
  std::vector<int> freed;                 // that could go on, and whom they free in turn
  std::vector<std::vector<int>> circles;  // of processes, that would be left
};
WhatIf without_waits(const WaitList& waits, Ns time, const std::vector<int>& waiting, const std::vector<int>& peers);

// The waits of one process for another, each of which keeps the last circle closed: without it there is none. At most `most`.
std::vector<std::pair<int, int>> waits_that_close(const WaitList& waits, Ns time, std::size_t most);

// The processes each of which alone would free the most, with whom they free.
struct Unblocker {
  int process = 0;
  std::vector<int> frees;
};
std::vector<Unblocker> best_unblockers(const TraceData& trace, const WaitList& waits, Ns time);

// The chain from a waiting process to its root: each step says who waits in what for whom.
struct WaitStep {
  int process = 0;
  int collective = -1;
  int site = -1;
  std::string text;
};
std::vector<WaitStep> explain_wait(const TraceData& trace, const WaitList& waits, int process, Ns time);

// Whether it has ended by then: nobody who waits for it will see it come.
bool has_ended(const TraceData& trace, int process, Ns time);

// The wait that an event of a lane shows, as an index of `waits`: a bar that waits for peers, or a read that waits for agreement.
// -1: it does not wait.
int wait_of_event(const TraceData& trace, const WaitList& waits, int lane, std::int64_t event);

std::string wait_reason(const TraceData& trace, const Wait& wait);

}  // namespace shardlab::gui
