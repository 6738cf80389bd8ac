// Which processes record into a folder, and which of them are no more.
#pragma once

#include <set>
#include <string>

#include "traces/recorder/process_trace.h"

namespace shardlab::recorder {

// The processes of which a part or a ring lies in the directory.
std::set<int> processes_in(const std::string& directory);

// A process of this host that ended without closing its record, in a job that nobody supervises any more.
bool is_gone(const ProcessTrace& trace, const std::string& ring);

}  // namespace shardlab::recorder
