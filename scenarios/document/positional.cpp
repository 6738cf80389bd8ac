#include "scenarios/document/positional.h"

namespace shardlab::scenarios {
namespace {

constexpr std::string_view kAxis[] = {"axis"};
constexpr std::string_view kAxisDtype[] = {"axis", "dtype"};
constexpr std::string_view kReduction[] = {"axis", "", "keepdims"};                  // axis, out, keepdims
constexpr std::string_view kSum[] = {"axis", "dtype", "", "keepdims"};               // axis, dtype, out, keepdims
constexpr std::string_view kVariance[] = {"axis", "dtype", "", "ddof", "keepdims"};  // axis, dtype, out, ddof, keepdims
constexpr std::string_view kNanVariance[] = {"axis", "", "", "ddof", "keepdims"};
constexpr std::string_view kTotal[] = {"axis", "dtype", "", "keepdims", "initial"};  // axis, dtype, out, keepdims, initial
constexpr std::string_view kExtremum[] = {"axis", "", "keepdims", "initial"};        // axis, out, keepdims, initial
constexpr std::string_view kMedian[] = {"axis", "", "", "keepdims"};                 // axis, out, overwrite_input, keepdims
constexpr std::string_view kDiagonal[] = {"offset", "axis1", "axis2"};
constexpr std::string_view kK[] = {"k"};
constexpr std::string_view kKDtype[] = {"k", "dtype"};
constexpr std::string_view kShape[] = {"shape"};
constexpr std::string_view kShapeDtype[] = {"shape", "dtype"};
constexpr std::string_view kSourceDestination[] = {"source", "destination"};
constexpr std::string_view kAxis1Axis2[] = {"axis1", "axis2"};
constexpr std::string_view kAxes[] = {"axes"};
constexpr std::string_view kRoll[] = {"shift", "axis"};
constexpr std::string_view kRepeat[] = {"repeats", "axis"};
constexpr std::string_view kReps[] = {"reps"};
constexpr std::string_view kSplit[] = {"indices_or_sections", "axis"};
constexpr std::string_view kTake[] = {"axis", "", "mode"};  // axis, out, mode
constexpr std::string_view kTakeAlong[] = {"axis", "mode"};
constexpr std::string_view kDiff[] = {"n", "axis"};
constexpr std::string_view kDecimals[] = {"decimals"};
constexpr std::string_view kNum[] = {"num", "endpoint"};
constexpr std::string_view kFourier[] = {"n", "axis", "norm"};
constexpr std::string_view kFourierN[] = {"s", "axes", "norm"};
constexpr std::string_view kSlice[] = {"start", "limit", "stride"};
constexpr std::string_view kClasses[] = {"num_classes"};
constexpr std::string_view kTolerance[] = {"rtol", "atol", "equal_nan"};
constexpr std::string_view kNanToNum[] = {"copy", "nan", "posinf", "neginf"};
constexpr std::string_view kTopK[] = {"k"};
constexpr std::string_view kIndexInDim[] = {"axis", "keepdims"};
constexpr std::string_view kEqualNan[] = {"equal_nan"};
constexpr std::string_view kApproximate[] = {"approximate"};
constexpr std::string_view kAlpha[] = {"alpha"};
constexpr std::string_view kNegativeSlope[] = {"negative_slope"};
constexpr std::string_view kB[] = {"b"};
constexpr std::string_view kCountKeys[] = {"num"};
constexpr std::string_view kRandint[] = {"shape", "minval", "maxval"};
constexpr std::string_view kCategorical[] = {"axis", "shape"};
constexpr std::string_view kChoice[] = {"shape", "replace"};
constexpr std::string_view kDelete[] = {"obj", "axis"};
constexpr std::string_view kNewShape[] = {"new_shape"};
constexpr std::string_view kRot90[] = {"k", "axes"};
constexpr std::string_view kRollaxis[] = {"axis", "start"};
constexpr std::string_view kSections[] = {"indices_or_sections"};
constexpr std::string_view kIntersect[] = {"assume_unique", ""};  // assume_unique, return_indices
constexpr std::string_view kUniqueGiven[] = {"assume_unique"};
constexpr std::string_view kInd[] = {"ind"};
constexpr std::string_view kIsin[] = {"assume_unique", "invert"};
constexpr std::string_view kWrap[] = {"wrap"};
constexpr std::string_view kOrder[] = {"m"};
constexpr std::string_view kVander[] = {"N", "increasing"};
constexpr std::string_view kRight[] = {"right"};
constexpr std::string_view kRange[] = {"range"};
constexpr std::string_view kTrapezoid[] = {"", "dx", "axis"};  // x, dx, axis
constexpr std::string_view kInterp[] = {"left", "right", "period"};
constexpr std::string_view kUnwrap[] = {"discont", "axis", "period"};
constexpr std::string_view kCross[] = {"axisa", "axisb", "axisc", "axis"};
constexpr std::string_view kCov[] = {"", "rowvar", "bias", "ddof"};  // y, rowvar, bias, ddof
constexpr std::string_view kRowvar[] = {"", "rowvar"};               // y, rowvar
constexpr std::string_view kAxisCount[] = {"axis", "count"};
constexpr std::string_view kTriangle[] = {"k", "m"};
constexpr std::string_view kNdim[] = {"ndim"};
constexpr std::string_view kKth[] = {"kth", "axis"};
constexpr std::string_view kD[] = {"d"};
constexpr std::string_view kSegments[] = {"num_segments"};
constexpr std::string_view kCollapse[] = {"start_dimension", "stop_dimension"};
constexpr std::string_view kSliceInDim[] = {"start_index", "limit_index", "stride", "axis"};
constexpr std::string_view kIndex[] = {"index", "axis", "keepdims"};
constexpr std::string_view kSizeAxis[] = {"slice_size", "axis"};
constexpr std::string_view kPower[] = {"y"};
constexpr std::string_view kMatrixPower[] = {"n"};
constexpr std::string_view kNorm[] = {"ord", "axis", "keepdims"};

// Source: the signatures of jax.numpy, jax.lax, jax.nn and jax.random.
constexpr Positional kAll[] = {
    {"sum", 1, kTotal},
    {"prod", 1, kTotal},
    {"mean", 1, kSum},
    {"nansum", 1, kTotal},
    {"nanprod", 1, kTotal},
    {"nanmean", 1, kSum},
    {"std", 1, kVariance},
    {"var", 1, kVariance},
    {"nanstd", 1, kNanVariance},
    {"nanvar", 1, kNanVariance},
    {"max", 1, kExtremum},
    {"min", 1, kExtremum},
    {"nanmax", 1, kExtremum},
    {"nanmin", 1, kExtremum},
    {"all", 1, kReduction},
    {"any", 1, kReduction},
    {"ptp", 1, kReduction},
    {"argmax", 1, kReduction},
    {"argmin", 1, kReduction},
    {"count_nonzero", 1, kAxis},
    {"average", 1, kAxis},
    {"append", 2, kAxis},
    {"delete", 1, kDelete},
    {"insert", 3, kAxis},
    {"resize", 1, kNewShape},
    {"rot90", 1, kRot90},
    {"rollaxis", 1, kRollaxis},
    {"hsplit", 1, kSections},
    {"vsplit", 1, kSections},
    {"dsplit", 1, kSections},
    {"compress", 2, kAxis},
    {"isin", 2, kIsin},
    {"intersect1d", 2, kIntersect},
    {"setdiff1d", 2, kUniqueGiven},
    {"setxor1d", 2, kUniqueGiven},
    {"fill_diagonal", 2, kWrap},
    {"diagflat", 1, kK},
    {"put_along_axis", 3, kAxis},
    {"polyder", 1, kOrder},
    {"polyint", 1, kOrder},
    {"vander", 1, kVander},
    {"nanmedian", 1, kMedian},
    {"nanquantile", 2, kAxis},
    {"nanpercentile", 2, kAxis},
    {"nanargmax", 1, kReduction},
    {"nanargmin", 1, kReduction},
    {"nancumsum", 1, kAxisDtype},
    {"nancumprod", 1, kAxisDtype},
    {"digitize", 2, kRight},
    {"histogram", 2, kRange},
    {"histogram_bin_edges", 2, kRange},
    {"partition", 1, kKth},
    {"argpartition", 1, kKth},
    {"trapezoid", 1, kTrapezoid},
    {"interp", 3, kInterp},
    {"unwrap", 1, kUnwrap},
    {"cross", 2, kCross},
    {"cov", 1, kCov},
    {"corrcoef", 1, kRowvar},
    {"packbits", 1, kAxis},
    {"unpackbits", 1, kAxisCount},
    {"tril_indices", 1, kTriangle},
    {"triu_indices", 1, kTriangle},
    {"tril_indices_from", 1, kK},
    {"triu_indices_from", 1, kK},
    {"diag_indices", 1, kNdim},
    {"unravel_index", 1, kShape},
    {"geomspace", 2, kNum},
    {"multigammaln", 1, kD},
    {"standardize", 1, kAxis},
    {"logmeanexp", 1, kAxis},
    {"segment_sum", 2, kSegments},
    {"segment_prod", 2, kSegments},
    {"segment_max", 2, kSegments},
    {"segment_min", 2, kSegments},
    {"collapse", 1, kCollapse},
    {"slice_in_dim", 1, kSliceInDim},
    {"index_in_dim", 1, kIndex},
    {"dynamic_slice_in_dim", 2, kSizeAxis},
    {"dynamic_update_slice_in_dim", 3, kAxis},
    {"integer_pow", 1, kPower},
    {"linalg.norm", 1, kNorm},
    {"linalg.vector_norm", 1, kNorm},
    {"linalg.matrix_norm", 1, kNorm},
    {"linalg.matrix_power", 1, kMatrixPower},
    {"median", 1, kMedian},
    {"quantile", 2, kAxis},
    {"percentile", 2, kAxis},
    {"logsumexp", 1, kAxis},
    {"softmax", 1, kAxis},
    {"log_softmax", 1, kAxis},
    {"glu", 1, kAxis},
    {"cumsum", 1, kAxisDtype},
    {"cumprod", 1, kAxisDtype},
    {"cummax", 1, kAxis},
    {"cummin", 1, kAxis},
    {"sort", 1, kAxis},
    {"argsort", 1, kAxis},
    {"top_k", 1, kTopK},
    {"flip", 1, kAxis},
    {"expand_dims", 1, kAxis},
    {"squeeze", 1, kAxis},
    {"transpose", 1, kAxes},
    {"swapaxes", 1, kAxis1Axis2},
    {"moveaxis", 1, kSourceDestination},
    {"reshape", 1, kShape},
    {"broadcast_to", 1, kShape},
    {"roll", 1, kRoll},
    {"repeat", 1, kRepeat},
    {"tile", 1, kReps},
    {"split", 1, kSplit},
    {"array_split", 1, kSplit},
    {"slice", 1, kSlice},
    {"diff", 1, kDiff},
    {"round", 1, kDecimals},
    {"nan_to_num", 1, kNanToNum},
    {"one_hot", 1, kClasses},
    {"tril", 1, kK},
    {"triu", 1, kK},
    {"diag", 1, kK},
    {"diagonal", 1, kDiagonal},
    {"trace", 1, kDiagonal},
    {"take", 2, kTake},
    {"take_along_axis", 2, kTakeAlong},
    {"dynamic_index_in_dim", 2, kIndexInDim},
    {"dynamic_update_index_in_dim", 3, kAxis},
    {"tensordot", 2, kAxes},
    {"linalg.tensorinv", 1, kInd},
    {"linalg.tensorsolve", 2, kAxes},
    {"allclose", 2, kTolerance},
    {"isclose", 2, kTolerance},
    {"array_equal", 2, kEqualNan},
    {"gelu", 1, kApproximate},
    {"elu", 1, kAlpha},
    {"celu", 1, kAlpha},
    {"leaky_relu", 1, kNegativeSlope},
    {"squareplus", 1, kB},
    {"eye", 2, kKDtype},
    {"tri", 2, kKDtype},
    {"linspace", 2, kNum},
    {"logspace", 2, kNum},
    {"zeros", 0, kShapeDtype},
    {"ones", 0, kShapeDtype},
    {"empty", 0, kShapeDtype},
    {"fft.fft", 1, kFourier},
    {"fft.ifft", 1, kFourier},
    {"fft.rfft", 1, kFourier},
    {"fft.irfft", 1, kFourier},
    {"fft.hfft", 1, kFourier},
    {"fft.ihfft", 1, kFourier},
    {"fft.fft2", 1, kFourierN},
    {"fft.ifft2", 1, kFourierN},
    {"fft.fftn", 1, kFourierN},
    {"fft.ifftn", 1, kFourierN},
    {"fft.rfft2", 1, kFourierN},
    {"fft.irfft2", 1, kFourierN},
    {"fft.rfftn", 1, kFourierN},
    {"fft.irfftn", 1, kFourierN},
    {"fft.fftshift", 1, kAxes},
    {"fft.ifftshift", 1, kAxes},
    {"random_split", 1, kCountKeys},
    {"random_bits", 1, kShape},
    {"random.uniform", 1, kShape},
    {"random.normal", 1, kShape},
    {"random.multivariate_normal", 3, kShape},
    {"random.orthogonal", 2, kShape},
    {"random.exponential", 1, kShape},
    {"random.gumbel", 1, kShape},
    {"random.laplace", 1, kShape},
    {"random.logistic", 1, kShape},
    {"random.cauchy", 1, kShape},
    {"random.maxwell", 1, kShape},
    {"random.lognormal", 2, kShape},
    {"random.rayleigh", 2, kShape},
    {"random.pareto", 2, kShape},
    {"random.wald", 2, kShape},
    {"random.geometric", 2, kShape},
    {"random.weibull_min", 3, kShape},
    {"random.double_sided_maxwell", 3, kShape},
    {"random.triangular", 4, kShape},
    {"random.gamma", 2, kShape},
    {"random.loggamma", 2, kShape},
    {"random.beta", 3, kShape},
    {"random.dirichlet", 2, kShape},
    {"random.chisquare", 2, kShape},
    {"random.f", 3, kShape},
    {"random.t", 2, kShape},
    {"random.generalized_normal", 2, kShape},
    {"random.ball", 3, kShape},
    {"random.poisson", 2, kShape},
    {"random.binomial", 3, kShape},
    {"random.rademacher", 1, kShape},
    {"random.randint", 1, kRandint},
    {"random.bernoulli", 2, kShape},
    {"random.truncated_normal", 3, kShape},
    {"random.categorical", 2, kCategorical},
    {"random.permutation", 2, kAxis},
    {"random.choice", 2, kChoice},
};

}  // namespace

const Positional* positional_of(std::string_view op) {
  for (const Positional& each : kAll)
    if (each.op == op) return &each;
  return nullptr;
}

std::span<const Positional> all_positional() { return kAll; }

}  // namespace shardlab::scenarios
