#!/usr/bin/env python3
"""Writes goldens/stats.txt: what JAX gives for the distributions of stats_test.cpp.

    make_stats_goldens.py > goldens/stats.txt        (needs jax)
"""
from jax_goldens import *
import jax.scipy.special as special
import jax.scipy.stats as stats

PARAMETERS = {
    "bernoulli": (0.3,), "beta": (1.4, 2.3, 0.1, 1.3), "betabinom": (5.0, 1.2, 2.3), "binom": (5.0, 0.3), "cauchy": (0.1, 1.3),
    "chi2": (2.7, 0.1, 1.3), "expon": (0.1, 1.3), "gamma": (1.7, 0.1, 1.3), "gennorm": (1.6,), "geom": (0.3, -1.0), "gumbel_l": (0.1, 1.3),
    "gumbel_r": (0.1, 1.3), "laplace": (0.1, 1.3), "logistic": (0.1, 1.3), "nbinom": (2.5, 0.4), "norm": (0.1, 1.3),
    "pareto": (1.7, -1.2, 1.3), "poisson": (1.7,), "t": (2.7, 0.1, 1.3), "truncnorm": (-0.3, 1.1, 0.1, 1.3), "uniform": (0.1, 1.3),
    "vonmises": (1.7,), "wrapcauchy": (0.4,)}
DISCRETE = {"bernoulli", "betabinom", "binom", "geom", "nbinom", "poisson"}
MEMBERS = ("cdf", "isf", "logcdf", "logpdf", "logpmf", "logsf", "pdf", "pmf", "ppf", "sf")
wide = jnp.linspace(-0.4, 3.4, 16).reshape(8, 2)
inside = jnp.linspace(0.2, 0.9, 16).reshape(8, 2)
counts = jnp.arange(16).reshape(8, 2) % 8 - 1

tamed = lambda v: jnp.nan_to_num(v, nan=-7, posinf=9, neginf=-5)
for name, parameters in PARAMETERS.items():
    module = getattr(stats, name)
    for member in MEMBERS:
        f = getattr(module, member, None)
        if f is None: continue
        x = counts if name in DISCRETE and member not in ("ppf", "isf") else wide
        given = tuple(jnp.float32(each) for each in parameters)
        if name == "bernoulli" and member == "logpmf": given += (jnp.float32(0.0),)
        show(f"{name}.{member}", jit(lambda t, *p: tamed(f(t, *p)))(on(x, "x"), *given))
        # JAX has no derivatives of betainc by a and b, and fails on Gumbel's.
        if name == "beta" and member in ("cdf", "sf", "logcdf", "logsf") or name.startswith("gumbel"): continue
        at = jnp.arange(16) % (2 if name == "bernoulli" else 5) if name in DISCRETE else inside
        flat = (lambda v: jnp.sum(jnp.exp(v))) if member.startswith("log") else (lambda v: jnp.sum(jnp.sin(v)))
        if name in DISCRETE and member == "ppf": continue
        g = (lambda s: flat(f(at, *(p * s for p in given)))) if name in DISCRETE else (lambda s: flat(f(at * s, *(p * s for p in given))))
        show(f"grad.{name}.{member}", jit(grad(g))(jnp.float32(1)))

a = jnp.linspace(0.1, 6.0, 16).reshape(8, 2)
x = jnp.linspace(0.05, 7.0, 16)[::-1].reshape(8, 2)
shares = jnp.linspace(0.01, 0.99, 16).reshape(8, 2)
run = lambda name, f, *args: show(name, jit(f)(*args))
for name, f in (("gammainc", special.gammainc), ("gammaincc", special.gammaincc), ("igamma_grad_a", lax.igamma_grad_a),
                ("random_gamma_grad", lax.random_gamma_grad)):
    run(name, f, on(a, "x"), on(x))
for name, f in (("gammainc", special.gammainc), ("gammaincc", special.gammaincc)):
    for i in (0, 1): run(f"grad{i}.{name}", grad(lambda s, t: jnp.sum(jnp.sin(f(s, t))), argnums=i), on(a, "x"), on(x))
run("betainc", lambda s, t: special.betainc(s, 2.5, t), on(a, "x"), on(shares))
run("grad.betainc", grad(lambda t: jnp.sum(jnp.sin(special.betainc(a, 2.5, t)))), on(shares))
run("exp1", special.exp1, on(x, "x"))
for n in (0, 1, 2, 5):
    run(f"expn.{n}", lambda t: special.expn(n, t), on(x, "x"))
    if n > 0: run(f"grad.expn.{n}", grad(lambda t: jnp.sum(jnp.sin(special.expn(n, t)))), on(x, "x"))
run("expi", special.expi, on(x - 2.5, "x"))
run("grad.expi", grad(lambda t: jnp.sum(jnp.sin(special.expi(t)))), on(x - 2.5, "x"))
for name, f in {"hyp1f1": lambda t: special.hyp1f1(1.3, 2.7, t), "hyp2f1": lambda t: special.hyp2f1(1.3, 0.6, 2.7, t / 9)}.items():
    run(name, f, on(x, "x"))
    run("grad." + name, grad(lambda t: jnp.sum(jnp.sin(f(t)))), on(x, "x"))
run("bessel_jn", lambda t: special.bessel_jn(t + 6, v=3), on(x, "x"))
run("grad.bessel_jn", grad(lambda t: jnp.sum(jnp.sin(special.bessel_jn(t + 6, v=2)))), on(x, "x"))
half = jnp.bfloat16
run("half.gammainc", lambda s: special.gammainc(s, half(2)), on(a.astype(half)))
run("whole.gammainc", lambda s: special.gammainc(s, 3), on(jnp.arange(8) + 1))

vectors = jnp.sin(jnp.arange(8 * 3.0)).reshape(8, 3)
mean, covariance = jnp.array([0.1, -0.2, 0.3]), jnp.array([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]])
total = lambda f: lambda *args: jnp.sum(jnp.sin(f(*args)))
normal = stats.multivariate_normal
run("mvn.logpdf", lambda t: normal.logpdf(t, mean, covariance), on(vectors, "x"))
run("mvn.pdf", lambda t: normal.pdf(t, mean, 1.5), on(vectors, "x"))
run("mvn.scalar", lambda t: normal.logpdf(t, 0.5, 1.5), on(vectors, "x"))
run("grad.mvn", grad(total(lambda c: normal.logpdf(vectors, mean, c))), on(covariance))
simplex = jax.nn.softmax(vectors, axis=1).T
run("dirichlet.logpdf", lambda t: stats.dirichlet.logpdf(t, jnp.array([0.5, 1.5, 2.5])), on(simplex))
run("dirichlet.pdf", lambda t: stats.dirichlet.pdf(t[:2], jnp.array([0.5, 1.5, 2.5])), on(simplex))
run("multinomial.logpmf", lambda p: stats.multinomial.logpmf(jnp.array([3, 4, 5]), 12, p), on(jnp.array([0.2, 0.5, 0.3])))
run("multinomial.pmf", lambda p: stats.multinomial.pmf(jnp.array([3, 4, 5]), 11, p), on(jnp.array([0.2, 0.5, 0.3])))
run("sem", lambda t: stats.sem(t), on(vectors, "x"))
run("sem.all", lambda t: stats.sem(t, axis=None, ddof=0), on(vectors))
ties = jnp.floor(vectors * 3)
for method in ("average", "min", "max", "dense", "ordinal"): run("rankdata." + method, lambda t: stats.rankdata(t, method), on(ties))
