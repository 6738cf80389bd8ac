// The wait-for graph of a verdict as a picture: who waits in which call for whom.
#pragma once

#include <string>

#include "traces/checks/evidence.h"

namespace shardlab::traces {

// An <svg> element; "" where nobody waits, or where there are too many processes for a picture.
std::string wait_graph_svg(const Evidence& evidence);

}  // namespace shardlab::traces
