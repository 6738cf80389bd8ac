// What every transport between processes must do, over 1, 2, 3, 4 and 7 processes, as threads and as forked processes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>

#include "tests/support/exchange_all.h"
#include "tests/support/shared_board.h"
#include "virtualdev/transports/shm_segment.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

using comm::ExchangeStatus;
using comm::MessageHeader;
using comm::ProcessIndex;
using testing::Bytes;
using testing::exchange_all;
using testing::message;

// Runs body(process) in each of n processes; true where all return true. As threads or as forked processes.
enum class As { kThreads, kForks };
bool run(As as, int n, const std::function<bool(int)>& body) {
  bool good = true;
  if (as == As::kThreads) {
    std::atomic<bool> all = true;
    std::vector<std::jthread> threads;
    for (int p = 0; p < n; ++p)
      threads.emplace_back([&, p] {
        if (!body(p)) all = false;
      });
    threads.clear();
    return all;
  }
  std::vector<pid_t> children;
  for (int p = 0; p < n; ++p) {
    pid_t child = fork();
    if (child == 0) {
      alarm(60);  // a hang ends as a failure
      bool ok = false;
      try {
        ok = body(p);
      } catch (...) {}
      _exit(ok ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return good;
}

// A way to connect n processes, made before they start.
struct Way {
  const char* name;
  const char* transport;
  bool segment = false;  // one for all, as our launcher makes it; otherwise agreed at the rendezvous
  int hosts = 1;         // processes are dealt to them in turn
  bool encrypted = false;
};
constexpr Way kSegment{"Segment", "shm", true}, kShm{"Shm", "shm"}, kTcp{"Tcp", "tcp"}, kTwoHosts{"TwoHosts", "auto", false, 2},
    kThreeHosts{"ThreeHosts", "auto", false, 3}, kOneHost{"OneHost", "auto"}, kTls{"Tls", "tcp", false, 1, true},
    kTwoHostsTls{"TwoHostsTls", "auto", false, 2, true};
constexpr Way kWays[] = {kSegment, kShm, kTcp, kOneHost, kTwoHosts, kThreeHosts, kTls, kTwoHostsTls};

class Job {
 public:
  Job(const Way& way, int n) : way_(way), processes_(n), segment_(way.segment ? ShmSegment::create(n) : nullptr) {}
  std::unique_ptr<comm::Transport> join(int process) {
    TransportOptions options{
        .process_index = process, .num_processes = processes_, .rendezvous = &board_, .secret = "of this job", .encrypted = way_.encrypted};
    if (segment_) options.address = segment_->name();
    for (int p = 0; p < processes_ && way_.hosts > 1; ++p) options.hosts.push_back(std::to_string(p % way_.hosts));
    return transport_named(way_.transport).make(options);
  }
  const ShmSegment* segment() const { return segment_.get(); }

 private:
  Way way_;
  int processes_;
  testing::SharedBoard board_;
  std::unique_ptr<ShmSegment> segment_;
};

struct Setting {
  Way way;
  int processes;
  std::size_t size;
  As as;
};

class Conformance : public ::testing::TestWithParam<Setting> {};

TEST_P(Conformance, AllToAll) {
  auto [way, n, size, as] = GetParam();
  Job job(way, n);
  int rounds = size > 100000 ? 1 : size > 10000 ? 5 : 50;
  EXPECT_TRUE(run(as, n, [&, n = n, size = size](int p) { return exchange_all(*job.join(p), p, n, size, rounds); }));
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  constexpr std::size_t kLarge = 1048583;
  for (const Way& way : kWays)
    for (As as : {As::kForks, As::kThreads}) {
      if (as == As::kThreads && !way.segment && (way.hosts != 2 || way.encrypted)) continue;  // threads are for the sanitizers
      for (int n : {1, 2, 3, 4, 7})
        for (std::size_t size : {std::size_t(0), std::size_t(1), std::size_t(13), std::size_t(65537), kLarge})
          if (size < kLarge || n < 7) all.push_back({way, n, size, as});
      all.push_back({way, 2, std::size_t(16) << 20, as});
    }
  return all;
}
std::string setting_name(const ::testing::TestParamInfo<Setting>& info) {
  return std::string(info.param.way.name) + std::to_string(info.param.processes) + "x" + std::to_string(info.param.size) +
         (info.param.as == As::kForks ? "Forks" : "Threads");
}
INSTANTIATE_TEST_SUITE_P(, Conformance, ::testing::ValuesIn(settings()), setting_name);

class Pair : public ::testing::TestWithParam<std::tuple<Way, As>> {
 protected:
  As as() const { return std::get<As>(GetParam()); }
  std::unique_ptr<comm::Transport> make(int p) { return job.join(p); }
  Job job{std::get<Way>(GetParam()), 2};
};

TEST_P(Pair, AnotherHeaderIsAMismatchAndItsDataIsLeft) {
  EXPECT_TRUE(run(as(), 2, [&](int p) {
    auto transport = make(p);
    Bytes out = message(p, 1 - p, 100), in(100, std::byte{0x55});
    comm::Send send{1 - p, {out}};
    comm::Receive receive{1 - p, in};
    MessageHeader header{.fingerprint = std::uint64_t(10 + p), .seq = 4};
    comm::ExchangeResult result = transport->exchange(header, {&send, 1}, {&receive, 1}, {});
    return result.status == ExchangeStatus::kMismatch && result.mismatches.size() == 1 && result.mismatches[0].from == 1 - p &&
           result.mismatches[0].expected.fingerprint == std::uint64_t(10 + p) &&
           result.mismatches[0].got.fingerprint == std::uint64_t(11 - p) && in == Bytes(100, std::byte{0x55});
  }));
}

TEST_P(Pair, AnotherLengthIsAMismatch) {
  EXPECT_TRUE(run(as(), 2, [&](int p) {
    auto transport = make(p);
    Bytes out(p == 0 ? 100 : 50), in(100);
    comm::Send send{1 - p, {out}};
    comm::Receive receive{1 - p, in};
    comm::ExchangeResult result = transport->exchange({.fingerprint = 1}, {&send, 1}, {&receive, 1}, {});
    return p == 1 ? result.status == ExchangeStatus::kDone
                  : result.status == ExchangeStatus::kMismatch && result.mismatches[0].got.bytes == 50 &&
                        result.mismatches[0].expected.bytes == 100;
  }));
}

TEST_P(Pair, MessagesArriveInOrder) {
  EXPECT_TRUE(run(as(), 2, [&](int p) {
    auto transport = make(p);
    for (std::uint64_t i = 0; i < 2000; ++i) {
      Bytes data((i * 37) % 500);
      if (p == 0) {
        comm::Send send{1, {data}};
        if (transport->exchange({.history = i}, {&send, 1}, {}, {}).status != ExchangeStatus::kDone) return false;
      } else {
        comm::Receive receive{0, data};
        if (transport->exchange({.history = i}, {}, {&receive, 1}, {}).status != ExchangeStatus::kDone) return false;
      }
    }
    return true;
  }));
}

TEST_P(Pair, AMismatchIsSeenAgain) {
  EXPECT_TRUE(run(as(), 2, [&](int p) {
    auto transport = make(p);
    Bytes out(5), in(5);
    comm::Send send{1 - p, {out}};
    comm::Receive receive{1 - p, in};
    bool seen = transport->exchange({.seq = p}, {&send, 1}, {&receive, 1}, {}).status == ExchangeStatus::kMismatch;
    return seen && transport->exchange({.seq = p}, {}, {&receive, 1}, {}).status == ExchangeStatus::kMismatch;
  }));
}

TEST_P(Pair, AbortByTheOwnerWakesAndStays) {
  EXPECT_TRUE(run(as(), 2, [&](int p) {
    std::mutex mutex;
    std::condition_variable_any waiting;
    bool waits = false, right_peers = false;
    auto transport = make(p);
    std::jthread aborter([&] {
      std::unique_lock lock(mutex);
      waiting.wait(lock, [&] { return waits; });
      transport->abort("test");
    });
    Bytes in(10);
    comm::Receive receive{1 - p, in};
    comm::ExchangeResult result = transport->exchange({}, {}, {&receive, 1}, [&](const std::vector<ProcessIndex>& peers) {
      std::lock_guard lock(mutex);
      right_peers = peers == std::vector<ProcessIndex>{1 - p};
      waits = true;
      waiting.notify_all();
    });
    return right_peers && result.status == ExchangeStatus::kAborted &&
           transport->exchange({}, {}, {}, {}).status == ExchangeStatus::kAborted;
  }));
}

TEST_P(Pair, AbortReachesASenderWhomNobodyReads) {
  EXPECT_TRUE(run(as(), 2, [&](int p) {
    auto transport = make(p);
    std::mutex mutex;
    std::condition_variable_any waiting;
    bool waits = false;
    std::jthread aborter([&] {
      std::unique_lock lock(mutex);
      waiting.wait(lock, [&] { return waits; });
      transport->abort("test");
    });
    Bytes out(std::size_t(64) << 20);  // more than any ring or socket holds
    comm::Send send{1 - p, {out}};
    return transport
               ->exchange({}, {&send, 1}, {},
                          [&](const std::vector<ProcessIndex>&) {
                            std::lock_guard lock(mutex);
                            waits = true;
                            waiting.notify_all();
                          })
               .status == ExchangeStatus::kAborted;
  }));
}

INSTANTIATE_TEST_SUITE_P(
    , Pair, ::testing::Combine(::testing::Values(kSegment, kShm, kTcp, kTwoHosts, kTls), ::testing::Values(As::kForks, As::kThreads)),
    [](const auto& setting) {
      return std::string(std::get<Way>(setting.param).name) + (std::get<As>(setting.param) == As::kForks ? "Forks" : "Threads");
    });

// The launcher's way to end the waiting of processes that hear no word of the control plane.
TEST(Segment, AbortFromOutsideWakesThemAll) {
  for (As as : {As::kForks, As::kThreads}) {
    Job job(kSegment, 2);
    std::jthread aborter([&] {
      for (int p = 0; p < 2; ++p)
        while (job.segment()->doorbell(p).sleeping.load() == 0) std::this_thread::yield();
      job.segment()->abort_all();
    });
    EXPECT_TRUE(run(as, 2, [&](int p) {
      auto transport = job.join(p);
      Bytes in(10);
      comm::Receive receive{1 - p, in};
      return transport->exchange({}, {}, {&receive, 1}, {}).status == ExchangeStatus::kAborted;
    }));
  }
}

// Three processes on two hosts: one waits for a peer of each kind at once, and either may come first or last.
TEST(Mixed, WaitsForBothKindsAtOnce) {
  Job job(kTwoHosts, 3);  // 0 and 2 share a host
  EXPECT_TRUE(run(As::kForks, 3, [&](int p) {
    auto transport = job.join(p);
    for (int round = 0; round < 300; ++round) {
      Bytes out(1), a(1), b(1);
      std::vector<comm::Send> sends;
      std::vector<comm::Receive> receives;
      if (p == 0)
        receives = {{1, a}, {2, b}};
      else
        sends = {{0, {out}}};
      if (transport->exchange({.seq = round}, sends, receives, {}).status != ExchangeStatus::kDone) return false;
      int late = 1 + round % 2;  // the other sends again only when it has been answered
      if (p == 0) sends = {{late, {out}}}, receives.clear();
      if (p == late) receives = {{0, a}}, sends.clear();
      if (p != 0 && p != late) continue;
      if (transport->exchange({.seq = round, .call = 1}, sends, receives, {}).status != ExchangeStatus::kDone) return false;
    }
    return true;
  }));
}

// A peer that dies without a word: the exchange ends in an error that names both ends, after the grace in which a verdict may come.
TEST(Tcp, ABrokenConnectionIsAnError) {
  for (const Way& way : {kTcp, kTwoHosts, kTls}) {
    Job job(way, 2);
    EXPECT_TRUE(run(As::kForks, 2, [&](int p) {
      auto transport = job.join(p);
      if (p == 1) return true;
      Bytes in(10);
      comm::Receive receive{1, in};
      try {
        transport->exchange({}, {}, {&receive, 1}, {});
      } catch (const TransportError& error) {
        return std::string(error.what()).find("the connection of process 0 to process 1 broke: ") != std::string::npos;
      }
      return false;
    }));
  }
}

TEST(Local, HasNobodyToExchangeWith) {
  auto transport = transport_named("local").make({});
  EXPECT_EQ(transport->exchange({}, {}, {}, {}).status, ExchangeStatus::kDone);
  transport->abort("test");
  EXPECT_EQ(transport->exchange({}, {}, {}, {}).status, ExchangeStatus::kAborted);
}

}  // namespace
}  // namespace shardlab
