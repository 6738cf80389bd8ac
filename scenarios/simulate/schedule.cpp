#include "scenarios/simulate/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/error.h"

namespace shardlab::simulate {
namespace {

// The first thread in the order of processes.
std::size_t lowest(const std::vector<ThreadId>& enabled) {
  auto before = [](ThreadId a, ThreadId b) { return std::pair(a.process, a.issuer) < std::pair(b.process, b.issuer); };
  return std::size_t(std::min_element(enabled.begin(), enabled.end(), before) - enabled.begin());
}

class Fifo final : public Schedule {
 public:
  std::size_t choose(const std::vector<ThreadId>& enabled, int previous) override {
    return previous >= 0 ? std::size_t(previous) : lowest(enabled);
  }
};

class Random final : public Schedule {
 public:
  explicit Random(std::uint64_t seed) : random_(seed) {}
  std::size_t choose(const std::vector<ThreadId>& enabled, int) override { return random_() % enabled.size(); }

 private:
  std::mt19937_64 random_;
};

class Pct final : public Schedule {
 public:
  Pct(std::uint64_t seed, std::int64_t steps, int depth) : random_(seed), depth_(depth) {
    for (int i = 0; i + 1 < depth; ++i) changes_.insert(std::int64_t(random_() % std::uint64_t(std::max<std::int64_t>(steps, 1))));
  }

  std::size_t choose(const std::vector<ThreadId>& enabled, int) override {
    std::size_t best = highest(enabled);
    // At a change the thread that would go falls below all others.
    if (changes_.contains(step_++)) {
      priority(enabled[best]) = --lowest_;
      best = highest(enabled);
    }
    return best;
  }

 private:
  std::int64_t& priority(ThreadId thread) {
    auto [found, is_new] = priorities_.try_emplace({thread.process, thread.issuer}, 0);
    if (is_new) found->second = std::int64_t(random_() >> 2);
    return found->second;
  }
  std::size_t highest(const std::vector<ThreadId>& enabled) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < enabled.size(); ++i)
      if (priority(enabled[i]) > priority(enabled[best])) best = i;
    return best;
  }

  std::mt19937_64 random_;
  int depth_;
  std::set<std::int64_t> changes_;
  std::map<std::pair<int, int>, std::int64_t> priorities_;
  std::int64_t step_ = 0, lowest_ = 0;
};

class Replay final : public Schedule {
 public:
  explicit Replay(std::vector<ThreadId> choices) : choices_(std::move(choices)) {}
  std::size_t choose(const std::vector<ThreadId>& enabled, int previous) override {
    while (next_ < choices_.size()) {
      auto found = std::find(enabled.begin(), enabled.end(), choices_[next_++]);
      if (found != enabled.end()) return std::size_t(found - enabled.begin());
    }
    return previous >= 0 ? std::size_t(previous) : lowest(enabled);
  }

 private:
  std::vector<ThreadId> choices_;
  std::size_t next_ = 0;
};

}  // namespace

std::string text_of(ThreadId thread) {
  return thread.issuer == 0 ? fmt::format("p{}", thread.process) : fmt::format("p{}.{}", thread.process, thread.issuer);
}

ThreadId thread_from(std::string_view text) {
  ThreadId thread;
  const char* end = text.data() + text.size();
  bool good = text.starts_with('p');
  auto process = std::from_chars(text.data() + (good ? 1 : 0), end, thread.process);
  good = good && process.ec == std::errc();
  if (good && process.ptr != end) {
    good = *process.ptr == '.';
    auto issuer = std::from_chars(process.ptr + (good ? 1 : 0), end, thread.issuer);
    good = good && issuer.ec == std::errc() && issuer.ptr == end;
  }
  if (!good) throw_user_error("'{}' is no thread of a schedule; wanted \"p2\", or \"p2.1\" for another issuer", text);
  return thread;
}

std::unique_ptr<Schedule> fifo_schedule() { return std::make_unique<Fifo>(); }
std::unique_ptr<Schedule> random_schedule(std::uint64_t seed) { return std::make_unique<Random>(seed); }
std::unique_ptr<Schedule> pct_schedule(std::uint64_t seed, int, std::int64_t steps, int depth) {
  return std::make_unique<Pct>(seed, steps, depth);
}
double pct_bound(int threads, std::int64_t steps, int depth) {
  return 1.0 / (double(std::max(threads, 1)) * std::pow(double(std::max<std::int64_t>(steps, 1)), depth - 1));
}
std::unique_ptr<Schedule> replay_schedule(std::vector<ThreadId> choices) { return std::make_unique<Replay>(std::move(choices)); }

}  // namespace shardlab::simulate
