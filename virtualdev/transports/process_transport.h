// A transport as a job owns it: it counts what it sends, and ends together with the others.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/comm/transport.h"

namespace shardlab {

struct SentBytes {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;  // of data, without what the transport adds
};

class ProcessTransport : public comm::Transport {
 public:
  // By process. Called while nothing is exchanged.
  virtual std::vector<SentBytes> sent() const = 0;
  // All processes have ended well; there is no later exchange. May wait for the others.
  virtual void finish() {}
};

}  // namespace shardlab
