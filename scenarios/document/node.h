// A value of a document together with its JSON pointer: reading that checks, and errors that say where.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardlab::scenarios {

// Borrows the document. Getters throw DocumentError naming what was wanted and what is there.
class Node {
 public:
  Node(const nlohmann::json& value, std::string pointer) : value_(&value), pointer_(std::move(pointer)) {}

  const nlohmann::json& json() const { return *value_; }
  const std::string& pointer() const { return pointer_; }
  [[noreturn]] void fail(std::string_view text) const;
  [[noreturn]] void wanted(std::string_view what) const;  // "wanted an integer, got \"x\""

  bool is_null() const;
  bool is_string() const;
  bool is_number() const;
  bool is_integer() const;
  bool is_list() const;
  bool is_object() const;

  // Objects.
  std::optional<Node> find(std::string_view key) const;
  Node at(std::string_view key) const;  // required
  std::vector<std::string> keys() const;
  // Fails at the first key that is not known, with the nearest that is. `what` is the thing read: "a mesh".
  void only_keys(std::span<const std::string_view> known, std::string_view what) const;

  // Lists.
  std::size_t size() const;
  std::vector<Node> items() const;

  // Values. Numbers may be the strings "nan", "inf", "-inf".
  std::string string() const;
  bool flag() const;
  std::int64_t integer(std::int64_t least = INT64_MIN, std::int64_t most = INT64_MAX) const;
  double number() const;
  double number_from(double least) const;  // finite
  std::vector<std::int64_t> integers(std::int64_t least = INT64_MIN, std::int64_t most = INT64_MAX) const;
  std::vector<std::string> strings() const;
  std::string text() const;  // the value as JSON, shortened

 private:
  const nlohmann::json* value_;
  std::string pointer_;
};

}  // namespace shardlab::scenarios
