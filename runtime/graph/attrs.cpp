#include "runtime/graph/attrs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/base/sha256.h"
#include "runtime/base/text.h"
#include "runtime/graph/graph.h"

namespace shardlab {
namespace {

constexpr std::int64_t kLiteralElementsInFullMax = 16;

bool equal_literals(const Literal& a, const Literal& b) {
  if (a.type != b.type) return false;
  return a.data == b.data || std::memcmp(a.data->data(), b.data->data(), std::size_t(a.type.bytes())) == 0;
}

bool equal_values(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* literal = std::get_if<std::shared_ptr<const Literal>>(&a))
    return equal_literals(**literal, *std::get<std::shared_ptr<const Literal>>(b));
  if (const Bodies* bodies = std::get_if<Bodies>(&a)) {
    const Bodies& others = std::get<Bodies>(b);
    return std::equal(bodies->begin(), bodies->end(), others.begin(), others.end(),
                      [](const GraphRef& x, const GraphRef& y) { return x == y || print(*x) == print(*y); });
  }
  if (const double* number = std::get_if<double>(&a))  // NaN equals NaN, -0 differs from 0: as they print
    return std::memcmp(number, std::get_if<double>(&b), sizeof(double)) == 0;
  return a == b;
}

template <typename T>
std::string element_text(T value) {
  if constexpr (Bool<T>)
    return value ? "true" : "false";
  else if constexpr (Whole<T>)
    return std::to_string(value);
  else if constexpr (Half<T>)
    return shortest(float(value));
  else if constexpr (Cplx<T>)
    return fmt::format("({}, {})", shortest(value.real()), shortest(value.imag()));
  else
    return shortest(value);
}

std::string literal_text(const Literal& literal) {
  std::int64_t count = literal.type.elements();
  if (count > kLiteralElementsInFullMax) {
    std::string_view bytes(reinterpret_cast<const char*>(literal.data->data()), std::size_t(literal.type.bytes()));
    return fmt::format("{}{{sha256:{}}}", literal.type.text(), sha256_hex(bytes));
  }
  return visit_dtype(literal.type.dtype, [&](auto sample) {
    using T = decltype(sample);
    std::vector<std::string> elements;
    for (std::int64_t i = 0; i < count; ++i) elements.push_back(element_text(literal.data->as<T>()[i]));
    return fmt::format("{}{{{}}}", literal.type.text(), fmt::join(elements, ", "));
  });
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      result += c;
  }
  return result + '"';
}

// "[]" reads back as a list of integers.
bool is_empty_list(const AttrValue* value) {
  const auto* integers = value != nullptr ? std::get_if<std::vector<std::int64_t>>(value) : nullptr;
  return integers != nullptr && integers->empty();
}

template <typename T>
const T& get(const Attrs& attrs, std::string_view name, const char* kind) {
  const AttrValue* value = attrs.find(name);
  SL_CHECK(value != nullptr, "attribute '{}' is absent", name);
  const T* typed = std::get_if<T>(value);
  SL_CHECK(typed != nullptr, "attribute '{}' is {}, wanted {}", name, text_of(*value), kind);
  return *typed;
}

}  // namespace

Attrs::Attrs(std::initializer_list<std::pair<std::string, AttrValue>> entries) {
  for (const auto& [name, value] : entries) set(name, value);
}

Attrs& Attrs::set(std::string_view name, AttrValue value) {
  auto place = std::lower_bound(entries_.begin(), entries_.end(), name, [](const auto& e, std::string_view n) { return e.first < n; });
  if (place != entries_.end() && place->first == name)
    place->second = std::move(value);
  else
    entries_.insert(place, {std::string(name), std::move(value)});
  return *this;
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const auto& [key, value] : entries_)
    if (key == name) return &value;
  return nullptr;
}

bool Attrs::flag(std::string_view name, bool otherwise) const { return has(name) ? get<bool>(*this, name, "a flag") : otherwise; }

std::int64_t Attrs::integer(std::string_view name) const { return get<std::int64_t>(*this, name, "an integer"); }

std::int64_t Attrs::integer(std::string_view name, std::int64_t otherwise) const { return has(name) ? integer(name) : otherwise; }

double Attrs::number(std::string_view name) const {
  if (const AttrValue* value = find(name); value != nullptr && std::holds_alternative<std::int64_t>(*value))
    return double(std::get<std::int64_t>(*value));
  return get<double>(*this, name, "a number");
}

const std::string& Attrs::string(std::string_view name) const { return get<std::string>(*this, name, "a string"); }

const std::vector<std::int64_t>& Attrs::integers(std::string_view name) const {
  return get<std::vector<std::int64_t>>(*this, name, "a list of integers");
}

DType Attrs::dtype(std::string_view name) const { return get<DType>(*this, name, "a dtype"); }

const Sharding& Attrs::sharding(std::string_view name) const { return get<Sharding>(*this, name, "a sharding"); }

const Literal& Attrs::literal(std::string_view name) const { return *get<std::shared_ptr<const Literal>>(*this, name, "an array"); }

const std::vector<std::string>& Attrs::strings(std::string_view name) const {
  static const std::vector<std::string>& kNone = *new std::vector<std::string>;
  return is_empty_list(find(name)) ? kNone : get<std::vector<std::string>>(*this, name, "a list of names");
}

const std::vector<Sharding>& Attrs::shardings(std::string_view name) const {
  static const std::vector<Sharding>& kNone = *new std::vector<Sharding>;
  return is_empty_list(find(name)) ? kNone : get<std::vector<Sharding>>(*this, name, "a list of shardings");
}

const Bodies& Attrs::bodies() const {
  static const Bodies& kNone = *new Bodies;
  const AttrValue* value = find("bodies");
  const Bodies* typed = value != nullptr ? std::get_if<Bodies>(value) : nullptr;
  return typed != nullptr ? *typed : kNone;
}

bool Attrs::operator==(const Attrs& other) const {
  return std::equal(entries_.begin(), entries_.end(), other.entries_.begin(), other.entries_.end(),
                    [](const auto& a, const auto& b) { return a.first == b.first && equal_values(a.second, b.second); });
}

std::string text_of(const AttrValue& value) {
  struct Text {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return shortest(v); }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(const std::vector<std::int64_t>& v) const { return fmt::format("[{}]", fmt::join(v, ", ")); }
    std::string operator()(DType v) const { return std::string(name_of(v)); }
    std::string operator()(const Sharding& v) const { return v.text(); }
    std::string operator()(const std::shared_ptr<const Literal>& v) const { return literal_text(*v); }
    std::string operator()(const std::vector<std::string>& v) const {
      std::vector<std::string> texts;
      for (const std::string& each : v) texts.push_back(quoted(each));
      return fmt::format("[{}]", fmt::join(texts, ", "));
    }
    std::string operator()(const std::vector<Sharding>& v) const {
      std::vector<std::string> texts;
      for (const Sharding& each : v) texts.push_back(each.text());
      return fmt::format("[{}]", fmt::join(texts, ", "));
    }
    std::string operator()(const Bodies& v) const {
      std::vector<std::string> texts;
      for (const GraphRef& each : v) texts.push_back(print(*each));
      return fmt::format("[\n{}]", fmt::join(texts, ",\n"));
    }
  };
  return std::visit(Text{}, value);
}

}  // namespace shardlab
