#include <map>

#include "runtime/exec/assemble.h"
#include "runtime/exec/messages.h"
#include "runtime/exec/multihost.h"
#include "runtime/exec/placement.h"
#include "scenarios/runner/machine.h"

namespace shardlab::scenarios {
namespace {

class RealMachine final : public Machine {
 public:
  std::vector<Array> op(const OpStep& step, const std::vector<Operand>& operands, Where where) override {
    return apply_to(*step.op, operands, step.attrs, where, step.sharding);
  }

  Array place(const Operand& x, const Sharding& sharding, Where) override { return device_put(x, sharding); }

  std::vector<Array> jit(const std::string& call_site, const ArrayFunction& function, const JitOptions& options,
                         const std::vector<Array>& args, Where where) override {
    auto found = jits_.find(call_site);
    if (found == jits_.end()) found = jits_.emplace(call_site, JitFunction(function, options)).first;
    return found->second.call(args, where);
  }

  Array read(const Array& x, const ReadStep& step, Where where) override {
    if (!step.gather) return local_copy(x.fetch_at(where, "fetch"), x.type());
    if (step.tiled) {
      check_is_own(x, where);
      Array all = allgather_async(Operand(x, where), *step.tiled, where, step.waits ? Waits::kAtOnce : Waits::kLater);
      return step.waits ? shardlab::local_copy(all, where, "process_allgather") : all;
    }
    if (Context::current().process_count() == 1) {
      TensorType stacked = x.type();
      stacked.shape.insert(stacked.shape.begin(), 1);
      return local_copy(x.fetch_at(where, "process_allgather"), stacked);
    }
    check_spans(x, where);
    Array everywhere = replicate_async(Operand(x, where), where, step.waits ? Waits::kAtOnce : Waits::kLater);
    if (!step.waits) return everywhere;
    return local_copy(everywhere.fetch_at(where, "process_allgather"), x.type());
  }

  Array barrier(const BarrierStep& step, Where where) override {
    Array come = barrier_async(step.name, where, step.waits ? Waits::kAtOnce : Waits::kLater, step.processes);
    if (step.waits) come.wait_at(where, "barrier");
    return come;
  }
  Array broadcast(const Array& x, const BroadcastStep& step, Where where) override {
    Array value = broadcast_async(Operand(x, where), step.root, where, step.waits ? Waits::kAtOnce : Waits::kLater);
    return step.waits ? shardlab::local_copy(value, where, "broadcast") : value;
  }
  void assert_equal(const Array& x, const AssertEqualStep& step, Where where) override {
    assert_equal_at(Operand(x, where), step.message, where);
  }
  Array from_process_data(const Array& data, const ProcessDataStep& step, Where where) override {
    return array_from_process_data(step.sharding, data, step.global_shape, where);
  }
  Array from_callback(const PartCallback& part, const CallbackStep& step, Where where) override {
    return array_from_callback(step.shape, step.sharding, part, step.dtype, where);
  }
  Array from_device_data(const std::vector<Array>& parts, const DeviceDataStep& step, Where where) override {
    return array_from_device_data(step.shape, step.sharding, parts, step.dtype, where);
  }
  void wait_for(const Array& x, Where where) override { x.wait_at(where, "wait"); }
  using Machine::wait_for;
  void send(const Operand& x, const SendStep& step, Where where) override { send_to(x, {step.peer, step.tag}, where); }
  Array receive(const ReceiveStep& step, Where where) override { return receive_from(step.type, {step.peer, step.tag}, where); }

  void asked_process(int process, Where where) override {
    Context::current().control().observed("process_index", std::to_string(process), where);
  }

 private:
  static Array local_copy(const Buffer& data, const TensorType& type) { return array_from_host(type, data.bytes()); }
  std::map<std::string, JitFunction> jits_;
};

}  // namespace

void check_is_own(const Array& x, Where where) {
  if (!x.is_fully_addressable())
    throw_user_error(
        "process_allgather with \"tiled\" gathers what each process has for itself; {} with {} lies on several: leave \"tiled\" out [{}]",
        x.type().text(), x.sharding().text(), where.text());
}

void check_spans(const Array& x, Where where) {
  if (x.is_fully_addressable())
    throw_user_error(
        "process_allgather of {}, which this process has for itself: say \"tiled\": false for all of them stacked along a new first "
        "dimension, true for one after another along the present one [{}]",
        x.type().text(), where.text());
}

std::unique_ptr<Machine> make_real_machine() { return std::make_unique<RealMachine>(); }

}  // namespace shardlab::scenarios
