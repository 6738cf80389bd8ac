"""A few lines as users write them (products, norms, softmaxes, attention, lookups, joins, shifts, windows, a step of an optimiser): arguments and
results lie in random ways, gradients in about half."""
from draw import step
from einsums import argument


def product(draw):
    rows, inner, columns = draw.size(), draw.size(), draw.size()
    return {"x": [rows, inner], "y": [inner, columns]}, [step("r", "matmul", "x", "y")], [rows, columns]


def two_products(draw):
    rows, inner, hidden = draw.size(), draw.size(), draw.size()
    body = [step("h", "matmul", "x", "w"), step("h", draw.of("gelu", "tanh", "relu"), "h"), step("h", "matmul", "h", "u"), step("r", "add", "h", "x")]
    return {"x": [rows, inner], "w": [inner, hidden], "u": [hidden, inner]}, body, [rows, inner]


def reduction(draw):
    shape, axis = [draw.size(), draw.size()], draw.of(0, 1)
    return {"x": shape}, [step("r", draw.of("sum", "mean", "max", "logsumexp", "var"), "x", axis=axis)], [shape[1 - axis]]


def softmax(draw):
    shape = [draw.size(), draw.size()]
    return {"x": shape}, [step("r", draw.of("softmax", "log_softmax"), "x", axis=draw.of(0, 1))], shape


def norm(draw):
    rows, columns = draw.size(), draw.size()
    body = [step("m", "mean", "x", axis=1, keepdims=True), step("v", "var", "x", axis=1, keepdims=True), step("d", "sub", "x", "m"),
            step("v", "add", "v", 1e-3), step("s", "rsqrt", "v"), step("d", "mul", "d", "s"), step("r", "mul", "d", "g")]
    return {"x": [rows, columns], "g": [columns]}, body, [rows, columns]


def attention(draw):
    batch, places, features = draw.size(), draw.size(), draw.size(4)
    body = [step("s", "einsum", "q", "k", subscripts="bqd,bkd->bqk")]
    if draw.is_true(0.5):
        body += [step("m", "ones", shape=[places, places], dtype="bool"), step("m", "tril", "m"), step("s", "where", "m", "s", -1e9)]
    body += [step("s", "softmax", "s", axis=2), step("r", "einsum", "s", "v", subscripts="bqk,bkd->bqd")]
    return dict.fromkeys("qkv", [batch, places, features]), body, [batch, places, features]


def move(draw):
    shape = [draw.size(), draw.of(2, 4, 6), draw.size()]
    if draw.is_true(0.5):
        axes = draw.shuffled(range(3))
        return {"x": shape}, [step("h", "sin", "x"), step("r", "transpose", "h", axes=axes)], [shape[axis] for axis in axes]
    merged = draw.of([shape[0] * shape[1], shape[2]], [shape[0], shape[1] * shape[2]], [shape[0] * shape[1] * shape[2]])
    return {"x": shape}, [step("h", "sin", "x"), step("r", "reshape", "h", shape=merged)], merged


def join(draw):
    shape, axis = [draw.size(), draw.size()], draw.of(0, 1)
    joined = [2 * size if d == axis else size for d, size in enumerate(shape)]
    return {"x": shape, "y": shape}, [step("h", "concatenate", "x", "y", axis=axis), step("r", "cos", "h")], joined


def along(draw):
    shape, axis = [draw.size(), draw.size()], draw.of(0, 1)
    ops = {"cumsum": [step("h", "cumsum", "x", axis=axis)], "sort": [step("h", "sort", "x", axis=axis)],
           "roll": [step("h", "roll", "x", shift=draw.of(1, 3, -2), axis=axis)],
           "order": [step("i", "argsort", "x", axis=axis), step("h", "take_along_axis", "x", "i", axis=axis)],
           "pad": [step("h", "pad", "x", pad_width=[[1, 1], [0, 0]]), step("h", "slice", "h", start=[0, 0], limit=shape)]}
    return {"x": shape}, [*ops[draw.of(*ops)], step("r", draw.of("mul", "sub", "add"), "h", "x")], shape


def lookup(draw):
    rows, features, columns = draw.size(16), draw.size(), draw.size()
    count = draw.size(8)
    known = [step("i", "constant", value=[(7 * k + 3) % rows for k in range(count)])]
    if draw.is_true(0.4):
        return {"x": [rows, features], "u": [count, features]}, [*known, step("r", "scatter_add", "x", "i", "u")], [rows, features]
    body = [*known, step("e", "take", "t", "i", axis=0), step("h", "matmul", "e", "w"), step("r", "log_softmax", "h", axis=1)]
    return {"t": [rows, features], "w": [features, columns]}, body, [count, columns]


def convolution(draw):
    batch, channels, features = draw.size(2), draw.size(4), draw.size(8)
    body = [step("r", "conv", "x", "k", dimension_numbers=["NCHW", "OIHW", "NCHW"], padding="SAME")]
    return {"x": [batch, channels, 8, 8], "k": [features, channels, 3, 3]}, body, [batch, features, 8, 8]


def transform(draw):
    shape = [draw.size(), draw.size()]
    return {"x": shape}, [step("h", "fft.fft", "x", axis=draw.of(0, 1)), step("r", "abs", "h")], shape


def repeat(draw):
    rows, columns = draw.size(), draw.size()
    return {"x": [rows, columns]}, [step("h", "tile", "x", reps=[1, 2]), step("r", "repeat", "h", repeats=2, axis=0)], [2 * rows, 2 * columns]


def adam(draw):
    shape = [draw.size(), draw.size()]
    body = [step("m", "mul", "m", 0.9), step("a", "mul", "g", 0.1), step("m", "add", "m", "a"), step("v", "mul", "v", 0.99), step("b", "square", "g"),
            step("b", "mul", "b", 0.01), step("v", "add", "v", "b"), step("v", "abs", "v"), step("d", "sqrt", "v"), step("d", "add", "d", 1e-3),
            step("u", "div", "m", "d"), step("r", "sub", "p", "u")]
    return dict.fromkeys("pgmv", shape), body, shape


def elementwise(draw):
    shape = [draw.size() for _ in range(draw.of(1, 2, 2, 3))]
    body = draw.of([step("r", "mul", "x", "y")], [step("c", "greater", "z", 0.1), step("r", "where", "c", "x", "y")],
                   [step("r", "mul", "x", "y"), step("r", "mul", "r", "z")], [step("r", "mul", "x", 2.0), step("r", "add", "r", "y")],
                   [step("r", "clip", "x", "y", "z")], [step("s", "tanh", "x"), step("r", "atan2", "s", "y"), step("r", "add", "r", "s")])
    return dict.fromkeys("xyz", shape), body, shape


IDIOMS = (product, two_products, reduction, softmax, norm, attention, move, join, along, lookup, convolution, transform, repeat, adam, elementwise)


def program(draw, name):
    arguments, body, shape = draw.of(*IDIOMS)(draw)
    alike = draw.is_true(0.4)  # where they have the same shape
    first = None
    for each, size in arguments.items():
        argument(draw, each, size)
        if alike and first is not None and size == next(iter(arguments.values())):
            draw.program[-1]["sharding"] = first
        first = first or draw.program[-1]["sharding"]
    return draw.finished(name, body, {"r": shape})
