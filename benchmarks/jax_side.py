#!/usr/bin/env python3
"""The JAX side of bench_runtime: the same cases on 8 virtual CPU devices, the same output. Needs `pip install jax`.

    jax_side.py [--process PROCESS PROCESSES PORT] [CASES…]

With --process it is one of PROCESSES processes at localhost:PORT that share the devices, over gloo.
"""
import itertools
import os
import sys
import time

process, processes, arguments = 0, 1, sys.argv[1:]
if arguments[:1] == ["--process"]:
    process, processes, port = (int(word) for word in arguments[1:4])
    arguments = arguments[4:]
only = set(arguments)
os.environ["JAX_NUM_CPU_DEVICES"] = str(8 // processes)
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

if processes > 1:
    jax.distributed.initialize(f"localhost:{port}", processes, process)
mesh = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Auto, AxisType.Auto))
flat = jax.make_mesh((8,), ("g",), axis_types=(AxisType.Auto,))


def on(*axes):
    return NamedSharding(mesh, P(*axes))


def values(shape, sharding):
    size = 1
    for n in shape:
        size *= n
    return jax.jit(lambda: jnp.sin(jnp.arange(size, dtype=jnp.float32) * 0.37).reshape(shape), out_shardings=sharding)()


def is_wanted(name):
    return not only or name in only


def timed(name, reps, inner, function, setup):
    """`setup` makes the arguments that `function` is timed with."""
    if not is_wanted(name):
        return
    inner = inner if processes == 1 else min(inner, 20)  # a collective over gloo takes milliseconds
    args = jax.block_until_ready(setup())
    for _ in range(2 if reps > 1 else 1):
        jax.block_until_ready(function(*args))
    seconds = []
    for _ in range(reps):
        begin = time.perf_counter()
        for _ in range(inner):
            jax.block_until_ready(function(*args))
        seconds.append((time.perf_counter() - begin) / inner)
    if process == 0:
        print(name, sorted(seconds)[len(seconds) // 2], min(seconds), flush=True)


def small():
    return (values((8, 8), on("a", "b")),)


timed("eager_sin_8x8", 7, 500, jnp.sin, small)
timed("eager_add_8x8", 7, 500, lambda x: x + x, small)
timed("eager_sum_8x8", 7, 200, jnp.sum, small)
timed("jit_sum_sin_8x8", 7, 200, jax.jit(lambda x: jnp.sum(jnp.sin(x))), small)


@jax.jit
def chain(x):
    for _ in range(50):
        x = jnp.sin(x) + 1.0
    return x


def large(count=1):
    return lambda: tuple(values((8192, 8192), on("a", "b")) for _ in range(count))


timed("jit_chain100_1M", 5, 1, chain, lambda: (values((1024, 1024), on("a", "b")),))
timed("sin_64M", 5, 1, jax.jit(jnp.sin), large())
timed("axpy_64M", 5, 1, jax.jit(lambda x, y: 2 * x + y), large(2))
timed("gelu_softmax_4M", 5, 1, jax.jit(lambda x: jax.nn.softmax(jax.nn.gelu(x), axis=1)), lambda: (values((4096, 1024), on("a", None)),))
timed("sum_64M", 5, 1, jax.jit(jnp.sum), large())

timed("dot_2048_no_comm", 5, 1, jax.jit(jnp.matmul), lambda: (values((2048, 2048), on("a", None)), values((2048, 2048), on(None, "b"))))
timed("dot_2048_psum", 5, 1, jax.jit(jnp.matmul, out_shardings=on("a", None)),
      lambda: (values((2048, 2048), on("a", "b")), values((2048, 2048), on("b", None))))
timed("conv_3x3_64", 5, 1, jax.jit(lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME")),
      lambda: (values((32, 64, 56, 56), on("a", None, "b")), values((64, 64, 3, 3), on())))

# As compiled identities: device_put between processes demands that all call, and within one it may hand out a copy that the array has
# cached on the host, without moving a byte.
to_ba, to_all = (jax.jit(lambda x: x, out_shardings=on(*axes)) for axes in (("b", "a"), (None, None)))
timed("reshard_ab_to_ba_64MB", 7, 1, to_ba,
      lambda: (values((4096, 4096), on("a", "b")),))
timed("replicate_16MB", 7, 1, to_all,
      lambda: (values((2048, 2048), on("a", "b")),))

for drawn in ("uniform", "normal"):
    draw = jax.jit(lambda key, drawn=drawn: getattr(jax.random, drawn)(key, (4096, 4096)), out_shardings=on("a", "b"))
    timed(drawn + "_16M", 5, 1, draw, lambda: (jax.random.key(42),))


def member(function, out):
    return jax.jit(jax.shard_map(function, mesh=flat, in_specs=P("g"), out_specs=out, check_vma=False))


def per_device(elements):
    return lambda: (values((8 * elements,), NamedSharding(flat, P("g"))),)


few, many, some = per_device(1 << 10), per_device(4 << 20), per_device(1 << 19)
add = member(lambda x: jax.lax.psum(x, "g"), P("g"))
timed("psum_4KB_each", 7, 50, add, few)
timed("psum_16MB_each", 5, 1, add, many)
timed("all_gather_2MB_each", 5, 1, member(lambda x: jax.lax.all_gather(x, "g", tiled=True), P()), some)
timed("psum_scatter_16MB_each", 5, 1, member(lambda x: jax.lax.psum_scatter(x, "g", tiled=True), P("g")), many)
timed("all_to_all_16MB_each", 5, 1, member(lambda x: jax.lax.all_to_all(x, "g", 0, 0, tiled=True), P("g")), many)
timed("ppermute_16MB_each", 5, 1, member(lambda x: jax.lax.ppermute(x, "g", [(i, (i + 1) % 8) for i in range(8)]), P("g")), many)


def predict(params, inputs):
    for W, b in params:
        outputs = jnp.dot(inputs, W) + b
        inputs = jnp.maximum(outputs, 0)
    return outputs


def squares_loss(params, batch):
    return jnp.mean(jnp.sum((predict(params, batch[0]) - batch[1]) ** 2, axis=-1))


def softmax_loss(params, batch):
    outputs = predict(params, batch[0])
    return -jnp.mean(jnp.sum((outputs - jax.scipy.special.logsumexp(outputs, 1, keepdims=True)) * batch[1], axis=1))


@jax.jit
def step(params, batch):
    loss, gradients = jax.value_and_grad(softmax_loss)(params, batch)
    return [(W - 1e-5 * dW, b - 1e-5 * db) for (W, b), (dW, db) in zip(params, gradients)], loss


def network(name, width, reps, function):
    sizes = (784, width, width, width, 10)

    def run(how, w_specs, b_specs, batch_spec):
        def setup():
            params = [(values((n, m), NamedSharding(mesh, w)), values((m,), NamedSharding(mesh, b)))
                      for n, m, w, b in zip(sizes[:-1], sizes[1:], w_specs, b_specs)]
            return params, [values((width, sizes[i]), NamedSharding(mesh, batch_spec)) for i in (0, -1)]

        timed(name + how, reps, 1, function, setup)

    whole = P()
    run("_dp", [whole] * 4, [whole] * 4, P(("a", "b")))
    run("_dp_tp", [whole, P(None, "b"), P("b", None), whole], [whole, P("b"), whole, whole], P("a"))


gradient = jax.jit(jax.grad(squares_loss))
network("network_1024", 1024, 5, gradient)
if only & {"network_8192_dp", "network_8192_dp_tp"}:
    network("network_8192", 8192, 1, gradient)
network("mlp_step", 1024, 5, step)

LAYERS = 12


def layers_loss(w, x):
    for i in range(LAYERS):
        q = x @ w[3 * i]
        scores = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, q) / 8.0)
        x = x + jnp.einsum("bqk,bkd->bqd", scores, q)
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        y = centred / jnp.sqrt(jnp.mean(centred ** 2, axis=-1, keepdims=True) + 1e-5)
        x = x + jax.nn.gelu(y @ w[3 * i + 1]) @ w[3 * i + 2]
    return jnp.mean(x ** 2)


def layers_step(rate):
    def step(w, x):
        value, gradients = jax.value_and_grad(layers_loss)(w, x)
        return [a - rate * g for a, g in zip(w, gradients)], value

    return jax.jit(step)


def layers():
    w = [values(shape, on(*axes)) for _ in range(LAYERS)
         for shape, axes in (((64, 64), (None, "b")), ((64, 256), (None, "b")), ((256, 64), ("b", None)))]
    return w, values((32, 16, 64), on("a"))


timed("layers_12", 9, 1, layers_step(1e-3), layers)
rates = itertools.count(1)
timed("layers_12_first_call", 3, 1, lambda w, x: layers_step(1e-3 / next(rates))(w, x), layers)

slab_z, slab_xy = P(None, "g"), P(None, None, "g")


def on_each(function, spec):
    return jax.shard_map(function, mesh=flat, in_specs=spec, out_specs=spec, check_vma=False)


@jax.jit
def fft3(x):
    z = on_each(jnp.fft.fft, slab_z)(x)
    return on_each(lambda v: jnp.fft.fft2(v, axes=(0, 1)), slab_xy)(jax.lax.with_sharding_constraint(z, NamedSharding(flat, slab_xy)))


def cube():
    return (values((128, 128, 128), NamedSharding(flat, slab_z)).astype(jnp.complex64),)


timed("fft3_128_slab", 5, 1, fft3, cube)
timed("fft3_128_plain", 5, 1, jax.jit(jnp.fft.fftn, out_shardings=NamedSharding(flat, slab_z)), cube)
