// The words of a process to its coordinator, as messages that bear the time at which they were made.
#pragma once

#include <cstdint>
#include <string>

#include "control.pb.h"
#include "runtime/control/member.h"
#include "runtime/control/referee.h"

namespace shardlab::control {

wire::Word join_word(const Member&);
wire::Word program_word(const ProgramEvidence&);
wire::Word issued_word(const CallEvidence&);
wire::Word reading_word(const Reading&);
wire::Word running_word();
wire::Word waiting_word(const std::string& doing, const std::string& where, std::int32_t statement);
wire::Word wire_mismatch_word(int from, const std::string& what);
wire::Word raised_word(const std::string& error, const std::string& where, std::int32_t statement);
wire::Word leaving_word();
wire::Word heartbeat_word(bool at_work);
wire::Word recent_word(const Recent&);
wire::Word looked_ahead_word();

}  // namespace shardlab::control
