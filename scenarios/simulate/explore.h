// Many simulated runs of one program under different schedules: what they found, what was covered, and the schedule that shows it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/simulate/simulation.h"

namespace shardlab::simulate {

struct ExploreOptions {
  enum class Policy : std::uint8_t { kFifo, kRandom, kPct, kExhaustive, kReplay };
  Policy policy = Policy::kFifo;
  int depth = 2;             // of PCT
  std::int64_t count = 100;  // runs; of exhaustive exploration the most
  std::uint64_t seed = 0;
  std::vector<ThreadId> choices;  // of replay
};

struct Exploration {
  std::int64_t runs = 0, steps_max = 0;
  std::int64_t states = 0;  // of exhaustive exploration
  int threads = 0;
  bool complete = false;             // nothing is left to explore
  std::vector<Diagnosis> diagnoses;  // of the first run that found any
  std::vector<ThreadId> choices;     // its schedule, shrunk to the fewest switches; replay gives the same verdict
  std::int64_t found_in_run = -1;
  bool first_run_ended = true;      // in the order of processes there is nothing to find
  std::unique_ptr<Simulation> run;  // the run that is told of: the failing one, or the first
  std::string covered;              // for people: what was tried, and what a bug of that depth had as a chance
};

// `make` gives a fresh run. Stops at the first run with a diagnosis of severity "error".
Exploration explore(const std::function<std::unique_ptr<Simulation>()>& make, const ExploreOptions& options);

// The schedule with the fewest switches between threads, among those that removing switches leads to, that gives the same verdict.
std::vector<ThreadId> shrink(const std::function<std::unique_ptr<Simulation>()>& make, std::vector<ThreadId> choices);

}  // namespace shardlab::simulate
