// Transfers under a name of their own: what processes move when they gather, broadcast or wait.
#pragma once

#include <string>

#include "runtime/exec/executable.h"

namespace shardlab {

// What a transfer is called: the user's op, the collective's kind, and what else must agree between the processes.
struct TransferName {
  std::string name = "device_put", kind = "transfer", detail;
  // Begun by a call that others wait in: as in MPI, the two do not match (the standard, 6.12, "Nonblocking Collective Operations").
  bool is_async = false;
};
std::shared_ptr<const Executable> compile_transfer(Context& context, const TensorType& type, const Sharding& from, const Sharding& to,
                                                   bool from_host, const TransferName& name);

}  // namespace shardlab
