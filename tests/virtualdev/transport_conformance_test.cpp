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

#include "virtualdev/transports/shm_segment.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

using comm::ExchangeStatus;
using comm::MessageHeader;
using comm::ProcessIndex;
using Bytes = std::vector<std::byte>;

std::byte element(int from, int to, std::size_t i) {
  return std::byte((std::size_t(from) * 31 + std::size_t(to) * 7 + i * 13 + i / 251) & 0xff);
}

Bytes message(int from, int to, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = element(from, to, i);
  return bytes;
}

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

// All to all with `size` bytes a pair, in two parts, `rounds` times.
bool exchange_all(comm::Transport& transport, int self, int n, std::size_t size, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    MessageHeader header{.fingerprint = 5, .history = std::uint64_t(round), .group = 9, .seq = round, .call = 2};
    std::vector<Bytes> out(n), in(n);
    std::vector<comm::Send> sends;
    std::vector<comm::Receive> receives;
    for (int p = 0; p < n; ++p) {
      if (p == self) continue;
      out[p] = message(self, p, size);
      in[p].resize(size);
      std::span<const std::byte> whole(out[p]);
      sends.push_back({p, {whole.first(size / 3), whole.subspan(size / 3)}});
      receives.push_back({p, in[p]});
    }
    int waits = 0;
    comm::ExchangeResult result = transport.exchange(header, sends, receives, [&](const std::vector<ProcessIndex>& peers) {
      ++waits;
      if (peers.empty()) waits = 100;
    });
    if (result.status != ExchangeStatus::kDone || waits > 1) return false;
    for (int p = 0; p < n; ++p)
      if (p != self && in[p] != message(p, self, size)) return false;
  }
  return true;
}

struct Setting {
  int processes;
  std::size_t size;
  As as;
};

class Conformance : public testing::TestWithParam<Setting> {};

TEST_P(Conformance, AllToAll) {
  auto [n, size, as] = GetParam();
  auto segment = ShmSegment::create(n);
  int rounds = size > 100000 ? 1 : size > 10000 ? 5 : 50;
  EXPECT_TRUE(run(as, n, [&, n = n, size = size](int p) {
    auto transport = transport_named("shm").make({.process_index = p, .num_processes = n, .address = segment->name()});
    return exchange_all(*transport, p, n, size, rounds);
  }));
}

std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (As as : {As::kForks, As::kThreads})
    for (int n : {1, 2, 3, 4, 7})
      for (std::size_t size : {std::size_t(0), std::size_t(1), std::size_t(13), std::size_t(65537), std::size_t(1048583)})
        all.push_back({n, size, as});
  for (As as : {As::kForks, As::kThreads}) all.push_back({2, std::size_t(16) << 20, as});
  return all;
}
std::string setting_name(const testing::TestParamInfo<Setting>& info) {
  return std::to_string(info.param.processes) + "x" + std::to_string(info.param.size) + (info.param.as == As::kForks ? "Forks" : "Threads");
}
INSTANTIATE_TEST_SUITE_P(Shm, Conformance, testing::ValuesIn(settings()), setting_name);

class Pair : public testing::TestWithParam<As> {
 protected:
  std::unique_ptr<comm::Transport> make(int p) {
    return transport_named("shm").make({.process_index = p, .num_processes = 2, .address = segment->name()});
  }
  std::unique_ptr<ShmSegment> segment = ShmSegment::create(2);
};

TEST_P(Pair, AnotherHeaderIsAMismatchAndItsDataIsLeft) {
  EXPECT_TRUE(run(GetParam(), 2, [&](int p) {
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
  EXPECT_TRUE(run(GetParam(), 2, [&](int p) {
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
  EXPECT_TRUE(run(GetParam(), 2, [&](int p) {
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

TEST_P(Pair, AbortByTheOwnerWakesAndStays) {
  std::mutex mutex;
  std::condition_variable_any waiting;
  bool waits = false;
  auto transport = make(0);
  std::jthread aborter([&] {
    std::unique_lock lock(mutex);
    waiting.wait(lock, [&] { return waits; });
    transport->abort("test");
  });
  Bytes in(10);
  comm::Receive receive{1, in};
  comm::ExchangeResult result = transport->exchange({}, {}, {&receive, 1}, [&](const std::vector<ProcessIndex>& peers) {
    EXPECT_EQ(peers, std::vector<ProcessIndex>{1});
    std::lock_guard lock(mutex);
    waits = true;
    waiting.notify_all();
  });
  EXPECT_EQ(result.status, ExchangeStatus::kAborted);
  EXPECT_EQ(transport->exchange({}, {}, {}, {}).status, ExchangeStatus::kAborted);
}

TEST_P(Pair, AbortFromOutsideWakesThemAll) {
  // Both wait for a message that never comes; whoever holds the segment aborts both once both sleep.
  auto wait_until_asleep = [&] {
    for (int p = 0; p < 2; ++p)
      while (segment->doorbell(p).sleeping.load() == 0) std::this_thread::yield();
    segment->abort_all();
  };
  std::jthread aborter(wait_until_asleep);
  EXPECT_TRUE(run(GetParam(), 2, [&](int p) {
    auto transport = make(p);
    Bytes in(10);
    comm::Receive receive{1 - p, in};
    return transport->exchange({}, {}, {&receive, 1}, {}).status == ExchangeStatus::kAborted;
  }));
}

TEST_P(Pair, AbortReachesASenderWhoseRingIsFull) {
  std::jthread aborter([&] {
    while (segment->doorbell(0).sleeping.load() == 0) std::this_thread::yield();
    segment->abort(0);
  });
  auto transport = make(0);
  Bytes out(segment->ring_bytes() * 2);
  comm::Send send{1, {out}};
  EXPECT_EQ(transport->exchange({}, {&send, 1}, {}, {}).status, ExchangeStatus::kAborted);
}

INSTANTIATE_TEST_SUITE_P(Shm, Pair, testing::Values(As::kForks, As::kThreads),
                         [](const auto& setting) { return setting.param == As::kForks ? "Forks" : "Threads"; });

TEST(Local, HasNobodyToExchangeWith) {
  auto transport = transport_named("local").make({});
  EXPECT_EQ(transport->exchange({}, {}, {}, {}).status, ExchangeStatus::kDone);
  transport->abort("test");
  EXPECT_EQ(transport->exchange({}, {}, {}, {}).status, ExchangeStatus::kAborted);
}

}  // namespace
}  // namespace shardlab
