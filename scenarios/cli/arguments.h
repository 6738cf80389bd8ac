// The options of a command line.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardlab::cli {

struct OptionDef {
  std::string_view name;   // "--report"
  std::string_view alias;  // "-r" or empty
  std::string_view value;  // "FILE", as help shows it; empty: a flag
  std::string_view help;
};

// What a command line says. Getters throw UserError naming the option, what it got and what it wants.
class Arguments {
 public:
  // `words` without the program's and the command's names. With `takes_program` and no options all words are the program's. UserError
  // for an unknown option, with the nearest, and for a missing value.
  static Arguments parse(std::string_view command, std::span<const OptionDef> options, std::vector<std::string> words, bool takes_program);

  bool has(std::string_view name) const { return values_.contains(name); }
  std::optional<std::string> text(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise, std::int64_t least, std::int64_t most) const;
  std::optional<double> number(std::string_view name, double least) const;
  // One of these words.
  std::optional<std::string> word(std::string_view name, std::span<const std::string_view> words) const;
  const std::vector<std::string>& positional() const { return positional_; }
  const std::vector<std::string>& program() const { return program_; }

 private:
  std::string command_;
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> positional_, program_;
};

}  // namespace shardlab::cli
