#include "runtime/exec/indexing.h"

#include <algorithm>
#include <numeric>

#include "runtime/exec/array_impl.h"
#include "runtime/exec/array_ops.h"

namespace shardlab {
namespace {

// One dimension of the array, and what is taken of it.
struct Taken {
  std::int64_t start = 0, count = 0, step = 1;
  bool is_dropped = false;       // a number
  std::optional<Array> indices;  // an array of integers instead
};
// The index written out: a Taken for each dimension, and where they are in the result: each one's number there, or kNew. The dimensions of
// the arrays of integers, which are broadcast together, lie before the `block_at`-th of them.
struct Plan {
  static constexpr std::size_t kNew = std::size_t(-1);
  std::vector<Taken> dims;
  std::vector<std::size_t> kept;
  std::size_t block_at = 0;
  std::optional<Shape> block;  // none: no arrays
};

std::size_t dimensions_of(const Index& index) {
  if (std::holds_alternative<NewAxis>(index.value()) || std::holds_alternative<Ellipsis>(index.value())) return 0;
  const auto* mask = std::get_if<Array>(&index.value());
  return mask && mask->dtype() == bool_ ? std::size_t(mask->ndim()) : 1;
}

std::string place_of(const Operand& x) { return x.where().text(); }

Taken slice_of(const Slice& slice, std::int64_t size, const Operand& x) {
  if (slice.step == 0) throw_user_error("index at {}: slice step cannot be zero", place_of(x));
  auto bounded = [&](std::optional<std::int64_t> given, std::int64_t otherwise, std::int64_t low, std::int64_t high) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + size : *given, low, high);
  };
  Taken taken;
  taken.step = slice.step;
  if (slice.step > 0) {
    taken.start = bounded(slice.start, 0, 0, size);
    std::int64_t stop = bounded(slice.stop, size, 0, size);
    taken.count = std::max<std::int64_t>(0, (stop - taken.start + slice.step - 1) / slice.step);
  } else {
    taken.start = bounded(slice.start, size - 1, -1, size - 1);
    std::int64_t stop = bounded(slice.stop, -1, -1, size - 1);
    taken.count = std::max<std::int64_t>(0, (taken.start - stop - slice.step - 1) / -slice.step);
  }
  return taken;
}

Taken number_of(std::int64_t place, std::int64_t size, std::size_t dim, const Operand& x) {
  if (place < -size || place >= size)
    throw_user_error("index at {}: index {} is out of bounds for axis {} with size {}", place_of(x), place, dim, size);
  return {.start = place < 0 ? place + size : place, .count = 1, .is_dropped = true};
}

// The places where a mask holds, an array for each of its dimensions. Their number depends on values, so the mask is read here.
std::vector<Array> places_of(const Array& mask, const Shape& shape, std::size_t dim, const Operand& x) {
  if (mask.impl()->is_tracer())
    throw_user_error(
        "index at {}: Array boolean indices must be concrete; got {}. Inside jit the number of elements would depend on values: use "
        "where(mask, x, other), or nonzero(mask, size)",
        place_of(x), mask.type().text());
  const Shape indexed(shape.begin() + std::ptrdiff_t(dim), shape.begin() + std::ptrdiff_t(dim) + mask.ndim());
  if (mask.shape() != indexed)
    throw_user_error("index at {}: boolean index did not match shape of indexed array in index {}: got {}, expected {}", place_of(x), dim,
                     text_of(mask.shape()), text_of(indexed));
  Buffer values = mask.fetch_at(x.where(), "a mask in an index");
  const auto* flags = values.as<unsigned char>();
  std::vector<std::vector<std::int32_t>> places(mask.shape().size());
  for (std::int64_t n = 0; n < mask.size(); ++n) {
    if (!flags[n]) continue;
    std::int64_t rest = n;
    for (std::size_t d = places.size(); d-- > 0; rest /= mask.shape()[d]) places[d].push_back(std::int32_t(rest % mask.shape()[d]));
  }
  std::vector<Array> result;
  for (const auto& each : places) result.push_back(array(each));
  return result;
}

Shape broadcast_together(const std::vector<Taken>& dims, const Operand& x) {
  Shape block;
  std::string shapes;
  for (const Taken& taken : dims)
    if (taken.indices) shapes += (shapes.empty() ? "" : ", ") + text_of(taken.indices->shape());
  for (const Taken& taken : dims) {
    if (!taken.indices) continue;
    Shape shape = taken.indices->shape();
    std::size_t rank = std::max(shape.size(), block.size());
    shape.insert(shape.begin(), rank - shape.size(), 1);
    block.insert(block.begin(), rank - block.size(), 1);
    for (std::size_t d = 0; d < rank; ++d) {
      if (block[d] != shape[d] && block[d] != 1 && shape[d] != 1)
        throw_user_error("index at {}: Incompatible shapes for broadcasting: shapes=[{}]", place_of(x), shapes);
      if (block[d] == 1) block[d] = shape[d];
    }
  }
  return block;
}

Plan plan_of(const Operand& x, const std::vector<Index>& indices) {
  if (!x.is_array()) throw_user_error("index at {}: a number has no dimensions to index", place_of(x));
  const Shape& shape = x.array().shape();
  std::size_t named = 0, ellipses = 0;
  for (const Index& each : indices) named += dimensions_of(each);
  if (named > shape.size())
    throw_user_error("index at {}: Too many indices: array is {}-dimensional, but {} were indexed", place_of(x), shape.size(), named);
  bool has_arrays = std::any_of(indices.begin(), indices.end(), [](const Index& i) { return std::holds_alternative<Array>(i.value()); });
  Plan plan;
  auto keep = [&](Taken taken) {
    plan.kept.push_back(plan.dims.size());
    plan.dims.push_back(std::move(taken));
  };
  auto keep_whole = [&] { keep({.start = 0, .count = shape[plan.dims.size()]}); };
  // NumPy: arrays and numbers beside each other are replaced where they stand; with something between them, their dimensions come first.
  std::optional<std::size_t> last;
  bool is_together = true;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Index& each = indices[i];
    std::size_t dim = plan.dims.size();
    const auto* place = std::get_if<std::int64_t>(&each.value());
    const auto* given = std::get_if<Array>(&each.value());
    if (given || (place && has_arrays)) {
      if (!last) plan.block_at = plan.kept.size();
      is_together &= !last || *last + 1 == i;
      last = i;
    }
    if (std::holds_alternative<NewAxis>(each.value())) {
      plan.kept.push_back(Plan::kNew);
    } else if (std::holds_alternative<Ellipsis>(each.value())) {
      if (++ellipses > 1) throw_user_error("index at {}: an index can only have a single ellipsis ('...')", place_of(x));
      for (std::size_t n = named; n < shape.size(); ++n) keep_whole();
    } else if (const auto* slice = std::get_if<Slice>(&each.value())) {
      keep(slice_of(*slice, shape[dim], x));
    } else if (place) {
      plan.dims.push_back(number_of(*place, shape[dim], dim, x));
    } else if (given->dtype() == bool_) {
      for (Array& own : places_of(*given, shape, dim, x)) plan.dims.push_back({.indices = std::move(own)});
    } else {
      if (!is_integer(given->dtype()))
        throw_user_error("index at {}: Indexer must have integer or boolean type, got indexer with type {}", place_of(x),
                         name_of(given->dtype()));
      plan.dims.push_back({.indices = *given});
    }
  }
  while (plan.dims.size() < shape.size()) keep_whole();
  if (!is_together) plan.block_at = 0;
  if (has_arrays) plan.block = broadcast_together(plan.dims, x);
  return plan;
}

// Negative places count from the end.
Array wrapped(const Array& indices, std::int64_t size, Where where) {
  Operand places(indices, where);
  return select(less(places, 0), add(places, size), places);
}

// The places in the result of the dimensions of size 1 that newaxis asks for.
std::vector<std::int64_t> added(const Plan& plan) {
  std::vector<std::int64_t> result;
  std::int64_t before = 0;
  for (std::size_t i = 0; i <= plan.kept.size(); ++i) {
    if (i == plan.block_at && plan.block) before += std::int64_t(plan.block->size());
    if (i == plan.kept.size()) break;
    if (plan.kept[i] == Plan::kNew) result.push_back(before);
    ++before;
  }
  return result;
}

// How gather and scatter see an index: each index vector has a number for every dimension of `columns`; what lies between the index
// vectors' own dimensions, `batch`, are windows.
struct Windows {
  Shape result, batch;  // `result`: without new dimensions
  std::vector<std::int64_t> offset, collapsed, map, sizes;
  std::vector<Operand> columns;  // batch + [1], int32
  Array vectors(Where where) const {
    if (columns.size() == 1) return columns[0].array();
    if (!columns.empty()) return concatenate(columns, std::int64_t(batch.size()));
    Shape none = batch;
    none.push_back(0);
    return full(none, Operand(Scalar{std::int64_t(0)}, where), int32);
  }
};

Windows windows_of(const Operand& x, const Plan& plan, bool may_be_parts) {
  const Shape& shape = x.array().shape();
  Where where = x.where();
  Windows windows;
  windows.sizes.assign(shape.size(), 1);
  auto is_window = [&](std::size_t d) {
    const Taken& taken = plan.dims[d];
    return taken.step == 1 && (may_be_parts || taken.count == shape[d]);
  };
  std::size_t block_begin = 0;
  std::vector<std::size_t> at(shape.size());  // of a dimension with a step: its place in `batch`
  for (std::size_t i = 0; i <= plan.kept.size(); ++i) {
    if (i == plan.block_at && plan.block) {
      block_begin = windows.batch.size();
      windows.batch.insert(windows.batch.end(), plan.block->begin(), plan.block->end());
      windows.result.insert(windows.result.end(), plan.block->begin(), plan.block->end());
    }
    if (i == plan.kept.size() || plan.kept[i] == Plan::kNew) continue;
    std::size_t d = plan.kept[i];
    if (is_window(d)) {
      windows.offset.push_back(std::int64_t(windows.result.size()));
      windows.sizes[d] = plan.dims[d].count;
    } else {
      at[d] = windows.batch.size();
      windows.batch.push_back(plan.dims[d].count);
    }
    windows.result.push_back(plan.dims[d].count);
  }
  Shape one = windows.batch;
  one.push_back(1);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const Taken& taken = plan.dims[d];
    bool is_part = !taken.indices && !taken.is_dropped && is_window(d);
    if (is_part && taken.count == shape[d]) continue;
    if (!is_part) windows.collapsed.push_back(std::int64_t(d));
    windows.map.push_back(std::int64_t(d));
    Shape spread(windows.batch.size(), 1);
    Array places;
    if (taken.indices) {
      places = wrapped(*taken.indices, shape[d], where);
      std::size_t first = block_begin + plan.block->size() - places.shape().size();
      for (std::size_t i = 0; i < places.shape().size(); ++i) spread[first + i] = places.shape()[i];
    } else if (is_part || taken.is_dropped) {
      places = full({}, Operand(Scalar{taken.start}, where), int32);
    } else {
      spread[at[d]] = taken.count;
      Array counted = apply("iota", {}, {{"shape", Shape{taken.count}}, {"dtype", int32}}, where).at(0);
      places = add(Operand(multiply(Operand(counted, where), taken.step), where), taken.start);
    }
    places = broadcast_to(Operand(reshape(Operand(places, where), spread), where), windows.batch);
    windows.columns.emplace_back(astype(Operand(reshape(Operand(places, where), one), where), int32), where);
  }
  return windows;
}

// Only numbers and slices, by slice, reverse and squeeze.
Array sliced(const Operand& x, const Plan& plan) {
  Where where = x.where();
  Shape start, limit, stride;
  std::vector<std::int64_t> reversed, dropped;
  bool is_all = true;
  for (std::size_t d = 0; d < plan.dims.size(); ++d) {
    const Taken& taken = plan.dims[d];
    std::int64_t step = std::abs(taken.step), span = taken.count == 0 ? 0 : (taken.count - 1) * step + 1;
    std::int64_t first = taken.step < 0 && taken.count > 0 ? taken.start - span + 1 : std::max<std::int64_t>(taken.start, 0);
    start.push_back(first);
    limit.push_back(first + span);
    stride.push_back(step);
    is_all &= start.back() == 0 && limit.back() == x.array().shape()[d] && step == 1;
    if (taken.step < 0) reversed.push_back(std::int64_t(d));
    if (taken.is_dropped) dropped.push_back(std::int64_t(d));
  }
  const bool is_dense = std::all_of(stride.begin(), stride.end(), [](std::int64_t each) { return each == 1; });
  Array result = is_all ? x.array() : slice(x, start, limit, is_dense ? Shape{} : stride);
  if (!reversed.empty()) result = flip(Operand(result, where), reversed);
  return dropped.empty() ? result : squeeze(Operand(result, where), dropped);
}

// Scalars that are computed, numbers and slices without steps: a dynamic_slice, as in JAX.
Array dynamically_sliced(const Operand& x, const Plan& plan) {
  Where where = x.where();
  std::vector<Operand> starts;
  Shape sizes;
  std::vector<std::int64_t> dropped;
  for (std::size_t d = 0; d < plan.dims.size(); ++d) {
    const Taken& taken = plan.dims[d];
    if (taken.indices)
      starts.emplace_back(wrapped(*taken.indices, x.array().shape()[d], where), where);
    else
      starts.emplace_back(Scalar{taken.start}, where);
    sizes.push_back(taken.indices ? 1 : taken.count);
    if (taken.indices || taken.is_dropped) dropped.push_back(std::int64_t(d));
  }
  return squeeze(Operand(dynamic_slice(x, starts, sizes), where), dropped);
}

Array gathered(const Operand& x, const Plan& plan, const OutOptions& options) {
  Windows windows = windows_of(x, plan, true);
  Attrs attrs{{"offset_dims", windows.offset},
              {"collapsed_slice_dims", windows.collapsed},
              {"start_index_map", windows.map},
              {"slice_sizes", windows.sizes}};
  return apply_to("gather", {x, Operand(windows.vectors(x.where()), x.where())}, attrs, x.where(), options.out_sharding).at(0);
}

}  // namespace

namespace {

// What is asked of a result, of it without its new dimensions.
OutOptions without(const std::vector<std::int64_t>& added, const OutOptions& options, const Operand& x) {
  if (!options.out_sharding || added.empty()) return options;
  Sharding whole = options.out_sharding->on_mesh_of({x}, x.where());
  Spec spec = whole.spec(int(added.back()) + 1 + x.array().ndim());
  for (std::size_t i = added.size(); i-- > 0;) spec.erase(spec.begin() + std::ptrdiff_t(added[i]));
  while (!spec.empty() && spec.back().empty()) spec.pop_back();
  return {.out_sharding = Sharding(whole.mesh(), std::move(spec))};
}

}  // namespace

Array index(const Operand& x, const std::vector<Index>& indices, const OutOptions& options) {
  Plan plan = plan_of(x, indices);
  bool has_steps = std::any_of(plan.dims.begin(), plan.dims.end(), [](const Taken& taken) { return taken.step != 1; });
  std::vector<std::int64_t> places = added(plan);
  Array result;
  if (plan.block && (!plan.block->empty() || has_steps)) {
    result = gathered(x, plan, without(places, options, x));
  } else {
    result = plan.block ? dynamically_sliced(x, plan) : sliced(x, plan);
  }
  if (!places.empty()) result = expand_dims(Operand(result, x.where()), places);
  return options.out_sharding ? reshard(Operand(result, x.where()), options.out_sharding->on_mesh_of({x}, x.where())) : result;
}

Array Array::operator[](const Index& place) const { return index(Operand(*this, place.line()), {place}); }
Array Array::operator[](std::initializer_list<Index> places) const {
  Operand x = places.size() == 0 ? Operand(*this) : Operand(*this, places.begin()->line());
  return index(x, places);
}
At Array::at(const Index& place) const { return {Operand(*this, place.line()), {place}}; }
At Array::at(std::initializer_list<Index> places) const {
  return {places.size() == 0 ? Operand(*this) : Operand(*this, places.begin()->line()), places};
}

At at(const Operand& x, const std::vector<Index>& indices) { return {x, indices}; }

// One scatter: numbers, slices that leave something out and arrays of integers give index vectors, whole dimensions are windows.
Array At::update(const Operand& values, std::string_view scatter, const OutOptions& options) const {
  Plan plan = plan_of(x_, indices_);
  Where where = x_.where();
  Windows windows = windows_of(x_, plan, false);
  Shape wanted = windows.result;
  for (std::int64_t place : added(plan)) wanted.insert(wanted.begin() + place, 1);
  Array filled = values.is_array() ? values.array() : full({}, values, x_.array().dtype());
  filled = shardlab::reshape(Operand(broadcast_to(Operand(filled, where), wanted), where), windows.result);
  Attrs attrs{{"update_window_dims", windows.offset}, {"collapsed_slice_dims", windows.collapsed}, {"start_index_map", windows.map}};
  return apply_to(scatter, {x_, Operand(windows.vectors(where), where), Operand(filled, where)}, attrs, where, options.out_sharding).at(0);
}

}  // namespace shardlab
