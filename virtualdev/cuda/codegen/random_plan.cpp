// The primitives of random numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "virtualdev/cuda/codegen/order_passes.h"

namespace shardlab::cuda {
namespace {

// Operands and results begin with the dimensions of a batch of keys, cut alike.
struct Keys {
  std::size_t dims;    // of the batch
  std::int64_t count;  // here
};
Keys keys_of(const KernelArgs& args) {
  const Shape& shape = args.operands[0].type.shape;
  Keys keys{shape.size() - 1, 1};
  for (std::size_t d = 0; d < keys.dims; ++d) keys.count *= shape[d];
  return keys;
}
std::int64_t of_a_key(const MutableView& result, const Keys& keys) { return result.type.elements() / keys.count; }

void add_part(std::vector<std::int64_t>& numbers, const MutableView& part, const Keys& keys, const Shape& own_shape) {
  Shape strides = strides_of(own_shape);
  for (std::size_t d = 0; d < strides.size(); ++d)
    numbers.insert(numbers.end(), {part.type.shape[keys.dims + d], (*part.box)[keys.dims + d].start, strides[d]});
}

void plan_bits(Planner& planner, const KernelArgs& args) {
  const MutableView& result = args.results[0];
  const Shape& shape = args.attrs.integers("shape");
  Keys keys = keys_of(args);
  std::vector<std::int64_t> numbers{result.type.elements(), of_a_key(result, keys)};
  add_part(numbers, result, keys, shape);
  planner.kernel(fmt::format("random_bits<{}, {}>(a)", type_name(result.type.dtype), shape.size()), {planner.operand(0), planner.result(0)},
                 std::move(numbers));
}

void plan_split(Planner& planner, const KernelArgs& args) {
  const MutableView& result = args.results[0];
  Shape shape = args.attrs.integers("num");
  shape.push_back(2);
  Keys keys = keys_of(args);
  std::vector<std::int64_t> numbers{result.type.elements(), of_a_key(result, keys), element_count(shape),
                                    args.attrs.flag("partitionable", true) ? 0 : 1};
  add_part(numbers, result, keys, shape);
  planner.kernel(fmt::format("random_split<{}>(a)", shape.size()), {planner.operand(0), planner.result(0)}, std::move(numbers));
}

void plan_fold_in(Planner& planner, const KernelArgs& args) {
  const MutableView& result = args.results[0];
  planner.kernel("random_fold_in(a)", {planner.operand(0), planner.operand(1), planner.result(0)},
                 {result.type.elements(), of_a_key(result, keys_of(args)), result.box->back().start});
}

void plan_block(Planner& planner, const KernelArgs& args) {
  planner.kernel("random_block(a)", {planner.operand(0), planner.operand(1), planner.operand(2), planner.result(0), planner.result(1)},
                 {args.results[0].type.elements(), of_a_key(args.results[0], keys_of(args))});
}

// Stable sorts by fresh 32-bit keys, as many rounds as make equal keys in all of them unlikely.
void plan_permutation(Planner& planner, const KernelArgs& args) {
  const MutableView& result = args.results[0];
  std::int64_t size = args.attrs.integer("size"), rows = keys_of(args).count, elements = rows * size, wanted = result.type.shape.back();
  int places = planner.temporary(elements * 4), fresh = planner.temporary(elements * 4);
  planner.kernel("first_order(a)", {places}, {elements, size});
  int rounds = int(std::ceil(3 * std::log(double(std::max<std::int64_t>(1, size))) / std::log(4294967295.0)));
  for (int round = 0; round < rounds; ++round) {
    planner.kernel("permutation_keys(a)", {planner.operand(0), fresh},
                   {elements, size, round, args.attrs.flag("partitionable", true) ? 0 : 1});
    int order = order_passes(planner, {{fresh, DType::kUint32}}, {rows, size, 1}, RowOrder::kSorted),
        composed = planner.temporary(elements * 4);
    planner.kernel("compose_places(a)", {places, order, composed}, {elements, size});
    places = composed;
  }
  planner.kernel(fmt::format("take_places<{}>(a)", type_name(result.type.dtype)), {places, planner.result(0)},
                 {result.type.elements(), wanted, size, result.box->back().start});
}

void plan_gamma(Planner& planner, const KernelArgs& args) {
  const TensorType& type = args.results[0].type;
  const bool is_half = size_of(type.dtype) == 2;
  const std::int64_t drawn = type.dtype == DType::kBfloat16 ? 8 : 8 * size_of(type.dtype);
  const std::int64_t kept = is_half ? (type.dtype == DType::kBfloat16 ? 7 : 10) : drawn == 32 ? 23 : 52;
  planner.kernel(fmt::format("random_gamma<{}>(a)", type_name(type.dtype)), {planner.operand(0), planner.operand(1), planner.result(0)},
                 {type.elements(), args.attrs.flag("log_space") ? 1 : 0, drawn, kept, args.attrs.flag("partitionable", true) ? 0 : 1});
}

constexpr OpPlan kPlans[] = {{"random_bits", plan_bits},          {"random_split", plan_split},         {"random_fold_in", plan_fold_in},
                             {"random_threefry2x32", plan_block}, {"random_indices", plan_permutation}, {"random_gamma", plan_gamma}};

}  // namespace

extern const FamilyDef kRandomFamily;
const FamilyDef kRandomFamily = {
    .name = "random numbers", .doc = "threefry, bit for bit, generated", .has = PlansByOp<kPlans>::has, .plan = PlansByOp<kPlans>::plan};

}  // namespace shardlab::cuda
