// The arrays of a trace: one for all processes that made it, since when each of them holds it, and until when.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "traces/recorder/merge_rows.h"

namespace shardlab::recorder {
namespace {

using traces::Id;
using traces::kNoTime;
using traces::MemberStatus;

struct Maker {
  std::size_t index = 0;             // of the process
  const ArrayRecord* own = nullptr;  // as it told of the array
  Ns begin_ns = kNoTime;
};

struct MadeArray {
  traces::ArrayRow row;
  std::vector<Maker> makers;
};

// Memory is had from when the launch runs, not from its issue; a launch that failed has none. Of a launch that was forgotten, or lost,
// its issue is what is known.
Ns begin_of(const ProcessTrace& process, const ArrayRecord& array) {
  const auto launch = process.launches.find(array.launch);
  if (launch == process.launches.end()) return array.time_ns;
  const bool failed = launch->second.status == MemberStatus::kFailed || launch->second.status == MemberStatus::kPoisoned;
  return failed ? kNoTime : launch->second.started_ns;
}

}  // namespace

void RowWriter::write_arrays() {
  // One array for all processes that made it: by what made it, what it is, and its rank among the like of one process.
  using Key = std::tuple<std::size_t, std::string_view, std::string_view, Id, Id, int>;
  constexpr std::size_t kNoLaunch = SIZE_MAX;
  std::map<Key, std::size_t> known;
  std::vector<MadeArray> made;
  std::map<Key, int> again;
  for (std::size_t p = 0; p < processes_.size(); ++p) {
    if (processes_[p].incarnation == 0) again.clear();  // what a process made before it was started again counts too
    for (const auto& [id, array] : processes_[p].arrays) {
      const auto launch = joined_.launch_of[p].find(array.launch);
      Key key{launch == joined_.launch_of[p].end() ? kNoLaunch : launch->second,
              processes_[p].text(array.name),
              processes_[p].text(array.dtype),
              definitions_.layout(p, array.layout),
              definitions_.site(p, array.site),
              0};
      std::get<5>(key) = again[key]++;
      auto [found, added] = known.try_emplace(key, made.size());
      if (added)
        made.push_back({{.name = std::get<1>(key),
                         .dtype = std::get<2>(key),
                         .layout = std::get<3>(key),
                         .committed = array.committed,
                         .process = processes_[p].process,
                         .launch = array.launch,
                         .site = std::get<4>(key),
                         .time_ns = array.time_ns},
                        {}});
      auto& [row, makers] = made[found->second];
      row.time_ns = std::min(row.time_ns, array.time_ns);
      row.processes.push_back(processes_[p].process);
      makers.push_back({p, &array, begin_of(processes_[p], array)});
    }
  }
  std::stable_sort(made.begin(), made.end(), [](const auto& a, const auto& b) { return a.row.time_ns < b.row.time_ns; });
  for (const auto& [row, makers] : made) {
    const Id array = writer_.add(row);
    for (const Maker& maker : makers) {
      const int process = processes_[maker.index].process;
      if (processes_[maker.index].records_array_ends) writer_.add(traces::ArrayHolderRow{array, process, maker.begin_ns});
      if (maker.own->result.value >= 0) gives_.push_back({process, maker.own->launch, true, maker.own->result.value, array});
      array_ids_[maker.index].emplace(maker.own->id, array);
    }
  }
}

void RowWriter::write_array_ends() {
  for (std::size_t p = 0; p < processes_.size(); ++p)
    for (const auto& [id, end] : processes_[p].array_ends)
      if (const auto array = array_ids_[p].find(id); array != array_ids_[p].end())
        writer_.add(traces::ArrayEndRow{array->second, processes_[p].process, end.time_ns, end.donated});
}

Id RowWriter::array_of(std::size_t index, std::int64_t id) const {
  for (const ArrayIds* ids : {static_cast<const ArrayIds*>(&array_ids_), before_}) {
    if (!ids || index >= ids->size()) continue;
    if (const auto found = (*ids)[index].find(id); found != (*ids)[index].end()) return found->second;
  }
  return 0;
}

// Of an array that nobody told of, host data for one, there is no row.
void RowWriter::write_launch_arrays() {
  std::vector<traces::LaunchArrayRow> rows = std::exchange(gives_, {});
  for (std::size_t p = 0; p < processes_.size(); ++p)
    for (const auto& [launch, takes] : processes_[p].takes)
      for (std::size_t i = 0; i < takes.size(); ++i)
        if (const Id array = array_of(p, takes[i].array); array != 0)
          rows.push_back({processes_[p].process, launch, false, int(i), array, takes[i].donated});
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.process, a.launch, a.is_result, a.position) < std::tuple(b.process, b.launch, b.is_result, b.position);
  });
  for (const auto& row : rows) writer_.add(row);
}

void RowWriter::write_checksums() {
  for (std::size_t p = 0; p < processes_.size(); ++p)
    for (const auto& [id, told] : processes_[p].checksums) {
      const auto array = array_ids_[p].find(id);
      if (array == array_ids_[p].end()) continue;
      for (const ChecksumRecord& part : told.parts) {
        traces::ChecksumRow row{.array = array->second, .device = part.device, .process = processes_[p].process, .checksum = {}};
        row.checksum = {part.hash, part.numbers, part.nans, part.infinities, part.min, part.max, part.sum, part.squares, {}};
        std::copy_n(part.sketches.begin(), std::min(part.sketches.size(), row.checksum.sketches.size()), row.checksum.sketches.begin());
        writer_.add(row);
      }
    }
}

}  // namespace shardlab::recorder
