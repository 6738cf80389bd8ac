// Numbers and lists as people read them: durations, bytes, sets of devices, plurals.
#pragma once

#include <QString>
#include <QStringList>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gui/models/lane_forest.h"

namespace shardlab::gui {

inline QString qstr(std::string_view text) { return QString::fromUtf8(text.data(), qsizetype(text.size())); }

// "1.234 ms", three to four digits.
QString duration_text(Ns ns);

// A time on an axis whose ticks are `step` apart: only as many decimals as the ticks need, in one unit for the axis.
QString tick_text(Ns time, Ns step);

// "64 B", "1.5 KiB".
QString bytes_text(std::int64_t bytes);

// "0–3, 6" for {0,1,2,3,6}; at most `limit` characters, then "…".
QString set_text(std::vector<int> ordinals, int limit = 1 << 20);

// "1 process", "4 processes".
QString count_text(std::int64_t count, const char* singular, const char* plural);

// HTML-escaped.
QString html(std::string_view text);

}  // namespace shardlab::gui
