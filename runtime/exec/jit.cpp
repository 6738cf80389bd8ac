#include "runtime/exec/jit.h"

#include <fmt/ranges.h>

#include <atomic>
#include <numeric>

#include "runtime/base/at_place.h"
#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/signature.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/weak_types.h"
#include "runtime/graph/inspection.h"
#include "runtime/spmd/explain.h"

namespace shardlab {

struct JitFunction::State {
  TreeFunction function;
  JitOptions options;
  std::uint64_t id = 0;  // tells functions apart in the context's cache of programs
};

namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> next{0};
  return next++;
}

// An argument as in_shardings wants it: moved where it is free, refused where it was placed otherwise.
Array placed(const Array& arg, const Sharding& wanted, const std::string& path, const std::string& name, Where where) {
  if (arg.committed() && !arg.sharding().is_equivalent_to(wanted, arg.shape()))
    throw_user_error(
        "Sharding passed to jit does not match the sharding on the respective arg. Got jit sharding: {},\narg sharding: {} for arg type: "
        "{} (args{} of {}); device_put it first or leave its in_sharding out [{}]",
        wanted.text(), arg.sharding().text(), arg.type().text(), path, name, where.text());
  return arg.committed() ? arg : device_put(Operand(arg, where), wanted);
}

}  // namespace

JitFunction::JitFunction(TreeFunction function, JitOptions options)
    : state_(std::make_shared<State>(State{std::move(function), std::move(options), next_id()})) {}

// One in_sharding a leaf, of those given.
static std::vector<std::optional<Sharding>> in_shardings_of(const JitOptions& options, const JitFunction::Call& call, Where where) {
  if (options.in_shardings.empty()) return {};
  const LeafCounts counts = call.counts.empty() ? LeafCounts(call.args.size(), 1) : call.counts;
  auto each = tree::spread(options.in_shardings, counts);
  if (!each)
    throw_user_error(
        "jit of {}: pjit in_shardings specification must be a tree prefix of the positional arguments tuple, got {} in_shardings for {} "
        "arguments{}; give one each, or one for each leaf: {} [{}]",
        options.name, options.in_shardings.size(), counts.size(),
        counts.size() == call.args.size() ? "" : fmt::format(" with {} leaves", call.args.size()),
        leaves_text("args", call.paths ? call.paths() : KeyPaths(), call.args.size()), where.text());
  return *each;
}

// The leaves of the arguments that donate_argnums names.
static std::vector<int> donated_leaves(const JitOptions& options, const JitFunction::Call& call, Where where) {
  if (call.counts.empty()) return options.donate_argnums;
  std::vector<int> leaves;
  for (int argnum : options.donate_argnums) {
    if (argnum < 0 || std::size_t(argnum) >= call.counts.size())
      throw_user_error("Jitted function has donate_argnums=({},), but only accepts {} positional arguments. (jit of {}) [{}]", argnum,
                       call.counts.size(), options.name, where.text());
    int first = int(std::accumulate(call.counts.begin(), call.counts.begin() + argnum, std::size_t(0)));
    for (std::size_t i = 0; i < call.counts[std::size_t(argnum)]; ++i) leaves.push_back(first + int(i));
  }
  return leaves;
}

// `call` is there as long as what is returned.
static ProgramRequest request_of(Context& context, const TreeFunction& function, const JitOptions& options, const JitFunction::Call& call,
                                 Where where) {
  ProgramRequest request;
  request.name = options.name;
  request.where = where;
  request.in_shardings = in_shardings_of(options, call, where);
  request.out_shardings = options.out_shardings;
  request.donated = donated_leaves(options, call, where);
  request.finer_results = options.finer_results;
  request.is_jitted = true;
  request.lies_by_ops = options.lies_by_ops;
  request.arg_paths = call.paths ? call.paths : [] { return KeyPaths(); };
  const KeyPaths paths = request.in_shardings.empty() ? KeyPaths() : request.arg_paths();
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    const Array& arg = call.args[i];
    bool given = i < request.in_shardings.size() && request.in_shardings[i];
    if (given) at_place(where, [&] { request.in_shardings[i]->check_fits(arg.type(), leaf_text("pjit arguments", "args", paths, i)); });
    request.args.push_back(given ? placed(arg, *request.in_shardings[i], key_path(paths, i), options.name, where) : arg);
  }
  request.trace = [&context, &function, &options, &call, weak = request.weak_results, parts = request.result_parts,
                   result_paths = request.result_paths](const std::vector<Array>& placed_args, const std::optional<Mesh>& mesh) {
    std::vector<TensorType> types;
    for (const Array& arg : call.args) types.push_back(arg.type());
    auto leaves = [&](const std::vector<Array>& params) {
      TreeResults results = function(params);
      *parts = std::move(results.parts);
      *result_paths = std::move(results.paths);
      return std::move(results.leaves);
    };
    return Tracer::trace(context, options.name, mesh, types, leaves, weak_types(call.args), weak.get(), types_like(placed_args),
                         options.lies_by_ops ? TracedAs::kOpByOp : TracedAs::kOneProgram);
  };
  return request;
}

// Values inside jit, those with a sharding held in it.
static std::vector<Array> constrained(std::vector<Array> values, const std::vector<std::optional<Sharding>>& shardings,
                                      const std::function<std::string(std::size_t)>& leaf, Where where) {
  for (std::size_t i = 0; i < shardings.size(); ++i) {
    if (!shardings[i]) continue;
    shardings[i]->check_fits(values[i].type(), leaf(i));
    values[i] = device_put(Operand(values[i], where), *shardings[i]);
  }
  return values;
}

static std::string key_for(std::uint64_t id, std::string_view structure, const ProgramRequest& request) {
  std::string key = "jit" + std::to_string(id) + ":";
  key += structure;
  for (const std::string& part : {signature_of(request.args), signature_of(request.in_shardings), signature_of(request.out_shardings)})
    key += part;
  return key;
}

std::vector<Array> JitFunction::call(const Call& call, Where where) const {
  Context& context = Context::current();
  if (const std::shared_ptr<Tracer> tracer = context.tracer()) {  // inlined; its shardings become constraints
    const auto open = tracer->open_call();
    const auto in = in_shardings_of(state_->options, call, where);
    auto argument = [&](std::size_t i) { return leaf_text("pjit arguments", "args", call.paths ? call.paths() : KeyPaths(), i); };
    TreeResults results = state_->function(constrained(tracer->parameters(call.args, where), in, argument, where));
    const auto out =
        result_shardings(state_->options.out_shardings, results.parts, results.paths, results.leaves.size(), state_->options.name, where);
    auto result = [&](std::size_t i) { return leaf_text("pjit outputs", "result", results.paths, i); };
    std::vector<Array> given = constrained(std::move(results.leaves), out, result, where);
    tracer->order_results(given);
    return given;
  }
  for (const Array& arg : call.args)
    if (!arg.valid()) throw_user_error("jit of {} at {}: an empty Array is passed", state_->options.name, where.text());
  ProgramRequest request = request_of(context, state_->function, state_->options, call, where);
  return run_program(context, key_for(state_->id, call.structure, request), request);
}

std::string JitFunction::lowered(const Call& call, bool partitioned, Where where) const {
  Context& context = Context::current();
  ProgramRequest request = request_of(context, state_->function, state_->options, call, where);
  if (!partitioned) return print(without_inspections(request.trace(request.args, mesh_of(request, nullptr))), true);
  return spmd::print(prepare_program(context, key_for(state_->id, call.structure, request), request)->program);
}

// All collectives in the order in which they are issued, those that per-device code asks for by itself among them.
static std::string collectives_text(const comm::ProgramInfo& info) {
  std::string text;
  std::int64_t wire_bytes = 0;
  for (const comm::CollectiveInfo& each : info.collectives) {
    text +=
        fmt::format("{}{}{}, for {}{}: {} bytes a device, {} on the wire\n", each.kind, each.axes.empty() ? "" : " over ",
                    fmt::join(each.axes, ", "), each.op, each.where.known() ? " at " + each.where.text() : "", each.bytes, each.wire_bytes);
    wire_bytes += each.wire_bytes;
  }
  return text + fmt::format("{} bytes on the wire, where loops go round once\n", wire_bytes);
}

std::string JitFunction::explained(const Call& call, Where where) const {
  Context& context = Context::current();
  ProgramRequest request = request_of(context, state_->function, state_->options, call, where);
  const auto executable = prepare_program(context, key_for(state_->id, call.structure, request), request);
  return spmd::text_of(spmd::explain(executable->program), executable->program) + collectives_text(*executable->info);
}

}  // namespace shardlab
