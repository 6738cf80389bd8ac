// Where the processes of a job leave word for each other beside their messages: the key-value store of the job.
#pragma once

#include <chrono>
#include <string>

namespace shardlab {

// Any thread.
class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  // Waits until the key is set; throws TransportError when that takes too long.
  virtual std::string get(const std::string& key, std::chrono::milliseconds limit) = 0;
};

}  // namespace shardlab
