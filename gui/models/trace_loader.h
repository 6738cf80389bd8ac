// Reads a trace file into TraceData. Runs on any thread; touches no Qt object.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

struct LoadOptions {
  std::string path;
  std::string title = {};                 // instead of the file's name
  std::stop_token stop;                   // asked for between rows; a stopped load returns null
  std::function<void(TracePtr)> preview;  // of a large trace, from the loading thread: all but events and collectives; may be empty
  std::function<void(double)> progress;   // 0…1, from any of the loading threads; may be empty
};

// Throws IoError (with the file's name and what to try) where the file is missing or no trace. A torn trace loads: what
// is missing becomes notices.
TracePtr load_trace(const LoadOptions& options);

}  // namespace shardlab::gui
