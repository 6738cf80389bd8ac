// What a process says when a signal ends it: where it is, and where the others of its job are.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "runtime/base/where.h"
#include "runtime/control/client.h"
#include "runtime/shardlab/place_board.h"

namespace shardlab {

// Thread-safe. The issuing thread says how far it has come; any thread asks for the words.
class LastWords {
 public:
  // Where the issuing thread is.
  PlaceBoard& place() { return place_; }
  // This process begins to look for its job's coordinator.
  void looks_for(int process, const std::string& address);
  // It runs there, and knows of all.
  void found(const control::ClientOptions& coordinator);

  // A signal ends this process: tells its coordinator. What is to be said, with the end of its last line. Never throws.
  std::string at(int signal) const;
  // The program returned, or exited with `status`: a line as of any place.
  std::string at_the_end(int status) const;

 private:
  PlaceBoard place_;
  mutable std::mutex mutex_;
  int process_ = 0;
  std::string looks_for_;
  std::optional<control::ClientOptions> coordinator_;
};

}  // namespace shardlab
