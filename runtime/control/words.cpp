#include "runtime/control/words.h"

#include "runtime/comm/launch.h"
#include "runtime/control/wire.h"

namespace shardlab::control {
namespace {

wire::Word make_word() {
  wire::Word word;
  word.set_time_ns(comm::now_ns());
  return word;
}

}  // namespace

wire::Word join_word(const Member& member) {
  wire::Word word = make_word();
  *word.mutable_join() = to_wire(member);
  return word;
}

wire::Word program_word(const ProgramEvidence& program) {
  wire::Word word = make_word();
  *word.mutable_program() = to_wire(program);
  return word;
}

wire::Word issued_word(const CallEvidence& call) {
  wire::Word word = make_word();
  *word.mutable_issued() = to_wire(call);
  return word;
}

wire::Word reading_word(const Reading& reading) {
  wire::Word word = make_word();
  wire::Reading& message = *word.mutable_reading();
  message.set_launch(reading.launch);
  message.set_poisoned(reading.poisoned);
  message.set_doing(clean_text(reading.doing));
  message.set_where(clean_text(reading.where));
  message.set_statement(reading.statement);
  message.set_visit(reading.visit);
  return word;
}

wire::Word running_word() {
  wire::Word word = make_word();
  word.mutable_running();
  return word;
}

wire::Word waiting_word(const std::string& doing, const std::string& where, std::int32_t statement) {
  wire::Word word = make_word();
  word.mutable_waiting()->set_doing(clean_text(doing));
  word.mutable_waiting()->set_where(clean_text(where));
  word.mutable_waiting()->set_statement(statement);
  return word;
}

wire::Word wire_mismatch_word(int from, const std::string& what) {
  wire::Word word = make_word();
  word.mutable_wire_mismatch()->set_from(from);
  word.mutable_wire_mismatch()->set_what(clean_text(what));
  return word;
}

wire::Word raised_word(const std::string& error, const std::string& where, std::int32_t statement) {
  wire::Word word = make_word();
  word.mutable_raised()->set_error(clean_text(error));
  word.mutable_raised()->set_where(clean_text(where));
  word.mutable_raised()->set_statement(statement);
  return word;
}

wire::Word leaving_word() {
  wire::Word word = make_word();
  word.mutable_leaving();
  return word;
}

wire::Word heartbeat_word(bool at_work) {
  wire::Word word = make_word();
  word.mutable_heartbeat()->set_at_work(at_work);
  return word;
}

wire::Word recent_word(const Recent& recent) {
  wire::Word word = make_word();
  *word.mutable_recent() = to_wire(recent);
  return word;
}

wire::Word looked_ahead_word() {
  wire::Word word = make_word();
  word.mutable_looked_ahead();
  return word;
}

}  // namespace shardlab::control
