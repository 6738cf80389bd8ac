// Calls of functions that are compiled by themselves: a jitted function within another one, or one that JAX's library jits (clip).
#pragma once

#include <map>
#include <memory>
#include <utility>

namespace shardlab {

struct Call;
using CallRef = std::shared_ptr<const Call>;  // null: of no call

// One call, told from others by its address. XLA gets what it gives together, as a tuple.
struct Call {
  CallRef around;
  CallRef forward;  // whose results' cotangents this one takes; null: it is no part of a backward pass
};

inline bool is_within(CallRef call, const CallRef& around) {
  while (call != nullptr && call != around) call = call->around;
  return call != nullptr;
}

inline CallRef outermost(CallRef call) {
  while (call != nullptr && call->around != nullptr) call = call->around;
  return call;
}

// The calls of a graph that is emitted into another one, or transposed: another for each of its own.
class CallCopies {
 public:
  enum class Of { kSame, kBackward };
  explicit CallCopies(CallRef around, Of of = Of::kSame) : around_(std::move(around)), of_(of) {}

  CallRef operator()(const CallRef& call) {
    if (call == nullptr) return around_;
    if (auto found = copies_.find(call); found != copies_.end()) return found->second;
    CallRef forward = of_ == Of::kBackward ? call : call->forward == nullptr ? nullptr : (*this)(call->forward);
    auto copy = std::make_shared<const Call>(Call{(*this)(call->around), std::move(forward)});
    copies_[call] = copy;
    return copy;
  }

 private:
  CallRef around_;
  Of of_;
  std::map<CallRef, CallRef> copies_;
};

}  // namespace shardlab
