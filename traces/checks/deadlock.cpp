#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "traces/checks/definitions.h"
#include "traces/checks/positions.h"
#include "traces/checks/wording.h"

namespace shardlab {
namespace {

// p waits for q: q takes part in p's first open call and stands at another one, or waits for something beside its calls; or p itself does.
std::vector<int> waits_for(const Positions& positions, int p) {
  std::vector<int> edges = positions.at(p).awaits;
  if (!edges.empty()) return edges;
  const CallEvidence* head = positions.head(p);
  if (!head) return edges;
  for (int q : positions.participants(*head)) {
    const CallEvidence* other = positions.head(q);
    if (q != p && (other ? key_of(*other) != key_of(*head) : positions.awaits(q))) edges.push_back(q);
  }
  return edges;
}

// The shortest cycle through `start`, from `start` on; empty where there is none.
std::vector<int> cycle_through(const Positions& positions, int start, const std::set<int>& used) {
  std::map<int, int> came_from;
  std::queue<int> open;
  open.push(start);
  while (!open.empty()) {
    int p = open.front();
    open.pop();
    for (int q : waits_for(positions, p)) {
      if (q == start) {
        std::vector<int> cycle{p};
        while (cycle.back() != start) cycle.push_back(came_from.at(cycle.back()));
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
      }
      if (used.contains(q) || !came_from.emplace(q, p).second) continue;
      open.push(q);
    }
  }
  return {};
}

std::string wait_at(const Positions& positions, int p) {
  const ProcessEvidence& process = positions.at(p);
  if (process.awaits.empty()) return fmt::format("in {}", call_at(positions.evidence(), *positions.head(p)));
  bool is_key = process.doing.starts_with("key ");
  return fmt::format("{} {}{}{}", is_key ? "to set" : "at", process.doing, is_key ? ", asked for" : "", where_text(process.where));
}

Diagnosis of_cycle(const Positions& positions, const std::vector<int>& cycle) {
  const Evidence& evidence = positions.evidence();
  std::vector<int> members = cycle;
  std::sort(members.begin(), members.end());
  Diagnosis diagnosis{.processes = members, .tie = true, .participants = sides(positions, members, {})};
  std::vector<std::string> edges;
  std::string arrows;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    int p = cycle[i], q = cycle[(i + 1) % cycle.size()];
    edges.push_back(fmt::format("process {} waits for process {} {}", p, q, wait_at(positions, p)));
    arrows += fmt::format("{} -> ", p);
  }
  diagnosis.message = fmt::format("{} wait for each other in a circle: {}", processes_text(members), fmt::join(edges, ", "));
  diagnosis.details.emplace_back("cycle", fmt::format("{}{}", arrows, cycle.front()));
  for (const std::string& edge : edges) diagnosis.details.emplace_back("edge", edge);
  diagnosis.details.emplace_back("look_ahead", std::to_string(evidence.look_ahead_calls));
  return diagnosis;
}

std::vector<Diagnosis> run(const Evidence& evidence) {
  Positions positions(evidence);
  std::vector<Diagnosis> found;
  std::set<int> used;
  for (int p : positions.processes()) {
    if (used.contains(p)) continue;
    std::vector<int> cycle = cycle_through(positions, p, used);
    if (cycle.empty()) continue;
    used.insert(cycle.begin(), cycle.end());
    found.push_back(of_cycle(positions, cycle));
  }
  return found;
}

}  // namespace

const CheckDef kDeadlock{
    .code = "deadlock",
    .severity = "error",
    .summary = "a cycle in the wait-for graph; `cycle` lists its edges",
    .explain =
        "Each of these processes waits in a call for the next one, and the last for the first, so that none of them can ever go on. No two "
        "of them contradict each other directly: the calls run over different groups of devices, and each process issues them in an order "
        "of its own, or one of them waits at a barrier or for a key of the coordinator. Choose one order of the groups and keep it on all "
        "processes, and wait for others only where they need nothing of you first.",
    .run = run,
};

}  // namespace shardlab
