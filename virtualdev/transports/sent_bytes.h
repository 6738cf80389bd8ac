// What a transport has sent to each process: for transports that count.
#pragma once

#include <cstdint>
#include <vector>

namespace shardlab {

struct SentBytes {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;  // of data, without what the transport adds
};

class CountsSentBytes {
 public:
  virtual ~CountsSentBytes() = default;
  // By process. Called while nothing is exchanged.
  virtual std::vector<SentBytes> sent() const = 0;
};

}  // namespace shardlab
