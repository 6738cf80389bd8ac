#include "runtime/exec/tracing.h"

#include <set>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/explicit_asked.h"
#include "runtime/exec/explicit_marks.h"
#include "runtime/exec/weak_types.h"
#include "runtime/ops/calls.h"
#include "runtime/ops/primitives.h"
#include "runtime/ops/registry.h"
#include "runtime/transform/inline.h"

namespace shardlab {
namespace {

// Restores the tracer that was active before.
class TracerScope {
 public:
  TracerScope(Context& context, std::shared_ptr<Tracer> tracer) : context_(context), before_(context.exchange_tracer(std::move(tracer))) {}
  ~TracerScope() { context_.exchange_tracer(std::move(before_)); }

 private:
  Context& context_;
  std::shared_ptr<Tracer> before_;
};

}  // namespace

Tracer::Tracer(Context& context, std::string name, std::optional<Mesh> mesh)
    : builder_(std::move(name), context.config()), context_(context), mesh_(std::move(mesh)) {}

Graph Tracer::trace(Context& context, std::string name, std::optional<Mesh> mesh, const std::vector<TensorType>& params,
                    const std::function<std::vector<Array>(const std::vector<Array>&)>& function, const std::vector<bool>& weak_params,
                    std::vector<bool>* weak_results, TypesInTrace types, TracedAs as) {
  auto tracer = std::make_shared<Tracer>(context, std::move(name), std::move(mesh));
  tracer->builder_.set_ops_are_calls(as == TracedAs::kOpByOp);
  tracer->types_ = std::move(types);
  TracerScope scope(context, tracer);
  std::vector<Array> args;
  for (const TensorType& type : params) args.push_back(tracer->tracer_array(tracer->builder_.param(type)));
  set_weak(args, weak_params);
  std::vector<ValueId> results;
  const std::vector<Array> returned = function(args);
  tracer->types_ = {};  // what it holds of the arguments must not live on in traced values that users keep
  if (weak_results != nullptr) *weak_results = weak_types(returned);
  for (const Array& result : returned) {
    if (!result.valid()) throw_user_error("jit of {}: the function returned an empty Array", tracer->builder_.graph().name);
    results.push_back(tracer->value_of(result, {}));
  }
  tracer->builder_.set_results(std::move(results));
  for (const std::string& warning : tracer->builder_.warnings()) context.warn(warning);
  Graph graph = without_dead_nodes(tracer->builder_.finish());
  verify(graph);
  return graph;
}

TracedBody Tracer::trace_body(Context& context, std::string name, const std::vector<TensorType>& params,
                              const std::function<std::vector<Array>(const std::vector<Array>&)>& function,
                              std::shared_ptr<const BoundAxes> bound, std::optional<Mesh> mesh, const std::vector<bool>& weak_params,
                              TypesInTrace types, TracedAs as) {
  const std::shared_ptr<Tracer>& outer = context.tracer();
  auto tracer = std::make_shared<Tracer>(context, std::move(name), outer ? outer->mesh_ : std::move(mesh));
  tracer->types_ = std::move(types);
  if (outer && !tracer->types_.typed) tracer->types_.typed = outer->typed_axes();
  if (outer && !tracer->types_.tells_varying) tracer->types_.tells_varying = outer->types_.tells_varying;
  tracer->is_body_ = true;
  tracer->builder_.set_ops_are_calls(as == TracedAs::kOpByOp && (!outer || outer->builder_.ops_are_calls()));
  tracer->builder_.set_bound(bound ? std::move(bound) : outer ? outer->builder_.bound() : nullptr);
  TracerScope scope(context, tracer);
  std::vector<Array> args;
  for (const TensorType& type : params) args.push_back(tracer->tracer_array(tracer->builder_.param(type)));
  set_weak(args, weak_params);
  std::vector<ValueId> results;
  const std::vector<Array> returned = function(args);
  tracer->types_ = {};
  for (const Array& result : returned) {
    if (!result.valid()) throw_user_error("{}: the function returned an empty Array", tracer->builder_.graph().name);
    results.push_back(tracer->value_of(result, {}));
  }
  tracer->builder_.set_results(std::move(results));
  for (const std::string& warning : tracer->builder_.warnings()) context.warn(warning);
  TracedBody body{without_dead_nodes(tracer->builder_.finish()), std::move(tracer->captured_), weak_types(returned)};
  verify(body.graph);
  return body;
}

std::vector<Array> Tracer::call(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, Where where) {
  const WeakCall weak = weak_call(op, operands, attrs, builder_.config().enable_x64);
  std::vector<Arg> args;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_array())
      args.emplace_back(as_promoted(builder_, value_of(operands[i].array(), where), weak.operands[i]));
    else
      args.emplace_back(operands[i].scalar());
  }
  std::vector<Array> results;
  for (ValueId id : builder_.call(op, args, attrs, where)) {
    results.push_back(tracer_array(id));
    set_weak(results.back(), weak.results);
  }
  return results;
}

std::vector<Array> Tracer::emit(const Graph& graph, const std::vector<Array>& args, Where where) {
  std::vector<ValueId> ids;
  for (const Array& arg : args) ids.push_back(value_of(arg, where));
  std::vector<Array> results;
  for (ValueId id : transform::emit_graph(builder_, graph, ids)) results.push_back(tracer_array(id));
  return results;
}

std::vector<Array> Tracer::parameters(std::vector<Array> args, Where where) {
  std::set<ValueId> seen;
  for (Array& arg : args)
    if (arg.valid() && arg.impl()->tracer.get() == this && !seen.insert(arg.impl()->value).second)
      arg = call(ops::kPassedAgain, {Operand(arg, where)}, {}, where).at(0);
  return args;
}

void Tracer::order_results(const std::vector<Array>& results) {
  std::vector<ValueId> ids;
  for (const Array& each : results)
    if (each.valid() && each.impl()->tracer.get() == this) ids.push_back(each.impl()->value);
  builder_.order_results(ids);
}

ValueId Tracer::value_of(const Array& array, Where where) {
  if (!array.valid()) throw_user_error("{}: an empty Array is used; give it a value first", where.text());
  const ArrayImpl& impl = *array.impl();
  if (is_body_ && impl.tracer.get() != this) {
    auto [found, is_new] = captured_values_.try_emplace(&impl, -1);
    if (is_new) {
      found->second = builder_.param(impl.type);
      captured_.push_back(array);
    }
    return found->second;
  }
  if (impl.is_tracer()) {
    if (impl.tracer.get() != this)
      throw_user_error("{}: a value traced in another function is used here; pass it as an argument or return it", where.text());
    return impl.value;
  }
  if (!array.is_fully_addressable() && !array.is_fully_replicated())
    throw_user_error(
        "Closing over jax.Array that spans non-addressable (non process local) devices is not allowed. Please pass such arrays as "
        "arguments to the function. Got: {} with {} at {}",
        impl.type.text(), impl.sharding.text(), where.text());
  auto data = std::make_shared<Buffer>(array.fetch_at(where, "captured by jit"));
  auto literal = std::make_shared<const Literal>(Literal{impl.type, data});
  const OpDef* constant = find_op("constant");
  SL_CHECK(constant != nullptr);
  const ValueId value = builder_.emit1(*constant, {}, Attrs{{"value", literal}, {ops::kCapturedCommitted, array.committed()}});
  // On Explicit axes its type says how it lies.
  const Mesh& mesh = impl.sharding.mesh();
  if (!mesh.has_explicit_axes() || is_partly_explicit(mesh)) return value;
  return builder_.emit1(ops::kShardingConstraint, {value}, Attrs{{"sharding", impl.sharding}, {"reshards", std::string(kReshard)}});
}

Array Tracer::tracer_array(ValueId value) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = builder_.type(value);
  impl->tracer = shared_from_this();
  impl->value = value;
  return Array(std::move(impl));
}

}  // namespace shardlab
