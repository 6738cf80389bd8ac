// The primitives of random numbers.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "virtualdev/cuda/codegen/order_passes.h"

namespace shardlab::cuda {
namespace {

void add_part(std::vector<std::int64_t>& numbers, const MutableView& part, const Shape& whole_shape) {
  Shape strides = strides_of(whole_shape);
  for (std::size_t d = 0; d < strides.size(); ++d) numbers.insert(numbers.end(), {part.type.shape[d], (*part.box)[d].start, strides[d]});
}

void plan_bits(Planner& planner, const KernelArgs& args) {
  const MutableView& result = args.results[0];
  std::vector<std::int64_t> numbers{result.type.elements()};
  add_part(numbers, result, args.attrs.integers("shape"));
  planner.kernel(fmt::format("random_bits<{}, {}>(a)", type_name(result.type.dtype), result.type.rank()),
                 {planner.operand(0), planner.result(0)}, std::move(numbers));
}

void plan_split(Planner& planner, const KernelArgs& args) {
  const MutableView& result = args.results[0];
  Shape shape = args.attrs.integers("num");
  shape.push_back(2);
  std::vector<std::int64_t> numbers{result.type.elements(), element_count(shape), args.attrs.flag("partitionable", true) ? 0 : 1};
  add_part(numbers, result, shape);
  planner.kernel(fmt::format("random_split<{}>(a)", shape.size()), {planner.operand(0), planner.result(0)}, std::move(numbers));
}

void plan_fold_in(Planner& planner, const KernelArgs& args) {
  planner.kernel("random_fold_in(a)", {planner.operand(0), planner.operand(1), planner.result(0)},
                 {args.results[0].type.elements(), (*args.results[0].box)[0].start});
}

void plan_block(Planner& planner, const KernelArgs& args) {
  planner.kernel("random_block(a)", {planner.operand(0), planner.operand(1), planner.operand(2), planner.result(0), planner.result(1)},
                 {args.results[0].type.elements()});
}

// Stable sorts by fresh 32-bit keys, as many rounds as make equal keys in all of them unlikely.
void plan_permutation(Planner& planner, const KernelArgs& args) {
  const MutableView& result = args.results[0];
  std::int64_t size = args.attrs.integer("size");
  int places = planner.temporary(size * 4), keys = planner.temporary(size * 4);
  planner.kernel("first_order(a)", {places}, {size, size});
  int rounds = int(std::ceil(3 * std::log(double(std::max<std::int64_t>(1, size))) / std::log(4294967295.0)));
  for (int round = 0; round < rounds; ++round) {
    planner.kernel("permutation_keys(a)", {planner.operand(0), keys}, {size, round, args.attrs.flag("partitionable", true) ? 0 : 1});
    int order = order_passes(planner, {{keys, DType::kUint32}}, {1, size, 1}, false), composed = planner.temporary(size * 4);
    planner.kernel("compose_places(a)", {places, order, composed}, {size});
    places = composed;
  }
  planner.kernel(fmt::format("take_places<{}>(a)", type_name(result.type.dtype)), {places, planner.result(0)},
                 {result.type.elements(), result.type.elements(), size, (*result.box)[0].start});
}

struct Entry {
  std::string_view name;
  void (*plan)(Planner&, const KernelArgs&);
};
constexpr Entry kEntries[] = {{"random_bits", plan_bits},
                              {"random_split", plan_split},
                              {"random_fold_in", plan_fold_in},
                              {"random_threefry2x32", plan_block},
                              {"random_indices", plan_permutation}};

const Entry* entry_of(const OpDef& op) {
  for (const Entry& entry : kEntries)
    if (entry.name == op.name) return &entry;
  return nullptr;
}
bool has(const OpDef& op) { return entry_of(op) != nullptr; }
void plan(Planner& planner, const OpDef& op, const KernelArgs& args) { entry_of(op)->plan(planner, args); }

}  // namespace

extern const FamilyDef kRandomFamily;
const FamilyDef kRandomFamily = {.name = "random numbers", .doc = "threefry, bit for bit, generated", .has = has, .plan = plan};

}  // namespace shardlab::cuda
