// Elastic jobs: what the processes that live do together, and what becomes of it when one of them ends.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/exec/device.h"

namespace shardlab {

// A process ended within live_devices; every process that was in it is told so.
class ProcessFailureError : public Error {
 public:
  ProcessFailureError(const std::string& text, std::vector<Device> failed) : Error(text), failed_(std::move(failed)) {}
  const std::vector<Device>& failed_devices() const { return failed_; }

 private:
  std::vector<Device> failed_;
};

// jax.experimental.multihost_utils.live_devices. Waits until all processes of the job that live have come here; all get the same list:
// those of `devices` whose processes live, by id. Runs `body` with it, and waits until all have ended it: either everybody goes on, or
// everybody gets ProcessFailureError, and may call again with who is left. A process that was started again takes part from the next call
// on. The job must be recoverable (InitializeOptions::enable_recoverability, SHARDLAB_ENABLE_RECOVERABILITY or JAX_ENABLE_RECOVERABILITY).
// What else `body` throws is told to the others and thrown here.
void live_devices(const std::vector<Device>& devices, const std::function<void(const std::vector<Device>& live)>& body,
                  std::source_location where = std::source_location::current());

}  // namespace shardlab
