#include "runtime/exec/numpy.h"

#include "runtime/exec/op_call.h"

namespace shardlab {
namespace {

using detail::all;
using detail::on;
using detail::one;
using detail::two;

Attrs along(std::int64_t axis) { return Attrs{{"axis", axis}}; }
Attrs reduction(const AxisList& axis, bool keepdims) { return on(axis).set("keepdims", keepdims); }
std::vector<Array> made(std::string_view name, const Attrs& attrs, std::source_location where) {
  return apply(name, {}, attrs, Where::from(where));
}
Attrs triangle(std::int64_t n, std::int64_t k, std::optional<std::int64_t> m) { return Attrs{{"n", n}, {"k", k}, {"m", m.value_or(n)}}; }
void set_range(Attrs& attrs, const std::optional<std::pair<double, double>>& range) {
  if (!range) return;
  auto buffer = std::make_shared<Buffer>(2 * sizeof(double));
  buffer->as<double>()[0] = range->first;
  buffer->as<double>()[1] = range->second;
  attrs.set("range", std::make_shared<const Literal>(Literal{{DType::kFloat64, {2}}, std::move(buffer)}));
}
Attrs quantiles(const QuantileOptions& options) { return reduction(options.axis, options.keepdims).set("method", options.method); }

}  // namespace

Array append(const Operand& x, const Operand& values, const AxisList& axis) { return one("append", {x, values}, on(axis)); }
Array insert(const Operand& x, const Operand& indices, const Operand& values, const AxisList& axis) {
  return one("insert", {x, indices, values}, on(axis));
}
Array delete_(const Operand& x, const std::vector<std::int64_t>& indices, const AxisList& axis) {
  return one("delete", {x}, on(axis).set("obj", indices));
}
Array resize(const Operand& x, const Shape& new_shape) { return one("resize", {x}, {{"new_shape", new_shape}}); }
Array rot90(const Operand& x, std::int64_t k, const AxisList& axes) { return one("rot90", {x}, {{"k", k}, {"axes", axes.axes()}}); }
Array rollaxis(const Operand& x, std::int64_t axis, std::int64_t start) { return one("rollaxis", {x}, along(axis).set("start", start)); }
Array ediff1d(const Operand& x) { return one("ediff1d", {x}); }
Array matrix_transpose(const Operand& x) { return one("matrix_transpose", {x}); }
std::vector<Array> unstack(const Operand& x, std::int64_t axis) { return all("unstack", {x}, along(axis)); }
std::vector<Array> hsplit(const Operand& x, std::int64_t sections) { return all("hsplit", {x}, {{"indices_or_sections", sections}}); }
std::vector<Array> vsplit(const Operand& x, std::int64_t sections) { return all("vsplit", {x}, {{"indices_or_sections", sections}}); }
std::vector<Array> dsplit(const Operand& x, std::int64_t sections) { return all("dsplit", {x}, {{"indices_or_sections", sections}}); }
Array atleast_1d(const Operand& x) { return one("atleast_1d", {x}); }
Array atleast_2d(const Operand& x) { return one("atleast_2d", {x}); }
Array atleast_3d(const Operand& x) { return one("atleast_3d", {x}); }
std::vector<Array> broadcast_arrays(const Operands& arrays) { return all("broadcast_arrays", arrays.operands()); }
Array fliplr(const Operand& x) { return one("fliplr", {x}); }
Array flipud(const Operand& x) { return one("flipud", {x}); }

Array empty(const Shape& shape, std::optional<DType> dtype, std::source_location where) { return zeros(shape, dtype, {}, where); }
Array asarray(const Operand& x, std::optional<DType> dtype) {
  if (!x.is_array()) return full({}, x, dtype);
  return dtype ? astype(x, *dtype) : x.array();
}
Array geomspace(const Operand& start, const Operand& stop, std::int64_t num) { return one("geomspace", {start, stop}, {{"num", num}}); }
Array bartlett(std::int64_t n, std::source_location where) { return made("bartlett", {{"M", n}}, where).at(0); }
Array blackman(std::int64_t n, std::source_location where) { return made("blackman", {{"M", n}}, where).at(0); }
Array hamming(std::int64_t n, std::source_location where) { return made("hamming", {{"M", n}}, where).at(0); }
Array hanning(std::int64_t n, std::source_location where) { return made("hanning", {{"M", n}}, where).at(0); }
Array kaiser(std::int64_t n, double beta, std::source_location where) { return made("kaiser", {{"M", n}, {"beta", beta}}, where).at(0); }

std::vector<Array> diag_indices(std::int64_t n, std::int64_t ndim, std::source_location where) {
  return made("diag_indices", {{"n", n}, {"ndim", ndim}}, where);
}
std::vector<Array> diag_indices_from(const Operand& x) { return all("diag_indices_from", {x}); }
std::vector<Array> tril_indices(std::int64_t n, std::int64_t k, std::optional<std::int64_t> m, std::source_location where) {
  return made("tril_indices", triangle(n, k, m), where);
}
std::vector<Array> triu_indices(std::int64_t n, std::int64_t k, std::optional<std::int64_t> m, std::source_location where) {
  return made("triu_indices", triangle(n, k, m), where);
}
std::vector<Array> tril_indices_from(const Operand& x, std::int64_t k) { return all("tril_indices_from", {x}, {{"k", k}}); }
std::vector<Array> triu_indices_from(const Operand& x, std::int64_t k) { return all("triu_indices_from", {x}, {{"k", k}}); }
std::vector<Array> unravel_index(const Operand& places, const Shape& shape) { return all("unravel_index", {places}, {{"shape", shape}}); }

Array isin(const Operand& x, const Operand& others, bool invert) { return one("isin", {x, others}, {{"invert", invert}}); }
namespace {

std::vector<Operand> joined(std::vector<Operand> operands, const Operands& more) {
  for (const Operand& each : more.operands()) operands.push_back(each);
  return operands;
}

}  // namespace

Array select(const Operands& conditions, const Operands& choices, const Operand& otherwise) {
  if (conditions.operands().size() != choices.operands().size())
    throw_user_error("condlist must have length equal to choicelist ({} vs {})", conditions.operands().size(), choices.operands().size());
  std::vector<Operand> operands = joined(conditions.operands(), choices);
  operands.push_back(otherwise);
  return one("numpy.select", operands);
}
Array choose(const Operand& numbers, const Operands& choices, std::string_view mode) {
  return one("choose", joined({numbers}, choices), {{"mode", std::string(mode)}});
}
Array ravel_multi_index(const Operands& indices, const Shape& dims, std::string_view mode, char order) {
  return one("ravel_multi_index", indices.operands(), {{"dims", dims}, {"mode", std::string(mode)}, {"order", std::string(1, order)}});
}
std::vector<Array> ix_(const Operands& vectors) { return all("ix_", vectors.operands()); }
Array block(const std::vector<std::vector<Array>>& rows) {
  std::vector<Operand> made;
  for (const std::vector<Array>& row : rows) {
    std::vector<Operand> parts;
    for (const Array& each : row) parts.emplace_back(each.shape().size() < 2 ? one("atleast_2d", {Operand(each)}) : each);
    made.emplace_back(one("concatenate", parts, {{"axis", std::int64_t(-1)}}));
  }
  return one("concatenate", made, {{"axis", std::int64_t(-2)}});
}

Array fill_diagonal(const Operand& x, const Operand& values) { return one("fill_diagonal", {x, values}); }
Array diagflat(const Operand& x, std::int64_t k) { return one("diagflat", {x}, {{"k", k}}); }
Array put(const Operand& x, const Operand& indices, const Operand& values, std::string_view mode) {
  return one("put", {x, indices, values}, {{"mode", std::string(mode)}});
}
Array put_along_axis(const Operand& x, const Operand& indices, const Operand& values, const AxisList& axis) {
  return one("put_along_axis", {x, indices, values}, on(axis));
}
Array place(const Operand& x, const Operand& mask, const Operand& values) { return one("place", {x, mask, values}); }

Array convolve(const Operand& x, const Operand& y, std::string_view mode) { return one("convolve", {x, y}, {{"mode", std::string(mode)}}); }
Array correlate(const Operand& x, const Operand& y, std::string_view mode) {
  return one("correlate", {x, y}, {{"mode", std::string(mode)}});
}
Array polyfit(const Operand& x, const Operand& y, std::int64_t deg, const std::optional<Operand>& w, std::optional<double> rcond) {
  Attrs attrs;
  if (rcond) attrs.set("rcond", *rcond);
  std::vector<Operand> operands{x, y, Operand(Scalar{deg}, x.where())};
  if (w) operands.push_back(*w);
  return one("polyfit", operands, attrs);
}
Array polyval(const Operand& coefficients, const Operand& x) { return one("polyval", {coefficients, x}); }
Array polyadd(const Operand& p, const Operand& q) { return one("polyadd", {p, q}); }
Array polysub(const Operand& p, const Operand& q) { return one("polysub", {p, q}); }
Array polymul(const Operand& p, const Operand& q) { return one("polymul", {p, q}); }
std::pair<Array, Array> polydiv(const Operand& p, const Operand& q) { return two("polydiv", {p, q}); }
Array polyder(const Operand& p, std::int64_t m) { return one("polyder", {p}, {{"m", m}}); }
Array polyint(const Operand& p, std::int64_t m) { return one("polyint", {p}, {{"m", m}}); }
Array poly(const Operand& zeros) { return one("poly", {zeros}); }
Array vander(const Operand& x, std::optional<std::int64_t> columns, bool increasing) {
  Attrs attrs{{"increasing", increasing}};
  if (columns) attrs.set("N", *columns);
  return one("vander", {x}, attrs);
}

Array digitize(const Operand& x, const Operand& bins, bool right) { return one("digitize", {x, bins}, {{"right", right}}); }
std::pair<Array, Array> histogram(const Operand& x, const Operand& bins, const HistogramOptions& options) {
  std::vector<Operand> operands{x, bins};
  Attrs attrs{{"density", options.density}};
  if (options.weights) {
    attrs.set("weights", std::int64_t(operands.size()));
    operands.push_back(*options.weights);
  }
  set_range(attrs, options.range);
  return two("histogram", operands, attrs);
}
Array histogram_bin_edges(const Operand& x, const Operand& bins, std::optional<std::pair<double, double>> range) {
  Attrs attrs;
  set_range(attrs, range);
  return one("histogram_bin_edges", {x, bins}, attrs);
}
std::vector<Array> histogram2d(const Operand& x, const Operand& y, std::int64_t bins) {
  return all("histogram2d", {x, y}, {{"bins", bins}});
}
Array nanargmax(const Operand& x, const AxisList& axis, bool keepdims) { return one("nanargmax", {x}, reduction(axis, keepdims)); }
Array nanargmin(const Operand& x, const AxisList& axis, bool keepdims) { return one("nanargmin", {x}, reduction(axis, keepdims)); }
Array nancumsum(const Operand& x, const AxisList& axis) { return one("nancumsum", {x}, on(axis)); }
Array nancumprod(const Operand& x, const AxisList& axis) { return one("nancumprod", {x}, on(axis)); }
Array partition(const Operand& x, std::int64_t kth, std::int64_t axis) { return one("partition", {x}, along(axis).set("kth", kth)); }
Array argpartition(const Operand& x, std::int64_t kth, std::int64_t axis) { return one("argpartition", {x}, along(axis).set("kth", kth)); }
Array sort_complex(const Operand& x) { return one("sort_complex", {x}); }
Array lexsort(const Operands& keys, std::int64_t axis) { return one("lexsort", keys.operands(), along(axis)); }
Array quantile(const Operand& x, const Operand& q, const QuantileOptions& options) { return one("quantile", {x, q}, quantiles(options)); }
Array percentile(const Operand& x, const Operand& q, const QuantileOptions& options) {
  return one("percentile", {x, q}, quantiles(options));
}
Array nanquantile(const Operand& x, const Operand& q, const QuantileOptions& options) {
  return one("nanquantile", {x, q}, quantiles(options));
}
Array nanpercentile(const Operand& x, const Operand& q, const QuantileOptions& options) {
  return one("nanpercentile", {x, q}, quantiles(options));
}
Array nanmedian(const Operand& x, const ReduceOptions& options) { return one("nanmedian", {x}, reduction(options.axis, options.keepdims)); }

Array trapezoid(const Operand& y, double dx, std::int64_t axis) { return one("trapezoid", {y}, along(axis).set("dx", dx)); }
Array trapezoid(const Operand& y, const Operand& x, std::int64_t axis) { return one("trapezoid", {y, x}, along(axis)); }
std::vector<Array> gradient(const Operand& x) { return all("gradient", {x}); }
Array gradient(const Operand& x, const Operand& spacing, std::int64_t axis) { return one("gradient", {x, spacing}, along(axis)); }
Array interp(const Operand& x, const Operand& xp, const Operand& fp) { return one("interp", {x, xp, fp}); }
Array unwrap(const Operand& x, std::int64_t axis) { return one("unwrap", {x}, along(axis)); }
Array cross(const Operand& x, const Operand& y, std::int64_t axis) { return one("cross", {x, y}, along(axis)); }
Array cov(const Operand& x, bool rowvar) { return one("cov", {x}, {{"rowvar", rowvar}}); }
Array corrcoef(const Operand& x, bool rowvar) { return one("corrcoef", {x}, {{"rowvar", rowvar}}); }
Array vecdot(const Operand& x, const Operand& y, std::int64_t axis) { return one("vecdot", {x, y}, along(axis)); }
Array matvec(const Operand& x, const Operand& y) { return one("matvec", {x, y}); }
Array vecmat(const Operand& x, const Operand& y) { return one("vecmat", {x, y}); }

Array packbits(const Operand& x, const AxisList& axis) { return one("packbits", {x}, on(axis)); }
Array unpackbits(const Operand& x, const AxisList& axis) { return one("unpackbits", {x}, on(axis)); }
std::pair<Array, Array> frexp(const Operand& x) { return two("frexp", {x}); }
Array ldexp(const Operand& x, const Operand& y) { return one("ldexp", {x, y}); }

std::pair<Array, Array> divmod(const Operand& x, const Operand& y) { return two("divmod", {x, y}); }
std::pair<Array, Array> modf(const Operand& x) { return two("modf", {x}); }
Array float_power(const Operand& x, const Operand& y) { return one("float_power", {x, y}); }
Array rint(const Operand& x) { return one("rint", {x}); }
Array spacing(const Operand& x) { return one("spacing", {x}); }
bool iscomplexobj(const Operand& x) { return is_complex(x.is_array() ? x.array().type().dtype : full({}, x).type().dtype); }
bool isrealobj(const Operand& x) { return !iscomplexobj(x); }
Array iscomplex(const Operand& x) { return one("iscomplex", {x}); }
Array isreal(const Operand& x) { return one("isreal", {x}); }
Array array_equiv(const Operand& x, const Operand& y) { return one("array_equiv", {x, y}); }

Array gamma(const Operand& x) { return one("gamma", {x}); }
Array gammasgn(const Operand& x) { return one("gammasgn", {x}); }
Array factorial(const Operand& x) { return one("factorial", {x}); }
Array beta(const Operand& x, const Operand& y) { return one("beta", {x, y}); }
Array multigammaln(const Operand& x, std::int64_t d) { return one("multigammaln", {x}, {{"d", d}}); }

Array i0(const Operand& x) { return one("i0", {x}); }
Array i0e(const Operand& x) { return one("i0e", {x}); }
Array i1(const Operand& x) { return one("i1", {x}); }
Array i1e(const Operand& x) { return one("i1e", {x}); }
Array xlogy(const Operand& x, const Operand& y) { return one("xlogy", {x, y}); }
Array xlog1py(const Operand& x, const Operand& y) { return one("xlog1py", {x, y}); }
Array entr(const Operand& x) { return one("entr", {x}); }
Array rel_entr(const Operand& x, const Operand& y) { return one("rel_entr", {x, y}); }
Array kl_div(const Operand& x, const Operand& y) { return one("kl_div", {x, y}); }
Array logit(const Operand& x) { return one("logit", {x}); }
Array ndtr(const Operand& x) { return one("ndtr", {x}); }
Array log_ndtr(const Operand& x) { return one("log_ndtr", {x}); }
Array betaln(const Operand& x, const Operand& y) { return one("betaln", {x, y}); }
Array ndtri(const Operand& p) { return one("ndtri", {p}); }
Array spence(const Operand& x) { return one("spence", {x}); }
Array zeta(const Operand& x, const Operand& q) { return one("zeta", {x, q}); }
Array polygamma(const Operand& n, const Operand& x) { return one("polygamma", {n, x}); }
Array comb(const Operand& n, const Operand& k) { return one("comb", {n, k}); }
Array poch(const Operand& z, const Operand& m) { return one("poch", {z, m}); }
Array boxcox(const Operand& x, const Operand& lmbda) { return one("boxcox", {x, lmbda}); }
Array boxcox1p(const Operand& x, const Operand& lmbda) { return one("boxcox1p", {x, lmbda}); }
Array gammainc(const Operand& a, const Operand& x) { return one("gammainc", {a, x}); }
Array gammaincc(const Operand& a, const Operand& x) { return one("gammaincc", {a, x}); }
Array igamma(const Operand& a, const Operand& x) { return one("igamma", {a, x}); }
Array igammac(const Operand& a, const Operand& x) { return one("igammac", {a, x}); }
Array betainc(const Operand& a, const Operand& b, const Operand& x) { return one("regularized_incomplete_beta", {a, b, x}); }
Array igamma_grad_a(const Operand& a, const Operand& x) { return one("igamma_grad_a", {a, x}); }
Array random_gamma_grad(const Operand& a, const Operand& x) { return one("random_gamma_grad", {a, x}); }
Array expn(const Operand& n, const Operand& x) { return one("expn", {n, x}); }
Array exp1(const Operand& x) { return one("exp1", {x}); }
Array expi(const Operand& x) { return one("expi", {x}); }
Array sine_integral(const Operand& x) { return one("sine_integral", {x}); }
Array cosine_integral(const Operand& x) { return one("cosine_integral", {x}); }
Array fresnel_sine(const Operand& x) { return one("fresnel_sine", {x}); }
Array fresnel_cosine(const Operand& x) { return one("fresnel_cosine", {x}); }
Array dawsn(const Operand& x) { return one("dawsn", {x}); }
Array erfcx(const Operand& x) { return one("erfcx", {x}); }
Array wofz(const Operand& z) { return one("wofz", {z}); }
Array owens_t(const Operand& h, const Operand& a) { return one("owens_t", {h, a}); }
std::pair<Array, Array> sici(const Operand& x) {
  auto both = all("sici", {x});
  return {both[0], both[1]};
}
std::pair<Array, Array> fresnel(const Operand& x) {
  auto both = all("fresnel", {x});
  return {both[0], both[1]};
}
Array hyp1f1(const Operand& a, const Operand& b, const Operand& x) { return one("hyp1f1", {a, b, x}); }
Array hyp2f1(const Operand& a, const Operand& b, const Operand& c, const Operand& x) { return one("hyp2f1", {a, b, c, x}); }
Array bessel_jn(const Operand& z, std::int64_t v, std::int64_t n_iter) { return one("bessel_jn", {z}, {{"v", v}, {"n_iter", n_iter}}); }

Array log1mexp(const Operand& x) { return one("log1mexp", {x}); }
Array sparse_plus(const Operand& x) { return one("sparse_plus", {x}); }
Array sparse_sigmoid(const Operand& x) { return one("sparse_sigmoid", {x}); }
Array squareplus(const Operand& x, const Operand& b) { return one("squareplus", {x, b}); }

Array dot_product_attention(const Operand& query, const Operand& key, const Operand& value, const AttentionOptions& options) {
  std::vector<Operand> operands{query, key, value};
  Attrs attrs{{"is_causal", options.is_causal}};
  if (options.scale) attrs.set("scale", *options.scale);
  auto named = [&](std::string_view name, const std::optional<Operand>& operand) {
    if (!operand) return;
    attrs.set(name, std::int64_t(operands.size()));
    operands.push_back(*operand);
  };
  named("bias", options.bias);
  named("mask", options.mask);
  return one("dot_product_attention", operands, attrs);
}
Array standardize(const Operand& x, const AxisList& axis, double epsilon) {
  return one("standardize", {x}, on(axis).set("epsilon", epsilon));
}
Array logmeanexp(const Operand& x, const ReduceOptions& options) {
  return one("logmeanexp", {x}, reduction(options.axis, options.keepdims));
}
Array segment_sum(const Operand& rows, const Operand& segments, std::int64_t num_segments) {
  return one("segment_sum", {rows, segments}, {{"num_segments", num_segments}});
}
Array segment_prod(const Operand& rows, const Operand& segments, std::int64_t num_segments) {
  return one("segment_prod", {rows, segments}, {{"num_segments", num_segments}});
}
Array segment_max(const Operand& rows, const Operand& segments, std::int64_t num_segments) {
  return one("segment_max", {rows, segments}, {{"num_segments", num_segments}});
}
Array segment_min(const Operand& rows, const Operand& segments, std::int64_t num_segments) {
  return one("segment_min", {rows, segments}, {{"num_segments", num_segments}});
}

namespace masked {
namespace {
Array reduced(std::string_view name, const Operand& x, const Operand& where, Attrs attrs) {
  return one(name, {x, where}, attrs.set("where", std::int64_t(1)));
}
Attrs variance(const VarianceOptions& options) { return reduction(options.axis, options.keepdims).set("ddof", options.ddof); }
}  // namespace
Array sum(const Operand& x, const Operand& where, const ReduceOptions& options) {
  return reduced("sum", x, where, reduction(options.axis, options.keepdims));
}
Array prod(const Operand& x, const Operand& where, const ReduceOptions& options) {
  return reduced("prod", x, where, reduction(options.axis, options.keepdims));
}
Array mean(const Operand& x, const Operand& where, const ReduceOptions& options) {
  return reduced("mean", x, where, reduction(options.axis, options.keepdims));
}
Array any(const Operand& x, const Operand& where, const ReduceOptions& options) {
  return reduced("any", x, where, reduction(options.axis, options.keepdims));
}
Array all(const Operand& x, const Operand& where, const ReduceOptions& options) {
  return reduced("all", x, where, reduction(options.axis, options.keepdims));
}
Array var(const Operand& x, const Operand& where, const VarianceOptions& options) { return reduced("var", x, where, variance(options)); }
Array std_(const Operand& x, const Operand& where, const VarianceOptions& options) { return reduced("std", x, where, variance(options)); }
Array max(const Operand& x, const Operand& where, double initial, const ReduceOptions& options) {
  return reduced("max", x, where, reduction(options.axis, options.keepdims).set("initial", initial));
}
Array min(const Operand& x, const Operand& where, double initial, const ReduceOptions& options) {
  return reduced("min", x, where, reduction(options.axis, options.keepdims).set("initial", initial));
}
}  // namespace masked

}  // namespace shardlab
