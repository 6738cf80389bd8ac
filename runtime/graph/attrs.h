// Attributes of a node: small named values, printed canonically.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/core/buffer.h"
#include "runtime/core/sharding.h"

namespace shardlab {

// A constant array inside a graph.
struct Literal {
  TensorType type;
  BufferRef data;
};

// The graphs inside a node: what a loop repeats, the branches of a choice, what each device of a mesh runs. Immutable and shared.
struct Graph;
using GraphRef = std::shared_ptr<const Graph>;
using Bodies = std::vector<GraphRef>;

using AttrValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, DType, Sharding,
                               std::shared_ptr<const Literal>, std::vector<std::string>, std::vector<Sharding>, Bodies>;

// Name → value, kept sorted by name, so that equal attributes print alike. Getters throw InternalError where the name is absent or of
// another kind: shape rules have checked the user's input before.
class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> entries);

  Attrs& set(std::string_view name, AttrValue value);
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const AttrValue* find(std::string_view name) const;
  bool flag(std::string_view name, bool otherwise = false) const;
  std::int64_t integer(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double number(std::string_view name) const;
  const std::string& string(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const Sharding& sharding(std::string_view name) const;
  const Literal& literal(std::string_view name) const;
  const std::vector<std::string>& strings(std::string_view name) const;
  const std::vector<Sharding>& shardings(std::string_view name) const;
  // The attribute "bodies"; empty where there is none.
  const Bodies& bodies() const;
  const std::vector<std::pair<std::string, AttrValue>>& entries() const { return entries_; }
  bool operator==(const Attrs& other) const;

 private:
  std::vector<std::pair<std::string, AttrValue>> entries_;
};

// Canonical text of one value: 3, 0.5, true, "text", [1, 2], float32, a sharding's text, a literal in full up to 16 elements, else
// by its type and the SHA-256 of its bytes; bodies as their canonical text.
std::string text_of(const AttrValue& value);

}  // namespace shardlab
