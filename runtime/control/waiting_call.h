// A call that a client waits in: the server that it came to stays until it is done.
#pragma once

#include <grpcpp/grpcpp.h>

#include "runtime/control/open_calls.h"

namespace shardlab::control {

// Made by `new`; gRPC ends it. Whoever derives finishes it once, by what is waited for or by its cancellation, for which gRPC calls it only
// after the handler has returned it.
class WaitingCall : public grpc::ServerUnaryReactor {
 protected:
  explicit WaitingCall(OpenCalls& open) : open_(open) { open_.began(); }

 private:
  void OnDone() final {
    OpenCalls& open = open_;
    delete this;
    open.ended();
  }
  OpenCalls& open_;
};

}  // namespace shardlab::control
