#include "runtime/control/key_calls.h"

namespace shardlab::control {
namespace {

class Answered final : public grpc::ServerUnaryReactor {
 public:
  explicit Answered(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

// Finished once, by the set or by its cancellation. gRPC calls it only after the handler has returned it.
class KeyWait final : public grpc::ServerUnaryReactor {
 public:
  KeyWait(KeyStore& keys, OpenCalls& open, const std::string& key, wire::KeyValue* response) : keys_(keys), open_(open) {
    open_.began();
    ticket_ = keys.wait(key, [this, key, response](const std::string& value) {
      response->set_key(key);
      response->set_value(value);
      Finish(grpc::Status::OK);
    });
  }
  void OnCancel() override {
    if (keys_.cancel(ticket_)) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override {
    OpenCalls& open = open_;
    delete this;
    open.ended();
  }

 private:
  KeyStore& keys_;
  OpenCalls& open_;
  std::uint64_t ticket_ = 0;
};

}  // namespace

grpc::ServerUnaryReactor* answer_with(const grpc::Status& status) { return new Answered(status); }

grpc::ServerUnaryReactor* set_key(KeyStore& keys, const wire::KeyValue& request) {
  switch (keys.set(request.key(), request.value(), request.only_new())) {
    case KeyStore::Set::kTooLong:
      return answer_with({grpc::StatusCode::INVALID_ARGUMENT, "the key or the value is too long"});
    case KeyStore::Set::kTooMany:
      return answer_with({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many keys"});
    case KeyStore::Set::kExists:
      return answer_with({grpc::StatusCode::ALREADY_EXISTS, "it has a value already"});
    case KeyStore::Set::kDone:
      break;
  }
  return answer_with(grpc::Status::OK);
}

grpc::ServerUnaryReactor* get_key(KeyStore& keys, OpenCalls& open, const wire::Key& request, wire::KeyValue* response) {
  return new KeyWait(keys, open, request.key(), response);
}

}  // namespace shardlab::control
