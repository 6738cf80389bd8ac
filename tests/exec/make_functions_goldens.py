#!/usr/bin/env python3
"""Writes goldens/functions.txt: what JAX gives for the programs of functions_test.cpp.

    make_functions_goldens.py > goldens/functions.txt        (needs jax)
"""
from jax_goldens import *
import jax.scipy.linalg as scipy
import jax.scipy.special as special

la = jnp.linalg
key = random.key(11, impl="threefry2x32")
raw = jax.random.key_data(key)
v = jnp.arange(12) ** 2 % 7 - 2.0                     # with equal elements
w = jnp.arange(16) % 5 * 1.5 - 2.0
x = jnp.linspace(0.05, 3.4, 16).reshape(8, 2)
shares = jnp.linspace(0.001, 0.999, 16).reshape(8, 2)
counts = jnp.arange(16).reshape(8, 2) % 5
ys = jnp.stack([jnp.sin(x[:, 0] * 2), x[:, 0] ** 2 - x[:, 0]], axis=1)
a = (jnp.cos(jnp.arange(8 * 8.0) ** 2).reshape(8, 8) + 3 * jnp.eye(8))
covariance = a[:4, :4] @ a[:4, :4].T

run = lambda name, f, *args: show(name, jit(f)(*args))

def special_functions(n, p):
    x_, s_, c_ = p(x), p(shares), p(counts)
    each = {"ndtri": (special.ndtri, s_), "spence": (special.spence, x_), "zeta": (lambda t: special.zeta(t + 1.25, x_), x_),
            "zeta_at": (lambda t: special.zeta(2.5, t), x_), "polygamma": (lambda t: special.polygamma(2, t + 1), x_),
            "polygamma_below": (lambda t: special.polygamma(1, 0.3 * t - 5.7), s_),
            "poch": (lambda t: special.poch(t, 1.5), x_), "boxcox": (lambda t: special.boxcox(x_, jnp.floor(t)), x_),
            "boxcox1p": (lambda t: special.boxcox1p(t, 0.5), x_)}
    for name, (f, at) in each.items():
        run(n + name, f, at)
        if name not in ("boxcox", "zeta", "spence"): run(n + "grad." + name, grad(lambda t: jnp.sum(jnp.sin(f(t)))), at)
    run(n + "comb", lambda k: special.comb(6, k), c_)
    run(n + "polygammas", lambda k: special.polygamma(k, x_), c_)

def sets(n, p):
    v_, w_ = p(v), p(w)
    for name in ("intersect1d", "setdiff1d", "setxor1d"):
        f = getattr(jnp, name)
        for size in (2, 9):
            run(f"{n}{name}.{size}", lambda s, t: f(s, t, size=size), v_, w_)
        run(f"{n}{name}.filled", lambda s, t: f(s, t, size=9, fill_value=-7), v_, w_)
    run(n + "mixed", lambda s, t: jnp.setxor1d(s.astype(jnp.int32), t, size=6), v_, w_)

def equations(n, p):
    a_, ys_, x_ = p(a), p(ys), p(x)
    run(n + "polyfit", lambda s, t: jnp.polyfit(s[:, 0], t[:, 0], 3), x_, ys_)
    run(n + "polyfit.all", lambda s, t: jnp.polyfit(s[:, 0], t, 2), x_, ys_)
    run(n + "polyfit.weighted", lambda s, t: jnp.polyfit(s[:, 0], t, 2, w=s[:, 1]), x_, ys_)
    run(n + "grad.polyfit", grad(lambda t: jnp.sum(jnp.sin(jnp.polyfit(x[:, 0], t, 2)))), ys_)
    run(n + "tensorinv", lambda t: la.tensorinv(t.reshape(4, 2, 8), 2), a_)
    run(n + "tensorsolve", lambda t: la.tensorsolve(t.reshape(4, 2, 2, 4), t[:, 0].reshape(4, 2)), a_)
    run(n + "tensorsolve.axes", lambda t: la.tensorsolve(t.reshape(4, 2, 8), t[:, 0], axes=(0, 1)), a_)
    run(n + "grad.tensorinv", grad(lambda t: jnp.sum(jnp.sin(la.tensorinv(t.reshape(4, 2, 8), 2)))), a_)
    run(n + "block_diag", lambda s, t: scipy.block_diag(s, t, t[0], 2.0), a_, x_)

def draws():
    run("mvn", lambda m, c: random.multivariate_normal(raw_key, m, c, (3, 5)), a[0, :4], covariance)
    run("mvn.batch", lambda m, c: random.multivariate_normal(raw_key, m, c), a[:, :4], covariance)
    run("mvn.grad", grad(lambda c: jnp.sum(jnp.sin(random.multivariate_normal(raw_key, a[0, :4], c, (3,)))) ), covariance)
    run("orthogonal", lambda: random.orthogonal(raw_key, 4, (2,)))
    run("orthogonal.wide", lambda: random.orthogonal(raw_key, 3, m=5))
    init = jax.nn.initializers
    for name in ("glorot_uniform", "glorot_normal", "lecun_uniform", "lecun_normal", "he_uniform", "he_normal"):
        run(name, lambda: getattr(init, name)()(raw_key, (3, 4, 6)))
    run("windows", lambda: init.he_normal(in_axis=0, out_axis=3)(raw_key, (6, 3, 3, 4)))
    run("batched", lambda: init.lecun_normal(in_axis=1, out_axis=2, batch_axis=0)(raw_key, (5, 6, 4), jnp.bfloat16))
    for mode in ("fan_out", "fan_geo_avg"):
        run(mode, lambda: init.variance_scaling(0.5, mode, "normal")(raw_key, (6, 8)))
    run("columns", lambda: init.orthogonal(2.0)(raw_key, (3, 3, 4)))
    run("rows", lambda: init.orthogonal(column_axis=0)(raw_key, (3, 6)))

raw_key = key
for f in (special_functions, sets, equations):
    f("cut.", lambda t: on(t, "x"))
    f("whole.", lambda t: on(t))
draws()
