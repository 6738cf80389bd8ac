"""Per-device code with every collective, over all axes of the mesh or some of them, under derivatives and batches."""
import math

from draw import step


def program(draw, name):
    shape = draw.shape(draw.of(1, 2, 2, 3))
    manual = list(draw.axes) if draw.is_true(0.65) else draw.random.sample(list(draw.axes), draw.random.randint(1, len(draw.axes)))
    spec = draw.spec(shape, manual)
    batch = [draw.size()] if draw.is_true(0.25) else []
    draw.argument("x", batch + shape)
    code = Code(draw, shape, spec, manual)
    code.extended(draw.of(1, 2, 2, 3))
    out, result = code.result()
    call = {"fn": "device", "in_specs": [spec], "out_specs": [out]}
    if len(manual) < len(draw.axes):
        call["axis_names"] = manual
    draw.functions["device"] = {"params": ["v"], "body": code.steps, "results": ["v"]}
    steps = [step("y", "shard_map", "v", **call)]
    if batch:
        draw.functions["rows"] = {"params": ["v"], "body": steps, "results": ["y"]}
        free = [axis for axis in draw.axes if axis not in manual]
        along = {"spmd_axis_name": free[0]} if free and batch[0] % draw.axes[free[0]] == 0 and draw.is_true(0.5) else {}
        steps = [step("y", "vmap", "v", fn="rows", **along)]
    value, after = [step("v", draw.of("sin", "tanh"), "x"), *draw.held("v", batch + shape)], draw.touched("y", batch + result)
    return draw.finished(name, [*value, *steps, *after], {"y": batch + result}, gradient=0.4 if code.is_smooth else 0)


class Code:
    """Steps of one device on its part `v`, and how large that is."""

    def __init__(self, draw, shape, spec, manual):
        self.draw, self.manual = draw, manual
        self.part = [size // math.prod(draw.axes[axis] for axis in axes_of(each)) for size, each in zip(shape, spec)]
        self.steps, self.is_smooth = [], True

    def extended(self, count):
        kinds = [self.reduced, self.reduced, self.gathered, self.scattered, self.exchanged, self.shifted, self.placed, self.own]
        for _ in range(count):
            self.draw.of(*kinds)()

    def some_axes(self):
        axes = self.draw.random.sample(self.manual, 2 if len(self.manual) > 1 and self.draw.is_true(0.3) else 1)
        return (axes if len(axes) > 1 else axes[0]), math.prod(self.draw.axes[axis] for axis in axes)

    def reduced(self):
        axes, _ = self.some_axes()
        op = self.draw.of("psum", "psum", "pmean", "pmax", "pmin")
        self.is_smooth &= op not in ("pmax", "pmin")
        kept = self.draw.is_true(0.5)
        self.steps += [step("r", op, "v", axis_name=axes), step("v", "mul" if kept else "sin", *(["v", "r"] if kept else ["r"]))]

    def gathered(self):
        axes, count = self.some_axes()
        at, tiled = self.draw.random.randrange(len(self.part)), self.draw.is_true(0.6)
        if math.prod(self.part) * count > 3000:
            return self.reduced()
        self.steps.append(step("v", "all_gather", "v", axis_name=axes, axis=at, tiled=tiled))
        if tiled:
            self.part[at] *= count
        else:
            self.part.insert(at, count)

    def scattered(self):
        axes, count = self.some_axes()
        at = self.draw.random.randrange(len(self.part))
        if self.part[at] % count:
            return self.reduced()
        self.steps.append(step("v", "psum_scatter", "v", axis_name=axes, scatter_dimension=at, tiled=True))
        self.part[at] //= count

    def exchanged(self):
        axes, count = self.some_axes()
        split, join = (self.draw.random.randrange(len(self.part)) for _ in range(2))
        if self.part[split] % count:
            return self.shifted()
        self.steps.append(step("v", "all_to_all", "v", axis_name=axes, split_axis=split, concat_axis=join, tiled=True))
        self.part[split] //= count
        self.part[join] *= count

    def shifted(self):
        axis = self.draw.of(*self.manual)
        count = self.draw.axes[axis]
        by = self.draw.of(1, -1, 2)
        pairs = [[i, (i + by) % count] for i in range(count)]
        if self.draw.is_true(0.3):
            pairs = pairs[:-1]
        self.steps.append(step("v", "ppermute", "v", axis_name=axis, perm=pairs))

    def placed(self):
        axes, _ = self.some_axes()
        self.steps += [step("k", "axis_index", axis_name=axes), step("k", "convert", "k", dtype="float32"), step("v", "mul", "v", "k")]

    def own(self):
        """What needs no other device."""
        axis = self.draw.random.randrange(len(self.part))
        self.steps += self.draw.of([step("v", "cumsum", "v", axis=axis)], [step("v", "flip", "v", axis=axis)], [step("v", "softmax", "v", axis=axis)],
                                   [step("m", "max", "v", axis=axis, keepdims=True), step("v", "sub", "v", "m")])

    def result(self):
        """How the parts lie beside each other, and what they make; along other axes they become equal."""
        spec = self.draw.spec([0] * len(self.part), self.manual)
        used = [axis for each in spec for axis in axes_of(each)]
        if left := [axis for axis in self.manual if axis not in used]:
            self.steps.append(step("v", "psum", "v", axis_name=left))
        return spec, [size * math.prod(self.draw.axes[axis] for axis in axes_of(each)) for size, each in zip(self.part, spec)]


def axes_of(entry):
    return [] if entry is None else entry if isinstance(entry, list) else [entry]
