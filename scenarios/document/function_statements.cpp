#include "scenarios/document/function_statements.h"

#include "runtime/base/text.h"
#include "runtime/exec/auto_axes.h"
#include "runtime/exec/custom_derivatives.h"
#include "runtime/exec/transformed.h"
#include "runtime/exec/vmap_axes.h"
#include "scenarios/document/region_statements.h"
#include "scenarios/document/values.h"

namespace shardlab::scenarios {
namespace {

using Axes = std::vector<std::optional<int>>;

template <typename T>
Step step_of(T statement) {
  return FunctionStep{std::make_shared<const T>(std::move(statement))};
}

// A name or a list of names, each once.
std::vector<std::string> read_axis_names(const Node& node) {
  std::vector<std::string> names = node.is_string() ? std::vector<std::string>{node.string()} : node.strings();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].empty() || std::count(names.begin(), names.end(), names[i]) > 1) node.wanted("distinct names of axes");
  if (names.empty()) node.wanted("one axis at least");
  return names;
}

// ---- vmap

constexpr int kAxisMax = 64;

std::optional<int> read_axis(const Node& node) {
  return node.is_null() ? std::nullopt : std::optional(int(node.integer(-kAxisMax, kAxisMax)));
}

// One axis for all, or a list with one for each of `count`.
Axes read_axes(const Node& statement, std::string_view key, std::size_t count, std::string_view what) {
  auto node = statement.find(key);
  if (!node) return {0};
  if (!node->is_list()) return {read_axis(*node)};
  Axes axes;
  for (const Node& item : node->items()) axes.push_back(read_axis(item));
  if (axes.size() != count) node->fail(fmt::format("{} axes for {} {}", axes.size(), count, what));
  return axes;
}

class Vmap final : public FunctionStatement {
 public:
  Vmap(const Node& statement, const Function& function) : FunctionStatement(function.name) {
    options_.name = function.name;
    options_.in_axes = read_axes(statement, "in_axes", function.params.size(), "arguments");
    options_.out_axes = read_axes(statement, "out_axes", function.results.size(), "results");
    if (auto name = statement.find("axis_name"); name && name->string().empty()) name->fail("a name is empty");
    if (auto name = statement.find("axis_name")) options_.axis.name = name->string();
    if (auto size = statement.find("axis_size")) options_.axis.size = size->integer(0);
    if (auto axes = statement.find("spmd_axis_name")) options_.axis.mesh_axes = read_axis_names(*axes);
  }

  Types results(const Types& args, const TypesOf& of_function) const override {
    const MappedArguments mapped = mapped_arguments(args, options_);
    BatchAxis axis = options_.axis;
    axis.size = mapped.size;
    Types types = of_function(mapped.elements, axis.name.empty() ? nullptr : &axis);
    const std::vector<int> dims = mapped_results(types, {}, {}, options_);
    for (std::size_t i = 0; i < types.size(); ++i)
      if (dims[i] != kNotBatched) types[i].shape.insert(types[i].shape.begin() + dims[i], mapped.size);
    return types;
  }

  std::vector<Array> run(const ArrayFunction& function, const std::vector<Array>& args, Where where) const override {
    BatchOptions options = options_;
    options.where = where;
    return batched([&](const std::vector<Array>& leaves) { return TreeResults(function(leaves)); }, args, options);
  }

 private:
  BatchOptions options_;
};

Step read_vmap(const Node& statement, const Document& document) { return step_of(Vmap(statement, called_function(statement, document))); }

// ---- checkpoint

class Checkpoint final : public FunctionStatement {
 public:
  Checkpoint(const Node& statement, const Function& function) : FunctionStatement(function.name) {
    auto policy = statement.find("policy"), names = statement.find("names");
    if (policy) options_.policy.name = policy->string();
    static constexpr std::string_view kPolicies[] = {"nothing_saveable", "everything_saveable", "dots_saveable",
                                                     "dots_with_no_batch_dims_saveable", "save_only_these_names"};
    if (policy && std::find(std::begin(kPolicies), std::end(kPolicies), options_.policy.name) == std::end(kPolicies))
      policy->fail(fmt::format("unknown policy '{}'{}", options_.policy.name,
                               did_you_mean(options_.policy.name, {std::begin(kPolicies), std::end(kPolicies)})));
    const bool takes_names = options_.policy.name == "save_only_these_names";
    if (takes_names && !names) statement.fail("the policy 'save_only_these_names' needs \"names\"");
    if (names && !takes_names) names->fail("only the policy 'save_only_these_names' has names");
    if (names) options_.policy.names = names->strings();
    options_.name = function.name;
  }

  std::vector<Array> run(const ArrayFunction& function, const std::vector<Array>& args, Where where) const override {
    return checkpoint(function, options_, args, where);
  }

 private:
  CheckpointOptions options_;
};

Step read_checkpoint(const Node& statement, const Document& document) {
  return step_of(Checkpoint(statement, called_function(statement, document)));
}

// ---- jvp, vjp

TransformOptions of_all(const std::string& name, const std::vector<Array>& args, Where where) {
  return {name, std::vector<bool>(args.size(), true), where};
}

std::vector<Array> joined(std::vector<Array> first, const std::vector<Array>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The arguments, then a tangent for each; the results, then theirs.
class Jvp final : public FunctionStatement {
 public:
  explicit Jvp(const Function& function) : FunctionStatement(function.name), count_(function.params.size()) {}

  Types results(const Types& args, const TypesOf& of_function) const override {
    const Types of_results = of_function({args.begin(), args.begin() + std::ptrdiff_t(count_)}, nullptr);
    Types types = of_results;
    types.insert(types.end(), of_results.begin(), of_results.end());
    return types;
  }
  std::vector<Array> run(const ArrayFunction& function, const std::vector<Array>& args, Where where) const override {
    const std::vector<Array> primals(args.begin(), args.begin() + std::ptrdiff_t(count_));
    const WithTangents found =
        jvp_of(function, primals, {args.begin() + std::ptrdiff_t(count_), args.end()}, of_all(this->function(), primals, where));
    return joined(found.results, found.tangents);
  }

 private:
  std::size_t count_;
};

// The arguments, then a cotangent for each result; the results, then a gradient for each argument.
class Vjp final : public FunctionStatement {
 public:
  explicit Vjp(const Function& function) : FunctionStatement(function.name), count_(function.params.size()) {}

  Types results(const Types& args, const TypesOf& of_function) const override {
    const Types primals(args.begin(), args.begin() + std::ptrdiff_t(count_));
    Types types = of_function(primals, nullptr);
    types.insert(types.end(), primals.begin(), primals.end());
    return types;
  }
  std::vector<Array> run(const ArrayFunction& function, const std::vector<Array>& args, Where where) const override {
    const std::vector<Array> primals(args.begin(), args.begin() + std::ptrdiff_t(count_));
    const Differential found = differential_of(function, primals, of_all(this->function(), primals, where));
    return joined(found.results, found.pull({args.begin() + std::ptrdiff_t(count_), args.end()}));
  }

 private:
  std::size_t count_;
};

// The function, for whose parameters the statement has arguments, and tangents or cotangents after them.
const Function& derived_function(const Node& statement, const Document& document, bool of_results) {
  const Function& function = function_at(statement.at("fn"), document);
  const std::size_t given = statement.find("args") ? statement.at("args").size() : 0, own = function.params.size(),
                    more = of_results ? function.results.size() : own;
  if (given != own + more)
    statement.at("fn").fail(fmt::format("'{}' has {} parameters and {} results: wanted {} arguments and {} {}, got {} in all",
                                        function.name, own, function.results.size(), own, more, of_results ? "cotangents" : "tangents",
                                        given));
  return function;
}
Step read_jvp(const Node& statement, const Document& document) { return step_of(Jvp(derived_function(statement, document, false))); }
Step read_vjp(const Node& statement, const Document& document) { return step_of(Vjp(derived_function(statement, document, true))); }

// ---- auto_axes, explicit_axes

// One spec for all, or a list with one for each of `count`; on the mesh that the statement names, so that unknown axes are found here.
std::vector<PartitionSpec> read_types(const Node& statement, std::string_view key, const Document& document, std::size_t count,
                                      std::string_view what) {
  const Mesh& mesh = mesh_of(statement, document);
  std::vector<PartitionSpec> specs;
  const Node list = statement.at(key);
  for (const Node& item : list.items()) {
    specs.push_back(read_spec(item));
    at_node(item, [&] { return Sharding(mesh, specs.back()); });
  }
  if (specs.size() != count) list.fail(fmt::format("{} specs for {} {}", specs.size(), count, what));
  return specs;
}

std::vector<std::string> read_changed_axes(const Node& statement, const Document& document) {
  auto node = statement.find("axes");
  if (!node) return {};
  std::vector<std::string> names = read_axis_names(*node);
  for (const std::string& name : names)
    if (!mesh_of(statement, document).axis_index(name)) node->fail(fmt::format("the mesh has no axis '{}'", name));
  return names;
}

class AutoAxes final : public FunctionStatement {
 public:
  AutoAxes(const Node& statement, const Document& document, const Function& function)
      : FunctionStatement(function.name),
        options_{read_types(statement, "out_sharding", document, function.results.size(), "results"),
                 read_changed_axes(statement, document)} {}
  std::vector<Array> run(const ArrayFunction& function, const std::vector<Array>& args, Where where) const override {
    return auto_axes(function, options_, args, where);
  }

 private:
  AutoAxesOptions options_;
};

class ExplicitAxes final : public FunctionStatement {
 public:
  ExplicitAxes(const Node& statement, const Document& document, const Function& function)
      : FunctionStatement(function.name),
        options_{read_types(statement, "in_sharding", document, function.params.size(), "arguments"),
                 read_changed_axes(statement, document)} {}
  std::vector<Array> run(const ArrayFunction& function, const std::vector<Array>& args, Where where) const override {
    return explicit_axes(function, options_, args, where);
  }

 private:
  ExplicitAxesOptions options_;
};

Step read_auto_axes(const Node& statement, const Document& document) {
  return step_of(AutoAxes(statement, document, called_function(statement, document)));
}
Step read_explicit_axes(const Node& statement, const Document& document) {
  return step_of(ExplicitAxes(statement, document, called_function(statement, document)));
}

constexpr std::string_view kVmapKeys[] = {"fn", "in_axes", "out_axes", "axis_name", "axis_size", "spmd_axis_name"};
constexpr std::string_view kCheckpointKeys[] = {"fn", "policy", "names"};
constexpr std::string_view kAutoKeys[] = {"fn", "mesh", "out_sharding", "axes"};
constexpr std::string_view kExplicitKeys[] = {"fn", "mesh", "in_sharding", "axes"};

constexpr std::string_view kFunctionKey[] = {"fn"};

constexpr StatementDef kFunctionStatements[] = {
    {"vmap", kVmapKeys, 0, -1, read_vmap},           {"jvp", kFunctionKey, 2, -1, read_jvp},
    {"vjp", kFunctionKey, 2, -1, read_vjp},          {"checkpoint", kCheckpointKeys, 0, -1, read_checkpoint},
    {"auto_axes", kAutoKeys, 0, -1, read_auto_axes}, {"explicit_axes", kExplicitKeys, 1, -1, read_explicit_axes},
};

}  // namespace

std::span<const StatementDef> function_statements() { return kFunctionStatements; }

}  // namespace shardlab::scenarios
