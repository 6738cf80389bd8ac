// More of jax.numpy as functions: arrays edited, elements found and replaced, polynomials, counts, calculus. See ops.h for how they take
// operands, and docs/ops.md for shapes, dtypes and errors.
#pragma once

#include <functional>

#include <string>

#include "runtime/exec/ops.h"

namespace shardlab {

// --- Arrays longer, shorter, turned.

Array append(const Operand& x, const Operand& values, const AxisList& axis = AxisList::all());
Array insert(const Operand& x, const Operand& indices, const Operand& values, const AxisList& axis = AxisList::all());
// JAX's delete; that is a keyword here.
Array delete_(const Operand& x, const std::vector<std::int64_t>& indices, const AxisList& axis = AxisList::all());
Array resize(const Operand& x, const Shape& new_shape);
Array rot90(const Operand& x, std::int64_t k = 1, const AxisList& axes = {0, 1});
Array rollaxis(const Operand& x, std::int64_t axis, std::int64_t start = 0);
Array ediff1d(const Operand& x);
Array matrix_transpose(const Operand& x);
std::vector<Array> unstack(const Operand& x, std::int64_t axis = 0);
std::vector<Array> hsplit(const Operand& x, std::int64_t sections);
std::vector<Array> vsplit(const Operand& x, std::int64_t sections);
std::vector<Array> dsplit(const Operand& x, std::int64_t sections);
Array atleast_1d(const Operand& x);
Array atleast_2d(const Operand& x);
Array atleast_3d(const Operand& x);
std::vector<Array> broadcast_arrays(const Operands& arrays);

Array fliplr(const Operand& x);
Array flipud(const Operand& x);

// --- Made from numbers.

Array empty(const Shape& shape, std::optional<DType> dtype = {}, std::source_location where = std::source_location::current());  // zeros
// The operand as an array: itself, or a number's.
Array asarray(const Operand& x, std::optional<DType> dtype = {});
// `num` numbers of equal ratio.
Array geomspace(const Operand& start, const Operand& stop, std::int64_t num = 50);
// Windows of n elements.
Array bartlett(std::int64_t n, std::source_location where = std::source_location::current());
Array blackman(std::int64_t n, std::source_location where = std::source_location::current());
Array hamming(std::int64_t n, std::source_location where = std::source_location::current());
Array hanning(std::int64_t n, std::source_location where = std::source_location::current());
Array kaiser(std::int64_t n, double beta, std::source_location where = std::source_location::current());

// --- Where elements are: rows and columns, to index with.

std::vector<Array> diag_indices(std::int64_t n, std::int64_t ndim = 2, std::source_location where = std::source_location::current());
std::vector<Array> diag_indices_from(const Operand& x);
// On and below diagonal k of n x m elements (m = n by default), or on and above it.
std::vector<Array> tril_indices(std::int64_t n, std::int64_t k = 0, std::optional<std::int64_t> m = {},
                                std::source_location where = std::source_location::current());
std::vector<Array> triu_indices(std::int64_t n, std::int64_t k = 0, std::optional<std::int64_t> m = {},
                                std::source_location where = std::source_location::current());
std::vector<Array> tril_indices_from(const Operand& x, std::int64_t k = 0);
std::vector<Array> triu_indices_from(const Operand& x, std::int64_t k = 0);
// Index vectors of places counted in row-major order.
std::vector<Array> unravel_index(const Operand& places, const Shape& shape);

// --- Which elements. `size` is how many there are at most, which inside jit must be told, for shapes there do not depend on values;
// without it as many as there are.

std::vector<Array> nonzero(const Operand& x, std::optional<std::int64_t> size = {}, std::int64_t fill_value = 0);
Array flatnonzero(const Operand& x, std::optional<std::int64_t> size = {}, std::int64_t fill_value = 0);
Array argwhere(const Operand& x, std::optional<std::int64_t> size = {}, std::int64_t fill_value = 0);
Array compress(const Operand& condition, const Operand& x, std::optional<std::int64_t> size = {}, const AxisList& axis = AxisList::all(),
               double fill_value = 0);
Array extract(const Operand& condition, const Operand& x, std::optional<std::int64_t> size = {}, double fill_value = 0);
Array unique(const Operand& x, std::optional<std::int64_t> size = {}, std::optional<double> fill_value = {});
// The values in order; where each is first; of each element of x the place of its value; how often each value is there.
struct UniqueAll {
  Array values, indices, inverse_indices, counts;
};
UniqueAll unique_all(const Operand& x, std::optional<std::int64_t> size = {}, std::optional<double> fill_value = {});
Array unique_values(const Operand& x, std::optional<std::int64_t> size = {}, std::optional<double> fill_value = {});
std::pair<Array, Array> unique_inverse(const Operand& x, std::optional<std::int64_t> size = {}, std::optional<double> fill_value = {});
std::pair<Array, Array> unique_counts(const Operand& x, std::optional<std::int64_t> size = {}, std::optional<double> fill_value = {});
Array union1d(const Operand& x, const Operand& y, std::optional<std::int64_t> size = {}, std::optional<double> fill_value = {});
Array isin(const Operand& x, const Operand& others, bool invert = false);
Array intersect1d(const Operand& x, const Operand& y, std::optional<std::int64_t> size = {}, std::optional<double> fill_value = {});
Array setdiff1d(const Operand& x, const Operand& y, std::optional<std::int64_t> size = {}, std::optional<double> fill_value = {});
Array setxor1d(const Operand& x, const Operand& y, std::optional<std::int64_t> size = {}, std::optional<double> fill_value = {});
// Without the zeros at the front ("f") and at the back ("b"); outside jit, as its shape depends on values.
Array trim_zeros(const Operand& x, std::string_view trim = "fb");
// The places in an n x n matrix where what `mask` makes of ones is not 0.
std::pair<Array, Array> mask_indices(std::int64_t n, const std::function<Array(const Array&, std::int64_t)>& mask, std::int64_t k = 0,
                                     std::optional<std::int64_t> size = {}, std::source_location where = std::source_location::current());

// The choice of the first condition that holds, else the default.
Array select(const Operands& conditions, const Operands& choices, const Operand& otherwise = 0);
// Each element from the choice of its number; `mode` of numbers outside: clip or wrap.
Array choose(const Operand& numbers, const Operands& choices, std::string_view mode);
// Places counted through a shape; `mode` of indices outside: clip, wrap or ignore; `order` F: columns first.
Array ravel_multi_index(const Operands& indices, const Shape& dims, std::string_view mode, char order = 'C');
// Vectors, each along a dimension of its own.
std::vector<Array> ix_(const Operands& vectors);
// Rows of matrices side by side, the rows one below the other.
Array block(const std::vector<std::vector<Array>>& rows);

// --- Elements replaced.

Array fill_diagonal(const Operand& x, const Operand& values);
Array diagflat(const Operand& x, std::int64_t k = 0);
Array put(const Operand& x, const Operand& indices, const Operand& values, std::string_view mode = "");
Array put_along_axis(const Operand& x, const Operand& indices, const Operand& values, const AxisList& axis);
Array place(const Operand& x, const Operand& mask, const Operand& values);

// --- Polynomials, coefficients of the highest power first; signals. `mode`: full, same or valid.

Array convolve(const Operand& x, const Operand& y, std::string_view mode = "full");
Array correlate(const Operand& x, const Operand& y, std::string_view mode = "valid");
Array polyval(const Operand& coefficients, const Operand& x);
Array polyadd(const Operand& p, const Operand& q);
Array polysub(const Operand& p, const Operand& q);
Array polymul(const Operand& p, const Operand& q);
std::pair<Array, Array> polydiv(const Operand& p, const Operand& q);
Array polyder(const Operand& p, std::int64_t m = 1);
Array polyint(const Operand& p, std::int64_t m = 1);
Array poly(const Operand& zeros);
// Of coefficients, the highest power's first; complex, in no order. Leading zeros are left out, which needs values: inside jit pass
// strip_zeros false, and NaN stands for the roots that are then too many.
Array roots(const Operand& coefficients, bool strip_zeros = true);
// The polynomial of least squares.
Array polyfit(const Operand& x, const Operand& y, std::int64_t deg, const std::optional<Operand>& w = {}, std::optional<double> rcond = {});
Array vander(const Operand& x, std::optional<std::int64_t> columns = {}, bool increasing = false);

// --- Counting and ordering.

Array digitize(const Operand& x, const Operand& bins, bool right = false);
struct HistogramOptions {
  detail::ByNameOnly by_name{};
  std::optional<std::pair<double, double>> range = {};  // of the bins; that of the elements by default
  std::optional<Operand> weights = {};
  bool density = false;
};
// Counts and edges; `bins`: a number, or the edges.
std::pair<Array, Array> histogram(const Operand& x, const Operand& bins = 10, const HistogramOptions& options = {});
Array histogram_bin_edges(const Operand& x, const Operand& bins = 10, std::optional<std::pair<double, double>> range = {});
// Of points [n, d]: counts of d dimensions, and the edges along each; `bins` and `range` of each dimension, or one for all.
struct HistogramddOptions {
  detail::ByNameOnly by_name{};
  std::vector<std::pair<double, double>> range = {};
  std::optional<Operand> weights = {};
  bool density = false;
};
std::pair<Array, std::vector<Array>> histogramdd(const Operand& points, const std::vector<std::int64_t>& bins = {10},
                                                 const HistogramddOptions& options = {});
// Counts [x bins, y bins], and the edges along x and y.
std::vector<Array> histogram2d(const Operand& x, const Operand& y, std::int64_t bins = 10);
Array nanargmax(const Operand& x, const AxisList& axis = AxisList::all(), bool keepdims = false);
Array nanargmin(const Operand& x, const AxisList& axis = AxisList::all(), bool keepdims = false);
Array nancumsum(const Operand& x, const AxisList& axis = AxisList::all());
Array nancumprod(const Operand& x, const AxisList& axis = AxisList::all());
Array partition(const Operand& x, std::int64_t kth, std::int64_t axis = -1);
Array argpartition(const Operand& x, std::int64_t kth, std::int64_t axis = -1);
Array sort_complex(const Operand& x);
Array lexsort(const Operands& keys, std::int64_t axis = -1);  // the last key decides first
struct QuantileOptions {
  detail::ByNameOnly by_name{};
  AxisList axis = AxisList::all();
  bool keepdims = false;
  std::string method = "linear";  // lower, higher, nearest, midpoint
};
// q: one number, or a vector of them, which becomes the results' first dimension.
Array quantile(const Operand& x, const Operand& q, const QuantileOptions& options);
Array percentile(const Operand& x, const Operand& q, const QuantileOptions& options);
Array nanquantile(const Operand& x, const Operand& q, const QuantileOptions& options = {});
Array nanpercentile(const Operand& x, const Operand& q, const QuantileOptions& options = {});

// --- Calculus and geometry.

Array trapezoid(const Operand& y, double dx = 1, std::int64_t axis = -1);
Array trapezoid(const Operand& y, const Operand& x, std::int64_t axis = -1);
std::vector<Array> gradient(const Operand& x);
Array gradient(const Operand& x, const Operand& spacing, std::int64_t axis);
Array interp(const Operand& x, const Operand& xp, const Operand& fp);
Array unwrap(const Operand& x, std::int64_t axis = -1);
Array cross(const Operand& x, const Operand& y, std::int64_t axis = -1);
Array cov(const Operand& x, bool rowvar = true);
Array corrcoef(const Operand& x, bool rowvar = true);
Array vecdot(const Operand& x, const Operand& y, std::int64_t axis = -1);
Array matvec(const Operand& x, const Operand& y);
Array vecmat(const Operand& x, const Operand& y);

// --- Bits.

Array packbits(const Operand& x, const AxisList& axis = AxisList::all());
Array unpackbits(const Operand& x, const AxisList& axis = AxisList::all());
std::pair<Array, Array> frexp(const Operand& x);
Array ldexp(const Operand& x, const Operand& y);

// --- Elementwise, less often met.

std::pair<Array, Array> divmod(const Operand& x, const Operand& y);
std::pair<Array, Array> modf(const Operand& x);  // fraction and whole part
Array float_power(const Operand& x, const Operand& y);
Array rint(const Operand& x);
Array spacing(const Operand& x);
Array iscomplex(const Operand& x);
Array isreal(const Operand& x);
bool iscomplexobj(const Operand& x);  // by its dtype
bool isrealobj(const Operand& x);
Array array_equiv(const Operand& x, const Operand& y);

// --- Special functions.

Array gamma(const Operand& x);
Array gammasgn(const Operand& x);
Array factorial(const Operand& x);
Array beta(const Operand& x, const Operand& y);
Array multigammaln(const Operand& x, std::int64_t d);

Array i0(const Operand& x);
Array i0e(const Operand& x);
Array i1(const Operand& x);
Array i1e(const Operand& x);
Array xlogy(const Operand& x, const Operand& y);
Array xlog1py(const Operand& x, const Operand& y);
Array entr(const Operand& x);
Array rel_entr(const Operand& x, const Operand& y);
Array kl_div(const Operand& x, const Operand& y);
Array logit(const Operand& x);
Array ndtr(const Operand& x);
Array log_ndtr(const Operand& x);
Array betaln(const Operand& x, const Operand& y);
Array ndtri(const Operand& p);
Array spence(const Operand& x);
Array zeta(const Operand& x, const Operand& q);
Array polygamma(const Operand& n, const Operand& x);
Array comb(const Operand& n, const Operand& k);
Array poch(const Operand& z, const Operand& m);
Array boxcox(const Operand& x, const Operand& lmbda);
Array boxcox1p(const Operand& x, const Operand& lmbda);
// The shares of the gamma distribution below x and above it, and of the beta distribution. jax.lax has the first two by names of its own,
// in which the arguments count alike where they are cut otherwise from each other.
Array gammainc(const Operand& a, const Operand& x);
Array gammaincc(const Operand& a, const Operand& x);
Array igamma(const Operand& a, const Operand& x);
Array igammac(const Operand& a, const Operand& x);
Array betainc(const Operand& a, const Operand& b, const Operand& x);
// The derivative of gammainc by a, and that of a sample x.
Array igamma_grad_a(const Operand& a, const Operand& x);
Array random_gamma_grad(const Operand& a, const Operand& x);
// Exponential integrals.
Array expn(const Operand& n, const Operand& x);
Array exp1(const Operand& x);
Array expi(const Operand& x);
Array hyp1f1(const Operand& a, const Operand& b, const Operand& x);
Array hyp2f1(const Operand& a, const Operand& b, const Operand& c, const Operand& x);
// Si and Ci; S and C of Fresnel.
std::pair<Array, Array> sici(const Operand& x);
std::pair<Array, Array> fresnel(const Operand& x);
Array sine_integral(const Operand& x);
Array cosine_integral(const Operand& x);
Array fresnel_sine(const Operand& x);
Array fresnel_cosine(const Operand& x);
Array dawsn(const Operand& x);
Array erfcx(const Operand& x);
Array wofz(const Operand& z);  // complex: exp(-z^2) erfc(-i z)
Array owens_t(const Operand& h, const Operand& a);
// Bessel functions of the first kind of the orders 0 … v along a new leading dimension, by a recurrence from order `n_iter` down; no number
// at 0.
Array bessel_jn(const Operand& z, std::int64_t v, std::int64_t n_iter = 50);

// --- jax.nn and jax.ops.

Array log1mexp(const Operand& x);
Array sparse_plus(const Operand& x);
Array sparse_sigmoid(const Operand& x);
Array squareplus(const Operand& x, const Operand& b = 4.0);

struct AttentionOptions {
  detail::ByNameOnly by_name{};
  std::optional<Operand> bias = {}, mask = {};  // [batch, heads, queries, keys], or sizes of 1
  std::optional<double> scale = {};             // 1 / sqrt(width) by default
  bool is_causal = false;
};
// [batch, length, heads, width] each; fewer heads of keys and values serve groups of heads of queries.
Array dot_product_attention(const Operand& query, const Operand& key, const Operand& value, const AttentionOptions& options = {});
Array standardize(const Operand& x, const AxisList& axis = -1, double epsilon = 1e-5);
// Rows combined by the segment that each belongs to, [number of segments, …].
Array segment_sum(const Operand& rows, const Operand& segments, std::int64_t num_segments);
Array segment_prod(const Operand& rows, const Operand& segments, std::int64_t num_segments);
Array segment_max(const Operand& rows, const Operand& segments, std::int64_t num_segments);
Array segment_min(const Operand& rows, const Operand& segments, std::int64_t num_segments);

// --- JAX's where=: reductions over the elements where a mask holds; it broadcasts to x.

namespace masked {
Array sum(const Operand& x, const Operand& where, const ReduceOptions& options = {});
Array prod(const Operand& x, const Operand& where, const ReduceOptions& options = {});
Array mean(const Operand& x, const Operand& where, const ReduceOptions& options = {});
Array any(const Operand& x, const Operand& where, const ReduceOptions& options = {});
Array all(const Operand& x, const Operand& where, const ReduceOptions& options = {});
Array var(const Operand& x, const Operand& where, const VarianceOptions& options = {});
Array std_(const Operand& x, const Operand& where, const VarianceOptions& options = {});
// `initial` takes part, too: it is the result where the mask holds nowhere.
Array max(const Operand& x, const Operand& where, double initial, const ReduceOptions& options = {});
Array min(const Operand& x, const Operand& where, double initial, const ReduceOptions& options = {});
}  // namespace masked

}  // namespace shardlab
