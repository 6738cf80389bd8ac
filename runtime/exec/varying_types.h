// What values of per-device code vary over, in loops, branches and values made like others: JAX's "varying manual axes" of types, where
// shard_map checks them (check_vma).
#pragma once

#include <string_view>
#include <vector>

#include "runtime/exec/tracing.h"
#include "runtime/exec/tree.h"

namespace shardlab {

// Made by functions that give what varies as `like` does: zeros_like(x), the state that a solver begins with.
Array varying_like(const Array& made, const Array& like);
template <typename Tree>
Tree varying_like(const Tree& values, const Array& like) {
  return tree::map([&](const Array& leaf) { return varying_like(leaf, like); }, values);
}

// UserError with JAX's text where a body gives a carry that varies over other axes than the one it takes. `args`: of the body, the carry
// first.
void check_carry_varies(std::string_view loop, const TracedBody& body, const std::vector<Array>& args, std::size_t carried, Where where);
// The same where branches give results that vary over different axes.
void check_branches_vary(const std::vector<TracedBody>& branches, const std::vector<Array>& operands, Where where);
// And where what is cast to varying varies already.
void check_cast(const Array& x, const std::vector<std::string>& axes, Where where);

}  // namespace shardlab
