#include "runtime/exec/jit.h"

#include <fmt/format.h>

#include <atomic>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/placement.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/tracing.h"
#include "runtime/exec/weak_types.h"
#include "runtime/graph/inspection.h"
#include "runtime/spmd/explain.h"

namespace shardlab {

struct JitFunction::State {
  Function function;
  JitOptions options;
  std::uint64_t id = 0;  // tells functions apart in the context's cache of programs
};

namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> next{0};
  return next++;
}

// An argument as in_shardings wants it: moved where it is free, refused where it was placed otherwise.
Array placed(const Array& arg, const Sharding& wanted, std::size_t index, const std::string& name, Where where) {
  if (arg.committed() && !arg.sharding().is_equivalent_to(wanted, arg.shape()))
    throw_user_error(
        "Sharding passed to jit does not match the sharding on the respective arg. Got jit sharding: {},\narg sharding: {} for arg type: "
        "{} (argument {} of {}); device_put it first or leave its in_sharding out [{}]",
        wanted.text(), arg.sharding().text(), arg.type().text(), index, name, where.text());
  return arg.committed() ? arg : device_put(Operand(arg, where), wanted);
}

}  // namespace

JitFunction::JitFunction(Function function, JitOptions options)
    : state_(std::make_shared<State>(State{std::move(function), std::move(options), next_id()})) {}

static ProgramRequest request_of(Context& context, const JitFunction::Function& function, const JitOptions& options,
                                 const std::vector<Array>& args, Where where) {
  if (!options.in_shardings.empty() && options.in_shardings.size() != args.size())
    throw_user_error("jit of {}: got {} in_shardings for {} arguments; give one each [{}]", options.name, options.in_shardings.size(),
                     args.size(), where.text());
  ProgramRequest request;
  request.name = options.name;
  request.where = where;
  request.in_shardings = options.in_shardings;
  request.out_shardings = options.out_shardings;
  request.donated = options.donate_argnums;
  request.finer_results = options.finer_results;
  request.is_jitted = true;
  for (std::size_t i = 0; i < args.size(); ++i) {
    bool given = i < options.in_shardings.size() && options.in_shardings[i];
    if (given) options.in_shardings[i]->check_fits(args[i].type(), "pjit arguments");
    request.args.push_back(given ? placed(args[i], *options.in_shardings[i], i, options.name, where) : args[i]);
  }
  request.trace = [&context, &function, name = options.name, args, weak = request.weak_results](const std::optional<Mesh>& mesh) {
    std::vector<TensorType> types;
    for (const Array& arg : args) types.push_back(arg.type());
    return Tracer::trace(context, name, mesh, types, function, weak_types(args), weak.get());
  };
  return request;
}

static std::string key_for(std::uint64_t id, std::string_view structure, const JitOptions& options, const ProgramRequest& request) {
  return fmt::format("jit{}{}({}){}>{}", id, structure, signature_of(request.args), signature_of(options.in_shardings),
                     signature_of(options.out_shardings));
}

std::vector<Array> JitFunction::call(const std::vector<Array>& args, Where where, std::string_view structure) const {
  Context& context = Context::current();
  if (context.tracer()) {  // inlined; its out_shardings become constraints
    std::vector<Array> results = state_->function(args);
    for (std::size_t i = 0; i < results.size() && i < state_->options.out_shardings.size(); ++i)
      if (state_->options.out_shardings[i]) results[i] = device_put(Operand(results[i], where), *state_->options.out_shardings[i]);
    return results;
  }
  for (const Array& arg : args)
    if (!arg.valid()) throw_user_error("jit of {} at {}: an empty Array is passed", state_->options.name, where.text());
  ProgramRequest request = request_of(context, state_->function, state_->options, args, where);
  return run_program(context, key_for(state_->id, structure, state_->options, request), request);
}

std::string JitFunction::lowered(const std::vector<Array>& args, bool partitioned, std::string_view structure) const {
  Context& context = Context::current();
  ProgramRequest request = request_of(context, state_->function, state_->options, args, {});
  if (!partitioned) return print(without_inspections(request.trace(mesh_of(request, nullptr))), true);
  return spmd::print(prepare_program(context, key_for(state_->id, structure, state_->options, request), request)->program);
}

std::string JitFunction::explained(const std::vector<Array>& args, std::string_view structure) const {
  Context& context = Context::current();
  ProgramRequest request = request_of(context, state_->function, state_->options, args, {});
  const auto executable = prepare_program(context, key_for(state_->id, structure, state_->options, request), request);
  return spmd::text_of(spmd::explain(executable->program), executable->program);
}

}  // namespace shardlab
