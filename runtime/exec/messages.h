// Messages from one process to another.
#pragma once

#include <string_view>

#include "runtime/exec/array.h"
#include "runtime/exec/operand.h"

namespace shardlab {

// Messages of at most so many bytes are buffered: their send is over at once. A larger one waits for its receive.
inline constexpr std::int64_t kBufferedMessageBytes = 32 * 1024;

struct MessageOptions {
  int peer = 0;  // the process at the other end
  std::int64_t tag = 0;
};

// Sends the whole value, which this process must be able to fetch. Does not wait. Messages from one process to another arrive in the
// order in which they were sent.
void send_to(const Operand& x, const MessageOptions& options, Where where);
// The next value that `peer` sends with this tag, on this process's default device. Does not wait; reading the value does.
Array receive_from(const TensorType& type, const MessageOptions& options, Where where);

}  // namespace shardlab
