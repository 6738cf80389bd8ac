// What many collectives of a trace have alike, once each.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <unordered_map>

#include "gui/models/trace_data.h"
#include "traces/rows.h"

namespace shardlab::gui {

class CollectiveTypes {
 public:
  // `site_count`: sites that the trace knows; others become -1.
  std::shared_ptr<const CollectiveType> make(const traces::CollectiveShape& what, std::size_t site_count);
  // Calls of one place in one program share theirs.
  std::shared_ptr<const CollectiveType> of(const traces::CollectiveRow& row, std::size_t site_count);
  // What programs from this one on had.
  void forget_from(traces::Id program);

 private:
  std::shared_ptr<const DeviceGroups> groups_of(const traces::CollectiveShape& what);

  std::unordered_map<std::string, std::shared_ptr<const DeviceGroups>> groups_;
  std::map<std::tuple<traces::Id, int, traces::Id>, std::shared_ptr<const CollectiveType>> types_;  // by program, call, site
};

}  // namespace shardlab::gui
