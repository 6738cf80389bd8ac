#include "runtime/control/wire.h"

namespace shardlab::control {
namespace {

// Protobuf strings must be UTF-8; a user's text may hold anything.
std::string utf8(const std::string& text, std::size_t bytes_max = kTextBytesMax) {
  std::string clean;
  clean.reserve(std::min(text.size(), bytes_max));
  for (std::size_t i = 0; i < text.size();) {
    unsigned char lead = static_cast<unsigned char>(text[i]);
    std::size_t length = lead < 0x80                   ? 1
                         : lead >= 0xc2 && lead < 0xe0 ? 2
                         : lead >= 0xe0 && lead < 0xf0 ? 3
                         : lead >= 0xf0 && lead < 0xf5 ? 4
                                                       : 0;
    bool whole = length > 0 && i + length <= text.size();
    for (std::size_t j = 1; whole && j < length; ++j) whole = (static_cast<unsigned char>(text[i + j]) & 0xc0) == 0x80;
    if (whole && length == 3) {  // no overlong forms, no surrogates
      unsigned char second = static_cast<unsigned char>(text[i + 1]);
      whole = !(lead == 0xe0 && second < 0xa0) && !(lead == 0xed && second > 0x9f);
    }
    if (whole && length == 4) {
      unsigned char second = static_cast<unsigned char>(text[i + 1]);
      whole = !(lead == 0xf0 && second < 0x90) && !(lead == 0xf4 && second > 0x8f);
    }
    if (!whole) length = 1;
    if (clean.size() + length > bytes_max) break;
    clean += whole ? text.substr(i, length) : std::string("?");
    i += length;
  }
  return clean;
}

}  // namespace

std::string clean_text(const std::string& text) { return utf8(text); }

wire::Member to_wire(const Member& member) {
  wire::Member message;
  message.set_process(member.process);
  message.set_pid(member.pid);
  message.set_host(utf8(member.host));
  message.set_devices(member.devices);
  message.set_host_id(utf8(member.host_id));
  message.set_incarnation(member.incarnation);
  message.set_num_processes(member.num_processes);
  return message;
}

Member from_wire(const wire::Member& message) {
  return {message.process(), message.pid(),         message.host(),         message.devices(),
          message.host_id(), message.incarnation(), message.num_processes()};
}

wire::Program to_wire(const ProgramEvidence& program) {
  wire::Program message;
  message.set_fingerprint(program.fingerprint);
  message.set_group(program.group);
  message.set_name(utf8(program.name));
  message.set_text(utf8(program.text));
  message.set_mesh(utf8(program.mesh));
  message.mutable_devices()->Add(program.devices.begin(), program.devices.end());
  message.mutable_processes()->Add(program.processes.begin(), program.processes.end());
  message.set_channel(utf8(program.channel));
  message.set_message(utf8(program.message));
  message.set_receives(program.receives);
  message.set_buffered(program.buffered);
  message.set_from(program.from);
  message.set_to(program.to);
  for (const std::string& operand : program.operands) message.add_operands(utf8(operand));
  for (const std::string& result : program.results) message.add_results(utf8(result));
  for (const ProgramEvidence::Collective& collective : program.collectives) {
    wire::Collective* added = message.add_collectives();
    added->set_kind(utf8(collective.kind));
    added->set_dtype(utf8(collective.dtype));
    added->set_shape(utf8(collective.shape));
    added->set_reduction(utf8(collective.reduction));
    added->set_op(utf8(collective.op));
    added->set_groups(utf8(collective.groups));
    added->set_pairs(utf8(collective.pairs));
    added->set_bytes(collective.bytes);
    added->set_where(utf8(collective.where));
    added->set_axes(utf8(collective.axes));
  }
  return message;
}

ProgramEvidence from_wire(const wire::Program& message) {
  ProgramEvidence program{.fingerprint = message.fingerprint(),
                          .group = message.group(),
                          .name = message.name(),
                          .text = message.text(),
                          .mesh = message.mesh(),
                          .devices = {message.devices().begin(), message.devices().end()},
                          .processes = {message.processes().begin(), message.processes().end()},
                          .operands = {message.operands().begin(), message.operands().end()},
                          .results = {message.results().begin(), message.results().end()}};
  program.channel = message.channel();
  program.message = message.message();
  program.receives = message.receives();
  program.buffered = message.buffered();
  program.from = message.from();
  program.to = message.to();
  for (const wire::Collective& c : message.collectives())
    program.collectives.push_back(
        {c.kind(), c.dtype(), c.shape(), c.reduction(), c.op(), c.groups(), c.pairs(), c.bytes(), c.where(), c.axes()});
  return program;
}

wire::Call to_wire(const CallEvidence& call) {
  wire::Call message;
  message.set_launch(call.launch);
  message.set_seq(call.seq);
  message.set_fingerprint(call.fingerprint);
  message.set_group(call.group);
  message.set_op(utf8(call.op));
  message.set_where(utf8(call.where));
  message.set_statement(call.statement);
  message.set_issued_ns(call.issued_ns);
  message.set_planned_ns(call.planned_ns);
  message.set_value_hash(call.value_hash);
  for (const std::string& element : call.value_head) message.add_value_head(element);
  return message;
}

CallEvidence from_wire(const wire::Call& message) {
  return {.launch = message.launch(),
          .seq = message.seq(),
          .fingerprint = message.fingerprint(),
          .group = message.group(),
          .op = message.op(),
          .where = message.where(),
          .statement = message.statement(),
          .issued_ns = message.issued_ns(),
          .planned_ns = message.planned_ns(),
          .matched = false,
          .value_hash = message.value_hash(),
          .value_head = {message.value_head().begin(), message.value_head().end()}};
}

wire::Recent to_wire(const Recent& recent) {
  constexpr std::size_t kValueMax = 256;
  wire::Recent message;
  message.set_at(utf8(recent.at));
  message.set_statement(recent.statement);
  for (const StepEvidence& step : recent.steps) {
    wire::Step* added = message.add_steps();
    added->set_kind(int(step.kind));
    added->set_what(utf8(step.what));
    added->set_where(utf8(step.where));
    added->set_statement(step.statement);
    added->set_value(utf8(step.value, kValueMax));
    added->set_fingerprint(step.fingerprint);
    added->set_after(step.after);
  }
  return message;
}

Recent from_wire(const wire::Recent& message) {
  Recent recent{{}, message.at(), message.statement()};
  for (const wire::Step& step : message.steps())
    recent.steps.push_back({.kind = step.kind() == int(StepEvidence::Kind::kLocal)    ? StepEvidence::Kind::kLocal
                                    : step.kind() == int(StepEvidence::Kind::kRead)   ? StepEvidence::Kind::kRead
                                    : step.kind() == int(StepEvidence::Kind::kUnused) ? StepEvidence::Kind::kUnused
                                    : step.kind() == int(StepEvidence::Kind::kWaited) ? StepEvidence::Kind::kWaited
                                    : step.kind() == int(StepEvidence::Kind::kCalled) ? StepEvidence::Kind::kCalled
                                                                                      : StepEvidence::Kind::kObserved,
                            .what = step.what(),
                            .where = step.where(),
                            .statement = step.statement(),
                            .value = step.value(),
                            .fingerprint = step.fingerprint(),
                            .after = step.after()});
  return recent;
}

}  // namespace shardlab::control
