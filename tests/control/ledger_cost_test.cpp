// What the ledger costs: time a call and process, and memory that does not grow with the run.
#include <gtest/gtest.h>

#include <ctime>
#include <map>

#include "runtime/control/ledger.h"

namespace shardlab::control {
namespace {

double processor_seconds() { return double(std::clock()) / CLOCKS_PER_SEC; }

class LedgerCost : public testing::TestWithParam<int> {};

TEST_P(LedgerCost, IsMicrosecondsACallAndItsMemoryIsBounded) {
  const int processes = GetParam();
  const std::int64_t calls = 400'000 / processes;
  Ledger ledger(processes);
  std::vector<int> everyone;
  for (int p = 0; p < processes; ++p) {
    ledger.joined(p, 0);
    everyone.push_back(p);
  }
  for (std::uint64_t program = 1; program <= 8; ++program) {
    ProgramEvidence evidence{.fingerprint = program, .group = 1, .name = "step"};
    evidence.processes = everyone;
    ledger.declare(evidence);
  }
  double begin = processor_seconds();
  for (std::int64_t call = 0; call < calls; ++call) {
    for (int p = 0; p < processes; ++p)
      ledger.issued(
          p,
          {.launch = call, .fingerprint = std::uint64_t(call % 8 + 1), .group = 1, .op = "step", .where = "toy.cpp:31", .issued_ns = call});
    ASSERT_EQ(ledger.take_progress().size(), std::size_t(processes));
  }
  double ns = (processor_seconds() - begin) * 1e9 / double(calls * processes);
  RecordProperty("ns_a_call_and_process", std::to_string(ns));
  std::printf("%d processes: %.0f ns of processor time a call and process\n", processes, ns);
  EXPECT_LT(ns, 10'000);  // about 300 on a quiet machine
  EXPECT_FALSE(ledger.finding());
  for (const ProcessEvidence& each : ledger.evidence(0).processes) {
    EXPECT_EQ(each.matched, calls);
    EXPECT_EQ(each.calls.size(), Ledger::kMatchedKept);
  }
}

INSTANTIATE_TEST_SUITE_P(Processes, LedgerCost, testing::Values(2, 4, 64, 1000));

}  // namespace
}  // namespace shardlab::control
