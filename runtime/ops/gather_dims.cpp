#include "runtime/ops/gather_dims.h"

#include <algorithm>

#include "runtime/ops/lower.h"

namespace shardlab::ops {
namespace {

bool holds(const std::vector<std::int64_t>& list, std::int64_t value) { return std::find(list.begin(), list.end(), value) != list.end(); }

std::vector<std::int64_t> list_in(const Attrs& attrs, std::string_view name) {
  return attrs.has(name) ? integer_list_of(attrs, name) : std::vector<std::int64_t>{};
}

// In range; and without repetition.
bool are_dims(const std::vector<std::int64_t>& dims, std::int64_t rank) {
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] < 0 || dims[i] >= rank || std::count(dims.begin(), dims.end(), dims[i]) > 1) return false;
  return true;
}

}  // namespace

GatherDims::GatherDims(const Attrs& attrs)
    : offset(list_in(attrs, "offset_dims")),
      collapsed(list_in(attrs, "collapsed_slice_dims")),
      index_map(list_in(attrs, "start_index_map")),
      operand_batching(list_in(attrs, "operand_batching_dims")),
      indices_batching(list_in(attrs, "start_indices_batching_dims")) {}

void GatherDims::set(Attrs& attrs) const {
  attrs.set("offset_dims", offset);
  attrs.set("collapsed_slice_dims", collapsed);
  attrs.set("start_index_map", index_map);
  if (operand_batching.empty()) return;
  attrs.set("operand_batching_dims", operand_batching);
  attrs.set("start_indices_batching_dims", indices_batching);
}

bool GatherDims::is_collapsed(std::int64_t operand_dim) const {
  return holds(collapsed, operand_dim) || holds(operand_batching, operand_dim);
}

std::vector<int> GatherDims::window_dims(int operand_rank) const {
  std::vector<int> dims;
  for (int d = 0; d < operand_rank; ++d)
    if (!is_collapsed(d)) dims.push_back(d);
  return dims;
}

std::vector<int> GatherDims::batch_dims(int gathered_rank) const {
  std::vector<int> dims;
  for (int d = 0; d < gathered_rank; ++d)
    if (!holds(offset, d)) dims.push_back(d);
  return dims;
}

void GatherDims::check(std::string_view op, const TensorType& operand, const TensorType& indices) const {
  if (!is_integer(indices.dtype)) throw_user_error("{}: indices must have an integer type, got {}", op, indices.text());
  if (indices.rank() == 0) throw_user_error("{}: indices must have a last dimension that holds the index vectors, got a scalar", op);
  std::int64_t gathered_rank = indices.rank() - 1 + std::int64_t(offset.size());
  std::vector<std::int64_t> left_out = collapsed;
  left_out.insert(left_out.end(), operand_batching.begin(), operand_batching.end());
  bool fits = are_dims(left_out, operand.rank()) && are_dims(index_map, operand.rank()) && are_dims(offset, gathered_rank) &&
              std::is_sorted(offset.begin(), offset.end()) && are_dims(indices_batching, indices.rank() - 1) &&
              operand_batching.size() == indices_batching.size() && std::int64_t(index_map.size()) == indices.shape.back() &&
              offset.size() + left_out.size() == operand.shape.size();
  for (std::size_t i = 0; fits && i < operand_batching.size(); ++i)
    fits = operand.shape[std::size_t(operand_batching[i])] == indices.shape[std::size_t(indices_batching[i])] &&
           !holds(index_map, operand_batching[i]);
  if (!fits)
    throw_user_error(
        "{}: the dimension numbers do not fit: offset_dims {}, collapsed_slice_dims {}, start_index_map {}, operand_batching_dims {}, "
        "start_indices_batching_dims {} for operand {} and indices {}",
        op, text_of(offset), text_of(collapsed), text_of(index_map), text_of(operand_batching), text_of(indices_batching), operand.text(),
        indices.text());
}

std::uint64_t elsewhere(DType dtype) {
  if (!is_inexact(dtype)) return 0;
  switch (size_of(is_complex(dtype) ? real_dtype(dtype) : dtype)) {
    case 2:
      return 0x8000800080008000;
    case 4:
      return 0x8000000080000000;
    default:
      return 0x8000000000000000;
  }
}

ValueId along_dim(GraphBuilder& b, ValueId x, ValueId indices, int dim) {
  Shape shape = b.shape(indices), sizes(shape.size(), 1);
  if (element_count(b.shape(x)) == 0 && element_count(shape) == 0) return filled(b, {b.type(x).dtype, shape}, 0.0);  // nothing to gather
  GatherDims dims;
  dims.collapsed = dims.index_map = {dim};
  for (int d = 0; d < int(shape.size()); ++d) {
    if (d == dim) continue;
    if (shape[std::size_t(d)] == 0) sizes[std::size_t(d)] = 0;
    dims.operand_batching.push_back(d);
    dims.indices_batching.push_back(d);
  }
  Attrs attrs{{"slice_sizes", sizes}, {"is_masked", true}};
  dims.set(attrs);
  shape.push_back(1);
  return b.emit1(kGather, {x, reshaped(b, indices, shape)}, attrs);
}

}  // namespace shardlab::ops
