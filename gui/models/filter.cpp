#include "gui/models/filter.h"

#include <QRegularExpression>

#include <algorithm>
#include <array>
#include <cctype>

#include "gui/models/format.h"
#include "runtime/base/text.h"

namespace shardlab::gui {
namespace {

enum Field { kKind, kName, kOp, kAt, kState, kProc, kDev, kColl, kSeq, kDur, kTime, kBytes, kArray };

constexpr std::int64_t kArraysMax = 64;  // that one filter asks for

constexpr std::array<FilterFieldDef, 13> kFields{{
    {"kind", "compute, all-reduce, all-gather … (a part of it is enough)"},
    {"name", "the event's name"},
    {"op", "the operation of the program"},
    {"at", "the source place: toy.cpp, toy.cpp:31"},
    {"state", "matched, mismatched, partial, in a circle, open"},
    {"proc", "process: 3, 0-3, 0,2"},
    {"dev", "device: 3, 0-3, 0,2"},
    {"coll", "number of the collective"},
    {"seq", "rank of the call on its devices"},
    {"dur", "duration: dur>10us, dur<1ms"},
    {"time", "begin, from the start of the trace: time>2ms"},
    {"bytes", "size: bytes>4KiB"},
    {"array", "number of an array that the launch took or gave: 7, 0-3, 0,2"},
}};

bool numeric(int field) { return field >= kProc; }

bool contains(std::string_view text, const std::string& lower) {
  return std::search(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
           return std::tolower(static_cast<unsigned char>(a)) == static_cast<unsigned char>(b);
         }) != text.end();
}

double number_of(int field, const FilterRow& row) {
  switch (field) {
    case kProc:
      return row.process;
    case kDev:
      return row.device;
    case kColl:
      return double(row.collective);
    case kSeq:
      return double(row.seq);
    case kDur:
      return double(row.duration);
    case kTime:
      return double(row.time);
    default:
      return double(row.bytes);
  }
}

std::string_view text_of(int field, const FilterRow& row) {
  switch (field) {
    case kKind:
      return row.kind;
    case kName:
      return row.name;
    case kOp:
      return row.op;
    case kAt:
      return row.place;
    default:
      return row.state;
  }
}

}  // namespace

std::span<const FilterFieldDef> filter_fields() { return kFields; }

std::optional<double> parse_quantity(const QString& text) {
  static const QRegularExpression kNumber(QStringLiteral("^(-?\\d+(?:\\.\\d+)?)\\s*([a-zµA-Z]*)$"));
  const auto match = kNumber.match(text);
  if (!match.hasMatch()) return {};
  static const std::pair<const char*, double> kUnits[] = {{"", 1},          {"ns", 1},   {"us", 1e3},         {"µs", 1e3},   {"ms", 1e6},
                                                          {"s", 1e9},       {"b", 1},    {"k", 1e3},          {"kib", 1024}, {"kb", 1e3},
                                                          {"mib", 1048576}, {"mb", 1e6}, {"gib", 1073741824}, {"gb", 1e9}};
  for (const auto& [unit, factor] : kUnits)
    if (match.captured(2).toLower() == QString::fromUtf8(unit)) return match.captured(1).toDouble() * factor;
  return {};
}

Filter Filter::parse(const QString& text, QString* error) {
  Filter filter;
  const auto fail = [&](const QString& message) {
    if (error) *error = message;
    return Filter{};
  };
  if (error) error->clear();
  static const QRegularExpression kWord(QStringLiteral("(-?)(?:([A-Za-z]+)(:|<|>))?(?:\"([^\"]*)\"|(\\S+))"));
  for (auto it = kWord.globalMatch(text); it.hasNext();) {
    const auto match = it.next();
    Term term{.negated = !match.captured(1).isEmpty()};
    const QString value = match.captured(4).isEmpty() ? match.captured(5) : match.captured(4);
    const QString name = match.captured(2).toLower();
    if (!name.isEmpty()) {
      const auto field =
          std::find_if(kFields.begin(), kFields.end(), [&](const FilterFieldDef& def) { return name == QLatin1String(def.name); });
      if (field == kFields.end()) {
        std::vector<std::string_view> names;
        for (const auto& def : kFields) names.emplace_back(def.name);
        return fail(QStringLiteral("there is no field \"%1\"%2").arg(name, qstr(did_you_mean(name.toStdString(), names))));
      }
      term.field = int(field - kFields.begin());
    }
    const QString sign = match.captured(3);
    if (sign == QLatin1String("<") || sign == QLatin1String(">")) {
      const auto number = parse_quantity(value);
      if (!number || !numeric(term.field) || term.field == kArray)
        return fail(QStringLiteral("%1%2 wants a number with a unit, like %1%2%3")
                        .arg(name, sign, name == QLatin1String("bytes") ? QStringLiteral("4KiB") : QStringLiteral("10us")));
      term.op = sign == QLatin1String("<") ? Op::kLess : Op::kMore;
      term.number = *number;
    } else if (numeric(term.field)) {
      term.op = Op::kEqual;
      for (const QString& part : value.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
        const auto first = parse_quantity(part.section(QLatin1Char('-'), 0, 0)), last = parse_quantity(part.section(QLatin1Char('-'), -1));
        if (!first || !last) return fail(QStringLiteral("%1: wants numbers, like %1:3, %1:0-3 or %1:0,2").arg(name));
        term.ranges.emplace_back(std::int64_t(*first), std::int64_t(*last));
        if (term.field == kArray && (*first < 0 || *last - *first >= double(kArraysMax)))
          return fail(QStringLiteral("array: wants numbers, at most %1 at once").arg(kArraysMax));
      }
    } else {
      term.text = value.toLower().toStdString();
    }
    filter.terms_.push_back(std::move(term));
  }
  return filter;
}

bool Filter::matches(const Term& term, const FilterRow& row) const {
  switch (term.op) {
    case Op::kContains:
      if (term.field >= 0) return contains(text_of(term.field, row), term.text);
      for (int field = kKind; field <= kState; ++field)
        if (contains(text_of(field, row), term.text)) return true;
      return false;
    case Op::kEqual: {
      const auto is_asked_for = [&](std::int64_t value) {
        return std::any_of(term.ranges.begin(), term.ranges.end(),
                           [value](const auto& range) { return range.first <= value && value <= range.second; });
      };
      if (term.field == kArray) return std::any_of(row.arrays.begin(), row.arrays.end(), is_asked_for);
      return is_asked_for(std::int64_t(number_of(term.field, row)));
    }
    case Op::kLess:
      return number_of(term.field, row) >= 0 && number_of(term.field, row) < term.number;
    case Op::kMore:
      break;
  }
  return number_of(term.field, row) > term.number;
}

std::vector<int> Filter::arrays() const {
  std::vector<int> all;
  for (const Term& term : terms_)
    if (term.field == kArray)
      for (const auto& [first, last] : term.ranges)
        for (std::int64_t array = first; array <= last; ++array) all.push_back(int(array));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool Filter::passes(const FilterRow& row) const {
  return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) { return matches(term, row) != term.negated; });
}

}  // namespace shardlab::gui
