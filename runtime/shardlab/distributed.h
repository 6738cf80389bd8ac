// Joining the processes of a job.
#pragma once

#include <source_location>
#include <string_view>

#include "runtime/base/where.h"

namespace shardlab::distributed {

// Joins the job that this process was started in: by `shardlab run` or `replay`, or by mpirun; a process on its own is a job of one.
// Must come before any use of a device: afterwards, and when called twice, it is JAX's documented error. Devices per process:
// SHARDLAB_NUM_CPU_DEVICES (or `-d` of the command). Records when SHARDLAB_TRACE_DIR (set by the command) or SHARDLAB_TRACE names a place.
// At normal exit the process leaves the job by itself; an uncaught error is told to the others.
void initialize(std::source_location where = std::source_location::current());

// Leaves the job: everything launched is done, and all processes agree on it. Throws DiagnosisError. Done at exit where not called.
void shutdown();

bool is_initialized();

// Tells the other processes that this one ends in an error. For runners that catch it themselves.
void raised(std::string_view text, Where where);

}  // namespace shardlab::distributed
