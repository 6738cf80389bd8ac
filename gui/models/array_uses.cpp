#include "gui/models/array_uses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>

namespace shardlab::gui {
namespace {

std::string kind_of(const std::string& dtype, const std::vector<std::int64_t>& shape, const std::string& sharding) {
  return fmt::format("{}[{}] {}", dtype, fmt::join(shape, ","), sharding);
}

// An array that a process may have held: from when any process made it, until the process is known to have let it go.
struct Candidate {
  Ns begin = 0, end = kOpen;
  int array = 0;
};

using Kinds = std::unordered_map<std::string, std::vector<Candidate>>;

// By process, of each kind by their begin.
std::map<int, Kinds> candidates_of(const TraceData& trace) {
  std::map<std::pair<int, int>, Ns> ends;
  for (const ArrayHold& hold : trace.array_holds) {
    Ns& end = ends.try_emplace({hold.array, hold.process}, hold.end).first->second;
    end = std::max(end, hold.end);
  }
  std::map<const ArrayLayout*, std::set<int>> owners;
  std::map<int, Kinds> candidates;
  for (std::size_t i = 0; i < trace.arrays.size(); ++i) {
    const Array& array = trace.arrays[i];
    if (!array.layout) continue;
    const auto [known, fresh] = owners.try_emplace(array.layout.get());
    if (fresh)
      for (const Shard& shard : array.layout->shards)
        if (const Device* device = trace.device(shard.device)) known->second.insert(device->process);
    const std::string kind = kind_of(array.dtype, array.layout->shape, array.layout->spec);
    for (const int process : known->second) {
      const auto end = ends.find({int(i), process});
      candidates[process][kind].push_back({array.time, end == ends.end() ? kOpen : end->second, int(i)});
    }
  }
  for (auto& [process, kinds] : candidates)
    for (auto& [kind, arrays] : kinds)
      std::stable_sort(arrays.begin(), arrays.end(), [](const Candidate& a, const Candidate& b) { return a.begin < b.begin; });
  return candidates;
}

// Those of one kind that are held, as time goes on.
class Held {
 public:
  explicit Held(const std::vector<Candidate>& all) : all_(all) {}
  // The only one at `time`, -1 where there is none or more than one. Times ascend.
  int only_at(Ns time) {
    for (; next_ < all_.size() && all_[next_].begin <= time; ++next_) now_.emplace(all_[next_].end, all_[next_].array);
    while (!now_.empty() && now_.top().first <= time) now_.pop();
    return now_.size() == 1 ? now_.top().second : -1;
  }

 private:
  using Entry = std::pair<Ns, int>;  // end, array
  const std::vector<Candidate>& all_;
  std::size_t next_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> now_;
};

}  // namespace

std::vector<ArrayUse> find_array_uses(const TraceData& trace) {
  const std::map<int, Kinds> candidates = candidates_of(trace);
  std::vector<std::vector<std::string>> operands;  // kinds, by program
  for (const Program& program : trace.programs) {
    operands.emplace_back();
    for (const Program::Value& value : program.operands)
      if (value.sharding != "host") operands.back().push_back(kind_of(value.dtype, value.shape, value.sharding));
  }
  std::vector<const Launch*> launches;
  for (const Launch& launch : trace.launches)
    if (launch.program >= 0) launches.push_back(&launch);
  std::stable_sort(launches.begin(), launches.end(), [](const Launch* a, const Launch* b) { return a->issued < b->issued; });
  std::map<std::pair<int, std::string>, Held> held;
  std::vector<ArrayUse> uses;
  for (std::size_t i = 0; i < trace.arrays.size(); ++i)
    if (trace.launch(trace.arrays[i].process, trace.arrays[i].launch))
      uses.push_back({.array = int(i), .process = trace.arrays[i].process, .launch = trace.arrays[i].launch, .gives = true});
  for (const Launch* launch : launches) {
    const auto of_process = candidates.find(launch->process);
    if (of_process == candidates.end()) continue;
    for (const std::string& kind : operands[std::size_t(launch->program)]) {
      const auto arrays = of_process->second.find(kind);
      if (arrays == of_process->second.end()) continue;
      const int array = held.try_emplace({launch->process, kind}, arrays->second).first->second.only_at(launch->issued);
      if (array >= 0) uses.push_back({array, launch->process, launch->number});
    }
  }
  const auto key = [](const ArrayUse& use) { return std::tuple(use.array, use.process, use.launch, use.gives); };
  std::sort(uses.begin(), uses.end(), [&](const ArrayUse& a, const ArrayUse& b) { return key(a) < key(b); });
  uses.erase(std::unique(uses.begin(), uses.end()), uses.end());
  return uses;
}

ArrayUses::ArrayUses(std::vector<ArrayUse> uses, std::size_t arrays, bool told) : uses_(std::move(uses)), told_(told) {
  const auto key = [](const ArrayUse& use) { return std::tuple(use.process, use.launch, use.gives, use.position); };
  const auto before = [&](const ArrayUse& a, const ArrayUse& b) { return key(a) < key(b); };
  if (!std::is_sorted(uses_.begin(), uses_.end(), before)) std::stable_sort(uses_.begin(), uses_.end(), before);
  begin_.assign(arrays + 1, 0);
  for (const ArrayUse& use : uses_) ++begin_[std::size_t(use.array) + 1];
  for (std::size_t a = 1; a < begin_.size(); ++a) begin_[a] += begin_[a - 1];
  by_array_.resize(uses_.size());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end());
  for (std::size_t i = 0; i < uses_.size(); ++i) by_array_[next[std::size_t(uses_[i].array)]++] = std::uint32_t(i);
}

std::span<const std::uint32_t> ArrayUses::order_of(int array) const {
  if (array < 0 || std::size_t(array) + 1 >= begin_.size()) return {};
  return std::span(by_array_).subspan(begin_[std::size_t(array)], begin_[std::size_t(array) + 1] - begin_[std::size_t(array)]);
}

std::span<const ArrayUse> ArrayUses::of_launch(int process, std::int64_t launch) const {
  const auto [first, last] = std::equal_range(
      uses_.begin(), uses_.end(), ArrayUse{.process = process, .launch = launch},
      [](const ArrayUse& a, const ArrayUse& b) { return std::pair(a.process, a.launch) < std::pair(b.process, b.launch); });
  return {first, last};
}

std::vector<UsesOfCall> uses_of(const TraceData& trace, int array) {
  std::map<std::tuple<int, int, bool>, UsesOfCall> calls;
  if (!trace.array_uses) return {};
  ArrayUse last{.launch = -1};  // of a launch that takes it twice
  trace.array_uses->for_each_of(array, [&](const ArrayUse& use) {
    const Launch* launch = trace.launch(use.process, use.launch);
    if (!launch) return;
    UsesOfCall& call = calls[{launch->program, launch->site, use.gives}];
    call.program = launch->program;
    call.site = launch->site;
    call.gives = use.gives;
    const bool again = std::tuple(use.process, use.launch, use.gives) == std::tuple(last.process, last.launch, last.gives);
    last = use;
    call.launches += !again;
    call.donated += use.donated;
    if (use.position >= 0 && std::find(call.positions.begin(), call.positions.end(), use.position) == call.positions.end())
      call.positions.insert(std::upper_bound(call.positions.begin(), call.positions.end(), use.position), use.position);
    if (call.processes.empty() || call.processes.back() != use.process) call.processes.push_back(use.process);
    if (launch->issued >= call.first) return;
    call.first = launch->issued;
    call.process = use.process;
    call.launch = use.launch;
  });
  std::vector<UsesOfCall> result;
  for (auto& [key, call] : calls) result.push_back(std::move(call));
  std::stable_sort(result.begin(), result.end(), [](const UsesOfCall& a, const UsesOfCall& b) { return a.first < b.first; });
  return result;
}

std::string why_no_uses(const TraceData& trace) {
  if (trace.preview || trace.array_uses) return "";
  return "this trace does not tell which arrays launches took";
}

}  // namespace shardlab::gui
