// Reads words, numbers and types of the canonical text: one position, and errors with line and column.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/core/tensor_type.h"

namespace shardlab {

class TextReader {
 public:
  static constexpr int kRankMax = 64;

  explicit TextReader(std::string_view text) : text_(text) {}

  template <typename... Args>
  [[noreturn]] void fail_at(std::size_t at, fmt::format_string<Args...> text, Args&&... args) const {
    throw_at(at, fmt::format(text, std::forward<Args>(args)...));
  }
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) const {
    throw_at(position_, fmt::format(text, std::forward<Args>(args)...));
  }
  std::string got() const;  // what stands at the position, for errors

  std::size_t size() const { return text_.size(); }
  std::size_t position() const { return position_; }
  void go_to(std::size_t position) { position_ = position; }
  // Where the next thing begins, after white space.
  std::size_t next() {
    peek();
    return position_;
  }
  bool stands(std::string_view word) const { return text_.substr(position_).starts_with(word); }

  // The next character that is no white space and in no comment; '\0' at the end.
  char peek();
  bool accept(char c);
  void expect(char c);
  void expect_word(std::string_view word);
  std::string_view name(std::string_view what);
  std::string quoted();
  std::int64_t integer();
  double number();  // also nan, inf
  // The characters of a number that stands here, which stay.
  std::string_view number_word();
  std::vector<std::int64_t> integer_list(char open, char close, std::size_t count_max);
  DType dtype();
  Shape shape();
  TensorType type();

  // A number of the type T that stands here; fails where it does not fit.
  template <typename T>
  T whole_number() {
    std::size_t start = next();
    std::string_view word = number_word();
    T value = 0;
    auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || rest != word.data() + word.size()) fail_at(start, "{} does not fit the dtype", integer());
    position_ = start + word.size();
    return value;
  }

 private:
  [[noreturn]] void throw_at(std::size_t at, const std::string& what) const;
  char hex_byte();

  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace shardlab
