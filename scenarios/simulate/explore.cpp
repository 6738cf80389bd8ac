#include "scenarios/simulate/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace shardlab::simulate {
namespace {

using Make = std::function<std::unique_ptr<Simulation>()>;

bool fails(const Simulation& run) {
  return std::any_of(run.diagnoses().begin(), run.diagnoses().end(), [](const Diagnosis& each) { return each.severity == "error"; });
}

std::string verdict_key(const Simulation& run) {
  std::string key;
  for (const Diagnosis& diagnosis : run.diagnoses()) {
    key += diagnosis.code;
    for (int p : diagnosis.processes) key += fmt::format(" {}", p);
    key += ';';
  }
  return key;
}

// Threads of processes with one issuer decide nothing: they go first, and nobody asks in which order.
int deterministic(const Simulation& run) {
  for (std::size_t i = 0; i < run.enabled().size(); ++i)
    if (run.is_deterministic(run.enabled()[i].process)) return int(i);
  return -1;
}

// The threads to branch over: those of one process whose issuers can all go, for issuers conflict only inside their process; else all.
std::vector<ThreadId> branches(const Simulation& run) {
  for (ThreadId first : run.enabled()) {
    if (!run.all_enabled(first.process)) continue;
    std::vector<ThreadId> own;
    for (ThreadId each : run.enabled())
      if (each.process == first.process) own.push_back(each);
    return own;
  }
  return run.enabled();
}

class Exhaustive {
 public:
  Exhaustive(const Make& make, const ExploreOptions& options, Exploration& result) : make_(make), options_(options), result_(result) {}

  void run() {
    std::vector<std::vector<ThreadId>> open{{}};
    while (!open.empty()) {
      if (result_.runs >= options_.count) return;
      std::vector<ThreadId> prefix = std::move(open.back());
      open.pop_back();
      if (follow(std::move(prefix), open)) return;
    }
    result_.complete = true;
  }

 private:
  // Follows a prefix of choices and then the first branch of each; the other branches are left open. True where it fails.
  bool follow(std::vector<ThreadId> prefix, std::vector<std::vector<ThreadId>>& open) {
    std::unique_ptr<Simulation> run = make_();
    std::vector<ThreadId> chosen;
    while (!run->enabled().empty()) {
      if (int sure = deterministic(*run); sure >= 0) {
        run->step(std::size_t(sure));
        continue;
      }
      ThreadId next;
      if (chosen.size() < prefix.size()) {
        next = prefix[chosen.size()];
      } else {
        if (!known_.insert(run->state_key()).second) return false;  // what follows was explored from there
        std::vector<ThreadId> ways = branches(*run);
        for (std::size_t i = ways.size(); i-- > 1;) {
          open.push_back(chosen);
          open.back().push_back(ways[i]);
        }
        next = ways[0];
      }
      chosen.push_back(next);
      run->step(std::size_t(run->index_of(next)));
    }
    run->finish();
    ++result_.runs;
    result_.states = std::int64_t(known_.size());
    result_.steps_max = std::max(result_.steps_max, run->steps());
    if (!fails(*run)) {
      if (!result_.run) result_.run = std::move(run);
      return false;
    }
    result_.found_in_run = result_.runs - 1;
    result_.choices = run->choices();
    result_.run = std::move(run);
    return true;
  }

  const Make& make_;
  const ExploreOptions& options_;
  Exploration& result_;
  std::unordered_set<std::string> known_;
};

std::unique_ptr<Schedule> schedule_of(const ExploreOptions& options, std::int64_t index, int threads, std::int64_t steps) {
  std::uint64_t seed = options.seed * 0x9E3779B97F4A7C15ULL + std::uint64_t(index);
  switch (options.policy) {
    case ExploreOptions::Policy::kRandom:
      return random_schedule(seed);
    case ExploreOptions::Policy::kPct:
      return pct_schedule(seed, threads, steps, options.depth);
    case ExploreOptions::Policy::kReplay:
      return replay_schedule(options.choices);
    default:
      return fifo_schedule();
  }
}

std::string covered_text(const Exploration& result, const ExploreOptions& options) {
  using Policy = ExploreOptions::Policy;
  std::string found = result.found_in_run >= 0 ? fmt::format("found in run {}", result.found_in_run + 1) : std::string();
  if (options.policy == Policy::kReplay) return "one schedule, replayed";
  if (options.policy == Policy::kFifo) return "one schedule, each process as far as it can go";
  if (options.policy == Policy::kExhaustive) {
    if (!found.empty()) return fmt::format("{}, {} states seen", found, result.states);
    if (result.complete)
      return fmt::format(
          "every schedule, by {} runs and {} states (schedules that differ only in the order of independent steps count once)", result.runs,
          result.states);
    return fmt::format("none found in {} runs and {} states; not every schedule was tried", result.runs, result.states);
  }
  std::string name = options.policy == Policy::kRandom ? "random" : "PCT";
  std::string text = found.empty() ? fmt::format("none found in {} {} schedules", result.runs, name) : fmt::format("{} of {}", found, name);
  text += fmt::format(", {} threads, at most {} steps", result.threads, result.steps_max);
  if (options.policy == Policy::kPct && found.empty()) {
    double hit = pct_bound(result.threads, result.steps_max, options.depth), missed = 1;
    for (std::int64_t i = 0; i < result.runs; ++i) missed *= 1 - hit;
    text += fmt::format("; a bug of depth {} was missed with a probability of at most {:.3g}", options.depth, missed);
  }
  return text;
}

int switches(const std::vector<ThreadId>& choices) {
  int count = 0;
  for (std::size_t i = 1; i < choices.size(); ++i) count += !(choices[i] == choices[i - 1]);
  return count;
}

}  // namespace

std::vector<ThreadId> shrink(const Make& make, std::vector<ThreadId> choices) {
  auto verdict = [&](const std::vector<ThreadId>& tried, std::vector<ThreadId>& seen) {
    std::unique_ptr<Simulation> run = make();
    std::unique_ptr<Schedule> schedule = replay_schedule(tried);
    run->run(*schedule);
    seen = run->choices();
    return fails(*run) ? verdict_key(*run) : std::string();
  };
  std::vector<ThreadId> seen;
  std::string wanted = verdict(choices, seen);
  choices = seen;
  bool improved = !wanted.empty();
  constexpr int kRoundsMax = 20;
  for (int round = 0; improved && round < kRoundsMax; ++round) {
    improved = false;
    // Without a block of choices the thread that went before goes on as far as it can.
    for (std::size_t block = std::max<std::size_t>(choices.size() / 2, 1); block >= 1; block /= 2)
      for (std::size_t at = 0; at + block <= choices.size();) {
        std::vector<ThreadId> shorter = choices;
        shorter.erase(shorter.begin() + std::ptrdiff_t(at), shorter.begin() + std::ptrdiff_t(at + block));
        if (verdict(shorter, seen) == wanted &&
            (switches(seen) < switches(choices) || (switches(seen) == switches(choices) && seen.size() < choices.size()))) {
          choices = seen;
          improved = true;
        } else {
          at += block;
        }
      }
  }
  return choices;
}

Exploration explore(const Make& make, const ExploreOptions& options) {
  Exploration result;
  if (options.policy == ExploreOptions::Policy::kExhaustive) {
    Exhaustive(make, options, result).run();
  } else {
    bool many = options.policy == ExploreOptions::Policy::kRandom || options.policy == ExploreOptions::Policy::kPct;
    std::int64_t count = many ? options.count : 1, steps = 0;
    for (std::int64_t i = 0; i < count && result.found_in_run < 0; ++i) {
      std::unique_ptr<Simulation> run = make();
      // The length of the run, which PCT needs, is that of the first.
      std::unique_ptr<Schedule> schedule =
          i == 0 && options.policy == ExploreOptions::Policy::kPct ? fifo_schedule() : schedule_of(options, i, run->threads(), steps);
      run->run(*schedule);
      steps = std::max(steps, run->steps());
      ++result.runs;
      if (fails(*run)) {
        result.found_in_run = i;
        result.choices = run->choices();
        result.run = std::move(run);
      } else if (!result.run) {
        result.run = std::move(run);
      }
    }
    result.steps_max = steps;
    result.complete = false;
  }
  if (!result.run) result.run = make();
  result.threads = result.run->threads();
  result.covered = covered_text(result, options);
  if (result.found_in_run < 0) return result;
  std::unique_ptr<Simulation> plain = make();
  std::unique_ptr<Schedule> fifo = fifo_schedule();
  plain->run(*fifo);
  result.first_run_ended = !fails(*plain);
  if (result.first_run_ended) {
    result.choices = shrink(make, result.choices);
    result.run = make();
    std::unique_ptr<Schedule> replay = replay_schedule(result.choices);
    result.run->run(*replay);
  }
  result.diagnoses = result.run->diagnoses();
  return result;
}

}  // namespace shardlab::simulate
