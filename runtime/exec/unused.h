// Results that were dropped before anybody used them: computed, and never looked at.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/comm/launch.h"

namespace shardlab {

// Thread-safe: the last holder of a result may be the executor.
class UnusedResults {
 public:
  struct Entry {
    std::string what;  // the program's name
    Where where;
    std::int64_t count = 0;
  };
  void note(const std::string& what, Where where);
  // By place, and forgets them.
  std::vector<Entry> take();

 private:
  static constexpr std::size_t kPlacesMax = 64;
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, Entry> entries_;  // by program and place
};

}  // namespace shardlab
