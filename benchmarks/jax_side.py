#!/usr/bin/env python3
"""The JAX side of bench_runtime, on 8 virtual CPU devices: the same cases, the same output. Needs `pip install jax`."""
import json
import os
import sys
import time

os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

mesh = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Auto, AxisType.Auto))
only = set(sys.argv[1:])
results = {}


def on(*axes):
    return NamedSharding(mesh, P(*axes))


def values(shape, sharding):
    size = 1
    for n in shape:
        size *= n
    return jax.device_put(jnp.sin(jnp.arange(size, dtype=jnp.float32) * 0.37).reshape(shape), sharding)


def is_wanted(name):
    return not only or name in only


def timed(name, reps, inner, run):
    if not is_wanted(name):
        return
    jax.block_until_ready(run())
    if reps > 1:
        jax.block_until_ready(run())
    seconds = []
    for _ in range(reps):
        begin = time.perf_counter()
        for _ in range(inner):
            jax.block_until_ready(run())
        seconds.append((time.perf_counter() - begin) / inner)
    results[name] = {"median_s": sorted(seconds)[len(seconds) // 2], "min_s": min(seconds), "reps": reps * inner}


small = values((8, 8), on("a", "b"))
timed("eager_sin_8x8", 7, 500, lambda: jnp.sin(small))
timed("eager_add_8x8", 7, 500, lambda: small + small)
timed("eager_sum_8x8", 7, 200, lambda: jnp.sum(small))
sum_sin = jax.jit(lambda x: jnp.sum(jnp.sin(x)))
timed("jit_sum_sin_8x8", 7, 200, lambda: sum_sin(small))


@jax.jit
def chain(x):
    for _ in range(50):
        x = jnp.sin(x) + 1.0
    return x


million = values((1024, 1024), on("a", "b"))
timed("jit_chain100_1M", 5, 1, lambda: chain(million))
large = values((8192, 8192), on("a", "b"))
jit_sin, axpy, jit_sum = jax.jit(jnp.sin), jax.jit(lambda x, y: 2 * x + y), jax.jit(jnp.sum)
timed("sin_64M", 5, 1, lambda: jit_sin(large))
timed("axpy_64M", 5, 1, lambda: axpy(large, large))
timed("sum_64M", 5, 1, lambda: jit_sum(large))
del large
dot = jax.jit(jnp.matmul)
left, right = values((2048, 2048), on("a", None)), values((2048, 2048), on(None, "b"))
timed("dot_2048_no_comm", 5, 1, lambda: dot(left, right))
dot_psum = jax.jit(jnp.matmul, out_shardings=on("a", None))
left_ab, right_b = values((2048, 2048), on("a", "b")), values((2048, 2048), on("b", None))
timed("dot_2048_psum", 5, 1, lambda: dot_psum(left_ab, right_b))


def loss(params, batch):
    inputs, targets = batch
    for W, b in params:
        outputs = jnp.dot(inputs, W) + b
        inputs = jnp.maximum(outputs, 0)
    return jnp.mean(jnp.sum((outputs - targets) ** 2, axis=-1))


def networks(name, width, reps):
    sizes = (784, width, width, width, 10)
    gradient = jax.jit(jax.grad(loss))

    def run(how, w_specs, b_specs, batch_spec):
        if not is_wanted(name + how):
            return
        params = [(values((n, m), NamedSharding(mesh, w)), values((m,), NamedSharding(mesh, b)))
                  for n, m, w, b in zip(sizes[:-1], sizes[1:], w_specs, b_specs)]
        batch = [values((width, sizes[i]), NamedSharding(mesh, batch_spec)) for i in (0, -1)]
        timed(name + how, reps, 1, lambda: gradient(params, batch)[0][0])

    whole = P()
    run("_dp", [whole] * 4, [whole] * 4, P(("a", "b")))
    run("_dp_tp", [whole, P(None, "b"), P("b", None), whole], [whole, P("b"), whole, whole], P("a"))


networks("network_1024", 1024, 5)
if only & {"network_8192_dp", "network_8192_dp_tp"}:
    networks("network_8192", 8192, 1)

conv = jax.jit(lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME"))
pictures, kernels = values((32, 64, 56, 56), on("a", None, "b")), values((64, 64, 3, 3), on())
timed("conv_3x3_64", 5, 1, lambda: conv(pictures, kernels))

slab_z, slab_xy = on(None, ("a", "b")), on(None, None, ("a", "b"))


def per_device(function, spec):
    return jax.shard_map(function, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)


@jax.jit
def fft3(x):
    z = per_device(jnp.fft.fft, slab_z.spec)(x)
    return per_device(lambda v: jnp.fft.fft2(v, axes=(0, 1)), slab_xy.spec)(jax.lax.with_sharding_constraint(z, slab_xy))


cube = values((128, 128, 128), slab_z).astype(jnp.complex64)
timed("fft3_128_slab", 5, 1, lambda: fft3(cube))
square = values((4096, 4096), on("a", "b"))
timed("reshard_ab_to_ba_64MB", 7, 1, lambda: jax.device_put(square, on("b", "a")))
timed("replicate_16MB", 7, 1, lambda: jax.device_put(left_ab, on(None, None)))
print(json.dumps(results, indent=1))
