// The trace of a job that no command supervises: its processes record into one folder, and its coordinator merges what is there at the end.
#pragma once

#include <string>

#include "runtime/control/environment.h"
#include "runtime/control/serve.h"

namespace shardlab {

// Throws UserError where the trace cannot be written: better now than when the work is done.
void check_trace_file(const std::string& trace);

// Where SHARDLAB_TRACE and SHARDLAB_TRACE_DIR want it, with a folder for the parts; for process 0, which starts the coordinator. Empty
// where nobody asks for one. Throws IoError where the folder cannot be made.
control::TracePlace make_trace_place(const control::JobEnvironment& environment);

// Once the job is over: waits until the processes have closed their parts, or are gone, and merges them with the coordinator's verdict and
// evidence. What processes of other hosts recorded is there where the folder is shared.
void merge_job_trace(const control::Coordinator& coordinator, const control::TracePlace& place);

}  // namespace shardlab
