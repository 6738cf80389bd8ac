#!/usr/bin/env python3
"""What XLA moves in the documents' programs: the cases of document_programs.cpp, compiled by JAX for 8 virtual CPU devices.

    jax_side.py [CASES…]

Needs `pip install jax`. Prints {"jax": version, "cases": {name: {"wire_bytes": …, "collectives": {kind: count}}}}; nothing runs, the
compiled programs are read. Redirected to xla.json it is the record that compare.py uses where there is no JAX.
"""
import collections
import functools
import json
import os
import sys

os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

import numpy as np

import hlo_bytes

only = set(sys.argv[1:])
cases = {}


def mesh_of(shape, names, devices=None):
    devices = devices or jax.devices()
    return Mesh(np.array(devices).reshape(shape), names, axis_types=(AxisType.Auto,) * len(names))


def values(shape, sharding, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def run(name, function, *args, **options):
    if only and name not in only:
        return
    compiled = jax.jit(function, **options).lower(*args).compile()
    found = hlo_bytes.collectives_of(compiled.as_text(), len(jax.devices()))
    kinds = collections.Counter(collective.kind for collective in found)
    cases[name] = {"wire_bytes": sum(collective.wire_bytes for collective in found), "collectives": dict(sorted(kinds.items()))}


def computations_follow_data():
    mesh = mesh_of((4, 2), ("a", "b"))
    square = (1024, 1024)
    run("sin_4x2", jnp.sin, values(square, NamedSharding(mesh, P("a", "b"))))
    run("dot_of_rows_and_columns", jnp.dot, values(square, NamedSharding(mesh, P("a", None))),
        values(square, NamedSharding(mesh, P(None, "b"))))
    halves = mesh_of((2, 2, 2), ("p", "q", "r"))

    def f(spec):
        return lambda a: jax.lax.with_sharding_constraint(a + 1, NamedSharding(halves, spec))

    by_4x2 = values(square, NamedSharding(halves, P(("p", "q"), "r")))
    run("constraint_4x2_to_2x4", f(P("p", ("q", "r"))), by_4x2)
    run("constraint_4x2_to_replicated", f(P()), by_4x2)


def reshards():
    mesh = mesh_of((4, 2), ("a", "b"))
    ab, ba, rows, columns_b, columns_a = P("a", "b"), P("b", "a"), P("a", None), P(None, "b"), P(None, "a")
    all_rows, all_columns, whole = P(("a", "b"), None), P(None, ("a", "b")), P()
    for name, before, after in (
            ("reshard_ab_to_ba", ab, ba), ("reshard_ba_to_rows", ba, rows), ("reshard_rows_to_columns_b", rows, columns_b),
            ("reshard_columns_b_to_columns_a", columns_b, columns_a), ("reshard_columns_a_to_all_rows", columns_a, all_rows),
            ("reshard_all_rows_to_ab", all_rows, ab), ("reshard_ab_to_all_columns", ab, all_columns),
            ("reshard_all_columns_to_all_rows", all_columns, all_rows), ("reshard_all_columns_to_columns_b", all_columns, columns_b),
            ("reshard_ab_to_replicated", ab, whole)):
        run(name, lambda a: a * 2, values((1024, 1024), NamedSharding(mesh, before)), out_shardings=NamedSharding(mesh, after))


def loss(params, batch):
    inputs, targets = batch
    for W, b in params:
        outputs = jnp.dot(inputs, W) + b
        inputs = jnp.maximum(outputs, 0)
    return jnp.mean(jnp.sum((outputs - targets) ** 2, axis=-1))


def step(params, batch):
    value, gradients = jax.value_and_grad(loss)(params, batch)
    return value, jax.tree.map(lambda w, dw: w - 1e-5 * dw, params, gradients)


def networks():
    mesh = mesh_of((4, 2), ("data", "model"))
    sizes = (784, 1024, 1024, 1024, 10)

    def programs(how, w_specs, b_specs, batch_spec):
        params = [(values((n, m), NamedSharding(mesh, w)), values((m,), NamedSharding(mesh, b)))
                  for n, m, w, b in zip(sizes[:-1], sizes[1:], w_specs, b_specs)]
        cut = NamedSharding(mesh, batch_spec)
        batch = values((1024, sizes[0]), cut), values((1024, sizes[-1]), cut)
        run("mlp_loss_" + how, loss, params, batch)
        run("mlp_gradient_" + how, jax.grad(loss), params, batch)
        run("mlp_step_" + how, step, params, batch)

    whole = P()
    programs("dp", [whole] * 4, [whole] * 4, P(("data", "model")))
    programs("dp_tp", [whole, P(None, "model"), P("model", None), whole], [whole, P("model"), whole, whole], P("data"))


def fft_partitioner(fft_func, spec):

    @custom_partitioning
    def func(x):
        return fft_func(x)

    def supported(sharding):
        return NamedSharding(sharding.mesh, spec)

    func.def_partition(
        infer_sharding_from_operands=lambda mesh, args, result: supported(args[0].sharding),
        partition=lambda mesh, args, result: (mesh, fft_func, supported(args[0].sharding), (supported(args[0].sharding),)),
        sharding_rule="i j k -> i j k")
    return func


def along(axis):
    return functools.partial(jnp.fft.fft, axis=axis)


def grids_and_transforms():
    mesh = mesh_of((8,), ("gpus",))
    columns = NamedSharding(mesh, P(None, "gpus"))
    in_place = {"in_shardings": columns, "out_shardings": columns}
    xx = values((64, 64), columns)
    run("mean_0", lambda x: jnp.mean(x, 0), xx)
    run("mean_1", lambda x: jnp.mean(x, 1), xx)
    run("roll_flat", lambda x: jnp.roll(x, (0, 1)), xx, **in_place)
    run("roll_along_the_cut", lambda x: jnp.roll(x, 1, 1), xx, **in_place)
    run("meshgrid", lambda x: tuple(jnp.meshgrid(x, x, indexing="ij")), values((64,), NamedSharding(mesh, P())), out_shardings=columns)

    cube = values((64, 64, 64), columns, jnp.complex64)
    fft_XY = fft_partitioner(lambda x: jnp.fft.fftn(x, axes=[0, 1]), P(None, None, "gpus"))
    fft_Z = fft_partitioner(along(2), P(None, "gpus"))
    ifft_XY = fft_partitioner(lambda x: jnp.fft.ifftn(x, axes=[0, 1]), P(None, None, "gpus"))
    ifft_Z = fft_partitioner(lambda x: jnp.fft.ifft(x, axis=2), P(None, "gpus"))
    run("fft3_slab", lambda x: fft_XY(fft_Z(x)), cube, **in_place)
    run("ifft3_slab", lambda x: ifft_Z(ifft_XY(x)), cube, **in_place)
    run("fft3_plain", jnp.fft.fftn, cube, **in_place)

    grid = mesh_of((4, 2), ("x", "y"))
    pencils, turned = NamedSharding(grid, P("x", "y")), NamedSharding(grid, P(None, "x", "y"))
    pencil_Z, pencil_Y = fft_partitioner(along(2), P("x", "y")), fft_partitioner(along(1), P("x", None, "y"))
    pencil_X = fft_partitioner(along(0), P(None, "x", "y"))
    run("fft3_pencil", lambda x: pencil_X(pencil_Y(pencil_Z(x))), values((64, 64, 64), pencils, jnp.complex64), in_shardings=pencils,
        out_shardings=turned)


def many_controllers():
    mesh = mesh_of((4, 2), ("i", "j"))

    def sum_sin(x):
        return jnp.sum(jnp.sin(x))

    def relu_of_product(a, b):
        return jax.nn.relu(a @ b)

    run("toy_sum_sin", sum_sin, values((4, 8), NamedSharding(mesh, P("i", "j"))))
    x, y = values((1024, 512), NamedSharding(mesh, P("i", "j"))), values((512, 1024), NamedSharding(mesh, P("j", None)))
    run("relu_of_product", relu_of_product, x, y)
    run("product_replicated", relu_of_product, x, y, out_shardings=NamedSharding(mesh, P()))
    half = mesh_of((4,), ("a",), jax.devices()[4:])
    run("half_sum_sin", sum_sin, values((8, 8), NamedSharding(half, P("a"))))


def random_numbers():
    mesh = mesh_of((8,), ("d",))
    for is_partitionable in (True, False):
        jax.config.update("jax_threefry_partitionable", is_partitionable)

        def f(key, x):
            return x + jax.random.uniform(jax.random.wrap_key_data(key), x.shape)

        for size in (24, 64):
            run(f"uniform_{'partitionable' if is_partitionable else 'stable'}_{size}", f, jax.random.key_data(jax.random.key(42)),
                values((size,), NamedSharding(mesh, P("d"))))


for part in (computations_follow_data, reshards, networks, grids_and_transforms, many_controllers, random_numbers):
    part()
print(json.dumps({"jax": jax.__version__, "cases": cases}, indent=1))
