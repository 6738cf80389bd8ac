#include "scenarios/runner/interpreter.h"

#include <algorithm>

#include "runtime/exec/context.h"
#include "runtime/exec/context_mesh.h"
#include "runtime/exec/custom_partitioning.h"
#include "runtime/exec/ops.h"
#include "runtime/exec/transformed.h"
#include "runtime/exec/unconstrained.h"
#include "runtime/exec/weak_types.h"
#include "scenarios/document/function_statements.h"

namespace shardlab::scenarios {
namespace {

// A scalar as an array, of the type that validation gave it.
Literal literal_of(const Scalar& scalar) {
  TensorType type{default_dtype(scalar.kind(), Context::current().config().enable_x64), {}};
  auto buffer = std::make_shared<Buffer>(std::size_t(type.bytes()));
  visit_dtype(type.dtype,
              [&]<typename T>(T) { *buffer->as<T>() = std::visit([](auto value) { return element_from<T>(value); }, scalar.value); });
  return {std::move(type), std::move(buffer)};
}

Array array_of(const Literal& literal) { return array_from_host(literal.type, literal.data->bytes()); }

// The function of its other arguments.
ArrayFunction with_first(std::vector<Array> consts, ArrayFunction function) {
  if (consts.empty()) return function;
  return [consts = std::move(consts), function = std::move(function)](const std::vector<Array>& args) {
    std::vector<Array> all = consts;
    all.insert(all.end(), args.begin(), args.end());
    return function(all);
  };
}

}  // namespace

void Interpreter::run() {
  std::optional<MeshScope> context_mesh;
  if (document_.meshes.size() == 1 && document_.meshes.begin()->second.has_explicit_axes())
    context_mesh.emplace(document_.meshes.begin()->second);
  for (std::size_t i = 0; i < document_.program.size(); ++i) {
    statement_ = int(i);
    if (!runs(document_.program[i])) continue;
    one(document_.program[i], names_);
    if (after_) after_(document_.program[i], names_);
  }
}

void Interpreter::body(const Body& statements, Names& names) {
  for (const Statement& statement : statements)
    if (runs(statement)) one(statement, names);
}

bool Interpreter::runs(const Statement& statement) {
  if (!statement.on) return true;
  machine_.asked_process(process_, Where::at_statement(document_.name, statement.pointer, statement_));
  return statement.runs_on(process_);
}

void Interpreter::one(const Statement& statement, Names& names) {
  where_ = Where::at_statement(document_.name, statement.pointer, statement_);
  before_(statement);
  if (const auto* repeat = std::get_if<RepeatStep>(&statement.step)) {
    for (std::int64_t i = 0; i < repeat->count; ++i) body(repeat->body, names);
    return;
  }
  if (const auto* issuer = std::get_if<IssuerStep>(&statement.step)) {
    machine_.begin_issuer(issuer->name, where_);
    body(issuer->body, names);
    machine_.end_issuer();
    return;
  }
  Where where = where_;
  std::vector<Array> results = std::visit([&](const auto& step) { return run_step(statement, step, names, where); }, statement.step);
  where_ = where;
  if (const auto* wait = std::get_if<WaitStep>(&statement.step))
    for (const std::string& name : wait->names) open_barriers_.erase(name);
  if (statement.let.empty()) return;
  const auto* barrier = std::get_if<BarrierStep>(&statement.step);
  for (const std::string& name : statement.let) {
    open_barriers_.erase(name);
    if (barrier && !barrier->waits) open_barriers_.insert(name);
  }
  SL_CHECK(results.size() == statement.let.size(), "{}: {} results for {} names", statement.pointer, results.size(), statement.let.size());
  for (std::size_t i = 0; i < results.size(); ++i) names.insert_or_assign(statement.let[i], results[i].named(statement.let[i]));
}

void Interpreter::drop_open_barriers() {
  for (const std::string& name : open_barriers_) names_.erase(name);
}

Operand Interpreter::operand(const Argument& argument, const Names& names, Where where) const {
  if (const auto* scalar = std::get_if<Scalar>(&argument.value)) return Operand(*scalar, where);
  if (const auto* literal = std::get_if<Literal>(&argument.value)) return Operand(array_of(*literal), where);
  return Operand(names.at(std::get<std::string>(argument.value)), where);
}

std::vector<Operand> Interpreter::operands(const Statement& statement, const Names& names, Where where) const {
  std::vector<Operand> result;
  for (const Argument& each : statement.args) result.push_back(operand(each, names, where));
  return result;
}

Array Interpreter::array(const Argument& argument, const Names& names, Where where) const {
  Operand value = operand(argument, names, where);
  if (value.is_array()) return value.array();
  Array number = array_of(literal_of(value.scalar()));
  set_weak(number, true);
  return number;
}

std::vector<Array> Interpreter::arrays(const Statement& statement, const Names& names, Where where) const {
  std::vector<Array> result;
  for (const Argument& each : statement.args) result.push_back(array(each, names, where));
  return result;
}

std::vector<Array> Interpreter::call(const Function& function, const std::vector<Array>& args) {
  Names names;
  for (std::size_t i = 0; i < args.size(); ++i) names.emplace(function.params[i], args[i]);
  body(function.body, names);
  std::vector<Array> results;
  for (const std::string& name : function.results) results.push_back(names.at(name));
  return results;
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const OpStep& step, const Names& names, Where where) {
  return machine_.op(step, operands(statement, names, where), where);
}

std::vector<Array> Interpreter::run_step(const Statement&, const ConstantStep& step, const Names&, Where where) {
  Array value = array_of(step.value);
  return {step.sharding ? machine_.place(Operand(value, where), *step.sharding, where) : value};
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const PlaceStep& step, const Names& names, Where where) {
  const Mesh& mesh = step.sharding.mesh();
  if (step.how == PlaceStep::How::kReshard)
    return as_program(
        statement, [&](const std::vector<Array>& args) { return std::vector<Array>{reshard(Operand(args.at(0), where), step.sharding)}; },
        names, where);
  if (step.how == PlaceStep::How::kConstrain && (step.has_open_dimensions || mesh.has_explicit_axes()))
    return as_program(
        statement,
        [&](const std::vector<Array>& args) {
          return std::vector<Array>{with_sharding_constraint(Operand(args.at(0), where), mesh, step.spec)};
        },
        names, where);
  return {machine_.place(operands(statement, names, where).at(0), step.sharding, where)};
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const CallStep& step, const Names& names, Where where) {
  const Function& function = document_.functions.at(step.function);
  std::vector<Array> args = arrays(statement, names, where);
  if (!step.jit) return call(function, args);
  JitOptions options{function.name, step.in_shardings, step.out_shardings};
  auto traced = [this, &function](const std::vector<Array>& params) { return call(function, params); };
  return machine_.jit(statement.pointer, traced, options, args, where);
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const GradStep& step, const Names& names, Where where) {
  const Function& function = document_.functions.at(step.function);
  auto differentiated = [this, &function, &step, where](const std::vector<Array>& params) {
    TransformOptions options{function.name, std::vector<bool>(params.size(), false), where};
    for (int argnum : step.argnums) options.active[std::size_t(argnum)] = true;
    auto body = [this, &function](const std::vector<Array>& args) { return call(function, args); };
    std::vector<Array> found = value_and_grad_of(body, params, options), results;
    if (step.with_value) results.push_back(found.at(0));
    for (int argnum : step.argnums) {  // gradients come in the order of the arguments
      auto before = std::count(options.active.begin(), options.active.begin() + argnum, true);
      results.push_back(found.at(1 + std::size_t(before)));
    }
    return results;
  };
  std::vector<Array> args = arrays(statement, names, where);
  if (Context::current().tracer()) return differentiated(args);
  JitOptions options{.name = statement.op + " of " + function.name, .lies_by_ops = true};
  return machine_.jit(statement.pointer, differentiated, options, args, where);
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const ReadStep& step, const Names& names, Where where) {
  return {machine_.read(arrays(statement, names, where).at(0), step, where)};
}

std::vector<Array> Interpreter::run_step(const Statement&, const RepeatStep&, const Names&, Where) { return {}; }
std::vector<Array> Interpreter::run_step(const Statement&, const IssuerStep&, const Names&, Where) { return {}; }

std::vector<Array> Interpreter::run_step(const Statement&, const BarrierStep& step, const Names&, Where where) {
  Array come = machine_.barrier(step, where);
  if (step.waits) return {};
  return {come};
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const BroadcastStep& step, const Names& names, Where where) {
  return {machine_.broadcast(arrays(statement, names, where).at(0), step, where)};
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const AssertEqualStep& step, const Names& names, Where where) {
  machine_.assert_equal(arrays(statement, names, where).at(0), step, where);
  return {};
}

std::vector<Array> Interpreter::run_step(const Statement&, const ProcessDataStep& step, const Names& names, Where where) {
  return {machine_.from_process_data(array(step.of(process_), names, where), step, where)};
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const DeviceDataStep& step, const Names& names, Where where) {
  return {machine_.from_device_data(arrays(statement, names, where), step, where)};
}

std::vector<Array> Interpreter::run_step(const Statement&, const CallbackStep& step, const Names&, Where where) {
  const Function& function = document_.functions.at(step.function);
  auto part = [&](const Box& box) {
    std::vector<Array> starts;
    for (const Interval& range : box) {
      auto start = std::int32_t(range.start);
      starts.push_back(array_from_host({DType::kInt32, {}}, std::as_bytes(std::span(&start, 1))));
    }
    return call(function, starts).at(0);
  };
  return {machine_.from_callback(part, step, where)};
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const SendStep& step, const Names& names, Where where) {
  machine_.send(operands(statement, names, where).at(0), step, where);
  return {};
}

std::vector<Array> Interpreter::run_step(const Statement&, const ReceiveStep& step, const Names&, Where where) {
  return {machine_.receive(step, where)};
}

std::vector<Array> Interpreter::run_step(const Statement&, const WaitStep& step, const Names& names, Where where) {
  for (const std::string& name : step.names) {
    if (auto value = names.find(name); value != names.end())
      machine_.wait_for(value->second, where);
    else
      machine_.wait_for(name, where);
  }
  return {};
}

ArrayFunction Interpreter::function(const std::string& name) {
  const Function& found = document_.functions.at(name);
  return [this, &found](const std::vector<Array>& args) { return call(found, args); };
}

std::vector<Array> Interpreter::as_program(const Statement& statement, const ArrayFunction& run, const Names& names, Where where,
                                           bool lies_by_ops) {
  std::vector<Array> args = arrays(statement, names, where);
  if (Context::current().tracer()) return run(args);
  return machine_.jit(statement.pointer, run, JitOptions{.name = statement.op, .lies_by_ops = lies_by_ops}, args, where);
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const ShardMapStep& step, const Names& names, Where where) {
  auto run = [this, &step, where](const std::vector<Array>& args) {
    ShardMapOptions options{step.mesh, step.in_specs, step.out_specs, step.check_vma, step.function, step.axis_names};
    return shard_map(function(step.function), options, args, where);
  };
  return as_program(statement, run, names, where);
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const FunctionStep& step, const Names& names, Where where) {
  auto run = [this, &step, where](const std::vector<Array>& args) {
    return step.statement->run(function(step.statement->function()), args, where);
  };
  return as_program(statement, run, names, where, true);
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const CustomPartitioningStep& step, const Names& names, Where where) {
  auto names_of = [&](std::string_view key) { return step.rule.has(key) ? step.rule.strings(key) : std::vector<std::string>{}; };
  CustomPartitioningOptions options{.sharding_rule = step.rule.string("sharding_rule"),
                                    .reduction_factors = names_of("reduction_factors"),
                                    .need_replication_factors = names_of("need_replication_factors"),
                                    .permutation_factors = names_of("permutation_factors"),
                                    .name = step.function};
  std::vector<std::string> sized = names_of("factor_names");
  for (std::size_t i = 0; i < sized.size(); ++i) options.factor_sizes[sized[i]] = step.rule.integers("factor_sizes")[i];
  auto run = [this, &step, options, where](const std::vector<Array>& args) {
    return custom_partitioning(function(step.function), options, args, where);
  };
  return as_program(statement, run, names, where);
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const CondStep& step, const Names& names, Where where) {
  auto run = [this, &step, where](const std::vector<Array>& args) {
    std::vector<ArrayFunction> branches;
    for (const std::string& name : step.functions) branches.push_back(function(name));
    if (args.at(0).dtype() == DType::kBool) std::reverse(branches.begin(), branches.end());  // false is branch 0
    return switch_branches(Operand(args[0], where), branches, {args.begin() + 1, args.end()}, where);
  };
  return as_program(statement, run, names, where);
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const WhileStep& step, const Names& names, Where where) {
  auto run = [this, &step, where](const std::vector<Array>& args) {
    const auto carry = args.begin() + step.consts;
    const std::vector<Array> consts(args.begin(), carry);
    return while_loop(with_first(consts, function(step.condition)), with_first(consts, function(step.body)), {carry, args.end()}, where);
  };
  return as_program(statement, run, names, where);
}

std::vector<Array> Interpreter::run_step(const Statement& statement, const ScanStep& step, const Names& names, Where where) {
  auto run = [this, &step, where](const std::vector<Array>& args) {
    const auto carry = args.begin() + step.consts, xs = carry + step.carry;
    return scan(with_first({args.begin(), carry}, function(step.function)), {carry, xs}, {xs, args.end()},
                ScanOptions{.length = step.length, .reverse = step.reverse}, where);
  };
  return as_program(statement, run, names, where);
}

}  // namespace shardlab::scenarios
