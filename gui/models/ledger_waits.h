// Who waited for whom where a verdict was spoken, as the evidence beside it says.
#pragma once

#include <vector>

#include "gui/models/trace_data.h"
#include "traces/checks/evidence.h"

namespace shardlab::gui {

// Of each process: what it had begun and awaited of others, or else the participants of its last call that stood elsewhere.
std::vector<LedgerWait> ledger_waits(const Evidence& evidence);

}  // namespace shardlab::gui
