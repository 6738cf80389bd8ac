#include "scenarios/runner/plan.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/exec/context.h"
#include "runtime/spmd/explain.h"
#include "runtime/spmd/work.h"
#include "scenarios/runner/collector.h"
#include "scenarios/runner/interpreter.h"
#include "scenarios/runner/plan_machine.h"
#include "scenarios/runner/process.h"

namespace shardlab::scenarios {
namespace {

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

std::string work_text(const spmd::PartitionedProgram& program) {
  std::vector<std::string> ops;
  std::int64_t all = 0;
  for (const auto& [op, elements] : spmd::work_by_op(program)) {
    ops.push_back(fmt::format("{} {}", op, elements));
    all += elements;
  }
  return fmt::format("{} elements are computed on the busiest device{}{}\n", all, ops.empty() ? "" : ": ", fmt::join(ops, ", "));
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
  options.platform = "cpu";  // nothing is computed
  options.process_index = process;
  options.devices_per_process.assign(std::size_t(document.cluster.processes), document.cluster.devices);
  options.profile = document.cluster.profile;
  options.transport = std::make_shared<NoTransport>();
  options.described = before.programs;
  options.worker_threads = 1;
  ContextScope scope(std::move(options));
  Context::current().set_programs(document.config);
  PlannedProgram result;
  for (const Statement& statement : document.program) result.statements.push_back({statement.pointer, statement.op, {}, {}});
  auto seen = [&](const comm::Launch& launch, const spmd::PartitionedProgram* program) {
    if (wanted.events_only) return;
    PlannedStatement& statement = result.statements.at(std::size_t(launch.where.statement));
    if (wanted.explain && program != nullptr) {
      statement.explanation += spmd::text_of(spmd::explain(*program), *program);
      statement.explanation += work_text(*program);
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
  std::unique_ptr<Machine> machine = plan_machine(document.cluster.processes, recorder);
  Interpreter* running = nullptr;
  Interpreter interpreter(document, process, *machine,
                          [&](const Statement& statement) { recorder.statement(statement, running->where()); });
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
