#include "scenarios/document/validate.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/exec/assemble.h"
#include "runtime/exec/device_profile.h"
#include "runtime/exec/shard_map_specs.h"
#include "runtime/graph/builder.h"
#include "runtime/ops/registry.h"
#include "scenarios/document/function_statements.h"

namespace shardlab::scenarios {
namespace {

using Types = std::map<std::string, TensorType>;

// Evaluates one process's way through the program.
class TypeChecker {
 public:
  TypeChecker(const Document& document, const ValidateOptions& options, int process)
      : document_(document), options_(options), process_(process), evaluations_left_(options.evaluations_max) {}

  void run() {
    Types names;
    body(document_.program, names);
  }

 private:
  void body(const Body& statements, Types& names) {
    for (const Statement& statement : statements)
      if (statement.runs_on(process_)) run_statement(statement, names);
  }

  void run_statement(const Statement& statement, Types& names) {
    if (--evaluations_left_ < 0)
      throw DocumentError(statement.pointer, fmt::format("the program is longer than {} statements", options_.evaluations_max));
    if (const auto* repeat = std::get_if<RepeatStep>(&statement.step)) {
      loop(*repeat, names);
      return;
    }
    if (const auto* issuer = std::get_if<IssuerStep>(&statement.step)) {
      issuers_.insert(issuer->name);
      return body(issuer->body, names);
    }
    if (const auto* wait = std::get_if<WaitStep>(&statement.step))
      for (const std::string& name : wait->names)
        if (!issuers_.contains(name) && !names.contains(name))
          throw DocumentError(statement.pointer + "/args",
                              fmt::format("'{}' is no value that was started, and no issuer that has begun", name));
    if (const auto* made = std::get_if<ProcessDataStep>(&statement.step)) {
      TensorType own = type_of(made->of(process_), names);
      return bind(statement, in_program(statement, [&] { return process_data(*made, own); }), names);
    }
    std::vector<TensorType> args;
    for (const Argument& argument : statement.args) args.push_back(type_of(argument, names));
    std::vector<TensorType> results = std::visit(
        [&](const auto& step) { return in_program(statement, [&] { return evaluate(statement, step, args); }); }, statement.step);
    bind(statement, std::move(results), names);
  }

  // Types settle after a few iterations in all but contrived loops; those run into the bound on statements.
  void loop(const RepeatStep& repeat, Types& names) {
    for (std::int64_t i = 0; i < repeat.count; ++i) {
      Types before = names;
      body(repeat.body, names);
      if (names == before) return;
    }
  }

  void bind(const Statement& statement, std::vector<TensorType> results, Types& names) {
    if (statement.let.empty()) return;
    if (statement.let.size() != results.size())
      throw DocumentError(statement.pointer + "/let",
                          fmt::format("{} names for {} results of '{}'", statement.let.size(), results.size(), statement.op));
    for (std::size_t i = 0; i < results.size(); ++i) names.insert_or_assign(statement.let[i], std::move(results[i]));
  }

  TensorType type_of(const Argument& argument, const Types& names) const {
    if (const auto* literal = std::get_if<Literal>(&argument.value)) return literal->type;
    if (const auto* scalar = std::get_if<Scalar>(&argument.value)) return {default_dtype(scalar->kind(), document_.config.enable_x64), {}};
    const auto& name = std::get<std::string>(argument.value);
    auto found = names.find(name);
    if (found != names.end()) return found->second;
    std::vector<std::string_view> known;
    for (const auto& [each, type] : names) known.push_back(each);
    std::string why = calls_.empty() ? "" : fmt::format("; the body of '{}' sees its parameters only", calls_.back());
    if (document_.cluster.processes > 1) why += fmt::format(" (on process {})", process_);
    throw DocumentError(argument.pointer, fmt::format("'{}' is used before it is bound{}{}", name, why, did_you_mean(name, known)));
  }

  // Errors of ops, calls and placements are the program's own.
  template <typename F>
  auto in_program(const Statement& statement, F&& evaluate_step) -> decltype(evaluate_step()) {
    try {
      return evaluate_step();
    } catch (const DocumentError&) { throw; } catch (const UserError& error) {
      throw ProgramError(statement.pointer, error.what());
    }
  }

  // ---- the steps

  std::vector<TensorType> evaluate(const Statement& statement, const OpStep& step, const std::vector<TensorType>& types) {
    GraphBuilder builder("main", document_.config);
    builder.set_bound(bound_);
    std::vector<Arg> args;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto* scalar = std::get_if<Scalar>(&statement.args[i].value);
      args.push_back(scalar ? Arg(*scalar) : Arg(builder.param(types[i])));
    }
    std::vector<ValueId> ids = builder.call(*step.op, args, step.attrs, Where{});
    for (const Value& value : builder.graph().values) check_size(statement, value.type);
    std::vector<TensorType> results = builder.graph().types(ids);
    if (step.sharding)
      for (const TensorType& type : results) step.sharding->check_fits(type, fmt::format("{} outputs", statement.op));
    return results;
  }

  std::vector<TensorType> evaluate(const Statement& statement, const ConstantStep& step, const std::vector<TensorType>&) {
    if (step.sharding) step.sharding->check_fits(step.value.type, fmt::format("{} outputs", statement.op));
    return {step.value.type};
  }

  std::vector<TensorType> evaluate(const Statement& statement, const PlaceStep& step, const std::vector<TensorType>& types) {
    const bool is_inner_constraint = statement.op == "with_sharding_constraint" && !calls_.empty();  // cut unevenly, as JAX pads
    const std::string what = fmt::format("{} arguments", statement.op);
    if (step.has_open_dimensions && step.sharding.mesh().is_explicit())
      throw_user_error("{} cannot contain `P.UNCONSTRAINED` when no mesh axis_types are `Auto`. Got mesh {}", step.spec.text(),
                       step.sharding.mesh().text());
    step.sharding.check_rank(types.at(0).rank(), what);
    if (!is_inner_constraint) step.sharding.check_divisible(types.at(0), what);
    return types;
  }

  std::vector<TensorType> evaluate(const Statement&, const ReadStep& step, std::vector<TensorType> types) {
    const std::int64_t processes = document_.cluster.processes;
    Shape& shape = types.at(0).shape;
    if (step.tiled.value_or(false) && !shape.empty())
      shape[0] *= processes;
    else if (step.tiled || (step.gather && processes == 1))
      shape.insert(shape.begin(), processes);
    return types;
  }

  std::vector<TensorType> evaluate(const Statement& statement, const CallStep& step, const std::vector<TensorType>& types) {
    check_shardings(step.in_shardings, types, "pjit arguments");
    std::vector<TensorType> results = results_of(statement, step.function, types, in_jit_ || step.jit);
    check_shardings(step.out_shardings, results, "pjit outputs");
    return results;
  }

  // A gradient has its argument's type.
  std::vector<TensorType> evaluate(const Statement& statement, const GradStep& step, const std::vector<TensorType>& types) {
    std::vector<TensorType> value = evaluate(statement, CallStep{step.function, false, {}, {}}, types), results;
    if (step.with_value) results = value;
    for (int argnum : step.argnums) results.push_back(types.at(std::size_t(argnum)));
    return results;
  }

  std::vector<TensorType> evaluate(const Statement&, const RepeatStep&, const std::vector<TensorType>&) { return {}; }
  std::vector<TensorType> evaluate(const Statement&, const IssuerStep&, const std::vector<TensorType>&) { return {}; }
  std::vector<TensorType> evaluate(const Statement&, const WaitStep&, const std::vector<TensorType>&) { return {}; }
  std::vector<TensorType> evaluate(const Statement& statement, const BarrierStep& step, const std::vector<TensorType>&) {
    no_function(statement);
    const auto& some = step.processes;
    if (!some.empty() && !std::binary_search(some.begin(), some.end(), process_))
      throw DocumentError(statement.pointer,
                          fmt::format("process {} comes to a barrier of the processes {} alone", process_, fmt::join(some, ", ")));
    if (step.waits) return {};
    return {{DType::kInt32, {some.empty() ? std::int64_t(document_.cluster.processes) : std::int64_t(some.size())}}};
  }
  std::vector<TensorType> evaluate(const Statement& statement, const BroadcastStep&, const std::vector<TensorType>& types) {
    no_function(statement);
    return types;
  }
  std::vector<TensorType> evaluate(const Statement& statement, const AssertEqualStep&, const std::vector<TensorType>&) {
    no_function(statement);
    return {};
  }
  std::vector<TensorType> evaluate(const Statement&, const ProcessDataStep&, const std::vector<TensorType>&) { return {}; }
  std::vector<TensorType> process_data(const ProcessDataStep& step, const TensorType& own) const {
    const Cluster& cluster = document_.cluster;
    std::vector<Device> devices = all_devices();
    DeviceOwners owners{[&](int ordinal) { return devices[std::size_t(ordinal)].process_index; }, cluster.processes};
    return {{own.dtype, shape_of_process_data(step.sharding, own.shape, step.global_shape, owners, Where{})}};
  }
  std::vector<TensorType> evaluate(const Statement& statement, const DeviceDataStep& step, const std::vector<TensorType>& types) {
    no_function(statement);
    if (!step.dtype && types.empty())
      throw_user_error(
          "If the Array has no addressable shards, `dtype` must be provided via the `dtype` argument to "
          "`jax.make_array_from_single_device_arrays`.");
    TensorType type{step.dtype ? *step.dtype : types[0].dtype, step.shape};
    step.sharding.check_divisible(type, "make_array_from_single_device_arrays arguments");
    return {type};
  }
  std::vector<TensorType> evaluate(const Statement& statement, const CallbackStep& step, const std::vector<TensorType>&) {
    no_function(statement);
    step.sharding.check_divisible({DType::kFloat32, step.shape}, "make_array_from_callback arguments");
    TensorType part = results_of(statement, step.function, std::vector<TensorType>(step.shape.size(), {DType::kInt32, {}})).at(0);
    Shape wanted = shape_of(step.sharding.boxes(step.shape).at(0));
    if (part.shape != wanted)
      throw_user_error("Expected shard shape {} doesn't match the single device array shape {}. Shape of Array is {} with sharding {}",
                       text_of(wanted), text_of(part.shape), TensorType{part.dtype, step.shape}.text(), step.sharding.text());
    if (step.dtype && *step.dtype != part.dtype)
      throw_user_error("Input buffers to `Array` must have matching dtypes. Got {}, expected {}", name_of(part.dtype),
                       name_of(*step.dtype));
    std::vector<Device> devices = all_devices();
    const auto& ordinals = step.sharding.mesh().devices();
    if (!step.dtype &&
        std::none_of(ordinals.begin(), ordinals.end(), [&](int d) { return devices.at(std::size_t(d)).process_index == process_; }))
      throw_user_error(
          "If the Array has no addressable shards, `dtype` must be provided via the `dtype` argument to `jax.make_array_from_callback`.");
    return {{part.dtype, step.shape}};
  }
  std::vector<TensorType> evaluate(const Statement& statement, const SendStep& step, const std::vector<TensorType>&) {
    check_peer(statement, step.peer);
    return {};
  }
  std::vector<TensorType> evaluate(const Statement& statement, const ReceiveStep& step, const std::vector<TensorType>&) {
    check_peer(statement, step.peer);
    return {step.type};
  }

  std::vector<Device> all_devices() const {
    const Cluster& cluster = document_.cluster;
    const DeviceProfile& profile = find_device_profile(cluster.profile.empty() ? "cpu" : cluster.profile);
    return make_devices(profile, std::vector<int>(std::size_t(cluster.processes), cluster.devices));
  }
  void check_peer(const Statement& statement, int peer) const {
    no_function(statement);
    if (peer == process_) throw DocumentError(statement.pointer + "/peer", fmt::format("process {} is its own peer", process_));
  }
  // Processes talk between programs, not in them.
  void no_function(const Statement& statement) const {
    if (!calls_.empty() && in_jit_) throw DocumentError(statement.pointer, fmt::format("'{}' inside a jitted function", statement.op));
  }

  // ---- statements with functions in them: the functions' types, and the shape rule of the node that they become

  using TypeList = std::vector<TensorType>;

  TypeList results_of(const Statement& statement, const std::string& name, const TypeList& types, bool in_jit = true) {
    const Function& function = document_.functions.at(name);
    if (std::find(calls_.begin(), calls_.end(), function.name) != calls_.end())
      throw DocumentError(statement.pointer, fmt::format("'{}' calls itself", function.name));
    Types names;
    for (std::size_t i = 0; i < types.size(); ++i) names.emplace(function.params.at(i), types[i]);
    calls_.push_back(function.name);
    bool outer = std::exchange(in_jit_, in_jit);
    body(function.body, names);
    in_jit_ = outer;
    TypeList results;
    for (std::size_t i = 0; i < function.results.size(); ++i)
      results.push_back(type_of({function.results[i], fmt::format("{}/results/{}", function.pointer, i)}, names));
    calls_.pop_back();
    return results;
  }

  // A body of which only the types are known.
  GraphRef outline(const Statement& statement, const std::string& name, const TypeList& types) {
    Graph graph;
    graph.name = name;
    auto add = [&](const TensorType& type, int index) {
      graph.values.push_back({type, -1, index});
      return ValueId(graph.values.size() - 1);
    };
    for (std::size_t i = 0; i < types.size(); ++i) graph.params.push_back(add(types[i], int(i)));
    for (const TensorType& type : results_of(statement, name, types)) graph.results.push_back(add(type, 0));
    return std::make_shared<const Graph>(std::move(graph));
  }

  std::vector<BatchAxis> batches() const { return bound_ ? bound_->batches : std::vector<BatchAxis>(); }

  TypeList inferred(std::string_view name, const TypeList& types, const Attrs& attrs) {
    const OpDef* op = find_op(name);
    SL_CHECK(op != nullptr);
    return op->infer(*op, types, attrs);
  }

  TypeList evaluate(const Statement& statement, const ShardMapStep& step, const TypeList& types) {
    std::vector<Sharding> in, out;
    TypeList local = types;
    for (std::size_t i = 0; i < types.size(); ++i) {
      in.emplace_back(step.mesh, step.in_specs[i]);
      check_map_rank(step.function, step.in_specs[i], types[i], i, true);
      local[i] = mapped_part(step.function, step.mesh, step.in_specs[i], types[i], i);
    }
    for (const PartitionSpec& spec : step.out_specs) out.emplace_back(step.mesh, spec);
    auto outer = std::exchange(bound_, std::make_shared<const BoundAxes>(BoundAxes{step.mesh, step.axis_names, batches()}));
    GraphRef graph = outline(statement, step.function, local);
    bound_ = outer;
    for (std::size_t i = 0; i < step.out_specs.size() && i < graph->results.size(); ++i)
      check_map_rank(step.function, step.out_specs[i], graph->type(graph->results[i]), i, false);
    return inferred("shard_map", types,
                    Attrs{{"bodies", Bodies{graph}}, {"in_specs", in}, {"out_specs", out}, {"axis_names", step.axis_names}});
  }

  TypeList evaluate(const Statement& statement, const FunctionStep& step, const TypeList& types) {
    auto of_function = [&](const TypeList& args, const BatchAxis* axis) {
      auto outer = bound_;
      if (axis != nullptr) {
        BoundAxes bound = bound_ ? *bound_ : BoundAxes{};
        bound.batches.push_back(*axis);
        bound_ = std::make_shared<const BoundAxes>(std::move(bound));
      }
      TypeList found = results_of(statement, step.statement->function(), args);
      bound_ = outer;
      return found;
    };
    return step.statement->results(types, of_function);
  }

  TypeList evaluate(const Statement& statement, const CustomPartitioningStep& step, const TypeList& types) {
    Attrs attrs = step.rule;
    attrs.set("bodies", Bodies{outline(statement, step.function, types)});
    return inferred("custom_partitioning", types, attrs);
  }

  TypeList evaluate(const Statement& statement, const CondStep& step, TypeList types) {
    TypeList operands(types.begin() + 1, types.end());
    Bodies bodies;
    for (const std::string& name : step.functions) bodies.push_back(outline(statement, name, operands));
    types[0].dtype = DType::kInt32;
    return inferred("cond", types, Attrs{{"bodies", bodies}});
  }

  TypeList evaluate(const Statement& statement, const WhileStep& step, const TypeList& types) {
    Bodies bodies{outline(statement, step.condition, types), outline(statement, step.body, types)};
    return inferred("while_loop", types, Attrs{{"bodies", bodies}, {"num_consts", step.consts}});
  }

  TypeList evaluate(const Statement& statement, const ScanStep& step, const TypeList& types) {
    TypeList params = types;
    std::int64_t length = step.length;
    for (std::size_t i = std::size_t(step.consts + step.carry); i < types.size(); ++i) {
      if (types[i].shape.empty()) throw_user_error("scan got value with no leading axis to scan over: {}", types[i].text());
      if (length < 0) length = types[i].shape[0];
      params[i].shape.erase(params[i].shape.begin());
    }
    Attrs attrs{{"bodies", Bodies{outline(statement, step.function, params)}},
                {"length", length},
                {"num_carry", step.carry},
                {"num_consts", step.consts}};
    return inferred("scan", types, attrs);
  }

  void check_shardings(const std::vector<std::optional<Sharding>>& shardings, const std::vector<TensorType>& types, std::string_view what) {
    for (std::size_t i = 0; i < shardings.size(); ++i)
      if (shardings[i]) shardings[i]->check_fits(types[i], what);
  }

  void check_size(const Statement& statement, const TensorType& type) const {
    double bytes = double(size_of(type.dtype));
    for (std::int64_t extent : type.shape) bytes *= double(extent);
    if (bytes > double(options_.array_bytes_max) || bytes < 0)
      throw DocumentError(statement.pointer, fmt::format("'{}' makes an array of shape {}, more than {} MiB", statement.op,
                                                         text_of(type.shape), options_.array_bytes_max >> 20));
  }

  const Document& document_;
  const ValidateOptions& options_;
  int process_;
  std::int64_t evaluations_left_;
  std::vector<std::string> calls_;          // the functions being evaluated, outermost first
  std::shared_ptr<const BoundAxes> bound_;  // inside shard_map and vmap
  std::set<std::string> issuers_;           // begun
  bool in_jit_ = false;
};

}  // namespace

void validate(const Document& document, const ValidateOptions& options) {
  std::vector<int> first = first_of_kind(document);
  std::optional<ProgramError> error;
  bool alike = true;
  for (int process = 0; process < document.cluster.processes; ++process) {
    if (first[std::size_t(process)] != process) continue;
    std::optional<ProgramError> own;
    try {
      TypeChecker(document, options, process).run();
    } catch (const ProgramError& thrown) { own = thrown; }
    if (process == 0)
      error = std::move(own);
    else if (own.has_value() != error.has_value() || (own && std::string_view(own->what()) != error->what())) {
      alike = false;
      if (own) error = std::move(own);
    }
  }
  // Some processes alone end in an error, or each in its own: where the document wants a verdict on that, it is run for it.
  const auto* diagnosis = document.find_check<DiagnosisCheck>();
  bool wants_verdict = diagnosis && diagnosis->code;
  if (error && (alike || !wants_verdict)) throw ProgramError(*error);
}

}  // namespace shardlab::scenarios
