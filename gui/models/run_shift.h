// How the clocks of two runs are laid beside each other: aligned at their starts, at a moment of both, or by a number.
#pragma once

#include <QString>

#include <optional>

#include "gui/models/selection.h"

namespace shardlab::gui {

struct RunShift {
  enum class How : std::uint8_t { kStart, kHere, kTyped };
  How how = How::kStart;
  Ns offset = 0;  // after its start, the second run is shown later by so much

  // From a time of the first run to that of the second that is shown at the same place.
  Ns between(const TraceData& first, const TraceData& second) const { return second.range.begin - first.range.begin - offset; }
  // "aligned at start", "aligned at what is chosen, second run 3.2 ms later".
  QString text() const;
};

// Begin of what is chosen: of an event, of a range, of a collective. Nothing where none of them is.
std::optional<Ns> moment_of(const TraceData& trace, const SelectionState& state);
// Lays what is chosen in both above each other. Nothing where one of them has nothing chosen.
std::optional<RunShift> aligned_here(const TraceData& first, const SelectionState& chosen, const TraceData& second,
                                     const SelectionState& chosen_second);
// "3.2 ms", "-40us", "0": nothing for other text. A number without a unit is of nanoseconds.
std::optional<Ns> parse_shift(const QString& text);

}  // namespace shardlab::gui
