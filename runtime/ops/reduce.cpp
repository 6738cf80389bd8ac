// reduce_sum, reduce_prod, reduce_max, reduce_min, reduce_and, reduce_or: combine the elements along axes.
//
// The order of combination depends on the operand's shape and the axes alone. Up to 16 elements are combined from left to right in
// row-major order; longer rows of a contiguous axis in 16 lanes of at most 16 elements, lanes and blocks as balanced trees, so that
// the error of a sum grows with the logarithm of the count.
#include <algorithm>
#include <limits>

#include "runtime/ops/derive.h"
#include "runtime/ops/isa.h"
#include "runtime/ops/tile.h"

namespace shardlab::ops {
namespace {

constexpr std::int64_t kLeftToRightMax = 16;
constexpr std::int64_t kLanes = 16;
constexpr std::int64_t kBlock = kLanes * 16;  // elements of a contiguous run that are combined in lanes
constexpr std::int64_t kTile = 256;           // columns that are combined together

struct Sum {
  template <typename T>
  static T identity() {
    return T(0);
  }
  template <typename T>
  SHARDLAB_INLINE static T combine(T a, T b) {
    if constexpr (Whole<T>)
      return T(Wrapping<T>(a) + Wrapping<T>(b));
    else if constexpr (Cplx<T>)
      return {a.real() + b.real(), a.imag() + b.imag()};
    else
      return a + b;
  }
};
struct Prod {
  template <typename T>
  static T identity() {
    return T(1);
  }
  template <typename T>
  SHARDLAB_INLINE static T combine(T a, T b) {
    if constexpr (Whole<T>)
      return T(Wrapping<T>(a) * Wrapping<T>(b));
    else if constexpr (Cplx<T>)
      return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
    else
      return a * b;
  }
};
template <typename T>
T lowest() {
  if constexpr (Cplx<T>)
    return {-std::numeric_limits<typename T::value_type>::infinity(), -std::numeric_limits<typename T::value_type>::infinity()};
  else if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::min();
}
template <typename T>
T highest() {
  if constexpr (Cplx<T>)
    return {std::numeric_limits<typename T::value_type>::infinity(), std::numeric_limits<typename T::value_type>::infinity()};
  else if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}
template <typename T>
SHARDLAB_INLINE bool greater(T a, T b) {
  if constexpr (Cplx<T>)
    return a.real() > b.real() || (a.real() == b.real() && a.imag() > b.imag());
  else
    return a > b;
}
struct Max {
  template <typename T>
  static T identity() {
    return lowest<T>();
  }
  template <typename T>
  SHARDLAB_INLINE static T combine(T a, T b) {
    return greater(a, b) | (a != a) ? a : b;
  }
};
struct Min {
  template <typename T>
  static T identity() {
    return highest<T>();
  }
  template <typename T>
  SHARDLAB_INLINE static T combine(T a, T b) {
    return greater(b, a) | (a != a) ? a : b;
  }
};
struct And {
  template <typename T>
  static T identity() {
    return std::is_same_v<T, bool> ? T(true) : T(-1);
  }
  template <typename T>
  SHARDLAB_INLINE static T combine(T a, T b) {
    return T(a & b);
  }
};
struct Or {
  template <typename T>
  static T identity() {
    return T(0);
  }
  template <typename T>
  SHARDLAB_INLINE static T combine(T a, T b) {
    return T(a | b);
  }
};

template <typename F, typename T>
constexpr bool kTakes = (std::is_same_v<F, Max> || std::is_same_v<F, Min>)  ? true
                        : (std::is_same_v<F, And> || std::is_same_v<F, Or>) ? std::is_integral_v<T>
                                                                            : !std::is_same_v<T, bool>;

// Walks the row-major positions of some dimensions, as offsets in elements.
struct Walk {
  Shape sizes, strides;
  std::int64_t count() const { return element_count(sizes); }
  std::int64_t offset(std::int64_t index) const {
    std::int64_t result = 0;
    for (std::size_t d = sizes.size(); d-- > 0;) {
      result += index % sizes[d] * strides[d];
      index /= sizes[d];
    }
    return result;
  }
};

// A contiguous run of `count` elements to one.
template <typename F, typename T>
struct RunLoop {
  SHARDLAB_INLINE static void run(const T* x, std::int64_t count, T* result) { *result = block(x, count); }

 private:
  SHARDLAB_INLINE static T block(const T* x, std::int64_t count) {
    T lanes[kLanes];
    for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] = F::template identity<T>();
    std::int64_t rows = count / kLanes;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t l = 0; l < kLanes; ++l) lanes[l] = F::combine(lanes[l], x[r * kLanes + l]);
    for (std::int64_t l = 0; l < count - rows * kLanes; ++l) lanes[l] = F::combine(lanes[l], x[rows * kLanes + l]);
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
      for (std::int64_t l = 0; l < half; ++l) lanes[l] = F::combine(lanes[l], lanes[l + half]);
    return lanes[0];
  }
};

// accumulator[j] = F(accumulator[j], x[j]).
template <typename F, typename T>
struct RowLoop {
  SHARDLAB_INLINE static void run(T* accumulator, const T* x, std::int64_t count) {
#pragma GCC ivdep
    for (std::int64_t j = 0; j < count; ++j) accumulator[j] = F::combine(accumulator[j], x[j]);
  }
};

template <typename F, typename T>
class Reducer {
 public:
  Reducer(const T* in, T* out, Walk kept, Walk reduced, std::int64_t inner, bool inner_is_reduced)
      : in_(in), out_(out), kept_(std::move(kept)), reduced_(std::move(reduced)), inner_(inner), inner_is_reduced_(inner_is_reduced) {}

  void run() {
    std::int64_t kept_count = kept_.count();
    if (!inner_is_reduced_) {
      for (std::int64_t k = 0; k < kept_count; ++k)
        for (std::int64_t column = 0; column < inner_; column += kTile)
          columns(in_ + kept_.offset(k) + column, 0, reduced_.count(), out_ + k * inner_ + column, std::min(kTile, inner_ - column));
      return;
    }
    std::int64_t rows = reduced_.count();
    for (std::int64_t k = 0; k < kept_count; ++k) {
      const T* from = in_ + kept_.offset(k);
      out_[k] = rows * inner_ <= kLeftToRightMax ? left_to_right(from, rows) : tree_of_runs(from, 0, rows);
    }
  }

 private:
  // `width` neighbouring results at once, over rows [first, last) of the reduced dimensions.
  void columns(const T* from, std::int64_t first, std::int64_t last, T* result, std::int64_t width) {
    std::int64_t count = last - first;
    if (count <= kLeftToRightMax) {
      std::fill_n(result, width, F::template identity<T>());
      for (std::int64_t r = first; r < last; ++r) row_(result, from + reduced_.offset(r), width);
      return;
    }
    std::int64_t middle = first + split(count, kLeftToRightMax);
    T right[kTile];
    columns(from, first, middle, result, width);
    columns(from, middle, last, right, width);
    row_(result, right, width);
  }
  T left_to_right(const T* from, std::int64_t rows) {
    T result = F::template identity<T>();
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* row = from + reduced_.offset(r);
      for (std::int64_t i = 0; i < inner_; ++i) result = F::combine(result, row[i]);
    }
    return result;
  }
  T tree_of_runs(const T* from, std::int64_t first, std::int64_t last) {
    if (last - first == 0) return F::template identity<T>();
    if (last - first == 1) return tree_of_blocks(from + reduced_.offset(first), inner_);
    std::int64_t middle = first + (last - first + 1) / 2;
    T left = tree_of_runs(from, first, middle);
    return F::combine(left, tree_of_runs(from, middle, last));
  }
  T tree_of_blocks(const T* x, std::int64_t count) {
    if (count <= kBlock) {
      T result;
      run_(x, count, &result);
      return result;
    }
    std::int64_t left_count = split(count, kBlock);
    T left = tree_of_blocks(x, left_count);
    return F::combine(left, tree_of_blocks(x + left_count, count - left_count));
  }
  // Half of `count`, rounded up to whole blocks.
  static std::int64_t split(std::int64_t count, std::int64_t block) { return ((count + block - 1) / block + 1) / 2 * block; }

  const T* in_;
  T* out_;
  Walk kept_, reduced_;
  std::int64_t inner_;
  bool inner_is_reduced_;
  void (*row_)(T*, const T*, std::int64_t) = VersionFor<RowLoop<F, T>, T>::template choose<T*, const T*, std::int64_t>();
  void (*run_)(const T*, std::int64_t, T*) = VersionFor<RunLoop<F, T>, T>::template choose<const T*, std::int64_t, T*>();
};

// Neighbouring dimensions of one kind become one; the innermost is walked by loops, the others by offsets.
template <typename F, typename T>
void reduce(const ConstView& operand, const MutableView& result, const std::vector<bool>& is_reduced) {
  if (result.type.elements() == 0) return;
  if (operand.type.elements() == 0) {
    std::fill_n(result.as<T>(), result.type.elements(), F::template identity<T>());
    return;
  }
  const Shape& shape = operand.type.shape;
  std::vector<std::pair<std::int64_t, bool>> dims;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    if (!dims.empty() && dims.back().second == is_reduced[d])
      dims.back().first *= shape[d];
    else
      dims.push_back({shape[d], is_reduced[d]});
  }
  std::int64_t inner = 1;
  bool inner_is_reduced = false;
  if (!dims.empty()) {
    std::tie(inner, inner_is_reduced) = dims.back();
    dims.pop_back();
  }
  Walk kept, reduced;
  std::int64_t stride = element_count(shape);
  for (auto [size, reduces] : dims) {
    stride /= size;
    Walk& walk = reduces ? reduced : kept;
    walk.sizes.push_back(size);
    walk.strides.push_back(stride);
  }
  Reducer<F, T>(operand.as<T>(), result.as<T>(), std::move(kept), std::move(reduced), inner, inner_is_reduced).run();
}

// 16-bit floats are combined in float and rounded at the end.
template <typename F, Half H>
void reduce_half(const ConstView& operand, const MutableView& result, const std::vector<bool>& is_reduced) {
  std::vector<float> wide(std::size_t(operand.type.elements())), combined(std::size_t(result.type.elements()));
  widen(operand.as<H>(), wide.data(), operand.type.elements());
  ConstView from{{DType::kFloat32, operand.type.shape}, reinterpret_cast<const std::byte*>(wide.data()), operand.box, operand.array};
  MutableView to{{DType::kFloat32, result.type.shape}, reinterpret_cast<std::byte*>(combined.data()), result.box};
  reduce<F, float>(from, to, is_reduced);
  narrow(combined.data(), result.as<H>(), result.type.elements());
}

template <typename F>
void kernel(const KernelArgs& args) {
  const ConstView& operand = args.operands[0];
  std::vector<bool> is_reduced(operand.type.shape.size(), false);
  for (std::int64_t axis : args.attrs.integers("axes")) is_reduced[std::size_t(axis)] = true;
  visit_dtype(operand.type.dtype, [&](auto sample) {
    using T = decltype(sample);
    if constexpr (kTakes<F, Widened<T>> && Half<T>)
      reduce_half<F, T>(operand, args.results[0], is_reduced);
    else if constexpr (kTakes<F, T>)
      reduce<F, T>(operand, args.results[0], is_reduced);
    else
      throw InternalError("a reduction of a dtype that its shape rule refuses");
  });
}

template <typename F>
bool takes(DType dtype) {
  return visit_dtype(dtype, [](auto sample) { return kTakes<F, Widened<decltype(sample)>>; });
}

template <typename F>
std::vector<TensorType> infer(const OpDef& op, const std::vector<TensorType>& types, const Attrs& attrs) {
  if (!takes<F>(types[0].dtype)) {
    std::vector<DType> accepted;
    for (const DTypeInfo& each : all_dtypes())
      if (takes<F>(each.dtype)) accepted.push_back(each.dtype);
    throw_dtype_refused(op, types[0].dtype, accepted);
  }
  const auto& axes = required_integers(op, attrs, "axes");
  Shape shape;
  std::size_t next = 0;
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= types[0].rank() || (i > 0 && axes[i] <= axes[i - 1]))
      throw_user_error("{}: axes must be increasing dimensions of the operand, got {} for shape {}", op.name, text_of(axes),
                       text_of(types[0].shape));
  for (int d = 0; d < types[0].rank(); ++d) {
    if (next < axes.size() && axes[next] == d)
      ++next;
    else
      shape.push_back(types[0].shape[std::size_t(d)]);
  }
  return {{types[0].dtype, shape}};
}

FactorRule rule(const std::vector<TensorType>& operands, const std::vector<TensorType>& results, const Attrs& attrs) {
  FactorRule rule(operands, results);
  const auto& axes = attrs.integers("axes");
  int next_result = 0;
  for (int d = 0; d < operands[0].rank(); ++d) {
    bool reduces = std::find(axes.begin(), axes.end(), d) != axes.end();
    rule.add(operands[0].shape[std::size_t(d)], {d}, {reduces ? -1 : next_result++}, reduces ? FactorKind::kReduce : FactorKind::kPass);
  }
  return rule;
}

Values expand(GraphBuilder& b, const OpDef& op, Args args, const Attrs& attrs) {
  ValueId x = value_of(b, args[0]);
  int rank = b.type(x).rank();
  std::vector<int> axes;
  for (int d = 0; d < rank; ++d) axes.push_back(d);
  if (auto given = axes_of(op.name, attrs, "axes", rank)) axes = *given;
  std::sort(axes.begin(), axes.end());
  return b.emit(op, {x}, Attrs{{"axes", integers_of(axes)}});
}

std::vector<Batched> batch(GraphBuilder& b, const BatchArgs& args) {
  auto [x, dim] = args.operands[0];
  std::vector<std::int64_t> axes = dims_in_batch(args.attrs.integers("axes"), dim);
  int before = int(std::count_if(axes.begin(), axes.end(), [dim = dim](std::int64_t axis) { return axis < dim; }));
  return {{b.emit1(args.op, {x}, Attrs{{"axes", axes}}), dim - before}};
}

Shape kept_shape_of(const JvpArgs& args, Shape shape) {
  for (std::int64_t axis : args.attrs.integers("axes")) shape[std::size_t(axis)] = 1;
  return shape;
}

// The mean of the tangents where the operand is the result (several where it occurs more than once). Source: jax.lax.
Values extremum_jvp(GraphBuilder& b, const JvpArgs& args) {
  ValueId x = args.operands[0], g = args.tangents[0];
  const TensorType type = b.type(x);
  ValueId kept = broadcast_to(b, reshaped(b, args.results[0], kept_shape_of(args, type.shape)), type.shape);
  ValueId is_result = converted(b, b.emit1(kEqual, {x, kept}), type.dtype);
  ValueId count = b.emit1(kReduceSum, {is_result}, args.attrs);
  return {b.emit1(kDiv, {b.emit1(kReduceSum, {b.emit1(kMul, {g, is_result})}, args.attrs), count})};
}

// The product rule: every factor's tangent times the product of the others, which holds where factors are 0.
Values prod_jvp(GraphBuilder& b, const JvpArgs& args) {
  const auto& axes = args.attrs.integers("axes");
  Shape shape = b.shape(args.operands[0]);
  // The reduced dimensions last, as one, n long; then against each of them all n.
  std::vector<int> order;
  Shape kept;
  for (int d = 0; d < int(shape.size()); ++d)
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
      order.push_back(d);
      kept.push_back(shape[std::size_t(d)]);
    }
  std::int64_t n = 1;
  for (std::int64_t axis : axes) {
    order.push_back(int(axis));
    n *= shape[std::size_t(axis)];
  }
  Shape flat = kept, square = kept;
  flat.push_back(n);
  square.insert(square.end(), {n, n});
  auto flattened = [&](ValueId x) { return reshaped(b, transposed(b, x, order), flat); };
  ValueId x = flattened(args.operands[0]);
  std::vector<std::int64_t> dims;
  for (std::int64_t d = 0; d < std::int64_t(kept.size()); ++d) dims.push_back(d);
  dims.push_back(std::int64_t(kept.size()) + 1);
  const TensorType type{b.type(x).dtype, square};
  ValueId all = b.emit1(kBroadcastInDim, {x}, Attrs{{"shape", square}, {"dims", dims}});
  auto index = [&](std::size_t along) {
    return b.emit1(kIota, {}, Attrs{{"dtype", DType::kInt32}, {"shape", square}, {"dimension", std::int64_t(along)}});
  };
  ValueId row = index(kept.size());
  ValueId itself = b.emit1(kEqual, {row, index(kept.size() + 1)});
  ValueId others = b.emit1(kSelect, {itself, filled(b, type, 1.0), all});
  others = b.emit1(kReduceProd, {others}, Attrs{{"axes", std::vector<std::int64_t>{std::int64_t(kept.size()) + 1}}});
  ValueId terms = b.emit1(kMul, {flattened(args.tangents[0]), others});
  return {b.emit1(kReduceSum, {terms}, Attrs{{"axes", std::vector<std::int64_t>{std::int64_t(kept.size())}}})};
}

// The cotangent, repeated along the reduced axes.
Values sum_transpose(GraphBuilder& b, const TransposeArgs& args) {
  const auto& axes = args.attrs.integers("axes");
  const Shape& shape = args.operand_types[0].shape;
  std::vector<std::int64_t> kept;
  for (std::int64_t d = 0; d < std::int64_t(shape.size()); ++d)
    if (std::find(axes.begin(), axes.end(), d) == axes.end()) kept.push_back(d);
  return {b.emit1(kBroadcastInDim, {args.cotangents[0]}, Attrs{{"shape", shape}, {"dims", kept}})};
}

template <typename F>
std::vector<Sample> samples() {
  std::vector<Sample> samples;
  auto add = [&](DType dtype, Shape shape, std::vector<std::int64_t> axes) {
    samples.push_back({{{dtype, std::move(shape)}}, Attrs{{"axes", std::move(axes)}}});
  };
  for (const auto& [dtype, name, size] : all_dtypes()) {
    if (!takes<F>(dtype)) continue;
    add(dtype, {4, 6}, {0});
    if (!is_main_dtype(dtype)) continue;
    add(dtype, {4, 6}, {1});
    add(dtype, {4, 6}, {0, 1});
    add(dtype, {2, 3, 4}, {0, 2});
    add(dtype, {7}, {0});
    add(dtype, {}, {});
    add(dtype, {0, 3}, {0});
  }
  DType dtype = takes<F>(DType::kFloat32) ? DType::kFloat32 : DType::kInt32;
  add(dtype, {40, 3, 6}, {0});
  add(dtype, {4, 4, 20, 2}, {1, 3});
  add(dtype, {2, 600}, {1});
  return samples;
}

constexpr AttrDef kAttrs[] = {{"axes", AttrDef::Kind::kScalarOrIntegers, false, "the dimensions to reduce; all by default"}};

template <typename F>
constexpr OpDef reduction_op(std::string_view name, std::string_view doc, Reduction reduction, JvpRule jvp = nullptr,
                             TransposeRule transpose = nullptr) {
  return {.name = name,
          .doc = doc,
          .attrs = kAttrs,
          .expand = expand,
          .infer = infer<F>,
          .rule = rule,
          .reduction = reduction,
          .kernel = kernel<F>,
          .jvp = jvp,
          .transpose = transpose,
          .batch = batch,
          .samples = samples<F>};
}

}  // namespace

const OpDef kReduceSum =
    reduction_op<Sum>("reduce_sum", "The sum along axes; integers wrap around.", Reduction::kSum, linear_jvp, sum_transpose);
const OpDef kReduceProd = reduction_op<Prod>("reduce_prod", "The product along axes; integers wrap around.", Reduction::kProd, prod_jvp);
const OpDef kReduceMax = reduction_op<Max>("reduce_max", "The largest element along axes; NaN wins.", Reduction::kMax, extremum_jvp);
const OpDef kReduceMin = reduction_op<Min>("reduce_min", "The smallest element along axes; NaN wins.", Reduction::kMin, extremum_jvp);
const OpDef kReduceAnd =
    reduction_op<And>("reduce_and", "Whether all elements along axes are true; bit by bit for integers.", Reduction::kAnd);
const OpDef kReduceOr = reduction_op<Or>("reduce_or", "Whether any element along axes is true; bit by bit for integers.", Reduction::kOr);

}  // namespace shardlab::ops
