// What a node is where less than its arithmetic gives the same: each rule returns what stands for its only result, or nothing.
#pragma once

#include <initializer_list>
#include <optional>

#include "runtime/transform/lighten_emitter.h"

namespace shardlab::transform {

// A node of the original program, and what stands for its operands.
struct LightSite {
  const Node& node;
  const std::vector<ValueId>& operands;
};
using LightRule = std::optional<ValueId> (*)(LightEmitter&, const LightSite&);

// One of the operands: x of max(x, x), max(max(x, y), y), x * 1, |x * x|, log(exp(x)), conj(conj(x)), an update of all of x, a sort or
// running sum of single elements, a reshape of x back to its own shape; 0, the place of the best of single elements.
std::optional<ValueId> operand_alone(LightEmitter& e, const LightSite& site);
// A slice or an update at computed places that is as large as the operand along a dimension: from 0 there, wherever it was to start, and
// a slice of all of it the operand.
std::optional<ValueId> started_where_it_fits(LightEmitter& e, const LightSite& site);
// A sum with an update of zeros, which nobody else uses, along dimensions that are whole on each device: an update by the sum of what
// stands there. Source: XLA's algebraic simplifier, which sees what each device has.
std::optional<ValueId> added_where_updated(LightEmitter& e, const LightSite& site);
// The sum of two pads with zeros, which nobody else uses, of what does not overlap along a dimension that is whole on each device: a join.
std::optional<ValueId> joined_instead_of_added(LightEmitter& e, const LightSite& site);
// A pad that cuts all of its operand away, or has none, or of which a slice sees the padding alone: its number everywhere.
std::optional<ValueId> padding_alone(LightEmitter& e, const LightSite& site);
// What an op puts together of one number's repetitions: its repetitions.
std::optional<ValueId> filled_throughout(LightEmitter& e, const LightSite& site);
// Without a change of sign before an op that another op, or none, makes up for: (-x) * (-y), x - (-y), cos(-x), sum(-x).
std::optional<ValueId> without_signs(LightEmitter& e, const LightSite& site);
// Sums or products with two numbers, one after the other: with one. Floats may be rounded otherwise, as XLA's are.
std::optional<ValueId> computed_at_once(LightEmitter& e, const LightSite& site);
// A product by two scalars, by a number first or by a power of two second: by their product. Floats may be rounded otherwise, as XLA's are.
std::optional<ValueId> scaled_at_once(LightEmitter& e, const LightSite& site);
// The product of two products by small powers of two that nobody else uses: that of what they scale, by the product of the powers.
std::optional<ValueId> scaled_together(LightEmitter& e, const LightSite& site);
// A product by a number and then by what repeats, or by that and then by a power of two: by the scaled one, repeated.
std::optional<ValueId> scaled_before_repeating(LightEmitter& e, const LightSite& site);
// Products with two constants that differ from element to element: with their product, which is known before the program runs.
std::optional<ValueId> multiplied_by_constants_at_once(LightEmitter& e, const LightSite& site);
// A power of two times a product without sums, which nobody else uses, of an operand that is smaller than the result: times that operand.
std::optional<ValueId> scaled_before_multiplying(LightEmitter& e, const LightSite& site);
// A transpose of a product, which nobody else uses, that exchanges the dimensions of both sides: the product of the sides exchanged.
std::optional<ValueId> multiplied_turned(LightEmitter& e, const LightSite& site);
// A choice by a comparison of numbers, or between equal values: what it chooses; a truth and one that is known: the truth.
std::optional<ValueId> chosen_at_once(LightEmitter& e, const LightSite& site);
// A product with a truth as a number: the other factor or 0, of what is not finite, too.
std::optional<ValueId> chosen_by_truth(LightEmitter& e, const LightSite& site);
// Whether the maximum of x and a number is above another one that is no less: whether x is.
std::optional<ValueId> compared_at_once(LightEmitter& e, const LightSite& site);
// The minimum of a number and of the maximum of another one and x: x held between them.
std::optional<ValueId> held_at_once(LightEmitter& e, const LightSite& site);
// A broadcast, reshape or transpose of what repeats: one broadcast.
std::optional<ValueId> repeated_at_once(LightEmitter& e, const LightSite& site);
// A slice of what repeats: of what is repeated.
std::optional<ValueId> sliced_before_repeating(LightEmitter& e, const LightSite& site);
// An elementwise op on operands that repeat along the same dimensions: on what is repeated.
std::optional<ValueId> repeated_after(LightEmitter& e, const LightSite& site);
// The same on reshapes of operands that do so, all turned alike afterwards or not at all.
std::optional<ValueId> repeated_and_reshaped_after(LightEmitter& e, const LightSite& site);
// A product of what repeats along a dimension of the result: of what is repeated.
std::optional<ValueId> multiplied_before_repeating(LightEmitter& e, const LightSite& site);
// A reduction of what repeats: of what is repeated.
std::optional<ValueId> reduced_before_repeating(LightEmitter& e, const LightSite& site);
// A reduction of a join, or of a reshape or transpose of one, of parts of which some are equal: of each once. One along which the parts
// have single elements, as those of a stack: the parts, combined with each other.
std::optional<ValueId> reduced_before_joining(LightEmitter& e, const LightSite& site);
// A reduction of one of the same kind, which nobody else uses: one reduction.
std::optional<ValueId> reduced_at_once(LightEmitter& e, const LightSite& site);
// The sum or difference of two sums along the same dimensions, which nobody else uses, of what lies alike: a sum of theirs, which devices
// combine once.
std::optional<ValueId> added_before_reducing(LightEmitter& e, const LightSite& site);
// A reduction of all elements of a reshape: of what is reshaped.
std::optional<ValueId> reduced_before_reshaping(LightEmitter& e, const LightSite& site);
// A reduction of single elements: a reshape.
std::optional<ValueId> reshaped_reduction(LightEmitter& e, const LightSite& site);

// A convolution by the kernel of patches: the windows as they are, without arithmetic.
std::optional<ValueId> copied_in_windows(LightEmitter& e, const LightSite& site);
// A convolution by a kernel that is as large as the operand, at one place: the product of both, which may be summed in parts.
std::optional<ValueId> multiplied_in_one_window(LightEmitter& e, const LightSite& site);
// A convolution by a kernel that is larger than the operand: with both exchanged.
std::optional<ValueId> with_smaller_window(LightEmitter& e, const LightSite& site);

// A collective of a number that is known everywhere: that number, or its multiple. Source: XLA's simplifiers of all-reduce and all-gather.
std::optional<ValueId> exchanged_numbers(LightEmitter& e, const LightSite& site);

// Whether a whole number is one of the type's, and a double's, without rounding.
bool is_exact_in(DType dtype, double number);
bool is_any_of(const OpDef* op, std::initializer_list<const OpDef*> ops);
// The places that are true.
std::vector<int> where_set(const std::vector<bool>& mask);

}  // namespace shardlab::transform
