"""Functions of every kind, one after the other, of several values of one shape that are cut otherwise from each other; with gradients or tangents."""
from draw import step

ONE = ["sin", "cos", "tanh", "square", "log1p", "sqrt", "sinc", "softplus", "silu", "log_sigmoid", "mish", "gelu", "leaky_relu", "elu", "relu6",
       "nan_to_num", "ndtr", "expm1", "erf"]
TWO = ["add", "mul", "sub", "div", "hypot", "logaddexp", "arctan2", "power", "maximum", "minimum", "fmax", "fmin", "xlogy", "copysign", "remainder"]
ALONG = ["flip", "softmax", "log_softmax", "cumprod", "cumsum", "sort", "cummax"]
OVER = ["var", "std", "mean", "sum", "max", "logsumexp", "linalg.norm", "median", "prod"]


def program(draw, name, mixture=None):
    return (mixture or Mixture)(draw).program(name)


class Mixture:
    """Values of one shape; each kind of step makes another one of some of them, `x`, `y` and `z`, along a dimension."""

    def __init__(self, draw):
        self.draw, self.body, self.count = draw, [], 0
        self.shape = [draw.of(4, 8) for _ in range(draw.of(2, 3, 3))]

    def kinds(self):
        return [self.one, self.one, self.two, self.two, self.two, self.along, self.chosen, self.chosen, self.over, self.over, self.masked, self.transformed,
                self.shifted, self.clipped, self.padded, self.joined, self.looked_up, self.written, self.turned, self.flattened, self.multiplied, self.contracted,
                self.stacked, self.repeated, self.triangular]

    def program(self, name):
        draw, shape, body = self.draw, self.shape, self.body
        values = []
        for i in range(draw.random.randint(2, 4)):
            values.append(draw.argument(f"x{i}", shape, "p", is_cut=True))
        kinds = self.kinds()
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

    def make(self, op, *args, **attributes):
        made = f"v{len(self.body)}"
        self.body.append(step(made, op, *args, **attributes))
        return made

    def one(self, x, y, z, axis): return self.make(self.draw.of(*ONE), x)
    def two(self, x, y, z, axis): return self.make(self.draw.of(*TWO), x, y)
    def along(self, x, y, z, axis): return self.make(self.draw.of(*ALONG), x, axis=axis)

    def chosen(self, x, y, z, axis):
        draw = self.draw
        return self.make("where", self.make(draw.of("less", "greater_equal"), x, draw.of(y, 1.0)), y, draw.of(z, 0.0))

    def over(self, x, y, z, axis):
        return self.make(self.draw.of("add", "sub", "mul"), self.make(self.draw.of(*OVER), x, axis=axis, keepdims=True), y)

    def masked(self, x, y, z, axis):
        return self.make("add", self.make(self.draw.of("var", "mean", "sum"), x, axis=axis, keepdims=True, where=self.make("less", y, 1.5)), z)

    def transformed(self, x, y, z, axis):
        return self.make(self.draw.of("real", "abs", "imag"), self.make(self.draw.of("fft.fft", "fft.ifft"), x, axis=axis))

    def shifted(self, x, y, z, axis): return self.make("roll", x, shift=self.draw.of(1, 2, -1), axis=axis)
    def clipped(self, x, y, z, axis): return self.make("clip", x, 0.5, self.draw.of(1.5, y))

    def padded(self, x, y, z, axis):
        shape = self.shape
        wide = self.make("pad", x, pad_width=[[1, 0] if d == axis else [0, 0] for d in range(len(shape))], **self.draw.of({}, {"mode": "edge"}))
        return self.make("slice", wide, start=[0] * len(shape), limit=shape)

    def joined(self, x, y, z, axis):
        both = self.make("concatenate", x, y, axis=axis)
        start = self.draw.of(0, 1, self.shape[axis] // 2)
        return self.make("slice_in_dim", both, start_index=start, limit_index=start + self.shape[axis], axis=axis)

    def looked_up(self, x, y, z, axis):
        places = self.make("constant", value=[self.draw.random.randrange(self.shape[axis]) for _ in range(self.shape[axis])])
        return self.make("take", x, places, axis=axis)

    def written(self, x, y, z, axis):
        places = self.make("constant", value=[self.draw.random.randrange(self.shape[0]) for _ in range(2)])
        return self.make("scatter_add", x, places, self.make("slice_in_dim", y, start_index=0, limit_index=2, axis=0))

    def turned(self, x, y, z, axis):
        order = self.draw.shuffled(range(len(self.shape)))
        back = [order.index(d) for d in range(len(order))]
        return self.make("transpose", self.make(self.draw.of("sin", "cos"), self.make("transpose", x, axes=order)), axes=back)

    def flattened(self, x, y, z, axis):
        return self.make("reshape", self.make(self.draw.of("tanh", "cos"), self.make("ravel", x)), shape=self.shape)

    def multiplied(self, x, y, z, axis): return self.make("matmul", x, self.make("matmul", self.make("swapaxes", y, axis1=-1, axis2=-2), z))

    def contracted(self, x, y, z, axis):
        return self.make("einsum", self.make("einsum", x, y, subscripts="...ik,...jk->...ij"), z, subscripts="...ij,...jk->...ik")

    def stacked(self, x, y, z, axis): return self.make(self.draw.of("sum", "max", "logsumexp"), self.make("stack", x, y, axis=axis), axis=axis)

    def repeated(self, x, y, z, axis):
        return self.make("slice_in_dim", self.make("repeat", x, repeats=2, axis=axis), start_index=1, limit_index=1 + self.shape[axis], axis=axis)

    def triangular(self, x, y, z, axis): return self.make(self.draw.of("tril", "triu"), x)
