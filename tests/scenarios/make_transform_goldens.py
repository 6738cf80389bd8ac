#!/usr/bin/env python3
"""Writes goldens/transforms.jsonl: programs with vmap's axis names, checkpoint, Explicit axes and UNCONSTRAINED, and what JAX gives for them.

    make_transform_goldens.py > goldens/transforms.jsonl        (needs jax)
Each line is a scenario whose expectations are JAX's: values, the part of every device, no more wire bytes than in its compiled module (but
of loops, whose collectives a module has once), or the error's text up to where it speaks of Python."""
import json, math, os, re
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax, numpy as np
from jax.sharding import NamedSharding
import jax_scenarios
from jax_wire_bytes import wire_bytes_of

# ---- documents

documents = []
E, A = "Explicit", "Auto"
PAIRS = [("x", 4), ("y", 2)]
CUBE = [("x", 2), ("y", 2), ("z", 2)]


def op(let, op, /, *args, **attributes):
    return dict(let=let, op=op, args=list(args), **attributes)


def program(name, arrays, body, results, functions={}, types=None, mesh=PAIRS, how="jit", **options):
    """`arrays`: name -> (shape, spec); `body` is that of a jitted function of them."""
    m = dict(shape=[n for _, n in mesh], axes=[a for a, _ in mesh])
    if types: m["axis_types"] = types
    d = dict(shardlab=1, name=name, cluster=dict(devices=8), meshes=dict(m=m), functions={}, program=[])
    for f, (params, inner, gives) in functions.items(): d["functions"][f] = dict(params=params, body=inner, results=gives)
    for a, (shape, spec) in arrays.items():
        d["program"] += [op(a, "arange", math.prod(shape), dtype="float32"), op(a, "mul", a, 0.1), op(a, "sin", a), op(a, "reshape", a, shape=shape)]
        if spec is not None: d["program"].append(op(a, "device_put", a, sharding=spec))
    if how == "jit":
        d["functions"]["main"] = dict(params=list(arrays), body=body, results=results)
        d["program"].append(op(results if len(results) > 1 else results[0], "jit", *arrays, fn="main", **options))
    else:
        d["program"] += body
    documents.append(d)


SQUARE = [8, 8]
mapped = lambda name, **at: [op("z", "vmap", "a", fn=name, axis_name="i", **at)]
one = lambda spec, shape=SQUARE: {"a": (shape, spec)}
two = lambda p, q: {"a": (SQUARE, p), "b": (SQUARE, q)}


def batches():
    ring = [[k, (k + 1) % 8] for k in range(8)]
    bodies = {
        "psum": [op("s", "psum", "v", axis_name="i"), op("r", "mul", "s", "v")],
        "pmean": [op("s", "pmean", "v", axis_name="i"), op("r", "sub", "v", "s")],
        "pmax": [op("s", "pmax", "v", axis_name="i"), op("r", "sub", "v", "s")],
        "all_gather": [op("g", "all_gather", "v", axis_name="i", axis=1), op("r", "sum", "g", axis=0)],
        "tiled": [op("g", "all_gather", "v", axis_name="i", axis=0, tiled=True), op("r", "cumsum", "g", axis=0)],
        "ppermute": [op("p", "ppermute", "v", axis_name="i", perm=ring), op("r", "add", "p", "v")],
        "all_to_all": [op("p", "all_to_all", "v", axis_name="i", split_axis=0, concat_axis=0, tiled=True), op("r", "sin", "p")],
        "psum_scatter": [op("p", "psum_scatter", "v", axis_name="i", scatter_dimension=0, tiled=True), op("r", "sin", "p")],
        "axis_index": [op("n", "axis_index", axis_name="i"), op("n", "convert", "n", dtype="float32"), op("r", "mul", "v", "n")],
    }
    for name, body in bodies.items():
        for spec in (["x", "y"], [None, "x"]) if name in ("psum", "all_gather", "ppermute") else (["x", "y"],):
            program(f"vmap_{name}_{spec[0]}", one(spec), mapped("f"), ["z"], {"f": (["v"], body, ["r"])})
    inner = lambda body: {"f": (["v"], body, ["r"]), "g": (["v"], [op("r", "vmap", "v", fn="f", axis_name="j")], ["r"])}
    program("vmap_two_names", one(["x", "y"], [8, 4, 6]), mapped("g"), ["z"], inner([op("s", "psum", "v", axis_name=["i", "j"]), op("t", "psum", "v", axis_name="j"), op("n", "axis_index", axis_name=["i", "j"]), op("n", "convert", "n", dtype="float32"), op("r", "sub", "s", "t"), op("r", "add", "r", "n")]))
    for split, concat, shape in ((0, 1, [4, 2, 8, 3]), (1, 0, [4, 2, 3, 8]), (0, 0, [4, 2, 8, 3])):
        program(f"vmap_two_names_all_to_all_{split}{concat}", one(["x", "y"], shape), mapped("g"), ["z"], inner([op("r", "all_to_all", "v", axis_name=["i", "j"], split_axis=split, concat_axis=concat, tiled=True)]))
    program("vmap_same_name_twice", one(None, [8, 2, 3]), mapped("g"), ["z"], {"f": (["v"], [op("r", "psum", "v", axis_name="i")], ["r"]), "g": (["v"], [op("r", "vmap", "v", fn="f", axis_name="i")], ["r"])})
    for axis in (1, -1):
        program(f"vmap_axes_{axis}", {"a": (SQUARE, ["x", "y"]), "b": ([8], ["y"])}, [dict(let=["p", "q"], op="vmap", args=["a", "b"], fn="f", axis_name="i", in_axes=[axis, None], out_axes=[axis, None])], ["p", "q"], {"f": (["v", "w"], [op("s", "psum", "v", axis_name="i"), op("t", "mul", "s", "w"), op("u", "pmean", "t", axis_name="i")], ["t", "u"])})
    program("vmap_axis_size", one(["x"], [8]), [op("z", "vmap", "a", fn="f", axis_name="i", in_axes=None, axis_size=6, out_axes=1)], ["z"], {"f": (["v"], bodies["axis_index"], ["r"])})
    program("vmap_of_gradient", one(["x", "y"]), mapped("g"), ["z"], {"l": (["v"], [op("s", "psum", "v", axis_name="i"), op("s", "mul", "s", "s"), op("r", "sum", "s")], ["r"]), "g": (["v"], [op("r", "grad", "v", fn="l")], ["r"])})
    for name, body in {"pmean": [op("s", "pmean", "v", axis_name="i"), op("s", "sub", "v", "s"), op("r", "sin", "s")], "gather": [op("s", "all_gather", "v", axis_name="i"), op("s", "matmul", "s", "v"), op("r", "sin", "s")], "ppermute": [op("s", "ppermute", "v", axis_name="i", perm=ring), op("r", "mul", "s", "v")]}.items():
        program(f"gradient_of_vmap_{name}", one(["x", "y"]), [op("z", "grad", "a", fn="l")], ["z"], {"f": (["v"], body, ["r"]), "l": (["a"], [*mapped("f"), op("z", "mul", "z", "z"), op("r", "sum", "z")], ["r"])})
    program("vmap_of_scan", one(["x"], [8, 6]), [dict(let=["c", "ys"], op="vmap", args=["a"], fn="f", axis_name="i")], ["c", "ys"], {"s": (["c", "x"], [op("s", "psum", "x", axis_name="i"), op("d", "add", "c", "s"), op("m", "pmax", "x", axis_name="i"), op("y", "mul", "c", "m")], ["d", "y"]), "f": (["v"], [dict(let=["c", "ys"], op="scan", args=[0.0, "v"], fn="s")], ["c", "ys"])})
    choice = {"p": (["v"], [op("r", "psum", "v", axis_name="i")], ["r"]), "q": (["v"], [op("r", "mul", "v", 2.0)], ["r"])}
    for name, more in (("each", []), ("all", [op("s", "psum", "s", axis_name="i")])):
        program(f"vmap_of_cond_{name}", one(["x"], [8, 6]), mapped("f"), ["z"], {**choice, "f": (["v"], [op("s", "sum", "v"), *more, op("c", "greater", "s", 0.0), op("r", "cond", "c", "v", fns=["p", "q"])], ["r"])})
    program("vmap_of_while", one(["x"], [8, 6]), [dict(let=["z", "w"], op="vmap", args=["a"], fn="f", axis_name="i")], ["z", "w"], {"c": (["v", "n"], [op("i", "axis_index", axis_name="i"), op("r", "less_equal", "n", "i")], ["r"]), "b": (["v", "n"], [op("m", "psum", "v", axis_name="i"), op("m", "mul", "m", 0.1), op("r", "add", "v", "m"), op("k", "add", "n", 1)], ["r", "k"]), "f": (["v"], [op("n", "constant", value=0), dict(let=["r", "k"], op="while_loop", args=["v", "n"], cond_fn="c", body_fn="b")], ["r", "k"])})
    device = [op("s", "psum", "v", axis_name="x"), op("t", "psum", "v", axis_name="i"), op("r", "add", "s", "t")]
    program("vmap_of_shard_map", one([None, "x"], [6, 8]), mapped("f"), ["z"], {"d": (["v"], device, ["r"]), "f": (["v"], [op("r", "shard_map", "v", fn="d", in_specs=[["x"]], out_specs=[["x"]])], ["r"])})
    program("shard_map_of_vmap", one(["x", "y"]), [op("z", "shard_map", "a", fn="d", in_specs=[["x", "y"]], out_specs=[["x", "y"]])], ["z"], {"e": (["v"], device, ["r"]), "d": (["v"], [op("r", "vmap", "v", fn="e", axis_name="i")], ["r"])})
    held = lambda spec: {"f": (["v"], [op("v", "sin", "v"), op("v", "with_sharding_constraint", "v", spec=spec), op("r", "mul", "v", 2.0)], ["r"])}
    for i, spec in enumerate((None, ["x", "y"])):
        program(f"vmap_spmd_{i}", one(spec), [op("z", "vmap", "a", fn="f", spmd_axis_name="x")], ["z"], held(["y"]))
    program("vmap_spmd_both", one(None), [op("z", "vmap", "a", fn="f", spmd_axis_name=["x", "y"])], ["z"], held([]))
    program("vmap_spmd_shard_map", one(["x", "y"]), [op("z", "vmap", "a", fn="f", spmd_axis_name="x")], ["z"], {"d": (["v"], [op("s", "psum", "v", axis_name="y"), op("r", "mul", "v", "s")], ["r"]), "f": (["v"], [op("r", "shard_map", "v", fn="d", in_specs=[["y"]], out_specs=[["y"]])], ["r"])})
    program("vmap_spmd_taken", one(["x", "y"]), [op("z", "vmap", "a", fn="f", spmd_axis_name="x")], ["z"], held(["x"]))
    program("unconstrained", one(["x", None]), [op("v", "sin", "a"), op("z", "with_sharding_constraint", "v", spec=["UNCONSTRAINED", "y"])], ["z"])
    same = {"f": (["v"], [op("r", "sin", "v")], ["r"])}
    for name, at in {"size": dict(axis_size=5), "in": dict(in_axes=2), "out": dict(out_axes=2), "none": dict(in_axes=None), "mapped": dict(out_axes=None), "named": dict(out_axes=None, axis_name="i")}.items():
        program(f"vmap_error_{name}", one(None, [8, 2]), [op("z", "vmap", "a", fn="f", **at)], ["z"], same, how="eager")
    for name, at in {"psum": {}, "all_gather": {}, "psum_scatter": dict(scatter_dimension=0)}.items():
        program(f"vmap_error_groups_{name}", one(None, [8, 4]), mapped("f"), ["z"], {"f": (["v"], [op("r", name, "v", axis_name="i", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]], **at)], ["r"])}, how="eager")
    program("vmap_error_unbound", one(None, [8, 2]), [op("z", "vmap", "a", fn="f", axis_name="i")], ["z"], {"f": (["v"], [op("r", "psum", "v", axis_name="j")], ["r"])}, how="eager")


def checkpoints():
    block = [op("h", "matmul", "x", "w"), op("h", "checkpoint_name", "h", name="h"), op("h", "tanh", "h"), op("h", "matmul", "h", "v"), op("r", "sin", "h")]
    arrays = {"x": ([16, 8], ["x"]), "w": ([8, 16], [None, "y"]), "v": ([16, 8], ["y"])}
    for policy in ({}, dict(policy="everything_saveable"), dict(policy="dots_saveable"), dict(policy="save_only_these_names", names=["h"])):
        loss = [op("y", "checkpoint", "x", "w", "v", fn="block", **policy), op("y", "mul", "y", "y"), op("r", "sum", "y")]
        program("checkpoint_" + policy.get("policy", "plain"), arrays, [dict(let=["p", "q", "s"], op="value_and_grad", args=["x", "w", "v"], fn="loss", argnums=[1, 2])], ["p", "q", "s"], {"block": (["x", "w", "v"], block, ["r"]), "loss": (["x", "w", "v"], loss, ["r"])})
    # What is computed again has its operands behind a barrier, where they may take cuts that the user's arguments do not have.
    rows = lambda w_spec, x_spec, body, loss=[]: program(f"checkpointed_{name}", {"x": ([16, 8], x_spec), "w": ([8, 16], w_spec)}, [dict(let=["p", "q"], op="grad", args=["x", "w"], fn="l", argnums=[0, 1])], ["p", "q"], {"f": (["x", "w"], body, ["h"]), "b": (["x", "w"], [op("z", "vmap", "x", "w", fn="f", in_axes=[0, None], axis_name="i")], ["z"]), "g": (["x", "w"], [op("z", "checkpoint", "x", "w", fn="f")], ["z"]), "l": (["x", "w"], first + loss + [op("r", "sum", "z")], ["r"])})
    whole, each = [op("z", "checkpoint", "x", "w", fn="b")], [op("z", "vmap", "x", "w", fn="g", in_axes=[0, None], axis_name="i")]
    product = [op("h", "matmul", "x", "w")]
    summed = product + [op("s", "pmean", "h", axis_name="i"), op("h", "mul", "h", "s"), op("h", "sum", "h")]
    for name, first, w_spec, x_spec, body in (("vmap", whole, [None, "y"], [None, "x"], product + [op("h", "tanh", "h")]), ("vmap_mean", whole, ["x"], ["y"], summed), ("vmap_mean_alike", whole, [None, "y"], ["y", "x"], summed), ("in_vmap", each, [None, "x"], [None, "y"], product + [op("h", "sin", "h")]), ("in_vmap_mean", each, [None, "x"], [None, "y"], summed[:-1])):
        rows(w_spec, x_spec, body, [op("z", "sin", "z")])
    # What is smaller is repeated anew by each op that uses it, forward and backward.
    held = [*summed[:-1], op("h", "with_sharding_constraint", "h", spec=[None]), op("h", "matmul", "h", "v"), op("h", "sin", "h")]
    program("checkpointed_vmap_mean_held", {"x": ([16, 8], [None, "y"]), "w": ([8, 16], [None, "y"]), "v": ([16, 8], ["y"])}, [dict(let=["p", "q", "t"], op="grad", args=["x", "w", "v"], fn="l", argnums=[0, 1, 2])], ["p", "q", "t"], {"f": (["x", "w", "v"], held, ["h"]), "b": (["x", "w", "v"], [op("z", "vmap", "x", "w", "v", fn="f", in_axes=[0, None, None], axis_name="i")], ["z"]), "l": (["x", "w", "v"], [op("z", "checkpoint", "x", "w", "v", fn="b"), op("r", "sum", "z")], ["r"])})
    # What per-device code under vmap takes and gives is whole along the batch, in its derivative too.
    device = {"d": (["v"], [op("s", "psum", "v", axis_name="y"), op("r", "mul", "v", "s")], ["r"])}
    per_device = product + [op("h", "shard_map", "h", fn="d", in_specs=[["y"]], out_specs=[["y"]]), op("h", "matmul", "h", "v"), op("h", "sin", "h")]
    calls = {"b": [op("z", "vmap", "x", "w", "v", fn="f", in_axes=[0, None, None])], "g": [op("z", "checkpoint", "x", "w", "v", fn="f")]}
    for name, first, specs in (("vmap_device", [op("z", "checkpoint", "x", "w", "v", fn="b")], (["x"], [None, "x"], None)), ("in_vmap_device", [op("z", "vmap", "x", "w", "v", fn="g", in_axes=[0, None, None])], (["x"], [None, "y"], ["x", "y"]))):
        loss = first + [op("z", "sin", "z"), op("r", "sum", "z")]
        functions = {**device, "f": (["x", "w", "v"], per_device, ["h"]), **{f: (["x", "w", "v"], body, ["z"]) for f, body in calls.items()}, "l": (["x", "w", "v"], loss, ["r"])}
        program(f"checkpointed_{name}", {a: (shape, spec) for (a, shape), spec in zip((("x", [16, 8]), ("w", [8, 16]), ("v", [16, 8])), specs)}, [dict(let=["p", "q", "t"], op="grad", args=["x", "w", "v"], fn="l", argnums=[0, 1, 2])], ["p", "q", "t"], functions)


def types():
    binary = {"add": [op("z", "add", "a", "b")], "matmul": [op("s", "sin", "a"), op("z", "matmul", "s", "b")], "concatenate": [op("z", "concatenate", "a", "b", axis=0)], "where": [op("c", "greater", "a", 0.0), op("z", "where", "c", "a", "b")], "einsum": [op("z", "einsum", "a", "b", subscripts="ij,kj->ki")]}
    for i, (p, q) in enumerate([(["x", "y"], ["x", "y"]), (["x"], [None, "y"]), (["x"], ["y"]), ([None, "x"], ["x"]), (["y", "x"], [None, "x"]), (["x", "y"], ["y", "x"])]):
        for name, body in binary.items():
            if (i + len(name)) % 2 == 0: program(f"types_{name}_{i}", two(p, q), body, ["z"], types=[E, A])
    unary = {"sum": [op("z", "sum", "a", axis=0)], "reshape": [op("z", "reshape", "a", shape=[2, 4, 8])], "sort": [op("z", "sort", "a", axis=0)], "cumsum": [op("z", "cumsum", "a", axis=1)], "reshard": [op("s", "sin", "a"), op("z", "reshard", "s", sharding=[None, "x"])], "reshard_auto": [op("z", "reshard", "a", sharding=["y"])], "hold": [op("s", "sin", "a"), op("z", "with_sharding_constraint", "s", spec=["y"])], "hold_explicit": [op("z", "with_sharding_constraint", "a", spec=["x"])], "hold_open": [op("s", "sin", "a"), op("z", "with_sharding_constraint", "s", spec=["UNCONSTRAINED", "y"])]}
    for i, spec in enumerate((["x", "y"], ["y", "x"], [["y", "x"]])):
        for name, body in unary.items():
            if i < 2 or name in ("reshard", "hold"): program(f"types_{name}_{i}", one(spec), body, ["z"], types=[E, A])
    for i, (p, q, out) in enumerate([([None, "x"], ["x"], ["x"]), ([None, "x"], ["x", "y"], []), (["y", "x"], ["x"], ["x"])]):
        program(f"types_out_sharding_{i}", two(p, q), [op("z", "matmul", "a", "b", out_sharding=out)], ["z"], types=[E, A])
    for i, (p, q) in enumerate([(["x", "y"], [None, "y"]), (["y", "x"], ["x", "y"])]):
        for axis_types in ([E, A], [E, E]):
            for name, out in (("", {}), ("_out", dict(out_sharding=["x"]))):
                loss = [op("m", "matmul", "a", "b", **out), op("s", "sin", "m"), op("r", "sum", "s")]
                program(f"types_gradient{name}_{i}{axis_types[1][0]}", two(p, q), [dict(let=["u", "v"], op="grad", args=["a", "b"], fn="l", argnums=[0, 1])], ["u", "v"], {"l": (["a", "b"], loss, ["r"])}, types=axis_types)
    for i, (p, q) in enumerate([(["x", "y"], ["z"]), (["x", "z"], [None, "z"])]):
        for name in ("add", "einsum"): program(f"types_cube_{name}_{i}", two(p, q), binary[name], ["z"], types=[E, A, E], mesh=CUBE)
    product = {"f": (["a", "b"], [op("s", "sin", "a"), op("r", "matmul", "s", "b")], ["r"])}
    for axes in ({}, dict(axes=["x"]), dict(axes=["y"])):
        program("auto_axes_" + "".join(axes.get("axes", [])), two([None, "x"], ["x"]), [op("z", "auto_axes", "a", "b", fn="f", out_sharding=[["x"]], **axes)], ["z"], product, types=[E, A])
    twice = {"f": (["a"], [op("s", "sin", "a"), op("r", "mul", "s", 2.0)], ["r"])}
    for i, spec in enumerate((["x", "y"], [None, "y"])):
        program(f"explicit_axes_{i}", one(["x"]), [op("z", "explicit_axes", "a", fn="f", in_sharding=[spec])], ["z"], twice, types=[E, A])
    bodies = {"b": (["v"], [op("r", "sin", "v")], ["r"]), "m": (["v"], [op("r", "reshard", "v", sharding=[None, "x"])], ["r"]), "c": (["v"], [op("s", "sum", "v"), op("r", "less", "s", -100.0)], ["r"])}
    for i, spec in enumerate(([None, "x"], ["x", "y"])):
        program(f"types_cond_{i}", one(spec), [op("s", "sum", "a"), op("q", "greater", "s", 0.0), op("z", "cond", "q", "a", fns=["b", "m"])], ["z"], bodies, types=[E, A])
        program(f"types_while_{i}", one(spec), [op("z", "while_loop", "a", cond_fn="c", body_fn="b")], ["z"], bodies, types=[E, A])
    local = {"d": (["v"], [op("r", "mul", "v", 2.0)], ["r"])}
    for i, (spec, axes) in enumerate(((["x", "y"], {}), (["x"], dict(axis_names=["x"])), ([None, "x"], {}))):
        for axis_types in ([E, A], [E, E]):
            program(f"types_shard_map_{i}{axis_types[1][0]}", one(["x", "y"]), [op("z", "shard_map", "a", fn="d", in_specs=[spec], out_specs=[spec], **axes)], ["z"], local, types=axis_types)
    program("types_out_shardings", one(["x"]), [op("z", "sin", "a")], ["z"], types=[E, A], out_shardings=[["y"]])
    program("types_eager", one(["x", "y"]), [op("z", "sum", "a", axis=0), op("w", "reshard", "a", sharding=[None, "x"])], ["z"], types=[E, A], how="eager")


# What vmap repeats for every element is cut along the batch as the mapped argument is.
def repeated():
    def mapped_with(name, body, results, out_axes=0, functions={}, spec=["x"], more={}):
        f = {"f": (["r", "c"], body, results), **functions}
        program(f"types_repeated_{name}", {"a": (SQUARE, spec), "c": ([8], []), **more}, [dict(let=results if len(results) > 1 else results[0], op="vmap", args=["a", "c"], fn="f", in_axes=[0, None], out_axes=out_axes)], results, f, types=[E, E])
    mapped_with("argument", [op("p", "mul", "r", 2.0), op("q", "mul", "c", 2.0)], ["p", "q"], spec=["x", "y"])
    mapped_with("along_columns", [op("q", "sin", "c")], ["q"], out_axes=1)
    mapped_with("constant", [op("q", "ones", shape=[3])], ["q"])
    mapped_with("concatenate", [op("q", "concatenate", "c", "r", axis=0)], ["q"])
    mapped_with("where", [op("s", "sum", "r"), op("t", "greater", "s", 0.0), op("q", "where", "t", "r", "c")], ["q"])
    mapped_with("where_both", [op("t", "greater", "r", 0.0), op("d", "add", "c", 1.0), op("q", "where", "t", "c", "d")], ["q"])
    mapped_with("cond", [op("s", "sum", "r"), op("t", "greater", "s", 0.0), op("q", "cond", "t", "r", fns=["g", "h"])], ["q"], functions={"g": (["v"], [op("z", "mul", "v", 2.0)], ["z"]), "h": (["v"], [op("z", "zeros", shape=[8])], ["z"])})
    mapped_with("scan", [op("k", "sum", "c"), dict(let=["p", "q"], op="scan", args=["k", "r"], fn="g")], ["p", "q"], functions={"g": (["k", "e"], [op("n", "add", "k", "e"), op("y", "mul", "k", 2.0)], ["n", "y"])})
    mapped_with("inner", [op("q", "vmap", "r", fn="g")], ["q"], spec=["x", "y"], functions={"g": (["v"], [op("z", "ones", shape=[2])], ["z"])})
    gradient = {"f": (["r", "c"], [op("z", "sin", "c"), op("z", "mul", "z", "r")], ["z"]), "l": (["a", "c"], [op("z", "vmap", "a", "c", fn="f", in_axes=[0, None]), op("s", "sum", "z")], ["s"])}
    program("types_repeated_gradient", {"a": (SQUARE, ["x"]), "c": ([8], [])}, [dict(let=["p", "q"], op="grad", args=["a", "c"], fn="l", argnums=[0, 1])], ["p", "q"], gradient, types=[E, E])


# ---- JAX

def sums():
    """Gradients of what is summed over the batch: one sum over all of it, by however many steps it came."""
    bodies = {
        "sum": [op("d", "mul", "v", "v"), op("d", "sum", "d"), op("s", "psum", "d", axis_name="i"), op("r", "mul", "v", "s")],
        "product": [op("d", "matmul", "v", "v"), op("s", "psum", "d", axis_name="i"), op("r", "mul", "v", "s")],
        "mean": [op("d", "matmul", "v", "v"), op("s", "pmean", "d", axis_name="i"), op("r", "sub", "v", "s")],
    }
    for kind, body in bodies.items():
        loss = [op("z", "vmap", "a", fn="f", axis_name="i"), op("w", "mul", "z", "z"), op("l", "sum", "w")]
        for place, spec in {"rows": ["x", None], "both": ["x", "y"]}.items():
            functions = {"f": (["v"], body, ["r"]), "l": (["a"], loss, ["l"])}
            program(f"gradient_of_a_{kind}_over_the_batch_cut_in_{place}", one(spec), [op("g", "grad", "a", fn="l")], ["g"], functions)


class Compiled(jax_scenarios.Run):
    """Counts the bytes of what it compiles."""

    def __init__(self, document):
        super().__init__(document)
        self.wire_bytes = 0

    def compiled(self, function, args, options):
        compiled = jax.jit(function, **options).lower(*args).compile()
        self.wire_bytes += wire_bytes_of(compiled.as_text())
        return compiled(*args)


def expectations_of(run):
    found = []
    for name, array in run.names.items():
        parts = array.sharding.devices_indices_map(array.shape)
        flat = np.asarray(array).astype(np.float64).ravel()
        places = sorted(set(np.linspace(0, flat.size - 1, 9).astype(int).tolist()))
        check = dict(array=name, shape=list(array.shape), dtype=str(array.dtype), samples=[[i, float(f"{flat[i]:.7g}")] for i in places], rtol=1e-4, atol=float(f"{1e-5 * max(1.0, np.abs(flat).max()):.1g}"))
        if isinstance(array.sharding, NamedSharding): check["shards"] = [[d.id, [list(s.indices(n)[:2]) for s, n in zip(i, array.shape)]] for d, i in sorted(parts.items(), key=lambda p: p[0].id)]
        found.append(check)
    loops = re.search(r'"(scan|while_loop)"', json.dumps(run.document))
    has_eager_steps = "main" not in run.document["functions"]
    return found if loops or has_eager_steps else found + [dict(wire_bytes=dict(at_most=run.wire_bytes))]


def main():
    for family in (batches, checkpoints, types, repeated, sums): family()
    for document in documents:
        run = Compiled(document)
        try:
            run.run()
            document["expect"] = expectations_of(run)
        except Exception as error:
            # Behind these JAX prints its own objects.
            text = re.split(r"NamedSharding|Got spec=|Got arg |Got PartitionSpec|`in_specs` is|This error|\n|f32|operand type|mesh=|\. Please open", str(error))[0].strip(". ")
            document["expect"] = [dict(error=text)]
        print(json.dumps(document))


main()
