// The state behind an Array: a laid out value that is ready or being computed, or a tracer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/comm/observer.h"
#include "runtime/core/buffer.h"
#include "runtime/core/sharding.h"
#include "runtime/exec/array.h"
#include "runtime/exec/launch_failure.h"
#include "runtime/exec/unused.h"
#include "runtime/graph/op_def.h"

namespace shardlab {

class Tracer;

// The outcome of one launch, shared by the arrays that it makes. Set once by the executing thread.
class LaunchState {
 public:
  LaunchState() = default;
  // Whoever drops it last without a use is told of.
  LaunchState(std::shared_ptr<UnusedResults> unused, std::shared_ptr<const comm::ProgramInfo> program, Where where)
      : unused_(std::move(unused)), program_(std::move(program)), where_(where) {}
  ~LaunchState();
  void finish(std::shared_ptr<LaunchFailure> failure);
  void wait();  // until finished
  bool finished() const { return finished_.load(std::memory_order_acquire); }
  const std::shared_ptr<LaunchFailure>& failure() const { return failure_; }  // once finished; nothing: it went well
  void use() { used_ = true; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> finished_{false};
  std::shared_ptr<LaunchFailure> failure_;
  bool used_ = false;  // some result was; set by the issuing thread
  std::shared_ptr<UnusedResults> unused_;
  std::shared_ptr<const comm::ProgramInfo> program_;
  Where where_;
};

// Immutable once `launch` has finished (or is absent); a tracer has `tracer` and `value` alone.
class ArrayImpl {
 public:
  ArrayImpl() = default;
  ~ArrayImpl() { tell_end(false); }
  ArrayImpl(const ArrayImpl&) = delete;
  ArrayImpl& operator=(const ArrayImpl&) = delete;

  TensorType type;
  // Concrete arrays.
  Sharding sharding;
  bool committed = false;
  bool weak = false;                    // made of numbers alone (weak_types.h)
  std::vector<BufferRef> shards;        // per mesh position; empty where another process owns the device
  std::shared_ptr<LaunchState> launch;  // absent: ready
  std::int64_t agreement = -1;          // the last launch over processes that the value depends on
  std::int64_t launch_number = -1;
  int result = -1;       // its place among the results of that launch
  std::int64_t id = -1;  // -1: nobody is ever told of it
  Where where;
  bool deleted = false;                      // donated: its memory went to the program that it was given to; reading it is an error
  std::shared_ptr<comm::Observer> observer;  // that was told of it, and not yet of its end
  std::atomic<bool> has_checksums{false};    // its values were told of, too
  // Tracers.
  std::shared_ptr<Tracer> tracer;
  ValueId value = -1;

  bool is_tracer() const { return tracer != nullptr; }
  // Throws what the launch failed with; `what` at `use` is who wants it.
  void wait_ready(std::string_view what, Where use);
  // Tells whoever recorded it that its memory is let go; once.
  void tell_end(bool donated);
};

// UserError with JAX's text for an array whose memory was donated.
void check_not_deleted(const ArrayImpl& impl, std::string_view what, Where where);

// What a tracer answers when its data or sharding is read.
[[noreturn]] void throw_tracer_read(const ArrayImpl& impl, std::string_view what, Where where);

}  // namespace shardlab
