"""Rarer functions of one or more operands: reductions, rearrangements, choices, matrices, signals, images, distributions."""
import shapes


def each(names, shapes_of_operands, *attributes):
    return [(name, shapes_of_operands, *([at] if at else [])) for name in names.split() for at in attributes or ({},)]


ALONG_EITHER = ({"axis": 0}, {"axis": 1})
# As in shapes.py.
OF_SHAPES = [
    *each("""median nanmedian ptp nansum nanprod nanmax nanmin nanmean nanstd nanvar std var argmin nanargmax nanargmin count_nonzero nancumsum
             nancumprod diff unwrap stats.sem standardize fft.dct fft.idct logmeanexp fft.hfft fft.ihfft average""", "mn", *ALONG_EITHER),
    *each("median nanmax nanmean std var ptp count_nonzero argmin", "mn"),
    *each("percentile", "mn", {"q": 30.0, "axis": 0}, {"q": 70.0, "axis": 1}),
    *each("quantile nanquantile", "mn", {"q": 0.3, "axis": 0}, {"q": 0.5, "axis": 1}),
    *each("partition argpartition", "mn", {"kth": 1, "axis": 0}, {"kth": 1, "axis": 1}),
    *each("""fliplr flipud rot90 ediff1d trace diag diagflat triu fft.fftshift fft.ifftshift fft.dctn fft.idctn nan_to_num corrcoef
             linalg.vector_norm linalg.norm linalg.matrix_norm sort_complex stats.rankdata""", "mn"),
    *each("""sinc entr log_ndtr log_sigmoid squareplus mish celu hard_silu selu leaky_relu relu6 sparse_plus i0e i1e""", "mn"),
    *each("erf_inv logit ndtri", "u:mn"), *each("digamma lgamma exp1 spence", "p:mn"), *each("multigammaln", "p:mn", {"d": 2}),
    *each("diag diagflat", "m", {}, {"k": 1}), *each("vander", "m", {}, {"N": 4}), *each("trace", "mkn"), *each("triu", "kmn", {"k": 1}),
    *each("swapaxes", "mkn", {"axis1": 0, "axis2": 2}), *each("moveaxis", "mkn", {"source": 0, "destination": 2}),
    *each("rollaxis", "mkn", {"axis": 2}), *each("resize", "mn", {"new_shape": [6, 8]}), *each("glu", "m8"), *each("glu", "8n", {"axis": 0}),
    *each("delete", "mn", {"obj": 1, "axis": 0}, {"obj": 2, "axis": 1}),
    *each("slice_in_dim", "mn", {"start_index": 1, "limit_index": 2, "axis": 1}), *each("index_in_dim", "mn", {"index": 1, "axis": 0}),
    *each("integer_pow", "mn", {"y": 3}), *each("fill_diagonal", "mm m", {"inplace": False}), *each("select_n", "b:mn mn mn"),
    *each("clamp", "mn mn mn"), *each("compress", "b:m mn", {"axis": 0, "size": 3}), *each("extract", "b:mn mn", {"size": 4}),
    *each("place", "mn b:mn k", {"inplace": False}), *each("array_equal allclose", "mn mn"), *each("array_equiv", "mn n"),
    *each("linspace", "m m", {"num": 5}), *each("linspace", "mn n", {"num": 4, "axis": 1}), *each("searchsorted", "u:k m", {"side": "right"}),
    *each("polysub", "m n"), *each("polyder polyint", "m"), *each("polyfit", "m m", {"deg": 2}), *each("polyfit", "m mk", {"deg": 2}),
    *each("matvec", "mk k"), *each("matvec", "lmk lk"), *each("vecmat", "k kn"), *each("vecmat", "lk lkn"), *each("vecdot", "mn mn"),
    *each("vecdot", "lmn mn"), *each("batch_matmul", "lmk lkn"), *each("linalg.block_diag", "mk nl"), *each("linalg.fiedler", "m"),
    *each("linalg.convolution_matrix", "m", {"n": 4}), *each("linalg.matrix_power", "kmm", {"n": 3}),
    *each("linalg.expm linalg.det linalg.inv linalg.slogdet linalg.eigvalsh", "q:kmm"), *each("linalg.norm", "mkn", {"axis": 1}, {"axis": [0, 2]}),
    *each("linalg.norm", "mn", {"ord": 1}), *each("linalg.vector_norm", "mn", {"axis": 0}, {"ord": 1, "axis": 1}),
    *each("linalg.matrix_norm linalg.svdvals linalg.matrix_rank linalg.pinv", "q:kmn"), *each("linalg.svdvals linalg.pinv", "q:mn"), *each("linalg.solve_triangular", "q:mm mn", {"lower": True}),
    *each("linalg.solve", "q:mm mn"), *each("linalg.solve", "q:kmm kmn"), *each("signal.convolve", "mn 33", {"mode": "same"}),
    *each("signal.convolve", "mk 3k"), *each("signal.fftconvolve", "m 5"), *each("signal.fftconvolve", "mn 33", {"mode": "same"}),
    *each("image.resize", "mn", {"shape": [8, 6], "method": "linear"}, {"shape": [8, 12], "method": "nearest"}, {"shape": [12, 16], "method": "cubic"}),
    *each("segment_sum segment_max segment_min", "mn i:m", {"num_segments": 8}), *each("bincount", "i:m", {"length": 8}),
    *each("segment_sum", "m i:m", {"num_segments": 8}), *each("histogram", "m", {"bins": 5}), *each("stats.dirichlet.logpdf", "u:m p:m"),
    *each("cumlogsumexp cummax cummin cumprod argsort", "mn", *ALONG_EITHER), *each("one_hot", "i:m", {"num_classes": 8}),
    *each("union1d setdiff1d setxor1d", "i:m i:n", {"size": 8}), *each("unique", "i:m", {"size": 6}), *each("flatnonzero argwhere", "b:mn", {"size": 5}),
    *each("packbits", "b:mn", *ALONG_EITHER), *each("approx_max_k approx_min_k", "mn", {"k": 2}), *each("gradient", "mn", *ALONG_EITHER),
    *each("fft.fft2 fft.ifft2 fft.rfft2 fft.fftn", "mn"), *each("fft.fft fft.ifft fft.rfft fft.irfft", "mn", *ALONG_EITHER),
    *each("conv_transpose", "km4 34n", {"strides": [2], "padding": "SAME", "dimension_numbers": ["NWC", "WIO", "NWC"]}),
    *each("conv_general_dilated_patches", "mn4", {"filter_shape": [3], "window_strides": [2], "padding": "SAME", "dimension_numbers": ["NWC", "WIO", "NWC"]}),
    *each("linalg.tensorinv", "q:mm", {"ind": 1}), *each("zeta", "p:mn p:mn"), *each("interp", "m u:k k"),
    *each("""stats.norm.logsf stats.norm.isf stats.cauchy.sf stats.cauchy.logcdf stats.laplace.pdf stats.logistic.sf stats.logistic.pdf
             stats.gumbel_l.pdf stats.gumbel_l.sf stats.gumbel_r.cdf stats.gumbel_r.logsf stats.expon.cdf stats.uniform.pdf""", "mn mn p:mn"),
    *each("""stats.norm.ppf stats.cauchy.ppf stats.cauchy.isf stats.logistic.ppf stats.gumbel_l.ppf stats.gumbel_r.ppf stats.expon.ppf
             stats.uniform.ppf""", "u:mn mn p:mn"),
    *each("""stats.gamma.logcdf stats.gamma.sf stats.gamma.pdf stats.chi2.cdf stats.chi2.pdf stats.pareto.cdf stats.pareto.logsf stats.t.pdf
             stats.gennorm.pdf stats.vonmises.pdf stats.expon.logsf""", "p:mn p:mn"),
    *each("""random.gamma random.loggamma random.chisquare random.t random.pareto random.rayleigh random.lognormal random.wald random.poisson
             random.dirichlet random.generalized_normal""", "key p:mn"), *each("random.beta random.f random.weibull_min", "key p:mn p:mn"),
    *each("random.geometric", "key u:mn"), *each("random.binomial", "key p:mn u:mn"), *each("random.multivariate_normal", "key m mm"),
    *each("stats.pareto.ppf", "u:mn p:mn"), *each("stats.beta.logsf stats.beta.logcdf", "u:mn p:mn p:mn"),
    *each("stats.bernoulli.cdf stats.geom.pmf", "i:mn u:mn"), *each("stats.poisson.cdf stats.poisson.pmf", "i:mn p:mn"),
    *each("stats.truncnorm.pdf stats.truncnorm.sf", "mn mn p:mn"), *each("stats.binom.pmf", "i:mn i:mn u:mn"),
]
NOT_DIFFERENTIABLE = frozenset("""argmin nanargmax nanargmin count_nonzero argpartition array_equal array_equiv allclose stats.rankdata bincount
                                  histogram searchsorted linalg.matrix_rank sort_complex fft.ihfft fft.fft2 fft.ifft2 fft.rfft2 fft.fftn fft.fft fft.ifft fft.rfft argsort
                                  one_hot union1d setdiff1d setxor1d unique flatnonzero argwhere packbits random.poisson random.geometric random.binomial stats.bernoulli.cdf stats.beta.logsf stats.beta.logcdf""".split())


def program(draw, name):
    return shapes.program(draw, name, OF_SHAPES, NOT_DIFFERENTIABLE)
