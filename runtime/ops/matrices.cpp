// identity, tri, tril, triu, diag, diagonal, trace, outer, inner, vdot, tensordot, kron, meshgrid, as jax.numpy lowers them.
#include <algorithm>

#include "runtime/ops/compose.h"
#include "runtime/ops/gather_dims.h"
#include "runtime/ops/moves.h"

namespace shardlab::ops {
namespace {

ValueId index_along(GraphBuilder& b, const Shape& shape, std::int64_t dimension) {
  return b.emit1(kIota, {}, Attrs{{"dtype", DType::kInt32}, {"shape", shape}, {"dimension", dimension}});
}

// Where row + k (kRelation) column: on and below the k-th diagonal by >=, on it by ==.
ValueId diagonal_mask(GraphBuilder& b, const OpDef& relation, std::int64_t rows, std::int64_t columns, std::int64_t k) {
  Shape shape{rows, columns};
  check_shape("tri", shape);
  ValueId shifted = binary(b, kAdd, index_along(b, shape, 0), double(std::clamp<std::int64_t>(k, -rows - 1, columns + 1)));
  return b.emit1(relation, {shifted, index_along(b, shape, 1)});
}

std::int64_t count_in(const OpDef& op, const Arg& arg) {
  const Scalar* scalar = std::get_if<Scalar>(&arg);
  const std::int64_t* value = scalar ? std::get_if<std::int64_t>(&scalar->value) : nullptr;
  if (value == nullptr || *value < 0) throw_user_error("{}: a size must be a whole number, 0 or more", op.name);
  return *value;
}

template <const OpDef* kRelation>
Values expand_mask(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::int64_t rows = count_in(op, args[0]), columns = args.size() > 1 ? count_in(op, args[1]) : rows;
  ValueId mask = diagonal_mask(b, *kRelation, rows, columns, attrs.integer("k", 0));
  return {converted(b, mask, attrs.has("dtype") ? attrs.dtype("dtype") : DType::kFloat32)};
}

template <bool kLower>
Values expand_triangle(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  TensorType type = b.type(x);
  if (type.rank() < 2) throw_user_error("Argument to jax.numpy.{} must be at least 2D, got {}", op.name, type.text());
  std::int64_t rows = type.shape[type.shape.size() - 2], columns = type.shape.back(), k = attrs.integer("k", 0);
  ValueId mask = broadcast_to(b, diagonal_mask(b, kGreaterEqual, rows, columns, kLower ? k : k - 1), type.shape);
  ValueId zeros = filled(b, type, 0.0);
  return {kLower ? b.emit1(kSelect, {mask, x, zeros}) : b.emit1(kSelect, {mask, zeros, x})};
}

// The diagonal of two dimensions as the last: its places gathered, as jax.numpy lowers it, so that a device gives what it holds of it.
ValueId diagonal_of(GraphBuilder& b, ValueId x, std::int64_t k, int axis1, int axis2) {
  int rank = b.type(x).rank();
  std::vector<int> axes;
  for (int d = 0; d < rank; ++d)
    if (d != axis1 && d != axis2) axes.push_back(d);
  axes.insert(axes.end(), {axis1, axis2});
  x = transposed(b, x, axes);
  Shape sizes = b.shape(x), places, result(sizes.begin(), sizes.end() - 2);
  std::int64_t rows = sizes[sizes.size() - 2], columns = sizes.back();
  k = std::clamp<std::int64_t>(k, -rows, columns);
  std::int64_t count = std::max<std::int64_t>(0, std::min(rows + std::min<std::int64_t>(k, 0), columns - std::max<std::int64_t>(k, 0)));
  result.push_back(count);
  if (count == 0) return filled(b, {b.type(x).dtype, result}, 0.0);
  // Row i of the places is (i + rows above, i + columns before) the diagonal's start.
  places = {count, 2};
  ValueId side = index_along(b, places, 1);
  ValueId shift = k >= 0 ? binary(b, kMul, side, double(k)) : binary(b, kAdd, binary(b, kMul, side, double(k)), double(-k));
  ValueId indices = b.emit1(kAdd, {index_along(b, places, 0), shift});
  sizes[sizes.size() - 2] = sizes.back() = 1;
  GatherDims dims;
  dims.collapsed = dims.index_map = {rank - 2, rank - 1};
  for (int d = 0; d + 2 < rank; ++d) dims.offset.push_back(d);
  Attrs attrs{{"slice_sizes", sizes}};
  dims.set(attrs);
  return b.emit1(kGather, {x, indices}, attrs);
}

// "offset" as numpy calls it here, "k" as elsewhere.
std::int64_t offset_of(const Attrs& attrs) { return attrs.integer("offset", attrs.integer("k", 0)); }

Values expand_diagonal(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  int rank = b.type(x).rank();
  if (rank < 2) throw_user_error("{} requires an array of at least two dimensions, got {}", op.name, b.type(x).text());
  int axis1 = normalized_axis(op.name, attrs.integer("axis1", 0), rank), axis2 = normalized_axis(op.name, attrs.integer("axis2", 1), rank);
  if (axis1 == axis2) throw_user_error("{}: axis1 and axis2 can not be same. axis1={} and axis2={}", op.name, axis1, axis2);
  return {diagonal_of(b, x, offset_of(attrs), axis1, axis2)};
}

// A vector on the diagonal of a matrix, or the diagonal of a matrix.
Values expand_diag(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  TensorType type = b.type(x);
  std::int64_t k = attrs.integer("k", 0);
  if (type.rank() == 2) return {diagonal_of(b, x, k, 0, 1)};
  if (type.rank() != 1) throw_user_error("diag input must be 1d or 2d, got {}", type.text());
  if (k < -kElementsMax || k > kElementsMax) throw_user_error("{}: diagonal {} is beyond any array", op.name, k);
  std::int64_t size = type.shape[0] + std::abs(k);
  check_shape(op.name, {size, size});
  ValueId none = scalar_constant(b, type.dtype, 0.0);
  if (k != 0)
    x = b.emit1(kPad, {x, none},
                Attrs{{"padding", std::vector<std::int64_t>{std::max<std::int64_t>(-k, 0), std::max<std::int64_t>(k, 0), 0}}});
  TensorType square{type.dtype, {size, size}};
  ValueId rows = broadcast_to(b, reshaped(b, x, {size, 1}), square.shape);
  return {b.emit1(kSelect, {diagonal_mask(b, kEqual, size, size, k), rows, filled(b, square, 0.0)})};
}

// As JAX: the diagonal of the last two dimensions masked, then summed.
Values expand_trace(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  int rank = b.type(x).rank();
  if (rank < 2) throw_user_error("{} requires an array of at least two dimensions, got {}", op.name, b.type(x).text());
  int axis1 = normalized_axis(op.name, attrs.integer("axis1", 0), rank), axis2 = normalized_axis(op.name, attrs.integer("axis2", 1), rank);
  if (axis1 == axis2) throw_user_error("axis1 and axis2 can not be same. axis1={} and axis2={}", axis1, axis2);
  std::vector<int> axes;
  for (int d = 0; d < rank; ++d)
    if (d != axis1 && d != axis2) axes.push_back(d);
  axes.insert(axes.end(), {axis1, axis2});
  x = transposed(b, x, axes);
  TensorType type = b.type(x);
  std::int64_t rows = type.shape[type.shape.size() - 2], columns = type.shape.back();
  ValueId mask = broadcast_to(b, diagonal_mask(b, kEqual, rows, columns, offset_of(attrs)), type.shape);
  ValueId kept = b.emit1(kSelect, {mask, x, filled(b, type, 0.0)});
  Attrs of_sum{{"axis", std::vector<std::int64_t>{rank - 2, rank - 1}}};
  if (attrs.has("dtype")) of_sum.set("dtype", attrs.dtype("dtype"));
  return {call("sum", Term(b, kept), of_sum).id()};
}

Values promoted(GraphBuilder& b, Args args) {
  DType dtype = promoted_dtype(b, args);
  return {value_of(b, args[0], dtype), value_of(b, args[1], dtype)};
}

ValueId contracted(GraphBuilder& b, ValueId x, ValueId y, std::vector<std::int64_t> left, const std::vector<std::int64_t>& right) {
  left.insert(left.end(), right.begin(), right.end());
  return b.emit1(kDotGeneral, {x, y}, Attrs{{"contract", left}, {"batch", std::vector<std::int64_t>{}}});
}

Values expand_outer(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  Values xy = promoted(b, args);
  std::int64_t rows = b.type(xy[0]).elements(), columns = b.type(xy[1]).elements();
  ValueId x = reshaped(b, xy[0], {rows, 1}), y = reshaped(b, xy[1], {1, columns});
  return {binary(b, kMul, x, y)};
}

Values expand_inner(GraphBuilder& b, const OpDef&, Args args, const Attrs&) {
  Values xy = promoted(b, args);
  std::int64_t left = b.type(xy[0]).rank(), right = b.type(xy[1]).rank();
  if (left == 0 || right == 0) return {binary(b, kMul, xy[0], xy[1])};
  return {contracted(b, xy[0], xy[1], {left - 1}, {right - 1})};
}

Values expand_vdot(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Values xy = promoted(b, args);
  if (is_complex(b.type(xy[0]).dtype)) xy[0] = b.emit1(kConj, {xy[0]});
  if (b.type(xy[0]).elements() != b.type(xy[1]).elements())
    throw_user_error("{}: both must have the same number of elements, got shapes {} and {}", op.name, text_of(b.shape(xy[0])),
                     text_of(b.shape(xy[1])));
  for (ValueId& value : xy) value = reshaped(b, value, {b.type(value).elements()});
  return {contracted(b, xy[0], xy[1], {0}, {0})};
}

Values expand_tensordot(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  Values xy = promoted(b, args);
  std::int64_t left = b.type(xy[0]).rank(), right = b.type(xy[1]).rank();
  std::vector<std::int64_t> axes = attrs.has("axes") ? integer_list_of(attrs, "axes") : std::vector<std::int64_t>{2};
  if (axes.size() == 1) {
    if (axes[0] < 0 || axes[0] > std::min(left, right))
      throw_user_error("{}: Number of tensordot axes (axes {}) exceeds input ranks ({} and {})", op.name, axes[0], left, right);
    std::vector<std::int64_t> first, second;
    for (std::int64_t i = 0; i < axes[0]; ++i) {
      first.push_back(left - axes[0] + i);
      second.push_back(i);
    }
    return {contracted(b, xy[0], xy[1], first, second)};
  }
  if (axes.size() % 2 != 0) throw_user_error("{}: axes must be one number, or two lists of equal length", op.name);
  std::vector<std::int64_t> first, second;
  for (std::size_t i = 0; i < axes.size() / 2; ++i) {
    first.push_back(normalized_axis(op.name, axes[i], int(left)));
    second.push_back(normalized_axis(op.name, axes[axes.size() / 2 + i], int(right)));
  }
  return {contracted(b, xy[0], xy[1], first, second)};
}

Values expand_kron(GraphBuilder& b, const OpDef& op, Args args, const Attrs&) {
  Values xy = promoted(b, args);
  int rank = std::max(b.type(xy[0]).rank(), b.type(xy[1]).rank());
  for (ValueId& value : xy) value = with_rank(b, value, rank);
  Shape left = b.shape(xy[0]), right = b.shape(xy[1]), x, y, result;
  for (std::size_t d = 0; d < left.size(); ++d) {
    x.insert(x.end(), {left[d], 1});
    y.insert(y.end(), {1, right[d]});
    if (right[d] > 0 && left[d] > kElementsMax / right[d]) check_shape(op.name, {left[d], right[d]});
    result.push_back(left[d] * right[d]);
  }
  check_shape(op.name, result);
  const ValueId left_blocks = reshaped(b, xy[0], x), right_blocks = reshaped(b, xy[1], y);  // in this order, which cotangents take, too
  return {reshaped(b, binary(b, kMul, left_blocks, right_blocks), result)};
}

// Each vector along a dimension of its own; "xy" exchanges the first two.
Values expand_meshgrid(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  std::string indexing = attrs.has("indexing") ? attrs.string("indexing") : "xy";
  if (indexing != "xy" && indexing != "ij") throw_user_error("{}: Valid values for indexing are 'xy' and 'ij', got {}", op.name, indexing);
  bool sparse = attrs.flag("sparse");
  Values vectors;
  for (const Arg& arg : args) {
    vectors.push_back(value_of(b, arg));
    if (b.type(vectors.back()).rank() != 1)
      throw_user_error("Arguments to jax.numpy.meshgrid must be 1D, got shapes [{}]", text_of(b.shape(vectors.back())));
  }
  bool exchanges = indexing == "xy" && vectors.size() > 1;
  if (exchanges) std::swap(vectors[0], vectors[1]);
  Shape shape;
  for (ValueId vector : vectors) shape.push_back(b.shape(vector)[0]);
  check_shape(op.name, shape);
  Values results;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    Shape own(shape.size(), 1);
    own[i] = shape[i];
    results.push_back(b.emit1(kBroadcastInDim, {vectors[i]},
                              Attrs{{"shape", sparse ? own : shape}, {"dims", std::vector<std::int64_t>{std::int64_t(i)}}}));
  }
  if (exchanges) std::swap(results[0], results[1]);
  return results;
}

constexpr AttrDef kK = {"k", AttrDef::Kind::kInteger, false, "which diagonal: 0 the main one, above it positive, below negative"};
constexpr AttrDef kMaskAttrs[] = {kK, {"dtype", AttrDef::Kind::kDType, false, "float32 by default"}};
constexpr AttrDef kKAttrs[] = {kK};
constexpr AttrDef kDiagonalAttrs[] = {kK,
                                      {"offset", AttrDef::Kind::kInteger, false, "the same"},
                                      {"axis1", AttrDef::Kind::kInteger, false, "the rows' dimension; 0 by default"},
                                      {"axis2", AttrDef::Kind::kInteger, false, "the columns' dimension; 1 by default"}};
constexpr AttrDef kTraceAttrs[] = {kK,
                                   {"offset", AttrDef::Kind::kInteger, false, "the same"},
                                   {"axis1", AttrDef::Kind::kInteger, false, "the rows' dimension; 0 by default"},
                                   {"axis2", AttrDef::Kind::kInteger, false, "the columns' dimension; 1 by default"},
                                   {"dtype", AttrDef::Kind::kDType, false, "the dtype to compute in"}};
constexpr AttrDef kTensordotAttrs[] = {{"axes", AttrDef::Kind::kScalarOrIntegers, false,
                                        "how many of the last and first dimensions are contracted, 2 by default; or those of the "
                                        "first operand followed by those of the second"}};
constexpr AttrDef kMeshgridAttrs[] = {{"indexing", AttrDef::Kind::kString, false, "\"xy\" (default) or \"ij\""},
                                      {"sparse", AttrDef::Kind::kFlag, false, "whether other dimensions have size 1"}};

}  // namespace

extern const OpDef kIdentity, kTri, kTril, kTriu, kDiag, kDiagonal, kTrace, kOuter, kInner, kVdot, kTensordot, kKron, kMeshgrid;

const OpDef kIdentity = composite_of({"identity", "The identity matrix: args [n].", expand_mask<&kEqual>, 1, 1, kMaskAttrs});
const OpDef kTri =
    composite_of({"tri", "Ones on and below a diagonal: args [n] or [n, m].", expand_mask<&kGreaterEqual>, 1, 2, kMaskAttrs});
const OpDef kTril =
    compiled_alone(weak_composite_of({"tril", "The matrix on and below a diagonal, zeros above.", expand_triangle<true>, 1, 1, kKAttrs}));
const OpDef kTriu =
    compiled_alone(weak_composite_of({"triu", "The matrix on and above a diagonal, zeros below.", expand_triangle<false>, 1, 1, kKAttrs}));
const OpDef kDiag = compiled_alone(
    weak_composite_of({"diag", "A matrix with a vector on a diagonal; of a matrix its diagonal.", expand_diag, 1, 1, kKAttrs}));
const OpDef kDiagonal =
    compiled_alone(composite_of({"diagonal", "The diagonal of two dimensions, as the last.", expand_diagonal, 1, 1, kDiagonalAttrs}));
const OpDef kTrace = compiled_alone(composite_of({"trace", "The sum of a diagonal.", expand_trace, 1, 1, kTraceAttrs}));
const OpDef kOuter = weak_composite_of({"outer", "All products of elements of one and the other, as a matrix.", expand_outer, 2, 2});
const OpDef kInner = weak_composite_of({"inner", "Products summed over the last dimension of both.", expand_inner, 2, 2});
const OpDef kVdot = weak_composite_of({"vdot", "The sum of conj(x) y over all elements.", expand_vdot, 2, 2});
const OpDef kTensordot =
    weak_composite_of({"tensordot", "Products summed over chosen dimensions of both.", expand_tensordot, 2, 2, kTensordotAttrs});
const OpDef kKron = compiled_alone(weak_composite_of({"kron", "The Kronecker product.", expand_kron, 2, 2}));
const OpDef kMeshgrid =
    with_weakness(Weakness::kOfEach,
                  composite_of({"meshgrid", "Vectors as coordinates of a grid, each a result.", expand_meshgrid, 1, -1, kMeshgridAttrs}));

}  // namespace shardlab::ops
