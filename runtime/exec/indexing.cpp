#include "runtime/exec/indexing.h"

#include <algorithm>

#include "runtime/exec/array_ops.h"

namespace shardlab {
namespace {

// One dimension of the array, and what is taken of it.
struct Taken {
  std::int64_t start = 0, count = 0, step = 1;
  bool is_dropped = false;       // a number
  std::optional<Array> indices;  // an array of integers instead
};
// The index written out: a Taken for each dimension, and where new dimensions are.
struct Plan {
  std::vector<Taken> dims;
  std::vector<std::int64_t> added;  // places of new dimensions in the result
};

bool takes_dimension(const Index& index) {
  return !std::holds_alternative<NewAxis>(index.value()) && !std::holds_alternative<Ellipsis>(index.value());
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

Plan plan_of(const Operand& x, const std::vector<Index>& indices) {
  if (!x.is_array()) throw_user_error("index at {}: a number has no dimensions to index", place_of(x));
  const Shape& shape = x.array().shape();
  std::size_t named = std::size_t(std::count_if(indices.begin(), indices.end(), takes_dimension)), ellipses = 0, arrays = 0;
  if (named > shape.size())
    throw_user_error("index at {}: Too many indices: array is {}-dimensional, but {} were indexed", place_of(x), shape.size(), named);
  Plan plan;
  std::int64_t in_result = 0;
  auto take = [&](Taken taken) {
    if (taken.indices)
      in_result += taken.indices->ndim();
    else
      in_result += !taken.is_dropped;
    plan.dims.push_back(std::move(taken));
  };
  auto take_whole = [&] { take({.start = 0, .count = shape[plan.dims.size()]}); };
  for (const Index& each : indices) {
    std::size_t dim = plan.dims.size();
    if (std::holds_alternative<NewAxis>(each.value())) {
      plan.added.push_back(in_result++);
    } else if (std::holds_alternative<Ellipsis>(each.value())) {
      if (++ellipses > 1) throw_user_error("index at {}: an index can only have a single ellipsis ('...')", place_of(x));
      for (std::size_t i = named; i < shape.size(); ++i) take_whole();
    } else if (const auto* slice = std::get_if<Slice>(&each.value())) {
      take(slice_of(*slice, shape[dim], x));
    } else if (const auto* place = std::get_if<std::int64_t>(&each.value())) {
      take(number_of(*place, shape[dim], dim, x));
    } else {
      if (++arrays > 1)
        throw_user_error("index at {}: {} arrays of integers in one index, wanted at most one; index one after the other", place_of(x),
                         arrays);
      take({.indices = std::get<Array>(each.value())});
    }
  }
  while (plan.dims.size() < shape.size()) take_whole();
  return plan;
}

// Only what numbers and slices take, all dimensions kept, in ascending order.
Array sliced(const Operand& x, const Plan& plan) {
  Shape start, limit, stride;
  bool is_all = true;
  for (std::size_t d = 0; d < plan.dims.size(); ++d) {
    const Taken& taken = plan.dims[d];
    std::int64_t step = std::abs(taken.step), span = taken.count == 0 ? 0 : (taken.count - 1) * step + 1;
    std::int64_t first = taken.step < 0 && taken.count > 0 ? taken.start - span + 1 : std::max<std::int64_t>(taken.start, 0);
    bool is_whole = taken.indices.has_value();
    start.push_back(is_whole ? 0 : first);
    limit.push_back(is_whole ? x.array().shape()[d] : first + span);
    stride.push_back(is_whole ? 1 : step);
    is_all &= start.back() == 0 && limit.back() == x.array().shape()[d] && step == 1;
  }
  if (is_all) return x.array();
  return slice(x, start, limit, stride);
}

// Negative places count from the end.
Array wrapped(const Array& indices, std::int64_t size, Where where) {
  Operand places(indices, where);
  return select(less(places, 0), add(places, size), places);
}

}  // namespace

Array index(const Operand& x, const std::vector<Index>& indices) {
  Plan plan = plan_of(x, indices);
  Where where = x.where();
  Array result = sliced(x, plan);
  std::vector<std::int64_t> reversed, dropped;
  for (std::size_t d = 0; d < plan.dims.size(); ++d)
    if (!plan.dims[d].indices && plan.dims[d].step < 0) reversed.push_back(std::int64_t(d));
  if (!reversed.empty()) result = flip(Operand(result, where), reversed);
  // The array's dimensions take the place of the one that it indexes; from the last dimension on, so that earlier places stay.
  for (std::size_t d = plan.dims.size(); d-- > 0;) {
    const Taken& taken = plan.dims[d];
    if (taken.indices) {
      Array places = wrapped(*taken.indices, x.array().shape()[d], where);
      result = take(Operand(result, where), Operand(places, where), std::int64_t(d), "clip");
    } else if (taken.is_dropped) {
      result = squeeze(Operand(result, where), std::int64_t(d));
    }
  }
  if (!plan.added.empty()) result = expand_dims(Operand(result, where), plan.added);
  return result;
}

Array Array::operator[](const Index& place) const { return index(Operand(*this, place.line()), {place}); }

At at(const Operand& x, const std::vector<Index>& indices) { return {x, indices}; }

// One scatter: numbers, slices with steps and the array of integers give index vectors, whole dimensions are windows.
Array At::update(const Operand& values, std::string_view scatter) const {
  Plan plan = plan_of(x_, indices_);
  Where where = x_.where();
  const Shape& shape = x_.array().shape();
  for (const Taken& taken : plan.dims)
    if (taken.step < 0) throw_user_error("at at {}: slices must have positive steps; flip the values instead", place_of(x_));
  // The shape of x[indices] without new dimensions, and of the index vectors: a dimension for each indexed one of the operand.
  Shape result, batch;
  std::vector<std::int64_t> collapsed, map, window;
  std::vector<std::pair<std::size_t, std::int64_t>> vectors;  // an indexed dimension and where its places begin in `batch`
  for (std::size_t d = 0; d < plan.dims.size(); ++d) {
    const Taken& taken = plan.dims[d];
    if (!taken.indices && !taken.is_dropped && taken.count == shape[d]) {
      window.push_back(std::int64_t(result.size()));
      result.push_back(shape[d]);
      continue;
    }
    collapsed.push_back(std::int64_t(d));
    vectors.emplace_back(d, std::int64_t(batch.size()));
    Shape own = taken.indices ? taken.indices->shape() : taken.is_dropped ? Shape{} : Shape{taken.count};
    batch.insert(batch.end(), own.begin(), own.end());
    result.insert(result.end(), own.begin(), own.end());
  }
  map = collapsed;
  std::vector<Operand> columns;
  Shape one = batch;
  one.push_back(1);
  for (auto [d, first] : vectors) {
    const Taken& taken = plan.dims[d];
    Shape spread(batch.size(), 1);
    Array places;
    if (taken.indices) {
      places = wrapped(*taken.indices, shape[d], where);
      for (int i = 0; i < places.ndim(); ++i) spread[std::size_t(first + i)] = places.shape()[std::size_t(i)];
    } else {
      if (!taken.is_dropped) spread[std::size_t(first)] = taken.count;
      places = shardlab::multiply(Operand(iota(int32, {taken.count}), where), taken.step);
      places = shardlab::add(Operand(places, where), taken.start);
    }
    places = broadcast_to(Operand(shardlab::reshape(Operand(places, where), spread), where), batch);
    columns.emplace_back(astype(Operand(shardlab::reshape(Operand(places, where), one), where), int32), where);
  }
  Shape wanted = result;
  for (std::int64_t place : plan.added) wanted.insert(wanted.begin() + place, 1);
  Array filled = values.is_array() ? values.array() : full({}, values, x_.array().dtype());
  filled = shardlab::reshape(Operand(broadcast_to(Operand(filled, where), wanted), where), result);
  Array vectors_of_places;
  if (columns.empty()) {
    Shape none = batch;
    none.push_back(0);
    vectors_of_places = zeros(none, int32);
  } else {
    vectors_of_places = columns.size() == 1 ? columns[0].array() : concatenate(columns, std::int64_t(batch.size()));
  }
  return apply(scatter, {x_, Operand(vectors_of_places, where), Operand(filled, where)},
               {{"update_window_dims", window}, {"collapsed_slice_dims", collapsed}, {"start_index_map", map}}, where)
      .at(0);
}

}  // namespace shardlab
