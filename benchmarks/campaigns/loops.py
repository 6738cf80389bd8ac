"""Loops and branches, nested too, with products, constraints, lookups and per-device code inside, and gradients through scans and branches."""
from draw import one_or_all, step


def program(draw, name):
    return draw.of(scan, scan, while_loop, branch)(draw, name)


class Body:
    """Steps that turn the value `v` into another of its shape, from what the function gets beside it."""

    def __init__(self, draw, shape, weights, depth=0):
        self.draw, self.shape, self.weights, self.depth = draw, shape, weights, depth
        self.steps = []

    def extended(self, count):
        for _ in range(count):
            layers = [self.product, self.product, self.elementwise, self.centred, self.running, self.rolled, self.similar, self.per_device]
            if self.depth < 2:
                layers.append(self.chosen)
            self.draw.of(*layers)()
            self.steps += self.draw.held("v", self.shape, 0.15)
        return self.steps

    def add(self, *steps):
        self.steps += steps

    def product(self):
        # Scaled, or rounding grows from one iteration to the next.
        self.add(step("v", "matmul", "v", self.draw.of(*self.weights)), step("v", "div", "v", self.shape[1] ** 0.5),
                 step("v", self.draw.of("tanh", "sin"), "v"))

    def elementwise(self):
        self.add(step("v", self.draw.of("sin", "tanh", "negative"), "v"))

    def centred(self):
        self.add(step("m", "mean", "v", axis=self.draw.of(0, 1), keepdims=True), step("v", "sub", "v", "m"))

    def running(self):
        self.add(step("v", "cumsum", "v", axis=self.draw.of(0, 1)), step("v", "sin", "v"))

    def rolled(self):
        self.add(step("v", "roll", "v", shift=self.draw.of(1, -2), axis=self.draw.of(0, 1)))

    def similar(self):
        self.add(step("s", "einsum", "v", "v", subscripts="ab,cb->ac"), step("s", "softmax", "s", axis=1), step("v", "matmul", "s", "v"))

    def per_device(self):
        draw = self.draw
        spec = draw.spec(self.shape, draw.axes)
        axes = [axis for each in spec if each for axis in (each if isinstance(each, list) else [each])]
        if not axes:
            return self.elementwise()
        axis = draw.of(*axes)
        size = draw.axes[axis]
        inside = draw.of([step("w", "pmean", "w", axis_name=axis), step("v", "sub", "v", "w")],
                         [step("v", "ppermute", "w", axis_name=axis, perm=[[i, (i + 1) % size] for i in range(size)])])
        each = f"device{len(draw.functions)}"
        draw.functions[each] = {"params": ["v"], "body": [step("w", "sin", "v"), *inside], "results": ["v"]}
        self.add(step("v", "shard_map", "v", fn=each, in_specs=[spec], out_specs=[spec]))

    def chosen(self):
        draw = self.draw
        fns = [f"choice{len(draw.functions)}{each}" for each in "ab"]
        for each in fns:
            draw.functions[each] = None  # its name is taken
            steps = type(self)(draw, self.shape, self.weights, self.depth + 1).extended(draw.of(1, 2))
            draw.functions[each] = {"params": ["v", *self.weights], "body": steps, "results": ["v"]}
        self.add(step("c", "sum", "v"), step("c", "greater", "c", draw.of(0.3, -0.3, 1.0)), step("v", "cond", "c", "v", *self.weights, fns=fns))


def given(draw):
    """The value, its weights and how often it is changed."""
    shape = [draw.size(5), draw.size(5)]
    draw.argument("v", shape)
    weights = [draw.argument(f"w{each}", [shape[1], shape[1]]) for each in range(draw.of(1, 1, 2))]
    return shape, weights, draw.of(2, 3, 4, 8)


def scan(draw, name, body_of=Body):
    shape, weights, length = given(draw)
    rows = draw.of([shape[0], shape[1]], [shape[1]], [1, shape[1]])
    draw.argument("xs", [length, *rows])
    is_const = draw.is_true(0.5)
    stacks = draw.is_true(0.6)
    start = [step("v", draw.of("add", "mul"), "v", "x")] if draw.is_true(0.5) else []
    body = body_of(draw, shape, weights)
    steps = start + body.extended(draw.of(1, 2, 3)) + ([] if start else [step("v", "add", "v", "x")])
    stacked, new = draw.of((["v"], shape), (["r"], [shape[0]]), (["t"], shape[::-1]))
    if stacks:
        steps += {"v": [], "r": [step("r", "max", "v", axis=1)], "t": [step("t", "transpose", "v", axes=[1, 0])]}[stacked[0]]
    carried = ["v"] if is_const else ["v", *weights]
    params = [*weights, "v", "x"] if is_const else ["v", *weights, "x"]
    draw.functions["body"] = {"params": params, "body": steps, "results": carried + (stacked if stacks else [])}
    results = ["y"] + ([] if is_const else [f"{each}2" for each in weights]) + (["ys"] if stacks else [])
    loop = step(one_or_all(results), "scan", *params[:-1], "xs", fn="body", num_carry=len(carried), num_consts=len(weights) if is_const else 0,
                reverse=draw.is_true(0.3))
    shapes = {"y": shape} | ({"ys": [length, *new]} if stacks else {})
    after = draw.touched("y", shape)
    if stacks and draw.is_true(0.3):
        del shapes["y"]
        after = []
    return draw.finished(name, [*draw.touched("v", shape), loop, *after], shapes)


def while_loop(draw, name):
    shape, weights, length = given(draw)
    body = Body(draw, shape, weights)
    steps = []
    if draw.is_true(0.4):
        draw.argument("rows", [length, *draw.of(shape, [shape[1]])])
        steps = [step("x", "dynamic_index_in_dim", "rows", "n", axis=0, keepdims=False), step("v", "add", "v", "x")]
    steps = steps + body.extended(draw.of(1, 2, 3)) + [step("n", "add", "n", 1)]
    others = [*weights, *(["rows"] if "rows" in draw.arguments else [])]
    draw.functions["goes_on"] = {"params": [*others, "n", "v"], "body": [step("c", "less", "n", length)], "results": ["c"]}
    draw.functions["body"] = {"params": [*others, "n", "v"], "body": steps, "results": ["n", "v"]}
    loop = step(["n2", "y"], "while_loop", *others, "n", "v", cond_fn="goes_on", body_fn="body", num_consts=len(others))
    start = [*draw.touched("v", shape), {"let": "n", "op": "constant", "args": [], "value": 0}]
    return draw.finished(name, [*start, loop, *draw.touched("y", shape)], {"y": shape}, gradient=0)


def branch(draw, name):
    shape, weights, _ = given(draw)
    draw.argument("z", shape)
    fns = ["left", "right"]
    for each in fns:
        steps = Body(draw, shape, weights, depth=1).extended(draw.of(1, 2, 3))
        steps += draw.of([step("v", "add", "v", "z")], [step("v", "matmul", "z", weights[0])], [])
        draw.functions[each] = {"params": ["v", "z", *weights], "body": steps, "results": ["v"]}
    choice = [step("c", draw.of("sum", "max"), "z"), step("c", "greater", "c", draw.of(0.3, 2.0)), step("y", "cond", "c", "v", "z", *weights, fns=fns)]
    return draw.finished(name, [*draw.touched("v", shape), *choice, *draw.touched("y", shape)], {"y": shape})
