// Keys, and batches of them: uint32[batch…, 2]. Users' calls take one key; batches come of vmap.
#pragma once

#include "runtime/ops/derive.h"
#include "runtime/ops/lower.h"
#include "runtime/ops/threefry.h"

namespace shardlab::ops {

// The key that a user's call gets; UserError where it is something else than one.
ValueId key_operand(GraphBuilder& b, const OpDef& op, const Arg& arg);
// The batch's shape of a node's keys; UserError where they are something else.
Shape check_keys(const OpDef& op, const TensorType& type);

inline ThreefryKey key_of(const ConstView& view) { return {view.as<std::uint32_t>()[0], view.as<std::uint32_t>()[1]}; }

// Keys are wanted whole; each further dimension of the results is its own, or that of operands that have it too. The batch's dimensions
// come first everywhere.
FactorRule key_rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&);

// Of what each element of the results is made that depends on its key and its place alone: the keys of its batch.
std::vector<NeededBox> needed_keys(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs&,
                                   const Box& result);

// Keys and what goes with them, all with the batch first.
std::vector<Batched> batch_of_keys(GraphBuilder& b, const BatchArgs& args);

// The kernel of one key, called for each key of a batch on its part of the operands and results.
using KeyKernel = void (*)(const KernelArgs&);
void for_each_key(const KernelArgs& args, KeyKernel kernel);
template <KeyKernel kernel>
void over_keys(const KernelArgs& args) {
  for_each_key(args, kernel);
}

}  // namespace shardlab::ops
