#include "gui/models/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "gui/models/array_uses.h"

namespace shardlab::gui {
namespace {

std::int64_t elements_of(const Shard& shard) {
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < shard.begin.size(); ++d) elements *= shard.end[d] - shard.begin[d];
  return elements;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 32);
}

// From the trace's clock to another axis, along the events of one lane; what lies between two events is when the first ended.
class LaneClock {
 public:
  LaneClock(const LaneEvents* wall, const LaneEvents* shown) : wall_(wall), shown_(shown) {}
  Ns operator()(Ns time) const {
    if (wall_ == shown_ || time == kOpen) return time;
    const auto after = std::upper_bound(wall_->begin.begin(), wall_->begin.end(), time);
    if (after == wall_->begin.begin()) return shown_->begin.empty() ? 0 : shown_->begin.front();
    const auto i = std::size_t(after - wall_->begin.begin()) - 1;
    const Ns length = wall_->end[i] - wall_->begin[i], to = shown_->end[i] - shown_->begin[i];
    if (length <= 0 || time >= wall_->end[i]) return shown_->end[i];
    return shown_->begin[i] + Ns(double(time - wall_->begin[i]) / double(length) * double(to));
  }

 private:
  const LaneEvents* wall_;
  const LaneEvents* shown_;
};

class Maker {
 public:
  Maker(const TraceData& wall, const TraceData& shown) : wall_(wall), shown_(shown) {}

  std::vector<DeviceMemory> run() {
    find_lanes();
    find_layouts();
    sign_programs();
    make_classes();
    count_arrays();
    count_steps();
    std::vector<DeviceMemory> made;
    for (auto& each : classes_) {
      if (each.arrays.empty() && each.steps.empty()) continue;
      DeviceMemory memory{
          .process = each.process, .devices = std::move(each.devices), .arrays = StepCounter(each.arrays), .with_steps = {}};
      if (!each.steps.empty()) {
        each.arrays.insert(each.arrays.end(), each.steps.begin(), each.steps.end());
        memory.with_steps = StepCounter(std::move(each.arrays));
      }
      made.push_back(std::move(memory));
    }
    return made;
  }

 private:
  using Changes = std::vector<std::pair<Ns, std::int64_t>>;
  struct Class {
    int process = 0;
    std::vector<int> devices;
    LaneClock clock;
    Changes arrays, steps;
  };

  // Of each device its first lane: which stores of events tell its time.
  void find_lanes() {
    for (std::size_t l = 0; l < wall_.lanes.size(); ++l)
      if (wall_.lanes[l].device >= 0) lanes_.try_emplace(wall_.lanes[l].device, wall_.lanes[l].events.get(), shown_.lanes[l].events.get());
  }

  void find_layouts() {
    for (const auto& array : wall_.arrays) {
      const auto [at, added] = layouts_.try_emplace(array.layout.get(), layouts_.size());
      if (!added) continue;
      for (const auto& shard : array.layout->shards) sign(shard.device, mix(at->second + 1, std::uint64_t(elements_of(shard))));
    }
  }

  void sign_programs() {
    for (std::size_t p = 0; p < wall_.programs.size(); ++p)
      if (wall_.programs[p].intermediate_bytes > 0)
        for (const int device : wall_.programs[p].devices) sign(device, mix(~std::uint64_t{0}, p));
  }

  void sign(int device, std::uint64_t word) { signs_[device] = mix(signs_[device], word); }

  // Devices that have equal parts of all arrays, run the same programs and have one clock hold the same.
  void make_classes() {
    std::map<std::tuple<int, std::uint64_t, const LaneEvents*>, std::size_t> known;
    for (const auto& device : wall_.devices) {
      const auto lane = lanes_.find(device.ordinal);
      const auto events = lane == lanes_.end() ? std::pair<const LaneEvents*, const LaneEvents*>() : lane->second;
      const auto sign = signs_.find(device.ordinal);
      if (sign == signs_.end()) continue;
      const bool own_clock = events.first != events.second;
      const auto [at, added] = known.try_emplace({device.process, sign->second, own_clock ? events.second : nullptr}, classes_.size());
      if (added) {
        classes_.push_back({device.process, {}, LaneClock(events.first, events.second), {}, {}});
        of_process_[device.process].push_back(at->second);
      }
      classes_[at->second].devices.push_back(device.ordinal);
    }
  }

  const std::vector<std::size_t>& classes_of(int process) { return of_process_[process]; }

  // Elements of a layout on the devices of each class of a process.
  const std::vector<std::int64_t>& parts(const ArrayLayout& layout, int process) {
    auto [at, added] = parts_.try_emplace({&layout, process});
    if (!added) return at->second;
    for (const std::size_t c : classes_of(process)) {
      std::int64_t elements = 0;
      for (const auto& shard : layout.shards)
        if (shard.device == classes_[c].devices.front()) elements = elements_of(shard);
      at->second.push_back(elements);
    }
    return at->second;
  }

  static void count(Changes& changes, const LaneClock& clock, TimeRange held, std::int64_t bytes) {
    if (bytes == 0) return;
    changes.emplace_back(clock(held.begin), bytes);
    if (held.end != kOpen) changes.emplace_back(clock(std::max(held.begin, held.end)), -bytes);
  }

  void count_arrays() {
    for (const auto& hold : wall_.array_holds) {
      const Array& array = wall_.arrays[std::size_t(hold.array)];
      const auto& elements = parts(*array.layout, hold.process);
      const auto& classes = classes_of(hold.process);
      for (std::size_t i = 0; i < classes.size(); ++i) {
        Class& each = classes_[classes[i]];
        count(each.arrays, each.clock, {hold.begin, hold.end}, elements[i] * array.element_bytes());
      }
    }
  }

  void count_steps() {
    for (const auto& launch : wall_.launches) {
      if (launch.program < 0 || launch.started == kOpen) continue;
      const Program& program = wall_.programs[std::size_t(launch.program)];
      if (program.intermediate_bytes == 0) continue;
      for (const std::size_t c : classes_of(launch.process)) {
        Class& each = classes_[c];
        if (std::find(program.devices.begin(), program.devices.end(), each.devices.front()) != program.devices.end())
          count(each.steps, each.clock, {launch.started, launch.done}, program.intermediate_bytes);
      }
    }
  }

  const TraceData& wall_;
  const TraceData& shown_;
  std::unordered_map<int, std::pair<const LaneEvents*, const LaneEvents*>> lanes_;  // by device
  std::unordered_map<const ArrayLayout*, std::size_t> layouts_;
  std::unordered_map<int, std::uint64_t> signs_;
  std::vector<Class> classes_;
  std::map<int, std::vector<std::size_t>> of_process_;
  std::map<std::pair<const ArrayLayout*, int>, std::vector<std::int64_t>> parts_;
};

}  // namespace

std::shared_ptr<const MemoryUse> MemoryUse::make(const TraceData& wall, const TraceData& shown) {
  auto use = std::make_shared<MemoryUse>();
  use->devices_ = Maker(wall, shown).run();
  for (std::size_t i = 0; i < use->devices_.size(); ++i) {
    const DeviceMemory& each = use->devices_[i];
    for (const int device : each.devices) {
      if (std::size_t(device) >= use->index_.size()) use->index_.resize(std::size_t(device) + 1, -1);
      use->index_[std::size_t(device)] = int(i);
    }
    use->most_ = std::max({use->most_, each.arrays.most().value, each.with_steps.most().value});
    use->processes_[each.process].of.push_back(int(i));
    use->all_.of.push_back(int(i));
  }
  for (auto& [process, together] : use->processes_) use->take_together(together);
  use->take_together(use->all_);
  return use;
}

void MemoryUse::take_together(Together& together) const {
  if (together.of.size() < 2) return;
  std::vector<const StepCounter*> arrays, with_steps;
  bool any_steps = false;
  for (const int i : together.of) {
    const DeviceMemory& each = devices_[std::size_t(i)];
    any_steps |= !each.with_steps.empty();
    arrays.push_back(&each.arrays);
    with_steps.push_back(each.with_steps.empty() ? &each.arrays : &each.with_steps);
  }
  together.arrays = StepCounter::most_of(arrays);
  if (any_steps) together.with_steps = StepCounter::most_of(with_steps);
}

MemoryUse::Most MemoryUse::most(const Together& together) const {
  if (together.of.empty()) return {};
  if (together.of.size() > 1) return {&together.arrays, &together.with_steps};
  const DeviceMemory& only = devices_[std::size_t(together.of.front())];
  return {&only.arrays, &only.with_steps};
}

MemoryUse::Most MemoryUse::of_process(int process) const {
  const auto at = processes_.find(process);
  return at == processes_.end() ? Most{} : most(at->second);
}

MemoryUse::Most MemoryUse::of_all() const { return most(all_); }

int MemoryUse::index_of(int device) const { return device >= 0 && std::size_t(device) < index_.size() ? index_[std::size_t(device)] : -1; }

MemoryUse::Moment MemoryUse::peak(TimeRange range, const std::vector<int>* only) const {
  Moment best;
  const auto look = [&](const DeviceMemory& each) {
    const auto arrays = each.arrays.most_in(range.begin, range.end);
    const auto all = each.with_steps.empty() ? arrays : each.with_steps.most_in(range.begin, range.end);
    if (best.device < 0 || arrays.value > best.arrays) best = {each.devices.front(), arrays.time, arrays.value, best.with_steps};
    best.with_steps = std::max({best.with_steps, all.value, arrays.value});
  };
  if (only)
    for (const int i : *only) look(devices_[std::size_t(i)]);
  else
    for (const auto& each : devices_) look(each);
  return best;
}

MemoryUse::Moment MemoryUse::at(Ns time, const std::vector<int>* only) const { return peak({time, time}, only); }

std::vector<HeldArray> held_at(const TraceData& trace, int device, Ns time) {
  std::vector<HeldArray> held;
  const Device* owner = trace.device(device);
  if (!owner) return held;
  std::unordered_map<const ArrayLayout*, std::int64_t> elements;
  for (const auto& hold : trace.array_holds) {
    if (hold.process != owner->process || hold.begin > time || hold.end <= time) continue;
    const Array& array = trace.arrays[std::size_t(hold.array)];
    const auto [at, added] = elements.try_emplace(array.layout.get(), 0);
    if (added)
      for (const auto& shard : array.layout->shards)
        if (shard.device == device) at->second = elements_of(shard);
    if (at->second > 0) held.push_back({hold.array, at->second * array.element_bytes(), hold.begin, hold.end, hold.donated});
  }
  std::stable_sort(held.begin(), held.end(), [](const HeldArray& a, const HeldArray& b) { return a.bytes > b.bytes; });
  return held;
}

void find_takers(const TraceData& trace, int device, Ns time, std::vector<HeldArray>& held) {
  const Device* owner = trace.device(device);
  if (!owner || !trace.array_uses) return;
  for (HeldArray& each : held) {
    std::int64_t last = -1;  // a launch may take it twice
    trace.array_uses->for_each_of(each.array, [&](const ArrayUse& use) {
      if (use.process != owner->process || use.gives || use.launch == last) return;
      const Launch* launch = trace.launch(use.process, use.launch);
      if (!launch || launch->done <= time) return;
      last = use.launch;
      ++each.takers;
      each.last_taker = int(launch - trace.launches.data());
    });
  }
}

std::string held_text(const TraceData& trace, const HeldArray& held) {
  const Array& array = trace.arrays[std::size_t(held.array)];
  const std::string where = trace.site_text(array.site);
  return fmt::format("{} {}{}{}", array.display_name(), array.type_text(), where.empty() ? "" : " at ", where);
}

std::string why_no_memory(const TraceData& trace) {
  if (trace.preview) return "";
  if (trace.arrays.empty()) return "no arrays were recorded";
  if (!trace.records_array_ends) return "this trace does not record when arrays end";
  return !trace.memory || trace.memory->empty() ? "no device held an array" : "";
}

}  // namespace shardlab::gui
