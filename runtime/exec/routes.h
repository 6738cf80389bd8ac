// How what several processes need travels between them: inside a host by shared memory, between hosts once.
//
// A route is the same on every process that works it out, so both ends of a message list it in the same order. Its stages follow each
// other; messages of one stage need nothing of each other.
#pragma once

#include <functional>
#include <vector>

namespace shardlab {

using HostOf = std::function<int(int process)>;  // empty: all are on one host

// A maximal run of ranks with one owner, on the way down the balanced tree over all ranks.
struct RankRange {
  int first = 0, last = 0;  // [first, last)
  int owner = 0;
};
// The complete subtrees of the tree over all ranks (tree_split() in backend.h) whose ranks have one owner, in order; `owners` is of
// processes, or of hosts.
std::vector<RankRange> owned_subtrees(const std::vector<int>& owners);

// The value of ranks [first, last) goes from one process to another.
struct ReduceMessage {
  int stage = 0;
  int from = 0, to = 0;
  int first = 0, last = 0;
};
inline constexpr int kReduceStages = 3;
// `owners`: the process of each rank; `wanting`: the processes that need the whole. On one host everybody sends its subtrees to all who
// want them. Of several hosts each combines what it has at one process; these exchange, and hand the result on. `turn` spreads the work
// of several such reductions over the processes of a host.
std::vector<ReduceMessage> reduce_route(const std::vector<int>& owners, const std::vector<int>& wanting, int turn, const HostOf& host_of);

// One piece of data from the process that has it to others.
struct SpreadMessage {
  int stage = 0;
  int from = 0, to = 0;
};
inline constexpr int kSpreadStages = 2;
// On the source's host each gets it from there; on another host one does, chosen by `turn`, and hands it on.
std::vector<SpreadMessage> spread_route(int source, const std::vector<int>& wanting, int turn, const HostOf& host_of);

}  // namespace shardlab
