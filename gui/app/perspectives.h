// Perspectives: which views are in front, and how much room each area has.
#pragma once

#include <span>
#include <string_view>

namespace shardlab::gui {

struct PerspectiveDef {
  std::string_view id;
  const char* title;
  const char* key;
  const char* doc;
  double bottom_share;       // of the window's height
  double bottom_left_share;  // of the bottom's width
  std::string_view front;    // the view in front at the bottom right
  int left_px, right_px;     // 0: hidden
};

std::span<const PerspectiveDef> all_perspectives();
// The first where there is no such id.
const PerspectiveDef& perspective(std::string_view id);

}  // namespace shardlab::gui
