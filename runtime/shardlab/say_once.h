// What several processes of a job end with alike, a verdict or an error: one of them says it whole.
#pragma once

#include <functional>
#include <string>

#include "runtime/control/client.h"

namespace shardlab {

// Calls `say` unless another process of the job says the same `text`, and has said it when this returns. Returns who did. Where the
// coordinator does not answer, or the other one ended before it was done, this process says it, too: nothing is lost. Never throws but what
// `say` does. `what_of`: who says it together: the processes that are read in one place, in one part of the
// job's life.
int say_once(control::ControlClient& client, int process, const std::string& what_of, const std::string& text,
             const std::function<void()>& say);

// The file, terminal or pipe that this process's standard error goes to: equal where two share it.
std::string output_identity();

}  // namespace shardlab
