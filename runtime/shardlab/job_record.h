// What this process records of its job, and what becomes of that where nobody else merges it.
#pragma once

#include <memory>
#include <string>

namespace shardlab {

class Context;
namespace recorder {
class Recorder;
}

// Used by the issuing thread.
class JobRecord {
 public:
  // Into that folder from now on. Throws IoError.
  void begin(const std::string& directory, int process, int processes);
  // Of a process on its own: into a folder for the trace that SHARDLAB_TRACE names, if it names one. Throws UserError, IoError.
  void begin_alone();
  void describe_devices(const Context& context);
  // Writes the record out, and the trace of a process on its own.
  void close();
  // Nothing unless it has begun.
  const std::shared_ptr<recorder::Recorder>& recorder() const { return recorder_; }

 private:
  std::shared_ptr<recorder::Recorder> recorder_;
  std::string trace_;            // of a process on its own; empty: none
  std::string trace_directory_;  // its parts until then
};

}  // namespace shardlab
