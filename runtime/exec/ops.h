// The ops as functions, with JAX's names: what `jnp.sin(x)` and `x + 1` are in C++.
//
// Every function takes `const Operand&`, made implicitly from an Array or a number at the caller's line, and runs the op of the
// same name in the registry, whose documentation gives shapes, dtypes and errors. A call on plain numbers alone still picks ::sin
// and its kin: their arguments need no conversion by a constructor.
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/exec/operand.h"
#include "runtime/exec/out_sharding.h"

namespace shardlab {

// dtypes as JAX writes them: zeros({4}, int32).
inline constexpr DType bool_ = DType::kBool;
inline constexpr DType int8 = DType::kInt8;
inline constexpr DType int16 = DType::kInt16;
inline constexpr DType int32 = DType::kInt32;
inline constexpr DType int64 = DType::kInt64;
inline constexpr DType uint8 = DType::kUint8;
inline constexpr DType uint16 = DType::kUint16;
inline constexpr DType uint32 = DType::kUint32;
inline constexpr DType uint64 = DType::kUint64;
inline constexpr DType bfloat16 = DType::kBfloat16;
inline constexpr DType float16 = DType::kFloat16;
inline constexpr DType float32 = DType::kFloat32;
inline constexpr DType float64 = DType::kFloat64;
inline constexpr DType complex64 = DType::kComplex64;
inline constexpr DType complex128 = DType::kComplex128;

// Which dimensions an op works on: one (0, -1), several ({0, 1}, a vector), or all() of them. Negative ones count from the end.
// `{}` is JAX's (): none.
class AxisList {
 public:
  template <std::integral Int>
  AxisList(Int axis) : axes_{{std::int64_t(axis)}}, is_single_(true) {}               // NOLINT: implicit on purpose
  AxisList(std::initializer_list<std::int64_t> axes) : axes_(std::in_place, axes) {}  // NOLINT
  AxisList(std::vector<std::int64_t> axes) : axes_(std::move(axes)) {}                // NOLINT
  static AxisList all() { return AxisList(std::nullopt); }

  bool is_all() const { return !axes_.has_value(); }
  bool is_single() const { return is_single_; }  // given as a number
  const std::vector<std::int64_t>& axes() const { return *axes_; }

 private:
  explicit AxisList(std::nullopt_t) {}
  std::optional<std::vector<std::int64_t>> axes_;
  bool is_single_ = false;
};

// sum(x, {.axis = {0, 1}, .keepdims = true})
struct ReduceOptions {
  detail::ByNameOnly by_name{};
  AxisList axis = AxisList::all();
  bool keepdims = false;
};

struct VarianceOptions {
  detail::ByNameOnly by_name{};
  AxisList axis = AxisList::all();
  bool keepdims = false;
  std::int64_t ddof = 0;  // the divisor is the count less this
};

// Several arrays: {x, y}, or a vector of arrays.
class Operands {
 public:
  Operands(std::initializer_list<Operand> operands) : operands_(operands) {}   // NOLINT
  Operands(std::vector<Operand> operands) : operands_(std::move(operands)) {}  // NOLINT
  Operands(const std::vector<Array>& arrays,                                   // NOLINT
           std::source_location where = std::source_location::current());
  const std::vector<Operand>& operands() const { return operands_; }

 private:
  std::vector<Operand> operands_;
};

// --- Creation: uncommitted, on the default device.
// -------------------------------------------------------------------------------------

// With an out_sharding they are made in place: zeros({8, 4}, float32, {.out_sharding = P("x")}).

// start, start + step … below stop. int32 for integers and float32 otherwise, unless told.
Array arange(const Operand& stop, std::optional<DType> dtype = {}, const OutOptions& options = {});
Array arange(const Operand& start, const Operand& stop, std::optional<DType> dtype = {}, const OutOptions& options = {});
Array arange(const Operand& start, const Operand& stop, const Operand& step, std::optional<DType> dtype = {},
             const OutOptions& options = {});
// float32 (float64 where config's enable_x64 is on) unless told.
Array zeros(const Shape& shape, std::optional<DType> dtype = {}, const OutOptions& options = {},
            std::source_location where = std::source_location::current());
Array ones(const Shape& shape, std::optional<DType> dtype = {}, const OutOptions& options = {},
           std::source_location where = std::source_location::current());
// `value` everywhere; its own dtype (int32, float32, bool, complex64) unless told.
Array full(const Shape& shape, const Operand& value, std::optional<DType> dtype = {}, const OutOptions& options = {});
Array zeros_like(const Operand& x, std::optional<DType> dtype = {});
Array ones_like(const Operand& x, std::optional<DType> dtype = {});
Array full_like(const Operand& x, const Operand& value, std::optional<DType> dtype = {});
// `num` numbers from start to stop, both included.
Array linspace(const Operand& start, const Operand& stop, std::int64_t num = 50);
// n rows with ones on the diagonal, zeros elsewhere.
Array eye(const Operand& n, std::optional<DType> dtype = {}, const OutOptions& options = {});
// Of m columns, the ones on the diagonal k above the main one.
Array eye(const Operand& n, const Operand& m, std::int64_t k = 0, std::optional<DType> dtype = {}, const OutOptions& options = {});
// Each element its index along `dimension`.
Array iota(DType dtype, const Shape& shape, std::int64_t dimension = 0, const OutOptions& options = {},
           std::source_location where = std::source_location::current());

// --- Elementwise, one operand.
// ---------------------------------------------------------------------------------------------------------

Array sin(const Operand& x);
Array cos(const Operand& x);
Array tan(const Operand& x);
Array tanh(const Operand& x);
Array exp(const Operand& x);
Array expm1(const Operand& x);
Array log(const Operand& x);
Array log1p(const Operand& x);
Array sqrt(const Operand& x);
Array rsqrt(const Operand& x);
Array abs(const Operand& x);
Array sign(const Operand& x);
Array floor(const Operand& x);
Array ceil(const Operand& x);
Array round(const Operand& x);
Array negative(const Operand& x);
Array square(const Operand& x);
Array logical_not(const Operand& x);
Array invert(const Operand& x);  // bit by bit
Array isnan(const Operand& x);
Array isfinite(const Operand& x);
Array conj(const Operand& x);
Array imag(const Operand& x);
Array real(const Operand& x);
Array erf(const Operand& x);
Array relu(const Operand& x);
Array gelu(const Operand& x);
Array softplus(const Operand& x);
Array silu(const Operand& x);
Array logistic(const Operand& x);
Array log2(const Operand& x);
Array log10(const Operand& x);
Array exp2(const Operand& x);
Array cbrt(const Operand& x);
Array trunc(const Operand& x);
Array sinh(const Operand& x);
Array cosh(const Operand& x);
Array arcsin(const Operand& x);
Array arccos(const Operand& x);
Array arctan(const Operand& x);
Array arcsinh(const Operand& x);
Array arccosh(const Operand& x);
Array arctanh(const Operand& x);
Array deg2rad(const Operand& x);
Array rad2deg(const Operand& x);
Array reciprocal(const Operand& x);
Array positive(const Operand& x);
Array fabs(const Operand& x);
Array sinc(const Operand& x);
Array signbit(const Operand& x);
Array isinf(const Operand& x);
Array isposinf(const Operand& x);
Array isneginf(const Operand& x);
Array nan_to_num(const Operand& x);
Array angle(const Operand& x);
Array erfc(const Operand& x);
Array erf_inv(const Operand& x);
Array lgamma(const Operand& x);
Array digamma(const Operand& x);
Array population_count(const Operand& x);
Array elu(const Operand& x);
Array elu(const Operand& x, const Operand& alpha);
Array celu(const Operand& x);
Array celu(const Operand& x, const Operand& alpha);
Array selu(const Operand& x);
Array leaky_relu(const Operand& x);
Array leaky_relu(const Operand& x, const Operand& negative_slope);
Array relu6(const Operand& x);
Array hard_sigmoid(const Operand& x);
Array hard_silu(const Operand& x);
Array hard_tanh(const Operand& x);
Array soft_sign(const Operand& x);
Array log_sigmoid(const Operand& x);
Array mish(const Operand& x);
Array stop_gradient(const Operand& x);  // x itself, constant to derivatives
// x itself, with a name by which a policy of checkpoint saves it.
Array checkpoint_name(const Operand& x, std::string name);
Array astype(const Operand& x, DType dtype);
// The same bits as a dtype of the same width.
Array bitcast(const Operand& x, DType dtype);
// Rows of 0 with a 1 at x, along a new last dimension.
Array one_hot(const Operand& x, std::int64_t num_classes, std::optional<DType> dtype = {});

// --- Elementwise, several operands that broadcast as in numpy.
// -------------------------------------------------------------------------

Array add(const Operand& x, const Operand& y);
Array subtract(const Operand& x, const Operand& y);
Array multiply(const Operand& x, const Operand& y);
Array divide(const Operand& x, const Operand& y);
Array floor_divide(const Operand& x, const Operand& y);
Array remainder(const Operand& x, const Operand& y);
Array power(const Operand& x, const Operand& y);
Array complex(const Operand& re, const Operand& im);
Array arctan2(const Operand& x, const Operand& y);
Array maximum(const Operand& x, const Operand& y);
Array minimum(const Operand& x, const Operand& y);
Array fmod(const Operand& x, const Operand& y);
Array hypot(const Operand& x, const Operand& y);
Array logaddexp(const Operand& x, const Operand& y);
Array logaddexp2(const Operand& x, const Operand& y);
Array heaviside(const Operand& x, const Operand& y);
Array copysign(const Operand& x, const Operand& y);
Array nextafter(const Operand& x, const Operand& y);
Array fmax(const Operand& x, const Operand& y);
Array fmin(const Operand& x, const Operand& y);
Array gcd(const Operand& x, const Operand& y);
Array lcm(const Operand& x, const Operand& y);
Array left_shift(const Operand& x, const Operand& y);
Array right_shift(const Operand& x, const Operand& y);
Array isclose(const Operand& x, const Operand& y);
Array logical_and(const Operand& x, const Operand& y);
Array logical_or(const Operand& x, const Operand& y);
Array logical_xor(const Operand& x, const Operand& y);
Array bitwise_and(const Operand& x, const Operand& y);
Array bitwise_or(const Operand& x, const Operand& y);
Array bitwise_xor(const Operand& x, const Operand& y);
Array equal(const Operand& x, const Operand& y);
Array not_equal(const Operand& x, const Operand& y);
Array less(const Operand& x, const Operand& y);
Array less_equal(const Operand& x, const Operand& y);
Array greater(const Operand& x, const Operand& y);
Array greater_equal(const Operand& x, const Operand& y);
Array where(const Operand& condition, const Operand& x, const Operand& y);
Array select(const Operand& condition, const Operand& x, const Operand& y);
Array clip(const Operand& x, const Operand& low, const Operand& high);

// At least one side is an Array; comparisons give arrays of bool, as in JAX, and masks combine by & and |.
Array operator+(const Operand& x, const Operand& y);
Array operator-(const Operand& x, const Operand& y);
Array operator*(const Operand& x, const Operand& y);
Array operator/(const Operand& x, const Operand& y);
Array operator%(const Operand& x, const Operand& y);
Array operator&(const Operand& x, const Operand& y);
Array operator|(const Operand& x, const Operand& y);
Array operator^(const Operand& x, const Operand& y);
Array operator-(const Operand& x);
Array operator~(const Operand& x);
Array operator==(const Operand& x, const Operand& y);
Array operator!=(const Operand& x, const Operand& y);
Array operator<(const Operand& x, const Operand& y);
Array operator<=(const Operand& x, const Operand& y);
Array operator>(const Operand& x, const Operand& y);
Array operator>=(const Operand& x, const Operand& y);

// --- Reductions: sum(x), sum(x, 0), sum(x, {0, 1}), sum(x, {.axis = {0}, .keepdims = true}).
// -------------------------------------------

// One function in three forms. A template for the braced list, as only that never competes with designated initialisers (g++ 12).
#define SHARDLAB_REDUCTION(name, Options)                                                 \
  Array name(const Operand& x, const Options& options = {});                              \
  template <std::convertible_to<AxisList> Axis>                                           \
  Array name(const Operand& x, const Axis& axis) {                                        \
    return name(x, Options{.axis = axis});                                                \
  }                                                                                       \
  template <std::integral Int>                                                            \
  Array name(const Operand& x, std::initializer_list<Int> axes) {                         \
    return name(x, Options{.axis = std::vector<std::int64_t>(axes.begin(), axes.end())}); \
  }

SHARDLAB_REDUCTION(sum, ReduceOptions)
SHARDLAB_REDUCTION(prod, ReduceOptions)
SHARDLAB_REDUCTION(max, ReduceOptions)
SHARDLAB_REDUCTION(min, ReduceOptions)
SHARDLAB_REDUCTION(mean, ReduceOptions)
SHARDLAB_REDUCTION(any, ReduceOptions)
SHARDLAB_REDUCTION(all, ReduceOptions)
SHARDLAB_REDUCTION(logsumexp, ReduceOptions)
SHARDLAB_REDUCTION(nansum, ReduceOptions)
SHARDLAB_REDUCTION(nanprod, ReduceOptions)
SHARDLAB_REDUCTION(nanmax, ReduceOptions)
SHARDLAB_REDUCTION(nanmin, ReduceOptions)
SHARDLAB_REDUCTION(nanmean, ReduceOptions)
SHARDLAB_REDUCTION(ptp, ReduceOptions)
SHARDLAB_REDUCTION(count_nonzero, ReduceOptions)
SHARDLAB_REDUCTION(median, ReduceOptions)
SHARDLAB_REDUCTION(nanmedian, ReduceOptions)
SHARDLAB_REDUCTION(logmeanexp, ReduceOptions)
SHARDLAB_REDUCTION(nanvar, VarianceOptions)
SHARDLAB_REDUCTION(nanstd, VarianceOptions)
SHARDLAB_REDUCTION(var, VarianceOptions)
SHARDLAB_REDUCTION(std_, VarianceOptions)  // JAX's std; that name is the standard library's here
#undef SHARDLAB_REDUCTION
Array softmax(const Operand& x, const AxisList& axis = -1);
Array log_softmax(const Operand& x, const AxisList& axis = -1);

// --- Shapes.
// ---------------------------------------------------------------------------------------------------------------------------

// One size may be -1: what is left.
Array reshape(const Operand& x, const Shape& shape, const OutOptions& options = {});
Array ravel(const Operand& x);
Array transpose(const Operand& x);  // dimensions reversed
Array transpose(const Operand& x, const std::vector<std::int64_t>& axes);
Array broadcast_to(const Operand& x, const Shape& shape);
Array expand_dims(const Operand& x, const AxisList& axis);
Array squeeze(const Operand& x, const AxisList& axis = AxisList::all());

// --- Products.
// -------------------------------------------------------------------------------------------------------------------------

Array matmul(const Operand& x, const Operand& y, const OutOptions& options = {});
Array dot(const Operand& x, const Operand& y, const OutOptions& options = {});
// einsum("ij,jk->ik", {x, y})
Array einsum(std::string_view subscripts, const Operands& operands, const OutOptions& options = {});
Array einsum(std::string_view subscripts, const Operand& x, const OutOptions& options = {});
Array einsum(std::string_view subscripts, const Operand& x, const Operand& y, const OutOptions& options = {});

// --- Placement.
// ------------------------------------------------------------------------------------------------------------------------

// Inside jit the value lies so at this point; outside it is moved, as by device_put. On a mesh of Explicit axes it is an assertion:
// UserError where the value's type has another sharding.
Array with_sharding_constraint(const Operand& x, const Sharding& sharding);
Array with_sharding_constraint(const Operand& x, const PartitionSpec& spec);  // on x's own mesh, or the arguments'
// Moves the value, also where the mesh's axes are Explicit and a constraint would be an assertion.
Array reshard(const Operand& x, const Sharding& sharding);
Array reshard(const Operand& x, const PartitionSpec& spec);

}  // namespace shardlab
