#include "scenarios/runner/plan.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/base/text.h"
#include "runtime/control/ledger.h"
#include "runtime/exec/array_impl.h"
#include "runtime/exec/assemble.h"
#include "runtime/exec/context.h"
#include "runtime/exec/message_program.h"
#include "runtime/exec/movements.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/weak_types.h"
#include "runtime/spmd/explain.h"
#include "runtime/spmd/work.h"
#include "scenarios/runner/collector.h"
#include "scenarios/runner/interpreter.h"
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

// Nothing is ever sent.
class NoTransport final : public comm::Transport {
 public:
  std::string_view name() const override { return "none"; }
  comm::ExchangeResult exchange(const comm::MessageHeader&, std::span<const comm::Send>, std::span<const comm::Receive>,
                                const std::function<void(const std::vector<comm::ProcessIndex>&)>&) override {
    return {comm::ExchangeStatus::kAborted, {}};
  }
  void abort(std::string_view) override {}
};

// Writes down what the process would do, in order.
class PlanRecorder {
 public:
  // What would run, with its partitioned program where it has one.
  using Seen = std::function<void(const comm::Launch&, const spmd::PartitionedProgram*)>;
  PlanRecorder(int process, PlannedBefore& before, simulate::ProcessPlan& plan, bool records, Seen seen)
      : process_(process), before_(before), plan_(plan), records_(records), seen_(std::move(seen)) {}

  void statement(const Statement& statement, Where where) {
    simulate::Event event{.kind = simulate::Event::Kind::kStatement, .pointer = statement.pointer};
    event.step = {.what = statement.op, .where = where.text(), .statement = where.statement};
    add(std::move(event));
  }

  // The number of the call, or -1: no other process takes part, or this one does not.
  std::int64_t launch(const std::shared_ptr<const comm::ProgramInfo>& program, const spmd::PartitionedProgram* partitioned, Where where) {
    const auto& owners = program->processes;
    comm::Launch launch{launches_++, seqs_[program->devices]++, program, where, 0, nullptr};
    seen_(launch, partitioned);
    if (!std::binary_search(owners.begin(), owners.end(), process_)) return -1;
    simulate::Event event{.kind = simulate::Event::Kind::kStep};
    event.collectives = std::int64_t(program->collectives.size());
    if (records_) event.record = std::make_shared<simulate::LaunchRecord>(simulate::LaunchRecord{launch, {}});
    if (!program->spans_processes()) {
      event.step = {.kind = StepEvidence::Kind::kLocal,
                    .what = program->name,
                    .where = where.text(),
                    .statement = where.statement,
                    .fingerprint = local_fingerprint(program)};
      add(std::move(event));
      return -1;
    }
    event.kind = simulate::Event::Kind::kCall;
    event.call = control::call_evidence(launch);
    event.number = plan_.calls++;
    event.program = evidence(program);
    add(std::move(event));
    return plan_.calls - 1;
  }

  void observed(std::string_view what, std::string value, Where where) {
    simulate::Event event{.kind = simulate::Event::Kind::kStep};
    event.step = {.kind = StepEvidence::Kind::kObserved, .what = std::string(what), .where = where.text(), .statement = where.statement};
    event.step.fingerprint = hash_bytes(value);
    event.step.value = std::move(value);
    add(std::move(event));
  }

  void begin_issuer(const std::string& name, Where where) {
    issuers_[name] = plan_.issuers;
    simulate::Event event{.kind = simulate::Event::Kind::kSpawn, .other = plan_.issuers};
    event.step = {.what = "issuer " + name, .where = where.text(), .statement = where.statement};
    add(std::move(event));
    issuer_ = plan_.issuers++;
  }
  void end_issuer() { issuer_ = 0; }
  void join(const std::string& name, Where where) {
    simulate::Event event{.kind = simulate::Event::Kind::kJoin, .other = issuers_.at(name)};
    event.step = {.what = "wait", .where = where.text(), .statement = where.statement};
    add(std::move(event));
  }

  void read(std::string_view what, Where where, std::int64_t needs) {
    if (needs < 0) return;
    simulate::Event event{.kind = simulate::Event::Kind::kRead};
    event.step = {.kind = StepEvidence::Kind::kRead, .what = std::string(what), .where = where.text(), .statement = where.statement};
    event.needs = needs;
    event.place = where;
    add(std::move(event));
  }

  std::int64_t last_launch() const { return launches_ - 1; }
  // Told with the launch that was planned last.
  void array(const comm::ArrayInfo& info) {
    auto last =
        std::find_if(plan_.events.rbegin(), plan_.events.rend(), [](const simulate::Event& each) { return each.record != nullptr; });
    if (last != plan_.events.rend()) last->record->arrays.push_back(info);
  }
  // Told with the event that is planned next; what a process holds at its end is not let go.
  void array_end(std::int64_t id) { ended_.push_back(id); }

 private:
  void add(simulate::Event event) {
    event.issuer = issuer_;
    // Statements and joins do not come into a trace.
    const bool is_told = event.record != nullptr || event.kind == simulate::Event::Kind::kRead;
    if (is_told) event.array_ends = std::exchange(ended_, {});
    plan_.events.push_back(std::move(event));
  }
  std::shared_ptr<const ProgramEvidence> evidence(const std::shared_ptr<const comm::ProgramInfo>& program) {
    auto& known = before_.evidence[program];
    if (!known) known = std::make_shared<ProgramEvidence>(control::program_evidence(*program));
    return known;
  }
  std::uint64_t local_fingerprint(const std::shared_ptr<const comm::ProgramInfo>& program) {
    auto [found, is_new] = local_.try_emplace(program, 0);
    if (is_new) found->second = control::local_fingerprint(*program);
    return found->second;
  }

  int process_;
  PlannedBefore& before_;
  simulate::ProcessPlan& plan_;
  bool records_;
  Seen seen_;
  std::int64_t launches_ = 0;
  std::vector<std::int64_t> ended_;
  int issuer_ = 0;
  std::map<std::string, int> issuers_;
  std::map<std::vector<int>, std::int64_t> seqs_;
  std::map<std::shared_ptr<const comm::ProgramInfo>, std::uint64_t> local_;
};

// Prepares every program and launches none.
class PlanMachine final : public Machine {
 public:
  PlanMachine(int processes, PlanRecorder& recorder) : processes_(processes), recorder_(recorder) {}

  std::vector<Array> op(const OpStep& step, const std::vector<Operand>& operands, Where where) override {
    if (Context::current().tracer()) return apply_to(*step.op, operands, step.attrs, where, step.sharding);
    std::vector<Array> args;
    for (const Operand& each : operands)
      if (each.is_array()) args.push_back(each.array());
    auto function = [&](const std::vector<Array>& params) {
      std::size_t next = 0;
      std::vector<Operand> traced;
      for (const Operand& each : operands) traced.push_back(each.is_array() ? Operand(params[next++], where) : each);
      return apply(*step.op, traced, step.attrs, where);
    };
    std::vector<std::optional<Sharding>> out;
    if (step.sharding) out.push_back(step.sharding);
    return run(where.function, std::string(step.op->name), function, args, {}, std::move(out), where);
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
    return run(call_site, options.name, function, placed, options.in_shardings, options.out_shardings, where, true);
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

  std::vector<Array> run(std::string_view call_site, std::string name, const ArrayFunction& function,
                         const std::vector<Array>& args, std::vector<std::optional<Sharding>> in, std::vector<std::optional<Sharding>> out,
                         Where where, bool is_jitted = false) {
    Context& context = Context::current();
    std::string key = fmt::format("{} {}", call_site, signature_of(args));
    ProgramRequest request{std::move(name), args, std::move(in), std::move(out), nullptr, where};
    request.is_jitted = is_jitted;
    std::vector<TensorType> types;
    for (const Array& arg : args) types.push_back(arg.type());
    request.trace = [&](const std::optional<Mesh>& mesh) {
      return Tracer::trace(context, request.name, mesh, types, function, weak_types(args), request.weak_results.get());
    };
    auto executable = prepare_program(context, key, request);
    const ProgramRequest taken = taken_of(request, *executable);
    bool committed = executable->program.mesh.size() > 1 || any_given(taken.in_shardings) || any_given(taken.out_shardings) ||
                     std::any_of(taken.args.begin(), taken.args.end(), [](const Array& arg) { return arg.committed(); });
    return launched(*executable, taken.args, committed, where);
  }

  std::vector<Array> launched(const Executable& executable, const std::vector<Array>& args, bool committed, Where where) {
    std::int64_t agreement = recorder_.launch(executable.info, executable.program.slots.empty() ? nullptr : &executable.program, where);
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
      Context::current().record_array(*results.back().impl(), executable.info->name);
    }
    return results;
  }

  int processes_;
  PlanRecorder& recorder_;
};

// What the context tells of arrays goes to the plan.
class ArrayObserver final : public comm::Observer {
 public:
  explicit ArrayObserver(PlanRecorder& recorder) : recorder_(&recorder) {}
  void on_array(const comm::ArrayInfo& array) override {
    if (recorder_) recorder_->array(array);
  }
  void on_array_end(std::int64_t id, bool) override {
    if (recorder_) recorder_->array_end(id);
  }
  // Arrays may outlive the plan.
  void stop() { recorder_ = nullptr; }

 private:
  PlanRecorder* recorder_;
};

PlannedArray planned(const std::string& name, const Array& array) {
  PlannedArray result{name, array.type().text(), array.sharding().is_single_device() ? "on one device" : array.sharding().spec_text(), 0};
  // The first position's part is never smaller than another's.
  Box first = box_of(array.shape(), array.sharding().spec(array.ndim()), array.sharding().mesh(), 0);
  result.bytes_per_device = element_count(first) * size_of(array.dtype());
  return result;
}

void add_names(const Body& body, std::vector<std::string>& names) {
  for (const Statement& statement : body) {
    for (const std::string& name : statement.let)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    if (const Body* inner = statement.body()) add_names(*inner, names);
  }
}

// Restores the thread's context.
class ContextScope {
 public:
  explicit ContextScope(ContextOptions options) { Context::set_current(std::make_shared<Context>(std::move(options))); }
  ~ContextScope() { Context::set_current(nullptr); }
};

std::string collective_text(const SeenCollective& c) {
  std::string over = c.axes.empty() ? "" : fmt::format(" over {}", fmt::join(c.axes, ", "));
  return fmt::format("{}{}, for {}: {} bytes a device, {} on the wire", c.kind, over, c.op, c.bytes, c.wire_bytes);
}

std::string indented(const std::string& lines) {
  std::string text;
  for (std::size_t start = 0; start < lines.size();) {
    std::size_t end = lines.find('\n', start);
    text += "      | " + lines.substr(start, end - start) + "\n";
    start = end == std::string::npos ? lines.size() : end + 1;
  }
  return text;
}

}  // namespace

PlannedProgram plan(const Document& document, int process, PlannedBefore& before, PlanOptions wanted) {
  ContextOptions options;
  options.process_index = process;
  options.devices_per_process.assign(std::size_t(document.cluster.processes), document.cluster.devices);
  options.profile = document.cluster.profile;
  options.transport = std::make_shared<NoTransport>();
  options.described = before.programs;
  options.worker_threads = 1;
  ContextScope scope(std::move(options));
  Context::current().set_config(document.config);
  PlannedProgram result;
  for (const Statement& statement : document.program) result.statements.push_back({statement.pointer, statement.op, {}, {}});
  auto seen = [&](const comm::Launch& launch, const spmd::PartitionedProgram* program) {
    if (wanted.events_only) return;
    PlannedStatement& statement = result.statements.at(std::size_t(launch.where.statement));
    if (wanted.explain && program != nullptr) {
      statement.explanation += spmd::text_of(spmd::explain(*program), *program);
      statement.explanation += fmt::format("{} elements are computed on the busiest device\n", spmd::work_per_device(*program));
    }
    auto& collectives = statement.collectives;
    for (std::size_t i = 0; i < launch.program->collectives.size(); ++i) {
      collectives.push_back(seen_of(launch, i));
      result.outcome.collectives.push_back(collectives.back());
      if (!collectives.back().is_transfer) result.wire_bytes += collectives.back().wire_bytes;
    }
  };
  PlanRecorder recorder(process, before, result.events, wanted.records, seen);
  auto arrays = std::make_shared<ArrayObserver>(recorder);
  if (wanted.records) Context::current().add_observer(arrays);
  PlanMachine machine(document.cluster.processes, recorder);
  Interpreter* running = nullptr;
  Interpreter interpreter(document, process, machine, [&](const Statement& statement) { recorder.statement(statement, running->where()); });
  running = &interpreter;
  interpreter.after_statement([&](const Statement& statement, const Interpreter::Names& names) {
    if (wanted.events_only) return;
    std::vector<std::string> bound = statement.let;
    if (const Body* inner = statement.body()) add_names(*inner, bound);
    for (const std::string& name : bound)
      if (auto found = names.find(name); found != names.end())
        result.statements[std::size_t(interpreter.statement())].results.push_back(planned(name, found->second));
  });
  result.outcome.process = process;
  try {
    interpreter.run();
    interpreter.drop_open_barriers();
    if (!wanted.events_only)
      for (const auto& [name, array] : interpreter.names()) result.outcome.arrays.push_back(bound_array(name, array));
  } catch (const UserError& error) {
    result.error = error.what();
    result.outcome.error = result.error;
    result.outcome.where = interpreter.where().text();
    result.outcome.pointer = interpreter.where().function;
    result.outcome.statement = interpreter.statement();
    result.error_where = interpreter.where();
    result.events.error = result.error;
    result.events.error_where = result.error_where.text();
    result.events.error_statement = result.error_where.statement;
  }
  arrays->stop();
  return result;
}

std::string text_of(const PlannedProgram& program, bool with_explanations) {
  std::string text;
  for (const PlannedStatement& statement : program.statements) {
    text += fmt::format("  {:16} {}\n", statement.pointer, statement.op);
    for (const PlannedArray& each : statement.results)
      text += fmt::format("      {}: {} {}, {} bytes a device\n", each.name, each.type, each.sharding, each.bytes_per_device);
    for (const SeenCollective& each : statement.collectives) text += fmt::format("      {}\n", collective_text(each));
    if (with_explanations && !statement.explanation.empty()) text += indented(statement.explanation);
  }
  text += fmt::format("  {} bytes on the wire\n", program.wire_bytes);
  if (program.error) text += fmt::format("  would end in: {}\n", *program.error);
  return text;
}

}  // namespace shardlab::scenarios
