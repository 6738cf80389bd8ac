// Schedules: who goes next among the threads that can.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace shardlab::simulate {

// One issuing thread of one process.
struct ThreadId {
  int process = 0, issuer = 0;
  bool operator==(const ThreadId&) const = default;
};

std::string text_of(ThreadId thread);         // "p2", "p2.1" for another issuer than the first
ThreadId thread_from(std::string_view text);  // UserError where it is none

// Chooses one of the enabled threads, by index; `previous` is the one that went last (its index, or -1 where it cannot go on).
class Schedule {
 public:
  virtual ~Schedule() = default;
  virtual std::size_t choose(const std::vector<ThreadId>& enabled, int previous) = 0;
};

// Each thread goes as far as it can, in the order of processes.
std::unique_ptr<Schedule> fifo_schedule();
// Any thread at each step, equally likely.
std::unique_ptr<Schedule> random_schedule(std::uint64_t seed);
// Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): random priorities and `depth - 1` changes of priority at random
// steps find a bug of that depth, among n threads and k steps, with a probability of at least 1 / (n k^(depth - 1)).
std::unique_ptr<Schedule> pct_schedule(std::uint64_t seed, int threads, std::int64_t steps, int depth);
double pct_bound(int threads, std::int64_t steps, int depth);
// What was chosen before; then fifo. A thread that cannot go is passed over.
std::unique_ptr<Schedule> replay_schedule(std::vector<ThreadId> choices);

}  // namespace shardlab::simulate
