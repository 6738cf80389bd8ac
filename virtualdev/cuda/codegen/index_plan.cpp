// Ops that move elements to computed places: dynamic slices, gather, scatter.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/ops/gather_dims.h"
#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {
namespace {

using ops::GatherDims;

std::int64_t place_in(const std::vector<std::int64_t>& list, std::int64_t value) {
  auto found = std::find(list.begin(), list.end(), value);
  return found == list.end() ? -1 : found - list.begin();
}

// ---- dynamic_slice, dynamic_update_slice

bool has_dynamic(const OpDef& op) { return op.name == "dynamic_slice" || op.name == "dynamic_update_slice"; }

void plan_dynamic(Planner& planner, const OpDef& op, const KernelArgs& args) {
  bool updates = op.name == "dynamic_update_slice";
  const ConstView& operand = args.operands[0];
  const MutableView& result = args.results[0];
  std::size_t rank = operand.type.shape.size(), first_start = updates ? 2 : 1;
  std::vector<int> buffers{planner.operand(0)};
  if (updates) buffers.push_back(planner.operand(1));
  buffers.push_back(planner.result(0));
  std::vector<std::int64_t> numbers{result.type.elements()};
  Shape strides = strides_of(updates ? args.operands[1].type.shape : operand.type.shape);
  for (std::size_t d = 0; d < rank; ++d) {
    buffers.push_back(planner.operand(first_start + d));
    std::int64_t code = integer_code(args.operands[first_start + d].type.dtype), array = (*operand.array)[d];
    if (updates) {
      const ConstView& update = args.operands[1];
      numbers.insert(numbers.end(), {result.type.shape[d], (*result.box)[d].start, array - (*update.array)[d], (*update.box)[d].start,
                                     (*update.box)[d].stop, strides[d], code});
    } else {
      std::int64_t window = args.attrs.integers("sizes")[d];
      numbers.insert(numbers.end(),
                     {result.type.shape[d], strides[d], array - window, (*result.box)[d].start - (*operand.box)[d].start, code});
    }
  }
  planner.kernel(fmt::format("{}<{}, {}>(a)", op.name, raw_type_name(size_of(result.type.dtype)), rank), std::move(buffers),
                 std::move(numbers));
}

// ---- gather

bool has_gather(const OpDef& op) { return op.name == "gather"; }

void plan_gather(Planner& planner, const OpDef&, const KernelArgs& args) {
  const ConstView &operand = args.operands[0], &indices = args.operands[1];
  const MutableView& result = args.results[0];
  GatherDims dims(args.attrs);
  const auto& sizes = args.attrs.integers("slice_sizes");
  std::vector<int> windows = dims.window_dims(operand.type.rank()), batches = dims.batch_dims(result.type.rank());
  Shape strides = strides_of(operand.type.shape);
  std::vector<std::int64_t> numbers{result.type.elements(), indices.type.shape.back(), integer_code(indices.type.dtype),
                                    std::int64_t(ops::elsewhere(result.type.dtype))};
  // Index vectors are numbered over the batch dimensions, row-major.
  Shape batch_shape;
  for (int d : batches) batch_shape.push_back(result.type.shape[std::size_t(d)]);
  Shape batch_strides = strides_of(batch_shape);
  for (int d = 0; d < result.type.rank(); ++d) {
    std::int64_t window = place_in(dims.offset, d);
    auto batch = std::find(batches.begin(), batches.end(), d) - batches.begin();
    numbers.insert(numbers.end(), {result.type.shape[std::size_t(d)], window >= 0 ? strides[std::size_t(windows[std::size_t(window)])] : 0,
                                   window >= 0 ? 0 : batch_strides[std::size_t(batch)]});
  }
  for (int d = 0; d < operand.type.rank(); ++d) {
    std::size_t at = std::size_t(d);
    std::int64_t number = place_in(dims.index_map, d), batching = place_in(dims.operand_batching, d), fixed = 0, added = -1;
    if (batching >= 0) {
      std::size_t index_dim = std::size_t(dims.indices_batching[std::size_t(batching)]);
      fixed = (*indices.box)[index_dim].start;
      added = batches[index_dim];
    }
    // A dimension that goes through whole windows is cut alike on both sides.
    auto window = std::find(windows.begin(), windows.end(), d);
    if (window != windows.end() && sizes[at] == (*operand.array)[at]) {
      number = -1;
      fixed = (*result.box)[std::size_t(dims.offset[std::size_t(window - windows.begin())])].start;
    }
    numbers.insert(numbers.end(),
                   {number, (*operand.array)[at] - sizes[at], (*operand.box)[at].start, operand.type.shape[at], strides[at], fixed, added});
  }
  planner.kernel(fmt::format("gather<{}, {}, {}>(a)", raw_type_name(size_of(result.type.dtype)), result.type.rank(), operand.type.rank()),
                 {planner.operand(0), planner.operand(1), planner.result(0)}, std::move(numbers));
}

// ---- scatter

bool has_scatter(const OpDef& op) { return op.name.starts_with("scatter"); }

void plan_scatter(Planner& planner, const OpDef& op, const KernelArgs& args) {
  const ConstView &operand = args.operands[0], &indices = args.operands[1], &updates = args.operands[2];
  const MutableView& result = args.results[0];
  GatherDims dims(args.attrs);
  std::string type(type_name(result.type.dtype));
  std::string functor;
  if (op.name != "scatter") {
    Reduction reduction = op.name == "scatter_add"   ? Reduction::kSum
                          : op.name == "scatter_mul" ? Reduction::kProd
                          : op.name == "scatter_max" ? Reduction::kMax
                                                     : Reduction::kMin;
    functor = fmt::format("{}<{}>", functor_name(reduction), type);
  }
  // Where the updates are cut, only the first part starts from the operand.
  bool is_first = true;
  for (std::size_t i = 0; i < indices.box->size(); ++i)
    is_first &= (*indices.box)[i].start == 0 || place_in(dims.indices_batching, std::int64_t(i)) >= 0;
  if (is_first || functor.empty())
    planner.copy(planner.operand(0), 0, planner.result(0), 0, result.type.bytes());
  else
    planner.kernel(fmt::format("fill_identity<{}, {}>(a)", functor, type), {planner.result(0)}, {result.type.elements()});
  if (updates.type.elements() == 0) return;

  std::vector<int> windows = dims.window_dims(operand.type.rank()), batches = dims.batch_dims(updates.type.rank());
  std::vector<std::int64_t> numbers{updates.type.elements(), indices.type.shape.back(), integer_code(indices.type.dtype)};
  Shape batch_shape, strides = strides_of(result.type.shape);
  for (int d : batches) batch_shape.push_back(updates.type.shape[std::size_t(d)]);
  Shape batch_strides = strides_of(batch_shape);
  for (int d = 0; d < updates.type.rank(); ++d) {
    std::int64_t window = place_in(dims.offset, d);
    auto batch = std::find(batches.begin(), batches.end(), d) - batches.begin();
    bool is_window = window >= 0;
    numbers.insert(numbers.end(), {updates.type.shape[std::size_t(d)],
                                   is_window ? (*updates.box)[std::size_t(d)].start : (*indices.box)[std::size_t(batch)].start,
                                   is_window ? windows[std::size_t(window)] : -1, is_window ? 0 : batch_strides[std::size_t(batch)]});
  }
  for (int d = 0; d < operand.type.rank(); ++d) {
    std::size_t at = std::size_t(d);
    std::int64_t window = 1, batching = place_in(dims.operand_batching, d);
    auto found = std::find(windows.begin(), windows.end(), d);
    if (found != windows.end()) window = (*updates.array)[std::size_t(dims.offset[std::size_t(found - windows.begin())])];
    std::int64_t batch = batching < 0 ? -1 : batches[std::size_t(dims.indices_batching[std::size_t(batching)])];
    numbers.insert(numbers.end(), {place_in(dims.index_map, d), (*result.box)[at].start, result.type.shape[at], strides[at],
                                   (*operand.array)[at] - window, batch});
  }
  std::string ranks = fmt::format("{}, {}", updates.type.rank(), operand.type.rank());
  if (!functor.empty()) {
    planner.kernel(fmt::format("scatter_combine<{}, {}, {}>(a)", functor, type, ranks),
                   {planner.operand(1), planner.operand(2), planner.result(0)}, std::move(numbers));
    return;
  }
  int winners = planner.temporary(result.type.elements() * 8);
  planner.clear(winners, result.type.elements() * 8, 0xff);
  planner.kernel(fmt::format("scatter_choose<{}>(a)", ranks), {planner.operand(1), winners}, std::move(numbers));
  planner.kernel(fmt::format("scatter_write<{}>(a)", raw_type_name(size_of(result.type.dtype))),
                 {winners, planner.operand(2), planner.result(0)}, {result.type.elements()});
}

}  // namespace

extern const FamilyDef kDynamicFamily, kGatherFamily, kScatterFamily;
const FamilyDef kDynamicFamily = {
    .name = "dynamic slices", .doc = "starts are read on the device, generated", .has = has_dynamic, .plan = plan_dynamic};
const FamilyDef kGatherFamily = {
    .name = "gather", .doc = "a thread an element of the result, generated", .has = has_gather, .plan = plan_gather};
const FamilyDef kScatterFamily = {.name = "scatter",
                                  .doc = "a thread an element of the updates: replacing by the last, combining atomically, generated",
                                  .has = has_scatter,
                                  .plan = plan_scatter};

}  // namespace shardlab::cuda
