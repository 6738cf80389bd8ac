// A coordinator under attack while a job runs at it: strangers and broken clients are turned away and harm nothing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "runtime/base/error.h"
#include "runtime/control/client.h"
#include "runtime/control/coordinator.h"
#include "runtime/control/network.h"
#include "tests/control/attackers.h"
#include "tests/control/programs.h"

namespace shardlab::control {
namespace {

using std::chrono::seconds;
using testing_::Attack;
using testing_::Issuer;

constexpr int kProcesses = 3;
constexpr int kAttackers = 4;
constexpr std::size_t kMemoryMax = std::size_t(600) << 20;  // what attackers and coordinator together may add to this process

std::size_t resident_bytes() {
  std::size_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * 4096;
}

std::size_t open_files() {
  std::filesystem::directory_iterator files("/proc/self/fd"), end;
  return std::size_t(std::distance(files, end));
}

// What attackers did, by the attack's name, and the harm that they saw.
struct Attacks {
  std::mutex mutex;
  std::map<std::string_view, int> done;
  std::vector<std::string> harm;
  int total() {
    std::lock_guard lock(mutex);
    return std::accumulate(done.begin(), done.end(), 0, [](int sum, const auto& each) { return sum + each.second; });
  }
};

void attack(const testing_::Target& target, std::uint64_t seed, std::stop_token stop, Attacks& attacks) {
  std::mt19937_64 random(seed);
  // Each of them at least once, in another order for each seed.
  std::vector<Attack> order(testing_::all_attacks().begin(), testing_::all_attacks().end());
  std::shuffle(order.begin(), order.end(), random);
  for (std::size_t i = 0; !stop.stop_requested(); ++i) {
    const Attack& each = i < order.size() ? order[i] : order[random() % order.size()];
    std::string harm = each.run(target, random);
    std::lock_guard lock(attacks.mutex);
    ++attacks.done[each.name];
    if (!harm.empty()) attacks.harm.push_back(fmt::format("{} (seed {})", harm, seed));
  }
}

// One process of the job: issues and agrees until it is told that it is enough, always as many steps as the others.
std::string take_part(Coordinator& coordinator, int process, std::atomic<bool>& enough) {
  std::vector<int> everyone(kProcesses);
  std::iota(everyone.begin(), everyone.end(), 0);
  auto program = testing_::make_program("A", everyone), other = testing_::make_program("B", everyone);
  try {
    auto client = connect({.address = coordinator.address(),
                           .token = coordinator.token(),
                           .process_index = process,
                           .num_processes = kProcesses,
                           .num_devices = 2,
                           .join_timeout_ms = 60'000});
    Issuer issuer;
    for (int round = 0;; ++round) {
      for (int i = 0; i < 50; ++i) client->issued(issuer.launch(i % 3 ? program : other, 7));
      client->await_agreement(issuer.last(), "print", {});
      client->wait_at_barrier("round", seconds(60), {}, {});
      if (process != 1) client->wait_at_barrier("two of them", seconds(60), {0, 2}, {});
      std::string key = fmt::format("round/{}", round);
      if (process == 0) client->set_key(key, enough ? "last" : "go on");
      if (client->get_key(key, seconds(60)) == "last") break;
    }
    client->leave();
    return "";
  } catch (const Error& error) { return error.what(); }
}

void hold(std::uint64_t seed, std::chrono::milliseconds duration, int attacks_at_least) {
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::size_t memory = resident_bytes(), files = open_files();
  Attacks attacks;
  {
    Coordinator coordinator({.num_processes = kProcesses});
    testing_::Target target{.port = split_address(coordinator.address(), "the coordinator's address").second,
                            .token = coordinator.token(),
                            .num_processes = kProcesses};
    std::vector<std::jthread> attackers;
    for (int i = 0; i < kAttackers; ++i)
      attackers.emplace_back([&, i](std::stop_token stop) { attack(target, seed * kAttackers + std::uint64_t(i), stop, attacks); });
    // The job begins under attack, and ends before the attackers do.
    std::atomic<bool> enough = false;
    std::array<std::string, kProcesses> errors;
    std::vector<std::jthread> processes;
    for (int p = 0; p < kProcesses; ++p) processes.emplace_back([&, p] { errors[std::size_t(p)] = take_part(coordinator, p, enough); });
    auto end = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < end || attacks.total() < attacks_at_least)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    enough = true;
    processes.clear();
    for (const std::string& error : errors) EXPECT_EQ(error, "");
    EXPECT_TRUE(coordinator.diagnoses().empty());
    EXPECT_TRUE(coordinator.missing().empty());
    EXPECT_EQ(coordinator.get_key("stolen"), std::nullopt);
    EXPECT_EQ(coordinator.get_key("huge"), std::nullopt);
    for (const Member& member : coordinator.members()) EXPECT_EQ(member.devices, 2);
    attackers.clear();
  }
  for (const std::string& harm : attacks.harm) ADD_FAILURE() << harm;
  EXPECT_LT(resident_bytes(), memory + kMemoryMax);
  // Sockets are closed by gRPC's threads, soon.
  for (int i = 0; i < 500 && open_files() > files + 50; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_LE(open_files(), files + 50);
  std::string text;
  for (const auto& [name, count] : attacks.done) text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, count);
  std::printf("%d attacks, from seed %llu on (%s)\n", attacks.total(), static_cast<unsigned long long>(seed), text.c_str());
}

TEST(CoordinatorFuzz, AJobRunsOnUnderAttack) { hold(20261121, std::chrono::milliseconds(1500), 60); }

// As long as SHARDLAB_FUZZ_SECONDS says, from seed SHARDLAB_FUZZ_SEED on: the long run of benchmarks/soak.
TEST(CoordinatorFuzz, JobsHoldForAsLongAsAsked) {
  const char* limit = std::getenv("SHARDLAB_FUZZ_SECONDS");
  if (limit == nullptr) GTEST_SKIP() << "SHARDLAB_FUZZ_SECONDS is not set";
  const char* first = std::getenv("SHARDLAB_FUZZ_SEED");
  std::uint64_t seed = first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
  auto end = std::chrono::steady_clock::now() + seconds(std::atoi(limit));
  for (; std::chrono::steady_clock::now() < end && !HasFailure(); ++seed) hold(seed, std::chrono::milliseconds(5000), 0);
}

}  // namespace
}  // namespace shardlab::control
