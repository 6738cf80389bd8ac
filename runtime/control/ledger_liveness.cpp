// Who can still go on, where processes wait for each other beside their calls.
#include <algorithm>
#include <set>

#include "runtime/control/ledger.h"

namespace shardlab::control {

// The least fixed point of what may come to pass, of this side's knowledge: a process whose thread runs may do anything; a call may be
// matched once each that takes part stands at it, may come to it, or has it behind a call that may be matched; a read may end when the call
// that it waits in may be matched. Whoever is not in it waits for others outside of it alone, and none of them can end that.
std::vector<bool> Ledger::may_go_on(const std::vector<HostState>& hosts) const {
  const int n = num_processes();
  std::vector<bool> may(std::size_t(n), false);
  for (int p = 0; p < n; ++p) may[std::size_t(p)] = !issues_no_more(p) && hosts[std::size_t(p)].kind == HostState::Kind::kRuns;
  std::set<const Program*> may_match;
  auto comes = [&](const Program& program, int p) {
    if (may[std::size_t(p)]) return true;
    const OpenCall* first = head(p);
    if (!first) return false;
    auto is_it = [&](const OpenCall& open) {
      if (program.evidence.channel.empty()) return open.program == &program;
      return open.program == &program || open.program->evidence.channel == program.evidence.channel;
    };
    if (is_it(*first)) return true;
    return may_match.contains(first->program) && std::any_of(at(p).queue.begin(), at(p).queue.end(), is_it);
  };
  auto may_end = [&](int p) {
    const HostState& host = hosts[std::size_t(p)];
    switch (host.kind) {
      case HostState::Kind::kRuns:
        return true;
      case HostState::Kind::kReads:
        return !head(p) || may_match.contains(head(p)->program);
      case HostState::Kind::kAwaitsAll:  // who has ended fails the wait, and so ends it
        return std::any_of(host.awaited->begin(), host.awaited->end(), [&](int q) { return issues_no_more(q); }) ||
               std::all_of(host.awaited->begin(), host.awaited->end(), [&](int q) { return may[std::size_t(q)]; });
      case HostState::Kind::kAwaitsAny: {  // the last one of all waits for its time-out
        bool alone = true;
        for (int q = 0; q < n; ++q) {
          if (q == p || issues_no_more(q)) continue;
          if (may[std::size_t(q)]) return true;
          alone = false;
        }
        return alone;
      }
    }
    return true;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [key, program] : standing_) {
      const auto& members = program->evidence.processes;
      if (may_match.contains(program) || !std::all_of(members.begin(), members.end(), [&](int p) { return comes(*program, p); })) continue;
      may_match.insert(program);
      changed = true;
    }
    for (int p = 0; p < n; ++p) {
      if (may[std::size_t(p)] || issues_no_more(p) || !may_end(p)) continue;
      may[std::size_t(p)] = true;
      changed = true;
    }
  }
  return may;
}

}  // namespace shardlab::control
