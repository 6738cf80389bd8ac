// The definition of a view: what the main window knows of it.
#pragma once

#include <QWidget>

#include <cstdint>
#include <span>
#include <string_view>

#include "gui/models/selection.h"

namespace shardlab::gui {

enum class ViewArea : std::uint8_t { kCentre, kLeft, kRight, kBottom, kBottomRight };

// What a view may use. It outlives the views.
struct ViewContext {
  Selection& selection;
};

struct ViewDef {
  std::string_view id;  // for --view and stored layouts
  const char* title;
  const char* key;  // shows and focuses it, e.g. "Ctrl+1"
  const char* doc;  // one sentence, for tooltips and the key map
  ViewArea area;
  QWidget* (*make)(ViewContext&);
};

// All views; the first of an area is the one in front. Exactly one is in the centre.
std::span<const ViewDef* const> all_views();

extern const ViewDef kTimelineView;
extern const ViewDef kShardingView;
extern const ViewDef kDiagnosesView;
extern const ViewDef kCollectivesView;
extern const ViewDef kExplorerView;
extern const ViewDef kInspectorView;

}  // namespace shardlab::gui
