#include "scenarios/document/statements.h"

#include <algorithm>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "runtime/base/text.h"
#include "runtime/ops/registry.h"
#include "scenarios/document/document_error.h"
#include "scenarios/document/function_statements.h"
#include "scenarios/document/host_statements.h"
#include "scenarios/document/op_statements.h"
#include "scenarios/document/region_statements.h"
#include "scenarios/document/values.h"

namespace shardlab::scenarios {
namespace {

constexpr std::int64_t kRepeatMax = 1'000'000'000;

// ---- the steps

Step read_constant(const Node& statement, const Document& document) {
  auto dtype = statement.find("dtype");
  Literal value = read_literal(statement.at("value"), dtype ? std::optional(read_dtype(*dtype)) : std::nullopt, document.config);
  return ConstantStep{std::move(value), out_sharding(statement, document)};
}

Step read_device_put(const Node& statement, const Document& document) {
  return PlaceStep{read_sharding(statement.at("sharding"), document)};
}

Step read_constraint(const Node& statement, const Document& document) {
  const OpenSharding read = read_open_sharding(statement.at("spec"), document);
  return PlaceStep{read.sharding, PlaceStep::How::kConstrain, read.spec, read.has_open_dimensions};
}

Step read_reshard(const Node& statement, const Document& document) {
  return PlaceStep{read_sharding(statement.at("sharding"), document), PlaceStep::How::kReshard};
}

}  // namespace

const Function& function_at(const Node& node, const Document& document) {
  std::string name = node.string();
  auto found = document.functions.find(name);
  if (found != document.functions.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& [each, function] : document.functions) names.push_back(each);
  node.fail(fmt::format("there is no function '{}'{}", name, did_you_mean(name, names)));
}

namespace {

void check_count(const Node& node, std::size_t got, std::size_t wanted, std::string_view what) {
  if (got != wanted) node.fail(fmt::format("{} for {} {}", got, wanted, what));
}

Step read_call_of(const Node& statement, const Document& document, bool jit) {
  const Function& function = function_at(statement.at("fn"), document);
  auto args = statement.find("args");
  check_count(args ? *args : statement, args ? args->size() : 0, function.params.size(), fmt::format("parameters of '{}'", function.name));
  CallStep step{function.name, jit, {}, {}};
  if (auto in = statement.find("in_shardings")) {
    step.in_shardings = read_shardings(*in, document);
    check_count(*in, step.in_shardings.size(), function.params.size(), "arguments");
  }
  if (auto out = statement.find("out_shardings")) {
    step.out_shardings = read_shardings(*out, document);
    check_count(*out, step.out_shardings.size(), function.results.size(), "results");
  }
  return step;
}

Step read_jit(const Node& statement, const Document& document) { return read_call_of(statement, document, true); }
Step read_call(const Node& statement, const Document& document) { return read_call_of(statement, document, false); }
Step read_grad_of(const Node& statement, const Document& document, bool with_value) {
  const Function& function = function_at(statement.at("fn"), document);
  auto args = statement.find("args");
  check_count(args ? *args : statement, args ? args->size() : 0, function.params.size(), fmt::format("parameters of '{}'", function.name));
  if (function.results.size() != 1)
    statement.at("fn").fail(
        fmt::format("'{}' has {} results, a function to differentiate has one", function.name, function.results.size()));
  GradStep step{function.name, {0}, with_value};
  if (auto argnums = statement.find("argnums")) {
    step.argnums.clear();
    std::int64_t count = std::int64_t(function.params.size());
    for (const Node& item : argnums->items()) step.argnums.push_back(int(item.integer(0, count - 1)));
    std::set<int> distinct(step.argnums.begin(), step.argnums.end());
    if (distinct.size() != step.argnums.size() || distinct.empty()) argnums->wanted("distinct numbers of arguments");
  }
  if (function.params.empty()) statement.at("fn").fail(fmt::format("'{}' has no parameters to differentiate by", function.name));
  return step;
}

Step read_grad(const Node& statement, const Document& document) { return read_grad_of(statement, document, false); }
Step read_value_and_grad(const Node& statement, const Document& document) { return read_grad_of(statement, document, true); }
Step read_fetch(const Node&, const Document&) { return ReadStep{false}; }

// ---- the lists

constexpr std::string_view kConstantKeys[] = {"value", "dtype", "sharding"};
constexpr std::string_view kPlaceKeys[] = {"sharding"};
constexpr std::string_view kConstraintKeys[] = {"spec"};
constexpr std::string_view kJitKeys[] = {"fn", "in_shardings", "out_shardings"};
constexpr std::string_view kCallKeys[] = {"fn"};
constexpr std::string_view kGradKeys[] = {"fn", "argnums"};
constexpr std::string_view kShardMapKeys[] = {"fn", "mesh", "in_specs", "out_specs", "check_vma", "axis_names"};
constexpr std::string_view kCustomPartitioningKeys[] = {"fn",          "sharding_rule", "need_replication",
                                                        "permutation", "reduction",     "factor_sizes"};
constexpr std::string_view kCondKeys[] = {"fns"};
constexpr std::string_view kWhileKeys[] = {"cond_fn", "body_fn", "num_consts"};
constexpr std::string_view kScanKeys[] = {"fn", "length", "num_carry", "num_consts", "reverse", "unroll"};

const StatementDef kStatements[] = {
    {"constant", kConstantKeys, 0, 0, read_constant},
    {"device_put", kPlaceKeys, 1, 1, read_device_put},
    {"with_sharding_constraint", kConstraintKeys, 1, 1, read_constraint},
    {"reshard", kPlaceKeys, 1, 1, read_reshard},
    {"jit", kJitKeys, 0, -1, read_jit},
    {"call", kCallKeys, 0, -1, read_call},
    {"grad", kGradKeys, 1, -1, read_grad},
    {"value_and_grad", kGradKeys, 1, -1, read_value_and_grad},
    {"fetch", {}, 1, 1, read_fetch},
    {"process_allgather", kAllgatherKeys, 1, 1, read_allgather},
    {"shard_map", kShardMapKeys, 0, -1, read_shard_map},
    {"custom_partitioning", kCustomPartitioningKeys, 0, -1, read_custom_partitioning},
    {"cond", kCondKeys, 1, -1, read_cond},
    {"while_loop", kWhileKeys, 1, -1, read_while_loop},
    {"scan", kScanKeys, 0, -1, read_scan},
    {"barrier", kBarrierKeys, 0, 0, read_barrier},
    {"send", kSendKeys, 1, 1, read_send},
    {"recv", kReceiveKeys, 0, 0, read_receive},
    {"wait", {}, 1, -1, read_wait},
    {"broadcast", kBroadcastKeys, 1, 1, read_broadcast},
    {"assert_equal", kAssertEqualKeys, 1, 1, read_assert_equal},
    {"make_array_from_process_local_data", kProcessDataKeys, 0, 0, read_process_data},
    {"make_array_from_single_device_arrays", kDeviceDataKeys, 0, -1, read_device_data},
    {"make_array_from_callback", kCallbackKeys, 0, 0, read_callback},
};

// Ops that the format names; whichever the registry lacks, this version does not run.
constexpr std::string_view kFormatOps[] = {"take",        "scatter_add", "dynamic_slice", "dynamic_update_slice",
                                           "dot_general", "einsum",      "gelu",          "softplus",
                                           "logistic",    "softmax",     "log_softmax",   "logsumexp",
                                           "erf",         "rsqrt",       "top_k",         "conv",
                                           "all",         "any",         "argmax",        "argmin",
                                           "argsort",     "bitcast",     "concatenate",   "cumsum",
                                           "cumprod",     "expand_dims", "flip",          "meshgrid",
                                           "pad",         "prod",        "roll",          "slice",
                                           "sort",        "squeeze",     "stack",         "std",
                                           "var",         "select",      "convert",       "tile",
                                           "repeat",      "where",       "clip"};

bool is_of_the_format(std::string_view op) {
  if (op.starts_with("fft.") || op.starts_with("random.")) return true;
  return std::find(std::begin(kFormatOps), std::end(kFormatOps), op) != std::end(kFormatOps);
}

const StatementDef* find_statement(std::string_view name) {
  for (std::span<const StatementDef> list : {std::span<const StatementDef>(kStatements), function_statements()})
    for (const StatementDef& each : list)
      if (each.name == name) return &each;
  return nullptr;
}

[[noreturn]] void unknown_op(const Node& node, const std::string& name) {
  if (is_of_the_format(name)) throw NotSupportedError(node.pointer(), fmt::format("the op '{}'", name));
  std::vector<std::string_view> names;
  for (const OpDef* op : all_ops()) {
    names.push_back(op->name);
    names.insert(names.end(), op->aliases.begin(), op->aliases.end());
  }
  for (const StatementDef& each : kStatements) names.push_back(each.name);
  for (const StatementDef& each : function_statements()) names.push_back(each.name);
  names.push_back("start");
  names.insert(names.end(), std::begin(kFormatOps), std::end(kFormatOps));
  node.fail(fmt::format("unknown op '{}'{}", name, did_you_mean(name, names)));
}

// ---- statements

Step read_special(const Node& statement, const StatementDef& def, const Document& document) {
  std::vector<std::string_view> keys(std::begin(kCommonKeys), std::end(kCommonKeys));
  keys.insert(keys.end(), def.keys.begin(), def.keys.end());
  statement.only_keys(keys, fmt::format("'{}'", def.name));
  auto args = statement.find("args");
  int count = args ? int(std::min<std::size_t>(args->size(), INT32_MAX)) : 0;
  if (count < def.args_min || (def.args_max >= 0 && count > def.args_max))
    (args ? *args : statement).fail(fmt::format("'{}' takes {} arguments, got {}", def.name, def.args_min, count));
  return def.read(statement, document);
}

std::string read_name(const Node& node) {
  std::string name = node.string();
  if (name.empty()) node.fail("a name is empty");
  return name;
}

std::vector<std::string> read_let(const Node& node) {
  if (node.is_string()) return {read_name(node)};
  if (!node.is_list()) node.wanted("a name or a list of names");
  std::vector<std::string> names;
  for (const Node& item : node.items()) {
    names.push_back(read_name(item));
    if (std::count(names.begin(), names.end(), names.back()) > 1)
      item.fail(fmt::format("'{}' is bound twice by one statement", names.back()));
  }
  return names;
}

std::optional<ProcessSet> read_on(const Node& statement, const Document& document) {
  auto on = statement.find("on"), not_on = statement.find("not_on");
  if (on && not_on) not_on->fail("\"on\" and \"not_on\" exclude each other; keep one");
  if (!on && !not_on) return std::nullopt;
  const Node& node = on ? *on : *not_on;
  static constexpr std::string_view kKeys[] = {"processes"};
  node.only_keys(kKeys, on ? "\"on\"" : "\"not_on\"");
  return ProcessSet{read_processes(node.at("processes"), document), !on};
}

// `op`: of an op; attributes by position are no operands.
std::vector<Argument> read_args(const Node& statement, const OpDef* op, const Document& document) {
  std::vector<Argument> result;
  std::vector<Node> items;
  if (auto args = statement.find("args")) items = args->items();
  if (op != nullptr) {
    items.erase(items.begin() + std::ptrdiff_t(operand_count(statement, *op)), items.end());
    for (const Node& named : named_operands(statement, *op)) items.push_back(named);
  }
  for (const Node& item : items) result.push_back(read_argument(item, document));
  return result;
}

Statement read_statement(const Node& node, const Document& document);

Statement read_repeat(const Node& node, const Document& document) {
  static constexpr std::string_view kKeys[] = {"repeat", "body", "on", "not_on", "note"};
  node.only_keys(kKeys, "a loop");
  RepeatStep step{node.at("repeat").integer(0, kRepeatMax), read_body(node.at("body"), document)};
  return {node.pointer(), "repeat", {}, {}, read_on(node, document), std::move(step)};
}

Statement read_issuer(const Node& node, const Document& document) {
  static constexpr std::string_view kKeys[] = {"issuer", "body", "on", "not_on", "note"};
  node.only_keys(kKeys, "an issuer");
  IssuerStep step{read_name(node.at("issuer")), read_body(node.at("body"), document)};
  for (const Statement& statement : step.body)
    if (std::holds_alternative<IssuerStep>(statement.step)) node.at("body").fail("an issuer inside an issuer");
  return {node.pointer(), "issuer", {}, {}, read_on(node, document), std::move(step)};
}

// Another statement, begun and not waited for. It has the names and the processes of this one.
Statement read_start(const Node& node, const Document& document) {
  static constexpr std::string_view kKeys[] = {"let", "op", "step", "on", "not_on", "note"};
  static constexpr std::string_view kInner[] = {"let", "on", "not_on"};
  node.only_keys(kKeys, "'start'");
  Node inner = node.at("step");
  for (std::string_view key : kInner)
    if (inner.is_object() && inner.find(key)) inner.at(key).fail(fmt::format("\"{}\" belongs to 'start', not to its step", key));
  Statement statement = read_statement(inner, document);
  if (statement.body() != nullptr) inner.fail("a loop or an issuer cannot be started; start what is in it");
  statement.step = started(inner, std::move(statement.step));
  statement.pointer = node.pointer();
  if (auto let = node.find("let")) statement.let = read_let(*let);
  statement.on = read_on(node, document);
  return statement;
}

Statement read_statement(const Node& node, const Document& document) {
  if (!node.is_object()) node.wanted("a statement, which is an object");
  if (auto note = node.find("note")) note->string();
  if (node.find("repeat")) return read_repeat(node, document);
  if (node.find("issuer")) return read_issuer(node, document);
  auto named = node.find("op");
  if (!named) {
    static constexpr std::string_view kKeys[] = {"let", "op", "args", "repeat", "body", "on", "not_on", "note", "issuer"};
    node.only_keys(kKeys, "a statement");
    node.fail("a statement needs \"op\", \"repeat\" or \"issuer\"");
  }
  std::string name = named->string();
  if (name == "start") return read_start(node, document);
  Statement statement{node.pointer(), name, {}, {}, read_on(node, document), {}};
  if (auto let = node.find("let")) statement.let = read_let(*let);
  const StatementDef* def = find_statement(name);
  const OpDef* op = def ? nullptr : find_op(name);
  if (!def && !op) unknown_op(*named, name);
  statement.step = def ? read_special(node, *def, document) : read_op(node, *op, document);
  // Who takes part in a barrier comes to it, unless the statement says otherwise.
  if (const auto* barrier = std::get_if<BarrierStep>(&statement.step); barrier && !barrier->processes.empty() && !statement.on)
    statement.on = ProcessSet{barrier->processes, false};
  if (!std::holds_alternative<WaitStep>(statement.step)) statement.args = read_args(node, op, document);  // it names issuers, too
  return statement;
}

}  // namespace

Argument read_argument(const Node& node, const Document& document) {
  if (node.is_string()) return {read_name(node), node.pointer()};
  if (node.is_list()) return {read_literal(node, std::nullopt, document.config), node.pointer()};
  if (node.is_number() || node.json().is_boolean()) return {read_scalar(node), node.pointer()};
  node.wanted("a name, a number or a list");
}

Body read_body(const Node& node, const Document& document) {
  Body body;
  for (const Node& item : node.items()) body.push_back(read_statement(item, document));
  return body;
}

}  // namespace shardlab::scenarios
