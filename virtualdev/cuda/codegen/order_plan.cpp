// sort and top_k: merge passes over places, then the elements in their order. Also what permutations of random numbers sort by.
#include <fmt/format.h>

#include <utility>

#include "virtualdev/cuda/codegen/order_passes.h"

namespace shardlab::cuda {

int order_passes(Planner& planner, const std::vector<SortKey>& keys, SortRows rows, RowOrder order) {
  constexpr std::int64_t kCountMax = std::int64_t(1) << 31;  // places are int32
  if (rows.count > kCountMax)
    throw_user_error("a GPU puts rows of at most {} elements in order, and these have {}; cut the dimension over more devices", kCountMax,
                     rows.count);
  std::int64_t elements = rows.rows * rows.count;
  int from = planner.temporary(elements * 4), to = planner.temporary(elements * 4);
  planner.kernel("first_order(a)", {from}, {elements, rows.count});
  // Whether place x of a row comes before y, by the first key in which they differ.
  std::string tests;
  for (std::size_t k = 0; k < keys.size(); ++k) {
    std::string type(type_name(keys[k].dtype));
    tests += fmt::format(
        "{{ const {0}* row_{1} = a.in<{0}>({1}) + start; {0} u = row_{1}[x * a.number[3]], v = row_{1}[y * a.number[3]]; "
        "if ({2}) return true; if ({3}) return false; }} ",
        type, k, order == RowOrder::kSorted ? "sorts_before(u, v)" : "ranks_before(v, u)",
        order == RowOrder::kSorted ? "sorts_before(v, u)" : "ranks_before(u, v)");
  }
  std::string body = fmt::format(
      "merge_pass<{}>(a, [&](i64 row, i32 x, i32 y) {{ i64 start = row / a.number[3] * a.number[1] * a.number[3] + row % a.number[3]; "
      "{}return false; }})",
      keys.size(), tests);
  for (std::int64_t width = 1; width < rows.count; width *= 2) {
    std::vector<int> buffers;
    for (const SortKey& key : keys) buffers.push_back(key.buffer);
    buffers.insert(buffers.end(), {from, to});
    planner.kernel(body, std::move(buffers), {elements, rows.count, width, rows.stride});
    std::swap(from, to);
  }
  return from;
}

namespace {

bool has(const OpDef& op) { return op.name == "sort" || op.name == "top_k"; }

void plan_sort(Planner& planner, const KernelArgs& args) {
  const TensorType& type = args.operands[0].type;
  std::size_t axis = std::size_t(args.attrs.integer("axis"));
  std::int64_t count = type.shape[axis], stride = strides_of(type.shape)[axis], elements = type.elements();
  std::vector<SortKey> keys;
  for (std::int64_t k = 0; k < args.attrs.integer("num_keys", 1); ++k)
    keys.push_back({planner.operand(std::size_t(k)), args.operands[std::size_t(k)].type.dtype});
  int order = order_passes(planner, keys, {elements / count, count, stride}, RowOrder::kSorted);
  for (std::size_t i = 0; i < args.operands.size(); ++i)
    planner.kernel(fmt::format("take_in_order<{}>(a)", raw_type_name(size_of(args.operands[i].type.dtype))),
                   {planner.operand(i), order, planner.result(i)}, {elements, count, count, stride});
}

void plan_top_k(Planner& planner, const KernelArgs& args) {
  const TensorType& type = args.operands[0].type;
  std::int64_t count = type.shape.back(), k = args.results[0].type.shape.back(), rows = type.elements() / count;
  int order = order_passes(planner, {{planner.operand(0), type.dtype}}, {rows, count, 1}, RowOrder::kLargestFirst);
  planner.kernel(fmt::format("take_in_order<{}>(a)", raw_type_name(size_of(type.dtype))), {planner.operand(0), order, planner.result(0)},
                 {rows * k, k, count, 1});
  planner.kernel("take_places<i32>(a)", {order, planner.result(1)}, {rows * k, k, count, 0});
}

void plan(Planner& planner, const OpDef& op, const KernelArgs& args) {
  op.name == "sort" ? plan_sort(planner, args) : plan_top_k(planner, args);
}

}  // namespace

extern const FamilyDef kOrderFamily;
const FamilyDef kOrderFamily = {.name = "order", .doc = "stable merge passes by rank over places, generated", .has = has, .plan = plan};

}  // namespace shardlab::cuda
