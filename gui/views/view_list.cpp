#include <array>

#include "gui/views/view_def.h"

namespace shardlab::gui {

std::span<const ViewDef* const> all_views() {
  static constexpr std::array kViews{&kTimelineView, &kShardingView,     &kReshardView, &kOverviewView,    &kDiagnosesView,
                                     &kSequenceView, &kCallSitesView,    &kWaitsView,   &kCollectivesView, &kEventsView,
                                     &kStatsView,    &kCriticalPathView, &kMemoryView,  &kMatrixView,      &kPredictionView,
                                     &kCompareView,  &kSqlView,          &kRunView,     &kExplorerView,    &kInspectorView};
  return kViews;
}

}  // namespace shardlab::gui
