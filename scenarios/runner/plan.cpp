#include "scenarios/runner/plan.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/tracing.h"
#include "runtime/spmd/explain.h"
#include "scenarios/runner/collector.h"
#include "scenarios/runner/interpreter.h"

namespace shardlab::scenarios {
namespace {

Array planned_array(const TensorType& type, const Sharding& sharding, bool committed, Where where) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = type;
  impl->sharding = sharding;
  impl->committed = committed;
  impl->where = where;
  return Array(std::move(impl));
}

bool any_given(const std::vector<std::optional<Sharding>>& shardings) {
  return std::any_of(shardings.begin(), shardings.end(), [](const auto& each) { return each.has_value(); });
}

// Prepares every program and launches none. `seen` gets the collectives of what would run.
class PlanMachine final : public Machine {
 public:
  // What would run, with its partitioned program where it has one.
  using Seen = std::function<void(const comm::Launch&, const spmd::PartitionedProgram*)>;
  PlanMachine(int processes, Seen seen) : processes_(processes), seen_(std::move(seen)) {}

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
    return run(std::string(step.op->name), function, args, {}, std::move(out), where);
  }

  Array place(const Operand& x, const Sharding& sharding, Where where) override {
    Context& context = Context::current();
    if (context.tracer()) return device_put(x, sharding);
    Array array = x.is_array() ? x.array() : apply("full", {x}, Attrs{{"shape", std::vector<std::int64_t>{}}}, where).at(0);
    if (array.committed() && array.sharding() == sharding) return array;
    auto executable = compile_transfer(context, array.type(), array.sharding(), sharding, !array.committed());
    seen_({0, 0, executable->info, where, 0}, nullptr);
    return planned_array(array.type(), sharding, true, where);
  }

  std::vector<Array> jit(const std::string&, const JitFunction::Function& function, const JitOptions& options,
                         const std::vector<Array>& args, Where where) override {
    if (Context::current().tracer()) return JitFunction(function, options).call(args, where);
    std::vector<Array> placed;
    for (std::size_t i = 0; i < args.size(); ++i) {
      bool given = i < options.in_shardings.size() && options.in_shardings[i];
      placed.push_back(given ? place_argument(args[i], *options.in_shardings[i], where) : args[i]);
    }
    return run(options.name, function, placed, options.in_shardings, options.out_shardings, where);
  }

  Array read(const Array& x, const ReadStep& step, Where where) override {
    TensorType type = x.type();
    if (step.gather && processes_ == 1) type.shape.insert(type.shape.begin(), 1);
    return planned_array(type, Sharding::on_device(0), false, where);
  }

 private:
  Array place_argument(const Array& arg, const Sharding& wanted, Where where) {
    if (!arg.committed()) return place(Operand(arg, where), wanted, where);
    if (!arg.sharding().is_equivalent_to(wanted, arg.shape()))
      throw_user_error("an argument lies as {}, in_shardings says {} [{}]", arg.sharding().text(), wanted.text(), where.text());
    return arg;
  }

  std::vector<Array> run(std::string name, const JitFunction::Function& function, const std::vector<Array>& args,
                         std::vector<std::optional<Sharding>> in, std::vector<std::optional<Sharding>> out, Where where) {
    Context& context = Context::current();
    ProgramRequest request{std::move(name), args, std::move(in), std::move(out), nullptr, where};
    std::vector<TensorType> types;
    for (const Array& arg : args) types.push_back(arg.type());
    request.trace = [&](const std::optional<Mesh>& mesh) { return Tracer::trace(context, request.name, mesh, types, function); };
    auto executable = prepare_program(context, fmt::format("plan{}", next_key_++), request);
    seen_({0, 0, executable->info, where, 0}, &executable->program);
    bool committed = executable->program.mesh.size() > 1 || any_given(request.in_shardings) || any_given(request.out_shardings) ||
                     std::any_of(args.begin(), args.end(), [](const Array& arg) { return arg.committed(); });
    std::vector<Array> results;
    for (std::size_t i = 0; i < executable->result_shardings.size(); ++i) {
      const comm::ValueInfo& value = executable->info->results[i];
      results.push_back(planned_array({*dtype_from_name(value.dtype), value.shape}, executable->result_shardings[i], committed, where));
    }
    return results;
  }

  int processes_;
  Seen seen_;
  std::int64_t next_key_ = 0;
};

PlannedArray planned(const std::string& name, const Array& array) {
  PlannedArray result{name, array.type().text(), array.sharding().is_single_device() ? "on one device" : array.sharding().spec_text(), 0};
  for (const auto& [ordinal, box] : array.devices_indices_map())
    result.bytes_per_device = std::max(result.bytes_per_device, element_count(box) * size_of(array.dtype()));
  return result;
}

void add_names(const Body& body, std::vector<std::string>& names) {
  for (const Statement& statement : body) {
    for (const std::string& name : statement.let)
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    if (const auto* repeat = std::get_if<RepeatStep>(&statement.step)) add_names(repeat->body, names);
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

PlannedProgram plan(const Document& document, int process) {
  ContextOptions options;
  options.devices_per_process = {document.cluster.device_count()};
  options.worker_threads = 1;
  ContextScope scope(std::move(options));
  PlannedProgram result;
  for (const Statement& statement : document.program) result.statements.push_back({statement.pointer, statement.op, {}, {}});
  auto seen = [&](comm::Launch launch, const spmd::PartitionedProgram* program) {
    launch.number = std::int64_t(result.launches.size());
    result.launches.push_back(launch);
    PlannedStatement& statement = result.statements.at(std::size_t(launch.where.statement));
    if (program != nullptr) statement.explanation += spmd::text_of(spmd::explain(*program), *program);
    auto& collectives = statement.collectives;
    for (std::size_t i = 0; i < launch.program->collectives.size(); ++i) {
      collectives.push_back(seen_of(launch, i));
      if (!collectives.back().is_transfer) result.wire_bytes += collectives.back().wire_bytes;
    }
  };
  PlanMachine machine(document.cluster.processes, seen);
  Interpreter interpreter(document, process, machine, [](const Statement&) {});
  interpreter.after_statement([&](const Statement& statement, const Interpreter::Names& names) {
    std::vector<std::string> bound = statement.let;
    if (const auto* repeat = std::get_if<RepeatStep>(&statement.step)) add_names(repeat->body, bound);
    for (const std::string& name : bound)
      if (auto found = names.find(name); found != names.end())
        result.statements[std::size_t(interpreter.statement())].results.push_back(planned(name, found->second));
  });
  try {
    interpreter.run();
  } catch (const UserError& error) {
    result.error = error.what();
    result.error_where = interpreter.where();
  }
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
