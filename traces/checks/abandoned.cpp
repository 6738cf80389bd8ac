#include "traces/checks/abandoned.h"

#include <algorithm>
#include <map>

#include "traces/checks/alignment.h"
#include "traces/checks/origin.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

// Blocked at a read, with nothing open.
bool at_read(const Positions& positions, int process) {
  return positions.at(process).state == ProcessState::kReading && !positions.head(process);
}

// Does `process` make the call no more? It has left, is about to leave, or is stopped at the very read that one in the call has come to.
bool is_past(const Positions& positions, int process, const std::vector<int>& in_call) {
  const ProcessEvidence& evidence = positions.at(process);
  if (positions.head(process)) return false;
  if (evidence.state == ProcessState::kLeft) return true;
  if (!at_read(positions, process)) return false;
  if (evidence.doing == "exit" || evidence.doing == "leave") return true;
  return !evidence.where.empty() && std::any_of(in_call.begin(), in_call.end(), [&](int p) {
    const ProcessEvidence& other = positions.at(p);
    return other.state == ProcessState::kReading && other.where == evidence.where && other.statement == evidence.statement;
  });
}

}  // namespace

std::vector<Abandoned> abandoned_calls(const Positions& positions) {
  std::map<CallKey, Abandoned> by_call;
  for (int p : positions.processes()) {
    const CallEvidence* head = positions.head(p);
    if (!head || positions.is_message(*head)) continue;
    Abandoned& call = by_call[key_of(*head)];
    if (!call.call) call.call = head;
    call.have.push_back(p);
  }
  std::vector<Abandoned> calls;
  for (auto& [key, call] : by_call) {
    for (int q : positions.processes()) {
      if (!positions.includes(*call.call, q) || !is_past(positions, q, call.have)) continue;
      call.lack.push_back(q);
      if (positions.at(q).state == ProcessState::kLeft) call.ended.push_back(q);
    }
    if (call.ended.empty()) continue;
    int p = call.have.front(), q = call.lack.front();
    call.step = align(track(positions, q, p), track(positions, p, q)).step;
    calls.push_back(std::move(call));
  }
  std::sort(calls.begin(), calls.end(), [](const Abandoned& a, const Abandoned& b) { return a.have.front() < b.have.front(); });
  return calls;
}

Diagnosis diagnosis_of(const Positions& positions, const Abandoned& call) {
  Diagnosis diagnosis{.processes = call.guilty()};
  std::vector<int> others;
  for (int p : positions.participants(*call.call))
    if (std::find(positions.processes().begin(), positions.processes().end(), p) != positions.processes().end()) others.push_back(p);
  diagnosis.participants = sides(positions, diagnosis.processes, others);
  diagnosis.details.emplace_back("look_ahead", std::to_string(positions.evidence().look_ahead_calls));
  add_origin(positions, call.lack.front(), call.have.front(), Dispute::kCalls, diagnosis);
  return diagnosis;
}

}  // namespace shardlab
