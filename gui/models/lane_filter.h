// Which lanes are hidden by a pattern: a part of a name, a glob, or a regular expression.
#pragma once

#include <QRegularExpression>
#include <QString>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// "CPU 1" hides the lanes that have it in their name, "proc 0 *" and "CPU ?" those whose name they are all of, "/CPU [0-3]$/" those that
// the regular expression finds; with "!" before it, all others. Case does not matter.
class LaneFilter {
 public:
  LaneFilter() = default;  // hides nothing
  explicit LaneFilter(const QString& pattern);

  bool empty() const { return pattern_.isEmpty(); }
  const QString& pattern() const { return pattern_; }
  // Why it is none, or "": such a one hides nothing.
  const QString& error() const { return error_; }
  bool hides(const Lane& lane) const;

 private:
  QString pattern_, error_;
  QRegularExpression expression_;
  bool others_ = false;  // hides what it does not fit
};

// What a pattern is held against: "proc 0 CPU 3", "proc 0 host".
QString lane_title(const Lane& lane);

}  // namespace shardlab::gui
