// The text of a loop over elements in which neighbours are moved at once: sixteen bytes of the widest type, as GPUs read memory fastest.
#pragma once

#include <map>
#include <set>
#include <string>

#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {

// Grown statement by statement of what is done with one element, `i` in the kernel's text. Where a loop is over a part, its first element
// must be a multiple of lanes(), or all elements are moved one by one.
class PackedLoop {
 public:
  // Values of element i: of a buffer, of one that holds one element for all (at `place`), and of one that repeats (element i / each %
  // period, these two in the kernel's numbers from `number` on).
  std::string element(DType dtype, int buffer);
  std::string single(DType dtype, int buffer, const std::string& place);
  std::string repeated(DType dtype, int buffer, int number);

  void add(const std::string& statement) { body_ += statement; }
  // Element i of a buffer becomes `value`.
  void store(DType dtype, int buffer, const std::string& value);

  // `head`: what calls the lambda that follows, "for_each_pack<{}>(count, {})".
  std::string text(const std::string& head) const;

  // How many neighbours.
  int lanes() const { return int(16 / widest_); }

 private:
  void widen_to(DType dtype);

  std::map<std::string, std::string> declared_;  // by name
  std::set<int> repeats_;                        // by number
  std::string body_, ends_;
  std::int64_t widest_ = 1;
};

}  // namespace shardlab::cuda
