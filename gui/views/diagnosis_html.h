// A diagnosis as rich text: message, both sides beside each other with what differs marked, their sources, explanation.
#pragma once

#include <QString>

#include <vector>

#include "gui/models/trace_data.h"
#include "gui/views/theme.h"

namespace shardlab::gui {

// Participants that agree in everything but their process and devices.
struct Side {
  std::vector<int> processes;
  std::vector<int> devices;
  const Participant* participant = nullptr;
  bool guilty = false;
};
std::vector<Side> sides_of(const Diagnosis& diagnosis);

// Links: "process:3", "collective:7".
QString diagnosis_html(const TraceData& trace, int diagnosis, const Theme& theme);

// What the pane says where there is nothing to choose.
QString no_diagnosis_html(const TraceData& trace, const Theme& theme);

}  // namespace shardlab::gui
