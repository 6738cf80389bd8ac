// Who sends which elements to whom.
#include <map>
#include <set>
#include <vector>

#include "runtime/exec/move_parts.h"
#include "runtime/exec/moves.h"

namespace shardlab {
namespace {

using spmd::Transfer;

enum class Nearness : std::uint8_t { kSameProcess, kSameHost, kElsewhere };
constexpr Nearness kNearest[] = {Nearness::kSameProcess, Nearness::kSameHost, Nearness::kElsewhere};

Nearness nearness(int process, int other, const Ownership& ownership) {
  if (process == other) return Nearness::kSameProcess;
  bool same_host = !ownership.host_of || ownership.host_of(process) == ownership.host_of(other);
  return same_host ? Nearness::kSameHost : Nearness::kElsewhere;
}

// Takes parts of `wanted` from the candidates in their order of preference until it is covered. Boxes of one sharding are equal or
// disjoint, so what is left of a box is found by keeping each distinct intersection once.
void take_from(const Box& wanted, int target, const std::vector<int>& candidates, const Layout& from, std::vector<Transfer>& transfers) {
  std::set<std::vector<std::int64_t>> taken;
  std::int64_t left = element_count(wanted);
  for (int source : candidates) {
    if (left <= 0) return;
    Box part = intersect(from.boxes[std::size_t(source)], wanted);
    std::int64_t elements = element_count(part);
    if (elements == 0 || !taken.insert(key_of(part)).second) continue;
    transfers.push_back({source, target, part, 0});
    left -= elements;
  }
  SL_CHECK(left == 0, "target {} lacks {} elements", target, left);
}

}  // namespace

std::vector<Transfer> transfers_within(const Layout& from, const Layout& to, const std::vector<std::vector<int>>& groups,
                                       const Ownership& ownership) {
  std::vector<Transfer> transfers;
  if (groups.empty()) {
    for (int position = 0; position < int(to.devices.size()); ++position)
      take_from(to.boxes[std::size_t(position)], position, {position}, from, transfers);
    return transfers;
  }
  for (const auto& group : groups) {
    std::vector<int> owners;
    for (int position : group) owners.push_back(ownership.process_of(from.devices[std::size_t(position)]));
    for (std::size_t rank = 0; rank < group.size(); ++rank) {
      int position = group[rank];
      const Box& wanted = to.boxes[std::size_t(position)];
      std::vector<int> candidates;
      if (contains(from.boxes[std::size_t(position)], wanted)) candidates.push_back(position);
      for (Nearness wanted_nearness : kNearest)
        for (std::size_t other = 0; other < group.size(); ++other)
          if (nearness(owners[other], owners[rank], ownership) == wanted_nearness) candidates.push_back(group[other]);
      take_from(wanted, position, candidates, from, transfers);
    }
  }
  return transfers;
}

std::vector<Transfer> transfers_between(const Layout& from, const Layout& to, const Ownership& ownership) {
  std::vector<Transfer> transfers;
  int sources = int(from.devices.size());
  for (int target = 0; target < int(to.devices.size()); ++target) {
    int device = to.devices[std::size_t(target)], process = ownership.process_of(device);
    std::vector<int> own;
    std::map<Nearness, std::vector<int>> others;
    for (int i = 0; i < sources; ++i) {
      int source = (i + process) % sources;  // replicas in turn, one for all devices of a process: what they share crosses once
      int source_device = from.devices[std::size_t(source)];
      (source_device == device ? own : others[nearness(ownership.process_of(source_device), process, ownership)]).push_back(source);
    }
    for (Nearness each : kNearest) own.insert(own.end(), others[each].begin(), others[each].end());
    take_from(to.boxes[std::size_t(target)], target, own, from, transfers);
  }
  return transfers;
}

}  // namespace shardlab
