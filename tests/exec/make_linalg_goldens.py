#!/usr/bin/env python3
"""Writes goldens/linalg.txt: what JAX gives for the programs of linalg_test.cpp.

    make_linalg_goldens.py > goldens/linalg.txt        (needs jax)
"""
from jax_goldens import *
import jax.scipy.linalg as scipy
from jax.lax import linalg as primitives

la = jnp.linalg
x = ((jnp.arange(4 * 6 * 6) ** 2 % 97 * 13 % 101 - 50.25) / 40.0).reshape(4, 6, 6)
positive = x @ jnp.swapaxes(x, -1, -2) + jnp.eye(6)
tall, wide = x[:, :, :4], x[:, :4]
b = jnp.cos(jnp.arange(4 * 6 * 3, dtype=jnp.float32)).reshape(4, 6, 3)
z = x[:, :4, :4] + 1j * jnp.swapaxes(x[:, :4, :4], -1, -2)

# What is unique: up to the signs of vectors, which products hide.
def programs(place):
    x_, p_, t_, w_, b_, z_ = (place(v) for v in (x, positive, tall, wide, b, z))
    run = lambda name, f, *args: show(name, jit(f)(*args))
    yield lambda n: run(n + "cholesky", la.cholesky, p_)
    yield lambda n: run(n + "upper", lambda v: la.cholesky(v, upper=True), p_)
    yield lambda n: run(n + "lu", primitives.lu, x_)
    yield lambda n: run(n + "qr", la.qr, t_)
    yield lambda n: run(n + "complete", lambda v: la.qr(v, mode="complete")[1], t_)
    yield lambda n: run(n + "wide", la.qr, w_)
    yield lambda n: run(n + "eigvalsh", la.eigvalsh, x_)
    yield lambda n: run(n + "projector", lambda v: (lambda e: e[1] @ (jnp.tanh(e[0])[..., None] * jnp.swapaxes(e[1], -1, -2)))(la.eigh(v)), x_)
    yield lambda n: run(n + "svdvals", la.svdvals, w_)
    yield lambda n: run(n + "polar", lambda v: (lambda s: s[0] @ s[2])(la.svd(v, full_matrices=False)), t_)
    yield lambda n: run(n + "solve", la.solve, x_, b_)
    yield lambda n: run(n + "inv", la.inv, x_)
    yield lambda n: run(n + "det", la.det, x_)
    yield lambda n: run(n + "det3", lambda v: la.det(v[:, :3, :3]), x_)
    yield lambda n: run(n + "slogdet", lambda v: tuple(la.slogdet(v)), x_)
    yield lambda n: run(n + "pinv", la.pinv, t_)
    yield lambda n: run(n + "rank", la.matrix_rank, t_)
    yield lambda n: run(n + "cond", la.cond, x_)
    yield lambda n: run(n + "triangular", lambda v, r: scipy.solve_triangular(v + 4 * jnp.eye(6), r, lower=True, trans=1), x_, b_)
    yield lambda n: run(n + "power", lambda v: la.matrix_power(v, -2), x_)
    yield lambda n: run(n + "nuclear", lambda v: la.norm(v, ord="nuc", axis=(1, 2)), t_)
    yield lambda n: run(n + "spectral", lambda v: la.norm(v, ord=2, axis=(1, 2)), t_)
    yield lambda n: run(n + "complex", lambda v: jnp.abs(la.inv(v)), z_)
    yield lambda n: run(n + "hermitian", la.eigvalsh, z_)
    # Matrices that need not be Hermitian; sums, as nothing orders eigenvalues.
    yield lambda n: run(n + "eigvals", la.eigvals, x_)
    yield lambda n: run(n + "eig", lambda v: (lambda e: e[1] @ (jnp.sin(e[0])[..., None] * la.inv(e[1])))(la.eig(v)), x_)
    yield lambda n: run(n + "complex_eigvals", la.eigvals, z_)
    yield lambda n: run(n + "roots", lambda v: jnp.roots(v[0, 0], strip_zeros=False), x_)
    yield lambda n: run(n + "sqrtm", lambda v: scipy.sqrtm(v[1] + 9 * jnp.eye(6)), x_)
    # Derivatives.
    for name, f, v in (("cholesky", lambda v: jnp.sum(jnp.sin(la.cholesky(v))), p_),
                       ("logdet", lambda v: jnp.sum(la.slogdet(v)[1]), x_),
                       ("solve", lambda v: jnp.sum(jnp.sin(la.solve(v, b_))), x_),
                       ("qr", lambda v: jnp.sum(jnp.sin(la.qr(v)[0]) + jnp.sum(la.qr(v)[1])), t_),
                       ("complete", lambda v: jnp.sum(jnp.sin(la.qr(v, mode="complete")[0])), t_),
                       ("values", lambda v: jnp.sum(jnp.tanh(la.eigvalsh(v))), x_),
                       ("projector", lambda v: jnp.sum(jnp.sin((lambda e: e[1] @ (jnp.tanh(e[0])[..., None] * jnp.swapaxes(e[1], -1, -2)))(la.eigh(v)))), x_),
                       ("eigvals", lambda v: jnp.sum(jnp.sin(la.eigvals(v).real) * jnp.cosh(la.eigvals(v).imag)), x_),
                       ("nuclear", lambda v: jnp.sum(la.svdvals(v)), w_),
                       ("polar", lambda v: jnp.sum(jnp.sin((lambda s: s[0] @ s[2])(la.svd(v, full_matrices=False)))), t_)):
        yield lambda n, name=name, f=f, v=v: run(n + "grad." + name, grad(f), v)
    yield lambda n: run(n + "batched", vmap(lambda r: la.solve(x[0], r)), b_)

for each in programs(lambda v: on(v, "x")): each("batch.")            # the batch cut in four
for each in programs(lambda v: on(v, None, "y")): each("rows.")        # the matrices' rows cut in two: whole for the decomposition
show("lstsq", [v for v in la.lstsq(tall[0], b[0])])
