#include "gui/models/lane_forest.h"

#include <algorithm>

namespace shardlab::gui {
namespace {

LaneSummary scan(std::span<const Ns> begin, std::span<const Ns> end, std::span<const std::uint8_t> flags, std::size_t first,
                 std::size_t last) {
  LaneSummary sum;
  for (std::size_t i = first; i < last; ++i) {
    const Ns length = end[i] - begin[i];
    sum.busy += length;
    if (length > sum.longest) {
      sum.longest = length;
      sum.longest_index = static_cast<std::uint32_t>(i);
    }
    if (flags[i] & kFlagCollective) {
      sum.collective_busy += length;
      if (length > sum.longest_collective) {
        sum.longest_collective = length;
        sum.longest_collective_index = static_cast<std::uint32_t>(i);
      }
    }
    sum.flags |= flags[i];
  }
  sum.count = static_cast<std::uint32_t>(last - first);
  return sum;
}

}  // namespace

void LaneSummary::add(const LaneSummary& other) {
  if (other.count == 0) return;
  busy += other.busy;
  if (other.longest > longest) {
    longest = other.longest;
    longest_index = other.longest_index;
  }
  if (other.longest_collective > longest_collective) {
    longest_collective = other.longest_collective;
    longest_collective_index = other.longest_collective_index;
  }
  collective_busy += other.collective_busy;
  count += other.count;
  flags |= other.flags;
}

void LaneForest::build(std::span<const Ns> begin, std::span<const Ns> end, std::span<const std::uint8_t> flags) {
  levels_.clear();
  const std::size_t blocks = begin.size() / kBlock;  // a last, partial block is scanned
  if (blocks == 0) return;
  auto& leaves = levels_.emplace_back(blocks);
  for (std::size_t i = 0; i < blocks; ++i) leaves[i] = scan(begin, end, flags, i * kBlock, (i + 1) * kBlock);
  while (levels_.back().size() > 1) {
    const auto& lower = levels_.back();
    std::vector<LaneSummary> upper(lower.size() / 2);
    for (std::size_t i = 0; i < upper.size(); ++i) {
      upper[i] = lower[2 * i];
      upper[i].add(lower[2 * i + 1]);
    }
    levels_.push_back(std::move(upper));
  }
}

LaneSummary LaneForest::query(std::span<const Ns> begin, std::span<const Ns> end, std::span<const std::uint8_t> flags, std::size_t first,
                              std::size_t last) const {
  const std::size_t blocks = levels_.empty() ? 0 : levels_[0].size();
  std::size_t block = (first + kBlock - 1) / kBlock;
  const std::size_t block_end = std::min(last / kBlock, blocks);
  if (block >= block_end) return scan(begin, end, flags, first, last);
  LaneSummary sum = scan(begin, end, flags, first, block * kBlock);
  while (block < block_end) {
    // The largest node that starts at `block` and ends within.
    std::size_t level = 0;
    while (level + 1 < levels_.size() && (block & ((std::size_t{2} << level) - 1)) == 0 && block + (std::size_t{2} << level) <= block_end &&
           (block >> (level + 1)) < levels_[level + 1].size())
      ++level;
    sum.add(levels_[level][block >> level]);
    block += std::size_t{1} << level;
  }
  sum.add(scan(begin, end, flags, block_end * kBlock, last));
  return sum;
}

std::size_t LaneForest::bytes() const {
  std::size_t bytes = 0;
  for (const auto& level : levels_) bytes += level.capacity() * sizeof(LaneSummary);
  return bytes;
}

}  // namespace shardlab::gui
