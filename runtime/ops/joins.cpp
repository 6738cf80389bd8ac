// stack, hstack, vstack, dstack, column_stack, split, array_split, tile, repeat, as jax.numpy lowers them.
#include <algorithm>

#include "runtime/ops/moves.h"

namespace shardlab::ops {
namespace {

Values promoted(GraphBuilder& b, Args args, const Attrs& attrs) {
  DType dtype = attrs.has("dtype") ? attrs.dtype("dtype") : promoted_dtype(b, args);
  Values values;
  for (const Arg& arg : args) values.push_back(value_of(b, arg, dtype));
  return values;
}

// Each with a new dimension of size 1, joined along it.
Values expand_stack(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Values parts = promoted(b, args, attrs);
  Shape shape = b.shape(parts[0]);
  int axis = normalized_axis(op.name, attrs.integer("axis", 0), int(shape.size()) + 1);
  for (ValueId& part : parts) {
    if (b.shape(part) != shape)
      throw_user_error("{}: All input arrays must have the same shape. Got {}, {}.", op.name, text_of(shape), text_of(b.shape(part)));
    Shape longer = shape;
    longer.insert(longer.begin() + axis, 1);
    part = reshaped(b, part, longer);
  }
  return {joined(b, parts, axis)};
}

// With concatenate's errors.
Values joined_as(GraphBuilder& b, const Values& parts, int axis) {
  std::vector<Arg> args(parts.begin(), parts.end());
  return b.call(kConcatenate, args, Attrs{{"axis", std::int64_t(axis)}}, Where{});
}

Values expand_hstack(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  Values parts = promoted(b, args, attrs);
  for (ValueId& part : parts) part = with_rank(b, part, 1);
  return joined_as(b, parts, b.type(parts[0]).rank() == 1 ? 0 : 1);
}
Values expand_vstack(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  Values parts = promoted(b, args, attrs);
  for (ValueId& part : parts) part = with_rank(b, part, 2);
  return joined_as(b, parts, 0);
}
Values expand_dstack(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  Values parts = promoted(b, args, attrs);
  for (ValueId& part : parts) {
    part = with_rank(b, part, 2);
    if (b.type(part).rank() == 2) part = reshaped(b, part, {b.shape(part)[0], b.shape(part)[1], 1});
  }
  return joined_as(b, parts, 2);
}
Values expand_column_stack(GraphBuilder& b, const OpDef&, Args args, const Attrs& attrs) {
  Values parts = promoted(b, args, attrs);
  for (ValueId& part : parts)
    if (b.type(part).rank() < 2) part = reshaped(b, part, {b.type(part).elements(), 1});
  return joined_as(b, parts, 1);
}

// The places where parts begin and the last ends.
std::vector<std::int64_t> places_of(const OpDef& op, const Attrs& attrs, std::int64_t size, bool may_be_uneven) {
  std::vector<std::int64_t> places{0};
  // numpy's one name for both: a number is sections, a list is indices.
  const AttrValue* either = attrs.find("indices_or_sections");
  const bool is_number = either != nullptr && std::holds_alternative<std::int64_t>(*either);
  if (attrs.has("indices") || (either != nullptr && !is_number)) {
    for (std::int64_t place : integer_list_of(attrs, either != nullptr ? "indices_or_sections" : "indices")) {
      if (place < 0) place += size;
      places.push_back(std::clamp<std::int64_t>(place, places.back(), size));
    }
    places.push_back(size);
    return places;
  }
  std::int64_t sections = attrs.integer(is_number ? "indices_or_sections" : "sections", 0);
  constexpr std::int64_t kSectionsMax = 1 << 16;
  if (sections < 1 || sections > kSectionsMax)
    throw_user_error("{}: number of sections must be larger than 0 (and at most {}), got {}; or give 'indices'", op.name, kSectionsMax,
                     sections);
  if (size % sections != 0 && !may_be_uneven)
    throw_user_error("{}: array split does not result in an equal division: rest is {}, of size {} in {}; use array_split", op.name,
                     size % sections, size, sections);
  for (std::int64_t i = 0; i < sections; ++i) places.push_back(places.back() + size / sections + (i < size % sections));
  return places;
}

template <bool kMayBeUneven>
Values expand_split(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  int dim = normalized_axis(op.name, attrs.integer("axis", 0), b.type(x).rank());
  std::vector<std::int64_t> places = places_of(op, attrs, b.shape(x)[std::size_t(dim)], kMayBeUneven);
  Values parts;
  for (std::size_t i = 0; i + 1 < places.size(); ++i) parts.push_back(slice_in_dim(b, x, dim, {places[i], places[i + 1]}));
  return parts;
}

Values expand_tile(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  std::vector<std::int64_t> reps = required_list(op, attrs, "reps");
  check_shape(op.name, reps);
  x = with_rank(b, x, int(reps.size()));
  Shape shape = b.shape(x), spread, result;
  reps.insert(reps.begin(), shape.size() - reps.size(), 1);
  std::vector<std::int64_t> dims;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    spread.push_back(reps[d]);
    dims.push_back(std::int64_t(spread.size()));
    spread.push_back(shape[d]);
  }
  check_shape(op.name, spread);
  for (std::size_t d = 0; d < shape.size(); ++d) result.push_back(reps[d] * shape[d]);
  if (result == shape) return {x};
  return {reshaped(b, b.emit1(kBroadcastInDim, {x}, Attrs{{"shape", spread}, {"dims", dims}}), result)};
}

// Each element as often as `repeats` says: one number, or one for each element of the dimension.
Values expand_repeat(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  std::vector<std::int64_t> repeats = required_list(op, attrs, "repeats");
  check_shape(op.name, repeats);
  if (!attrs.has("axis")) x = reshaped(b, x, {b.type(x).elements()});
  int dim = normalized_axis(op.name, attrs.integer("axis", 0), b.type(x).rank());
  if (repeats.size() == 1) return {repeated(b, x, dim, repeats[0])};
  std::int64_t size = b.shape(x)[std::size_t(dim)];
  if (std::int64_t(repeats.size()) != size)
    throw_user_error("{}: repeats must be one number or {}, one for each element of dimension {}; got {}", op.name, size, dim,
                     repeats.size());
  Values parts;
  for (std::int64_t i = 0; i < size; ++i)
    if (repeats[std::size_t(i)] > 0) parts.push_back(repeated(b, slice_in_dim(b, x, dim, {i, i + 1}), dim, repeats[std::size_t(i)]));
  if (parts.empty()) return {slice_in_dim(b, x, dim, {0, 0})};
  return {joined(b, parts, dim)};
}

constexpr AttrDef kDType = {"dtype", AttrDef::Kind::kDType, false, "the dtype of the result; what they promote to by default"};
constexpr AttrDef kStackAttrs[] = {{"axis", AttrDef::Kind::kInteger, false, "where in the result the new dimension is; 0 by default"},
                                   kDType};
constexpr AttrDef kJoinAttrs[] = {kDType};
constexpr AttrDef kSplitAttrs[] = {
    {"sections", AttrDef::Kind::kInteger, false, "into how many parts"},
    {"indices", AttrDef::Kind::kScalarOrIntegers, false, "or the places where to cut"},
    {"indices_or_sections", AttrDef::Kind::kScalarOrIntegers, false, "the one, a number, or the other, a list"},
    {"axis", AttrDef::Kind::kInteger, false, "along which; 0 by default"}};
constexpr AttrDef kTileAttrs[] = {{"reps", AttrDef::Kind::kScalarOrIntegers, true, "how often along each of the last dimensions"}};
constexpr AttrDef kRepeatAttrs[] = {{"repeats", AttrDef::Kind::kScalarOrIntegers, true, "how often, one number or one for each element"},
                                    {"axis", AttrDef::Kind::kInteger, false, "along which; over all elements by default"}};

constexpr OpDef joining(std::string_view name, std::string_view doc, Values (*expand)(GraphBuilder&, const OpDef&, Args, const Attrs&),
                        std::span<const AttrDef> attrs = {}) {
  return {.name = name, .doc = doc, .operands_min = 1, .operands_max = -1, .attrs = attrs, .expand = expand};
}

}  // namespace

extern const OpDef kStack, kHstack, kVstack, kDstack, kColumnStack, kSplit, kArraySplit, kTile, kRepeat;

const OpDef kStack = joining("stack", "Arrays of one shape, joined along a new dimension.", expand_stack, kStackAttrs);
const OpDef kHstack =
    joining("hstack", "Arrays joined along their second dimension, vectors along their only one.", expand_hstack, kJoinAttrs);
const OpDef kVstack = joining("vstack", "Arrays joined along their first dimension, vectors as rows.", expand_vstack, kJoinAttrs);
const OpDef kDstack = joining("dstack", "Arrays joined along their third dimension.", expand_dstack, kJoinAttrs);
const OpDef kColumnStack = joining("column_stack", "Arrays joined along their second dimension, vectors as columns.", expand_column_stack);
const OpDef kSplit = {.name = "split",
                      .doc = "The parts of an array along a dimension, each a result: in equal sections, or cut at indices.",
                      .attrs = kSplitAttrs,
                      .expand = expand_split<false>};
const OpDef kArraySplit = {.name = "array_split",
                           .doc = "As split; where sections cannot be equal the first ones are longer by 1.",
                           .attrs = kSplitAttrs,
                           .expand = expand_split<true>};
const OpDef kTile = {.name = "tile", .doc = "The array repeated as a whole along dimensions.", .attrs = kTileAttrs, .expand = expand_tile};
const OpDef kRepeat = {.name = "repeat",
                       .doc = "Each element repeated, one after another.",
                       .attrs = kRepeatAttrs,
                       .weakness = Weakness::kOfFirst,
                       .expand = expand_repeat};

}  // namespace shardlab::ops
