// What a loop or a branch of a launch over processes goes by, told to the control plane: where it is not the same on all, they part ways.
#pragma once

#include <string>

#include "runtime/comm/control.h"
#include "runtime/exec/executable.h"

namespace shardlab {

// One run of one node. Tells of nodes that stand in the launched program itself, where what they go by must be equal on all processes; in
// per-device code devices may well decide otherwise, and nodes in bodies run any number of times.
class Choices {
 public:
  Choices(comm::Control& control, const comm::Launch& launch, const Executable& whole, const Executable::Region& region);

  // It goes on for one more round, or ends. `operands`: by operand and mesh position; those without dimensions are told, as they were.
  void round(bool goes_on, const std::vector<std::vector<BufferRef>>& operands, int position);
  void branch(int index);

 private:
  void tell(const std::string& value) const;

  comm::Control& control_;
  const Executable& whole_;
  const Executable::Region& region_;
  std::string what_;  // empty: nothing is told
  long rounds_ = 0;
};

}  // namespace shardlab
