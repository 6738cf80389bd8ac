#include "gui/models/run_shift.h"

#include <QRegularExpression>

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/models/format.h"

namespace shardlab::gui {

QString RunShift::text() const {
  const QString head = how == How::kHere ? QStringLiteral("aligned at what is chosen") : QStringLiteral("shifted");
  if (offset == 0) return how == How::kHere ? head : QStringLiteral("aligned at start");
  return QStringLiteral("%1: second run %2 %3")
      .arg(head, duration_text(std::abs(offset)), offset > 0 ? QStringLiteral("later") : QStringLiteral("earlier"));
}

std::optional<Ns> moment_of(const TraceData& trace, const SelectionState& state) {
  if (state.lane >= 0 && state.event >= 0) return trace.lanes[std::size_t(state.lane)].events->begin[std::size_t(state.event)];
  if (!state.range.empty()) return state.range.begin;
  if (state.collective >= 0) return trace.collectives[std::size_t(state.collective)].span().begin;
  return {};
}

std::optional<RunShift> aligned_here(const TraceData& first, const SelectionState& chosen, const TraceData& second,
                                     const SelectionState& chosen_second) {
  const auto here = moment_of(first, chosen), there = moment_of(second, chosen_second);
  if (!here || !there) return {};
  return RunShift{RunShift::How::kHere, (*here - first.range.begin) - (*there - second.range.begin)};
}

std::optional<Ns> parse_shift(const QString& text) {
  static const QRegularExpression kForm(QStringLiteral("^\\s*([+-]?\\d+(?:\\.\\d+)?)\\s*(ns|us|µs|ms|s)?\\s*$"));
  static const std::array<std::pair<QString, double>, 6> kUnits{{{QString(), 1},
                                                                 {QStringLiteral("ns"), 1},
                                                                 {QStringLiteral("us"), 1e3},
                                                                 {QStringLiteral("µs"), 1e3},
                                                                 {QStringLiteral("ms"), 1e6},
                                                                 {QStringLiteral("s"), 1e9}}};
  const QRegularExpressionMatch match = kForm.match(text);
  if (!match.hasMatch()) return {};
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const auto& each) { return each.first == match.captured(2); });
  const double ns = match.captured(1).toDouble() * unit->second;
  constexpr double kMost = 1e17;  // three years
  return std::abs(ns) <= kMost ? std::optional(Ns(std::llround(ns))) : std::nullopt;
}

}  // namespace shardlab::gui
