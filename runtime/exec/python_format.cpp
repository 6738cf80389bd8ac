#include "runtime/exec/python_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/exec/visualize.h"

namespace shardlab {
namespace {

HostArray as_type(const HostArray& value, DType dtype) {
  auto data = std::make_shared<Buffer>(std::size_t(value.size() * size_of(dtype)));
  convert_elements(value.dtype(), value.data(), dtype, data->data(), value.size());
  return Literal{{dtype, value.shape()}, data};
}

// As Python's str() of a number of its own: JAX formats scalars so.
std::string plain_text(const HostArray& value) {
  if (value.ndim() > 0) return value.text();
  if (is_complex(value.dtype())) return as_type(value, DType::kComplex128).text();
  return is_floating(value.dtype()) ? as_type(value, DType::kFloat64).text() : value.text();
}

template <typename T>
std::string formatted(std::string_view spec, const T& value) {
  try {
    return fmt::format(fmt::runtime(fmt::format("{{:{}}}", spec)), value);
  } catch (const fmt::format_error& error) { throw_user_error("Invalid format specifier '{}': {}", spec, error.what()); }
}

std::string padded(std::string_view spec, const std::string& text) {
  const bool is_aligned = spec.find_first_of("<>^") != spec.npos;
  return formatted(is_aligned ? std::string(spec) : fmt::format(">{}", spec), text);
}

std::string float_text(std::string_view spec, const HostArray& value) {
  const double number = as_type(value, DType::kFloat64).item<double>();
  const char type = spec.back();
  if (type == '%') return formatted(fmt::format("{}f", spec.substr(0, spec.size() - 1)), number * 100) + "%";
  const bool is_bare = std::isalpha(static_cast<unsigned char>(type)) == 0 && spec.find('.') == spec.npos &&
                       spec.find_first_of("+- #0") != 0;  // as str(), aligned
  if (is_bare) return padded(spec, plain_text(value));
  if (std::string_view("dbcoxX").find(type) != std::string_view::npos)
    throw_user_error("Unknown format code '{}' for object of type 'float'", type);
  return formatted(spec, number);
}

std::string text_of(std::string_view spec, const PythonFormat::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return spec.empty() ? *text : formatted(spec, *text);
  const HostArray& array = std::get<HostArray>(value);
  if (spec.empty()) return plain_text(array);
  if (array.ndim() > 0) throw_user_error("unsupported format string passed to numpy.ndarray.__format__");
  if (is_complex(array.dtype())) throw_user_error("a complex number has no format specification here; format its real and imaginary parts");
  const bool wants_float = std::string_view("eEfFgG%").find(spec.back()) != std::string_view::npos;
  if (is_floating(array.dtype()) || wants_float) return float_text(spec, array);
  return formatted(spec, as_type(array, DType::kInt64).item<std::int64_t>());
}

}  // namespace

PythonFormat::PythonFormat(std::string_view text) {
  std::string literal;
  std::size_t next = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_double = at + 1 < text.size() && text[at + 1] == c;
    if ((c == '{' || c == '}') && is_double) {
      literal += c;
      ++at;
    } else if (c == '}') {
      throw_user_error("Single '}}' encountered in format string");
    } else if (c == '{') {
      const std::size_t end = text.find('}', at);
      if (end == text.npos) throw_user_error("Single '{{' encountered in format string");
      std::string_view inside = text.substr(at + 1, end - at - 1);
      Field field;
      const std::size_t colon = inside.find(':');
      if (colon != inside.npos) field.spec = inside.substr(colon + 1);
      std::string_view key = inside.substr(0, colon);
      if (key.ends_with("!s")) key.remove_suffix(2);
      if (key.find_first_of(".[!") != key.npos)
        throw_user_error("the field {{{}}} asks for an attribute, an item or a conversion of a value; give that itself", inside);
      std::size_t number = 0;
      const auto [rest, error] = std::from_chars(key.data(), key.data() + key.size(), number);
      if (key.empty())
        field.key = next++;
      else if (error == std::errc() && rest == key.data() + key.size())
        field.key = number;
      else
        field.key = std::string(key);
      pieces_.emplace_back(std::exchange(literal, {}));
      pieces_.emplace_back(std::move(field));
      at = end;
    } else {
      literal += c;
    }
  }
  pieces_.emplace_back(std::move(literal));
}

std::optional<std::size_t> PythonFormat::index_of(const Field& field, const std::vector<std::string>& names) const {
  if (const auto* name = std::get_if<std::string>(&field.key)) {
    const auto found = std::find(names.begin(), names.end(), *name);
    return found == names.end() ? std::nullopt : std::optional(std::size_t(found - names.begin()));
  }
  std::size_t left = std::get<std::size_t>(field.key);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i].empty() && left-- == 0) return i;
  return std::nullopt;
}

std::vector<std::size_t> PythonFormat::unused(const std::vector<std::string>& names) const {
  std::vector<bool> used(names.size(), false);
  for (const auto& piece : pieces_) {
    const auto* field = std::get_if<Field>(&piece);
    if (field == nullptr) continue;
    const auto index = index_of(*field, names);
    if (index)
      used[*index] = true;
    else if (const auto* name = std::get_if<std::string>(&field->key))
      throw_user_error("KeyError: '{}': the format asks for an argument of this name", *name);
    else
      throw_user_error("Replacement index {} out of range for positional args tuple: the format asks for {} of them, got {}",
                       std::get<std::size_t>(field->key), std::get<std::size_t>(field->key) + 1,
                       std::count(names.begin(), names.end(), std::string()));
  }
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!used[i]) left.push_back(i);
  return left;
}

std::string PythonFormat::apply(const std::vector<Named>& values) const {
  std::vector<std::string> names;
  for (const Named& each : values) names.push_back(each.name);
  std::string result;
  for (const auto& piece : pieces_) {
    if (const auto* literal = std::get_if<std::string>(&piece)) {
      result += *literal;
      continue;
    }
    const Field& field = std::get<Field>(piece);
    const auto index = index_of(field, names);
    SL_CHECK(index.has_value(), "a field of a format that was checked has no value");
    result += text_of(field.spec, values[*index].value);
  }
  return result;
}

}  // namespace shardlab
