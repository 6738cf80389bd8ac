// Reductions, argmax and argmin; running combinations.
#include <fmt/format.h>

#include <algorithm>

#include "virtualdev/cuda/codegen/fused_plan.h"
#include "virtualdev/cuda/codegen/node_plan.h"

namespace shardlab::cuda {
namespace {

constexpr std::int64_t kBlockRow = 64;                          // shorter rows are one thread's
constexpr std::int64_t kPart = 64 * 1024;                       // elements of a row that one block combines
constexpr std::int64_t kBlocksWanted = 4096;                    // with as many rows, none is cut into parts
constexpr std::int64_t kThreadsWanted = std::int64_t(1) << 18;  // with as many columns likewise
constexpr std::int64_t kColumnsMin = 16 * 1024;                 // fewer columns are a block's each, though it reads what lies apart
constexpr std::int64_t kColumnPart = 32;                        // elements of a column's part at least
constexpr std::int64_t kColumnPartsMax = 256;                   // that a block combines
constexpr std::int64_t kTileInnerMin = 8;                       // columns of a tile
constexpr std::int64_t kChunk = 256;                            // elements of a running combination that one thread goes through
constexpr std::int64_t kBlockChunk = 2048;                      // that a block goes through: ScanChunk of kernels/reduce.cuh

struct Dims {
  Shape kept_sizes, kept_strides, reduced_sizes, reduced_strides;
  std::string order;  // "krk": reduced between kept ones
};

// Neighbouring dimensions of one kind become one.
Dims dims_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  Dims dims;
  Shape strides = strides_of(shape);
  bool was_reduced = false, is_first = true;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    bool reduces = std::find(axes.begin(), axes.end(), std::int64_t(d)) != axes.end();
    Shape &sizes = reduces ? dims.reduced_sizes : dims.kept_sizes, &steps = reduces ? dims.reduced_strides : dims.kept_strides;
    if (!is_first && was_reduced == reduces) {
      sizes.back() *= shape[d];
      steps.back() = strides[d];
    } else {
      sizes.push_back(shape[d]);
      steps.push_back(strides[d]);
      dims.order += reduces ? 'r' : 'k';
    }
    was_reduced = reduces;
    is_first = false;
  }
  return dims;
}

void add_dims(std::vector<std::int64_t>& numbers, const Shape& sizes, const Shape& strides) {
  for (std::size_t d = 0; d < sizes.size(); ++d) numbers.insert(numbers.end(), {sizes[d], strides[d]});
}

// Stage by stage, each of which leaves fewer parts of a column, down to one; a few parts are a block's.
void reduce_columns(Planner& planner, const std::string& functor, DType dtype, std::int64_t results, std::int64_t row, std::int64_t inner) {
  int from = planner.operand(0);
  std::string in(type_name(dtype));
  for (std::int64_t count = row, parts = 0; parts != 1; count = parts) {
    parts = std::clamp<std::int64_t>((kThreadsWanted + results - 1) / results, 1, (count + kColumnPart - 1) / kColumnPart);
    const std::int64_t size = (count + parts - 1) / parts;
    parts = (count + size - 1) / size;
    const std::string out(parts == 1 ? type_name(dtype) : wide_name(dtype));
    if (from != planner.operand(0) && count <= kColumnPartsMax && inner >= kTileInnerMin) {
      const std::int64_t outer = results / inner, blocks = (inner + kTileWidth - 1) / kTileWidth * outer;
      planner.kernel_of_blocks(fmt::format("reduce_column_parts<{}, {}, {}>(a)", functor, in, type_name(dtype)), {from, planner.result(0)},
                               {blocks, count, inner, outer});
      return;
    }
    const int to = parts == 1 ? planner.result(0) : planner.temporary(results * parts * wide_bytes(dtype));
    planner.kernel(fmt::format("reduce_columns<{}, {}, {}>(a)", functor, in, out), {from, to},
                   {results * parts, count, parts, size, inner});
    from = to;
    in = out;
  }
}

void plan_reduction(Planner& planner, const OpDef& op, const KernelArgs& args) {
  const TensorType& type = args.operands[0].type;
  std::string element(type_name(type.dtype)), functor = fmt::format("{}<{}>", functor_name(*op.reduction), element);
  Dims dims = dims_of(type.shape, args.attrs.integers("axes"));
  std::int64_t results = args.results[0].type.elements(), row = 1;
  for (std::int64_t axis : args.attrs.integers("axes")) row *= type.shape[std::size_t(axis)];
  if (row == 0) dims = {};  // there is nothing to walk: each result is the identity
  if (dims.order == "rk" || dims.order == "krk") return reduce_columns(planner, functor, type.dtype, results, row, dims.kept_sizes.back());
  std::int64_t parts = results >= kBlocksWanted ? 1 : std::clamp<std::int64_t>((row + kPart - 1) / kPart, 1, 1024);
  std::int64_t lanes = 16 / size_of(type.dtype);
  if (row % lanes != 0) lanes = 1;
  std::int64_t size = ((row + parts - 1) / parts + lanes - 1) / lanes * lanes;
  const bool is_dense = dims.order == "r" || dims.order == "kr";
  auto body = [&](std::string_view kernel, std::string_view in, std::string_view out, const Dims& d) {
    return fmt::format("{}<{}, {}, {}, {}, {}>(a)", kernel, functor, in, out, d.kept_sizes.size(), d.reduced_sizes.size());
  };
  auto numbers_of = [&](std::int64_t count, std::int64_t of_row, std::int64_t of_parts, std::int64_t of_size, const Dims& d) {
    std::vector<std::int64_t> numbers{count, of_row, of_parts, of_size};
    add_dims(numbers, d.kept_sizes, d.kept_strides);
    add_dims(numbers, d.reduced_sizes, d.reduced_strides);
    return numbers;
  };
  if (row < kBlockRow) {
    planner.kernel(body("reduce_threads", element, element, dims), {planner.operand(0), planner.result(0)},
                   numbers_of(results, row, 1, row, dims));
    return;
  }
  auto first_round = [&](std::string_view out, int to) {
    if (is_dense)
      planner.kernel_of_blocks(fmt::format("reduce_rows<{}, {}, {}, {}>(a)", functor, element, out, lanes), {planner.operand(0), to},
                               {results * parts, row, parts, size});
    else
      planner.kernel_of_blocks(body("reduce_blocks", element, out, dims), {planner.operand(0), to},
                               numbers_of(results * parts, row, parts, size, dims));
  };
  if (parts == 1) return first_round(element, planner.result(0));
  std::string_view wide = wide_name(type.dtype);
  int partial = planner.temporary(results * parts * wide_bytes(type.dtype));
  first_round(wide, partial);
  planner.kernel_of_blocks(fmt::format("reduce_rows<{}, {}, {}, 1>(a)", functor, wide, element), {partial, planner.result(0)},
                           {results, parts, 1, parts});
}

bool is_place(const OpDef& op) { return op.name == "argmax" || op.name == "argmin"; }

void plan_place(Planner& planner, const OpDef& op, const KernelArgs& args) {
  const TensorType& type = args.operands[0].type;
  std::size_t axis = std::size_t(args.attrs.integer("axis"));
  const std::int64_t results = args.results[0].type.elements(), row = type.shape[axis], stride = strides_of(type.shape)[axis];
  const bool by_threads = row < kBlockRow || (stride > 1 && results >= kColumnsMin);
  std::int64_t lanes = 16 / size_of(type.dtype);
  if (by_threads || stride != 1 || row % lanes != 0) lanes = 1;
  const std::string types =
      fmt::format("<{}, {}{}>(a)", type_name(type.dtype), op.name == "argmax", by_threads ? "" : fmt::format(", {}", lanes));
  const std::vector<int> buffers{planner.operand(0), planner.result(0)};
  if (by_threads)
    planner.kernel("find_extreme_threads" + types, buffers, {results, row, stride});
  else
    planner.kernel_of_blocks("find_extreme" + types, buffers, {results, row, stride});
}

bool has_reduction(const OpDef& op) { return (op.reduction.has_value() && op.name.starts_with("reduce_")) || is_place(op); }
void plan_reductions(Planner& planner, const OpDef& op, const KernelArgs& args) {
  is_place(op) ? plan_place(planner, op, args) : plan_reduction(planner, op, args);
}

// ---- running combinations

bool has_scan(const OpDef& op) { return op.name.starts_with("cum"); }

Reduction scan_reduction(const OpDef& op) {
  return op.name == "cumsum"    ? Reduction::kSum
         : op.name == "cumprod" ? Reduction::kProd
         : op.name == "cummax"  ? Reduction::kMax
                                : Reduction::kMin;
}

struct Rows {
  std::int64_t rows, count, stride;
};

// Chunks, then their totals likewise, then what came before each chunk.
void scan_rows(Planner& planner, const std::string& types, std::int64_t item, int from, int to, Rows r, bool backwards) {
  const bool by_blocks = r.stride == 1 && r.count > kChunk;
  const std::int64_t size = by_blocks ? kBlockChunk : kChunk, chunks = (r.count + size - 1) / size;
  const std::vector<std::int64_t> numbers{r.rows * chunks, r.count, r.stride, size, chunks, backwards};
  auto add = [&](const char* by_thread, const char* by_block, std::vector<int> buffers) {
    const std::string body = fmt::format("{}<{}>(a)", by_blocks ? by_block : by_thread, types);
    by_blocks ? planner.kernel_of_blocks(body, std::move(buffers), numbers) : planner.kernel(body, std::move(buffers), numbers);
  };
  int totals = planner.temporary(r.rows * chunks * item);
  add("scan_chunks", "scan_blocks", {from, to, totals});
  if (chunks == 1) return;
  int scanned = planner.temporary(r.rows * chunks * item);
  scan_rows(planner, types, item, totals, scanned, {r.rows, chunks, 1}, false);
  add("scan_add", "scan_add_blocks", {from, to, scanned});
}

// The operand may hold less or more than what is combined: from its end that the running starts at, up to the result's other end.
void plan_scan(Planner& planner, const OpDef& op, const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const MutableView& result = args.results[0];
  std::size_t axis = std::size_t(args.attrs.integer("axis"));
  bool reverse = args.attrs.flag("reverse");
  Box box = *result.box;
  (reverse ? box[axis].stop : box[axis].start) = reverse ? (*operand.array)[axis] : 0;
  Shape shape = shape_of(box), first, first_result;
  for (std::size_t d = 0; d < box.size(); ++d) {
    first.push_back(box[d].start - (*operand.box)[d].start);
    first_result.push_back((*result.box)[d].start - box[d].start);
  }
  auto offset = [](const Shape& at, const Shape& strides) {
    std::int64_t sum = 0;
    for (std::size_t d = 0; d < at.size(); ++d) sum += at[d] * strides[d];
    return sum;
  };
  std::int64_t item = size_of(result.type.dtype);
  int from = planner.operand(0), to = planner.result(0);
  if (operand.type.shape != shape) {
    from = planner.temporary(element_count(shape) * item);
    Shape strides = strides_of(operand.type.shape);
    planner.copy_region(shape, {planner.operand(0), offset(first, strides), strides}, {from, 0, strides_of(shape)}, item);
  }
  bool is_cut = result.type.shape != shape;
  if (is_cut) to = planner.temporary(element_count(shape) * item);
  std::string types =
      fmt::format("{}<{}>, {}", functor_name(scan_reduction(op)), type_name(result.type.dtype), type_name(result.type.dtype));
  scan_rows(planner, types, item, from, to, {element_count(shape) / shape[axis], shape[axis], strides_of(shape)[axis]}, reverse);
  if (is_cut)
    planner.copy_region(result.type.shape, {to, offset(first_result, strides_of(shape)), strides_of(shape)},
                        {planner.result(0), 0, strides_of(result.type.shape)}, item);
}

}  // namespace

extern const FamilyDef kReduceFamily, kScanFamily;
const FamilyDef kReduceFamily = {
    .name = "reductions", .doc = "a block or a thread a row, long rows in parts, generated", .has = has_reduction, .plan = plan_reductions};
const FamilyDef kScanFamily = {.name = "running combinations",
                               .doc = "chunks, a block or a thread each, their totals, what came before, generated",
                               .has = has_scan,
                               .plan = plan_scan};

}  // namespace shardlab::cuda
