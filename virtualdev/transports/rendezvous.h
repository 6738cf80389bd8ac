// Where the processes of a job leave word for each other while their transports connect.
#pragma once

#include <chrono>
#include <string>

namespace shardlab {

class Rendezvous {
 public:
  virtual ~Rendezvous() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  // Waits until the key is set; throws TransportError when that takes too long.
  virtual std::string get(const std::string& key, std::chrono::milliseconds limit) = 0;
};

}  // namespace shardlab
