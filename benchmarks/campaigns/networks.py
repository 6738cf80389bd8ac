"""Networks of several blocks as users write them, with a loss, and their gradients or a step of training."""
from draw import step


def program(draw, name):
    return Network(draw).program(name)


class Network:
    """Values are x0, x1 …, each [batch, steps, features]; parameters p0, p1 …"""

    def __init__(self, draw):
        self.draw, self.body, self.functions, self.count = draw, [], {}, 0
        axes = list(draw.axes.values())
        self.batch, self.steps = draw.of(*axes) * draw.of(1, 2), draw.of(4, 6, *axes)
        self.heads, self.features = draw.of(2, 3, *axes), 0
        self.features = self.heads * draw.of(2, 4)
        self.parameters = []
        # How whoever writes such programs cuts them: the batch alone, with parameters whole, cut along their first or last dimension,
        # or any of them anyhow.
        self.style = draw.of("batch", "first", "last", "any", "any")
        self.data_axis = draw.of(*draw.axes)

    def program(self, name):
        draw = self.draw
        value = self.inputs()
        for _ in range(draw.random.randint(1, 3)):
            value = draw.of(self.attention, self.dense, self.gated, self.normed, self.experts, self.mixed_steps, self.stacked)(value)
            self.body += draw.held(value, [self.batch, self.steps, self.features], 0.2)
        self.loss(value)
        given = list(draw.arguments)
        of = [given.index(each) for each in self.parameters]
        functions = {**self.functions, "loss": {"params": given, "body": self.body, "results": ["loss"]}}
        if draw.is_true(0.3) or not of:  # a norm alone has no parameters
            return draw.document(name, {**functions, "f": functions["loss"]}, ["loss"])
        if draw.is_true(0.4):
            return draw.gradient(name, functions, of)
        new = [f"n{i}" for i in range(len(of))]
        train = [step(["loss", *(f"g{i}" for i in range(len(of)))], "value_and_grad", *given, fn="loss", argnums=of)]
        for i, parameter in enumerate(self.parameters):
            train += [step("u", "mul", f"g{i}", 0.1), step(new[i], "sub", parameter, "u")]
        placed = {"out_shardings": [[], *(self.specs[each] for each in self.parameters)]} if draw.is_true(0.5) else {}
        return draw.document(name, {**functions, "f": {"params": given, "body": train, "results": ["loss", *new]}}, ["loss", *new], **placed)

    specs = property(lambda self: {each["args"][0]: each["sharding"] for each in self.draw.program if each["op"] == "device_put"})

    # Arguments.

    def cut(self, name, spec):
        """What was drawn for an argument is replaced."""
        put = next(each for each in reversed(self.draw.program) if each["op"] == "device_put" and each["args"] == [name])
        size = lambda axis: self.draw.axes[axis]
        put["sharding"] = [axis if axis and shape % size(axis) == 0 else None for axis, shape in zip(spec, self.draw.arguments[name])]

    def parameter(self, shape):
        name = self.draw.argument(f"p{len(self.parameters)}", shape, "w")
        self.parameters.append(name)
        if self.style != "any":
            others = [axis for axis in self.draw.axes if axis != self.data_axis] or [self.data_axis]
            spec = [None] * len(shape)
            if self.style != "batch":
                spec[0 if self.style == "first" else -1] = self.draw.of(*others)
            self.cut(name, spec)
        return name

    def inputs(self):
        draw, shape = self.draw, [self.batch, self.steps]
        if draw.is_true(0.4):
            words = draw.size()
            tokens = draw.indices("tokens", shape, words)
            self.cut(tokens, [self.data_axis, None])
            table = self.parameter([words, self.features])
            self.make("x0", "take", table, tokens, axis=0)
        else:
            draw.argument("x0", [*shape, self.features])
            self.cut("x0", [self.data_axis, None, None])
        return "x0"

    # Statements.

    def make(self, let, op, *args, **attributes):
        self.body.append(step(let, op, *args, **attributes))
        return let

    def new(self, op, *args, **attributes):
        self.count += 1
        return self.make(f"v{self.count}", op, *args, **attributes)

    def product(self, value, shape, subscripts):
        return self.new("einsum", value, self.parameter(shape), subscripts=subscripts)

    def active(self, value):
        return self.new(self.draw.of("relu", "tanh", "gelu", "silu", "sin"), value)

    def with_residual(self, value, changed):
        return self.new("add", value, changed) if self.draw.is_true(0.7) else changed

    # Blocks.

    def dense(self, value):
        width = self.features * self.draw.of(1, 2, 4)
        hidden = self.new("matmul", value, self.parameter([self.features, width]))
        if self.draw.is_true(0.6):
            hidden = self.new("add", hidden, self.parameter([width]))
        hidden = self.active(hidden)
        self.body += self.draw.held(hidden, [self.batch, self.steps, width], 0.2)
        return self.with_residual(value, self.new("matmul", hidden, self.parameter([width, self.features])))

    def gated(self, value):
        width = self.features * 2
        gate, up = (self.new("matmul", value, self.parameter([self.features, width])) for _ in range(2))
        hidden = self.new("mul", self.active(gate), up)
        return self.with_residual(value, self.new("matmul", hidden, self.parameter([width, self.features])))

    def normed(self, value):
        if self.draw.is_true(0.5):
            mean = self.new("mean", value, axis=-1, keepdims=True)
            value = self.new("sub", value, mean)
        size = self.new("mean", self.new("square", value), axis=-1, keepdims=True)
        value = self.new("mul", value, self.new("rsqrt", self.new("add", size, 1e-3)))
        value = self.new("mul", value, self.parameter([self.features]))
        return self.new("add", value, self.parameter([self.features])) if self.draw.is_true(0.5) else value

    def attention(self, value):
        draw, depth = self.draw, self.features // self.heads
        if draw.is_true(0.5):
            queries, keys, values = (self.product(value, [self.features, self.heads, depth], "bsf,fhd->bshd") for _ in range(3))
        else:
            together = self.new("matmul", value, self.parameter([self.features, 3 * self.features]))
            parts = [f"{together}{part}" for part in "qkv"]
            self.make(parts, "split", together, indices_or_sections=3, axis=-1)
            queries, keys, values = (self.new("reshape", part, shape=[self.batch, self.steps, self.heads, depth]) for part in parts)
        scores = self.new("mul", self.new("einsum", queries, keys, subscripts="bshd,bthd->bhst"), depth ** -0.5)
        if draw.is_true(0.5):
            mask = self.new("tril", self.new("ones", shape=[self.steps, self.steps], dtype="bool"))
            scores = self.new("where", mask, scores, -1e9)
        self.body += draw.held(scores, [self.batch, self.heads, self.steps, self.steps], 0.15)
        mixed = self.new("einsum", self.new("softmax", scores, axis=-1), values, subscripts="bhst,bthd->bshd")
        if draw.is_true(0.5):
            return self.with_residual(value, self.product(mixed, [self.heads, depth, self.features], "bshd,hdf->bsf"))
        flat = self.new("reshape", mixed, shape=[self.batch, self.steps, self.features])
        return self.with_residual(value, self.new("matmul", flat, self.parameter([self.features, self.features])))

    def experts(self, value):
        """Each weighs in by its share of a softmax, or the best one alone."""
        draw, count, width = self.draw, self.draw.of(2, *self.draw.axes.values()), self.features * self.draw.of(1, 2)
        shares = self.new("softmax", self.new("matmul", value, self.parameter([self.features, count])), axis=-1)
        if draw.is_true(0.4):
            shares = self.new("mul", shares, self.new("one_hot", self.new("argmax", shares, axis=-1), num_classes=count))
        hidden = self.active(self.product(value, [count, self.features, width], "bsf,efw->besw"))
        self.body += draw.held(hidden, [self.batch, count, self.steps, width], 0.2)
        each = self.product(hidden, [count, width, self.features], "besw,ewf->besf")
        return self.with_residual(value, self.new("einsum", each, shares, subscripts="besf,bse->bsf"))

    def mixed_steps(self, value):
        """What comes before in time: shifted, summed up, or by a product along it."""
        draw = self.draw
        if draw.is_true(0.3):
            return self.with_residual(value, self.product(value, [self.steps, self.steps], "bsf,st->btf"))
        if draw.is_true(0.5):
            return self.with_residual(value, self.new("mul", self.new("cumsum", value, axis=1), 0.2))
        before = self.new("pad", self.new("slice", value, start=[0, 0, 0], limit=[self.batch, self.steps - 1, self.features]),
                          padding=[[0, 0, 0], [1, 0, 0], [0, 0, 0]])
        return self.with_residual(value, self.new("mul", before, self.parameter([self.features])))

    def stacked(self, value):
        """Equal layers, their parameters stacked, one after the other in a scan."""
        layers = self.draw.of(2, 3)
        weights, biases = self.parameter([layers, self.features, self.features]), self.parameter([layers, self.features])
        layer = [step("y", "matmul", "x", "w"), step("y", "add", "y", "b"), step("y", self.draw.of("tanh", "relu"), "y")]
        if self.draw.is_true(0.5):
            layer.append(step("y", "add", "x", "y"))
        layer += self.draw.held("y", [self.batch, self.steps, self.features], 0.2)
        self.count += 1
        name = f"layer{self.count}"
        self.functions[name] = {"params": ["x", "w", "b"], "body": layer, "results": ["y"]}
        return self.make(f"v{self.count}", "scan", value, weights, biases, fn=name, num_carry=1)

    def loss(self, value):
        draw = self.draw
        kind = draw.of("squares", "labels", "labels", "pooled")
        if kind == "squares":
            wanted = draw.argument("wanted", [self.batch, self.steps, self.features])
            self.cut(wanted, [self.data_axis, None, None])
            self.make("loss", "mean", self.new("square", self.new("sub", value, wanted)))
            return
        if kind == "pooled":
            value = self.new("mean", value, axis=1)
        words = draw.size()
        shape = [self.batch] if kind == "pooled" else [self.batch, self.steps]
        labels = draw.indices("labels", shape, words)
        self.cut(labels, [self.data_axis, None])
        logs = self.new("log_softmax", self.new("matmul", value, self.parameter([self.features, words])), axis=-1)
        if draw.is_true(0.5):
            picked = self.new("sum", self.new("mul", logs, self.new("one_hot", labels, num_classes=words)), axis=-1)
        else:
            picked = self.new("take_along_axis", logs, self.new("expand_dims", labels, axis=-1), axis=-1)
        self.make("loss", "mean", self.new("neg", picked))
