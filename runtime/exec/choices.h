// What a loop or a branch of a launch over processes goes by, told to the control plane: where it is not the same on all, they part ways.
#pragma once

#include <string>

#include "runtime/comm/control.h"
#include "runtime/exec/executable.h"

namespace shardlab {

// The node's number among the steps of the program or body that it stands in.
std::ptrdiff_t index_of(const Executable& executable, const Executable::Region& region);

// One run of one node. Tells of nodes where what they go by must be equal on all processes, in bodies of other nodes too; in per-device
// code devices may well decide otherwise.
class Choices {
 public:
  struct Scope {
    bool is_per_device = false;
    const std::string& place;  // which round of which nodes' bodies
  };
  // `executable`: that the region stands in.
  Choices(comm::Control& control, const comm::Launch& launch, const Executable& executable, const Executable::Region& region,
          const Scope& scope);

  // It goes on for one more round, or ends. `operands`: by operand and mesh position; those without dimensions are told, as they were.
  void round(bool goes_on, const std::vector<std::vector<BufferRef>>& operands, int position);
  void branch(int index);

 private:
  void tell(const std::string& value) const;

  comm::Control& control_;
  const Executable& executable_;
  const Executable::Region& region_;
  std::string what_;  // empty: nothing is told
  long rounds_ = 0;
};

}  // namespace shardlab
