// dot_general: sums of products over contracting dimensions, for each index of the batch dimensions.
#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "runtime/ops/derive.h"
#include "runtime/ops/gemm.h"
#include "runtime/ops/strided.h"

namespace shardlab::ops {
namespace {

// Which dimensions of the two operands are what.
struct DotDims {
  std::vector<int> lhs_batch, rhs_batch, lhs_contract, rhs_contract, lhs_free, rhs_free;
};

// Halves of [lhs…, rhs…].
void split(const std::vector<std::int64_t>& both, std::vector<int>& lhs, std::vector<int>& rhs) {
  std::size_t half = both.size() / 2;
  lhs.assign(both.begin(), both.begin() + std::ptrdiff_t(half));
  rhs.assign(both.begin() + std::ptrdiff_t(half), both.end());
}

std::vector<int> others(int rank, const std::vector<int>& batch, const std::vector<int>& contract) {
  std::vector<int> dims;
  for (int d = 0; d < rank; ++d)
    if (std::find(batch.begin(), batch.end(), d) == batch.end() && std::find(contract.begin(), contract.end(), d) == contract.end())
      dims.push_back(d);
  return dims;
}

DotDims dims_of(const Attrs& attrs, int lhs_rank, int rhs_rank) {
  DotDims dims;
  split(attrs.integers("batch"), dims.lhs_batch, dims.rhs_batch);
  split(attrs.integers("contract"), dims.lhs_contract, dims.rhs_contract);
  dims.lhs_free = others(lhs_rank, dims.lhs_batch, dims.lhs_contract);
  dims.rhs_free = others(rhs_rank, dims.rhs_batch, dims.rhs_contract);
  return dims;
}

Shape sizes_of(const Shape& shape, const std::vector<int>& dims) {
  Shape sizes;
  for (int d : dims) sizes.push_back(shape[std::size_t(d)]);
  return sizes;
}

void check_dims(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  for (std::string_view name : {"contract", "batch"}) {
    const auto& both = required_integers(op, attrs, name);
    if (both.size() % 2 != 0)
      throw_user_error("{}: '{}' needs as many dimensions of the left as of the right operand, got {}", op.name, name, text_of(both));
  }
  std::vector<int> sides[2];
  std::vector<int> left, right;
  for (std::string_view name : {"batch", "contract"}) {
    split(attrs.integers(name), left, right);
    sides[0].insert(sides[0].end(), left.begin(), left.end());
    sides[1].insert(sides[1].end(), right.begin(), right.end());
  }
  for (std::size_t side : {0, 1})
    for (std::size_t i = 0; i < sides[side].size(); ++i) {
      int d = sides[side][i];
      bool repeats = std::find(sides[side].begin(), sides[side].begin() + std::ptrdiff_t(i), d) != sides[side].begin() + std::ptrdiff_t(i);
      if (d < 0 || d >= types[side].rank() || repeats)
        throw_user_error("{}: dimension {} of the {} operand, of shape {}, is {}; name each of its dimensions at most once", op.name, d,
                         side == 0 ? "left" : "right", text_of(types[side].shape), repeats ? "named twice" : "out of range");
    }
}

std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  check_dims(op, types, attrs);
  if (types[0].dtype != types[1].dtype)
    throw_user_error("{} requires arguments to have the same dtypes, got {}, {}; convert one of them", op.name, name_of(types[0].dtype),
                     name_of(types[1].dtype));
  DotDims dims = dims_of(attrs, types[0].rank(), types[1].rank());
  Shape left = sizes_of(types[0].shape, dims.lhs_batch), right = sizes_of(types[1].shape, dims.rhs_batch);
  if (left != right)
    throw_user_error("{} requires lhs batch dimensions and rhs batch dimensions to have the same shape, got {} and {}", op.name,
                     text_of(left), text_of(right));
  Shape shape = left;
  left = sizes_of(types[0].shape, dims.lhs_contract);
  right = sizes_of(types[1].shape, dims.rhs_contract);
  if (left != right)
    throw_user_error("{} requires contracting dimensions to have the same shape, got {} and {}; the operands are {} and {}", op.name,
                     text_of(left), text_of(right), types[0].text(), types[1].text());
  for (std::int64_t size : sizes_of(types[0].shape, dims.lhs_free)) shape.push_back(size);
  for (std::int64_t size : sizes_of(types[1].shape, dims.rhs_free)) shape.push_back(size);
  check_shape(op.name, shape);
  return {{types[0].dtype, shape}};
}

FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  const Shape &left = operands[0].shape, &right = operands[1].shape;
  DotDims dims = dims_of(attrs, operands[0].rank(), operands[1].rank());
  int next = 0;
  for (std::size_t i = 0; i < dims.lhs_batch.size(); ++i)
    rule.add(left[std::size_t(dims.lhs_batch[i])], {dims.lhs_batch[i], dims.rhs_batch[i]}, {next++});
  for (int d : dims.lhs_free) rule.add(left[std::size_t(d)], {d, -1}, {next++});
  for (int d : dims.rhs_free) rule.add(right[std::size_t(d)], {-1, d}, {next++});
  for (std::size_t i = 0; i < dims.lhs_contract.size(); ++i)
    rule.add(left[std::size_t(dims.lhs_contract[i])], {dims.lhs_contract[i], dims.rhs_contract[i]}, {-1}, FactorKind::kReduce);
  return rule;
}

// The stride that walks through some dimensions as through one; nothing where there is none.
std::optional<std::int64_t> common_stride(const Shape& shape, const Shape& strides, const std::vector<int>& dims) {
  std::optional<std::int64_t> common;
  std::int64_t next = 0;  // stride that the next dimension outwards must have
  for (std::size_t i = dims.size(); i-- > 0;) {
    const auto d = std::size_t(dims[i]);
    if (shape[d] == 1) continue;
    if (common && strides[d] != next) return std::nullopt;
    if (!common) common = strides[d];
    next = strides[d] * shape[d];
  }
  return common.value_or(1);
}

// An operand as a batch of matrices.
struct Matrices {
  GemmOperand first;
  Shape batch, batch_strides;
  std::unique_ptr<std::byte[]> storage;  // of a copy, where rows or columns lie on no stride
};

Matrices matrices_of(const ConstView& operand, const std::vector<int>& batch, const std::vector<int>& rows,
                     const std::vector<int>& columns) {
  const Shape& shape = operand.type.shape;
  Shape strides = strides_of(shape);
  Matrices result;
  result.batch = sizes_of(shape, batch);
  auto row_stride = common_stride(shape, strides, rows), column_stride = common_stride(shape, strides, columns);
  const std::byte* data = operand.data;
  if (!row_stride || !column_stride) {
    std::vector<int> order = batch;
    order.insert(order.end(), rows.begin(), rows.end());
    order.insert(order.end(), columns.begin(), columns.end());
    result.storage = std::make_unique_for_overwrite<std::byte[]>(std::size_t(operand.type.bytes()));
    const Shape sizes = sizes_of(shape, order), dense = strides_of(sizes);
    strided_copy(sizes, sizes_of(strides, order), operand.data, result.storage.get(), size_of(operand.type.dtype));
    data = result.storage.get();
    for (std::size_t i = 0; i < order.size(); ++i) strides[std::size_t(order[i])] = dense[i];
    column_stride = 1;
    row_stride = element_count(sizes_of(shape, columns));
  }
  result.batch_strides = sizes_of(strides, batch);
  result.first = {data, *row_stride, *column_stride};
  return result;
}

void kernel(const KernelArgs& args) {
  const ConstView &left = args.operands[0], &right = args.operands[1];
  DotDims dims = dims_of(args.attrs, left.type.rank(), right.type.rank());
  const Matrices a = matrices_of(left, dims.lhs_batch, dims.lhs_free, dims.lhs_contract);
  const Matrices b = matrices_of(right, dims.rhs_batch, dims.rhs_contract, dims.rhs_free);
  GemmSize size{element_count(sizes_of(left.type.shape, dims.lhs_free)), element_count(sizes_of(right.type.shape, dims.rhs_free)),
                element_count(sizes_of(left.type.shape, dims.lhs_contract))};
  const std::int64_t bytes = size_of(left.type.dtype), batches = element_count(a.batch);
  auto matrix = [&](const Matrices& of, std::int64_t i) {
    GemmOperand operand = of.first;
    for (std::size_t d = of.batch.size(); d-- > 0; i /= of.batch[d]) operand.data += i % of.batch[d] * of.batch_strides[d] * bytes;
    return operand;
  };
  for (std::int64_t i = 0; i < batches; ++i)
    gemm(left.type.dtype, size, matrix(a, i), matrix(b, i), args.results[0].data + i * size.m * size.n * bytes);
}

std::vector<std::int64_t> both_sides(const std::vector<int>& lhs, const std::vector<int>& rhs) {
  std::vector<std::int64_t> both(lhs.begin(), lhs.end());
  both.insert(both.end(), rhs.begin(), rhs.end());
  return both;
}

std::vector<int> range(std::size_t begin, std::size_t count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), int(begin));
  return values;
}

std::vector<int> order_of(const std::vector<int>& values) {  // the places that sort them
  std::vector<int> places = range(0, values.size());
  std::stable_sort(places.begin(), places.end(), [&](int i, int j) { return values[std::size_t(i)] < values[std::size_t(j)]; });
  return places;
}

// The cotangent with the known operand over the known one's free dimensions; then the dimensions in the asked one's order. The result has
// batch, the left operand's free and the right operand's free dimensions.
Values transpose_rule(GraphBuilder& b, const TransposeArgs& args) {
  DotDims dims = dims_of(args.attrs, args.operand_types[0].rank(), args.operand_types[1].rank());
  bool is_left = args.operands[0] == kAsked;
  const auto& batch = is_left ? dims.lhs_batch : dims.rhs_batch;
  const auto& other_batch = is_left ? dims.rhs_batch : dims.lhs_batch;
  const auto& free = is_left ? dims.lhs_free : dims.rhs_free;
  const auto& other_free = is_left ? dims.rhs_free : dims.lhs_free;
  const auto& contract = is_left ? dims.lhs_contract : dims.rhs_contract;
  const auto& other_contract = is_left ? dims.rhs_contract : dims.lhs_contract;
  std::vector<int> result_batch = range(0, batch.size());
  std::vector<int> result_other = range(batch.size() + (is_left ? free.size() : 0), other_free.size());
  ValueId product = b.emit1(kDotGeneral, {args.cotangents[0], args.operands[is_left ? 1 : 0]},
                            Attrs{{"contract", both_sides(result_other, other_free)},
                                  {"batch", both_sides(result_batch, other_batch)},
                                  {"is_cotangent", true}});  // for shardings in types: it lies as what it is the cotangent of
  std::vector<int> places = batch;
  places.insert(places.end(), free.begin(), free.end());
  for (int i : order_of(other_contract)) places.push_back(contract[std::size_t(i)]);
  ValueId found = transposed(b, product, order_of(places));
  return is_left ? Values{found, kZero} : Values{kZero, found};
}

// The batch is a batch dimension where both operands have it, else a free one.
std::vector<Batched> batch_rule(GraphBuilder& b, const BatchArgs& args) {
  auto [left, left_dim] = args.operands[0];
  auto [right, right_dim] = args.operands[1];
  DotDims dims = dims_of(args.attrs, b.type(left).rank() - (left_dim != kNotBatched), b.type(right).rank() - (right_dim != kNotBatched));
  auto shifted = [](std::vector<int> of, int dim) {
    for (int& d : of) d = dim == kNotBatched ? d : dim_in_batch(d, dim);
    return of;
  };
  std::vector<int> left_batch = shifted(dims.lhs_batch, left_dim), right_batch = shifted(dims.rhs_batch, right_dim);
  std::size_t place = 0;
  auto before = [](const std::vector<int>& free, int dim) {
    return std::size_t(std::count_if(free.begin(), free.end(), [&](int d) { return d < dim; }));
  };
  if (left_dim != kNotBatched && right_dim != kNotBatched) {
    left_batch.insert(left_batch.begin(), left_dim);
    right_batch.insert(right_batch.begin(), right_dim);
  } else if (left_dim != kNotBatched) {
    place = left_batch.size() + before(dims.lhs_free, left_dim);
  } else {
    place = left_batch.size() + dims.lhs_free.size() + before(dims.rhs_free, right_dim);
  }
  ValueId result = b.emit1(kDotGeneral, {left, right},
                           Attrs{{"contract", both_sides(shifted(dims.lhs_contract, left_dim), shifted(dims.rhs_contract, right_dim))},
                                 {"batch", both_sides(left_batch, right_batch)}});
  return {{result, int(place)}};
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  DType dtype = promoted_dtype(b, args);
  Attrs full = attrs;
  for (std::string_view name : {"contract", "batch"})
    if (!attrs.has(name)) full.set(name, std::vector<std::int64_t>{});
  ValueId left = value_of(b, args[0], dtype);
  return b.emit(op, {left, value_of(b, args[1], dtype)}, full);
}

std::vector<Sample> samples() {
  auto sample = [](DType dtype, Shape left, Shape right, std::vector<std::int64_t> contract, std::vector<std::int64_t> batch) {
    return Sample{{{dtype, std::move(left)}, {dtype, std::move(right)}},
                  Attrs{{"contract", std::move(contract)}, {"batch", std::move(batch)}}};
  };
  std::vector<Sample> samples;
  for (DType dtype :
       {DType::kFloat32, DType::kInt32, DType::kUint32, DType::kComplex64, DType::kBool, DType::kBfloat16, DType::kFloat64, DType::kInt8}) {
    samples.push_back(sample(dtype, {4, 8}, {8, 6}, {1, 0}, {}));
    samples.push_back(sample(dtype, {2, 4, 8}, {2, 8, 6}, {2, 1}, {0, 0}));
  }
  samples.push_back(sample(DType::kFloat32, {8, 4}, {6, 8}, {0, 1}, {}));
  samples.push_back(sample(DType::kFloat32, {8}, {8}, {0, 0}, {}));
  samples.push_back(sample(DType::kFloat32, {4, 8}, {8}, {1, 0}, {}));
  samples.push_back(sample(DType::kFloat32, {4}, {6}, {}, {}));
  samples.push_back(sample(DType::kFloat32, {4, 2, 6, 8}, {6, 8, 2, 10}, {2, 3, 0, 1}, {1, 2}));
  samples.push_back(sample(DType::kFloat32, {37, 520}, {520, 70}, {1, 0}, {}));
  samples.push_back(sample(DType::kFloat32, {3, 0}, {0, 2}, {1, 0}, {}));
  return samples;
}

constexpr AttrDef kAttrs[] = {
    {"contract", AttrDef::Kind::kIntegerLists, false, "[[dimensions of the left operand], [of the right]] that are summed over"},
    {"batch", AttrDef::Kind::kIntegerLists, false, "[[dimensions of the left operand], [of the right]] that run together"}};

}  // namespace

const OpDef kDotGeneral = {.name = "dot_general",
                           .doc =
                               "Sums of products over the contracting dimensions. The result has the batch dimensions, then the other "
                               "dimensions of the left operand, then those of the right.",
                           .operands_min = 2,
                           .operands_max = 2,
                           .attrs = kAttrs,
                           .expand = expand,
                           .infer = infer,
                           .rule = rule,
                           .reduction = Reduction::kSum,
                           .kernel = kernel,
                           .jvp = multilinear_jvp,
                           .transpose = transpose_rule,
                           .batch = batch_rule,
                           .samples = samples};

}  // namespace shardlab::ops
