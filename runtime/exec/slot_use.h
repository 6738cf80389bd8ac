// Which slots the steps of a program read and write, and until when each is needed.
#pragma once

#include <algorithm>
#include <vector>

#include "runtime/exec/executable.h"

namespace shardlab {

struct SlotUse {
  std::vector<int> reads, writes;
};

inline SlotUse use_of(const spmd::Step& step) {
  if (auto* compute = std::get_if<spmd::ComputeStep>(&step)) return {compute->operands, compute->results};
  if (auto* region = std::get_if<spmd::RegionStep>(&step)) return {region->operands, region->results};
  const auto& move = std::get<spmd::MoveStep>(step);
  return {{move.from}, {move.to}};
}

inline SlotUse use_of(const spmd::Step* step) { return use_of(*step); }

inline SlotUse use_of(const Executable::Step& step) {
  if (auto* compute = std::get_if<Executable::Compute>(&step)) return {compute->operands, compute->results};
  if (auto* fused = std::get_if<FusedStep>(&step)) return {fused->inputs, fused->outputs};
  if (auto* region = std::get_if<Executable::Region>(&step)) return {region->operands, region->results};
  const auto& move = std::get<Executable::Move>(step);
  return {{move.from}, {move.to}};
}

// Per slot the last of the steps that uses it; results are used by the end.
template <typename Step>
std::vector<int> last_uses(const spmd::PartitionedProgram& program, const std::vector<Step>& steps) {
  std::vector<int> last(program.slots.size(), -1);
  for (int i = 0; i < int(steps.size()); ++i) {
    SlotUse use = use_of(steps[std::size_t(i)]);
    for (int slot : use.writes) last[std::size_t(slot)] = std::max(last[std::size_t(slot)], i);
    for (int slot : use.reads) last[std::size_t(slot)] = i;
  }
  for (int slot : program.results) last[std::size_t(slot)] = int(steps.size());
  return last;
}

}  // namespace shardlab
