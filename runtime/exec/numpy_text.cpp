// numpy's str(): the text that print() shows of an array. Source: numpy/_core/arrayprint.py of numpy 2.4, with its default options.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>

#include "runtime/exec/visualize.h"

namespace shardlab {
namespace {

constexpr int kPrecision = 8;              // fractional digits at most
constexpr std::int64_t kThreshold = 1000;  // more elements are summarised
constexpr std::int64_t kEdgeItems = 3;
constexpr int kLineWidth = 75;
constexpr float kScientificFrom = 1e6F;  // 10 ** finfo(float32).precision
constexpr float kScientificBelow = 1e-4F;
constexpr float kScientificRatio = 1e3F;

template <typename Float, typename... Format>
std::string chars_of(Float value, Format... format) {
  char buffer[128];
  auto end = std::to_chars(std::begin(buffer), std::end(buffer), value, format...).ptr;
  return {buffer, end};
}

// The digits of a number around its point, "12" "5" for 12.5; the integer part has the sign.
struct Digits {
  std::string integer, fraction;
  std::string exponent;  // "-05", or nothing
};

Digits parse_digits(const std::string& text) {
  Digits digits;
  std::size_t exponent = std::min(text.find('e'), text.size());
  std::size_t point = std::min(text.find('.'), exponent);
  digits.integer = text.substr(0, point);
  if (point < exponent) digits.fraction = text.substr(point + 1, exponent - point - 1);
  if (exponent < text.size()) digits.exponent = text.substr(exponent + 1);
  return digits;
}

// The shortest digits that read back to the same float; where the fraction would be longer than `most` or shorter than `least`, the
// digits of the exact value, rounded. A double holds the exact value, and to_chars of it with a precision rounds correctly.
Digits digits_of(float value, std::chars_format format, int least, int most) {
  Digits digits = parse_digits(chars_of(value, format));
  int count = int(digits.fraction.size());
  if (count < least || count > most) {
    digits = parse_digits(chars_of(double(value), format, count < least ? least : most));
    while (int(digits.fraction.size()) > least && digits.fraction.back() == '0') digits.fraction.pop_back();
  }
  return digits;
}

std::string padded_left(std::string text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// Formats the floats of one array alike: the same notation, and the points under each other.
class FloatFormat {
 public:
  FloatFormat(const std::vector<float>& values, bool with_plus) : with_plus_(with_plus) {
    choose_notation(values);
    measure(values);
  }

  std::string operator()(float value) const {
    if (!std::isfinite(value)) return padded_left(special(value), left_ + 1 + right_);
    Digits digits = digits_of(value, is_scientific_);
    std::string text = padded_left(signed_integer(digits, value), left_) + '.' + digits.fraction;
    if (is_scientific_) return text + 'e' + digits.exponent;
    return text + std::string(right_ - digits.fraction.size(), ' ');
  }

 private:
  void choose_notation(const std::vector<float>& values) {
    float largest = 0, smallest = INFINITY;
    for (float value : values)
      if (std::isfinite(value) && value != 0) {
        largest = std::max(largest, std::abs(value));
        smallest = std::min(smallest, std::abs(value));
      }
    is_scientific_ = largest > 0 && (largest >= kScientificFrom || smallest < kScientificBelow || largest / smallest > kScientificRatio);
  }

  // All fractions in scientific notation get the digits of the longest.
  void measure(const std::vector<float>& values) {
    std::size_t exponent = 0;
    for (float value : values)
      if (std::isfinite(value)) {
        Digits digits = digits_of(value, is_scientific_);
        left_ = std::max(left_, signed_integer(digits, value).size());
        right_ = std::max(right_, digits.fraction.size());
        exponent = std::max(exponent, digits.exponent.size());
      }
    least_ = is_scientific_ ? int(right_) : 0;
    if (is_scientific_) right_ += 1 + exponent;
    for (float value : values)
      if (!std::isfinite(value)) left_ = std::max(left_, special(value).size() - std::min(special(value).size(), right_ + 1));
  }

  Digits digits_of(float value, bool scientific) const {
    return shardlab::digits_of(value, scientific ? std::chars_format::scientific : std::chars_format::fixed, least_, kPrecision);
  }

  std::string signed_integer(const Digits& digits, float value) const {
    return with_plus_ && !std::signbit(value) ? '+' + digits.integer : digits.integer;
  }

  std::string special(float value) const {
    if (std::isnan(value)) return with_plus_ ? "+nan" : "nan";
    return value < 0 ? "-inf" : with_plus_ ? "+inf" : "inf";
  }

  bool with_plus_, is_scientific_ = false;
  int least_ = 0;                     // digits of a fraction
  std::size_t left_ = 0, right_ = 0;  // characters before and after the point
};

using Format = std::function<std::string(std::int64_t element)>;

// Formats element i of the array; `shown` are the elements that will be.
Format format_of(const TensorType& type, const std::byte* data, const std::vector<std::int64_t>& shown) {
  auto widest = [&](auto values) {
    std::size_t width = 0;
    for (std::int64_t i : shown) width = std::max(width, std::to_string(values[i]).size());
    return [values, width](std::int64_t i) { return padded_left(std::to_string(values[i]), width); };
  };
  switch (type.dtype) {
    case DType::kBool: {
      auto values = reinterpret_cast<const unsigned char*>(data);
      return [values](std::int64_t i) -> std::string { return values[i] ? " True" : "False"; };
    }
    case DType::kInt32:
      return widest(reinterpret_cast<const std::int32_t*>(data));
    case DType::kUint32:
      return widest(reinterpret_cast<const std::uint32_t*>(data));
    case DType::kFloat32: {
      auto values = reinterpret_cast<const float*>(data);
      std::vector<float> floats;
      for (std::int64_t i : shown) floats.push_back(values[i]);
      return [values, format = FloatFormat(floats, false)](std::int64_t i) { return format(values[i]); };
    }
    case DType::kComplex64: {
      auto values = reinterpret_cast<const Complex64*>(data);
      std::vector<float> reals, imaginaries;
      for (std::int64_t i : shown) {
        reals.push_back(values[i].real());
        imaginaries.push_back(values[i].imag());
      }
      return [values, real = FloatFormat(reals, false), imaginary = FloatFormat(imaginaries, true)](std::int64_t i) {
        std::string text = imaginary(values[i].imag());
        text.insert(text.find_last_not_of(' ') + 1, 1, 'j');
        return real(values[i].real()) + text;
      };
    }
  }
  throw InternalError("unknown dtype");
}

// Writes nested brackets; rows longer than a line are wrapped.
class Layout {
 public:
  Layout(const Shape& shape, bool summarise) : shape_(shape), strides_(strides_of(shape)), summarise_(summarise) {}

  // The elements that a summary leaves, in order.
  std::vector<std::int64_t> shown() const {
    std::vector<std::int64_t> elements = {0};
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      std::vector<std::int64_t> next;
      for (std::int64_t element : elements)
        for (std::int64_t i = 0; i < shape_[axis]; ++i) {
          if (is_cut(axis) && i == kEdgeItems) i = shape_[axis] - kEdgeItems;
          next.push_back(element + i * strides_[axis]);
        }
      elements = std::move(next);
    }
    return elements;
  }

  std::string text(const Format& format) const { return nested(format, 0, 0); }

 private:
  bool is_cut(std::size_t axis) const { return summarise_ && shape_[axis] > 2 * kEdgeItems; }

  std::string nested(const Format& format, std::size_t axis, std::int64_t first) const {
    return axis + 1 == shape_.size() ? row(format, axis, first) : rows(format, axis, first);
  }

  std::string rows(const Format& format, std::size_t axis, std::int64_t first) const {
    const std::string separator = std::string(shape_.size() - axis - 1, '\n') + std::string(axis + 1, ' ');
    std::string text = "[";
    for (std::int64_t i = 0; i < shape_[axis]; ++i) {
      if (i > 0) text += separator;
      if (is_cut(axis) && i == kEdgeItems) {
        text += "..." + separator;
        i = shape_[axis] - kEdgeItems;
      }
      text += nested(format, axis + 1, first + i * strides_[axis]);
    }
    return text + ']';
  }

  std::string row(const Format& format, std::size_t axis, std::int64_t first) const {
    // A line leaves place for the brackets that close it.
    const std::size_t indent = axis + 1, width = std::size_t(kLineWidth) - indent;
    std::string text, line(indent, ' ');
    auto extend = [&](const std::string& word) {
      if (line.size() + word.size() > width && line.size() > indent) {
        text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
        line.assign(indent, ' ');
      }
      line += word;
    };
    for (std::int64_t i = 0; i < shape_[axis]; ++i) {
      if (i > 0) line += ' ';
      if (is_cut(axis) && i == kEdgeItems) {
        extend("...");
        line += ' ';
        i = shape_[axis] - kEdgeItems;
      }
      extend(format(first + i * strides_[axis]));
    }
    return '[' + (text + line).substr(indent) + ']';
  }

  const Shape& shape_;
  Shape strides_;
  bool summarise_;
};

// A float alone: shortest digits, in scientific notation from 1e6 and below 1e-4.
std::string scalar_text(float value, bool with_point) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  // In double, as numpy compares: float32's 1e-4 is below it.
  double size = std::abs(double(value));
  if (size != 0 && (size < 1e-4 || size >= double(kScientificFrom))) return chars_of(value, std::chars_format::scientific);
  std::string text = chars_of(value, std::chars_format::fixed);
  if (with_point && text.find('.') == std::string::npos) text += ".0";
  return text;
}

std::string scalar_text(Complex64 value) {
  std::string imaginary = scalar_text(value.imag(), false) + 'j';
  if (value.real() == 0 && !std::signbit(value.real())) return imaginary;
  bool has_sign = std::signbit(value.imag()) && !std::isnan(value.imag());
  return '(' + scalar_text(value.real(), false) + (has_sign ? "" : "+") + imaginary + ')';
}

std::string scalar_text(DType dtype, const std::byte* data) {
  return visit_dtype(dtype, [&](auto zero) -> std::string {
    using T = decltype(zero);
    const T value = *reinterpret_cast<const T*>(data);
    if constexpr (std::is_same_v<T, bool>)
      return value ? "True" : "False";
    else if constexpr (std::is_same_v<T, float>)
      return scalar_text(value, true);
    else if constexpr (std::is_same_v<T, Complex64>)
      return scalar_text(value);
    else
      return std::to_string(value);
  });
}

}  // namespace

std::string numpy_text(const TensorType& type, const std::byte* data) {
  if (type.rank() == 0) return scalar_text(type.dtype, data);
  if (type.elements() == 0) return "[]";
  Layout layout(type.shape, type.elements() > kThreshold);
  return layout.text(format_of(type, data, layout.shown()));
}

}  // namespace shardlab
