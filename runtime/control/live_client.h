// A process of an elastic job: its place among those that live.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/control/assembly.h"
#include "runtime/control/client.h"

namespace shardlab::control {

// From one thread. Its stream is what tells the coordinator that this process lives.
class LiveClient {
 public:
  // Enters. Throws TransportError where the coordinator cannot be reached or refuses.
  explicit LiveClient(const ClientOptions& options);
  ~LiveClient();

  std::uint64_t incarnation() const;
  // Another process had this index before; then the members of the whole job, by index.
  bool again() const;
  const std::vector<Member>& members() const;

  // Waits for all others that live, as Assembly says. Throws TransportError.
  Gathered gather(bool closing, bool renew);
  // This process ends normally.
  void leave();

 private:
  class Link;
  std::unique_ptr<Link> link_;
};

}  // namespace shardlab::control
