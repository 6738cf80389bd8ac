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

template <typename Float>
double as_double(Float value) {
  if constexpr (Half<Float>)
    return double(float(value));
  else
    return double(value);
}

constexpr int kPrecision = 8;              // fractional digits at most
constexpr std::int64_t kThreshold = 1000;  // more elements are summarised
constexpr std::int64_t kEdgeItems = 3;
constexpr int kLineWidth = 75;
constexpr double kScientificBelow = 1e-4;
constexpr double kScientificRatio = 1e3;

// 10 ** min(8, finfo(dtype).precision): the numbers from which an array is written in scientific notation.
template <typename Float>
constexpr double kScientificFrom = std::is_same_v<Float, Float16> ? 1e3
                                   : std::is_same_v<Float, float> ? 1e6
                                                                  : 1e8;
// The same for a number alone; a double is written as Python does.
template <typename Float>
constexpr double kScalarScientificFrom = std::is_same_v<Float, double> ? 1e16 : kScientificFrom<Float>;

template <typename Float, typename... Format>
std::string chars_of(Float value, Format... format) {
  char buffer[128];
  auto end = std::to_chars(std::begin(buffer), std::end(buffer), value, format...).ptr;
  return {buffer, end};
}

// The fewest digits that read back to the same half. The digits of a half are few: they are tried one after another.
std::string chars_of(Float16 value, std::chars_format format) {
  std::string digits;
  for (int precision = 0; precision < 8; ++precision) {
    digits = chars_of(double(float(value)), std::chars_format::scientific, precision);
    if (Float16(std::strtof(digits.c_str(), nullptr)) == value) break;
  }
  return chars_of(std::strtod(digits.c_str(), nullptr), format);
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
// digits of the exact value, rounded: to_chars with a precision rounds correctly, and a double holds every narrower float.
template <typename Float>
Digits digits_of(Float value, std::chars_format format, int least, int most) {
  Digits digits = parse_digits(chars_of(value, format));
  int count = int(digits.fraction.size());
  if (count < least || count > most) {
    digits = parse_digits(chars_of(as_double(value), format, count < least ? least : most));
    while (int(digits.fraction.size()) > least && digits.fraction.back() == '0') digits.fraction.pop_back();
  }
  return digits;
}

std::string padded_left(std::string text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

// Formats the floats of one array alike: the same notation, and the points under each other.
template <typename Float>
class FloatFormat {
 public:
  FloatFormat(const std::vector<Float>& values, bool with_plus) : with_plus_(with_plus) {
    choose_notation(values);
    measure(values);
  }

  std::string operator()(Float value) const {
    if (!std::isfinite(as_double(value))) return padded_left(special(value), left_ + 1 + right_);
    Digits digits = digits_of(value, is_scientific_);
    std::string text = padded_left(signed_integer(digits, value), left_) + '.' + digits.fraction;
    if (is_scientific_) return text + 'e' + digits.exponent;
    return text + std::string(right_ - digits.fraction.size(), ' ');
  }

 private:
  static double in_type(double value) { return as_double(element_from<Float>(value)); }

  void choose_notation(const std::vector<Float>& values) {
    double largest = 0, smallest = INFINITY;
    for (Float each : values)
      if (double value = as_double(each); std::isfinite(value) && value != 0) {
        largest = std::max(largest, std::abs(value));
        smallest = std::min(smallest, std::abs(value));
      }
    // numpy compares in the array's own type.
    is_scientific_ = largest > 0 && (largest >= kScientificFrom<Float> || smallest < in_type(kScientificBelow) ||
                                     in_type(largest / smallest) > kScientificRatio);
  }

  // All fractions in scientific notation get the digits of the longest.
  void measure(const std::vector<Float>& values) {
    std::size_t exponent = 0;
    for (Float value : values)
      if (std::isfinite(as_double(value))) {
        Digits digits = digits_of(value, is_scientific_);
        left_ = std::max(left_, signed_integer(digits, value).size());
        right_ = std::max(right_, digits.fraction.size());
        exponent = std::max(exponent, digits.exponent.size());
      }
    least_ = is_scientific_ ? int(right_) : 0;
    if (is_scientific_) right_ += 1 + exponent;
    for (Float value : values)
      if (!std::isfinite(as_double(value))) left_ = std::max(left_, special(value).size() - std::min(special(value).size(), right_ + 1));
  }

  Digits digits_of(Float value, bool scientific) const {
    return shardlab::digits_of(value, scientific ? std::chars_format::scientific : std::chars_format::fixed, least_, kPrecision);
  }

  std::string signed_integer(const Digits& digits, Float value) const {
    return with_plus_ && !std::signbit(as_double(value)) ? '+' + digits.integer : digits.integer;
  }

  std::string special(Float each) const {
    double value = as_double(each);
    if (std::isnan(value)) return with_plus_ ? "+nan" : "nan";
    return value < 0 ? "-inf" : with_plus_ ? "+inf" : "inf";
  }

  bool with_plus_, is_scientific_ = false;
  int least_ = 0;                     // digits of a fraction
  std::size_t left_ = 0, right_ = 0;  // characters before and after the point
};

using Format = std::function<std::string(std::int64_t element)>;

template <typename T>
Format whole_format(const T* values, const std::vector<std::int64_t>& shown) {
  std::size_t width = 0;
  for (std::int64_t i : shown) width = std::max(width, std::to_string(values[i]).size());
  return [values, width](std::int64_t i) { return padded_left(std::to_string(values[i]), width); };
}

template <typename T>
Format float_format(const T* values, const std::vector<std::int64_t>& shown) {
  std::vector<T> floats;
  for (std::int64_t i : shown) floats.push_back(values[i]);
  return [values, format = FloatFormat<T>(floats, false)](std::int64_t i) { return format(values[i]); };
}

template <Cplx T>
Format complex_format(const T* values, const std::vector<std::int64_t>& shown) {
  using Part = typename T::value_type;
  std::vector<Part> reals, imaginaries;
  for (std::int64_t i : shown) {
    reals.push_back(values[i].real());
    imaginaries.push_back(values[i].imag());
  }
  return [values, real = FloatFormat<Part>(reals, false), imaginary = FloatFormat<Part>(imaginaries, true)](std::int64_t i) {
    std::string text = imaginary(values[i].imag());
    text.insert(text.find_last_not_of(' ') + 1, 1, 'j');
    return real(values[i].real()) + text;
  };
}

// bfloat16 is no type of numpy's own: six significant digits, each element as wide as it is.
std::string scalar_text(Bfloat16 value) {
  float wide = float(value);
  if (std::isnan(wide)) return "nan";
  return fmt::format("{:g}", wide);
}

// Formats element i of the array; `shown` are the elements that will be.
Format format_of(const TensorType& type, const std::byte* data, const std::vector<std::int64_t>& shown) {
  return visit_dtype(type.dtype, [&]<typename T>(T) -> Format {
    if constexpr (Bool<T>) {
      auto values = reinterpret_cast<const unsigned char*>(data);
      return [values](std::int64_t i) -> std::string { return values[i] ? " True" : "False"; };
    } else if constexpr (Whole<T>) {
      return whole_format(reinterpret_cast<const T*>(data), shown);
    } else if constexpr (std::is_same_v<T, Bfloat16>) {
      auto values = reinterpret_cast<const Bfloat16*>(data);
      return [values](std::int64_t i) { return scalar_text(values[i]); };
    } else if constexpr (Cplx<T>) {
      return complex_format(reinterpret_cast<const T*>(data), shown);
    } else {
      return float_format(reinterpret_cast<const T*>(data), shown);
    }
  });
}

// Writes nested brackets; rows longer than a line are wrapped.
class TextLayout {
 public:
  TextLayout(const Shape& shape, bool summarise) : shape_(shape), strides_(strides_of(shape)), summarise_(summarise) {}

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

// A float alone: shortest digits, in scientific notation from 1e6 (float32) and below 1e-4.
template <typename Float>
std::string scalar_text(Float value, bool with_point) {
  // In double, as numpy compares: float32's 1e-4 is below it.
  double wide = as_double(value), size = std::abs(wide);
  if (std::isnan(wide)) return "nan";
  if (std::isinf(wide)) return wide < 0 ? "-inf" : "inf";
  if (size != 0 && (size < 1e-4 || size >= kScalarScientificFrom<Float>)) return chars_of(value, std::chars_format::scientific);
  std::string text = chars_of(value, std::chars_format::fixed);
  if (with_point && text.find('.') == std::string::npos) text += ".0";
  return text;
}

template <Cplx T>
std::string scalar_text(T value) {
  std::string imaginary = scalar_text(value.imag(), false) + 'j';
  if (value.real() == 0 && !std::signbit(value.real())) return imaginary;
  bool has_sign = std::signbit(value.imag()) && !std::isnan(value.imag());
  return '(' + scalar_text(value.real(), false) + (has_sign ? "" : "+") + imaginary + ')';
}

std::string scalar_text(DType dtype, const std::byte* data) {
  return visit_dtype(dtype, [&]<typename T>(T) -> std::string {
    const T value = *reinterpret_cast<const T*>(data);
    if constexpr (Bool<T>)
      return value ? "True" : "False";
    else if constexpr (Whole<T>)
      return std::to_string(value);
    else if constexpr (Cplx<T> || std::is_same_v<T, Bfloat16>)
      return scalar_text(value);
    else
      return scalar_text(value, true);
  });
}

}  // namespace

std::string numpy_text(const TensorType& type, const std::byte* data) {
  if (type.rank() == 0) return scalar_text(type.dtype, data);
  if (type.elements() == 0) return "[]";
  TextLayout layout(type.shape, type.elements() > kThreshold);
  return layout.text(format_of(type, data, layout.shown()));
}

}  // namespace shardlab
