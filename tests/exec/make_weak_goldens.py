#!/usr/bin/env python3
"""Writes goldens/weak_types.txt: what types jax.numpy gives to calls whose operands are weak or not.

    make_weak_goldens.py > goldens/weak_types.txt        (needs jax)
A line is: op, operands, attributes, "->", the result's type as jax.typeof prints it. Operands: w, W weak float32, n weak int32, s bfloat16,
f float32, i int32, c int8, z complex64, b bool arrays; or a number."""
import jax, jax.numpy as jnp
from jax import lax, nn, random
import jax.scipy
from jax.scipy import special

OPERANDS = dict(w=jnp.full((4,), 1.5), W=jnp.full((4, 4), 1.5), n=jnp.full((4,), 2), s=jnp.ones(4, jnp.bfloat16), f=jnp.ones(4), i=jnp.arange(4),
                c=jnp.ones(4, jnp.int8), z=jnp.ones(4, jnp.complex64), b=jnp.ones(4, bool))
UNARY = """abs cbrt ceil conj floor imag real round rint sign sqrt trunc acos acosh asin atan cosh exp exp2 expm1 log log1p log2 log10 logistic
sin sinh tan tanh digamma erf erfc lgamma neg square rsqrt reciprocal positive fabs deg2rad rad2deg sinc angle nan_to_num isnan signbit zeros_like
ones_like relu silu softplus elu celu gelu selu mish relu6 hard_tanh hard_silu leaky_relu log_sigmoid soft_sign squareplus softmax log_softmax
logsumexp sum prod max min mean std var any all ptp median average nansum nanmax nanmean count_nonzero argmax argmin argsort sort cumsum cumprod
ravel squeeze flip stop_gradient diag entr i0 i0e i1 i1e logit ndtr log_ndtr ndtri gammasgn gamma factorial exp1 expi spence erf_inv log1mexp glu
logmeanexp sparse_plus sparse_sigmoid standardize spacing frexp unwrap gradient trapezoid cumlogsumexp"""
BINARY = """add sub mul div maximum minimum atan2 pow remainder floor_divide fmod nextafter hypot logaddexp logaddexp2 heaviside copysign fmax fmin
less equal dot inner outer kron xlogy xlog1py rel_entr kl_div beta betaln gammainc gammaincc zeta poch comb boxcox boxcox1p
float_power"""
OTHER = """add n 2.5;add b 1;add b 1.0;add b b;add b n;add b w;add c w;mul i 2.0;add i w;add z w;add f 2j;add i 2j;add 1 2;add 1 2.0;minimum 1.0 2.0;
select b 1.0 0.0;select b 1 0;select b f 0.0;select b w s;select b w w;select b n s;clip w 0 1;clip f 0 1;full_like f 1.0;full_like w 1.0;pow w 2;pow n 2;
pow w 0;pow n n;pow 2 n;pow w n;pow w i;pow 2.0 i;pow 2.0 n;pow i w;pow i n;pow n i;left_shift n 1;and n 1;xor i 1;take w i;take f n;ldexp w n;lcm n n;matmul W W;matmul W w;matmul w s;tril W;triu W;trace W;diagonal W;transpose W;
full 1.0 shape=3;full 1 shape=3;full f dtype=float32 shape=4;convert w dtype=float32;convert w dtype=bfloat16;convert f dtype=float32;sum w dtype=float32;
sin n;sqrt n;sin i;sin 2.0;meshgrid f f;arange 3;arange 3.0;linspace 0 1;zeros shape=3;ones shape=3;eye 3;identity 3;tri 3;fft.fft w;fft.rfft w;fft.irfft w;
searchsorted w w;bincount n length=13;fft.fftshift w;one_hot i num_classes=3;top_k w k=2;cummax w;expand_dims w axis=0;roll w shift=1;diff w;stack w w;stack w s;concatenate w w;
hstack w f;isclose w w;take_along_axis w i axis=0;bitcast w dtype=int32;modf w;divmod w w;divmod n n;vdot w w;vdot w s;
igamma w w;convolve w w;convolve w f;polyval w w;polyval f w;igammac w w;igamma_grad_a w w;random_gamma_grad w w;betainc w w w;betainc w f w;hyp1f1 w w w;hyp2f1 w w w w;interp w w w;interp f w w;
stats.norm.logpdf w;stats.beta.logpdf w w w;stats.gamma.logpdf w w;
stats.expon.logpdf w;stats.expon.pdf w;stats.expon.cdf w;stats.expon.logcdf w;stats.expon.sf w;stats.expon.logsf w;stats.expon.ppf w;
stats.gamma.sf w w;stats.gamma.logsf w w;stats.gennorm.logpdf w w;stats.gennorm.pdf w w;stats.gennorm.cdf w w;stats.gumbel_l.logpdf w;
stats.gumbel_l.pdf w;stats.gumbel_l.cdf w;stats.gumbel_l.logcdf w;stats.gumbel_l.sf w;stats.gumbel_l.logsf w;stats.gumbel_l.ppf w;
stats.gumbel_r.logpdf w;stats.gumbel_r.pdf w;stats.gumbel_r.cdf w;stats.gumbel_r.logcdf w;stats.gumbel_r.logsf w;stats.gumbel_r.ppf w;
stats.logistic.cdf w;stats.logistic.sf w;stats.pareto.logcdf w w;stats.uniform.logpdf w;stats.uniform.pdf w;stats.uniform.ppf w;
stats.vonmises.logpdf w w;stats.vonmises.pdf w w;stats.wrapcauchy.logpdf w w;stats.wrapcauchy.pdf w w;stats.binom.logpmf w w w;
stats.binom.pmf w w w;stats.poisson.logpmf w w;stats.poisson.pmf w w;stats.uniform.pdf f;stats.expon.logpdf w f;stats.vonmises.logpdf f w;
stats.uniform.cdf w;stats.gumbel_r.sf w;stats.poisson.cdf w w;
stats.cauchy.cdf w;fft.dct w;linalg.det W;linalg.inv W"""
RENAMED = dict(neg="negative", select="where", sub="subtract", mul="multiply", div="divide", convert="astype", **{"and": "bitwise_and", "xor": "bitwise_xor"})


def function(op):
    if op in ("conj", "clip", "sort", "pow"): return getattr(jnp, op)
    name = RENAMED.get(op, op)
    if name == "cummax": return lax.cummax
    if name == "bitcast": return lax.bitcast_convert_type
    for module in (jnp, nn, special, lax, jax.scipy):
        target = module
        for part in name.split("."): target = getattr(target, part, None)
        if target is not None: return target
    if op in ("isnan", "stop_gradient", "rsqrt", "digamma"): return getattr(lax, op)
    if op == "logistic": return nn.sigmoid
    raise ValueError(op)


def call(op, words):
    args = [OPERANDS[x] if x in OPERANDS else eval(x) for x in words if "=" not in x]
    named = dict(x.split("=") for x in words if "=" in x)
    named = {k: jnp.dtype(v) if k == "dtype" else int(v) for k, v in named.items()}
    if op in ("stack", "concatenate", "hstack"): args = [args]
    if op == "full": args = [named.pop("shape")] + args
    if op in ("zeros", "ones"): args = [named.pop("shape")]
    if op in ("convert", "bitcast"): args.append(named.pop("dtype"))
    if op == "one_hot": args.append(named.pop("num_classes"))
    result = function(op)(*args, **named)
    return result[0] if isinstance(result, (tuple, list)) else result


def main():
    lines = []
    for op in UNARY.split(): lines += [f"{op} w", f"{op} f"]
    for op in BINARY.split(): lines += [f"{op} w w", f"{op} w s", f"{op} f w", f"{op} s 1.5"]
    lines += [line.strip() for line in OTHER.replace("\n", "").split(";")]
    for line in lines:
        op, *words = line.split()
        print(f"{line} -> {jax.typeof(call(op, words))}")


main()
