// The verdict on a trace in one sentence, and the perspective that fits it.
#pragma once

#include <QString>
#include <QStringList>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

enum class VerdictLevel : std::uint8_t { kGood, kNote, kWarning, kError };

struct Verdict {
  VerdictLevel level = VerdictLevel::kGood;
  QString sentence;     // what happened
  QString context;      // "deadlock.db · 4 processes · 8 devices · 37 collectives · 1.2 ms"
  QString perspective;  // id: "hang" with diagnoses, "sharding" while it runs, else "overview"
};

Verdict make_verdict(const TraceData& trace);

}  // namespace shardlab::gui
