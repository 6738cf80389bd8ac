#include "runtime/exec/tracing.h"

#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/ops/registry.h"

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
                    const std::function<std::vector<Array>(const std::vector<Array>&)>& function) {
  auto tracer = std::make_shared<Tracer>(context, std::move(name), std::move(mesh));
  TracerScope scope(context, tracer);
  std::vector<Array> args;
  for (const TensorType& type : params) args.push_back(tracer->tracer_array(tracer->builder_.param(type)));
  std::vector<ValueId> results;
  for (const Array& result : function(args)) {
    if (!result.valid()) throw_user_error("jit of {}: the function returned an empty Array", tracer->builder_.graph().name);
    results.push_back(tracer->value_of(result, {}));
  }
  tracer->builder_.set_results(std::move(results));
  for (const std::string& warning : tracer->builder_.warnings()) context.warn(warning);
  Graph graph = without_dead_nodes(tracer->builder_.finish());
  verify(graph);
  return graph;
}

std::vector<Array> Tracer::call(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, Where where) {
  std::vector<Arg> args;
  for (const Operand& operand : operands) {
    if (operand.is_array())
      args.emplace_back(value_of(operand.array(), where));
    else
      args.emplace_back(operand.scalar());
  }
  std::vector<Array> results;
  for (ValueId id : builder_.call(op, args, attrs, where)) results.push_back(tracer_array(id));
  return results;
}

ValueId Tracer::value_of(const Array& array, Where where) {
  if (!array.valid()) throw_user_error("{}: an empty Array is used; give it a value first", where.text());
  const ArrayImpl& impl = *array.impl();
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
  return builder_.emit1(*constant, {}, Attrs{{"value", literal}});
}

Array Tracer::tracer_array(ValueId value) {
  auto impl = std::make_shared<ArrayImpl>();
  impl->type = builder_.type(value);
  impl->tracer = shared_from_this();
  impl->value = value;
  return Array(std::move(impl));
}

}  // namespace shardlab
