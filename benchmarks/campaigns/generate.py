#!/usr/bin/env python3
"""Prints random scenarios, one a line: programs of one kind, on meshes of several shapes and device orders, arguments cut at random.

    generate.py convolutions|recurrent SEED COUNT > PROGRAMS.jsonl

The same seed gives the same programs. judge.py compares what becomes of them with JAX, ../arithmetic/compare.py the arithmetic.
"""
import json
import math
import random
import sys

MESHES = [((8,), "a"), ((2, 4), "ab"), ((4, 2), "ab"), ((2, 2, 2), "abc"), ((7,), "a"), ((3, 2), "ab")]


class Draw:
    """One program's choices."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        shape, axes = self.random.choice(MESHES)
        self.axes = dict(zip(axes, shape))
        self.mesh = {"shape": list(shape), "axes": list(axes)}
        if self.is_true(0.3):
            self.mesh["devices"] = self.random.sample(range(math.prod(shape)), math.prod(shape))
        self.arguments = {}
        self.program = []

    def of(self, *choices):
        return self.random.choice(choices)

    def is_true(self, chance):
        return self.random.random() < chance

    def spec(self, shape):
        """Axes for each dimension that they divide."""
        free = self.random.sample(list(self.axes), len(self.axes))
        spec = []
        for size in shape:
            taken = free[: 2 if len(free) > 1 and self.is_true(0.25) else 1]
            fits = taken and size % math.prod(self.axes[axis] for axis in taken) == 0
            if not fits or self.is_true(0.4):
                spec.append(None)
                continue
            free = free[len(taken):]
            spec.append(taken if len(taken) > 1 else taken[0])
        return spec

    def size(self, *more):
        """One that some axes divide, as a rule."""
        parts = [*self.axes.values(), math.prod(self.axes.values())]
        return self.of(*(part * self.of(1, 2, 3) for part in parts), *more)

    def argument(self, name, shape):
        statements = [("arange", {"args": [math.prod(shape)], "dtype": "float32"}), ("mul", {"args": [name, 0.37]}), ("sin", {"args": [name]}),
                      ("reshape", {"args": [name], "shape": list(shape)}), ("device_put", {"args": [name], "sharding": self.spec(shape)})]
        self.program += [{"let": name, "op": op, **rest} for op, rest in statements]
        self.arguments[name] = shape

    def document(self, name, functions, results):
        given = list(self.arguments)
        jit = {"let": results if len(results) > 1 else results[0], "op": "jit", "fn": "f", "args": given}
        return {"shardlab": 1, "name": name, "cluster": {"processes": 1, "devices": math.prod(self.axes.values())},
                "meshes": {"m": self.mesh}, "functions": functions, "program": [*self.program, jit]}


def step(let, op, *args, **attributes):
    return {"let": let, "op": op, "args": list(args), **attributes}


def gradient(draw, name, functions, of):
    """The function `loss`, or its gradients by some arguments."""
    given = list(draw.arguments)
    results = [f"g{i}" for i in of]
    functions["f"] = {"params": given, "body": [step(results if len(of) > 1 else results[0], "grad", *given, fn="loss", argnums=of)],
                      "results": results}
    return draw.document(name, functions, results)


def convolution(draw, name):
    rank = draw.of(1, 1, 2)
    groups, batch_groups = draw.of((1, 1), (1, 1), (1, 1), (2, 1), (4, 1), (1, 2))
    batch = draw.size(2, 5) * batch_groups
    inputs, outputs = draw.of(1, 2, 4), draw.size(2, 6)
    outputs *= max(groups, batch_groups)
    each = lambda *choices: [draw.of(*choices) for _ in range(rank)]
    dilation = {"lhs_dilation": each(1, 1, 1, 2), "rhs_dilation": each(1, 1, 2, 3), "strides": each(1, 1, 2, 3)}
    space = [draw.size(9, 12, 16) if rank == 1 else draw.of(6, 8, 12, 7, 9) for _ in range(rank)]
    window = [draw.of(1, 2, 3, 5) if rank == 1 else draw.of(1, 2, 3) for _ in range(rank)]
    if draw.is_true(0.15):  # as gradients by kernels have them
        window = [max(1, size - draw.of(0, 1, 2)) for size in space]
    spread = [(w - 1) * d for w, d in zip(window, dilation["rhs_dilation"])]
    kind = draw.of("SAME", "VALID", "pads", "SAME_LOWER")
    if kind == "VALID" and any((s - 1) * d < w for s, d, w in zip(space, dilation["lhs_dilation"], spread)):
        kind = "pads"
    # SAME is refused by JAX for dilated operands.
    if kind.startswith("SAME") and max(dilation["lhs_dilation"]) > 1:
        kind = "pads"
    pads = [[w // 2 + draw.of(0, 0, 1), w - w // 2 + draw.of(0, 0, 2)] for w in spread]
    where = {"pads": pads} if kind == "pads" else {"padding": kind}
    letters = "HW"[:rank]
    lhs, rhs, out = draw.of(("NC" + letters, "OI" + letters, "NC" + letters), ("N" + letters + "C", letters + "IO", "N" + letters + "C"))
    shape_of = lambda text, sizes: [sizes[letter] for letter in text]
    x = shape_of(lhs, {"N": batch, "C": inputs * groups, **dict(zip(letters, space))})
    k = shape_of(rhs, {"O": outputs, "I": inputs, **dict(zip(letters, window))})
    draw.argument("x", x)
    draw.argument("k", k)
    conv = step("y", "conv", "x", "k", dimension_numbers=[lhs, rhs, out], feature_group_count=groups, batch_group_count=batch_groups,
                **dilation, **where)
    if draw.is_true(0.35):
        return draw.document(name, {"f": {"params": ["x", "k"], "body": [conv], "results": ["y"]}}, ["y"])
    body = [conv, step("s", draw.of("square", "tanh", "sin"), "y"), step("l", "sum", "s")]
    return gradient(draw, name, {"loss": {"params": ["x", "k"], "body": body, "results": ["l"]}}, draw.of([0], [1], [0, 1]))


def recurrent(draw, name):
    batch, width, features, steps = draw.size(5), draw.size(), draw.size(6), draw.of(2, 3, 4, 8)
    weights = {"W": [features, width], "U": [width, width], "c": [width]}
    is_gated = draw.is_true(0.4)
    if is_gated:
        weights |= {"V": [features, width], "Z": [width, width]}
    draw.argument("h", [batch, width])
    draw.argument("xs", [steps, batch, features])
    for each, shape in weights.items():
        draw.argument(each, shape)
    cell = [step("p", "matmul", "x", "W"), step("q", "matmul", "h", "U"), step("s", "add", "p", "q"), step("s", "add", "s", "c"),
            step("n", "tanh", "s")]
    if is_gated:
        cell += [step("u", "matmul", "x", "V"), step("v", "matmul", "h", "Z"), step("z", "add", "u", "v"), step("z", "logistic", "z"),
                 step("n", "sub", "n", "h"), step("n", "mul", "n", "z"), step("n", "add", "h", "n")]
    if draw.is_true(0.2):
        cell.append(step("n", "with_sharding_constraint", "n", spec=draw.spec([batch, width])))
    gives_steps = draw.is_true(0.5)
    results = ["n", *weights] + (["n"] if gives_steps else [])
    carried = ["h2", *(each + "2" for each in weights)]
    loss = [step(carried + (["ys"] if gives_steps else []), "scan", "h", *weights, "xs", fn="cell", num_carry=1 + len(weights))]
    loss += [step("l", "square", "ys" if gives_steps else "h2"), step("l", "mean", "l")]
    given = list(draw.arguments)
    functions = {"cell": {"params": ["h", *weights, "x"], "body": cell, "results": results},
                 "loss": {"params": given, "body": loss, "results": ["l"]}}
    of = sorted(draw.random.sample(range(len(given)), draw.random.randint(1, len(given)))) if draw.is_true(0.5) else list(range(len(given)))
    return gradient(draw, name, functions, of)


KINDS = {"convolutions": convolution, "recurrent": recurrent}


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    kind, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for each in range(seed, seed + count):
        print(json.dumps(KINDS[kind](Draw(each), f"{kind}/{each}")))


if __name__ == "__main__":
    main()
