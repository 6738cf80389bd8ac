#include "gui/models/lane_builder.h"

#include <algorithm>
#include <numeric>

namespace shardlab::gui {
namespace {

void append(LaneEvents& to, const LaneEvents& from, std::size_t i) {
  to.begin.push_back(from.begin[i]);
  to.end.push_back(from.end[i]);
  to.label.push_back(from.label[i]);
  to.collective.push_back(from.collective[i]);
  to.kind.push_back(from.kind[i]);
  to.flags.push_back(from.flags[i]);
}

}  // namespace

std::vector<std::shared_ptr<LaneEvents>> split_rows(LaneEvents events, std::size_t rows_max) {
  const std::size_t n = events.size();
  bool sorted = true, apart = true;
  for (std::size_t i = 1; i < n; ++i) {
    sorted &= events.begin[i - 1] <= events.begin[i];
    apart &= events.end[i - 1] <= events.begin[i];
  }
  std::vector<std::shared_ptr<LaneEvents>> rows;
  if (sorted && apart) {
    rows.push_back(std::make_shared<LaneEvents>(std::move(events)));
    return rows;
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return events.begin[a] < events.begin[b]; });
  for (const std::size_t i : order) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r->end.back() <= events.begin[i]; });
    if (row == rows.end() && rows.size() < rows_max) row = rows.insert(rows.end(), std::make_shared<LaneEvents>());
    append(row == rows.end() ? *rows.back() : **row, events, i);
  }
  return rows;
}

const DeviceGroups* LaneBuilder::concerned(const LaneEvents& events, std::size_t i) {
  if (const int collective = events.collective[i]; collective >= 0) return trace_.collectives[std::size_t(collective)].type->groups.get();
  const int program = events.program.empty() ? -1 : events.program[i];
  if (program < 0) return nullptr;
  auto [found, fresh] = programs_.try_emplace(program);
  if (fresh) {
    found->second.lists = {trace_.programs[std::size_t(program)].devices};
    found->second.devices = found->second.lists[0];
    std::sort(found->second.devices.begin(), found->second.devices.end());
  }
  return &found->second;
}

void LaneBuilder::scan(Batch& batch) {
  if (batch.scanned) return;
  batch.scanned = true;
  for (std::size_t i = 0; i < batch.events->size(); ++i) {
    const DeviceGroups* groups = concerned(*batch.events, i);
    if (groups == nullptr) continue;
    if (std::find(batch.groups.begin(), batch.groups.end(), groups) == batch.groups.end()) batch.groups.push_back(groups);
  }
}

const LaneBuilder::Rows& LaneBuilder::rows_for(Batch& batch, int device) {
  scan(batch);
  std::vector<bool> in(batch.groups.size());
  for (std::size_t g = 0; g < in.size(); ++g) in[g] = batch.groups[g]->contains(device);
  auto [it, fresh] = batch.rows.try_emplace(in);
  if (!fresh) return it->second;
  LaneEvents mine;
  if (std::find(in.begin(), in.end(), false) == in.end()) {
    mine = *batch.events;
    mine.program = {};
    return it->second = split_rows(std::move(mine), kRowsMax);
  }
  for (std::size_t i = 0; i < batch.events->size(); ++i) {
    const DeviceGroups* groups = concerned(*batch.events, i);
    if (groups == nullptr || groups->contains(device)) append(mine, *batch.events, i);
  }
  return it->second = split_rows(std::move(mine), kRowsMax);
}

void LaneBuilder::add(Track track) {
  const auto batch = batches_.find(track.batch);
  if (batch == batches_.end()) return add_lanes(track, split_rows(std::move(track.own), kRowsMax));
  const Rows& shared = rows_for(batch->second, track.device);
  if (track.own.size() == 0) return add_lanes(track, shared);
  LaneEvents all = std::move(track.own);
  for (const auto& row : shared)
    for (std::size_t i = 0; i < row->size(); ++i) append(all, *row, i);
  add_lanes(track, split_rows(std::move(all), kRowsMax));
}

void LaneBuilder::add_lanes(const Track& track, const Rows& rows) {
  // Of a GPU's name the card is left out, which is longer than a label.
  const std::string name = track.device >= 0 ? track.name.substr(0, track.name.find(" (")) : track.name;
  Lane lane{.process = track.process, .device = track.device, .name = name, .summary = track.summary};
  if (rows.empty()) trace_.lanes.push_back(lane);
  for (const auto& row : rows) {
    lane.events = row;
    trace_.lanes.push_back(lane);
  }
}

void LaneBuilder::finish() {
  std::stable_sort(trace_.lanes.begin(), trace_.lanes.end(),
                   [](const Lane& a, const Lane& b) { return std::pair(a.process, a.device) < std::pair(b.process, b.device); });
}

void find_starts(Collective& collective, const std::vector<Device>& devices) {
  auto& members = collective.members;
  std::vector<Ns> start(members.size(), std::numeric_limits<Ns>::min());
  for (const auto& group : collective.type->groups->lists) {
    Ns last = std::numeric_limits<Ns>::min();
    std::vector<std::size_t> present;
    for (const int ordinal : group) {
      const bool known = std::size_t(ordinal) < devices.size() && devices[std::size_t(ordinal)].ordinal == ordinal;
      const Member* member = known ? collective.member_of(devices[std::size_t(ordinal)]) : nullptr;
      last = member ? std::max(last, member->enter) : kOpen;
      if (!member) break;
      present.push_back(std::size_t(member - members.data()));
    }
    if (last == kOpen)  // one never came: whoever is in the group waits for ever
      for (const int ordinal : group)
        if (std::size_t(ordinal) < devices.size())
          if (const Member* member = collective.member_of(devices[std::size_t(ordinal)]))
            present.push_back(std::size_t(member - members.data()));
    for (const std::size_t i : present) start[i] = std::max(start[i], last);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = members[i];
    if (member.start != kOpen) continue;                      // it is known not to have waited
    if (collective.failed && member.exit == kOpen) continue;  // its peers came to something else
    if (start[i] != kOpen) member.start = std::clamp(start[i], member.enter, std::max(member.exit, member.enter));
  }
}

}  // namespace shardlab::gui
