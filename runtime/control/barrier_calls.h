// The coordinator's call on barriers, as gRPC makes it.
#pragma once

#include <grpcpp/grpcpp.h>

#include "control.grpc.pb.h"
#include "runtime/control/barriers.h"
#include "runtime/control/open_calls.h"

namespace shardlab::control {

// Answers once the barrier has passed or failed, unless the caller gives up before.
grpc::ServerUnaryReactor* wait_at_barrier(Barriers& barriers, OpenCalls& open, const wire::BarrierArrival& request);

}  // namespace shardlab::control
