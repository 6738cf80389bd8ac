// How what several processes need travels between them: inside a host by shared memory, between hosts once.
//
// A route is the same on every process that works it out, so both ends of a message list it in the same order. Its stages follow each
// other; messages of one stage need nothing of each other.
#pragma once

#include <cstdint>
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
inline constexpr int kReduceStages = 4;
// `owners`: the process of each rank; `wanting`: the processes that need the whole. On one host everybody sends its subtrees to all who
// want them. Of several hosts each combines what it has at one process; these exchange, and hand the result on. `turn` spreads the work
// of several such reductions over the processes of a host.
std::vector<ReduceMessage> reduce_route(const std::vector<int>& owners, const std::vector<int>& wanting, int turn, const HostOf& host_of);

// Into how many parts a reduction of so many bytes is cut, so that everybody combines a part and hands it on (reduce-scatter, then
// all-gather) instead of everybody all of it: one for each process that wants the result, or 1 where that moves no less or is too small
// for a second stage to pay.
int reduce_parts(const std::vector<int>& owners, const std::vector<int>& wanting, std::int64_t bytes);
// The route of one such part: inside each host to one process, from there to the one that combines the part, and back the same way.
// `part` says who that is; the tree is that of reduce_route().
std::vector<ReduceMessage> part_route(const std::vector<int>& owners, const std::vector<int>& wanting, int part, const HostOf& host_of);

// One piece of data from the process that has it to others.
struct SpreadMessage {
  int stage = 0;
  int from = 0, to = 0;
};
inline constexpr int kSpreadStages = 2;
// On the source's host each gets it from there; on another host one does, chosen by `turn`, and hands it on.
std::vector<SpreadMessage> spread_route(int source, const std::vector<int>& wanting, int turn, const HostOf& host_of);

}  // namespace shardlab
