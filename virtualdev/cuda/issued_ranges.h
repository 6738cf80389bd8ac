// Named stretches for profilers, of work that is queued under its names and issued later.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "virtualdev/cuda/gpu_api.h"

namespace shardlab::cuda {

// The begin of a range, or the end of the last that began, before a place in the work.
struct RangeEdge {
  std::size_t at = 0;
  std::string name;  // empty: an end
};

// Opens and ends a queue's ranges while its work is issued; what is open at the end goes on with the next of the queue.
class IssuedRanges {
 public:
  IssuedRanges(GpuApi& api, const std::vector<RangeEdge>& edges) : api_(api), edges_(edges) {}
  ~IssuedRanges() {
    for (; open_ > 0; --open_) api_.pop_range();
  }
  IssuedRanges(const IssuedRanges&) = delete;
  IssuedRanges& operator=(const IssuedRanges&) = delete;
  void go_to(std::size_t at) {
    for (; next_ < edges_.size() && edges_[next_].at <= at; ++next_) {
      const std::string& name = edges_[next_].name;
      name.empty() ? api_.pop_range() : api_.push_range(name);
      open_ += name.empty() ? -1 : 1;
    }
  }

 private:
  GpuApi& api_;
  const std::vector<RangeEdge>& edges_;
  std::size_t next_ = 0;
  int open_ = 0;
};

}  // namespace shardlab::cuda
