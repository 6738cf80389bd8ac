#!/usr/bin/env python3
"""The JAX side of bench_processes: process PROCESS of PROCESSES at localhost:PORT, over gloo. Needs `pip install jax`.

    jax_side.py PROCESS PROCESSES PORT [CASES…]
"""
import os
import sys
import time

process, processes, port = (int(word) for word in sys.argv[1:4])
only = set(sys.argv[4:])
os.environ["JAX_NUM_CPU_DEVICES"] = str(8 // processes)
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

jax.distributed.initialize(f"localhost:{port}", processes, process)
mesh = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Auto, AxisType.Auto))
flat = jax.make_mesh((8,), ("g",), axis_types=(AxisType.Auto,))


def timed(name, reps, inner, run):
    if only and name not in only:
        return
    for _ in range(2):
        jax.block_until_ready(run())
    seconds = []
    for _ in range(reps):
        begin = time.perf_counter()
        for _ in range(inner):
            jax.block_until_ready(run())
        seconds.append((time.perf_counter() - begin) / inner)
    if process == 0:
        print(name, sorted(seconds)[len(seconds) // 2], min(seconds), flush=True)


def values(shape, sharding):
    size = 1
    for n in shape:
        size *= n
    make = jax.jit(lambda: jnp.sin(jnp.arange(size, dtype=jnp.float32) * 0.37).reshape(shape), out_shardings=sharding)
    return make()


def member(function, out):
    return jax.jit(jax.shard_map(function, mesh=flat, in_specs=P("g"), out_specs=out, check_vma=False))


small = values((8, 8), NamedSharding(mesh, P("a", "b")))
timed("eager_sum_8x8", 7, 20, lambda: jnp.sum(small))
cut = NamedSharding(flat, P("g"))
few, many, some = values((8 << 10,), cut), values((8 * (4 << 20),), cut), values((8 * (1 << 19),), cut)
add = member(lambda x: jax.lax.psum(x, "g"), P("g"))
timed("psum_4KB_each", 7, 20, lambda: add(few))
timed("psum_16MB_each", 5, 1, lambda: add(many))
gather = member(lambda x: jax.lax.all_gather(x, "g", tiled=True), P())
timed("all_gather_2MB_each", 5, 1, lambda: gather(some))
scatter = member(lambda x: jax.lax.psum_scatter(x, "g", tiled=True), P("g"))
timed("psum_scatter_16MB_each", 5, 1, lambda: scatter(many))
turn = member(lambda x: jax.lax.all_to_all(x, "g", 0, 0, tiled=True), P("g"))
timed("all_to_all_16MB_each", 5, 1, lambda: turn(many))
shift = member(lambda x: jax.lax.ppermute(x, "g", [(i, (i + 1) % 8) for i in range(8)]), P("g"))
timed("ppermute_16MB_each", 5, 1, lambda: shift(many))
square = values((4096, 4096), NamedSharding(mesh, P("a", "b")))
move = jax.jit(lambda x: x, out_shardings=NamedSharding(mesh, P("b", "a")))
timed("reshard_ab_to_ba_64MB", 5, 1, lambda: move(square))
