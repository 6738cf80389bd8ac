// Messages between two processes that cannot be: ends that do not fit, and ends without the other.
#pragma once

#include <vector>

#include "traces/checks/positions.h"

namespace shardlab {

struct MessageFault {
  enum class Kind {
    kType,       // the two ends say different types
    kTag,        // sent with another tag than is received
    kPeer,       // sent to another process
    kNoSend,     // the sender does not send it
    kNoReceive,  // the receiver has ended without it, or goes another way
  };
  Kind kind = Kind::kType;
  int sender = 0, receiver = 0;
  const CallEvidence* send = nullptr;
  const CallEvidence* receive = nullptr;
};

std::vector<MessageFault> message_faults(const Positions& positions);

// The diagnosis of a fault, but for its code. Of ends that do not fit both sides are to blame, as a tie.
Diagnosis diagnosis_of(const Positions& positions, const MessageFault& fault);

}  // namespace shardlab
