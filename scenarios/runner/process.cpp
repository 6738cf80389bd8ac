#include "scenarios/runner/process.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/comm/control.h"
#include "runtime/exec/context.h"
#include "scenarios/runner/corrupt.h"
#include "scenarios/runner/interpreter.h"

namespace shardlab::scenarios {
namespace {

std::vector<std::vector<std::string>> spec_names(const Sharding& sharding, int rank) {
  std::vector<std::vector<std::string>> result;
  for (const Axes& axes : sharding.spec(rank)) {
    result.emplace_back();
    for (const AxisPiece& piece : axes) result.back().push_back(sharding.mesh().text_of(piece));
  }
  return result;
}

}  // namespace

BoundArray bound_array(const std::string& name, const Array& array) {
  BoundArray result;
  result.name = name;
  result.type = array.type();
  result.committed = array.committed();
  const Sharding& sharding = array.sharding();
  if (sharding.mesh().axis_count() > 0) result.spec = spec_names(sharding, array.ndim());
  result.shards = array.devices_indices_map();
  std::sort(result.shards.begin(), result.shards.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return result;
}

namespace {

BoundArray read_array(const std::string& name, const Array& array, Where where) {
  BoundArray result = bound_array(name, array);
  // "exit": the program is over, and a verdict may count on it.
  for (const Shard& shard : array.shards_at(where, "exit")) {
    auto is_known = [&](const Part& part) {
      bool same_data = part.data == shard.data || (part.data->size() == shard.data->size() &&
                                                   std::memcmp(part.data->data(), shard.data->data(), part.data->size()) == 0);
      return part.box == shard.index && same_data;
    };
    if (std::none_of(result.parts.begin(), result.parts.end(), is_known))
      result.parts.push_back({shard.index, shard.data, shard.device.ordinal});
  }
  return result;
}

void set_error(ProcessOutcome& outcome, const Interpreter& interpreter, std::string text) {
  outcome.error = std::move(text);
  outcome.statement = interpreter.statement();
  outcome.where = interpreter.where().text();
  outcome.pointer = interpreter.where().function;
}

// Runs `action`; what it throws becomes the outcome's error.
template <typename F>
void guarded(ProcessOutcome& outcome, const Interpreter& interpreter, F&& action) {
  try {
    action();
  } catch (const comm::DiagnosisError& error) {
    set_error(outcome, interpreter, error.what());
    outcome.diagnosis = error.code();
  } catch (const TransportError& error) {
    set_error(outcome, interpreter, error.what());
    outcome.diagnosis = "aborted";  // by what happened to another process
  } catch (const InternalError& error) {
    set_error(outcome, interpreter, error.what());
    outcome.internal = true;
  } catch (const Error& error) { set_error(outcome, interpreter, error.what()); } catch (const std::bad_alloc&) {
    set_error(outcome, interpreter, "out of memory: an array of the program does not fit");
  } catch (const std::exception& error) {
    set_error(outcome, interpreter, error.what());
    outcome.internal = true;
  }
}

}  // namespace

ProcessOutcome run_process(const Document& document, int process, const Collector& collector, FaultInjector& faults,
                           const std::function<void()>& finish) {
  ProcessOutcome outcome;
  outcome.process = process;
  Context::current().set_programs(document.config);
  std::unique_ptr<Machine> machine = make_real_machine();
  Interpreter* running = nullptr;
  auto current = [&] { return running ? running->statement() : -1; };
  Interpreter interpreter(document, process, *machine, [&](const Statement& statement) {
    Context::current().control().at(Where::at_statement(document.name, statement.pointer, current()));
    faults.before_statement(statement);
  });
  running = &interpreter;
  faults.on_corrupt([&](const Fault& fault) { return corrupt_shard(interpreter.names(), fault, Context::current().default_device()); });
  faults.start();
  guarded(outcome, interpreter, [&] { interpreter.run(); });
  if (!outcome.error)
    guarded(outcome, interpreter, [&] {
      interpreter.drop_open_barriers();
      for (const auto& [name, array] : interpreter.names()) outcome.arrays.push_back(read_array(name, array, interpreter.where()));
      finish();
    });
  outcome.collectives = collector.collectives();
  outcome.moved_bytes = collector.moved_bytes();
  outcome.records_lost = collector.records_lost();
  outcome.fired = faults.struck();
  return outcome;
}

ProcessOutcome run_in_process(const Document& document) {
  SL_CHECK(document.cluster.processes == 1 && document.faults.empty(), "{} needs processes of its own", document.name);
  auto collector = std::make_shared<Collector>();
  ContextOptions options;
  options.devices_per_process = {document.cluster.devices};
  options.profile = document.cluster.profile;
  options.platform = document.cluster.backend;
  options.observers = {collector};
  Context::set_current(std::make_shared<Context>(std::move(options)));
  FaultInjector no_faults(document, 0, {});
  ProcessOutcome outcome = run_process(document, 0, *collector, no_faults, [] { Context::current().leave(); });
  Context::set_current(nullptr);
  return outcome;
}

}  // namespace shardlab::scenarios
