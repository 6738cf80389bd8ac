#include "gui/models/selection.h"

#include <algorithm>

namespace shardlab::gui {
namespace {

template <typename Rows>
bool within(const Rows& rows, std::int64_t index) {
  return index >= 0 && std::size_t(index) < rows.size();
}

// The index in `to` of what `from` has at `index`: of those that are the same, the one with the same rank among them. -1: none.
template <typename Rows, typename Same>
int moved(const Rows& from, const Rows& to, int index, Same same) {
  if (!within(from, index)) return -1;
  int rank = 0;
  for (int i = 0; i < index; ++i) rank += same(from[std::size_t(i)], from[std::size_t(index)]);
  for (int i = 0; i < int(to.size()); ++i)
    if (same(to[std::size_t(i)], from[std::size_t(index)]) && rank-- == 0) return i;
  return -1;
}

SelectionState moved(const SelectionState& state, const TraceData& from, const TraceData& to) {
  SelectionState next = state;
  next.array = moved(from.arrays, to.arrays, state.array,
                     [](const Array& a, const Array& b) { return a.name == b.name && a.time == b.time && a.process == b.process; });
  next.collective = moved(from.collectives, to.collectives, state.collective, [](const Collective& a, const Collective& b) {
    return a.seq == b.seq && a.call == b.call && a.type->kind == b.type->kind && a.type->groups->lists == b.type->groups->lists;
  });
  next.lane =
      moved(from.lanes, to.lanes, state.lane, [](const Lane& a, const Lane& b) { return a.process == b.process && a.device == b.device; });
  next.event = -1;
  if (next.lane >= 0 && state.event >= 0) {
    const Ns time = from.lanes[std::size_t(state.lane)].events->begin[std::size_t(state.event)];
    const auto& begin = to.lanes[std::size_t(next.lane)].events->begin;
    const auto at = std::lower_bound(begin.begin(), begin.end(), time);
    if (at != begin.end() && *at == time) next.event = at - begin.begin();
  }
  if (!within(to.diagnoses, state.diagnosis)) next.diagnosis = -1;
  if (next.device >= 0 && !to.device(next.device)) next.device = -1;
  if (next.process >= 0 && !to.process(next.process)) next.process = -1;
  return next;
}

}  // namespace

// The first that did not come to its end; of those that did, which sides name as their last, the first.
int collective_of_diagnosis(const TraceData& trace, int diagnosis) {
  int ended = -1;
  for (std::size_t i = 0; i < trace.collectives.size(); ++i) {
    const Collective& call = trace.collectives[i];
    if (call.diagnosis != diagnosis) continue;
    if (call.state != "matched" || call.open || !call.not_begun.empty()) return static_cast<int>(i);
    if (ended < 0) ended = static_cast<int>(i);
  }
  return ended;
}

// The first named array of those on the most devices: the others are in between, or on one device alone. -1: there is none.
static int most_telling_array(const TraceData& trace) {
  const auto rank = [](const Array& array) { return std::pair(array.layout ? array.layout->shards.size() : 0, !array.name.empty()); };
  int best = trace.arrays.empty() ? -1 : 0;
  for (int i = 1; i < int(trace.arrays.size()); ++i)
    if (rank(trace.arrays[std::size_t(i)]) > rank(trace.arrays[std::size_t(best)])) best = i;
  return best;
}

Selection::Selection(QObject* parent) : QObject(parent) {}

SelectionState Selection::first_of(const TraceData& trace) const {
  return trace.diagnoses.empty() ? SelectionState{.array = most_telling_array(trace)} : of_diagnosis(0);
}

void Selection::set_trace(TracePtr trace) {
  trace_ = std::move(trace);
  past_.clear();
  future_.clear();
  state_ = {};
  visible_ = trace_ ? trace_->range : TimeRange{};
  if (trace_) {
    state_.array = most_telling_array(*trace_);
    state_ = first_of(*trace_);
  }
  Q_EMIT trace_changed();
  Q_EMIT changed(state_, nullptr);
}

void Selection::follow_trace(TracePtr trace) {
  if (!trace_ || !trace || trace_->preview || trace->preview) return set_trace(std::move(trace));
  const bool verdict_came = trace_->diagnoses.empty() && !trace->diagnoses.empty();
  SelectionState next = moved(state_, *trace_, *trace);
  trace_ = std::move(trace);
  past_.clear();
  future_.clear();
  state_ = {.array = next.array >= 0 ? next.array : most_telling_array(*trace_)};
  if (verdict_came) {
    state_ = first_of(*trace_);
  } else {
    next.array = state_.array;
    state_ = next;
  }
  Q_EMIT trace_changed();
  Q_EMIT changed(state_, nullptr);
}

void Selection::set_visible(TimeRange window) {
  if (window == visible_) return;
  visible_ = window;
  Q_EMIT visible_changed(window);
}

void Selection::set(SelectionState next, QObject* origin) {
  if (next == state_) return;
  if (past_.size() == kHistoryMax) past_.erase(past_.begin());
  past_.push_back(state_);
  future_.clear();
  state_ = next;
  Q_EMIT changed(state_, origin);
}

void Selection::select_array(int array, QObject* origin, bool touched) {
  if (!trace_ || !within(trace_->arrays, array)) return;
  SelectionState next = state_;
  next.array = array;
  next.touched = touched;
  set(next, origin);
}

void Selection::select_shard(int array, int device, QObject* origin) {
  if (!trace_ || !within(trace_->arrays, array) || !trace_->device(device)) return;
  set(with_device({.array = array, .touched = true}, device), origin);
}

void Selection::select_collective(int collective, QObject* origin) {
  if (!trace_ || !within(trace_->collectives, collective)) return;
  SelectionState next = array_alone();
  next.collective = collective;
  next.diagnosis = trace_->collectives[std::size_t(collective)].diagnosis;
  set(next, origin);
}

void Selection::select_device(int device, QObject* origin) {
  if (trace_ && trace_->device(device)) set(with_device(array_alone(), device), origin);
}

SelectionState Selection::with_device(SelectionState next, int device) const {
  const Device& row = *trace_->device(device);
  next.device = device;
  next.process = row.process;
  // The collective stays when the device takes part in it: "this member of it".
  if (within(trace_->collectives, state_.collective) && trace_->collectives[std::size_t(state_.collective)].member_of(row)) {
    next.collective = state_.collective;
    next.diagnosis = state_.diagnosis;
  }
  return next;
}

void Selection::select_process(int process, QObject* origin) {
  if (!trace_ || !trace_->process(process)) return;
  SelectionState next = array_alone();
  next.process = process;
  set(next, origin);
}

void Selection::select_diagnosis(int diagnosis, QObject* origin) {
  if (!trace_ || !within(trace_->diagnoses, diagnosis)) return;
  set(of_diagnosis(diagnosis), origin);
}

SelectionState Selection::of_diagnosis(int diagnosis) const {
  SelectionState state{.array = state_.array};
  state.diagnosis = diagnosis;
  state.collective = collective_of_diagnosis(*trace_, diagnosis);
  const auto& guilty = trace_->diagnoses[std::size_t(diagnosis)].processes;
  if (guilty.size() == 1) state.process = guilty[0];
  return state;
}

void Selection::select_event(int lane, std::int64_t event, QObject* origin) {
  if (!trace_ || !within(trace_->lanes, lane)) return;
  const Lane& row = trace_->lanes[std::size_t(lane)];
  if (!within(row.events->begin, event)) return;
  SelectionState next = array_alone();
  next.lane = lane;
  next.event = event;
  next.device = row.device;
  next.process = row.process;
  next.collective = row.events->collective[std::size_t(event)];
  if (next.collective >= 0) next.diagnosis = trace_->collectives[std::size_t(next.collective)].diagnosis;
  set(next, origin);
}

void Selection::select_range(TimeRange range, QObject* origin) {
  SelectionState next = state_;
  next.range = range;
  set(next, origin);
}

void Selection::clear(QObject* origin) { set({.array = state_.array}, origin); }

void Selection::back() {
  if (past_.empty()) return;
  future_.push_back(state_);
  state_ = past_.back();
  past_.pop_back();
  Q_EMIT changed(state_, nullptr);
}

void Selection::forward() {
  if (future_.empty()) return;
  past_.push_back(state_);
  state_ = future_.back();
  future_.pop_back();
  Q_EMIT changed(state_, nullptr);
}

std::vector<int> Selection::devices() const {
  std::vector<int> ordinals;
  if (!trace_) return ordinals;
  const auto add_process = [&](int index) {
    if (const Process* process = trace_->process(index)) ordinals.insert(ordinals.end(), process->devices.begin(), process->devices.end());
  };
  if (state_.device >= 0) {
    ordinals.push_back(state_.device);
  } else if (state_.collective >= 0) {
    ordinals = trace_->collectives[std::size_t(state_.collective)].type->groups->devices;
  } else if (state_.diagnosis >= 0) {
    for (const int process : trace_->diagnoses[std::size_t(state_.diagnosis)].processes) add_process(process);
  } else if (state_.process >= 0) {
    add_process(state_.process);
  }
  std::sort(ordinals.begin(), ordinals.end());
  ordinals.erase(std::unique(ordinals.begin(), ordinals.end()), ordinals.end());
  return ordinals;
}

int Selection::lane() const {
  if (!trace_) return -1;
  if (state_.lane >= 0) return state_.lane;
  for (std::size_t i = 0; i < trace_->lanes.size(); ++i) {
    const Lane& lane = trace_->lanes[i];
    if (state_.device >= 0 ? lane.device == state_.device : state_.process >= 0 && lane.process == state_.process)
      return static_cast<int>(i);
  }
  return -1;
}

}  // namespace shardlab::gui
