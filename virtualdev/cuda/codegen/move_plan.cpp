// Ops that move elements by places known beforehand: shapes, joins, slices, constants.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/ops/regions.h"
#include "runtime/ops/sliding_windows.h"
#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {
namespace {

Shape firsts(const Box& box) {
  Shape first;
  for (const Interval& interval : box) first.push_back(interval.start);
  return first;
}
std::int64_t item_of(const KernelArgs& args) { return size_of(args.results[0].type.dtype); }
Planner::Side dense_result(Planner& planner, const KernelArgs& args) {
  return {planner.result(0), 0, strides_of(args.results[0].type.shape)};
}

void plan_broadcast(Planner& planner, const KernelArgs& args) {
  const Shape& from = args.operands[0].type.shape;
  const auto& dims = args.attrs.integers("dims");
  Shape own = strides_of(from), strides(args.results[0].type.shape.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (from[i] != 1) strides[std::size_t(dims[i])] = own[i];
  planner.copy_region(args.results[0].type.shape, {planner.operand(0), 0, strides}, dense_result(planner, args), item_of(args));
}

void plan_transpose(Planner& planner, const KernelArgs& args) {
  Shape own = strides_of(args.operands[0].type.shape), strides;
  for (std::int64_t axis : args.attrs.integers("axes")) strides.push_back(own[std::size_t(axis)]);
  planner.copy_region(args.results[0].type.shape, {planner.operand(0), 0, strides}, dense_result(planner, args), item_of(args));
}

void plan_reshape(Planner& planner, const KernelArgs& args) {
  planner.copy(planner.operand(0), 0, planner.result(0), 0, args.results[0].type.bytes());
}

void plan_slice(Planner& planner, const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const auto& start = args.attrs.integers("start");
  Shape strides = strides_of(operand.type.shape), first;
  for (std::size_t d = 0; d < start.size(); ++d) {
    std::int64_t step = args.attrs.has("stride") ? args.attrs.integers("stride")[d] : 1;
    first.push_back(start[d] + (*args.results[0].box)[d].start * step);
    strides[d] *= step;
  }
  planner.copy_region(args.results[0].type.shape, {planner.operand(0), ops::offset_in(*operand.box, first), strides},
                      dense_result(planner, args), item_of(args));
}

void plan_rev(Planner& planner, const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const auto& dims = args.attrs.integers("dims");
  Shape strides = strides_of(operand.type.shape), first;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    std::int64_t start = (*args.results[0].box)[d].start;
    bool reversed = std::find(dims.begin(), dims.end(), std::int64_t(d)) != dims.end();
    first.push_back(reversed ? (*operand.array)[d] - 1 - start : start);
    if (reversed) strides[d] = -strides[d];
  }
  planner.copy_region(args.results[0].type.shape, {planner.operand(0), ops::offset_in(*operand.box, first), strides},
                      dense_result(planner, args), item_of(args));
}

void plan_sliding_windows(Planner& planner, const KernelArgs& args) {
  const ops::SlidingRegion from = ops::sliding_region(args);
  planner.copy_region(args.results[0].type.shape, {planner.operand(0), from.offset, from.strides}, dense_result(planner, args),
                      item_of(args));
}

void plan_concatenate(Planner& planner, const KernelArgs& args) {
  const MutableView& result = args.results[0];
  std::size_t axis = std::size_t(args.attrs.integer("axis"));
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < args.operands.size(); ++i) {
    const ConstView& operand = args.operands[i];
    std::int64_t size = (*operand.array)[axis];
    Interval filled{std::max((*result.box)[axis].start, offset), std::min((*result.box)[axis].stop, offset + size)};
    Shape shape = result.type.shape, first = firsts(*result.box), place = first;
    shape[axis] = filled.size();
    place[axis] = filled.start;
    first[axis] = filled.start - offset;
    offset += size;
    if (element_count(shape) == 0) continue;
    planner.copy_region(shape, {planner.operand(i), ops::offset_in(*operand.box, first), strides_of(operand.type.shape)},
                        {planner.result(0), ops::offset_in(*result.box, place), strides_of(result.type.shape)}, item_of(args));
  }
}

void plan_pad(Planner& planner, const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const MutableView& result = args.results[0];
  planner.kernel(fmt::format("fill<{}>(a)", raw_type_name(item_of(args))), {planner.operand(1), planner.result(0)},
                 {result.type.elements()});
  const auto& padding = args.attrs.integers("padding");
  Shape shape, first, place, strides = strides_of(result.type.shape);
  for (std::size_t d = 0; d < strides.size(); ++d) {
    std::int64_t low = padding[3 * d], step = padding[3 * d + 2] + 1, size = (*operand.array)[d];
    auto first_at = [&](std::int64_t index) { return index <= low ? 0 : std::min(size, (index - low + step - 1) / step); };
    Interval elements{first_at((*result.box)[d].start), first_at((*result.box)[d].stop)};
    shape.push_back(elements.size());
    first.push_back(elements.start);
    place.push_back(low + elements.start * step);
    strides[d] *= step;
  }
  if (element_count(shape) == 0) return;
  planner.copy_region(shape, {planner.operand(0), ops::offset_in(*operand.box, first), strides_of(operand.type.shape)},
                      {planner.result(0), ops::offset_in(*result.box, place), strides}, item_of(args));
}

void plan_iota(Planner& planner, const KernelArgs& args) {
  const MutableView& result = args.results[0];
  std::size_t dimension = std::size_t(args.attrs.integer("dimension"));
  planner.kernel(
      fmt::format("iota<{}>(a)", type_name(result.type.dtype)), {planner.result(0)},
      {result.type.elements(), strides_of(result.type.shape)[dimension], result.type.shape[dimension], (*result.box)[dimension].start});
}

void plan_constant(Planner& planner, const KernelArgs& args) {
  const Literal& literal = args.attrs.literal("value");
  const MutableView& result = args.results[0];
  auto part = std::make_shared<Buffer>(std::size_t(result.type.bytes()));
  copy_box(literal.data->data(), whole(literal.type.shape), part->data(), *result.box, *result.box, size_of(literal.type.dtype));
  planner.upload(planner.result(0), std::move(part));
}

constexpr OpPlan kPlans[] = {{"broadcast_in_dim", plan_broadcast},
                             {"transpose", plan_transpose},
                             {"reshape", plan_reshape},
                             {"slice", plan_slice},
                             {"rev", plan_rev},
                             {"sliding_windows", plan_sliding_windows},
                             {"concatenate", plan_concatenate},
                             {"pad", plan_pad},
                             {"iota", plan_iota},
                             {"constant", plan_constant}};

}  // namespace

extern const FamilyDef kMoveFamily;
const FamilyDef kMoveFamily = {.name = "moves",
                               .doc = "regions with strides, generated; dense ones are copies",
                               .has = PlansByOp<kPlans>::has,
                               .plan = PlansByOp<kPlans>::plan};

}  // namespace shardlab::cuda
