// How the ledger proves that something can never be matched: contradictions, calls of who is gone, circles.
#include <algorithm>
#include <utility>

#include "runtime/control/ledger.h"

namespace shardlab::control {

void Ledger::seek_unreceived(int gone) {
  if (finding_) return;
  for (const auto& [name, channel] : channels_)
    if (channel.to == gone && !channel.sent.empty())
      return find(Finding::Kind::kGone, {channel.from, gone}, std::max(channel.sent.front().issued_ns, at(gone).ended_ns));
}

void Ledger::seek_contradiction(int process) {
  const Program* mine = head(process)->program;
  if (standing_.size() < 2) return;
  for (const auto& [key, other] : standing_) {
    if (other == mine || !other->includes[process]) continue;
    for (int q : other->at_head)
      if (mine->includes[q])
        return find(Finding::Kind::kContradiction, {process, q}, std::max(at(process).head_since_ns, at(q).head_since_ns));
  }
}

bool Ledger::differ_ahead(int p, int q) const {
  const auto &a = at(p).queue, &b = at(q).queue;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].program == b[i].program) continue;
    auto is_message = [](const OpenCall& open) { return !open.program->evidence.channel.empty(); };
    return a[i].program->includes[std::size_t(q)] && b[i].program->includes[std::size_t(p)] && !is_message(a[i]) && !is_message(b[i]);
  }
  return false;
}

void Ledger::seek_gone(int process) {
  if (gone_ == 0) return;
  for (int q : head(process)->program->evidence.processes)
    if (at(q).ended && at(q).queue.empty())
      return find(Finding::Kind::kGone, {process, q}, std::max(at(process).head_since_ns, std::max(at(q).ended_ns, at(q).head_since_ns)));
}

void Ledger::seek_needed(int gone) {
  if (finding_) return;
  seek_unreceived(gone);
  for (const auto& [key, program] : standing_)
    if (program->includes[gone])
      for (int p : program->at_head)
        return find(Finding::Kind::kGone, {p, gone}, std::max({at(p).head_since_ns, at(gone).ended_ns, at(gone).head_since_ns}));
}

// Depth first along "needs one that stands elsewhere", from the process whose head is new: an older circle was found before.
void Ledger::seek_cycle(int process) {
  if (finding_ || standing_.size() < 2) return;
  std::vector<int> came_from(processes_.size(), -1);
  std::vector<int> open{process};
  while (!open.empty()) {
    int p = open.back();
    open.pop_back();
    const OpenCall* mine = head(p);
    for (int q : mine->program->evidence.processes) {
      const OpenCall* other = head(q);
      if (!other || other->program == mine->program) continue;
      if (q == process) {
        std::vector<int> circle;
        std::int64_t complete_ns = 0;
        for (int member = p; member != -1; member = member == process ? -1 : came_from[member]) {
          circle.push_back(member);
          complete_ns = std::max(complete_ns, at(member).head_since_ns);
        }
        std::reverse(circle.begin(), circle.end());
        return find(Finding::Kind::kCycle, std::move(circle), complete_ns);
      }
      if (came_from[q] >= 0) continue;
      came_from[q] = p;
      open.push_back(q);
    }
  }
}

void Ledger::find(Finding::Kind kind, std::vector<int> processes, std::int64_t complete_ns) {
  // A death is stronger than what was found before: it comes with a time of its own.
  bool stronger = finding_ && kind == Finding::Kind::kDeath && finding_->kind != Finding::Kind::kDeath;
  if (finding_ && !stronger) return;
  finding_ = Finding{kind, complete_ns, std::move(processes)};
  if (!stronger) issued_at_finding_ = issued_total_;
}

}  // namespace shardlab::control
