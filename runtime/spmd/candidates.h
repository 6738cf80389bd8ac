// The ways in which an op can be computed in parts: which pieces of the mesh cut which of its factors.
#pragma once

#include <vector>

#include "runtime/spmd/project.h"

namespace shardlab::spmd {

struct Candidate {
  std::vector<Spec> operands;  // the forms that the operands must have
  std::vector<Spec> results;   // the forms that come out
  Axes partial;                // the results are partial over these
  // Of an op with an index map, per operand: the window that each position needs; empty where the operand's spec says it.
  std::vector<std::vector<Box>> windows;
  std::int64_t work = 0;  // of one device, in elements of the op's iteration space
};

// One op as the planner sees it.
struct OpShape {
  FactorRule rule;
  std::vector<bool> can_cut;    // per factor: whether parts of it can be computed apart
  std::vector<bool> looked_up;  // per factor; empty: none is
};

// Pass factors that operands and results share, and the new dimensions of a broadcast. A factor that a result alone holds is otherwise
// fed by whole operands (reshape (6, 2) to (4, 3)). Reduced factors where partial results can be combined.
std::vector<bool> cuttable_factors(const OpDef& op, const FactorRule& rule);
// Factors of one operand beside others along which single places are read or written: a device walks the others (gather, scatter).
std::vector<bool> looked_up_factors(const OpDef& op, const FactorRule& rule);

// Whether a piece of the mesh is, in part or whole, among some.
bool overlaps_any(const AxisPiece& piece, const Axes& others);

// The work of a device where the op is computed as its tensors lie: cut as the results are, and where they are not, as all operands agree
// upon. In `forms` operands come first.
std::int64_t propagated_work(const OpShape& op, const std::vector<Spec>& forms);

// At most this many ways are looked at for one op.
inline constexpr int kCandidatesMax = 2048;

// Whether parts of unequal size along the factor are the same parts in every tensor: it is a dimension of its own wherever it occurs.
bool may_be_uneven(const FactorRule& rule, int factor);

// Cuts each factor by its pieces; nothing where that is uneven and may not be, or would be a strided layout, or the factor must be whole.
std::optional<Candidate> cut_factors(const OpShape& op, const std::vector<Axes>& pieces);

// The candidate whose result number `index` has the spec, if there is one.
std::optional<Candidate> candidate_for_result(const OpShape& op, const Spec& result, std::size_t index);

// Every way to give each atom to one factor or to none, in all orders within a factor. Where that would be too many, only what
// follows from the present forms: those of the operands, and the results' wanted ones, in `forms` (operands first).
std::vector<Candidate> candidates_of(const OpShape& op, const Axes& atoms, const std::vector<Spec>& forms);

// Those that are no more work than that, uneven cuts among them; none where they would be too many.
std::vector<Candidate> candidates_of_less_work(const OpShape& op, const Axes& atoms, std::int64_t work);

}  // namespace shardlab::spmd
