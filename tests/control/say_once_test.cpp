// What all processes of a job end with alike is said by one of them, and by another where that one dies.
#include "runtime/shardlab/say_once.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <mutex>

#include "runtime/base/text.h"
#include "runtime/control/coordinator.h"
#include "tests/support/ports.h"
#include "tests/support/shell.h"

namespace shardlab {
namespace {

class SayOnce : public testing::Test {
 protected:
  void join(int processes) {
    coordinator_ = std::make_unique<control::Coordinator>(control::CoordinatorOptions{.num_processes = processes, .token = "t"});
    std::vector<std::future<std::unique_ptr<control::ControlClient>>> joining;
    for (int p = 0; p < processes; ++p)
      joining.push_back(std::async(std::launch::async, [this, p, processes] {
        return control::connect(
            {.address = coordinator_->address(), .token = "t", .process_index = p, .num_processes = processes, .join_timeout_ms = 20'000});
      }));
    for (auto& each : joining) clients_.push_back(each.get());
  }
  // Who each was told of; and by whom it was said, in `said_`.
  std::vector<int> all_say(const std::string& what_of, const std::string& text) {
    std::vector<std::future<int>> saying;
    for (std::size_t p = 0; p < clients_.size(); ++p)
      if (clients_[p])
        saying.push_back(std::async(std::launch::async, [this, p, &what_of, &text] {
          return say_once(*clients_[p], int(p), what_of, text, [&] {
            std::lock_guard lock(mutex_);
            said_.push_back(int(p));
          });
        }));
    std::vector<int> tellers;
    for (auto& each : saying) tellers.push_back(each.get());
    return tellers;
  }

  std::unique_ptr<control::Coordinator> coordinator_;
  std::vector<std::unique_ptr<control::ControlClient>> clients_;
  std::mutex mutex_;
  std::vector<int> said_;
};

TEST_F(SayOnce, OneOfAllSaysItAndTheOthersKnowWho) {
  join(5);
  const std::vector<int> tellers = all_say("0/", "deadlock: …");
  ASSERT_EQ(said_.size(), 1U);
  EXPECT_EQ(tellers, std::vector<int>(5, said_[0]));
  all_say("0/", "another text");
  EXPECT_EQ(said_.size(), 2U);
  all_say("1/", "deadlock: …");
  EXPECT_EQ(said_.size(), 3U) << "the same, later in the life of an elastic job";
}

TEST_F(SayOnce, WhereTheTellerDiesTheOthersSayIt) {
  join(3);
  coordinator_->set_key("said/0/" + fmt::format("{:016x}", hash_bytes("deadlock")), "0");  // and no word that it has
  clients_[0].reset();
  const std::vector<int> tellers = all_say("0/", "deadlock");
  EXPECT_EQ(tellers, (std::vector<int>{1, 2}));
  EXPECT_EQ(said_.size(), 2U);
}

TEST_F(SayOnce, AProcessThatWasStartedAgainSaysItAgain) {
  join(2);
  EXPECT_EQ(say_once(*clients_[0], 0, "", "no file", [] {}), 0);
  bool said = false;
  EXPECT_EQ(say_once(*clients_[0], 0, "", "no file", [&] { said = true; }), 0);
  EXPECT_TRUE(said);
}

TEST_F(SayOnce, WithoutItsCoordinatorEachProcessSaysIt) {
  join(2);
  coordinator_.reset();
  EXPECT_EQ(all_say("", "deadlock"), (std::vector<int>{0, 1}));
  EXPECT_EQ(said_.size(), 2U);
}

int count(const std::string& text, std::string_view part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(SayOnceOfAJob, OneRankOfMpirunTellsTheVerdict) {
  if (std::system("mpirun --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "mpirun is not installed";
  const support::Ran ran =
      support::shell("SHARDLAB_NUM_CPU_DEVICES=2 timeout 60 mpirun --allow-run-as-root --oversubscribe -n 4 $BIN/deadlock_swapped");
  EXPECT_NE(ran.code, 0);
  EXPECT_EQ(count(ran.output, "program-mismatch: process 3 runs matmul"), 1) << ran.output;
  EXPECT_EQ(count(ran.output, "processes 0, 1 and 2: matmul #2"), 1) << ran.output;
  EXPECT_LE(count(ran.output, "ends in the same program-mismatch, which process"), 3) << ran.output;
}

// By hand: who shares its output with others is read together with them, and each terminal by itself.
TEST(SayOnceOfAJob, ByHandItGoesByWhereTheyPrint) {
  // Process 1 has time to leave before the others miss it, on a busy machine too: who is still about to end hears of the verdict and tells
  // it.
  const std::string folder = testing::TempDir() + "/say-once-" + std::to_string(getpid());
  const auto run = [&](int port, const std::string& redirect) {
    return support::shell(fmt::format("mkdir -p {3}; for i in 0 1 2; do timeout 60 {0} at=localhost:{1},$i,3 sum '@0,2 sleep:2000' '@0,2 "
                                      "sum' {2} & done; wait; "
                                      "cat {3}/*; rm -rf {3}",
                                      SHARDLAB_COORDINATION_PROCESS, port, redirect, folder))
        .output;
  };
  const std::string together = run(support::unused_port(), ""), apart = run(support::unused_port(), "2> " + folder + "/$i");
  constexpr std::string_view kVerdict = "missing-participant: ", kBrief = "ends in the same missing-participant";
  EXPECT_EQ(count(together, kVerdict), 1) << together;
  EXPECT_EQ(count(together, kBrief), 1) << together;
  EXPECT_EQ(count(apart, kVerdict), 2) << apart << "process 1 has ended well";
  EXPECT_EQ(count(apart, kBrief), 0) << apart;
}

// An error that all meet; each output of `shardlab run` has the process's number before it.
TEST(SayOnceOfAJob, OneProcessTellsAnErrorThatAllMeet) {
  const support::Ran ran = support::shell("timeout 60 $BIN/shardlab run -n 3 -d 1 -- $BIN/guide_matmul");
  EXPECT_NE(ran.code, 0);
  EXPECT_EQ(count(ran.output, "] error: "), 1) << ran.output;
  EXPECT_EQ(count(ran.output, "ends in the same error, which process"), 2) << ran.output;
}

}  // namespace
}  // namespace shardlab
