#include "runtime/control/key_calls.h"

#include <utility>

#include "runtime/control/waiting_call.h"

namespace shardlab::control {
namespace {

class Answered final : public grpc::ServerUnaryReactor {
 public:
  explicit Answered(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

class KeyWait final : public WaitingCall {
 public:
  KeyWait(KeyStore& keys, OpenCalls& open, const wire::Key& request, wire::KeyValue* response, KeyWatch watch)
      : WaitingCall(open), keys_(keys), request_(request), watch_(std::move(watch)) {
    ticket_ = keys.wait(
        request.key(),
        [this, response](const std::string& value) {
          over();
          response->set_key(request_.key());
          response->set_value(value);
          Finish(grpc::Status::OK);
        },
        [this] {
          waits_ = true;
          if (watch_.waits) watch_.waits(request_);
        });
  }
  void OnCancel() override {
    if (!keys_.cancel(ticket_)) return;
    over();
    Finish(grpc::Status::CANCELLED);
  }

 private:
  void over() {
    if (waits_ && watch_.over) watch_.over(request_);
  }
  KeyStore& keys_;
  const wire::Key request_;
  const KeyWatch watch_;
  bool waits_ = false;
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

grpc::ServerUnaryReactor* get_key(KeyStore& keys, OpenCalls& open, const wire::Key& request, wire::KeyValue* response, KeyWatch watch) {
  return new KeyWait(keys, open, request, response, std::move(watch));
}

}  // namespace shardlab::control
