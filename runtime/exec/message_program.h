// The programs of messages: what both ends must agree on.
#pragma once

#include <memory>

#include "runtime/core/tensor_type.h"
#include "runtime/exec/executable.h"

namespace shardlab {

class Context;

struct MessageEnds {
  int from = 0, to = 0;
  std::int64_t tag = 0;
  bool receives = false;  // whose end it is
};

int first_device_of(const Context& context, int process);
std::shared_ptr<const Executable> message_program(Context& context, const MessageEnds& ends, const TensorType& type);

}  // namespace shardlab
