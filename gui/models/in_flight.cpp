#include "gui/models/in_flight.h"

#include <algorithm>

namespace shardlab::gui {

InFlight::InFlight(const TraceData& trace) {
  std::vector<std::pair<Ns, double>> changes;
  for (const auto& call : trace.collectives)
    for (const auto& member : call.members) {
      const auto bytes = double(call.type->bytes);
      changes.emplace_back(member.start == kOpen ? member.enter : member.start, bytes);
      if (member.exit != kOpen) changes.emplace_back(member.exit, -bytes);
    }
  std::sort(changes.begin(), changes.end());
  double value = 0;
  for (const auto& [time, change] : changes) {
    value = std::max(value + change, 0.0);
    most_ = std::max(most_, value);
    if (!times_.empty() && times_.back() == time) {
      values_.back() = value;
    } else {
      times_.push_back(time);
      values_.push_back(value);
    }
  }
}

double InFlight::most_in(Ns begin, Ns end) const {
  auto i = std::size_t(std::upper_bound(times_.begin(), times_.end(), begin) - times_.begin());
  double most = i > 0 ? values_[i - 1] : 0;
  for (; i < times_.size() && times_[i] < end; ++i) most = std::max(most, values_[i]);
  return most;
}

}  // namespace shardlab::gui
