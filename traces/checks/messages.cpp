#include "traces/checks/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "traces/checks/wording.h"

namespace shardlab {
namespace {

const ProgramEvidence* program_of(const Positions& positions, const CallEvidence* call) {
  return call ? positions.evidence().program(*call) : nullptr;
}
bool is_receive(const ProgramEvidence* program) { return program && !program->channel.empty() && program->receives; }
bool is_send(const ProgramEvidence* program) { return program && !program->channel.empty() && !program->receives; }

// Sends of a process that nobody has received: those over and buffered, then the one that it stands at.
std::vector<const CallEvidence*> open_sends(const Positions& positions, int process) {
  std::vector<const CallEvidence*> sends;
  for (const CallEvidence& call : positions.at(process).calls)
    if (call.sent) sends.push_back(&call);
  if (const CallEvidence* head = positions.head(process); is_send(program_of(positions, head))) sends.push_back(head);
  return sends;
}

// Will the process, as far as it was seen, still come to that end of the channel?
bool comes_to(const Positions& positions, int process, const std::string& channel, bool receives) {
  const auto& tail = positions.tail(process);
  return std::any_of(tail.begin(), tail.end(), [&](const CallEvidence* call) {
    const ProgramEvidence* program = program_of(positions, call);
    return program && program->channel == channel && program->receives == receives;
  });
}

bool exists(const Positions& positions, int process) {
  return std::binary_search(positions.processes().begin(), positions.processes().end(), process);
}

}  // namespace

std::vector<MessageFault> message_faults(const Positions& positions) {
  using Kind = MessageFault::Kind;
  std::vector<MessageFault> faults;
  std::set<const CallEvidence*> explained;
  for (int q : positions.processes()) {
    const CallEvidence* receive = positions.head(q);
    const ProgramEvidence* wanted = program_of(positions, receive);
    if (!is_receive(wanted) || !exists(positions, wanted->from)) continue;
    int p = wanted->from;
    MessageFault fault{Kind::kNoSend, p, q, nullptr, receive};
    std::vector<const CallEvidence*> sends = open_sends(positions, p);
    auto find = [&](auto&& fits) {
      auto found = std::find_if(sends.begin(), sends.end(), [&](const CallEvidence* send) { return fits(*program_of(positions, send)); });
      return found == sends.end() ? nullptr : *found;
    };
    if ((fault.send = find([&](const ProgramEvidence& s) { return s.channel == wanted->channel && s.message != wanted->message; }))) {
      fault.kind = Kind::kType;
    } else if (comes_to(positions, p, wanted->channel, false)) {
      continue;  // it is on its way: whoever stops the sender is to be told of
    } else if ((fault.send = find([&](const ProgramEvidence& s) { return s.to == q && s.channel != wanted->channel; }))) {
      fault.kind = Kind::kTag;
    } else if ((fault.send = find([&](const ProgramEvidence& s) { return s.to != q && s.message == wanted->message; }))) {
      fault.kind = Kind::kPeer;
    } else if (!positions.ended(p) && is_receive(program_of(positions, positions.head(p)))) {
      continue;  // it waits for a message itself
    } else if (!positions.ended(p) && !positions.head(p)) {
      continue;  // it may still come
    }
    if (fault.send) explained.insert(fault.send);
    faults.push_back(fault);
  }
  for (int p : positions.processes())
    for (const CallEvidence* send : open_sends(positions, p)) {
      const ProgramEvidence& sent = *program_of(positions, send);
      if (explained.contains(send) || !exists(positions, sent.to)) continue;
      bool left = positions.ended(sent.to);
      bool elsewhere = !send->sent && positions.head(sent.to) && !is_send(program_of(positions, positions.head(sent.to)));
      if (!left && !elsewhere) continue;
      if (comes_to(positions, sent.to, sent.channel, true)) continue;
      faults.push_back({Kind::kNoReceive, p, sent.to, send, nullptr});
    }
  return faults;
}

Diagnosis diagnosis_of(const Positions& positions, const MessageFault& fault) {
  using Kind = MessageFault::Kind;
  const Evidence& evidence = positions.evidence();
  const ProgramEvidence* sent = program_of(positions, fault.send);
  const ProgramEvidence* wanted = program_of(positions, fault.receive);
  Diagnosis diagnosis;
  std::string sends =
      fault.send ? fmt::format("process {} sends {} (from {}){}", fault.sender, sent->message, sent->channel, where_text(fault.send->where))
                 : "";
  std::string receives = fault.receive ? fmt::format("process {} receives {} (from {}){}", fault.receiver, wanted->message, wanted->channel,
                                                     where_text(fault.receive->where))
                                       : "";
  switch (fault.kind) {
    case Kind::kType:
      diagnosis.tie = true;
      diagnosis.processes = {fault.sender, fault.receiver};
      diagnosis.fields = differing_fields(sent, wanted);
      diagnosis.message = fmt::format("{}, but {}", sends, receives);
      break;
    case Kind::kTag:
      diagnosis.tie = true;
      diagnosis.processes = {fault.sender, fault.receiver};
      diagnosis.fields = {"channel"};
      diagnosis.message = fmt::format("{}, but {}: the tags differ", sends, receives);
      break;
    case Kind::kPeer:
      diagnosis.processes = {fault.sender};
      diagnosis.fields = {"peer"};
      diagnosis.message = fmt::format("{}, but it is process {} that waits for it: {}", sends, fault.receiver, receives);
      break;
    case Kind::kNoSend:
      diagnosis.processes = {fault.sender};
      diagnosis.message = fmt::format("{}, which process {} does not send: it {}", receives, fault.sender,
                                      positions.head(fault.sender) ? "runs " + call_at(evidence, *positions.head(fault.sender))
                                                                   : "has " + state_text(positions.at(fault.sender)));
      diagnosis.details.emplace_back("direction", "skipped");
      break;
    case Kind::kNoReceive:
      diagnosis.processes = {fault.receiver};
      diagnosis.message = fmt::format("{}, which process {} does not receive: it {}", sends, fault.receiver,
                                      positions.head(fault.receiver) ? "runs " + call_at(evidence, *positions.head(fault.receiver))
                                                                     : "has " + state_text(positions.at(fault.receiver)));
      diagnosis.details.emplace_back("direction", "skipped");
      break;
  }
  std::sort(diagnosis.processes.begin(), diagnosis.processes.end());
  auto side = [&](int process, const CallEvidence* call) { diagnosis.participants.push_back(participant(positions, process, call)); };
  bool sender_first = diagnosis.processes.front() == fault.sender;
  if (!sender_first) side(fault.receiver, fault.receive);
  side(fault.sender, fault.send);
  if (sender_first) side(fault.receiver, fault.receive);
  for (Participant& each : diagnosis.participants)
    if (each.kind == "transfer") each.kind = each.op;
  return diagnosis;
}

}  // namespace shardlab
