#include "gui/models/trace_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "gui/models/collective_index.h"
#include "gui/models/step_counter.h"
#include "runtime/base/where.h"
#include "traces/rows.h"

namespace shardlab::gui {

std::string Site::text() const {
  if (statement >= 0) return fmt::format("statement {}", statement);
  if (line > 0) return fmt::format("{}:{}", base_name(file), line);
  return std::string(base_name(file));
}

std::string Site::path() const { return line > 0 ? fmt::format("{}:{}", file, line) : text(); }

bool Process::ended_badly() const { return state == "killed" || state == "raised" || state == "exited" || signal != 0 || exit_code != 0; }

std::string Mesh::text() const {
  std::string text;
  for (const auto& axis : axes) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", axis.name, axis.size);
  return text;
}

std::int64_t ArrayLayout::elements_per_device() const {
  std::int64_t most = 0;
  for (const auto& shard : shards) {
    std::int64_t elements = 1;
    for (std::size_t d = 0; d < shard.begin.size(); ++d) elements *= shard.end[d] - shard.begin[d];
    most = std::max(most, elements);
  }
  return most;
}

std::string Array::display_name() const { return name.empty() ? "(unnamed)" : name; }

std::string Array::type_text() const { return fmt::format("{}[{}]", dtype, fmt::join(layout->shape, ",")); }

std::int64_t Array::element_bytes() const { return traces::element_bytes_of(dtype); }

std::int64_t Array::bytes_per_device() const { return layout->elements_per_device() * element_bytes(); }

int DeviceGroups::group_of(int device) const {
  for (std::size_t g = 0; g < lists.size(); ++g)
    if (std::find(lists[g].begin(), lists[g].end(), device) != lists[g].end()) return static_cast<int>(g);
  return -1;
}

TimeRange Collective::span() const {
  if (members.empty()) return {};
  TimeRange range{kOpen, std::numeric_limits<Ns>::min()};
  for (const auto& member : members) {
    range.begin = std::min(range.begin, member.enter);
    range.end = std::max(range.end, member.exit == kOpen ? member.enter : member.exit);
  }
  return range;
}

// Members lie by process, then device: of thousands of them none is looked at but the one.
const Member* Collective::member_of(const Device& device) const {
  const auto before = [](const Member& member, const std::pair<int, int>& at) { return std::pair(member.process, member.device) < at; };
  const auto batch = std::lower_bound(members.begin(), members.end(), std::pair(device.process, -1), before);
  if (batch != members.end() && batch->process == device.process && batch->device < 0 && type->groups->contains(device.ordinal))
    return &*batch;
  const auto own = std::lower_bound(batch, members.end(), std::pair(device.process, device.ordinal), before);
  return own != members.end() && own->process == device.process && own->device == device.ordinal ? &*own : nullptr;
}

std::string_view event_kind_name(EventKind kind) {
  switch (kind) {
    case EventKind::kCompute:
      return "compute";
    case EventKind::kCollective:
      return "collective";
    case EventKind::kHostRead:
      return "host read";
    case EventKind::kLaunch:
      return "launch";
    case EventKind::kOther:
      break;
  }
  return "event";
}

std::string TraceData::site_text(int site) const {
  return site >= 0 && std::size_t(site) < sites.size() ? sites[std::size_t(site)].text() : std::string();
}

const Process* TraceData::process(int index) const {
  for (const auto& process : processes)
    if (process.index == index) return &process;
  return nullptr;
}

const Device* TraceData::device(int ordinal) const {
  if (ordinal >= 0 && std::size_t(ordinal) < devices.size() && devices[std::size_t(ordinal)].ordinal == ordinal)
    return &devices[std::size_t(ordinal)];
  for (const auto& device : devices)
    if (device.ordinal == ordinal) return &device;
  return nullptr;
}

const Launch* TraceData::launch(int process, std::int64_t number) const {
  const auto it = std::lower_bound(launches.begin(), launches.end(), std::pair(process, number),
                                   [](const Launch& l, const auto& key) { return std::pair(l.process, l.number) < key; });
  return it != launches.end() && it->process == process && it->number == number ? &*it : nullptr;
}

std::size_t TraceData::event_count() const {
  std::size_t count = 0;
  for (const auto& lane : lanes) count += preview ? std::size_t(lane.summary.count) : lane.events->size();
  return count;
}

bool TraceData::torn() const {
  return std::any_of(notices.begin(), notices.end(), [](const Notice& notice) { return notice.loss; });
}

namespace {

// The diagnosis that names this collective: by the participants' seq and place.
bool names(const Diagnosis& diagnosis, const Collective& collective, const TraceData& trace) {
  for (const auto& side : diagnosis.participants) {
    if (side.seq < 0 || side.seq != collective.seq) continue;
    if (!side.kind.empty() && side.kind != "launch" && side.kind != collective.type->kind) continue;
    for (const auto& member : collective.members) {
      if (member.process != side.process) continue;
      const int site = member.site >= 0 ? member.site : collective.type->site;
      const std::string where = trace.site_text(site);
      if (side.where.empty() || where.empty()) return true;
      if (side.statement >= 0 ? side.statement == trace.sites[std::size_t(site)].statement : base_name(side.where) == where) return true;
    }
  }
  return false;
}

void link_diagnoses(TraceData& trace) {
  for (auto& collective : trace.collectives) {
    collective.open = std::any_of(collective.members.begin(), collective.members.end(), [](const auto& m) { return m.waiting(); });
    for (std::size_t d = 0; d < trace.diagnoses.size() && collective.diagnosis < 0; ++d)
      if (names(trace.diagnoses[d], collective, trace)) collective.diagnosis = static_cast<int>(d);
    collective.failed |= collective.diagnosis >= 0;
  }
}

void find_range(TraceData& trace) {
  if (!trace.range.empty()) return;
  Ns begin = kOpen, end = std::numeric_limits<Ns>::min();
  for (const auto& lane : trace.lanes) {
    const LaneEvents& events = *lane.events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      begin = std::min(begin, events.begin[i]);
      end = std::max(end, events.end[i] == kOpen ? events.begin[i] : events.end[i]);
    }
  }
  if (begin > end) begin = end = 0;
  trace.range = {begin, end};
}

void finish_events(LaneEvents& events, const TraceData& trace, Ns open_end) {
  events.flags.resize(events.size(), 0);
  for (std::size_t i = 0; i < events.size(); ++i) {
    auto& flags = events.flags[i];
    switch (events.kind[i]) {
      case EventKind::kCompute:
        flags |= kFlagCompute;
        break;
      case EventKind::kCollective:
        flags |= kFlagCollective;
        break;
      default:
        flags |= kFlagHost;
    }
    if (events.end[i] == kOpen) {
      flags |= kFlagOpen;
      events.end[i] = std::max(open_end, events.begin[i]);
    }
    const int collective = events.collective[i];
    if (collective >= 0 && trace.collectives[std::size_t(collective)].failed) flags |= kFlagError;
    if (i > 0 && events.begin[i] < events.end[i - 1]) events.end[i - 1] = events.begin[i];
  }
  events.forest.build(events.begin, events.end, events.flags);
}

// When bytes of collectives begin and end to be on their way.
std::vector<std::pair<Ns, std::int64_t>> transfers(const TraceData& trace) {
  std::vector<std::pair<Ns, std::int64_t>> changes;
  for (const auto& call : trace.collectives)
    for (const auto& member : call.members) {
      changes.emplace_back(member.start == kOpen ? member.enter : member.start, call.type->bytes);
      if (member.exit != kOpen) changes.emplace_back(member.exit, -call.type->bytes);
    }
  return changes;
}

}  // namespace

void finish(TraceData& trace) { finish(trace, 1); }

void finish(TraceData& trace, int threads) {
  link_diagnoses(trace);
  find_range(trace);
  // What never ended is drawn a little beyond the last record, so that it is seen to be open.
  const Ns open_end = trace.range.end + std::max<Ns>(trace.range.length() / 8, 1000);
  std::set<LaneEvents*> distinct;
  for (auto& lane : trace.lanes) distinct.insert(lane.events.get());
  const std::vector<LaneEvents*> stores(distinct.begin(), distinct.end());
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> any_open = false;
  const auto work = [&] {
    for (std::size_t i = next++; i < stores.size(); i = next++) {
      LaneEvents& events = *stores[i];
      if (std::find(events.end.begin(), events.end.end(), kOpen) != events.end.end()) any_open = true;
      finish_events(events, trace, open_end);
    }
  };
  {
    std::vector<std::jthread> others;
    for (int t = 1; t < threads; ++t) others.emplace_back(work);
    work();
  }
  if (any_open) trace.range.end = open_end;
  trace.collectives_by_time = std::make_shared<const CollectiveIndex>(trace);
  trace.bytes_in_flight = std::make_shared<const StepCounter>(transfers(trace));
}

std::size_t event_bytes(const TraceData& trace) {
  std::set<const LaneEvents*> done;
  std::size_t bytes = 0;
  for (const auto& lane : trace.lanes) {
    const LaneEvents& e = *lane.events;
    if (!done.insert(&e).second) continue;
    bytes += (e.begin.capacity() + e.end.capacity()) * sizeof(Ns) + (e.label.capacity() + e.collective.capacity()) * 4 + e.kind.capacity() +
             e.flags.capacity() + e.forest.bytes();
  }
  return bytes;
}

}  // namespace shardlab::gui
