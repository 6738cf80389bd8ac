"""Functions of every kind, one after the other, of several values of one shape that are cut otherwise from each other; with gradients or tangents."""
from draw import step

ONE = ["sin", "cos", "tanh", "square", "log1p", "sqrt", "sinc", "softplus", "silu", "log_sigmoid", "mish", "gelu", "leaky_relu", "elu", "relu6",
       "nan_to_num", "ndtr", "expm1", "erf"]
TWO = ["add", "mul", "sub", "div", "hypot", "logaddexp", "arctan2", "power", "maximum", "minimum", "fmax", "fmin", "xlogy", "copysign", "remainder"]
ALONG = ["flip", "softmax", "log_softmax", "cumprod", "cumsum", "sort", "cummax"]
OVER = ["var", "std", "mean", "sum", "max", "logsumexp", "linalg.norm", "median", "prod"]


def program(draw, name):
    shape = [draw.of(4, 8) for _ in range(draw.of(2, 3, 3))]
    values, body = [], []
    for i in range(draw.random.randint(2, 4)):
        values.append(draw.argument(f"x{i}", shape, "p", is_cut=True))

    def make(op, *args, **attributes):
        made = f"v{len(body)}"
        body.append(step(made, op, *args, **attributes))
        return made

    def one(x, y, z, axis): return make(draw.of(*ONE), x)
    def two(x, y, z, axis): return make(draw.of(*TWO), x, y)
    def along(x, y, z, axis): return make(draw.of(*ALONG), x, axis=axis)
    def chosen(x, y, z, axis): return make("where", make(draw.of("less", "greater_equal"), x, draw.of(y, 1.0)), y, draw.of(z, 0.0))
    def over(x, y, z, axis): return make(draw.of("add", "sub", "mul"), make(draw.of(*OVER), x, axis=axis, keepdims=True), y)
    def masked(x, y, z, axis): return make("add", make(draw.of("var", "mean", "sum"), x, axis=axis, keepdims=True, where=make("less", y, 1.5)), z)
    def transformed(x, y, z, axis): return make(draw.of("real", "abs", "imag"), make(draw.of("fft.fft", "fft.ifft"), x, axis=axis))
    def shifted(x, y, z, axis): return make("roll", x, shift=draw.of(1, 2, -1), axis=axis)
    def clipped(x, y, z, axis): return make("clip", x, 0.5, draw.of(1.5, y))

    def padded(x, y, z, axis):
        wide = make("pad", x, pad_width=[[1, 0] if d == axis else [0, 0] for d in range(len(shape))], **draw.of({}, {"mode": "edge"}))
        return make("slice", wide, start=[0] * len(shape), limit=shape)

    def joined(x, y, z, axis):
        both = make("concatenate", x, y, axis=axis)
        start = draw.of(0, 1, shape[axis] // 2)
        return make("slice_in_dim", both, start_index=start, limit_index=start + shape[axis], axis=axis)

    def looked_up(x, y, z, axis):
        places = make("constant", value=[draw.random.randrange(shape[axis]) for _ in range(shape[axis])])
        return make("take", x, places, axis=axis)

    def written(x, y, z, axis):
        places = make("constant", value=[draw.random.randrange(shape[0]) for _ in range(2)])
        return make("scatter_add", x, places, make("slice_in_dim", y, start_index=0, limit_index=2, axis=0))

    def turned(x, y, z, axis):
        order = draw.shuffled(range(len(shape)))
        back = [order.index(d) for d in range(len(shape))]
        return make("transpose", make(draw.of("sin", "cos"), make("transpose", x, axes=order)), axes=back)

    def flattened(x, y, z, axis): return make("reshape", make(draw.of("tanh", "cos"), make("ravel", x)), shape=shape)
    def multiplied(x, y, z, axis): return make("matmul", x, make("matmul", make("swapaxes", y, axis1=-1, axis2=-2), z))
    def contracted(x, y, z, axis): return make("einsum", make("einsum", x, y, subscripts="...ik,...jk->...ij"), z, subscripts="...ij,...jk->...ik")
    def stacked(x, y, z, axis): return make(draw.of("sum", "max", "logsumexp"), make("stack", x, y, axis=axis), axis=axis)
    def repeated(x, y, z, axis): return make("slice_in_dim", make("repeat", x, repeats=2, axis=axis), start_index=1, limit_index=1 + shape[axis], axis=axis)
    def triangular(x, y, z, axis): return make(draw.of("tril", "triu"), x)

    kinds = [one, one, two, two, two, along, chosen, chosen, over, over, masked, transformed, shifted, clipped, padded, joined, looked_up, written, turned, flattened,
             multiplied, contracted, stacked, repeated, triangular]
    for _ in range(draw.random.randint(3, 7)):
        x, y, z = (draw.of(*values) for _ in range(3))
        values.append(draw.of(*kinds)(x, y, z, draw.random.randrange(len(shape))))
        body.extend(draw.held(values[-1], shape, 0.1))
    last = values[-1]
    if not draw.is_true(0.4):
        return draw.finished(name, body, {last: shape}, gradient=0.8)
    given = list(draw.arguments)
    changes = [draw.argument(f"d{each}", shape, "f", is_cut=True) for each in given]
    draw.functions["inner"] = {"params": given, "body": body, "results": [last]}
    tangents = step(["r", "t"], "jvp", *given, *changes, fn="inner")
    return draw.document(name, {"f": {"params": [*given, *changes], "body": [tangents], "results": ["r", "t"]}}, ["r", "t"], **draw.placed([shape, shape]))
