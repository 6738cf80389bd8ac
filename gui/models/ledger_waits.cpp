#include "gui/models/ledger_waits.h"

#include "runtime/base/where.h"
#include "traces/checks/positions.h"
#include "traces/checks/wording.h"

namespace shardlab::gui {

std::vector<LedgerWait> ledger_waits(const Evidence& evidence) {
  std::vector<LedgerWait> waits;
  const Positions positions(evidence);
  for (const int process : positions.processes()) {
    const ProcessEvidence& stood = positions.at(process);
    for (const int peer : stood.awaits) {
      const bool key = stood.doing.starts_with("key ");
      waits.push_back({.process = process,
                       .peer = peer,
                       .doing = stood.doing + (key ? ", asked for" : "") + where_text(stood.where),
                       .since = stood.since_ns,
                       .any = key});
    }
    const CallEvidence* head = stood.awaits.empty() ? positions.head(process) : nullptr;
    if (!head) continue;
    for (const int peer : positions.participants(*head)) {
      const CallEvidence* other = positions.head(peer);
      if (peer != process && !(other && key_of(*other) == key_of(*head)))
        waits.push_back({.process = process, .peer = peer, .launch = std::int64_t(head->launch)});
    }
  }
  return waits;
}

}  // namespace shardlab::gui
