#include "scenarios/document/json_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "scenarios/document/document_error.h"

namespace shardlab::scenarios {
namespace {

using nlohmann::json;

// Builds the document from the parser's events. `open_` has the containers being filled and the place each has come to; a container
// moves only when its own parent grows, which it cannot while it is open.
class StrictBuilder final : public nlohmann::json_sax<json> {
 public:
  explicit StrictBuilder(std::string_view text) : text_(text) {}
  json take() { return std::move(root_); }

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override { return add(value) != nullptr; }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    Open& object = open_.back();
    object.key = std::move(key);
    if (object.container->contains(object.key)) throw DocumentError(pointer(), "this key stands twice in one object");
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    std::string what = error.what();
    if (auto from = what.find("] "); from != std::string::npos) what = what.substr(from + 2);
    if (auto from = what.find(": "); from != std::string::npos && what.starts_with("parse error")) what = what.substr(from + 2);
    std::string_view before = text_.substr(0, std::min(position > 0 ? position - 1 : 0, text_.size()));
    auto line = std::count(before.begin(), before.end(), '\n') + 1;
    auto column = before.size() - (before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1) + 1;
    throw DocumentError(pointer(), fmt::format("not JSON, line {}, column {}: {}", line, column, what));
  }

 private:
  struct Open {
    json* container;
    std::string key;
  };

  std::string pointer() const {
    std::string result;
    for (const Open& each : open_) {
      bool is_innermost = &each == &open_.back();  // of the others the last element is the one that is open
      if (!each.container->is_array())
        result = child_pointer(result, each.key);
      else
        result = child_pointer(result, each.container->size() - (is_innermost ? 0 : 1));
    }
    return result;
  }

  json* add(json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    json& parent = *open_.back().container;
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &(parent[open_.back().key] = std::move(value));
  }

  bool open(json container) {
    if (open_.size() >= std::size_t(kDocumentDepthMax))
      throw DocumentError(pointer(), fmt::format("nested deeper than {} levels", kDocumentDepthMax));
    json* added = add(std::move(container));
    open_.push_back({added, {}});
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  json root_;
  std::vector<Open> open_;
};

std::string escaped(std::string_view key) {
  std::string result;
  for (char c : key) {
    if (c == '~')
      result += "~0";
    else if (c == '/')
      result += "~1";
    else
      result += c;
  }
  return result;
}

}  // namespace

json parse_json(std::string_view text) {
  if (text.size() > kDocumentBytesMax)
    throw DocumentError("", fmt::format("{} bytes, more than {} MiB", text.size(), kDocumentBytesMax >> 20));
  StrictBuilder builder(text);
  if (!json::sax_parse(text, &builder)) throw DocumentError("", "not JSON");
  return builder.take();
}

std::string child_pointer(std::string_view pointer, std::string_view key) { return fmt::format("{}/{}", pointer, escaped(key)); }
std::string child_pointer(std::string_view pointer, std::size_t index) { return fmt::format("{}/{}", pointer, index); }

}  // namespace shardlab::scenarios
