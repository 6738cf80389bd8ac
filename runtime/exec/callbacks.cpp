#include "runtime/exec/callbacks.h"

#include <fmt/ranges.h>

#include <iostream>

#include "runtime/base/at_place.h"
#include "runtime/base/text.h"
#include "runtime/exec/array_impl.h"
#include "runtime/exec/context.h"
#include "runtime/exec/executor.h"
#include "runtime/exec/program_cache.h"
#include "runtime/exec/python_format.h"
#include "runtime/graph/host_callback.h"
#include "runtime/ops/region_types.h"

namespace shardlab {
namespace {

HostCallback of_literals(HostFunction function) {
  return [function = std::move(function)](const std::vector<Literal>& operands) {
    const HostArrays results = function(HostArrays(operands.begin(), operands.end()));
    std::vector<Literal> values;
    for (const HostArray& each : results) values.push_back(each.values());
    return values;
  };
}

Attrs with_results(Attrs attrs, const std::vector<TensorType>& results, std::string_view method, Where where) {
  std::vector<std::int64_t> shapes;
  std::vector<std::string> dtypes;
  for (const TensorType& type : results) {
    if (canonical(type.dtype, Context::current().config().enable_x64) != type.dtype)
      throw_user_error("result_shape_dtypes cannot specify 64-bit types when `jax_enable_x64` is disabled: got {} [{}]", type.text(),
                       where.text());
    shapes.push_back(type.rank());
    shapes.insert(shapes.end(), type.shape.begin(), type.shape.end());
    dtypes.emplace_back(name_of(type.dtype));
  }
  return attrs.set("shapes", shapes)
      .set("dtypes", dtypes)
      .set("batches", std::vector<std::int64_t>{})
      .set("method", std::string(method))
      .set("axis_name", std::vector<std::string>{});
}

// Calls it; what one fails with that has run already is thrown here, as an op's own error is.
std::vector<Array> called(const OpDef& op, const std::vector<Operand>& operands, const Attrs& attrs, Where where) {
  std::vector<Array> results = apply(op, operands, attrs, where);
  for (Array& result : results) {
    const auto& launch = result.impl()->launch;
    if (!launch) continue;
    launch->use();  // what it is for is not its results
    if (launch->finished() && launch->failure()) result.wait_at(where, op.name);
  }
  if (attrs.flag("effect") && !attrs.flag("partitioned")) results.pop_back();
  return results;
}

// One that does what none before did, as far as anybody knows.
Attrs new_callback(HostFunction function, Where where) {
  return callback_attrs(of_literals(std::move(function)), where, Context::current().programs().next_function_at(where.text()));
}

void call_for_debugging(const Attrs& callback, const std::vector<Operand>& operands, const DebugOptions& options, Where where) {
  Attrs attrs = with_results(callback, {}, "sequential", where);
  attrs.set("effect", true).set("ordered", options.ordered).set("partitioned", options.partitioned);
  called(ops::kDebugCallback, operands, attrs, where);
}

}  // namespace

std::vector<Array> pure_callback(HostFunction function, const std::vector<TensorType>& results, const std::vector<Operand>& operands,
                                 const PureCallbackOptions& options, std::source_location line) {
  static constexpr std::string_view kMethods[] = {
      "", "sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"};
  const Where where = Where::from(line);
  if (std::find(std::begin(kMethods), std::end(kMethods), options.vmap_method) == std::end(kMethods))
    throw_user_error(
        "vmap_method must be on of the allowed methods ['sequential', 'sequential_unrolled', 'expand_dims', 'broadcast_all', "
        "'legacy_vectorized', None], but got: {} [{}]",
        options.vmap_method, where.text());
  if (results.empty()) return {};
  const Attrs attrs = with_results(new_callback(std::move(function), where), results, options.vmap_method, where);
  return called(ops::kPureCallback, operands, attrs, where);
}

std::vector<Array> io_callback(HostFunction function, const std::vector<TensorType>& results, const std::vector<Operand>& operands,
                               const IoCallbackOptions& options, std::source_location line) {
  const Where where = Where::from(line);
  Attrs attrs = with_results(new_callback(std::move(function), where), results, "sequential", where);
  attrs.set("effect", true).set("ordered", options.ordered);
  return called(ops::kIoCallback, operands, attrs, where);
}

void effects_barrier() { Context::current().executor().drain(); }

namespace debug {

void callback(std::function<void(const HostArrays&)> function, const std::vector<Operand>& operands, const DebugOptions& options,
              std::source_location line) {
  HostFunction call = [function = std::move(function)](const HostArrays& args) {
    function(args);
    return HostArrays();
  };
  const Where where = Where::from(line);
  call_for_debugging(new_callback(std::move(call), where), operands, options, where);
}

void print_args(const PrintFormat& format, const std::vector<PrintArg>& args, const DebugOptions& options) {
  std::vector<std::string> names;
  std::vector<PythonFormat::Named> known;
  std::vector<Operand> operands;
  for (const PrintArg& arg : args) names.push_back(arg.name);
  at_place(format.where, [&] {
    const PythonFormat parsed(format.text);
    std::vector<std::string> left;
    for (std::size_t i : parsed.unused(names)) {
      const auto* operand = std::get_if<Operand>(&args[i].value);
      const std::string what = operand == nullptr    ? fmt::format("'{}'", std::get<std::string>(args[i].value))
                               : operand->is_array() ? operand->array().type().text()
                                                     : "a number";
      left.push_back(names[i].empty() ? what : fmt::format("'{}': {}", names[i], what));
    }
    if (!left.empty())
      throw_user_error("Unused {} arguments to `jax.debug.print`: [{}]", names[parsed.unused(names)[0]].empty() ? "positional" : "keyword",
                       fmt::join(left, ", "));
  });
  // Values that are known are kept, the others come with each call, in their order.
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (const auto* operand = std::get_if<Operand>(&args[i].value)) {
      operands.push_back(*operand);
      places.push_back(i);
      known.push_back({args[i].name, std::string()});
    } else {
      known.push_back({args[i].name, std::get<std::string>(args[i].value)});
    }
  }
  std::string identity(format.text);
  for (const auto& each : known) identity += fmt::format("\n{}={}", each.name, std::get<std::string>(each.value));
  HostFunction call = [parsed = PythonFormat(format.text), known, places](const HostArrays& values) {
    std::vector<PythonFormat::Named> all = known;
    for (std::size_t i = 0; i < places.size(); ++i) all[places[i]].value = values[i];
    std::cout << parsed.apply(all) << std::endl;
    return HostArrays();
  };
  call_for_debugging(callback_attrs(of_literals(std::move(call)), format.where, hash_bytes(identity)), operands, options, format.where);
}

}  // namespace debug
}  // namespace shardlab
