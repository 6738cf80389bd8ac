// The coordinator's calls on the key-value store, as gRPC makes them.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>

#include "control.grpc.pb.h"
#include "runtime/control/key_store.h"
#include "runtime/control/open_calls.h"

namespace shardlab::control {

// A call that is answered at once.
grpc::ServerUnaryReactor* answer_with(const grpc::Status& status);

grpc::ServerUnaryReactor* set_key(KeyStore& keys, const wire::KeyValue& request);
// Told of a program that waits for a key, with the store's lock held.
struct KeyWatch {
  std::function<void(const wire::Key& request)> waits;
  std::function<void(const wire::Key& request)> over;
};
// Answers once the key is set, unless the caller gives up before.
grpc::ServerUnaryReactor* get_key(KeyStore& keys, OpenCalls& open, const wire::Key& request, wire::KeyValue* response, KeyWatch watch = {});

}  // namespace shardlab::control
