#include "scenarios/document/node.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/base/text.h"
#include "scenarios/document/document_error.h"
#include "scenarios/document/json_text.h"

namespace shardlab::scenarios {

void Node::fail(std::string_view text) const { throw DocumentError(pointer_, std::string(text)); }
void Node::wanted(std::string_view what) const { fail(fmt::format("wanted {}, got {}", what, text())); }

bool Node::is_null() const { return value_->is_null(); }
bool Node::is_string() const { return value_->is_string(); }
bool Node::is_number() const { return value_->is_number(); }
bool Node::is_integer() const { return value_->is_number_integer(); }
bool Node::is_list() const { return value_->is_array(); }
bool Node::is_object() const { return value_->is_object(); }

std::optional<Node> Node::find(std::string_view key) const {
  if (!is_object()) wanted("an object");
  auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  return Node(*found, child_pointer(pointer_, key));
}

Node Node::at(std::string_view key) const {
  auto found = find(key);
  if (!found) fail(fmt::format("the key '{}' is missing", key));
  return *found;
}

std::vector<std::string> Node::keys() const {
  if (!is_object()) wanted("an object");
  std::vector<std::string> result;
  for (auto& [key, value] : value_->items()) result.push_back(key);
  return result;
}

void Node::only_keys(std::span<const std::string_view> known, std::string_view what) const {
  for (const std::string& key : keys()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw DocumentError(child_pointer(pointer_, key),
                        fmt::format("unknown key '{}' of {}; did you mean '{}'?", key, what, closest_name(key, known)));
  }
}

std::size_t Node::size() const {
  if (!is_list()) wanted("a list");
  return value_->size();
}

std::vector<Node> Node::items() const {
  std::vector<Node> result;
  result.reserve(size());
  for (std::size_t i = 0; i < value_->size(); ++i) result.emplace_back((*value_)[i], child_pointer(pointer_, i));
  return result;
}

std::string Node::string() const {
  if (!is_string()) wanted("a string");
  return value_->get<std::string>();
}

bool Node::flag() const {
  if (!value_->is_boolean()) wanted("true or false");
  return value_->get<bool>();
}

std::int64_t Node::integer(std::int64_t least, std::int64_t most) const {
  if (!is_integer()) wanted("an integer");
  bool fits = !value_->is_number_unsigned() || value_->get<std::uint64_t>() <= std::uint64_t(INT64_MAX);
  std::int64_t value = fits ? value_->get<std::int64_t>() : INT64_MAX;
  if (fits && value >= least && value <= most) return value;
  if (most == INT64_MAX && least > INT64_MIN) wanted(fmt::format("an integer of at least {}", least));
  wanted(fmt::format("an integer from {} to {}", least, most));
}

double Node::number() const {
  if (is_number()) return value_->get<double>();
  if (is_string()) {
    std::string text = string();
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    if (text == "inf") return std::numeric_limits<double>::infinity();
    if (text == "-inf") return -std::numeric_limits<double>::infinity();
  }
  wanted("a number");
}

double Node::number_from(double least) const {
  double value = number();
  if (!std::isfinite(value) || value < least) wanted(fmt::format("a number of at least {}", least));
  return value;
}

std::vector<std::int64_t> Node::integers(std::int64_t least, std::int64_t most) const {
  std::vector<std::int64_t> result;
  if (!is_list()) wanted("a list of integers");
  for (const Node& item : items()) result.push_back(item.integer(least, most));
  return result;
}

std::vector<std::string> Node::strings() const {
  std::vector<std::string> result;
  if (!is_list()) wanted("a list of strings");
  for (const Node& item : items()) result.push_back(item.string());
  return result;
}

std::string Node::text() const {
  constexpr std::size_t kShown = 60;
  if (is_list() && value_->size() > 16) return fmt::format("a list of {} values", value_->size());
  if (is_object() && value_->size() > 8) return fmt::format("an object of {} keys", value_->size());
  std::string text = value_->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() > kShown ? text.substr(0, kShown - 1) + "…" : text;
}

}  // namespace shardlab::scenarios
