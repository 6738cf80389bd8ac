// The names and lines of return addresses that processes recorded, read from the files that they ran from.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/call_places.h"
#include "traces/recorder/process_trace.h"

namespace shardlab::recorder {

// A file is read once for all addresses in it. It must be the one that ran: the same build id, on this machine; of another file, or one
// without a build id, nothing is told.
class FrameNames {
 public:
  // The addresses in a process's stacks from the `first` on: at() reads their files.
  void want(const ProcessTrace& process, std::size_t first);
  // The calls at an address, innermost first; none where no name is known.
  const std::vector<CallPlace>& at(const ProcessTrace& process, std::uint32_t module, std::uint64_t offset);

 private:
  using File = std::pair<std::string, std::string>;  // path, build id
  struct Known {
    std::map<std::uint64_t, std::vector<CallPlace>> places;
    std::vector<std::uintptr_t> wanted;
  };
  static File file_of(const ProcessTrace& process, std::uint32_t module);
  void read(const File& file, Known& known);
  std::map<File, Known> files_;
};

}  // namespace shardlab::recorder
