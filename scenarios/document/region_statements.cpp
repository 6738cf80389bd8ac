#include "scenarios/document/region_statements.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "scenarios/document/values.h"

namespace shardlab::scenarios {
namespace {

std::size_t arg_count(const Node& statement) {
  auto args = statement.find("args");
  return args ? args->size() : 0;
}

void check_params(const Node& node, const Function& function, std::size_t given) {
  if (function.params.size() != given)
    node.fail(fmt::format("'{}' has {} parameters, it would get {}", function.name, function.params.size(), given));
}

// Each on its mesh, so that unknown and repeated axes are found here.
std::vector<PartitionSpec> read_specs(const Node& node, const Mesh& mesh, std::size_t count, std::string_view what) {
  std::vector<PartitionSpec> specs;
  for (const Node& item : node.items()) {
    specs.push_back(read_spec(item));
    try {
      Sharding on_mesh(mesh, specs.back());
    } catch (const UserError& error) { item.fail(error.what()); }
  }
  if (specs.size() != count) node.fail(fmt::format("{} specs for {} {}", specs.size(), count, what));
  return specs;
}

// The axes of a mesh that a function is per device along: in the mesh's order, all unless told.
std::vector<std::string> read_axis_names(const Node& statement, const Mesh& mesh) {
  auto node = statement.find("axis_names");
  if (!node || node->is_null()) return mesh.axis_names();
  std::vector<std::string> given = node->strings(), names;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!mesh.axis_index(given[i]))
      node->items()[i].fail(fmt::format("mesh has axes {}, no '{}'", fmt::join(mesh.axis_names(), ", "), given[i]));
    if (std::count(given.begin(), given.end(), given[i]) > 1) node->items()[i].fail(fmt::format("'{}' is named twice", given[i]));
  }
  if (given.empty()) node->wanted("one axis at least");
  for (const std::string& name : mesh.axis_names())
    if (std::find(given.begin(), given.end(), name) != given.end()) names.push_back(name);
  return names;
}

void check_manual(const Node& specs, const std::vector<PartitionSpec>& read, const std::vector<std::string>& axis_names) {
  for (std::size_t i = 0; i < read.size(); ++i)
    for (const SpecEntry& entry : read[i].entries())
      for (const std::string& axis : entry.axes())
        if (std::find(axis_names.begin(), axis_names.end(), axis) == axis_names.end())
          specs.items()[i].fail(fmt::format("the function is not per device along '{}': leave it out, or name it in axis_names", axis));
}

}  // namespace

const Mesh& mesh_of(const Node& statement, const Document& document) {
  if (auto name = statement.find("mesh")) return mesh_at(*name, document);
  return only_mesh(statement, document);
}

const Function& called_function(const Node& statement, const Document& document) {
  const Function& function = function_at(statement.at("fn"), document);
  check_params(statement.at("fn"), function, arg_count(statement));
  return function;
}

Step read_shard_map(const Node& statement, const Document& document) {
  const Function& function = called_function(statement, document);
  ShardMapStep step{function.name, mesh_of(statement, document), {}, {}};
  step.in_specs = read_specs(statement.at("in_specs"), step.mesh, arg_count(statement), "arguments");
  step.out_specs = read_specs(statement.at("out_specs"), step.mesh, function.results.size(), "results");
  if (auto check = statement.find("check_vma")) step.check_vma = check->flag();
  step.axis_names = read_axis_names(statement, step.mesh);
  check_manual(statement.at("in_specs"), step.in_specs, step.axis_names);
  check_manual(statement.at("out_specs"), step.out_specs, step.axis_names);
  return step;
}

Step read_custom_partitioning(const Node& statement, const Document& document) {
  const Function& function = called_function(statement, document);
  CustomPartitioningStep step{function.name, Attrs{{"sharding_rule", statement.at("sharding_rule").string()}}};
  for (auto [key, attribute] : {std::pair{"need_replication", "need_replication_factors"},
                                {"permutation", "permutation_factors"},
                                {"reduction", "reduction_factors"}})
    if (auto factors = statement.find(key); factors && factors->size() > 0) step.rule.set(attribute, factors->strings());
  if (auto sizes = statement.find("factor_sizes")) {
    std::vector<std::string> names;
    std::vector<std::int64_t> values;
    for (const std::string& name : sizes->keys()) {
      names.push_back(name);
      values.push_back(sizes->at(name).integer(1));
    }
    step.rule.set("factor_names", names).set("factor_sizes", values);
  }
  return step;
}

Step read_cond(const Node& statement, const Document& document) {
  Node fns = statement.at("fns");
  CondStep step;
  for (const Node& item : fns.items()) {
    const Function& function = function_at(item, document);
    check_params(item, function, arg_count(statement) - 1);
    step.functions.push_back(function.name);
  }
  if (step.functions.empty()) fns.fail("a choice needs functions: [true, false], or one for each index");
  return step;
}

// How many of the arguments come first that every iteration gets as they are.
std::int64_t read_consts(const Node& statement) {
  auto consts = statement.find("num_consts");
  return consts ? consts->integer(0, std::int64_t(arg_count(statement))) : 0;
}

Step read_while_loop(const Node& statement, const Document& document) {
  WhileStep step;
  step.consts = read_consts(statement);
  for (auto [key, name] : {std::pair{"cond_fn", &step.condition}, {"body_fn", &step.body}}) {
    const Function& function = function_at(statement.at(key), document);
    check_params(statement.at(key), function, arg_count(statement));
    *name = function.name;
  }
  return step;
}

Step read_scan(const Node& statement, const Document& document) {
  ScanStep step;
  const Function& function = called_function(statement, document);
  step.function = function.name;
  if (auto length = statement.find("length"); length && !length->is_null()) step.length = length->integer(0);
  step.consts = read_consts(statement);
  const std::int64_t others = std::int64_t(arg_count(statement)) - step.consts;
  if (auto carry = statement.find("num_carry"))
    step.carry = carry->integer(0, others);
  else if (others == 0)
    step.carry = 0;
  if (auto reverse = statement.find("reverse")) step.reverse = reverse->flag();
  if (auto unroll = statement.find("unroll")) unroll->integer(1);
  if (step.length < 0 && others == step.carry) statement.fail("scan got no values to scan over and `length` not provided.");
  return step;
}

}  // namespace shardlab::scenarios
