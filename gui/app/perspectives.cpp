#include "gui/app/perspectives.h"

#include <array>

namespace shardlab::gui {

std::span<const PerspectiveDef> all_perspectives() {
  static constexpr std::array<PerspectiveDef, 6> kPerspectives{{
      {"hang", "Debug Hang", "Ctrl+Alt+1", "Diagnoses large, with the timeline of what led there", 0.50, 0.42, "diagnoses", 270, 290},
      {"sharding", "Sharding", "Ctrl+Alt+2", "The sharding diagram large, with all collectives beside it", 0.50, 0.52, "collectives", 270,
       290},
      {"performance", "Performance", "Ctrl+Alt+3", "Timeline and traffic: who sends how much to whom in the visible window", 0.42, 0.30,
       "matrix", 0, 290},
      {"compare", "Compare", "Ctrl+Alt+4", "A second run below this one, in the same window of time", 0.62, 0.20, "compare", 0, 0},
      {"time", "Timeline", "Ctrl+Alt+5", "As much timeline as there is room for", 0.26, 0.45, "collectives", 0, 290},
      {"overview", "Overview", "Ctrl+Alt+6", "The run at a glance below its timeline: what stands out, and where the time went", 0.50, 0.32,
       "overview", 270, 290},
  }};
  return kPerspectives;
}

const PerspectiveDef& perspective(std::string_view id) {
  for (const auto& def : all_perspectives())
    if (def.id == id) return def;
  return all_perspectives()[0];
}

}  // namespace shardlab::gui
