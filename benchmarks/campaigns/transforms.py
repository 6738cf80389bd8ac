"""Functions of the other kinds under jvp, vjp and vmap: tangents and batches are cut otherwise than what they belong to."""
import json
import math

import convolutions
import expressions
import functions
import lookups
import loops
import networks
import operands
import options
import products
import rearrangements
import shapes
from draw import Draw, one_or_all, step

KINDS = (convolutions, expressions, expressions, functions, functions, lookups, loops, networks, operands, options, products, rearrangements, shapes)


def arguments(document):
    """Name -> its statements, of arguments made here one after the other."""
    found = {}
    for statement in document["program"][:-1]:
        found.setdefault(statement["let"], []).append(statement)
    return found


def is_float(statements):
    return statements[0]["op"] == "arange" and statements[0]["dtype"] == "float32" and all(s["op"] not in ("equal", "convert") for s in statements)


def repeated(statements, name, shape=None, spec=None):
    """The same numbers for another argument, of another shape and cut otherwise, if told."""
    made = []
    for statement in statements:
        statement = {**statement, "let": name, "args": [name if each == statements[0]["let"] else each for each in statement["args"]]}
        if shape is not None and statement["op"] == "arange":
            statement["args"] = [math.prod(shape)]
        if shape is not None and statement["op"] == "reshape":
            statement["shape"] = shape
        if spec is not None and statement["op"] == "device_put":
            statement["sharding"] = spec
        made.append(statement)
    return made


def attribute(statements, op, key):
    return next(each[key] for each in statements if each["op"] == op)


def with_tangents(d, document, given, results):
    if not all(map(is_float, given.values())):
        return None
    tangents, program = [], []
    for name, statements in given.items():
        shape = attribute(statements, "reshape", "shape")
        tangents.append("d" + name)
        program += repeated(statements, "d" + name, spec=d.spec(shape))
    names = [*results, *("t" + each for each in results)]
    return program, tangents, [step(names, "jvp", *given, *tangents, fn="inner")], names[d.of(0, len(results)):]


def with_cotangents(d, document, given, results):
    if not all(map(is_float, given.values())):
        return None
    cotangents = ["c" + each for each in results]
    body = [step(one_or_all(results), "jit", *given, fn="inner"), *(step(c, "cos", each) for c, each in zip(cotangents, results))]
    gradients = ["g" + each for each in given]
    return [], [], [*body, step([*results, *gradients], "vjp", *given, *cotangents, fn="inner")], gradients


def with_batch(d, document, given, results):
    if any(statements[0]["op"] != "arange" for statements in given.values()):
        return None
    size, in_axes = d.size(3), []
    mapped = d.random.sample(list(given), d.random.randint(1, len(given)))
    for name, statements in given.items():
        if name not in mapped:
            in_axes.append(None)
            continue
        shape, spec = attribute(statements, "reshape", "shape"), attribute(statements, "device_put", "sharding")
        place = d.random.randint(0, len(shape))
        flat = json.dumps(spec)
        free = [axis for axis in d.axes if f'"{axis}"' not in flat and size % d.axes[axis] == 0]
        cut = d.of(*free) if free and d.is_true(0.6) else None
        document["program"] = [each for each in document["program"] if each["let"] != name]
        document["program"] = repeated(statements, name, [*shape[:place], size, *shape[place:]],
                                       [*spec[:place], cut, *spec[place:]]) + document["program"]
        in_axes.append(place)
    call = step(one_or_all(results), "vmap", *given, fn="inner", in_axes=in_axes)
    if not d.is_true(0.35) or not all(is_float(given[name]) for name in given):
        return [], [], [call], results
    losses = []
    for i, each in enumerate(results):
        losses += [step(f"q{i}", "sin", each), step(f"l{i}", "sum", f"q{i}")] + ([step("l0", "add", "l0", f"l{i}")] if i else [])
    document["functions"]["whole"] = {"params": list(given), "body": [call, *losses], "results": ["l0"]}
    gradients = [f"g{i}" for i in range(len(given))]
    return [], [], [step(one_or_all(gradients), "grad", *given, fn="whole", argnums=list(range(len(given))))], gradients


def transformed(d, document):
    function, given = document["functions"]["f"], arguments(document)
    text = json.dumps(document)
    if any(each["op"] in ("grad", "value_and_grad") for each in function["body"]) or '"shard_map"' in text or '"with_sharding_constraint"' in text:
        return None
    if any(each["op"] != "arange" and "random" in each["op"] for statements in given.values() for each in statements):
        return None
    document["functions"] = {"inner": function, **{name: each for name, each in document["functions"].items() if name != "f"}}
    made = d.of(with_tangents, with_tangents, with_cotangents, with_batch, with_batch, with_batch)(d, document, given, function["results"])
    if made is None:
        return None
    program, more, body, results = made
    names = [*given, *more]
    document["functions"]["f"] = {"params": names, "body": body, "results": results}
    document["program"] = [*document["program"][:-1], *program, step(one_or_all(results), "jit", *names, fn="f")]
    return document


def program(d, name):
    while True:
        inner = Draw(d.random.getrandbits(48))
        inner.mesh, inner.axes = d.mesh, d.axes
        if document := transformed(d, d.of(*KINDS).program(inner, name)):
            return document
