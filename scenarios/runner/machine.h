// What the interpreter runs statements on: the real runtime, or a planner that partitions and computes nothing.
#pragma once

#include <memory>
#include <vector>

#include "runtime/exec/array.h"
#include "runtime/exec/assemble.h"
#include "runtime/exec/context.h"
#include "runtime/exec/jit.h"
#include "runtime/exec/operand.h"
#include "scenarios/document/document.h"

namespace shardlab::scenarios {

// Inside a function being traced all machines add to its graph.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual std::vector<Array> op(const OpStep& step, const std::vector<Operand>& operands, Where where) = 0;
  virtual Array place(const Operand& x, const Sharding& sharding, Where where) = 0;
  // `call_site` tells the statement apart: the same function is traced once for each kind of arguments.
  virtual std::vector<Array> jit(const std::string& call_site, const ArrayFunction& function, const JitOptions& options,
                                 const std::vector<Array>& args, Where where) = 0;
  // The whole value as an array of this process.
  virtual Array read(const Array& x, const ReadStep& step, Where where) = 0;
  // There when all have come, which is waited for unless it is started.
  virtual Array barrier(const BarrierStep& step, Where where) = 0;
  virtual Array broadcast(const Array& x, const BroadcastStep& step, Where where) = 0;
  virtual void assert_equal(const Array& x, const AssertEqualStep& step, Where where) = 0;
  virtual Array from_process_data(const Array& data, const ProcessDataStep& step, Where where) = 0;
  // `part` is asked for each of this process's devices.
  virtual Array from_callback(const PartCallback& part, const CallbackStep& step, Where where) = 0;
  virtual Array from_device_data(const std::vector<Array>& parts, const DeviceDataStep& step, Where where) = 0;
  virtual void wait_for(const Array& x, Where where) = 0;
  virtual void send(const Operand& x, const SendStep& step, Where where) = 0;
  virtual Array receive(const ReceiveStep& step, Where where) = 0;
  // What comes between is issued by another thread of the process; and the wait for such a thread. Where there is one thread alone, it
  // does everything in the order of the document.
  virtual void begin_issuer(const std::string& /*name*/, Where) {}
  virtual void end_issuer() {}
  virtual void wait_for(const std::string& /*issuer*/, Where) {}
  // The statement depends on which process this is.
  virtual void asked_process(int process, Where where) = 0;
};

// What process_allgather is of: with "tiled" of what this process has for itself, else of an array over processes. UserError.
void check_is_own(const Array& x, Where where);
void check_spans(const Array& x, Where where);

// Runs everything on the thread's context.
std::unique_ptr<Machine> make_real_machine();

}  // namespace shardlab::scenarios
