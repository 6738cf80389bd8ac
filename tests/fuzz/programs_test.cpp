// Random programs over the registry, run by the executor on 8 virtual devices: sharded they are what they are on one device.
//
// SHARDLAB_FUZZ_PROGRAM=17 runs the program of one seed and prints it where it fails.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "runtime/exec/context.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/program.h"

namespace shardlab::fuzz {
namespace {

class FuzzPrograms : public ::testing::Test {
 protected:
  void SetUp() override { fresh(); }
  void TearDown() override { Context::set_current(nullptr); }
  // Programs are compiled once each, so that a context's cache only grows.
  static void fresh() {
    ContextOptions options;
    options.devices_per_process = {8};
    Context::set_current(std::make_shared<Context>(options));
  }
};

// Programs that were different once.
constexpr unsigned kCorpus[] = {426131258,  4010555,    4041903,    4052225,    1761269435, 1764319443, 571071523,
                                1591073025, 1592075672, 1592079348, 2352403414, 2377455888, 3608194990};

TEST_F(FuzzPrograms, ThatDifferedOnceAreTheSame) {
  for (unsigned seed : kCorpus) EXPECT_EQ(check_program(seed).failure, "");
}

TEST_F(FuzzPrograms, TheFirstOnesAreTheSame) {
  for (unsigned seed = 0; seed < 60; ++seed) EXPECT_EQ(check_program(seed).failure, "");
  EXPECT_GT(Program::ops_seen().size(), 100u);  // the steps reach the registry
}

TEST_F(FuzzPrograms, OneBySeed) {
  const char* seed = std::getenv("SHARDLAB_FUZZ_PROGRAM");
  if (seed == nullptr) GTEST_SKIP() << "SHARDLAB_FUZZ_PROGRAM is not set";
  EXPECT_EQ(check_program(unsigned(std::atoll(seed))).failure, "");
}

// What a crash leaves behind: which program it was.
volatile unsigned program_under_way = 0;
void name_program(int signal) {
  char text[64];
  const int length = std::snprintf(text, sizeof text, "\nprogram %u ends by signal %d\n", program_under_way, signal);
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::size_t(length));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// As long as SHARDLAB_FUZZ_SECONDS says, from seed SHARDLAB_FUZZ_SEED on, SHARDLAB_FUZZ_SKIP programs later: the long run of
// benchmarks/soak.
TEST_F(FuzzPrograms, HoldForAsLongAsAsked) {
  const char* seconds = std::getenv("SHARDLAB_FUZZ_SECONDS");
  if (seconds == nullptr) GTEST_SKIP() << "SHARDLAB_FUZZ_SECONDS is not set";
  const char* first = std::getenv("SHARDLAB_FUZZ_SEED");
  const bool goes_on = std::getenv("SHARDLAB_FUZZ_GO_ON") != nullptr;  // past differences
  const char* skipped = std::getenv("SHARDLAB_FUZZ_SKIP");
  const unsigned begin =
      (first == nullptr ? 0 : unsigned(std::atoll(first)) * 1'000'000u) + (skipped == nullptr ? 0 : unsigned(std::atoll(skipped)));
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) std::signal(signal, name_program);
  unsigned seed = begin;
  std::map<std::string, int> modes;
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoll(seconds));
  while (std::chrono::steady_clock::now() < end && (goes_on || !HasFailure())) {
    if (seed % 200 == 0) fresh();
    program_under_way = seed;
    try {
      const Outcome outcome = check_program(seed++);
      ++modes[outcome.mode];
      EXPECT_EQ(outcome.failure, "");
    } catch (const std::exception& error) { ADD_FAILURE() << "program " << program_under_way << " throws: " << error.what(); }
    std::fflush(stdout);
  }
  std::string kinds;
  for (const auto& [mode, count] : modes) kinds += (kinds.empty() ? "" : ", ") + mode + " " + std::to_string(count);
  std::printf("%u programs, from seed %u on (%s; %zu ops)\n", seed - begin, begin, kinds.c_str(), Program::ops_seen().size());
}

}  // namespace
}  // namespace shardlab::fuzz
