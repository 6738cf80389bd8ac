// The filter language of tables and palette: "kind:all-gather dev:0-3 dur>10us matmul".
//
// Words are joined by "and". `field:value` compares text (a part of it) or numbers (lists and ranges), `field<value` and
// `field>value` compare numbers with units (ns us ms s, B KiB MiB GiB); a bare word is looked for in all text; "-" before a word
// negates it.
#pragma once

#include <QString>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

struct FilterFieldDef {
  const char* name;
  const char* doc;
};
std::span<const FilterFieldDef> filter_fields();

// What a row of any table offers to the filter; -1 and empty where it has no such thing.
struct FilterRow {
  std::string_view kind, name, op, place, state;
  int process = -1, device = -1;
  std::int64_t collective = -1, seq = -1;
  std::span<const int> arrays = {};  // of Filter::arrays(), those that its launch took or gave
  Ns duration = -1, time = -1;
  std::int64_t bytes = -1;
};

class Filter {
 public:
  // An error says what was not understood and what to write; the filter then lets everything pass.
  static Filter parse(const QString& text, QString* error = nullptr);
  bool empty() const { return terms_.empty(); }
  bool passes(const FilterRow& row) const;
  // That it asks for by number, ascending.
  std::vector<int> arrays() const;

 private:
  enum class Op : std::uint8_t { kContains, kEqual, kLess, kMore };
  struct Term {
    int field = -1;  // index of filter_fields(); -1: any text
    Op op = Op::kContains;
    bool negated = false;
    std::string text;  // lower case
    double number = 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  };
  bool matches(const Term& term, const FilterRow& row) const;
  std::vector<Term> terms_;
};

// "10us" is 10000, "4KiB" 4096, "7" 7; nothing where it is no number.
std::optional<double> parse_quantity(const QString& text);

}  // namespace shardlab::gui
