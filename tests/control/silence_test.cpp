// A process that is stopped gives no sign of life: whoever waits for it is told at once, by whom it may be and why, and nothing ends.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "runtime/base/text.h"
#include "runtime/control/silence.h"
#include "tests/control/watched.h"
#include "tests/support/shell.h"

namespace shardlab {
namespace {

using control::Member;
using control::Membership;
using control::Silences;
using std::chrono::hours;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing_::by_hand;
using testing_::Watched;

class Deaf final : public control::Attendant {
 public:
  void roll(const std::vector<Member>&, int) override {}
  void silence(const Member&, double, const std::string&) override {}
  void disagreement(const std::string&) override {}
};

// Four processes on two hosts, at times that the test says.
class Told : public testing::Test {
 protected:
  static constexpr comm::Ns kMs = 1'000'000;
  static constexpr milliseconds kLimit{3000};
  Told() {
    for (int p = 0; p < 4; ++p)
      membership_.join({.process = p, .pid = 1000 + p, .host = p < 2 ? "a" : "b", .host_id = p < 2 ? "a" : "b"}, &deaf_);
    begin_ns_ = comm::now_ns();
    // As if it had looked all the while.
    for (int ms = 0; ms <= kLimit.count(); ms += 500) EXPECT_TRUE(look({0, 1, 2, 3}, ms).empty());
  }
  // Those who are told of and who tells, when `heard` were heard just now and the others at the beginning.
  std::vector<std::pair<int, int>> look(const std::vector<int>& heard, int ms) {
    comm::Ns now = begin_ns_ + ms * kMs;
    for (int p : heard) membership_.heard(p, now);
    std::vector<std::pair<int, int>> told;
    for (const control::SilenceToTell& each : silences_.look(membership_, kLimit, now)) told.emplace_back(each.silent.process, each.teller);
    return told;
  }
  Deaf deaf_;
  Membership membership_{{.num_processes = 4, .grace = hours(1), .on_gone = [](int, comm::Ns, bool) {}}};
  Silences silences_;
  comm::Ns begin_ns_ = 0;
};

TEST_F(Told, OnceASilenceByOneOnItsHost) {
  EXPECT_TRUE(look({0, 1, 3}, 5900).empty());
  EXPECT_EQ(look({0, 1, 3}, 6100), (std::vector<std::pair<int, int>>{{2, 3}}));
  EXPECT_TRUE(look({0, 1, 3}, 8000).empty());
  EXPECT_TRUE(look({0, 1, 2, 3}, 8500).empty());
  EXPECT_TRUE(look({0, 1, 3}, 11'000).empty());
  EXPECT_EQ(look({0, 1, 3}, 11'600), (std::vector<std::pair<int, int>>{{2, 3}})) << "it had been heard meanwhile";
}

TEST_F(Told, ByAnotherHostWhereAWholeOneIsSilent) {
  EXPECT_TRUE(look({0, 1}, 5900).empty());
  EXPECT_EQ(look({0, 1}, 6100), (std::vector<std::pair<int, int>>{{2, 0}, {3, 0}}));
}

TEST_F(Told, NobodyByOneWhoHasHeardNobodyItself) {
  EXPECT_TRUE(look({}, 60'000).empty()) << "it was stopped itself, or very busy";
  EXPECT_TRUE(look({0, 1, 2, 3}, 60'500).empty());
}

TEST_F(Told, NobodyWhereNobodyIsLeftToTellIt) {
  for (int p : {0, 1, 3}) membership_.stream_ended(p);
  EXPECT_TRUE(look({}, 5900).empty());
  EXPECT_TRUE(look({}, 6100).empty());
}

// A coordinator that answers now and then; who looks twice a second, at times that the test says.
class CoordinatorHeard : public testing::Test {
 protected:
  static constexpr comm::Ns kMs = 1'000'000;
  // Whether it is told of at one of the looks from `from` to `to`.
  bool told(int from, int to) {
    bool any = false;
    for (int ms = from; ms <= to; ms += 500)
      if (auto silent = silence_.look((begin_ms_ + ms) * kMs)) {
        any = true;
        lasted_ms_ = *silent;
      }
    return any;
  }
  void heard(int ms) { silence_.heard((begin_ms_ + ms) * kMs); }
  static constexpr comm::Ns begin_ms_ = 1'000'000;
  control::CoordinatorSilence silence_{milliseconds(3000), milliseconds(500)};
  double lasted_ms_ = 0;
};

TEST_F(CoordinatorHeard, IsToldOfOnceInEachSilence) {
  heard(0);
  EXPECT_FALSE(told(0, 2500));
  heard(2600);
  EXPECT_FALSE(told(3000, 5500));
  EXPECT_TRUE(told(6000, 6000));
  EXPECT_EQ(lasted_ms_, 3400);
  EXPECT_FALSE(told(6500, 60'000));
  heard(60'200);
  EXPECT_FALSE(told(60'500, 63'000));
  EXPECT_TRUE(told(63'500, 63'500)) << "it had been heard meanwhile";
}

TEST_F(CoordinatorHeard, IsNotToldOfByWhoWasStoppedItself) {
  heard(0);
  EXPECT_FALSE(told(0, 1000));
  EXPECT_FALSE(told(60'000, 62'500)) << "its answers may be on their way";
  heard(62'600);
  EXPECT_FALSE(told(63'000, 65'500));
}

TEST_F(CoordinatorHeard, IsNotToldOfByWhoHasNoTimeToLook) {
  heard(0);
  for (int ms = 0; ms <= 60'000; ms += 1100) EXPECT_FALSE(told(ms, ms));
  EXPECT_FALSE(told(60'500, 63'000));
  EXPECT_TRUE(told(63'500, 63'500)) << "now it looks as often as it means to";
}

TEST(SilenceText, SaysWhatItMayBe) {
  Member here{.process = 2, .pid = getpid(), .host = "a", .host_id = control::host_identity()};
  EXPECT_THAT(control::silence_text("process 2", here, 3049, "waiting at toy.cpp:12"),
              testing::MatchesRegex("process 2 \\(pid [0-9]+ on a\\) has given no sign of life for 3.0 s: it lives \\(state [RS]\\), but "
                                    "nothing that it says arrives; last waiting at toy.cpp:12"));
  Member elsewhere{.process = 2, .pid = 7, .host = "b", .host_id = "b"};
  EXPECT_EQ(control::silence_text("process 2", elsewhere, 3000, ""),
            "process 2 (pid 7 on b) has given no sign of life for 3.0 s: it is stopped, or its host cannot be reached");
}

// The process's number in the text, which says that it is stopped.
pid_t told_stopped(const std::string& text) {
  static const std::regex kTold(
      "shardlab: process 1 \\(pid ([0-9]+) on [^)]*\\) has given no sign of life for [0-9.]+ s: it is stopped by a signal "
      "\\(state T\\); last .* at coordination_process.cpp:[0-9]+");
  std::smatch found;
  return std::regex_search(text, found, kTold) ? pid_t(std::stoi(found[1])) : 0;
}

TEST(Silence, OfAProcessStartedByHandIsToldByAnother) {
  auto processes = by_hand({"@1 stop", "sum"});
  Watched& teller = *processes[0];
  ASSERT_TRUE(teller.says("(state T)")) << teller.output();
  while (told_stopped(teller.said()) == 0) ASSERT_TRUE(teller.hears()) << teller.said();
  ::kill(told_stopped(teller.said()), SIGCONT);
  for (auto& process : processes) {
    EXPECT_THAT(process->output(), HasSubstr("sum 3\nsum 3\n")) << "nothing has ended";
    EXPECT_EQ(process->code(), 0);
  }
}

// The process that serves the job at the port of `address`; it is nobody's child.
pid_t coordinator_at(const std::string& address) {
  const std::string port = address.substr(address.rfind(':') + 1);
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string line((std::istreambuf_iterator<char>(file)), {});
    std::vector<std::string_view> words = split(line, '\0');
    if (words.size() > 3 && words[0].ends_with("shardlab-coordinator") && words[3] == port) return std::stoi(entry.path().filename());
  }
  return 0;
}

TEST(Silence, OfTheCoordinatorIsToldByAll) {
  const std::string address = testing_::free_address();
  auto processes = by_hand({"@0 signal", "sum"}, "handler", {}, address);
  for (auto& process : processes) ASSERT_TRUE(process->says("sum 3", 2)) << process->output();
  const pid_t coordinator = coordinator_at(address);
  ASSERT_NE(coordinator, 0);
  ::kill(coordinator, SIGSTOP);
  for (std::size_t p = 0; p < 3; ++p) {
    ASSERT_TRUE(processes[p]->says(" s\n")) << processes[p]->said();
    EXPECT_THAT(processes[p]->said(), testing::ContainsRegex(fmt::format(
                                          "shardlab: the coordinator at [^ ]+ \\(pid {} on [^)]*\\) has given no sign of life for [0-9.]+ "
                                          "s: it is stopped by a signal \\(state T\\); process {} ends where that lasts 100 s\n",
                                          coordinator, p)));
  }
  ::kill(coordinator, SIGCONT);
  processes[0]->signal(SIGINT);
  for (auto& process : processes) {
    EXPECT_TRUE(process->says("sum 3", 3)) << process->output() << "nothing has ended";
    process->output();
    EXPECT_EQ(process->code(), 0);
  }
}

// Its coordinator lives in a session of its own.
TEST(Silence, OfTheProcessThatStartedTheCoordinatorIsTold) {
  auto processes = by_hand({"@0 stop", "sum"});
  Watched& teller = *processes[1];
  ASSERT_TRUE(teller.says("(state T)")) << teller.output();
  EXPECT_THAT(teller.said(), testing::ContainsRegex("shardlab: process 0 \\(pid [0-9]+ on [^)]*\\) has given no sign of life for"));
  processes[0]->signal(SIGCONT);
  for (auto& process : processes) {
    EXPECT_TRUE(process->says("sum 3", 3)) << process->output();
    process->output();
    EXPECT_EQ(process->code(), 0);
  }
}

TEST(Silence, OfAProcessUnderMpirunIsTold) {
  if (support::shell("mpirun --version").code != 0) GTEST_SKIP() << "mpirun is not installed";
  Watched job({"mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", SHARDLAB_COORDINATION_PROCESS, "sum", "@1 stop", "sum"}, {});
  ASSERT_TRUE(job.says("(state T)")) << job.output();
  while (told_stopped(job.said()) == 0) ASSERT_TRUE(job.hears()) << job.said();
  ::kill(told_stopped(job.said()), SIGCONT);
  EXPECT_THAT(job.output(), testing::ContainsRegex("(sum 3\n.*){6}"));
  EXPECT_EQ(job.code(), 0);
}

}  // namespace
}  // namespace shardlab
