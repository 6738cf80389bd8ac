// Conversions between the protocol's messages and our own types. Included by session.cpp, coordinator.cpp and client.cpp alone.
#pragma once

#include "control.pb.h"
#include "runtime/control/member.h"
#include "runtime/control/referee.h"

namespace shardlab::control {

inline constexpr char kTokenKey[] = "shardlab-token";
inline constexpr char kEpochKey[] = "shardlab-epoch";  // which epoch of an elastic job a stream is for; absent: 0
inline constexpr int kMessageBytesMax = 16 << 20;
inline constexpr std::size_t kTextBytesMax = std::size_t(256) << 10;  // of a program; more is cut

// The text as UTF-8, cut to kTextBytesMax.
std::string clean_text(const std::string& text);

wire::Member to_wire(const Member&);
Member from_wire(const wire::Member&);
wire::Program to_wire(const ProgramEvidence&);
ProgramEvidence from_wire(const wire::Program&);
wire::Call to_wire(const CallEvidence&);
CallEvidence from_wire(const wire::Call&);
wire::Recent to_wire(const Recent&);
Recent from_wire(const wire::Recent&);

}  // namespace shardlab::control
