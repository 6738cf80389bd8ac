#include "scenarios/document/op_statements.h"

#include <algorithm>
#include <map>

#include "runtime/base/text.h"
#include "runtime/ops/named_operands.h"
#include "scenarios/document/document_error.h"
#include "scenarios/document/positional.h"
#include "scenarios/document/region_statements.h"
#include "scenarios/document/values.h"

namespace shardlab::scenarios {

std::size_t operand_count(const Node& statement, const OpDef& op) {
  auto args = statement.find("args");
  if (!args) return 0;
  std::vector<Node> items = args->items();
  const Positional* positional = positional_of(op.name);
  for (std::size_t i = 0; positional != nullptr && i < items.size(); ++i)
    if (i >= positional->operands && !items[i].is_string()) return i;
  return items.size();
}

std::vector<Node> named_operands(const Node& statement, const OpDef& op) {
  std::vector<Node> found;
  for (const AttrDef& attr : op.attrs)
    if (auto node = statement.find(attr.name); names_operand(op, attr) && node && !node->is_null()) found.push_back(*node);
  return found;
}

namespace {

// Equally long lists of integers, one after another.
std::vector<std::int64_t> read_integer_lists(const Node& node) {
  std::vector<std::int64_t> result;
  std::vector<Node> lists = node.items();
  for (const Node& list : lists) {
    std::vector<std::int64_t> one = list.integers();
    if (one.size() != lists.front().size()) list.wanted(fmt::format("a list of {} integers, as the others", lists.front().size()));
    result.insert(result.end(), one.begin(), one.end());
  }
  return result;
}

std::vector<std::string> read_names(const Node& node) {
  if (node.is_string()) return {node.string()};
  std::vector<std::string> names;
  for (const Node& item : node.items()) names.push_back(item.string());
  return names;
}

// Each list after its length.
std::vector<std::int64_t> read_groups(const Node& node) {
  std::vector<std::int64_t> result;
  for (const Node& list : node.items()) {
    std::vector<std::int64_t> one = list.integers();
    result.push_back(std::int64_t(one.size()));
    result.insert(result.end(), one.begin(), one.end());
  }
  return result;
}

AttrValue read_attribute(const Node& node, AttrDef::Kind kind, const Document& document) {
  using Kind = AttrDef::Kind;
  switch (kind) {
    case Kind::kInteger:
      return node.integer();
    case Kind::kNumber:
      return node.number();
    case Kind::kFlag:
      return node.flag();
    case Kind::kString:
      return node.string();
    case Kind::kIntegers:
      return node.is_integer() ? std::vector<std::int64_t>{node.integer()} : node.integers();
    case Kind::kDType:
      return read_dtype(node);
    case Kind::kSharding:
      return read_sharding(node, document);
    case Kind::kScalarOrIntegers:
      if (node.is_list() && !node.items().empty() && node.items()[0].is_list()) return read_integer_lists(node);  // tensordot's axes
      if (node.is_list()) return node.integers();
      if (!node.is_integer()) node.wanted("an integer or a list of integers");
      return node.integer();
    case Kind::kIntegerLists:
      return read_integer_lists(node);
    case Kind::kLiteral:
      if (node.is_string()) return node.string();  // an order of norms
      return std::make_shared<const Literal>(read_literal(node, std::nullopt, document.config));
    case Kind::kNames:
      return read_names(node);
    case Kind::kGroups:
      return read_groups(node);
  }
  node.fail("an attribute of a kind that scenarios cannot write");
}

std::vector<std::string_view> keys_of(const OpDef& op) {
  std::vector<std::string_view> keys(std::begin(kCommonKeys), std::end(kCommonKeys));
  keys.insert(keys.end(), {"sharding", "out_sharding"});
  for (const AttrDef& attr : op.attrs) keys.push_back(attr.name);
  return keys;
}

void check_operands(const Node& statement, const OpDef& op) {
  int count = int(std::min<std::size_t>(operand_count(statement, op) + named_operands(statement, op).size(), INT32_MAX));
  if (count >= op.operands_min && (op.operands_max < 0 || count <= op.operands_max)) return;
  auto args = statement.find("args");
  std::string wanted = op.operands_max < 0                  ? fmt::format("at least {}", op.operands_min)
                       : op.operands_min == op.operands_max ? fmt::format("{}", op.operands_min)
                                                            : fmt::format("{} to {}", op.operands_min, op.operands_max);
  (args ? *args : statement).fail(fmt::format("'{}' takes {} arguments, got {}", op.name, wanted, count));
}

// The attributes given by position, with where they stand. null is as if absent.
std::map<std::string_view, Node> positional_attributes(const Node& statement, const OpDef& op) {
  std::map<std::string_view, Node> given;
  auto args = statement.find("args");
  const Positional* positional = positional_of(op.name);
  if (!args || positional == nullptr) return given;
  std::vector<Node> items = args->items();
  std::size_t first = operand_count(statement, op);
  for (std::size_t i = first; i < items.size(); ++i) {
    std::size_t place = i - positional->operands;
    if (place >= positional->attributes.size())
      args->fail(fmt::format("'{}' takes {} arguments, got {}; give what follows by name", op.name,
                             positional->operands + positional->attributes.size(), items.size()));
    if (items[i].is_null()) continue;
    std::string_view name = positional->attributes[place];
    if (name.empty() || items[i].is_string())
      items[i].wanted(name.empty() ? "null: a parameter that this op lacks" : fmt::format("the attribute '{}', which is no name", name));
    if (statement.find(name)) items[i].fail(fmt::format("'{}' got '{}' by position and by name; keep one", op.name, name));
    given.emplace(name, items[i]);
  }
  return given;
}

}  // namespace

std::optional<Sharding> out_sharding(const Node& statement, const Document& document) {
  auto sharding = statement.find("sharding"), same = statement.find("out_sharding");
  if (sharding && same) same->fail("\"out_sharding\" is \"sharding\", by JAX's name; keep one");
  if (same) sharding = same;
  return sharding ? std::optional(read_sharding(*sharding, document)) : std::nullopt;
}

Step read_op(const Node& statement, const OpDef& op, const Document& document) {
  statement.only_keys(keys_of(op), fmt::format("'{}'", op.name));
  check_operands(statement, op);
  OpStep step{&op, {}, std::nullopt};
  std::map<std::string_view, Node> positional = positional_attributes(statement, op);
  auto next = std::int64_t(operand_count(statement, op));
  for (const AttrDef& attr : op.attrs) {
    auto node = statement.find(attr.name);
    if (auto found = positional.find(attr.name); found != positional.end()) node = found->second;
    if (node && !node->is_null() && names_operand(op, attr))
      step.attrs.set(attr.name, next++);
    else if (node && !node->is_null())
      step.attrs.set(attr.name, read_attribute(*node, attr.kind, document));
    else if (attr.required)
      statement.fail(fmt::format("'{}' needs the attribute '{}': {}", op.name, attr.name, attr.doc));
  }
  if (!step.attrs.has("sharding")) step.sharding = out_sharding(statement, document);
  return step;
}

}  // namespace shardlab::scenarios
