#include "scenarios/cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/base/error.h"
#include "runtime/base/text.h"

namespace shardlab::cli {
namespace {

const OptionDef* find_option(std::span<const OptionDef> options, std::string_view word) {
  for (const OptionDef& option : options)
    if (option.name == word || (!option.alias.empty() && option.alias == word)) return &option;
  return nullptr;
}

[[noreturn]] void unknown(std::string_view command, std::span<const OptionDef> options, std::string_view word) {
  std::vector<std::string_view> names = {"--help"};
  for (const OptionDef& option : options) names.push_back(option.name);
  throw_user_error("shardlab {}: unknown option '{}'{} (see shardlab {} --help)", command, word, did_you_mean(word, names), command);
}

}  // namespace

Arguments Arguments::parse(std::string_view command, std::span<const OptionDef> options, std::vector<std::string> words,
                           bool takes_program) {
  Arguments result;
  result.command_ = command;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    bool begins_program = takes_program && (word == "--" || options.empty() || word.empty() || word[0] != '-');
    if (begins_program) {
      result.program_.assign(words.begin() + std::ptrdiff_t(i + (word == "--" ? 1 : 0)), words.end());
      break;
    }
    if (word == "--") {
      result.positional_.insert(result.positional_.end(), words.begin() + std::ptrdiff_t(i) + 1, words.end());
      break;
    }
    if (word.size() < 2 || word[0] != '-') {
      result.positional_.push_back(word);
      continue;
    }
    auto equals = word.starts_with("--") ? word.find('=') : std::string::npos;
    const OptionDef* option = find_option(options, word.substr(0, equals));
    if (option == nullptr) unknown(command, options, word.substr(0, equals));
    if (option->value.empty()) {
      if (equals != std::string::npos) throw_user_error("shardlab {}: {} takes no value", command, option->name);
      result.values_[std::string(option->name)] = "";
      continue;
    }
    if (equals == std::string::npos && i + 1 >= words.size())
      throw_user_error("shardlab {}: {} needs a value: {} {}", command, word, option->name, option->value);
    result.values_[std::string(option->name)] = equals != std::string::npos ? word.substr(equals + 1) : words[++i];
  }
  return result;
}

std::optional<std::string> Arguments::text(std::string_view name) const {
  auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t Arguments::integer(std::string_view name, std::int64_t otherwise, std::int64_t least, std::int64_t most) const {
  auto value = text(name);
  if (!value) return otherwise;
  std::int64_t result = 0;
  auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), result);
  if (error != std::errc() || end != value->data() + value->size() || result < least || result > most)
    throw_user_error("shardlab {}: {} wants an integer from {} to {}, got '{}'", command_, name, least, most, *value);
  return result;
}

std::optional<double> Arguments::number(std::string_view name, double least) const {
  auto value = text(name);
  if (!value) return std::nullopt;
  double result = 0;
  auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), result);
  if (error != std::errc() || end != value->data() + value->size() || !std::isfinite(result) || result < least)
    throw_user_error("shardlab {}: {} wants a number of at least {}, got '{}'", command_, name, least, *value);
  return result;
}

std::optional<std::string> Arguments::word(std::string_view name, std::span<const std::string_view> words) const {
  auto value = text(name);
  if (value && std::find(words.begin(), words.end(), *value) == words.end())
    throw_user_error("shardlab {}: {} wants one of {}, got '{}'{}", command_, name, fmt::join(words, ", "), *value,
                     did_you_mean(*value, words));
  return value;
}

}  // namespace shardlab::cli
