#!/usr/bin/env python3
"""The JAX side of bench_ops: the same cases on 8 virtual CPU devices, the same output. Needs `pip install jax`.

    jax_side.py [CASES…]
"""
import os
import sys
import time

os.environ["JAX_NUM_CPU_DEVICES"] = "8"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy import special
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

RUNS_MAX, RUNS_MIN, SECONDS_MAX = 12, 3, 1.5
only = set(sys.argv[1:])
mesh = jax.make_mesh((8,), ("g",), axis_types=(AxisType.Auto,))
key = jax.random.key(0)


def cut(x):
    return jax.device_put(x, NamedSharding(mesh, P("g")))


def whole(x):
    return jax.device_put(x, NamedSharding(mesh, P()))


def normal(*shape):
    return cut(jax.random.normal(key, shape))


def bench(name, op, *operands):
    if only and name not in only:
        return
    run = jax.jit(op)
    jax.block_until_ready(run(*operands))
    seconds, begin = [], time.perf_counter()
    while len(seconds) < RUNS_MIN or (len(seconds) < RUNS_MAX and time.perf_counter() - begin < SECONDS_MAX):
        start = time.perf_counter()
        jax.block_until_ready(run(*operands))
        seconds.append(time.perf_counter() - start)
    seconds.sort()
    print(f"{name} {seconds[len(seconds) // 2]:.9f} {seconds[0]:.9f}", flush=True)


v, u, i = normal(1 << 22), cut(jax.random.uniform(key, (1 << 22,))), cut(jax.random.randint(key, (1 << 22,), 0, 1000))
m = normal(2048, 2048)
half, tall, wide = m.astype(jnp.bfloat16), normal(1 << 18, 16), normal(16, 1 << 18)
cube, heads, stack, image = normal(64, 256, 256), normal(16, 512, 64), normal(64, 128, 128), normal(16, 64, 64, 32)
waves, places = normal(8, 65536).astype(jnp.complex64), whole(jax.random.randint(key, (20000,), 0, 2048))
noise = whole(jax.random.normal(key, (256, 256)))
definite = noise @ noise.T + jnp.eye(256) * 256.0

bench("exp", jnp.exp, v)
bench("log", jnp.log, u)
bench("tanh", jnp.tanh, v)
bench("erf", special.erf, v)
bench("cos", jnp.cos, v)
bench("sqrt", jnp.sqrt, u)
bench("rsqrt", lax.rsqrt, u)
bench("sigmoid", jax.nn.sigmoid, v)
bench("gelu", jax.nn.gelu, v)
bench("expm1", jnp.expm1, v)
bench("log1p", jnp.log1p, u)
bench("erf_inv", special.erfinv, u)
bench("power", jnp.power, u, u)
bench("arctan2", jnp.arctan2, v, u)
bench("divide", jnp.divide, v, u)
bench("maximum", jnp.maximum, v, u)
bench("where", lambda a, b: jnp.where(a > 0, a, b), v, u)
bench("remainder_int32", lambda a: jnp.remainder(a, a + 1), i)
bench("floor_divide_int32", lambda a: jnp.floor_divide(a, a + 1), i)
bench("count_greater", lambda a, b: jnp.sum((a > b).astype(jnp.int32)), v, u)
bench("to_int32", lambda a: a.astype(jnp.int32), v)
bench("to_bfloat16", lambda a: a.astype(jnp.bfloat16), v)
bench("add_int8", lambda a: a.astype(jnp.int8) + (a + 1).astype(jnp.int8), i)
bench("gelu_bfloat16", jax.nn.gelu, half)
bench("multiply_complex", lambda a: a * a, waves)

bench("sum_columns", lambda a: jnp.sum(a, axis=0), m)
bench("sum_rows", lambda a: jnp.sum(a, axis=1), m)
bench("max_columns", lambda a: jnp.max(a, axis=0), m)
bench("max_rows", lambda a: jnp.max(a, axis=1), m)
bench("argmax_rows", lambda a: jnp.argmax(a, axis=1), m)
bench("argmax_columns", lambda a: jnp.argmax(a, axis=0), m)
bench("var_rows", lambda a: jnp.var(a, axis=1), m)
bench("logsumexp", lambda a: special.logsumexp(a, axis=1), m)
bench("softmax", jax.nn.softmax, m)
bench("sum_short_rows", lambda a: jnp.sum(a, axis=1), tall)
bench("sum_long_columns", lambda a: jnp.sum(a, axis=0), wide)
bench("cumsum_rows", lambda a: jnp.cumsum(a, 1), m)
bench("sort_rows", lambda a: jnp.sort(a, axis=1), m)
bench("argsort_rows", lambda a: jnp.argsort(a, axis=1), m)
bench("median_rows", lambda a: jnp.median(a, axis=1), m)
bench("top_k", lambda a: lax.top_k(a, 8)[0], m)
bench("sum_bfloat16", lambda a: jnp.sum(a, axis=1), half)
bench("max_pool", lambda a: lax.reduce_window(a, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"), image)
bench("bincount", lambda a: jnp.bincount((a * 100.0).astype(jnp.int32), length=100), u)
bench("searchsorted", lambda a: jnp.searchsorted(jnp.linspace(0.0, 1.0, 1000), a), u)

bench("transpose_add", lambda a: a.T + a, m)
bench("transpose_inner", lambda a: jnp.transpose(a, (0, 2, 1)), cube)
bench("flip_rows", lambda a: jnp.flip(a, 1), m)
bench("roll_whole", lambda a: jnp.roll(a, 3, 1), m)
bench("roll_cut", lambda a: jnp.roll(a, 3, 0), m)
bench("concatenate_rows", lambda a: jnp.concatenate([a, a], 1), m)
bench("concatenate_cut", lambda a: jnp.concatenate([a, a], 0), m)
bench("pad", lambda a: jnp.pad(a, 1), m)
bench("tile", lambda a: jnp.tile(a, (1, 2)), m)
bench("slice_strided", lambda a: a[:, 1:2000:2], m)
bench("take_rows", lambda a, b: jnp.take(a, b, axis=0), m, places)
bench("take_columns", lambda a, b: jnp.take(a, b[:2000], axis=1), m, places)
bench("scatter_add", lambda a, b: jnp.zeros((2048, 2048)).at[b[:2048]].add(a), m, places)

bench("matmul_bfloat16", lambda a: a @ a, half)
bench("matmul_batched", lambda a: a @ a, stack)
bench("matrix_vector", lambda a: a @ a[0], m)
bench("attention", lambda a: jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", a, a) / 8.0), a), heads)
bench("outer", lambda a: jnp.einsum("i,j->ij", a[:2048], a[2048:4096]), v)
bench("fft", jnp.fft.fft, waves)
bench("rfft", lambda a: jnp.real(jnp.fft.rfft(a)), m)
bench("fft2", lambda a: jnp.real(jnp.fft.fft2(a)), m)
bench("cholesky", jnp.linalg.cholesky, definite)
bench("solve", jnp.linalg.solve, definite, noise)
bench("eigvalsh", jnp.linalg.eigvalsh, definite)
bench("scan_2048", lambda a: lax.scan(lambda s, x: (s * 0.9 + x, jnp.sum(s)), jnp.zeros(2048), a)[0], m)
bench("fori_loop_1000", lambda a: lax.fori_loop(0, 1000, lambda _, s: s * 0.5 + 1.0, a), noise)
bench("categorical", lambda a: jax.random.categorical(jax.random.key(3), a), m)
bench("gamma", lambda a: jax.random.gamma(jax.random.key(3), a[:100000] + 0.5), u)
