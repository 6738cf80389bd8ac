#include "traces/checks/positions.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace shardlab {

Positions::Positions(const Evidence& evidence) : evidence_(&evidence) {
  for (const ProcessEvidence& process : evidence.processes) {
    SL_CHECK(process.process >= 0, "process {}", process.process);
    processes_.push_back(process.process);
    std::size_t needed = std::size_t(process.process) + 1;
    if (by_process_.size() < needed) {
      by_process_.resize(needed);
      tails_.resize(needed);
    }
    by_process_[process.process] = &process;
    for (const CallEvidence& call : process.calls)
      if (!call.matched && !call.sent) tails_[process.process].push_back(&call);
  }
  std::sort(processes_.begin(), processes_.end());
}

const ProcessEvidence& Positions::at(int process) const {
  SL_CHECK(std::size_t(process) < by_process_.size() && by_process_[process], "no evidence of process {}", process);
  return *by_process_[process];
}

const std::vector<const CallEvidence*>& Positions::tail(int process) const {
  static const std::vector<const CallEvidence*> none;
  return std::size_t(process) < tails_.size() ? tails_[process] : none;
}

const std::vector<int>& Positions::participants(const CallEvidence& call) const {
  static const std::vector<int> none;
  const ProgramEvidence* program = evidence_->program(call);
  return program ? program->processes : none;
}

bool Positions::includes(const CallEvidence& call, int process) const {
  const std::vector<int>& members = participants(call);
  return std::binary_search(members.begin(), members.end(), process);
}

bool Positions::is_message(const CallEvidence& call) const {
  const ProgramEvidence* program = evidence_->program(call);
  return program && !program->channel.empty();
}

bool Positions::contradict(int p, int q) const {
  const CallEvidence* a = head(p);
  const CallEvidence* b = head(q);
  if (!a || !b || p == q || key_of(*a) == key_of(*b) || !includes(*a, q) || !includes(*b, p)) return false;
  return !is_message(*a) && !is_message(*b);
}

bool Positions::all_raised_alike() const {
  return !processes_.empty() && std::all_of(processes_.begin(), processes_.end(), [&](int p) {
    return at(p).state == ProcessState::kRaised && at(p).error == at(processes_.front()).error;
  });
}

bool Positions::ended(int process) const {
  switch (at(process).state) {
    case ProcessState::kLeft:
    case ProcessState::kRaised:
    case ProcessState::kExited:
    case ProcessState::kKilled:
      return true;
    default:
      return false;
  }
}

std::vector<int> Positions::waiting_for(const std::vector<int>& gone) const {
  std::vector<int> waiting;
  for (int p : processes_) {
    if (!head(p) || std::find(gone.begin(), gone.end(), p) != gone.end()) continue;
    bool waits = std::any_of(gone.begin(), gone.end(),
                             [&](int q) { return includes(*head(p), q) && !(head(q) && key_of(*head(q)) == key_of(*head(p))); });
    if (waits) waiting.push_back(p);
  }
  return waiting;
}

void erase_unneeded(const Positions& positions, std::vector<int>& gone) {
  std::erase_if(gone, [&](int p) { return positions.at(p).since_ns == kEndedBefore && positions.waiting_for({p}).empty(); });
}

}  // namespace shardlab
