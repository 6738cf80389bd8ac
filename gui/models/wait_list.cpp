#include "gui/models/wait_list.h"

#include <map>
#include <tuple>

namespace shardlab::gui {
namespace {

// When each process issued the launch of a rank on a program's devices.
class Issues {
 public:
  explicit Issues(const TraceData& trace) {
    for (const auto& launch : trace.launches)
      if (launch.program >= 0) rows_.emplace_back(launch.program, launch.seq, launch.process, launch.issued);
    std::sort(rows_.begin(), rows_.end());
  }
  // kOpen: never.
  Ns of(int program, std::int64_t seq, int process) const {
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), Row(program, seq, process, std::numeric_limits<Ns>::min()));
    const bool there = at != rows_.end() && std::get<0>(*at) == program && std::get<1>(*at) == seq && std::get<2>(*at) == process;
    return there ? std::get<3>(*at) : kOpen;
  }

 private:
  using Row = std::tuple<int, std::int64_t, int, Ns>;
  std::vector<Row> rows_;
};

// The launches of one process that a peer must come to, in the order of issue, over reads by their begin.
//
// A launch that the peer has come to before a read holds no later read either, so all of them are passed once.
class Lacking {
 public:
  void add(int launch, Ns came) {
    launches_.push_back(launch);
    came_.push_back(came);
    latest_ = std::max(latest_, came);
  }
  // The first that it lacks at `time`, -1 for none; `until` is when it has come to all of them.
  int first(Ns time, Ns& until) {
    while (passed_ < came_.size() && came_[passed_] <= time) ++passed_;
    until = latest_;
    return passed_ < came_.size() ? launches_[passed_] : -1;
  }

 private:
  std::vector<int> launches_;
  std::vector<Ns> came_;
  std::size_t passed_ = 0;
  Ns latest_ = 0;
};

// A read of the host waits until every launch issued before it is issued by all of its processes.
void add_reads(const TraceData& trace, std::vector<Wait>& waits) {
  const Issues issues(trace);
  std::map<int, std::vector<int>> reads_of, launches_of;
  for (std::size_t r = 0; r < trace.host_reads.size(); ++r) reads_of[trace.host_reads[r].process].push_back(int(r));
  for (std::size_t l = 0; l < trace.launches.size(); ++l)
    if (trace.launches[l].program >= 0) launches_of[trace.launches[l].process].push_back(int(l));
  std::vector<Wait> found;
  for (auto& [process, reads] : reads_of) {
    auto& launches = launches_of[process];
    std::stable_sort(reads.begin(), reads.end(),
                     [&](int a, int b) { return trace.host_reads[std::size_t(a)].begin < trace.host_reads[std::size_t(b)].begin; });
    std::stable_sort(launches.begin(), launches.end(),
                     [&](int a, int b) { return trace.launches[std::size_t(a)].issued < trace.launches[std::size_t(b)].issued; });
    std::map<int, Lacking> of_peer;
    std::size_t issued = 0;
    for (const int r : reads) {
      const HostRead& read = trace.host_reads[std::size_t(r)];
      for (; issued < launches.size() && trace.launches[std::size_t(launches[issued])].issued <= read.begin; ++issued) {
        const Launch& launch = trace.launches[std::size_t(launches[issued])];
        for (const int peer : trace.programs[std::size_t(launch.program)].processes)
          if (peer != process) of_peer[peer].add(launches[issued], issues.of(launch.program, launch.seq, peer));
      }
      for (auto& [peer, lacking] : of_peer) {
        Ns until = 0;
        const int launch = lacking.first(read.begin, until);
        if (launch >= 0)
          found.push_back(
              {.process = process, .peer = peer, .begin = read.begin, .end = std::min(until, read.end), .launch = launch, .read = r});
      }
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Wait& a, const Wait& b) { return a.read < b.read; });
  waits.insert(waits.end(), found.begin(), found.end());
}

// What the ledger knew at the verdict: who is stopped before his call begins leaves no record of waiting in it.
void add_ledger(const TraceData& trace, std::vector<Wait>& waits) {
  const Ns verdict = verdict_time(trace);
  for (std::size_t i = 0; i < trace.ledger_waits.size(); ++i) {
    const LedgerWait& each = trace.ledger_waits[i];
    if (each.launch < 0 && each.since < verdict)
      waits.push_back({.process = each.process,
                       .peer = each.peer,
                       .begin = std::max(each.since, trace.range.begin),
                       .end = verdict,
                       .beside = int(i),
                       .any = each.any});
    if (const Launch* launch = trace.launch(each.process, each.launch); launch && launch->issued < verdict)
      waits.push_back({.process = each.process,
                       .peer = each.peer,
                       .begin = launch->issued,
                       .end = verdict,
                       .launch = int(launch - trace.launches.data())});
  }
}

}  // namespace

WaitList::WaitList(std::vector<Wait> waits) : waits_(std::move(waits)) {
  std::stable_sort(waits_.begin(), waits_.end(), [](const Wait& a, const Wait& b) { return a.begin < b.begin; });
  for (std::size_t i = 0; i < waits_.size(); ++i) {
    if (i % kBlock == 0) end_max_.push_back(waits_[i].end);
    end_max_.back() = std::max(end_max_.back(), waits_[i].end);
  }
}

std::size_t WaitList::first_from(Ns time) const {
  return std::size_t(std::partition_point(waits_.begin(), waits_.end(), [time](const Wait& each) { return each.begin < time; }) -
                     waits_.begin());
}

WaitList find_waits(const TraceData& trace) {
  std::vector<Wait> waits;
  for (const auto& edge : trace.wait_edges)
    waits.push_back({.process = edge.process, .peer = edge.peer, .begin = edge.begin, .end = edge.end, .collective = edge.collective});
  add_reads(trace, waits);
  add_ledger(trace, waits);
  return WaitList(std::move(waits));
}

std::vector<Ns> change_times(const WaitList& waits) {
  std::vector<Ns> times;
  for (const auto& wait : waits) {
    times.push_back(wait.begin);
    if (wait.end != kOpen) times.push_back(wait.end);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

Ns verdict_time(const TraceData& trace) {
  Ns first = kOpen;
  for (const auto& diagnosis : trace.diagnoses)
    if (diagnosis.severity == "error" && diagnosis.detected_ns > 0) first = std::min<Ns>(first, diagnosis.detected_ns);
  return first;
}

}  // namespace shardlab::gui
