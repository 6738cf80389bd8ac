#include "scenarios/document/value_lines.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "scenarios/document/json_text.h"

namespace shardlab::scenarios {
namespace {

class LineReader {
 public:
  explicit LineReader(std::string_view text) : text_(text) {}

  std::map<std::string, int> read() {
    for (; at_ < text_.size() && lines_.size() < kLinesMax; ++at_) step(text_[at_]);
    return std::move(lines_);
  }

 private:
  // A list or an object that is being read: its pointer, and the place or the key that it has come to.
  struct Open {
    std::string pointer;
    bool is_list = false, wants_key = false;
    std::size_t index = 0;
    std::string key;
  };

  void step(char c) {
    switch (c) {
      case '\n':
        ++line_;
        return;
      case '"':
        string();
        return;
      case '{':
      case '[':
        open(c == '[');
        return;
      case '}':
      case ']':
        if (!open_.empty()) open_.pop_back();
        return;
      case ',':
        if (open_.empty()) return;
        ++open_.back().index;
        open_.back().wants_key = !open_.back().is_list;
        return;
      default:
        return;
    }
  }

  // A key tells where its value is: both stand on one line, or are told of by the key's.
  void string() {
    const std::size_t begin = at_++;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    if (open_.empty() || !open_.back().wants_key) return;
    Open& object = open_.back();
    object.wants_key = false;
    const nlohmann::json key = nlohmann::json::parse(text_.substr(begin, at_ + 1 - begin), nullptr, false);
    if (!key.is_string()) return;
    object.key = key.get<std::string>();
    lines_.emplace(child_pointer(object.pointer, object.key), line_);
  }

  void open(bool is_list) {
    std::string pointer;
    if (!open_.empty()) {
      const Open& in = open_.back();
      pointer = in.is_list ? child_pointer(in.pointer, in.index) : child_pointer(in.pointer, in.key);
    }
    if (!is_list) lines_.emplace(pointer, line_);
    open_.push_back({std::move(pointer), is_list, !is_list, 0, {}});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<Open> open_;
  std::map<std::string, int> lines_;
};

}  // namespace

std::map<std::string, int> value_lines(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string_view::npos || text.substr(0, end).find('\n') == std::string_view::npos) return {};
  return LineReader(text).read();
}

int line_of(const std::map<std::string, int>& lines, std::string_view pointer) {
  for (;;) {
    if (auto found = lines.find(std::string(pointer)); found != lines.end()) return found->second;
    if (pointer.empty()) return 0;
    pointer = pointer.substr(0, pointer.rfind('/'));
  }
}

}  // namespace shardlab::scenarios
