#!/usr/bin/env python3
"""Writes goldens/scipy.txt: what JAX gives for the programs of scipy_test.cpp.

    make_scipy_goldens.py > goldens/scipy.txt        (needs jax)
"""
from jax_goldens import *
import jax.scipy.linalg as scipy
import jax.scipy.ndimage as ndimage

run = lambda name, f, *args: show(name, jit(f)(*args))
total = lambda f: lambda *args: jnp.sum(jnp.sin(f(*args)))
both = lambda name, f, x: (run(name, f, x), run("grad." + name, grad(total(f)), x))

a = jnp.cos(jnp.arange(8 * 8.0) ** 2).reshape(8, 8)
spd = a @ a.T + 3 * jnp.eye(8)
batch = jnp.stack([a[:4, :4], 3 * a[4:, 4:], 20 * a[:4, 4:]])
x = jnp.linspace(0.05, 3.4, 16).reshape(8, 2)
v = jnp.linspace(-1, 2, 6)
w = jnp.arange(4.0) ** 2 - 1

def matrices():
    both("expm", scipy.expm, a)
    both("expm.batch", lambda t: scipy.expm(t), batch / 20)
    run("expm.squared", scipy.expm, batch / 2)
    run("expm.refused", lambda t: jnp.isnan(scipy.expm(1e9 * t)), a)
    run("expm.upper", lambda t: scipy.expm(jnp.triu(t), upper_triangular=True), a)
    run("lu_factor", lambda t: scipy.lu_factor(t), a)
    run("lu_factor.batch", lambda t: scipy.lu_factor(t), batch)
    for trans in (0, 1, 2):
        run(f"lu_solve.{trans}", lambda t, b: scipy.lu_solve(scipy.lu_factor(t), b, trans), a, x)
    run("lu_solve.complex", lambda t: jnp.abs(scipy.lu_solve(scipy.lu_factor(t + 1j * t.T), t[:, 0], 2)), a)
    run("lu_solve.batch", lambda t: scipy.lu_solve(scipy.lu_factor(t), t[..., :2]), batch)
    run("grad.lu_solve", grad(lambda t: jnp.sum(jnp.sin(scipy.lu_solve(scipy.lu_factor(t), x)))), a)
    run("pivots", lambda: lax.linalg.lu_pivots_to_permutation(jnp.array([[2, 1, 3, 3], [0, 3, 2, 3]], jnp.int32), 5))
    for lower in (False, True):
        both(f"cho_factor.{int(lower)}", lambda t: scipy.cho_factor(t @ t.T + 3 * jnp.eye(8), lower=lower)[0], a)
        run(f"cho_solve.{int(lower)}", lambda t, b: scipy.cho_solve(scipy.cho_factor(t, lower=lower), b), spd, x)
    run("polar", lambda t: scipy.polar(t), a)
    run("polar.left", lambda t: scipy.polar(t, side="left", method="svd"), a[:4])
    below, on_it, above = jnp.zeros(6).at[1:].set(jnp.sin(v[1:])), 3 + v, jnp.zeros(6).at[:-1].set(jnp.cos(v[:-1]))
    both("tridiagonal", lambda t: lax.linalg.tridiagonal_solve(below, t, above, jnp.stack([v, v * v], 1)), on_it)

def named():
    both("toeplitz", scipy.toeplitz, v)
    run("toeplitz.two", scipy.toeplitz, v, w)
    run("toeplitz.complex", lambda t: jnp.imag(scipy.toeplitz(t + 1j * t)), v)
    run("toeplitz.batch", lambda t: scipy.toeplitz(t, w), x)
    run("hankel", scipy.hankel, v)
    run("hankel.two", scipy.hankel, v, w)
    run("circulant", scipy.circulant, v)
    for mode in ("full", "valid", "same"): run("convolution_matrix." + mode, lambda t: scipy.convolution_matrix(t, 4, mode), v)
    run("companion", scipy.companion, v)
    run("fiedler", scipy.fiedler, v)
    run("leslie", scipy.leslie, v, v[1:])
    run("hilbert", lambda: scipy.hilbert(5))
    run("invhilbert", lambda: scipy.invhilbert(4))
    run("hadamard", lambda: scipy.hadamard(8))
    for kind in ("symmetric", "lower", "upper"): run("pascal." + kind, lambda: scipy.pascal(5, kind))
    run("helmert", lambda: scipy.helmert(5))
    run("helmert.full", lambda: scipy.helmert(5, full=True))
    run("dft", lambda: jnp.stack([scipy.dft(6).real, scipy.dft(6, "sqrtn").imag, scipy.dft(6, "n").real]))

def images(n, p):
    image = p(jnp.cos(jnp.arange(8 * 6.0) ** 2).reshape(8, 6))
    for method in ("nearest", "linear", "cubic", "lanczos3", "lanczos5", "cubic-pytorch", "area"):
        for shape in ((12, 9), (4, 3)):
            for antialias in (True, False):
                run(f"{n}{method}.{shape[0]}.{int(antialias)}", lambda t: jax.image.resize(t, shape, method, antialias), image)
    run(n + "grad.resize", grad(total(lambda t: jax.image.resize(t, (12, 4), "linear"))), image)
    run(n + "scale_and_translate", lambda t, s, d: jax.image.scale_and_translate(t, (8, 5), (0, 1), s, d, "linear"), image,
        jnp.array([0.8, 1.3]), jnp.array([1.5, -0.7]))
    places = [jnp.linspace(-3.2, 9.7, 10), jnp.linspace(7.1, -2.4, 10)]
    for mode in ("constant", "nearest", "wrap", "mirror", "reflect"):
        for order in (0, 1): run(f"{n}map.{mode}.{order}", lambda t: ndimage.map_coordinates(t, places, order, mode, 0.25), image)
    run(n + "map.whole", lambda t: ndimage.map_coordinates((9 * t).astype(jnp.int32), places, 1), image)
    run(n + "grad.map", grad(total(lambda t: ndimage.map_coordinates(t, places, 1, "wrap"))), image)

def lax_functions(n, p):
    x_, a_ = p(x), p(a)
    for axis in (0, 1):
        for reverse in (False, True):
            f = lambda t: lax.cumlogsumexp(t, axis=axis, reverse=reverse)
            run(f"{n}cumlogsumexp.{axis}.{int(reverse)}", f, x_)
            run(f"{n}grad.cumlogsumexp.{axis}.{int(reverse)}", grad(total(f)), x_)
    for bits in ((5, 10), (8, 7), (3, 2), (8, 23)): run(f"{n}reduce_precision.{bits[0]}.{bits[1]}", lambda t: lax.reduce_precision(t, *bits), a_ * 9)
    run(n + "reduce_precision.odd", lambda: jnp.nan_to_num(lax.reduce_precision(
        jnp.array([1e-5, -1e-5, 65519.0, 65520.0, -1e9, jnp.inf, jnp.nan, 0.1]), 5, 10), nan=-7, posinf=-8, neginf=-9))
    run(n + "broadcast", lambda t: lax.broadcast(t, (2, 3)), x_)
    run(n + "sort_key_val", lambda t: lax.sort_key_val(t, t * t, dimension=0), a_)
    run(n + "approx_max_k", lambda t: lax.approx_max_k(t, 3), a_)
    run(n + "approx_min_k", lambda t: lax.approx_min_k(t, 3, reduction_dimension=0), a_)
    run(n + "select_n", lambda t: lax.select_n(jnp.arange(64, dtype=jnp.int32).reshape(8, 8) % 3, t, -t, t * 2), a_)
    run(n + "ragged_dot", lambda t: lax.ragged_dot(t, jnp.stack([a[:, :3], a[:, 3:6], a[:, 5:8]]), jnp.array([3, 0, 4])), a_)
    run(n + "select", lambda t: jnp.select([t < -0.5, t < 0.5, t < 0.7], [t, t * 2, jnp.ones_like(t)], 9), a_)
    run(n + "choose", lambda t: jnp.choose(jnp.arange(8) - 2, [t, t * 2, -t], mode="wrap"), a_)
    run(n + "choose.clip", lambda t: jnp.choose(jnp.arange(8) - 2, [t, t * 2, -t], mode="clip"), a_)
    run(n + "along", lambda t: jnp.apply_along_axis(lambda r: jnp.stack([r.max(), r.sum(), r[0]]), 0, t), a_)
    run(n + "over", lambda t: jnp.apply_over_axes(jnp.sum, t, [0, 1]), a_)
    run(n + "piecewise", lambda t: jnp.piecewise(t, [t < 0, t > 0.3], [lambda u: -u, lambda u: u * u, lambda u: u + 2]), a_)
    run(n + "block", lambda t: jnp.block([[t, t[:, :2]], [t[:3], t[:3, 1:3]]]), a_)

def convolutions():
    image = jnp.sin(jnp.arange(2 * 5 * 6 * 3.0)).reshape(2, 5, 6, 3)
    kernel = jnp.cos(jnp.arange(3 * 2 * 3 * 4.0)).reshape(3, 2, 3, 4)
    for padding in ("SAME", "VALID"):
        for strides in ((1, 1), (2, 3)):
            run(f"conv_transpose.{padding}.{strides[0]}", lambda t: lax.conv_transpose(t, kernel, strides, padding), image)
    run("conv_transpose.pads", lambda t: lax.conv_transpose(t, kernel, (2, 1), [(1, 2), (0, 1)], rhs_dilation=(1, 2)), image)
    run("conv_transpose.kernel", lambda t: lax.conv_transpose(t, kernel.transpose(0, 1, 3, 2), (2, 2), "SAME", transpose_kernel=True), image)
    run("conv_transpose.1d", lambda t: lax.conv_transpose(t[:, 0], kernel[0], (2,), "SAME"), image)
    both("patches", lambda t: lax.conv_general_dilated_patches(t, (2, 3), (1, 2), "SAME"), image)
    run("patches.last", lambda t: lax.conv_general_dilated_patches(t, (2, 2), (2, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")), image)
    run("ravel_multi_index", lambda: jnp.stack([jnp.ravel_multi_index((jnp.arange(-2, 6), jnp.arange(8)), (4, 6), mode="wrap"),
                                               jnp.ravel_multi_index((jnp.arange(-2, 6), jnp.arange(8)), (4, 6), mode="clip", order="F")]))
    run("ix_", lambda: jnp.ix_(jnp.arange(3), jnp.arange(4.0)))

def signals(n, p):
    import jax.scipy.fft as scipy_fft, jax.scipy.signal as signal
    u, k = p(jnp.sin(jnp.arange(8 * 6.0)).reshape(8, 6)), jnp.cos(jnp.arange(3 * 4.0)).reshape(3, 4)
    for mode in ("full", "same", "valid"):
        run(f"{n}convolve.{mode}", lambda t: signal.convolve(t, k, mode), u)
        run(f"{n}convolve.turned.{mode}", lambda t: signal.convolve(k, t, mode), u)
        run(f"{n}fftconvolve.{mode}", lambda t: signal.fftconvolve(t, k, mode), u)
    for norm in (None, "ortho"):
        run(f"{n}dct.{norm}", lambda t: scipy_fft.dct(t, norm=norm), u)
        run(f"{n}idct.{norm}", lambda t: scipy_fft.idct(t, axis=0, norm=norm), u)
        run(f"{n}dctn.{norm}", lambda t: scipy_fft.dctn(t, norm=norm), u)
        run(f"{n}idctn.{norm}", lambda t: scipy_fft.idctn(t, axes=(0, 1), norm=norm), u)
    run(n + "dct.n", lambda t: scipy_fft.dct(t, n=9), u)
    run(n + "grad.dct", grad(total(scipy_fft.dct)), u)

matrices(); named()
for f in (images, lax_functions, signals):
    f("cut.", lambda t: on(t, "x"))
    f("whole.", lambda t: on(t))
convolutions()
