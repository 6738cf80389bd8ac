// Where every process stands: its unmatched calls, and who must take part in them.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "traces/checks/evidence.h"

namespace shardlab {

// What two calls must agree in to be the same call.
struct CallKey {
  std::uint64_t fingerprint = 0, group = 0;
  auto operator<=>(const CallKey&) const = default;
};
inline CallKey key_of(const CallEvidence& call) { return {call.fingerprint, call.group}; }

// A view over evidence, which it borrows; processes are addressed by their index, absent ones stand nowhere.
class Positions {
 public:
  explicit Positions(const Evidence& evidence);

  const Evidence& evidence() const { return *evidence_; }
  const std::vector<int>& processes() const { return processes_; }  // ascending
  const ProcessEvidence& at(int process) const;
  // Unmatched calls in order of issue, without buffered sends; the first is the head.
  const std::vector<const CallEvidence*>& tail(int process) const;
  const CallEvidence* head(int process) const { return tail(process).empty() ? nullptr : tail(process).front(); }
  const std::vector<int>& participants(const CallEvidence& call) const;
  bool includes(const CallEvidence& call, int process) const;
  bool is_message(const CallEvidence& call) const;  // a send or a receive
  // It waits beside its calls, for ever (ProcessEvidence::awaits).
  bool awaits(int process) const {
    return std::size_t(process) < by_process_.size() && by_process_[process] && !at(process).awaits.empty();
  }
  // The heads of p and q differ, neither is a message, and each needs the other: neither can ever go on.
  bool contradict(int p, int q) const;
  bool ended(int process) const;  // left, raised, exited or killed: issues nothing any more
  // Each met the same error, by itself: the program's, and not a matter between processes.
  bool all_raised_alike() const;
  // Processes whose head includes one of `gone` that does not stand at the same call.
  std::vector<int> waiting_for(const std::vector<int>& gone) const;

 private:
  const Evidence* evidence_;
  std::vector<int> processes_;
  std::vector<const ProcessEvidence*> by_process_;
  std::vector<std::vector<const CallEvidence*>> tails_;
};

// The time of an end that came before the others began: of a process that an epoch of an elastic job is without.
inline constexpr std::int64_t kEndedBefore = -1;
// Of processes that have ended, those that had before count only where somebody waits for them.
void erase_unneeded(const Positions& positions, std::vector<int>& gone);

}  // namespace shardlab
