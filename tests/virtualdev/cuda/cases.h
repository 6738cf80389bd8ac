// What GPU plans are tested on: every sample of every primitive, and parts of them.
#pragma once

#include <string>
#include <vector>

#include "runtime/ops/registry.h"
#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::testing {

// An op on parts of arrays.
struct Case {
  const OpDef* op;
  Sample sample;
  std::vector<TensorType> results;
  std::vector<Box> operand_boxes, result_boxes;
  cuda::NodePlan plan;
  std::string what;
};

// Each sample and some larger ones whole, and, of ops that have an index map, the last part of the result from the boxes it needs.
std::vector<Case> all_cases();
// Whether its plan is for a machine with the library of sorts.
bool needs_sorts(const Case& c);
// The kernels of their plans, each once.
std::vector<cuda::KernelText> kernels_of(const std::vector<Case>& cases);

}  // namespace shardlab::testing
