"""The choices of one random program: its mesh, arguments and what becomes of its results."""
import math
import random

# How arguments are made of 0, 1, 2 …, by what is asked for: floats of both signs, small ones, positive ones, ones without a pattern, ones
# between 0 and 1, integers from 1 on, truths.
MADE = {"f": [("mul", 0.37), ("sin",)], "w": [("mul", 0.37), ("sin",), ("mul", 0.3)],
        "p": [("mul", 0.37), ("sin",), ("add", 1.3)], "q": [("square",), ("mul", 0.37), ("sin",)], "u": [("mul", 0.37), ("sin",), ("mul", 0.4), ("add", 0.5)],
        "i": [("remainder", 7), ("add", 1)], "b": [("remainder", 3), ("equal", 0)]}
MESHES = [((8,), "a"), ((2, 4), "ab"), ((4, 2), "ab"), ((2, 2, 2), "abc"), ((7,), "a"), ((3, 2), "ab")]
# With axes of size 1, other numbers of devices than 8, four axes.
RARE_MESHES = [((1, 8), "ab"), ((2, 1, 4), "abc"), ((12,), "a"), ((2, 3, 2), "abc"), ((16,), "a"), ((4, 4), "ab"), ((2, 2, 2, 2), "abcd"), ((6,), "a"),
               ((5,), "a"), ((3, 4), "ab"), ((2, 6), "ab"), ((2, 8), "ab"), ((8, 2), "ab"), ((3, 3), "ab"), ((2, 2, 3), "abc")]


def step(let, op, *args, **attributes):
    return {"let": let, "op": op, "args": list(args), **attributes}


def one_or_all(names):
    return names if len(names) > 1 else names[0]


class Draw:
    """One program's choices."""

    def __init__(self, seed, meshes=MESHES):
        self.random = random.Random(seed)
        shape, axes = self.random.choice(meshes)
        self.axes = dict(zip(axes, shape))
        self.mesh = {"shape": list(shape), "axes": list(axes)}
        if self.is_true(0.3):
            self.mesh["devices"] = self.random.sample(range(math.prod(shape)), math.prod(shape))
        self.arguments = {}
        self.whole_numbers = set()
        self.program = []
        self.functions = {}

    def of(self, *choices):
        return self.random.choice(choices)

    def is_true(self, chance):
        return self.random.random() < chance

    def shuffled(self, items):
        return self.random.sample(list(items), len(items))

    def spec(self, shape, axes=None):
        """Axes for each dimension that they divide."""
        free = self.shuffled(self.axes if axes is None else axes)
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

    def shape(self, rank):
        return [self.size(5) if rank < 3 else self.of(*self.axes.values(), 4, 6) for _ in range(rank)]

    def argument(self, name, shape, kind="f", is_cut=False):
        """Of a kind in MADE; `is_cut`: along some axes, if possible."""
        if kind in "ib":
            self.whole_numbers.add(name)
        return self._given(name, shape, "int32" if kind == "i" else "float32",
                           [(op, {"args": [name, *more]}) for op, *more in MADE[kind]], is_cut)

    def indices(self, name, shape, count, unique=False):
        """Numbers below count; unique ones where there are no more of them."""
        factor = next(k for k in (7, 5, 11, 1) if math.gcd(k, count) == 1) if unique else 7
        self.whole_numbers.add(name)
        return self._given(name, shape, "int32", [("mul", {"args": [name, factor]}), ("add", {"args": [name, self.random.randrange(9)]}),
                                                  ("remainder", {"args": [name, count]})])

    def key(self, name):
        """A key that the program gets."""
        self.whole_numbers.add(name)
        self.program.append(step(name, "random.PRNGKey", self.random.randrange(1000)))
        self.arguments[name] = [2]

    def _given(self, name, shape, dtype, statements, is_cut=False):
        spec = self.spec(shape)
        for _ in range(4 if is_cut else 0):
            spec = spec if any(spec) else self.spec(shape)
        statements = [("arange", {"args": [math.prod(shape)], "dtype": dtype}), *statements,
                      ("reshape", {"args": [name], "shape": list(shape)}), ("device_put", {"args": [name], "sharding": spec})]
        self.program += [{"let": name, "op": op, **rest} for op, rest in statements]
        self.arguments[name] = shape
        return name

    def held(self, name, shape, chance=0.3):
        """Perhaps a constraint of a value."""
        return [step(name, "with_sharding_constraint", name, spec=self.spec(shape))] if self.is_true(chance) else []

    def touched(self, name, shape):
        """Perhaps an elementwise op, and perhaps a constraint."""
        return ([step(name, self.of("sin", "tanh", "negative"), name)] if self.is_true(0.4) else []) + self.held(name, shape, 0.2)

    def document(self, name, functions, results, **options):
        given = list(self.arguments)
        jit = {"let": one_or_all(results), "op": "jit", "fn": "f", "args": given, **options}
        return {"shardlab": 1, "name": name, "cluster": {"processes": 1, "devices": math.prod(self.axes.values())},
                "meshes": {"m": self.mesh}, "functions": {**self.functions, **functions}, "program": [*self.program, jit]}

    def gradient(self, name, functions, of, **options):
        """The gradients of the function `loss` by some arguments."""
        given = list(self.arguments)
        results = [f"g{i}" for i in of]
        body = [step(one_or_all(results), "grad", *given, fn="loss", argnums=of)]
        return self.document(name, {**functions, "f": {"params": given, "body": body, "results": results}}, results, **options)

    def finished(self, name, body, results, gradient=0.5):
        """The program of a body that makes `results`, name -> shape: these, or the gradients of what they come to; both may be placed."""
        given = list(self.arguments)
        by = [i for i, each in enumerate(given) if each not in self.whole_numbers]
        if not by or not self.is_true(gradient):
            return self.document(name, {"f": {"params": given, "body": body, "results": list(results)}}, list(results),
                                 **self.placed(results.values()))
        losses = []
        for i, each in enumerate(results):
            losses += [step(f"s{i}", self.of("square", "sin", "tanh"), each), step(f"l{i}", "sum", f"s{i}")]
            losses += [step("l0", "add", "l0", f"l{i}")] if i else []
        of = sorted(self.random.sample(by, self.random.randint(1, len(by))))
        functions = {"loss": {"params": given, "body": [*body, *losses], "results": ["l0"]}}
        return self.gradient(name, functions, of, **self.placed([self.arguments[given[i]] for i in of]))

    def placed(self, shapes):
        return {"out_shardings": [self.spec(shape) for shape in shapes]} if self.is_true(0.3) else {}


class Size(int):
    """A mesh axis's size, by which a choice between sizes of dimensions is told from one between other numbers."""


class DrawLong(Draw):
    """One of whose dimensions, or two, are many times as long as the others."""

    def __init__(self, seed, meshes=MESHES):
        super().__init__(seed, meshes)
        self.axes = {axis: Size(size) for axis, size in self.axes.items()}
        self.longer = 2

    def of(self, *choices):
        chosen = super().of(*choices)
        return self.long(chosen) if any(isinstance(each, Size) for each in choices) else chosen

    def size(self, *more):
        return self.long(super().size(*more))

    def long(self, size):
        if self.longer == 0 or not self.is_true(0.3):
            return int(size)
        self.longer -= 1
        return size * super().of(4, 8, 16, 32)
