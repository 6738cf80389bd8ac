// A moment that a person has marked.
#pragma once

#include <QString>

#include "gui/models/lane_forest.h"

namespace shardlab::gui {

struct TimeMark {
  Ns time = 0;  // of the trace's clock
  QString text;
  bool operator==(const TimeMark&) const = default;
};

}  // namespace shardlab::gui
