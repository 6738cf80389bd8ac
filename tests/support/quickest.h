// Limits on time that hold on a busy machine too.
#pragma once

#include <algorithm>
#include <limits>

namespace shardlab::support {

// The least of some measures, taken until it is below `limit`, `tries` times at most. Other work on the machine makes some of them long;
// what is waited for in the code that is measured makes all of them so.
template <typename Measure>
double quickest(double limit, int tries, Measure measure) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < tries && least >= limit; ++i) least = std::min(least, double(measure()));
  return least;
}

}  // namespace shardlab::support
