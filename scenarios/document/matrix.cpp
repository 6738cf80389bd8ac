// "matrix": one document for each combination of values.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/text.h"
#include "scenarios/document/json_text.h"
#include "scenarios/document/node.h"
#include "scenarios/document/read.h"

namespace shardlab::scenarios {
namespace {

using nlohmann::json;

constexpr std::size_t kCombinationsMax = 10000;
constexpr std::size_t kExpandedBytesMax = std::size_t{256} << 20;

bool is_variable(const std::string& text) {
  if (text.size() < 2 || text[0] != '$') return false;
  return std::all_of(text.begin() + 1, text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// Replaces variables below `value`; people's texts keep their dollars.
void substitute(json& value, const std::string& pointer, const json& values) {
  if (value.is_string()) {
    std::string text = value.get<std::string>();
    if (!is_variable(text)) return;
    auto found = values.find(text.substr(1));
    if (found == values.end()) {
      std::vector<std::string> names;
      for (auto& [name, each] : values.items()) names.push_back("$" + name);
      std::vector<std::string_view> views(names.begin(), names.end());
      throw DocumentError(pointer, fmt::format("'{}' stands for no value of \"matrix\"{}", text, did_you_mean(text, views)));
    }
    value = *found;
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) substitute(value[i], child_pointer(pointer, i), values);
  } else if (value.is_object()) {
    for (auto& [key, each] : value.items())
      if (key != "description" && key != "note" && !(pointer.empty() && (key == "jax" || key == "name")))
        substitute(each, child_pointer(pointer, key), values);
  }
}

struct Variable {
  std::string name;
  std::vector<json> values;
};

std::vector<Variable> variables_of(const Node& matrix) {
  std::vector<Variable> result;
  std::size_t combinations = 1;
  for (const std::string& name : matrix.keys()) {
    Node values = matrix.at(name);
    if (!is_variable("$" + name)) values.fail(fmt::format("'{}' is no name: letters, digits and _", name));
    if (values.size() == 0) values.fail("a name of the matrix needs at least one value");
    combinations *= values.size();
    if (combinations > kCombinationsMax) matrix.fail(fmt::format("more than {} combinations", kCombinationsMax));
    result.push_back({name, {}});
    for (const Node& value : values.items()) result.back().values.push_back(value.json());
  }
  return result;
}

std::string name_with(const json& document, const json& values) {
  std::string name = document.contains("name") && document["name"].is_string() ? document["name"].get<std::string>() : "scenario";
  std::string text;
  for (auto& [key, value] : values.items())
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", key, value.is_string() ? value.get<std::string>() : value.dump());
  return fmt::format("{}[{}]", name, text);
}

}  // namespace

std::vector<json> expand_matrix(const json& document) {
  Node root(document, "");
  if (!root.is_object()) root.wanted("a scenario, which is an object");
  auto matrix = root.find("matrix");
  json without = document;
  without.erase("matrix");
  if (!matrix) {
    substitute(without, "", json::object());
    return {without};
  }
  std::vector<Variable> variables = variables_of(*matrix);
  std::size_t combinations = 1;
  for (const Variable& each : variables) combinations *= each.values.size();
  if (combinations * document.dump().size() > kExpandedBytesMax)
    matrix->fail(fmt::format("{} combinations of this document are more than {} MiB", combinations, kExpandedBytesMax >> 20));
  std::vector<json> result;
  for (std::size_t i = 0; i < combinations; ++i) {
    json values = json::object();
    std::size_t rest = i;
    for (auto each = variables.rbegin(); each != variables.rend(); ++each) {
      values[each->name] = each->values[rest % each->values.size()];
      rest /= each->values.size();
    }
    json one = without;
    substitute(one, "", values);
    if (!variables.empty()) one["name"] = name_with(document, values);
    result.push_back(std::move(one));
  }
  return result;
}

}  // namespace shardlab::scenarios
