#include "gui/models/retime.h"

#include <algorithm>
#include <map>

#include "gui/models/memory.h"

namespace shardlab::gui {
namespace {

class Retimer {
 public:
  Retimer(const TraceData& trace, TimeAxis axis) : trace_(trace), axis_(axis), out_(std::make_shared<TraceData>(trace)) {}

  TracePtr run() {
    find_stores();
    for (std::size_t s = 0; s < stores_.size(); ++s) advance(s);
    while (release_one()) {}
    write_members();
    // Host lanes wait for devices and compute nothing: they would say nothing on these axes.
    finish_times();
    return out_;
  }

 private:
  struct Store {
    const LaneEvents* from = nullptr;
    std::shared_ptr<LaneEvents> to;
    std::size_t next = 0;
    Ns clock = 0;
  };
  struct Meeting {
    std::vector<std::size_t> stores;  // that have come
    int expected = 0;
    Ns last = 0;
    bool over = false;
  };

  void find_stores() {
    std::map<const LaneEvents*, std::shared_ptr<LaneEvents>> known;
    for (auto& lane : out_->lanes) {
      auto& to = known[lane.events.get()];
      if (!to) {
        to = std::make_shared<LaneEvents>(*lane.events);
        stores_.push_back({.from = lane.events.get(), .to = to});
        for (std::size_t i = 0; i < to->size(); ++i)
          if (to->collective[i] >= 0) ++meetings_[to->collective[i]].expected;
      }
      lane.events = to;
    }
  }

  // The transfer alone, without waiting.
  Ns length_of(int collective) const {
    if (axis_ == TimeAxis::kLogical) return kLogicalStep;
    Ns shortest = kOpen;
    for (const auto& member : trace_.collectives[std::size_t(collective)].members)
      if (member.exit != kOpen) shortest = std::min(shortest, member.exit - (member.start == kOpen ? member.enter : member.start));
    return shortest == kOpen ? 0 : std::max<Ns>(shortest, 1);
  }

  Ns length_of(const Store& store, std::size_t i) const {
    if (axis_ == TimeAxis::kLogical) return kLogicalStep;
    if (store.from->kind[i] == EventKind::kHostRead || store.from->kind[i] == EventKind::kLaunch) return 0;
    return store.from->flags[i] & kFlagOpen ? 0 : store.from->end[i] - store.from->begin[i];
  }

  void advance(std::size_t s) {
    Store& store = stores_[s];
    while (store.next < store.from->size()) {
      const std::size_t i = store.next;
      store.to->begin[i] = store.clock;
      const int collective = store.from->collective[i];
      if (collective < 0) {
        store.clock += length_of(store, i);
        store.to->end[i] = store.from->flags[i] & kFlagOpen ? kOpen : store.clock;
        ++store.next;
        continue;
      }
      Meeting& meeting = meetings_[collective];
      if (meeting.over) {  // it was given up before this member came
        store.to->end[i] = store.clock + length_of(collective);
        store.clock = store.to->end[i];
        ++store.next;
        continue;
      }
      meeting.stores.push_back(s);
      meeting.last = std::max(meeting.last, store.clock);
      if (int(meeting.stores.size()) < meeting.expected) return;
      release(collective, meeting);
      return;
    }
  }

  void release(int collective, Meeting& meeting) {
    meeting.over = true;
    const Ns end = meeting.last + length_of(collective);
    for (const std::size_t s : meeting.stores) {
      Store& store = stores_[s];
      const bool open = store.from->flags[store.next] & kFlagOpen;
      store.to->end[store.next] = open ? kOpen : end;
      store.clock = end;
      ++store.next;
    }
    for (const std::size_t s : std::vector<std::size_t>(meeting.stores)) ready_.push_back(s);
    if (draining_) return;
    draining_ = true;
    while (!ready_.empty()) {
      const std::size_t s = ready_.back();
      ready_.pop_back();
      advance(s);
    }
    draining_ = false;
  }

  // Members that wait for ever, or in another order: who waits longest by the clock goes on alone.
  bool release_one() {
    const Store* first = nullptr;
    for (const auto& store : stores_)
      if (store.next < store.from->size() && (!first || store.from->begin[store.next] < first->from->begin[first->next])) first = &store;
    if (!first) return false;
    const int collective = first->from->collective[first->next];
    release(collective, meetings_[collective]);
    return true;
  }

  void write_members() {
    for (auto& call : out_->collectives)
      for (auto& member : call.members) member.enter = kOpen;
    for (const auto& lane : out_->lanes) {
      const Device* device = out_->device(lane.device);
      if (!device) continue;
      for (std::size_t i = 0; i < lane.events->size(); ++i) {
        const int collective = lane.events->collective[i];
        if (collective < 0) continue;
        Collective& call = out_->collectives[std::size_t(collective)];
        auto* member = const_cast<Member*>(call.member_of(*device));
        if (!member || (member->enter != kOpen && member->enter <= lane.events->begin[i])) continue;
        member->enter = lane.events->begin[i];
        member->exit = lane.events->end[i];
        if (member->start != kOpen)
          member->start = member->exit == kOpen ? member->enter : std::max(member->enter, member->exit - length_of(collective));
      }
    }
    for (std::size_t c = 0; c < out_->collectives.size(); ++c)
      for (auto& member : out_->collectives[c].members)
        if (member.enter == kOpen) member.enter = 0;
  }

  void finish_times() {
    for (auto& store : stores_)
      for (auto& flags : store.to->flags) flags &= std::uint8_t(~kFlagOpen);
    out_->range = {};
    finish(*out_);
    out_->memory = MemoryUse::make(trace_, *out_);
  }

  const TraceData& trace_;
  TimeAxis axis_;
  std::shared_ptr<TraceData> out_;
  std::vector<Store> stores_;
  std::map<int, Meeting> meetings_;
  std::vector<std::size_t> ready_;
  bool draining_ = false;
};

}  // namespace

TracePtr retime(const TraceData& trace, TimeAxis axis) {
  if (axis == TimeAxis::kWall) return std::make_shared<const TraceData>(trace);
  return Retimer(trace, axis).run();
}

}  // namespace shardlab::gui
