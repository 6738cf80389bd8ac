#include "gui/models/wait_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace shardlab::gui {
namespace {

// The peers of each waiting process at a time.
std::map<int, std::set<int>> peers_at(const WaitList& waits, Ns time) {
  std::map<int, std::set<int>> peers;
  waits.at(time, [&](const Wait& wait) {
    if (wait.peer != wait.process) peers[wait.process].insert(wait.peer);
  });
  return peers;
}

// What a process needs: all of some, and one of others.
struct Needs {
  std::set<int> all, any;
  bool met_by(const std::set<int>& free) const {
    return std::includes(free.begin(), free.end(), all.begin(), all.end()) &&
           (any.empty() || std::any_of(any.begin(), any.end(), [&](int peer) { return free.contains(peer); }));
  }
};

std::map<int, Needs> needs_at(const WaitList& waits, Ns time) {
  std::map<int, Needs> needs;
  waits.at(time, [&](const Wait& wait) {
    if (wait.peer != wait.process) (wait.any ? needs[wait.process].any : needs[wait.process].all).insert(wait.peer);
  });
  return needs;
}

// Who could go on when these have come; the freed free others in turn. They are no longer among `needs`.
std::vector<int> spread(std::map<int, Needs>& needs, std::set<int> free) {
  std::vector<int> freed;
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = needs.begin(); it != needs.end();) {
      if (!free.contains(it->first) && it->second.met_by(free)) {
        free.insert(it->first);
        freed.push_back(it->first);
        it = needs.erase(it);
        changed = true;
      } else {
        ++it;
      }
    }
  }
  std::sort(freed.begin(), freed.end());
  return freed;
}

const Wait* wait_of(const WaitList& waits, int process, Ns time) {
  const Wait* found = nullptr;
  waits.at(time, [&](const Wait& wait) {
    if (wait.process == process && (!found || (wait.collective >= 0 && found->collective < 0))) found = &wait;
  });
  return found;
}

// Strongly connected sets with more than one member (Tarjan 1972).
std::vector<std::vector<int>> cycles_of(const std::map<int, std::set<int>>& peers) {
  std::map<int, int> index, low;
  std::vector<int> stack;
  std::set<int> on_stack;
  std::vector<std::vector<int>> cycles;
  const std::function<void(int)> visit = [&](int at) {
    const int number = int(index.size());
    index[at] = low[at] = number;
    stack.push_back(at);
    on_stack.insert(at);
    if (const auto out = peers.find(at); out != peers.end())
      for (const int to : out->second) {
        if (!index.contains(to)) {
          visit(to);
          low[at] = std::min(low[at], low[to]);
        } else if (on_stack.contains(to)) {
          low[at] = std::min(low[at], index[to]);
        }
      }
    if (low[at] != index[at]) return;
    std::vector<int> members;
    while (true) {
      const int top = stack.back();
      stack.pop_back();
      on_stack.erase(top);
      members.push_back(top);
      if (top == at) break;
    }
    if (members.size() < 2) return;
    std::sort(members.begin(), members.end());
    cycles.push_back(std::move(members));
  };
  for (const auto& [process, out] : peers)
    if (!index.contains(process)) visit(process);
  std::sort(cycles.begin(), cycles.end());
  return cycles;
}

std::vector<WaitCycle> lasting_cycles(const std::map<int, std::set<int>>& peers, const WaitList& waits, Ns time, Ns verdict) {
  std::vector<WaitCycle> cycles;
  for (auto& processes : cycles_of(peers)) {
    WaitCycle cycle{.processes = std::move(processes)};
    const auto in = [&](int process) { return std::binary_search(cycle.processes.begin(), cycle.processes.end(), process); };
    // Several waits of one process for one peer: the last of them holds it.
    std::map<std::pair<int, int>, Ns> until;
    waits.at(time, [&](const Wait& wait) {
      if (!in(wait.process) || !in(wait.peer)) return;
      Ns& end = until[{wait.process, wait.peer}];
      end = std::max(end, wait.end);
    });
    for (const auto& [pair, end] : until)
      if (end < verdict) cycle.end = std::min(cycle.end, end);
    cycles.push_back(std::move(cycle));
  }
  return cycles;
}

std::string name_of(const TraceData& trace, const Launch& launch) {
  return launch.program >= 0 ? trace.programs[std::size_t(launch.program)].name : "a program whose record was lost";
}

bool is_end(const Process& process) { return process.ended_badly() || process.state == "left" || process.state == "silent"; }

// How it ended, once it has; before that what it did then: the read it was in, else what it had issued last.
std::string state_text(const TraceData& trace, int process, Ns time) {
  const Process* row = trace.process(process);
  if (!row) return "is not part of the trace";
  if (time >= row->last) {
    // It was ended for that afterwards.
    for (const Diagnosis& diagnosis : trace.diagnoses)
      for (const Participant& side : diagnosis.participants)
        if (diagnosis.code == "process-stuck" && side.process == process &&
            std::find(diagnosis.processes.begin(), diagnosis.processes.end(), process) != diagnosis.processes.end())
          return fmt::format("does not go on{}{}", side.where.empty() ? "" : " at ", side.where);
    if (row->signal != 0) return fmt::format("was killed by signal {}", row->signal);
    if (row->state == "raised") return fmt::format("raised an error{}{}", row->where.empty() ? "" : " at ", row->where);
    if (row->state == "exited") return fmt::format("exited with code {}", row->exit_code);
    if (row->state == "left") return "left the job";
    if (!row->state.empty() && row->state != "running") return fmt::format("is {}", row->state);
  }
  for (const auto& read : trace.host_reads) {
    if (read.process != process || read.begin > time || time >= read.end) continue;
    const std::string where = trace.site_text(read.site);
    return fmt::format("is in {}{}{}", read.what.empty() ? "a read" : read.what, where.empty() ? "" : " at ", where);
  }
  // By process, then in the order of issue.
  const auto first =
      std::partition_point(trace.launches.begin(), trace.launches.end(), [&](const Launch& each) { return each.process < process; });
  auto last =
      std::partition_point(first, trace.launches.end(), [&](const Launch& each) { return each.process == process && each.issued <= time; });
  if (last == first) return "has issued nothing yet";
  --last;
  const std::string where = trace.site_text(last->site);
  return fmt::format("runs; the last it issued is {}{}{}", name_of(trace, *last), where.empty() ? "" : " at ", where);
}

}  // namespace

Ns telling_time(const TraceData& trace, const WaitList& waits) {
  constexpr std::size_t kTimesMax = 2000;  // of a long run only the end is looked at: a hang is there
  auto times = change_times(waits);
  if (times.empty()) return -1;
  if (times.size() > kTimesMax) times.erase(times.begin(), times.end() - std::ptrdiff_t(kTimesMax));
  const Ns verdict = verdict_time(trace);
  Ns best = times.front();
  std::tuple<std::size_t, std::size_t, std::size_t> most;  // in lasting cycles, waiting until the verdict, waiting
  for (const Ns time : times) {
    const auto peers = peers_at(waits, time);
    std::size_t cyclic = 0;
    for (const auto& cycle : lasting_cycles(peers, waits, time, verdict))
      if (cycle.lasting()) cyclic += cycle.processes.size();
    std::set<int> in_vain;
    if (verdict != kOpen)
      waits.at(time, [&](const Wait& wait) {
        if (wait.end >= verdict) in_vain.insert(wait.process);
      });
    // The first time at which the most are in cycles; without any, the last at which the most wait in vain, else wait at all.
    const bool hangs = cyclic > 0 || !in_vain.empty();
    const auto score = std::tuple(cyclic, cyclic > 0 ? std::size_t(0) : in_vain.size(), hangs ? std::size_t(0) : peers.size());
    if (score > most || (score == most && cyclic == 0)) {
      best = time;
      most = score;
    }
  }
  return best;
}

std::string wait_reason(const TraceData& trace, const Wait& wait) {
  if (wait.collective >= 0) {
    const Collective& call = trace.collectives[std::size_t(wait.collective)];
    const Member* mine = nullptr;
    for (const auto& member : call.members)
      if (member.process == wait.process) mine = &member;
    const std::string where = trace.site_text(mine && mine->site >= 0 ? mine->site : call.type->site);
    return fmt::format("{} of {}{}{}", call.type->kind, call.type->op, where.empty() ? "" : " at ", where);
  }
  if (wait.beside >= 0) return trace.ledger_waits[std::size_t(wait.beside)].doing;
  if (wait.launch < 0) return "its peers";
  const Launch& launch = trace.launches[std::size_t(wait.launch)];
  if (wait.read < 0) {
    const std::string where = trace.site_text(launch.site);
    return fmt::format("{}{}{}", name_of(trace, launch), where.empty() ? "" : " at ", where);
  }
  const HostRead& read = trace.host_reads[std::size_t(wait.read)];
  const std::string where = trace.site_text(launch.site), read_at = trace.site_text(read.site);
  return fmt::format("{}{}{}: {} at {} is not agreed", read.what.empty() ? "a read" : read.what, read_at.empty() ? "" : " at ", read_at,
                     trace.programs[std::size_t(launch.program)].name, where);
}

int WaitGraph::node_of(int process) const {
  for (std::size_t n = 0; n < nodes.size(); ++n)
    if (std::binary_search(nodes[n].processes.begin(), nodes[n].processes.end(), process)) return int(n);
  return -1;
}

WaitGraph make_wait_graph(const TraceData& trace, const WaitList& waits, Ns time) {
  const auto peers = peers_at(waits, time);
  WaitGraph graph;
  graph.cycles = lasting_cycles(peers, waits, time, verdict_time(trace));
  const auto cycle_of = [&](int process) {
    for (std::size_t c = 0; c < graph.cycles.size(); ++c)
      if (std::binary_search(graph.cycles[c].processes.begin(), graph.cycles[c].processes.end(), process)) return int(c);
    return -1;
  };
  // One node for those that wait in the same place for the same others; that they wait for each other as well does not part them.
  using Place = std::pair<int, std::string>;  // cycle, reason
  std::map<int, Place> places;
  for (const auto& [process, whom] : peers) {
    const Wait* wait = wait_of(waits, process, time);
    places[process] = {cycle_of(process), wait ? wait_reason(trace, *wait) : std::string()};
  }
  std::map<std::pair<Place, std::set<int>>, std::vector<int>> classes;
  for (const auto& [process, whom] : peers) {
    const Place& place = places[process];
    std::set<int> elsewhere;
    for (const int peer : whom)
      if (const auto other = places.find(peer); other == places.end() || other->second != place) elsewhere.insert(peer);
    // A ring in one place has nobody elsewhere: its links are what there is to see.
    classes[{place, elsewhere.empty() ? whom : elsewhere}].push_back(process);
  }
  std::set<int> waited;
  for (const auto& [process, whom] : peers) waited.insert(whom.begin(), whom.end());
  for (auto& [key, processes] : classes) {
    const int cycle = key.first.first;
    graph.nodes.push_back({.processes = processes,
                           .waits = true,
                           .in_cycle = cycle >= 0,
                           .lasting = cycle >= 0 && graph.cycles[std::size_t(cycle)].lasting(),
                           .reason = key.first.second});
  }
  std::map<std::string, std::vector<int>> free;
  for (const auto& process : trace.processes)
    if (!peers.contains(process.index))
      free[fmt::format("{}|{}", waited.contains(process.index), state_text(trace, process.index, time))].push_back(process.index);
  for (auto& [key, processes] : free) graph.nodes.push_back({.processes = processes, .reason = key.substr(key.find('|') + 1)});
  std::stable_sort(graph.nodes.begin(), graph.nodes.end(), [](const WaitNode& a, const WaitNode& b) {
    return std::tuple(!a.in_cycle, !a.waits) < std::tuple(!b.in_cycle, !b.waits);
  });
  std::set<std::pair<int, int>> edges;
  for (const auto& [process, whom] : peers)
    for (const int peer : whom) {
      const int from = graph.node_of(process), to = graph.node_of(peer);
      if (from >= 0 && to >= 0 && from != to) edges.emplace(from, to);
    }
  graph.edges.assign(edges.begin(), edges.end());
  waits.at(time, [&](const Wait& wait) {
    if (const std::pair edge(graph.node_of(wait.process), graph.node_of(wait.peer)); wait.any && edges.contains(edge))
      graph.any.insert(edge);
  });
  return graph;
}

std::vector<int> freed_by(const WaitList& waits, Ns time, const std::vector<int>& came) {
  auto needs = needs_at(waits, time);
  return spread(needs, {came.begin(), came.end()});
}

WhatIf without_waits(const WaitList& waits, Ns time, const std::vector<int>& waiting, const std::vector<int>& peers) {
  auto needs = needs_at(waits, time);
  for (const int process : waiting) {
    const auto it = needs.find(process);
    if (it == needs.end()) continue;
    for (const int peer : peers) {
      it->second.all.erase(peer);
      if (it->second.any.contains(peer)) it->second.any.clear();  // one of them was enough
    }
  }
  WhatIf result{.freed = spread(needs, {}), .circles = {}};
  std::map<int, std::set<int>> left;
  for (const auto& [process, need] : needs) {
    left[process] = need.all;
    left[process].insert(need.any.begin(), need.any.end());
  }
  result.circles = cycles_of(left);
  return result;
}

std::vector<std::pair<int, int>> waits_that_close(const WaitList& waits, Ns time, std::size_t most) {
  constexpr std::size_t kTriedMax = 400;
  std::vector<std::pair<int, int>> found;
  const auto peers = peers_at(waits, time);
  std::size_t tried = 0;
  for (const auto& cycle : cycles_of(peers))
    for (const int process : cycle)
      for (const int peer : peers.at(process)) {
        if (found.size() == most || tried++ == kTriedMax) return found;
        if (std::binary_search(cycle.begin(), cycle.end(), peer) && without_waits(waits, time, {process}, {peer}).circles.empty())
          found.emplace_back(process, peer);
      }
  return found;
}

std::vector<Unblocker> best_unblockers(const TraceData& trace, const WaitList& waits, Ns time) {
  std::vector<Unblocker> all;
  for (const auto& process : trace.processes)
    if (auto frees = freed_by(waits, time, {process.index}); !frees.empty()) all.push_back({process.index, std::move(frees)});
  std::stable_sort(all.begin(), all.end(), [](const Unblocker& a, const Unblocker& b) { return a.frees.size() > b.frees.size(); });
  if (!all.empty()) std::erase_if(all, [most = all[0].frees.size()](const Unblocker& each) { return each.frees.size() < most; });
  return all;
}

bool has_ended(const TraceData& trace, int process, Ns time) {
  const Process* row = trace.process(process);
  return row && time >= row->last && is_end(*row);
}

int wait_of_event(const TraceData& trace, const WaitList& waits, int lane, std::int64_t event) {
  const LaneEvents& events = *trace.lanes[std::size_t(lane)].events;
  const int process = trace.lanes[std::size_t(lane)].process, collective = events.collective[std::size_t(event)];
  const Ns begin = events.begin[std::size_t(event)], end = events.end[std::size_t(event)];
  if (collective < 0 && events.kind[std::size_t(event)] != EventKind::kHostRead) return -1;
  for (std::size_t w = waits.first_from(begin); w < waits.size() && waits[w].begin < std::max(end, begin + 1); ++w)
    if (waits[w].process == process && waits[w].collective == collective) return int(w);
  return -1;
}

std::vector<WaitStep> explain_wait(const TraceData& trace, const WaitList& waits, int process, Ns time) {
  std::vector<WaitStep> steps;
  std::set<int> seen;
  const auto peers = peers_at(waits, time);
  while (true) {
    const auto whom = peers.find(process);
    if (whom == peers.end()) {
      steps.push_back(
          {.process = process, .text = fmt::format("process {} waits for nobody: it {}", process, state_text(trace, process, time))});
      return steps;
    }
    if (!seen.insert(process).second) {
      const auto cycles = lasting_cycles(peers, waits, time, verdict_time(trace));
      const auto cycle = std::find_if(cycles.begin(), cycles.end(), [&](const WaitCycle& each) {
        return std::binary_search(each.processes.begin(), each.processes.end(), process);
      });
      const bool lasting = cycle == cycles.end() || cycle->lasting();
      steps.push_back({.process = process,
                       .text = lasting ? fmt::format("process {} again: the circle is closed, and none of them can go on", process)
                                       : fmt::format("process {} again: a circle of this moment, which dissolved: what they wait for was "
                                                     "on its way",
                                                     process)});
      return steps;
    }
    const Wait* wait = wait_of(waits, process, time);
    const int site = wait->launch >= 0       ? trace.launches[std::size_t(wait->launch)].site
                     : wait->collective >= 0 ? trace.collectives[std::size_t(wait->collective)].type->site
                                             : -1;
    steps.push_back({.process = process,
                     .collective = wait->collective,
                     .site = site,
                     .text = fmt::format("process {} waits in {} for process{} {}", process, wait_reason(trace, *wait),
                                         whom->second.size() == 1 ? "" : "es", fmt::join(whom->second, ", "))});
    // Towards the root: somebody who waits for nobody, else the first.
    int next = *whom->second.begin();
    for (const int peer : whom->second)
      if (!peers.contains(peer)) next = peer;
    process = next;
  }
}

}  // namespace shardlab::gui
