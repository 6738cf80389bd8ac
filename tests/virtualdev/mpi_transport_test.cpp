// The transport mpi under mpirun, with 1, 2, 3, 4 and 7 processes: what every transport must do (transport_conformance_test.cpp), alone and
// beside shared memory. A test starts mpirun on this program, each process of which runs one case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "tests/support/exchange_all.h"
#include "tests/support/shell.h"
#include "virtualdev/transports/mpi_session.h"
#include "virtualdev/transports/transport_def.h"

namespace shardlab {
namespace {

using comm::ExchangeStatus;
using comm::MessageHeader;
using comm::ProcessIndex;
using testing::Bytes;
using testing::exchange_all;

// A rendezvous of files in one folder: for processes that share nothing else.
class FileBoard final : public Rendezvous {
 public:
  explicit FileBoard(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void set(const std::string& key, const std::string& value) override {
    std::filesystem::path path = file_of(key), fresh = path.string() + "." + std::to_string(getpid());
    std::ofstream(fresh) << value;
    std::filesystem::rename(fresh, path);
  }
  std::string get(const std::string& key, std::chrono::milliseconds limit) override {
    auto end = std::chrono::steady_clock::now() + limit;
    while (!std::filesystem::exists(file_of(key))) {
      if (std::chrono::steady_clock::now() > end) throw TransportError("nobody set the key " + key);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::ifstream file(file_of(key));
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path file_of(std::string key) const {
    for (char& c : key)
      if (c == '/') c = '-';
    return folder_ / key;
  }
  std::filesystem::path folder_;
};

struct Member {
  ProcessTransport& transport;
  Rendezvous& board;
  int self = 0, processes = 0;

  ExchangeStatus send(ProcessIndex to, const Bytes& data, const MessageHeader& header = {}) {
    comm::Send each{to, {data}};
    return transport.exchange(header, {&each, 1}, {}, {}).status;
  }
  ExchangeStatus receive(ProcessIndex from, Bytes& data, const MessageHeader& header = {}) {
    comm::Receive each{from, data};
    return transport.exchange(header, {}, {&each, 1}, {}).status;
  }
};

constexpr std::chrono::seconds kLimit{60};

bool all_to_all(Member& member) {
  for (std::size_t size :
       {std::size_t(0), std::size_t(1), std::size_t(13), std::size_t(32) << 10, std::size_t(65537), std::size_t(1048583)}) {
    int rounds = size > 100000 ? 1 : size > 10000 ? 5 : 50;
    if (!exchange_all(member.transport, member.self, member.processes, size, rounds)) return false;
  }
  return member.processes > 2 || exchange_all(member.transport, member.self, member.processes, std::size_t(16) << 20, 1);
}

bool in_order(Member& member) {
  for (std::uint64_t i = 0; i < 2000; ++i) {
    Bytes data((i * 37) % 500);
    MessageHeader header{.history = i};
    if ((member.self == 0 ? member.send(1, data, header) : member.receive(0, data, header)) != ExchangeStatus::kDone) return false;
  }
  return true;
}

bool mismatch_is_seen_and_seen_again(Member& member) {
  Bytes out(100), in(100, std::byte{0x55});
  comm::Send send{1 - member.self, {out}};
  comm::Receive receive{1 - member.self, in};
  MessageHeader header{.fingerprint = std::uint64_t(10 + member.self)};
  for (std::span<const comm::Send> sends : {std::span<const comm::Send>(&send, 1), std::span<const comm::Send>()}) {
    comm::ExchangeResult result = member.transport.exchange(header, sends, {&receive, 1}, {});
    if (result.status != ExchangeStatus::kMismatch || result.mismatches.size() != 1 ||
        result.mismatches[0].got.fingerprint != std::uint64_t(11 - member.self) || in != Bytes(100, std::byte{0x55}))
      return false;
  }
  member.board.set("seen/" + std::to_string(member.self), "yes");
  member.board.get("seen/" + std::to_string(1 - member.self), kLimit);
  return true;
}

// The other side takes nothing: it is not even there.
bool abort_wakes(Member& member, const std::function<void(const std::function<void(const std::vector<ProcessIndex>&)>&)>& exchange) {
  std::mutex mutex;
  std::condition_variable waiting;
  bool waits = false;
  std::jthread aborter([&] {
    std::unique_lock lock(mutex);
    waiting.wait(lock, [&] { return waits; });
    member.transport.abort("test");
  });
  exchange([&](const std::vector<ProcessIndex>&) {
    std::lock_guard lock(mutex);
    waits = true;
    waiting.notify_all();
  });
  member.board.set("aborted/" + std::to_string(member.self), "yes");
  member.board.get("aborted/" + std::to_string(1 - member.self), kLimit);
  return member.transport.exchange({}, {}, {}, {}).status == ExchangeStatus::kAborted;
}

bool abort_wakes_a_receiver(Member& member) {
  ExchangeStatus status = ExchangeStatus::kDone;
  Bytes in(10);
  comm::Receive receive{1 - member.self, in};
  bool stays = abort_wakes(member, [&](const auto& on_wait) { status = member.transport.exchange({}, {}, {&receive, 1}, on_wait).status; });
  return stays && status == ExchangeStatus::kAborted;
}

bool abort_wakes_a_sender(Member& member) {
  ExchangeStatus status = ExchangeStatus::kDone;
  Bytes out(std::size_t(64) << 20);
  comm::Send send{1 - member.self, {out}};
  bool stays = abort_wakes(member, [&](const auto& on_wait) { status = member.transport.exchange({}, {&send, 1}, {}, on_wait).status; });
  return stays && status == ExchangeStatus::kAborted;
}

// What send() of a value promises for 32 KB: over before anybody receives.
bool small_messages_are_buffered(Member& member) {
  Bytes data(std::size_t(32) << 10);
  if (member.self == 0) {
    if (member.send(1, data) != ExchangeStatus::kDone) return false;
    member.board.set("sent", "yes");
    return true;
  }
  member.board.get("sent", kLimit);
  return member.receive(0, data) == ExchangeStatus::kDone;
}

double own_cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  auto seconds = [](const timeval& time) { return double(time.tv_sec) + double(time.tv_usec) * 1e-6; };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Waiting costs next to nothing: processes may be more than cores.
bool waiting_sleeps(Member& member) {
  constexpr std::chrono::seconds kWait{2};
  Bytes data(1);
  if (!exchange_all(member.transport, member.self, member.processes, 100, 10)) return false;
  if (member.self == 1) {
    std::this_thread::sleep_for(kWait);  // the other side's waiting is what is measured
    return member.send(0, data) == ExchangeStatus::kDone;
  }
  double before = own_cpu_seconds();
  bool done = member.receive(1, data) == ExchangeStatus::kDone;
  double used = own_cpu_seconds() - before;
  if (used > 0.5) fmt::print("waiting {} s took {} s of processor time\n", kWait.count(), used);
  return done && used <= 0.5;
}

struct Case {
  const char* name;
  bool (*run)(Member&);
};
constexpr Case kCases[] = {{"all_to_all", all_to_all},
                           {"in_order", in_order},
                           {"mismatch", mismatch_is_seen_and_seen_again},
                           {"abort_receiver", abort_wakes_a_receiver},
                           {"abort_sender", abort_wakes_a_sender},
                           {"buffered", small_messages_are_buffered},
                           {"sleeps", waiting_sleeps}};

// In a process that mpirun started: --case NAME FOLDER TRANSPORT HOSTS.
int run_case(const std::string& name, const std::string& folder, const std::string& transport, int hosts) {
  alarm(100);
  FileBoard board(folder);
  TransportOptions options{.process_index = MpiSession::job_rank(), .num_processes = MpiSession::job_size(), .rendezvous = &board};
  for (int p = 0; p < options.num_processes && hosts > 1; ++p) options.hosts.push_back(std::to_string(p % hosts));
  try {
    std::unique_ptr<ProcessTransport> made = transport_named(transport).make(options);
    Member member{*made, board, options.process_index, options.num_processes};
    if (options.process_index == 0) fmt::print("transport {}\n", made->name());
    for (const Case& each : kCases) {
      if (each.name != name) continue;
      if (!each.run(member)) return 1;
      fmt::print("process {} is done\n", options.process_index);
      std::fflush(stdout);
      // mpirun ends the others once one ends after an abort: all have said so before.
      board.set(fmt::format("done/{}", options.process_index), "");
      for (int p = 0; p < options.num_processes; ++p) board.get(fmt::format("done/{}", p), std::chrono::seconds(60));
      made->finish();
      return 0;
    }
  } catch (const std::exception& error) { fmt::print("process {}: {}\n", options.process_index, error.what()); }
  return 1;
}

using support::Ran;
using support::shell;

class UnderMpirun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::string why = MpiSession::why_absent(); !why.empty()) GTEST_SKIP() << why;
    if (shell("mpirun --version").code != 0) GTEST_SKIP() << "mpirun is not installed";
  }
  // After an abort MPI is not finalised, which mpirun calls an error; so the processes themselves say how it went.
  static int count_done(const Ran& ran) {
    int count = 0;
    for (std::size_t at = ran.output.find("is done\n"); at != std::string::npos; at = ran.output.find("is done\n", at + 1)) ++count;
    return count;
  }
  Ran run(const std::string& name, int processes, const std::string& transport = "mpi", int hosts = 1, const std::string& options = "") {
    std::string folder = ::testing::TempDir() + "/mpi-board-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) throw IoError("no folder for the rendezvous");
    Ran ran = shell("timeout -k 1 110 mpirun --allow-run-as-root --oversubscribe " + options + " -n " + std::to_string(processes) + " " +
                    std::filesystem::read_symlink("/proc/self/exe").string() + " --case " + name + " " + folder + " " + transport + " " +
                    std::to_string(hosts));
    std::filesystem::remove_all(folder);
    return ran;
  }
};

class Conformance : public UnderMpirun, public ::testing::WithParamInterface<int> {};

TEST_P(Conformance, AllToAll) {
  Ran ran = run("all_to_all", GetParam());
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, ::testing::HasSubstr("transport mpi\n"));
}

// Shared memory inside a host and MPI between hosts, without being asked for.
TEST_P(Conformance, AllToAllOnTwoHosts) {
  Ran ran = run("all_to_all", GetParam(), "auto", 2);
  EXPECT_EQ(ran.code, 0) << ran.output;
  const char* name = GetParam() == 1 ? "transport shm\n" : GetParam() == 2 ? "transport mpi\n" : "transport shm+mpi\n";
  EXPECT_THAT(ran.output, ::testing::HasSubstr(name));
}

// As between machines: Open MPI's own TCP.
TEST_P(Conformance, AllToAllOverTheNetworkOfOpenMpi) {
  Ran ran = run("all_to_all", GetParam(), "mpi", 1, "--mca btl tcp,self");
  EXPECT_EQ(ran.code, 0) << ran.output;
}

INSTANTIATE_TEST_SUITE_P(, Conformance, ::testing::Values(1, 2, 3, 4, 7));

class Pair : public UnderMpirun, public ::testing::WithParamInterface<const char*> {};

TEST_P(Pair, Case) {
  std::string name = GetParam();
  for (const char* options : {"", "--mca btl tcp,self"}) {
    Ran ran = run(name, 2, "mpi", 1, options);
    EXPECT_EQ(count_done(ran), 2) << options << "\n" << ran.output;
    if (!name.starts_with("abort")) { EXPECT_EQ(ran.code, 0) << options << "\n" << ran.output; }
  }
}

INSTANTIATE_TEST_SUITE_P(, Pair, ::testing::Values("in_order", "mismatch", "abort_receiver", "abort_sender", "buffered", "sleeps"),
                         [](const auto& setting) { return std::string(setting.param); });

TEST_F(UnderMpirun, OthersAreToldHow) {
  try {
    FileBoard board(::testing::TempDir());
    transport_named("mpi").make({.process_index = 0, .num_processes = 2, .rendezvous = &board, .limit = std::chrono::milliseconds(1)});
    FAIL() << "no error";
  } catch (const std::exception& error) { EXPECT_THAT(error.what(), ::testing::HasSubstr("nobody set")); }
}

}  // namespace
}  // namespace shardlab

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "--case") return shardlab::run_case(argv[2], argv[3], argv[4], std::atoi(argv[5]));
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
