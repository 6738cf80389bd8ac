#include "runtime/graph/text_reader.h"

#include <algorithm>
#include <limits>

namespace shardlab {
namespace {

constexpr std::int64_t kElementsMax = std::int64_t(1) << 48;

bool is_name_char(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.'; }
bool is_number_char(char c) { return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'; }

}  // namespace

void TextReader::throw_at(std::size_t at, const std::string& what) const {
  std::size_t line = 1, column = 1;
  for (std::size_t i = 0; i < at && i < text_.size(); ++i) {
    ++column;
    if (text_[i] == '\n') ++line, column = 1;
  }
  throw UserError(fmt::format("graph text, line {}, column {}: {}", line, column, what));
}

std::string TextReader::got() const {
  if (position_ >= text_.size()) return "the end of the text";
  unsigned char c = static_cast<unsigned char>(text_[position_]);
  return c < 0x20 || c >= 0x7f ? fmt::format("byte {}", int(c)) : fmt::format("'{}'", char(c));
}

char TextReader::peek() {
  while (position_ < text_.size()) {
    char c = text_[position_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++position_;
    } else if (text_.substr(position_, 2) == "//") {
      while (position_ < text_.size() && text_[position_] != '\n') ++position_;
    } else {
      return c;
    }
  }
  return '\0';
}

bool TextReader::accept(char c) {
  if (peek() != c || position_ >= text_.size()) return false;
  ++position_;
  return true;
}

void TextReader::expect(char c) {
  if (!accept(c)) fail("wanted '{}', got {}", c, got());
}

void TextReader::expect_word(std::string_view word) {
  std::size_t at = (peek(), position_);
  if (name(word) != word) fail_at(at, "wanted '{}'", word);
}

std::string_view TextReader::name(std::string_view what) {
  peek();
  std::size_t start = position_;
  while (position_ < text_.size() && is_name_char(text_[position_])) ++position_;
  if (position_ == start) fail("wanted {}, got {}", what, got());
  return text_.substr(start, position_ - start);
}

std::string TextReader::quoted() {
  char quote = peek();
  std::size_t start = position_++;
  std::string result;
  while (position_ < text_.size() && text_[position_] != quote) {
    char c = text_[position_++];
    if (c == '\\' && position_ < text_.size()) {
      c = text_[position_++];
      if (c == 'x') c = hex_byte();
    }
    result += c;
  }
  if (position_ >= text_.size()) fail_at(start, "the quoted text does not end");
  ++position_;
  return result;
}

char TextReader::hex_byte() {
  int value = 0;
  const char* first = text_.data() + position_;
  const char* last = text_.data() + std::min(position_ + 2, text_.size());
  auto [end, error] = std::from_chars(first, last, value, 16);
  if (error != std::errc() || end != first + 2) fail("wanted two hexadecimal digits after \\x");
  position_ += 2;
  return char(value);
}

std::int64_t TextReader::integer() {
  peek();
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text_.data() + position_, text_.data() + text_.size(), value);
  if (error == std::errc::result_out_of_range) fail("the integer does not fit 64 bits");
  if (error != std::errc()) fail("wanted an integer, got {}", got());
  position_ = std::size_t(end - text_.data());
  return value;
}

double TextReader::number() {
  peek();
  std::size_t start = position_;
  bool negative = text_.substr(position_, 1) == "-";
  std::string_view word = text_.substr(position_ + negative, 3);
  if (word == "nan" || word == "inf") {
    position_ += negative + 3;
    double value = word == "nan" ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    return negative ? -value : value;
  }
  while (position_ < text_.size() && is_number_char(text_[position_])) ++position_;
  double value = 0;
  const char* last = text_.data() + position_;
  auto [end, error] = std::from_chars(text_.data() + start, last, value);
  if (start == position_ || error == std::errc::invalid_argument || end != last) fail_at(start, "wanted a number");
  return value;  // out of range keeps what from_chars could read
}

std::vector<std::int64_t> TextReader::integer_list(char open, char close, std::size_t count_max) {
  std::vector<std::int64_t> values;
  expect(open);
  while (!accept(close)) {
    if (!values.empty()) expect(',');
    if (values.size() >= count_max) fail("more than {} entries", count_max);
    values.push_back(integer());
  }
  return values;
}

DType TextReader::dtype() {
  std::size_t at = (peek(), position_);
  std::string_view word = name("a dtype");
  auto found = dtype_from_name(word);
  if (!found) fail_at(at, "unknown dtype '{}'", word);
  return *found;
}

TensorType TextReader::type() {
  TensorType type;
  type.dtype = dtype();
  type.shape = shape();
  return type;
}

Shape TextReader::shape() {
  std::size_t at = (peek(), position_);
  Shape shape = integer_list('[', ']', kRankMax);
  std::int64_t elements = 1;
  for (std::int64_t size : shape) {
    if (size < 0) fail_at(at, "the size {} is negative", size);
    if (size > 0 && elements > kElementsMax / size) fail_at(at, "the shape has more than {} elements", kElementsMax);
    elements *= std::max<std::int64_t>(size, 1);
  }
  return shape;
}

std::string_view TextReader::number_word() {
  std::size_t end = position_;
  while (end < text_.size() && is_number_char(text_[end])) ++end;
  return text_.substr(position_, end - position_);
}

}  // namespace shardlab
