#include "scenarios/document/read.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/text.h"
#include "scenarios/document/node.h"
#include "scenarios/document/sections.h"
#include "scenarios/document/statements.h"
#include "scenarios/document/values.h"

namespace shardlab::scenarios {
namespace {

constexpr std::string_view kTopKeys[] = {"shardlab", "name",   "description", "cluster",   "config", "matrix", "meshes", "functions",
                                         "program",  "faults", "seed",        "schedules", "sweep",  "limits", "expect", "jax"};

std::vector<std::string> read_distinct(const Node& node) {
  std::vector<std::string> names = node.strings();
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].empty() || std::find(names.begin(), names.begin() + std::ptrdiff_t(i), names[i]) != names.begin() + std::ptrdiff_t(i))
      node.items()[i].fail("names are distinct and not empty");
  return names;
}

// Names, parameters and results first, so that bodies may call any of them.
void read_functions(const Node& functions, Document& document) {
  static constexpr std::string_view kKeys[] = {"params", "body", "results", "note"};
  for (const std::string& name : functions.keys()) {
    Node node = functions.at(name);
    node.only_keys(kKeys, "a function");
    Function function{name, node.pointer(), read_distinct(node.at("params")), {}, node.at("results").strings()};
    document.functions.emplace(name, std::move(function));
  }
  for (const std::string& name : functions.keys()) document.functions.at(name).body = read_body(functions.at(name).at("body"), document);
}

void read_meshes(const Node& meshes, Document& document) {
  for (const std::string& name : meshes.keys()) document.meshes.emplace(name, read_mesh(meshes.at(name), document));
}

void collect(const Body& body, std::set<std::string>& pointers, std::set<std::string>& names) {
  for (const Statement& statement : body) {
    pointers.insert(statement.pointer);
    names.insert(statement.let.begin(), statement.let.end());
    if (const Body* inner = statement.body()) collect(*inner, pointers, names);
  }
}

Config read_config(const Node& node) {
  static constexpr std::string_view kKeys[] = {"enable_x64", "threefry_partitionable"};
  node.only_keys(kKeys, "\"config\"");
  Config config;
  if (auto flag = node.find("enable_x64")) config.enable_x64 = flag->flag();
  if (auto flag = node.find("threefry_partitionable")) config.threefry_partitionable = flag->flag();
  return config;
}

void check_version(const Node& root) {
  Node version = root.at("shardlab");
  if (version.integer() != 1) version.fail(fmt::format("format version {}; this program reads version 1", version.integer()));
}

}  // namespace

bool ProcessSet::contains(int process) const { return std::binary_search(processes.begin(), processes.end(), process) != complement; }

const Body* Statement::body() const {
  if (const auto* repeat = std::get_if<RepeatStep>(&step)) return &repeat->body;
  if (const auto* issuer = std::get_if<IssuerStep>(&step)) return &issuer->body;
  return nullptr;
}

bool Document::has_issuers() const {
  return std::any_of(program.begin(), program.end(), [](const Statement& each) { return std::holds_alternative<IssuerStep>(each.step); });
}

int Document::statement_index(std::string_view pointer) {
  constexpr std::string_view kPrefix = "/program/";
  if (!pointer.starts_with(kPrefix)) return -1;
  int index = -1;
  std::from_chars(pointer.data() + kPrefix.size(), pointer.data() + pointer.size(), index);
  return index;
}

Document read_document(const nlohmann::json& json) {
  Node root(json, "");
  if (!root.is_object()) root.wanted("a scenario, which is an object");
  root.only_keys(kTopKeys, "a scenario");
  check_version(root);
  Document document;
  document.name = "scenario";
  if (auto node = root.find("name")) document.name = node->string();
  if (auto node = root.find("description")) document.description = node->string();
  if (auto node = root.find("cluster")) document.cluster = read_cluster(*node);
  if (auto node = root.find("config")) document.config = read_config(*node);
  if (auto node = root.find("seed")) document.seed = node->integer();
  if (auto node = root.find("schedules")) document.schedules = read_schedules(*node);
  if (auto node = root.find("limits")) document.limits = read_limits(*node);
  if (auto node = root.find("meshes")) read_meshes(*node, document);
  if (auto node = root.find("functions")) read_functions(*node, document);
  document.program = read_body(root.at("program"), document);
  std::set<std::string> pointers, names;
  collect(document.program, pointers, names);
  if (auto node = root.find("expect")) document.expect = read_expectations(*node, document, names);
  for (const auto& [name, function] : document.functions) {
    std::set<std::string> locals;
    collect(function.body, pointers, locals);
  }
  if (auto node = root.find("faults")) document.faults = read_faults(*node, document, pointers);
  if (auto node = root.find("sweep")) document.sweep = read_sweep(*node, document);
  return document;
}

}  // namespace shardlab::scenarios
