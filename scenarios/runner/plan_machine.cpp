#include "scenarios/runner/plan_machine.h"

#include <algorithm>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/assemble.h"
#include "runtime/exec/context.h"
#include "runtime/exec/explicit_marks.h"
#include "runtime/exec/message_program.h"
#include "runtime/exec/movements.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/signature.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/weak_types.h"
#include "runtime/graph/unjitted.h"
#include "scenarios/runner/collector.h"
#include "scenarios/runner/process.h"

namespace shardlab::scenarios {
namespace {

Array planned_array(const TensorType& type, const Sharding& sharding, bool committed, Where where) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = type;
  impl->sharding = sharding;
  impl->committed = committed;
  impl->where = where;
  if (Context::current().is_recorded()) impl->id = Context::current().new_array_id();
  return Array(std::move(impl));
}

bool any_given(const std::vector<std::optional<Sharding>>& shardings) {
  return std::any_of(shardings.begin(), shardings.end(), [](const auto& each) { return each.has_value(); });
}

class PlanMachine final : public Machine {
 public:
  PlanMachine(int processes, PlanRecorder& recorder) : processes_(processes), recorder_(recorder) {}

  std::vector<Array> op(const OpStep& step, const std::vector<Operand>& operands, Where where) override {
    if (Context::current().tracer()) return apply_to(*step.op, operands, step.attrs, where, step.sharding);
    std::vector<Array> args;
    for (const Operand& each : operands)
      if (each.is_array()) args.push_back(each.array());
    const bool is_reshard = step.sharding && is_partly_explicit(step.sharding->mesh());
    auto function = [&](const std::vector<Array>& params) {
      std::size_t next = 0;
      std::vector<Operand> traced;
      for (const Operand& each : operands) traced.push_back(each.is_array() ? Operand(params[next++], where) : each);
      return apply_to(*step.op, traced, step.attrs, where, is_reshard ? step.sharding : std::nullopt);
    };
    std::vector<std::optional<Sharding>> out;
    if (step.sharding && !is_reshard) out.push_back(step.sharding);
    return run(where.function, std::string(step.op->name), function, args, {}, std::move(out), where, false, is_unjitted(step.op->name));
  }

  Array place(const Operand& x, const Sharding& sharding, Where where) override {
    Context& context = Context::current();
    if (context.tracer()) return device_put(x, sharding);
    Array array = x.is_array() ? x.array() : op_of_scalar(x, where);
    if (lies_there(context, array, sharding)) return array;
    Array placed = launched(*placement_program(context, array, sharding), {array}, true, where).at(0);
    set_weak(placed, weak_type(array));
    return placed;
  }

  std::vector<Array> jit(const std::string& call_site, const ArrayFunction& function, const JitOptions& options,
                         const std::vector<Array>& args, Where where) override {
    if (Context::current().tracer()) return JitFunction(function, options).call(args, where);
    std::vector<Array> placed;
    for (std::size_t i = 0; i < args.size(); ++i) {
      bool given = i < options.in_shardings.size() && options.in_shardings[i];
      placed.push_back(given ? place_argument(args[i], *options.in_shardings[i], where) : args[i]);
    }
    return run(call_site, options.name, function, placed, options.in_shardings, options.out_shardings, where, true, options.lies_by_ops);
  }

  Array read(const Array& x, const ReadStep& step, Where where) override {
    TensorType type = x.type();
    if (!step.gather) return local_copy(x, type, "fetch", where);
    if (step.tiled) {
      check_is_own(x, where);
      Array all = moved(allgather_movement(own(x, "process_allgather", where).type(), std::nullopt, *step.tiled), where, step.waits);
      return step.waits ? local_copy(all, all.type(), "process_allgather", where) : all;
    }
    if (processes_ == 1) {
      type.shape.insert(type.shape.begin(), 1);
      return local_copy(x, type, "process_allgather", where);
    }
    check_spans(x, where);
    const Sharding whole(x.sharding().mesh(), PartitionSpec());
    Array everywhere = x;
    if (!lies_there(Context::current(), x, whole)) {
      everywhere = launched(*placement_program(Context::current(), x, whole, !step.waits), {x}, true, where).at(0);
      set_weak(everywhere, weak_type(x));
    }
    return step.waits ? local_copy(everywhere, type, "process_allgather", where) : everywhere;
  }

  Array barrier(const BarrierStep& step, Where where) override {
    Array come = moved(barrier_movement(step.name, step.processes), where, step.waits);
    if (step.waits) wait(come, "barrier", where);
    return come;
  }
  Array broadcast(const Array& x, const BroadcastStep& step, Where where) override {
    Array value = moved(broadcast_movement(own(x, "broadcast", where).type(), step.root), where, step.waits);
    return step.waits ? local_copy(value, value.type(), "broadcast", where) : value;
  }
  void assert_equal(const Array& x, const AssertEqualStep&, Where where) override {
    bool is_own = x.is_fully_addressable();
    Array value = is_own ? own(x, "assert_equal", where)
                         : local_copy(moved(allgather_movement(x.type(), x.sharding(), true), where), x.type(), "assert_equal", where);
    Array all = moved(allgather_movement(value.type(), std::nullopt, false), where);
    local_copy(all, all.type(), "assert_equal", where);
  }
  Array from_process_data(const Array& data, const ProcessDataStep& step, Where where) override {
    Shape shape = shape_of_process_data(step.sharding, data.shape(), step.global_shape, device_owners(Context::current()), where);
    check_process_data(step.sharding, data.shape(), shape, where);
    recorder_.read("make_array_from_process_local_data", where, data.impl()->agreement);
    return planned_array({data.dtype(), shape}, step.sharding, true, where);
  }
  Array from_callback(const PartCallback& part, const CallbackStep& step, Where where) override {
    CallbackParts parts = ask_callback(step.shape, step.sharding, part, step.dtype, where);
    for (const auto& [position, each] : parts.parts) recorder_.read("make_array_from_callback", where, each.impl()->agreement);
    return planned_array({parts.dtype, step.shape}, step.sharding, true, where);
  }
  Array from_device_data(const std::vector<Array>& parts, const DeviceDataStep& step, Where where) override {
    DType dtype = check_device_data(step.shape, step.sharding, parts, step.dtype, where);
    for (const Array& part : parts) recorder_.read("make_array_from_single_device_arrays", where, part.impl()->agreement);
    return planned_array({dtype, step.shape}, step.sharding, true, where);
  }
  void wait_for(const Array& x, Where where) override { wait(x, "wait", where); }
  void send(const Operand& x, const SendStep& step, Where where) override {
    Context& context = Context::current();
    Array array = x.is_array() ? x.array() : op_of_scalar(x, where);
    bool at_hand = array.sharding().is_single_device() && array.sharding().mesh().devices()[0] == context.default_device();
    if (!at_hand) array = local_copy(array, array.type(), "send", where);
    launched(*message_program(context, {context.process_index(), step.peer, step.tag, false}, array.type()), {array}, true, where);
  }
  Array receive(const ReceiveStep& step, Where where) override {
    Context& context = Context::current();
    return launched(*message_program(context, {step.peer, context.process_index(), step.tag, true}, step.type), {}, false, where).at(0);
  }
  void begin_issuer(const std::string& name, Where where) override { recorder_.begin_issuer(name, where); }
  void end_issuer() override { recorder_.end_issuer(); }
  void wait_for(const std::string& issuer, Where where) override { recorder_.join(issuer, where); }

  void asked_process(int process, Where where) override { recorder_.observed("process_index", std::to_string(process), where); }

 private:
  void wait(const Array& x, std::string_view what, Where where) { recorder_.read(what, where, x.impl()->agreement); }
  Array moved(Movement movement, Where where, bool waits = true) {
    movement.name.is_async = !waits;
    return launched(*movement_program(Context::current(), movement), {}, true, where).at(0);
  }
  // What this process has for itself is read before it is moved.
  Array own(const Array& x, std::string_view what, Where where) {
    if (!x.is_fully_addressable())
      throw_user_error("{} of {} with {}: it takes what a process has for itself; an array over processes is whole already [{}]", what,
                       x.type().text(), x.sharding().text(), where.text());
    return local_copy(x, x.type(), what, where);
  }
  // What a real read would do, but for the data: JAX's error where parts are missing, agreement, a copy on this process alone.
  Array local_copy(const Array& x, const TensorType& type, std::string_view what, Where where) {
    x.check_fetchable(where);
    recorder_.read(what, where, x.impl()->agreement);
    return planned_array(type, Sharding::on_device(Context::current().default_device()), false, where);
  }

  Array op_of_scalar(const Operand& x, Where where) {
    return run(
               where.function, "full",
               [&](const std::vector<Array>&) {
                 return apply("full", {x}, Attrs{{"shape", std::vector<std::int64_t>{}}}, where);
               },
               {}, {}, {}, where)
        .at(0);
  }

  Array place_argument(const Array& arg, const Sharding& wanted, Where where) {
    if (!arg.committed()) return place(Operand(arg, where), wanted, where);
    if (!arg.sharding().is_equivalent_to(wanted, arg.shape()))
      throw_user_error("an argument lies as {}, in_shardings says {} [{}]", arg.sharding().text(), wanted.text(), where.text());
    return arg;
  }

  std::vector<Array> run(std::string_view call_site, std::string name, const ArrayFunction& function, const std::vector<Array>& args,
                         std::vector<std::optional<Sharding>> in, std::vector<std::optional<Sharding>> out, Where where,
                         bool is_jitted = false, bool lies_by_ops = false) {
    Context& context = Context::current();
    std::string key = fmt::format("{} {}", call_site, signature_of(args));
    ProgramRequest request{std::move(name), args, std::move(in), std::move(out), nullptr, where};
    request.is_jitted = is_jitted;
    request.lies_by_ops = lies_by_ops;
    std::vector<TensorType> types;
    for (const Array& arg : args) types.push_back(arg.type());
    request.trace = [&](const std::vector<Array>&, const std::optional<Mesh>& mesh) {
      return Tracer::trace(context, request.name, mesh, types, function, weak_types(args), request.weak_results.get(), {},
                           lies_by_ops ? TracedAs::kOpByOp : TracedAs::kOneProgram);
    };
    auto executable = prepare_program(context, key, request);
    const ProgramRequest taken = taken_of(request, *executable);
    bool committed = executable->program.mesh.size() > 1 || any_given(taken.in_shardings) || any_given(taken.out_shardings) ||
                     std::any_of(taken.args.begin(), taken.args.end(), [](const Array& arg) { return arg.committed(); });
    return launched(*executable, taken.args, committed, where);
  }

  std::vector<Array> launched(const Executable& executable, const std::vector<Array>& args, bool committed, Where where) {
    std::vector<comm::TakenArray> takes;
    for (const Array& arg : args) takes.push_back({arg.impl()->id});
    std::int64_t agreement =
        recorder_.launch(executable.info, executable.program.slots.empty() ? nullptr : &executable.program, where, std::move(takes));
    if (agreement < 0)
      for (const Array& arg : args) agreement = std::max(agreement, arg.impl()->agreement);
    std::vector<Array> results;
    for (std::size_t i = 0; i < executable.result_shardings.size(); ++i) {
      const comm::ValueInfo& value = executable.info->results[i];
      results.push_back(planned_array({*dtype_from_name(value.dtype), value.shape}, executable.result_shardings[i], committed, where));
      results.back().impl()->agreement = agreement;
      if (i < executable.weak_results.size()) set_weak(results.back(), executable.weak_results[i]);
      if (!Context::current().is_recorded()) continue;
      results.back().impl()->launch_number = recorder_.last_launch();
      results.back().impl()->result = int(i);
      Context::current().record_array(*results.back().impl(), executable.info->name);
    }
    return results;
  }

  int processes_;
  PlanRecorder& recorder_;
};

}  // namespace

std::unique_ptr<Machine> plan_machine(int processes, PlanRecorder& recorder) { return std::make_unique<PlanMachine>(processes, recorder); }

}  // namespace shardlab::scenarios
