// Summaries over one lane's events in blocks of 32 and their powers of two, so that any stretch is summarised in O(log n).
//
// The summary is a monoid: flags are or'ed, so an error is never lost by zooming out. Three bytes an event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shardlab::gui {

using Ns = std::int64_t;

enum LaneFlag : std::uint8_t {
  kFlagError = 1,  // belongs to a diagnosis, or failed
  kFlagOpen = 2,   // its end was not recorded
  kFlagCompute = 4,
  kFlagCollective = 8,
  kFlagHost = 16,
};

struct LaneSummary {
  Ns busy = 0;             // sum of lengths
  Ns collective_busy = 0;  // of collectives among them
  Ns longest = -1;         // length of the longest event
  Ns longest_collective = -1;
  std::uint32_t longest_index = 0;
  std::uint32_t longest_collective_index = 0;
  std::uint32_t count = 0;
  std::uint8_t flags = 0;
  void add(const LaneSummary& other);
};

class LaneForest {
 public:
  static constexpr std::size_t kBlock = 32;

  // Events are given by their columns, sorted by begin; open ends must have been replaced by the trace's end.
  void build(std::span<const Ns> begin, std::span<const Ns> end, std::span<const std::uint8_t> flags);

  // Summary of the events [first, last).
  LaneSummary query(std::span<const Ns> begin, std::span<const Ns> end, std::span<const std::uint8_t> flags, std::size_t first,
                    std::size_t last) const;

  std::size_t bytes() const;

 private:
  std::vector<std::vector<LaneSummary>> levels_;  // levels_[k][i]: blocks [i << k, (i + 1) << k)
};

}  // namespace shardlab::gui
