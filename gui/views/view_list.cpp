#include <array>

#include "gui/views/view_def.h"

namespace shardlab::gui {

std::span<const ViewDef* const> all_views() {
  static constexpr std::array<const ViewDef*, 6> kViews{&kTimelineView,    &kShardingView, &kDiagnosesView,
                                                        &kCollectivesView, &kExplorerView, &kInspectorView};
  return kViews;
}

}  // namespace shardlab::gui
