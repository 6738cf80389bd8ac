// Random programs over random groups, issued in random interleavings: correct ones never give a finding, one mutation always gives the
// right class and process. A model that runs the calls one by one says whether a mutated program can complete. Seeds are printed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "runtime/control/ledger.h"
#include "traces/checks/check_def.h"

namespace shardlab::control {
namespace {

using Random = std::mt19937_64;
int below(Random& random, int n) { return int(random() % std::uint64_t(n)); }

struct World {
  int num_processes;
  std::vector<std::vector<int>> programs;   // participants by program
  std::vector<std::vector<int>> sequences;  // programs by process
  bool includes(int program, int p) const { return std::binary_search(programs[program].begin(), programs[program].end(), p); }
};

World make_world(Random& random, int num_processes, int length, bool global, bool repeat) {
  World world{num_processes, {}, std::vector<std::vector<int>>(num_processes)};
  int num_programs = repeat ? 3 : length;
  for (int i = 0; i < num_programs; ++i) {
    std::vector<int> members(num_processes);
    std::iota(members.begin(), members.end(), 0);
    if (!global && below(random, 3) != 0) {
      std::shuffle(members.begin(), members.end(), random);
      members.resize(2 + std::size_t(below(random, num_processes - 1)));
      std::sort(members.begin(), members.end());
    }
    world.programs.push_back(members);
  }
  for (int i = 0; i < length; ++i) {
    int program = repeat ? i % num_programs : i;
    for (int p : world.programs[program]) world.sequences[p].push_back(program);
  }
  return world;
}

// Can every call be completed when each process runs its calls in order?
bool completes(const World& world) {
  std::vector<std::size_t> at(world.num_processes, 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (int p = 0; p < world.num_processes; ++p) {
      if (at[p] == world.sequences[p].size()) continue;
      int program = world.sequences[p][at[p]];
      const std::vector<int>& members = world.programs[program];
      bool all = std::all_of(members.begin(), members.end(),
                             [&](int q) { return at[q] < world.sequences[q].size() && world.sequences[q][at[q]] == program; });
      if (!all) continue;
      for (int q : members) ++at[q];
      moved = true;
    }
  }
  for (int p = 0; p < world.num_processes; ++p)
    if (at[p] != world.sequences[p].size()) return false;
  return true;
}

// Issues everything in a random interleaving, each process leaving at its end. Returns the ledger.
Ledger issue_all(Random& random, const World& world) {
  Ledger ledger(world.num_processes);
  std::vector<std::size_t> at(world.num_processes, 0);
  std::vector<int> alive(world.num_processes);
  std::iota(alive.begin(), alive.end(), 0);
  std::int64_t time_ns = 1;
  for (int p : alive) ledger.joined(p, 0);
  int favourite = below(random, world.num_processes);  // some interleavings let one run far ahead
  bool uneven = below(random, 2) == 0;
  while (!alive.empty()) {
    std::size_t pick = std::size_t(below(random, int(alive.size())));
    auto ahead = std::find(alive.begin(), alive.end(), favourite);
    if (uneven && ahead != alive.end() && below(random, 4) != 0) pick = std::size_t(ahead - alive.begin());
    int p = alive[pick];
    if (at[p] == world.sequences[p].size()) {
      ledger.leaving(p, time_ns++);
      alive.erase(alive.begin() + std::ptrdiff_t(pick));
      continue;
    }
    int program = world.sequences[p][at[p]];
    ProgramEvidence evidence{.fingerprint = std::uint64_t(program) + 1, .group = 1, .name = fmt::format("f{}", program)};
    evidence.text = evidence.name;
    evidence.processes = world.programs[program];
    ledger.declare(evidence);
    ledger.issued(p, {.launch = std::int64_t(at[p]),
                      .seq = std::int64_t(at[p]),
                      .fingerprint = evidence.fingerprint,
                      .group = 1,
                      .op = evidence.name,
                      .issued_ns = time_ns++});
    ++at[p];
  }
  return ledger;
}

std::uint64_t seed_base() {
  const char* text = std::getenv("SHARDLAB_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 1;
}

class Property : public testing::TestWithParam<int> {};

TEST_P(Property, CorrectProgramsNeverGiveAFinding) {
  int num_processes = GetParam();
  for (std::uint64_t seed = seed_base(); seed < seed_base() + 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    World world = make_world(random, num_processes, below(random, 40), below(random, 2) == 0, below(random, 2) == 0);
    ASSERT_TRUE(completes(world));
    Ledger ledger = issue_all(random, world);
    ASSERT_FALSE(ledger.finding());
    for (int p = 0; p < num_processes; ++p) ASSERT_TRUE(ledger.has_left(p));
    ASSERT_TRUE(judge(ledger.evidence(0)).empty());
  }
}

// Mutates one process's sequence; returns the class that must come out, or "" where the mutation changed nothing.
std::string mutate(Random& random, World& world, int process) {
  std::vector<int>& calls = world.sequences[process];
  if (calls.size() < 2) return "";
  std::size_t i = std::size_t(below(random, int(calls.size())));
  switch (below(random, 4)) {
    case 0: {
      i = std::min(i, calls.size() - 2);
      if (calls[i] == calls[i + 1]) return "";
      std::swap(calls[i], calls[i + 1]);
      return "order-mismatch";
    }
    case 1:
      calls.erase(calls.begin() + std::ptrdiff_t(i));
      return "missing-participant";
    case 2:
      world.programs.push_back(world.programs[calls[i]]);
      calls.insert(calls.begin() + std::ptrdiff_t(i), int(world.programs.size()) - 1);
      return "missing-participant";
    default:
      world.programs.push_back(world.programs[calls[i]]);
      calls[i] = int(world.programs.size()) - 1;
      return "program-mismatch";
  }
}

TEST_P(Property, OneMutationGivesItsClassAndProcess) {
  int num_processes = GetParam();
  for (std::uint64_t seed = seed_base(); seed < seed_base() + 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    World world = make_world(random, num_processes, 2 + below(random, 20), true, below(random, 3) == 0);
    int process = below(random, num_processes);
    std::string expected = mutate(random, world, process);
    if (expected.empty()) continue;
    ASSERT_FALSE(completes(world));
    Ledger ledger = issue_all(random, world);
    ASSERT_TRUE(ledger.finding());
    std::vector<Diagnosis> found = judge(ledger.evidence(0));
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].code, expected) << found[0].message;
    if (num_processes > 2) {
      EXPECT_EQ(found[0].processes, std::vector<int>{process}) << found[0].message;
      EXPECT_FALSE(found[0].tie);
    }
    EXPECT_EQ(found[0].participants.size(), std::size_t(num_processes)) << found[0].message;
    EXPECT_GT(found[0].evidence_ns, 0);
  }
}

TEST_P(Property, MutationsOverGroupsAreFoundExactlyWhenTheRunCannotEnd) {
  int num_processes = GetParam();
  int stuck = 0, named = 0;
  for (std::uint64_t seed = seed_base(); seed < seed_base() + 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed);
    World world = make_world(random, num_processes, 2 + below(random, 30), false, below(random, 3) == 0);
    int process = below(random, num_processes);
    if (mutate(random, world, process).empty()) continue;
    bool ends = completes(world);
    Ledger ledger = issue_all(random, world);
    ASSERT_EQ(!ledger.finding(), ends);
    std::vector<Diagnosis> found = judge(ledger.evidence(0));
    ASSERT_EQ(found.empty(), ends);
    if (ends) continue;
    ++stuck;
    for (const Diagnosis& diagnosis : found)
      if (std::any_of(diagnosis.participants.begin(), diagnosis.participants.end(),
                      [&](const Participant& s) { return s.process == process; })) {
        ++named;
        break;
      }
  }
  EXPECT_GT(stuck, 100);
  EXPECT_EQ(named, stuck);  // who was mutated is always on one of the sides
}

INSTANTIATE_TEST_SUITE_P(, Property, testing::Values(2, 3, 4, 7));

}  // namespace
}  // namespace shardlab::control
