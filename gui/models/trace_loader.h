// Reads a trace file into TraceData. Runs on any thread; touches no Qt object.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "gui/models/trace_data.h"

namespace shardlab::gui {

// What a load of a trace that grows leaves for the next one, which then reads what came since alone. Empty for other traces. Of one
// load after the other, whichever threads they run on.
class LastLoad {
 public:
  LastLoad();
  ~LastLoad();
  LastLoad(const LastLoad&) = delete;
  LastLoad& operator=(const LastLoad&) = delete;
  // Rows that the last load read from the file, events included: of a trace that grew, the new ones.
  std::int64_t rows_read() const;
  struct Parts;
  std::unique_ptr<Parts>& parts() { return parts_; }  // the loader's

 private:
  std::unique_ptr<Parts> parts_;
};

struct LoadOptions {
  std::string path;
  std::string title = {};                 // instead of the file's name
  std::stop_token stop;                   // asked for between rows; a stopped load returns null
  std::function<void(TracePtr)> preview;  // of a large trace, from the loading thread: all but events and collectives; may be empty
  std::function<void(double)> progress;   // 0…1, from any of the loading threads; may be empty
  LastLoad* last = nullptr;               // of the same trace; brought up to date
};

// Throws IoError (with the file's name and what to try) where the file is missing or no trace. A torn trace loads: what
// is missing becomes notices.
TracePtr load_trace(const LoadOptions& options);

}  // namespace shardlab::gui
