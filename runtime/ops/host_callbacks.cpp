// pure_callback, io_callback, debug_callback: functions of the user's on the host, called with the operands' values.
//
// Source: jax/_src/callback.py and debugging.py of JAX 0.10.2. Attributes: "callback" (runtime/graph/host_callback.h); "shapes" and
// "dtypes" of the results for one element of the batch; "batches", the sizes that vmap has put in front of all operands and results;
// "method", JAX's vmap_method. One that has an effect gives a bool more, which nobody reads: it stands for the effect. With "partitioned"
// each device calls with its own part, and the results are the operands.
#include "runtime/graph/host_callback.h"
#include "runtime/ops/derive.h"
#include "runtime/ops/region_types.h"

namespace shardlab::ops {
namespace {

using Integers = std::vector<std::int64_t>;
using Types = std::vector<TensorType>;

Types infer(const OpDef&, const Types& operands, const Attrs& attrs) {
  if (attrs.flag("partitioned")) return operands;
  Types results;
  const Integers& shapes = attrs.integers("shapes");
  std::size_t at = 0;
  for (const std::string& dtype : attrs.strings("dtypes")) {
    Shape shape = attrs.integers("batches");
    const auto rank = std::size_t(shapes.at(at++));
    for (std::size_t d = 0; d < rank; ++d) shape.push_back(shapes.at(at++));
    results.push_back({*dtype_from_name(dtype), shape});
  }
  if (attrs.flag("effect")) results.push_back({DType::kBool, {}});
  return results;
}

// A device that calls with its own part takes any; all others are given the whole.
FactorRule rule(const Types& operands, const Types& results, const Attrs& attrs) {
  if (!attrs.flag("partitioned")) return {};
  FactorRule each(operands, results);
  for (std::size_t i = 0; i < operands.size(); ++i)
    for (int d = 0; d < operands[i].rank(); ++d) {
      std::vector<int> dims(operands.size(), -1);
      dims[i] = d;
      each.add(operands[i].shape[std::size_t(d)], dims, dims);
    }
  return each;
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  return attrs.has("callback") ? expand_plain(b, op, args, attrs) : refuse_plain_call(b, op, args, attrs);
}

Values refuse_pure_jvp(GraphBuilder&, const JvpArgs&) {
  throw_user_error("Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while taking gradients.");
}
Values refuse_io_jvp(GraphBuilder&, const JvpArgs&) { throw_user_error("IO callbacks do not support JVP."); }

ValueId operand_of_batch(GraphBuilder& b, const Batched& x, const BatchArgs& args, std::string_view method) {
  if (x.dim != kNotBatched || method == "legacy_vectorized") return x.dim == kNotBatched ? x.value : moved_dim(b, x.value, x.dim, 0);
  if (method != "expand_dims") return batched_at(b, x, 0, args.size);
  Shape shape = b.shape(x.value);
  shape.insert(shape.begin(), 1);
  return reshaped(b, x.value, shape);
}

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  const std::string& method = args.attrs.string("method");
  if (method.empty())
    throw_user_error(
        "vmap is only supported for the pure_callback primitive when vmap_method is one of 'sequential', 'sequential_unrolled', "
        "'expand_dims', 'broadcast_all', or 'legacy_vectorized'. Got vmap_method=None.");
  if (args.attrs.flag("ordered") && !args.attrs.strings("dtypes").empty()) throw_user_error("Cannot `vmap` ordered IO callback.");
  Values operands;
  for (const Batched& x : args.operands) operands.push_back(operand_of_batch(b, x, args, method));
  Integers batches = args.attrs.integers("batches");
  batches.insert(batches.begin(), args.size);
  Attrs attrs = args.attrs;
  std::vector<Batched> results;
  for (ValueId id : b.emit(args.op, operands, attrs.set("batches", batches))) results.push_back({id, 0});
  const bool has_token = attrs.flag("effect") && !attrs.flag("partitioned");
  if (has_token) results.back().dim = kNotBatched;
  return results;
}

constexpr OpDef callback_op(std::string_view name, std::string_view doc, JvpRule jvp) {
  return {.name = name,
          .doc = doc,
          .operands_min = 0,
          .operands_max = -1,
          .weakness = Weakness::kNever,
          .expand = expand,
          .infer = infer,
          .rule = rule,
          .member = true,
          .jvp = jvp,
          .batch = batch};
}

}  // namespace

const OpDef kPureCallback = callback_op("pure_callback", "The results of a function on the host, which has no effect.", refuse_pure_jvp);
const OpDef kIoCallback = callback_op("io_callback", "The results of a function on the host, which may have effects.", refuse_io_jvp);
const OpDef kDebugCallback = callback_op("debug_callback", "Calls a function on the host with the operands.", zero_jvp);

}  // namespace shardlab::ops
