// What a loop or a branch of a launch over processes goes by, told to the control plane: where it is not the same on all, they part ways.
#pragma once

#include <map>
#include <string>

#include "runtime/comm/control.h"
#include "runtime/exec/executable.h"

namespace shardlab {

// The node's number among the steps of the program or body that it stands in.
std::ptrdiff_t index_of(const Executable& executable, const Executable::Region& region);

// One run of one node, in bodies of other nodes too. Told once for each set of devices that collectives in its bodies join: in per-device
// code others may well decide otherwise.
class Choices {
 public:
  struct Scope {
    const std::vector<int>& active;  // mesh positions of this process that came to the node
    const std::string& place;        // which round of which nodes' bodies
  };
  // `executable`: that the region stands in.
  Choices(comm::Control& control, const comm::Launch& launch, const Executable& executable, const Executable::Region& region,
          const Scope& scope);

  // These go on for one more round, the others end. `operands`: by operand and mesh position; those without dimensions are told, as they
  // were.
  void round(const std::vector<int>& going, const std::vector<std::vector<BufferRef>>& operands);
  // By branch the positions that take it.
  void branch(const std::map<std::int32_t, std::vector<int>>& ways);

 private:
  // Those here of one set that must take the same way.
  struct Party {
    std::vector<int> members;
    std::string what;
    long rounds = 0;
    bool ended = false;
  };
  std::string values(const std::vector<std::vector<BufferRef>>& operands, int position) const;

  comm::Control& control_;
  const Executable& executable_;
  const Executable::Region& region_;
  std::vector<Party> parties_;
};

}  // namespace shardlab
