// gather: windows of the operand, each at a computed place.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/ops/gather_dims.h"
#include "runtime/ops/gather_rules.h"
#include "runtime/ops/lower.h"
#include "runtime/ops/regions.h"
#include "runtime/ops/window_offsets.h"

namespace shardlab::ops {
namespace {

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  GatherDims dims(attrs);
  const TensorType& operand = types[0];
  dims.check(op.name, operand, types[1]);
  const auto& sizes = required_integers(op, attrs, "slice_sizes");
  bool fits = sizes.size() == operand.shape.size();
  for (std::size_t d = 0; fits && d < sizes.size(); ++d)
    fits = sizes[d] >= 0 && sizes[d] <= operand.shape[d] && (sizes[d] <= 1 || !dims.is_collapsed(std::int64_t(d)));
  if (!fits)
    throw_user_error("{}: slice sizes must be within the operand, and at most 1 in collapsed dimensions, got {} for operand shape {}",
                     op.name, text_of(sizes), text_of(operand.shape));
  Shape shape(types[1].shape.size() - 1 + dims.offset.size());
  std::vector<int> windows = dims.window_dims(operand.rank()), batches = dims.batch_dims(int(shape.size()));
  for (std::size_t i = 0; i < windows.size(); ++i) shape[std::size_t(dims.offset[i])] = sizes[std::size_t(windows[i])];
  for (std::size_t i = 0; i < batches.size(); ++i) shape[std::size_t(batches[i])] = types[1].shape[i];
  check_shape(op.name, shape);
  return {{operand.dtype, shape}};
}

// In the order of the result's dimensions, then what the operand and the indices have beside.
FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  GatherDims dims(attrs);
  const auto& sizes = attrs.integers("slice_sizes");
  std::vector<int> windows = dims.window_dims(operands[0].rank()), batches = dims.batch_dims(results[0].rank());
  for (int d = 0; d < results[0].rank(); ++d) {
    auto batch = std::find(batches.begin(), batches.end(), d);
    if (batch != batches.end()) {
      int index_dim = int(batch - batches.begin()), operand_dim = -1;
      for (std::size_t i = 0; i < dims.indices_batching.size(); ++i)
        if (dims.indices_batching[i] == index_dim) operand_dim = int(dims.operand_batching[i]);
      rule.add(results[0].shape[std::size_t(d)], {operand_dim, index_dim}, {d});
      continue;
    }
    std::size_t place = std::size_t(std::find(dims.offset.begin(), dims.offset.end(), d) - dims.offset.begin());
    int from = windows[place];
    std::int64_t size = operands[0].shape[std::size_t(from)], window = sizes[std::size_t(from)];
    if (window == size) {
      rule.add(size, {from, -1}, {d});
    } else if (window == 1) {
      rule.add(size, {from, -1}, {-1}, FactorKind::kReduce);
      rule.add(1, {-1, -1}, {d}, FactorKind::kReplicate);
    } else {
      rule.add(size, {from, -1}, {d}, FactorKind::kReplicate, true);
    }
  }
  for (std::int64_t d : dims.collapsed) {
    std::int64_t size = operands[0].shape[std::size_t(d)];
    rule.add(size, {int(d), -1}, {-1}, size == 1 ? FactorKind::kReplicate : FactorKind::kReduce);
  }
  rule.add(operands[1].shape.back(), {-1, operands[1].rank() - 1}, {-1}, FactorKind::kReplicate);
  return rule;
}

void fill_as_elsewhere(const MutableView& result) {
  const std::uint64_t bits[] = {elsewhere(result.type.dtype), elsewhere(result.type.dtype)};
  fill_elements(result.data, reinterpret_cast<const std::byte*>(bits), result.type.elements(), size_of(result.type.dtype));
}

// Of a window that starts outside the part of the operand that is here, in a dimension with windows of size 1, the elements add nothing:
// the parts' results add up to the whole.
void kernel(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  const ConstView& indices = args.operands[1];
  const MutableView& result = args.results[0];
  if (result.type.elements() == 0) return;
  GatherDims dims(args.attrs);
  const auto& sizes = args.attrs.integers("slice_sizes");
  std::vector<int> windows = dims.window_dims(operand.type.rank()), batches = dims.batch_dims(result.type.rank());
  Shape result_strides = strides_of(result.type.shape), operand_strides = strides_of(operand.type.shape);
  Shape window_shape, from_strides, to_strides, batch_shape, batch_strides;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    std::size_t d = std::size_t(dims.offset[i]);
    window_shape.push_back(result.type.shape[d]);
    from_strides.push_back(operand_strides[std::size_t(windows[i])]);
    to_strides.push_back(result_strides[d]);
  }
  for (int d : batches) {
    batch_shape.push_back(result.type.shape[std::size_t(d)]);
    batch_strides.push_back(result_strides[std::size_t(d)]);
  }

  WindowOffsets offsets(indices, batch_shape);
  bool is_part = false;  // some windows may begin elsewhere
  std::vector<bool> is_told(operand.type.shape.size(), false);
  auto dim = [&](std::size_t d) { return WindowOffsets::Dim{(*operand.box)[d], operand_strides[d]}; };
  // A dimension that goes through whole windows is cut alike on both sides.
  for (std::size_t i = 0; i < windows.size(); ++i) {
    std::size_t d = std::size_t(windows[i]);
    if (sizes[d] != (*operand.array)[d]) continue;
    is_told[d] = true;
    offsets.add_start((*result.box)[std::size_t(dims.offset[i])].start - (*operand.box)[d].start, operand_strides[d]);
  }
  for (std::size_t i = 0; i < dims.index_map.size(); ++i) {
    std::size_t d = std::size_t(dims.index_map[i]);
    if (is_told[d]) continue;
    is_told[d] = true;
    is_part |= (*operand.box)[d].size() < (*operand.array)[d];
    offsets.add_index(std::int64_t(i), dim(d), 0, (*operand.array)[d] - sizes[d]);
  }
  for (std::size_t i = 0; i < dims.operand_batching.size(); ++i) {
    std::size_t d = std::size_t(dims.operand_batching[i]), index_dim = std::size_t(dims.indices_batching[i]);
    is_told[d] = true;
    is_part |= (*operand.box)[d].size() < (*operand.array)[d];
    offsets.add_batch(index_dim, (*indices.box)[index_dim].start, dim(d));
  }
  for (std::size_t d = 0; d < is_told.size(); ++d)  // what nothing tells starts at 0
    if (!is_told[d] && ((*operand.box)[d].start > 0 || (*operand.box)[d].size() == 0)) {
      fill_as_elsewhere(result);
      return;
    }
  if (is_part) fill_as_elsewhere(result);

  const std::int64_t item = size_of(result.type.dtype), elements = element_count(window_shape);
  const auto copy_items = [&](auto sample) {
    using T = decltype(sample);
    offsets.each(batch_strides, [from = reinterpret_cast<const T*>(operand.data), to = reinterpret_cast<T*>(result.data)](
                                    std::int64_t place, std::int64_t at) { to[at] = from[place]; });
  };
  if (elements == 1 && with_item(item, copy_items)) return;
  const Shape dense = strides_of(window_shape);
  if (from_strides == dense && to_strides == dense) {
    offsets.each(batch_strides, [&](std::int64_t place, std::int64_t at) {
      std::memcpy(result.data + at * item, operand.data + place * item, std::size_t(elements * item));
    });
    return;
  }
  // Windows that lie beside each other in the result are filled together, place by place.
  if (!batch_strides.empty() && batch_strides.back() == 1 && item <= 8) {
    struct Run {
      std::int64_t at = 0, count = 0;
    };
    std::vector<std::int64_t> places;
    std::vector<Run> runs;  // of places that go beside each other
    offsets.each(batch_strides, [&](std::int64_t place, std::int64_t at) {
      if (runs.empty() || at != runs.back().at + runs.back().count) runs.push_back({at});
      ++runs.back().count;
      places.push_back(place);
    });
    const auto fill = [&](auto sample) {
      using T = decltype(sample);
      for_each_offset(window_shape, from_strides, to_strides, [&](std::int64_t from_window, std::int64_t to_window) {
        const T* from = reinterpret_cast<const T*>(operand.data) + from_window;
        const std::int64_t* place = places.data();
        for (const Run& run : runs) {
          T* to = reinterpret_cast<T*>(result.data) + to_window + run.at;
          for (std::int64_t i = 0; i < run.count; ++i) to[i] = from[*place++];
        }
      });
    };
    if (with_item(item, fill)) return;
  }
  offsets.each(batch_strides, [&](std::int64_t place, std::int64_t at) {
    copy_region(window_shape, {operand.data, place, from_strides}, {result.data, at, to_strides}, item);
  });
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Attrs full;
  GatherDims(attrs).set(full);
  if (attrs.has("slice_sizes")) full.set("slice_sizes", integer_list_of(attrs, "slice_sizes"));
  return b.emit(op, {value_of(b, args[0]), value_of(b, args[1])}, full);
}

std::vector<Sample> samples() {
  using List = std::vector<std::int64_t>;
  auto sample = [](DType dtype, Shape shape, Shape indices, List offset, List collapsed, List map, List sizes, List operand_batching = {},
                   List indices_batching = {}) {
    Attrs attrs{{"slice_sizes", std::move(sizes)}};
    GatherDims dims;
    dims.offset = std::move(offset);
    dims.collapsed = std::move(collapsed);
    dims.index_map = std::move(map);
    dims.operand_batching = std::move(operand_batching);
    dims.indices_batching = std::move(indices_batching);
    dims.set(attrs);
    return Sample{{{dtype, std::move(shape)}, {DType::kInt32, std::move(indices)}}, attrs};
  };
  return {sample(DType::kFloat32, {6, 4}, {4, 1}, {1}, {0}, {0}, {1, 4}),              // rows
          sample(DType::kInt32, {6, 4}, {2, 3, 1}, {0}, {1}, {1}, {6, 1}),             // columns
          sample(DType::kComplex64, {4, 6}, {6, 2}, {}, {0, 1}, {0, 1}, {1, 1}),       // elements
          sample(DType::kBool, {8, 4}, {2, 1}, {1, 2}, {}, {0}, {3, 4}),               // windows
          sample(DType::kFloat32, {8, 4}, {2, 1}, {1, 2}, {}, {0}, {1, 4}),            // windows of size 1
          sample(DType::kFloat32, {4, 6}, {4, 3, 1}, {}, {1}, {1}, {1, 1}, {0}, {0}),  // along with the indices
          sample(DType::kFloat32, {6, 4}, {0, 1}, {1}, {0}, {0}, {1, 4}),
          sample(DType::kUint32, {1, 4}, {2, 1}, {1}, {0}, {0}, {1, 4})};
}

constexpr AttrDef kAttrs[] = {
    {"offset_dims", AttrDef::Kind::kScalarOrIntegers, true, "the result's dimensions that are the windows'"},
    {"collapsed_slice_dims", AttrDef::Kind::kScalarOrIntegers, true, "the operand's dimensions that the result lacks"},
    {"start_index_map", AttrDef::Kind::kScalarOrIntegers, true, "the operand's dimension for each number of an index vector"},
    {"slice_sizes", AttrDef::Kind::kScalarOrIntegers, true, "the size of a window in each of the operand's dimensions"},
    {"operand_batching_dims", AttrDef::Kind::kScalarOrIntegers, false, "the operand's dimensions that go along with the indices'"},
    {"start_indices_batching_dims", AttrDef::Kind::kScalarOrIntegers, false, "the indices' dimensions that go along with the operand's"}};

}  // namespace

const OpDef kGather = {.name = "gather",
                       .doc =
                           "Windows of the operand at computed places: args [x, indices], where the last dimension of the indices holds "
                           "index vectors. Starts are moved so that windows lie within the operand.",
                       .operands_min = 2,
                       .operands_max = 2,
                       .attrs = kAttrs,
                       .weakness = Weakness::kOfFirst,
                       .expand = expand,
                       .infer = infer,
                       .rule = rule,
                       .reduction = Reduction::kSum,
                       .kernel = kernel,
                       .uses_position = true,
                       .jvp = gather_jvp,
                       .transpose = gather_transpose,
                       .batch = gather_batch,
                       .samples = samples};

}  // namespace shardlab::ops
