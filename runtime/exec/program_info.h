// What the world is told of a program: its values and its collectives, the same on every process.
#pragma once

#include <string>
#include <vector>

#include "runtime/comm/launch.h"
#include "runtime/exec/moves.h"
#include "runtime/spmd/program.h"

namespace shardlab {

class Context;

Ownership ownership_of(Context& context);

comm::ValueInfo describe_value(const TensorType& type, const Spec& spec, const Mesh& mesh, std::string name);
// The records of one move: one collective, or one for each of its permutes.
std::vector<comm::CollectiveInfo> collectives_of(const spmd::PartitionedProgram& program, const spmd::MoveStep& step);
// Adds the collectives of all steps of a program or of a body, without anything of one process's own.
void describe_steps(const spmd::PartitionedProgram& program, const Ownership& ownership, comm::ProgramInfo& info);

}  // namespace shardlab
