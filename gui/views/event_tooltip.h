// What a tooltip says of an event of the timeline.
#pragma once

#include <QString>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// HTML: kind, op, groups, bytes, wire bytes, waiting and transfer, source line, diagnosis.
QString event_tooltip(const TraceData& trace, const Lane& lane, std::size_t index);

}  // namespace shardlab::gui
