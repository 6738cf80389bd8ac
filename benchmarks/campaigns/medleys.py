"""What mixtures.py mixes, with rarer kinds between: windows, convolutions, decompositions, random numbers, segments, loops, branches, calls, batches."""
import mixtures
from draw import step

POINTS = ["sin", "tanh", "sigmoid", "cos"]


def program(draw, name):
    return mixtures.program(draw, name, Medley)


class Medley(mixtures.Mixture):
    def kinds(self):
        rarer = [self.pooled, self.windowed, self.convolved, self.filtered, self.solved, self.factored, self.inverted, self.randomised, self.dropped, self.segmented,
                 self.scanned, self.branched, self.called, self.mapped, self.kept, self.picked, self.ordered, self.top, self.started,
                 self.updated, self.rounded, self.crossed, self.differenced, self.broadcast, self.interpolated, self.quantile, self.correlated,
                 self.one_hot, self.split, self.squeezed, self.per_device, self.spectral, self.attended, self.normed, self.outer, self.diagonal, self.counted]
        return [*rarer, *rarer, *super().kinds()]

    def function(self, params, body, results):
        name = f"h{len(self.draw.functions)}"
        self.draw.functions[name] = {"params": params, "body": body, "results": results}
        return name

    def small(self, *values):
        """A body of one or two steps over the names of parameters."""
        draw, body = self.draw, []
        params = [f"a{i}" for i in range(len(values))]
        last = params[0]
        for other in params[1:]:
            body.append(step("b", draw.of("add", "mul", "sub", "maximum"), last, other))
            last = "b"
        body.append(step("c", draw.of(*POINTS), last))
        return params, body, "c"

    def pooled(self, x, y, z, axis):
        window = [2 if d == axis else 1 for d in range(len(self.shape))]
        return self.make("reduce_window", x, reducer=self.draw.of("sum", "max"), window_dimensions=window, window_strides=[1] * len(window),
                         pads=[[1, 0] if d == axis else [0, 0] for d in range(len(window))])

    def windowed(self, x, y, z, axis):
        window = [2 if d == axis else 1 for d in range(len(self.shape))]
        few = self.make("reduce_window", x, reducer=self.draw.of("sum", "max"), window_dimensions=window, window_strides=window,
                        pads=[[0, 0]] * len(window))
        return self.make("repeat", few, repeats=2, axis=axis)

    def convolved(self, x, y, z, axis):
        """Along the last dimension, channels first; the kernel is made of another value."""
        shape = self.shape
        if len(shape) == 3:
            kernel = self.make("slice", y, start=[0, 0, 0], limit=[shape[1], 1, 3] if shape[0] >= shape[1] else [shape[0], 1, 3])
            count = min(shape[0], shape[1])
            kernel = self.make("broadcast_to", kernel, shape=[count, shape[1], 3])
            if count < shape[1]:
                kernel = self.make("tile", kernel, reps=[shape[1] // count, 1, 1])
            return self.make("conv_general_dilated", x, kernel, window_strides=[1], padding="SAME", dimension_numbers=["NCH", "OIH", "NCH"])
        flat = self.make("convolve", self.make("ravel", x), self.make("slice", self.make("ravel", y), start=[0], limit=[3]), mode="same")
        return self.make("reshape", flat, shape=shape)

    def filtered(self, x, y, z, axis):
        kernel = self.make("slice", y, start=[0] * len(self.shape), limit=[min(3, size) for size in self.shape])
        return self.make("signal.convolve", x, kernel, mode="same")

    def gram(self, x):
        shape = self.shape
        product = self.make("matmul", x, self.make("swapaxes", x, axis1=-1, axis2=-2))
        return self.make("add", product, self.make("mul", self.make("eye", shape[-2]), 3.0))

    def solved(self, x, y, z, axis): return self.make("linalg.solve", self.gram(x), y)
    def inverted(self, x, y, z, axis): return self.make("matmul", self.make("linalg.inv", self.gram(x)), y)

    def factored(self, x, y, z, axis):
        factor = self.make("linalg.cholesky", self.gram(x))
        return self.make("matmul", factor, y)

    def randomised(self, x, y, z, axis):
        key = self.make("random.PRNGKey", self.draw.of(1, 2, 3))
        return self.make(self.draw.of("add", "mul"), x, self.make(self.draw.of("random.normal", "random.uniform"), key, shape=self.shape))

    def dropped(self, x, y, z, axis):
        key = self.make("random.PRNGKey", self.draw.of(1, 2, 3))
        return self.make("where", self.make("random.bernoulli", key, 0.7, shape=self.shape), self.make("div", x, 0.7), 0.0)

    def segmented(self, x, y, z, axis):
        places = self.make("constant", value=[self.draw.random.randrange(self.shape[0]) for _ in range(self.shape[0])])
        return self.make("segment_sum", x, places, num_segments=self.shape[0])

    def scanned(self, x, y, z, axis):
        params, body, last = self.small("c", "e")
        fn = self.function(params, body, [last, last])
        start = self.make("index_in_dim", y, index=0, axis=0, keepdims=False)
        self.count += 1
        self.body.append(step([f"w{self.count}", f"u{self.count}"], "scan", start, x, fn=fn, num_carry=1))
        return f"u{self.count}"

    def branched(self, x, y, z, axis):
        fns = []
        for _ in range(2):
            params, body, last = self.small(x, y)
            fns.append(self.function(params, body, [last]))
        return self.make("cond", self.make("greater", self.make("sum", z), 3.0), x, y, fns=fns)

    def called(self, x, y, z, axis):
        params, body, last = self.small(x, y, z)
        return self.make("jit", x, y, z, fn=self.function(params, body, [last]))

    def kept(self, x, y, z, axis):
        params, body, last = self.small(x, y)
        return self.make("checkpoint", x, y, fn=self.function(params, body, [last]))

    def mapped(self, x, y, z, axis):
        """A function of rows along an axis of each."""
        draw = self.draw
        row = [size for d, size in enumerate(self.shape) if d != axis]
        at = draw.random.randrange(len(row))
        body = [step("s", draw.of("softmax", "cumsum", "flip"), "a", axis=at), step("t", draw.of("add", "mul"), "s", "b")]
        return self.make("vmap", x, y, fn=self.function(["a", "b"], body, ["t"]), in_axes=[axis, axis], out_axes=axis)

    def picked(self, x, y, z, axis):
        order = self.make("argsort", y, axis=axis)
        return self.make("take_along_axis", x, order, axis=axis)

    def ordered(self, x, y, z, axis):
        self.count += 1
        self.body.append(step([f"w{self.count}", f"u{self.count}"], "sort", x, y, dimension=axis, num_keys=1))
        return f"u{self.count}"

    def top(self, x, y, z, axis):
        self.count += 1
        self.body.append(step([f"w{self.count}", f"u{self.count}"], "top_k", x, k=2))
        return self.make("add", self.make("sum", f"w{self.count}", axis=-1, keepdims=True), y)

    def started(self, x, y, z, axis):
        """A box from a computed place, and back."""
        half = [size // 2 if d == axis else size for d, size in enumerate(self.shape)]
        place = self.make("convert", self.make("mod", self.make("sum", y), 2.0), dtype="int32")
        starts = [place if d == axis else 0 for d in range(len(half))]
        part = self.make("dynamic_slice", x, *starts, sizes=half)
        return self.make("concatenate", part, self.make(self.draw.of(*POINTS), part), axis=axis)

    def updated(self, x, y, z, axis):
        half = [size // 2 if d == axis else size for d, size in enumerate(self.shape)]
        part = self.make("slice", y, start=[0] * len(half), limit=half)
        starts = [self.draw.random.randrange(3) if d == axis else 0 for d in range(len(half))]
        return self.make("dynamic_update_slice", x, part, *starts)

    def rounded(self, x, y, z, axis):
        low = self.make("convert", x, dtype=self.draw.of("bfloat16", "float16"))
        return self.make("convert", self.make("mul", low, 2), dtype="float32")

    def crossed(self, x, y, z, axis):
        square = self.make("einsum", y, z, subscripts="...ab,...cb->ac" if len(self.shape) > 2 else "ab,cb->ac")
        return self.make("swapaxes", self.make("tensordot", x, square, axes=[[-2], [0]]), axis1=-1, axis2=-2)

    def differenced(self, x, y, z, axis):
        if self.draw.is_true(0.5):
            return self.make("gradient", x, axis=axis)
        return self.make("diff", x, axis=axis, prepend=0.0)

    def broadcast(self, x, y, z, axis):
        row = self.make("index_in_dim", x, index=self.draw.random.randrange(self.shape[axis]), axis=axis, keepdims=True)
        return self.make("add", self.make("broadcast_to", row, shape=self.shape), y)

    def interpolated(self, x, y, z, axis):
        points = self.make("linspace", 0.2, 3.0, num=5)
        return self.make("interp", x, points, self.make("sin", points))

    def quantile(self, x, y, z, axis):
        return self.make("sub", x, self.make(self.draw.of("quantile", "percentile"), y, self.draw.of(0.25, 0.5), axis=axis, keepdims=True))

    def correlated(self, x, y, z, axis):
        if len(self.shape) == 2:
            return self.make("matmul", self.make(self.draw.of("cov", "corrcoef"), x), y)
        return self.make("mul", self.make("expand_dims", self.make("vecdot", x, y), axis=-1), z)

    def one_hot(self, x, y, z, axis):
        best = self.make(self.draw.of("argmax", "argmin"), x, axis=axis)
        return self.make("mul", self.make("one_hot", best, num_classes=self.shape[axis], axis=axis), y)

    def split(self, x, y, z, axis):
        self.count += 1
        names = [f"w{self.count}", f"u{self.count}"]
        self.body.append(step(names, "split", x, indices_or_sections=2, axis=axis))
        return self.make("concatenate", self.make(self.draw.of(*POINTS), names[1]), names[0], axis=axis)

    def squeezed(self, x, y, z, axis):
        wide = self.make("expand_dims", x, axis=axis)
        return self.make("squeeze", self.make("add", wide, self.make("expand_dims", y, axis=axis)), axis=axis)

    def per_device(self, x, y, z, axis):
        draw = self.draw
        spec = draw.spec(self.shape, draw.axes)
        axes = [name for each in spec if each for name in (each if isinstance(each, list) else [each])]
        body = [step("c", draw.of("mul", "add"), "a", "b")]
        if axes:
            over = draw.of(*axes)
            size = draw.axes[over]
            body += draw.of([step("d", "pmean", "c", axis_name=over), step("c", "sub", "c", "d")],
                            [step("d", "psum", "c", axis_name=over), step("c", "mul", "c", "d")],
                            [step("c", "ppermute", "c", axis_name=over, perm=[[i, (i + 1) % size] for i in range(size)])])
        fn = self.function(["a", "b"], body, ["c"])
        return self.make("shard_map", x, y, fn=fn, in_specs=[spec, spec], out_specs=[spec])

    def spectral(self, x, y, z, axis):
        """A product of spectra, as a convolution around."""
        a, b = (self.make("fft.rfft", each, axis=axis) for each in (x, y))
        return self.make("fft.irfft", self.make("mul", a, b), n=self.shape[axis], axis=axis)

    def attended(self, x, y, z, axis):
        scores = self.make("einsum", x, y, subscripts="...qd,...kd->...qk")
        if self.draw.is_true(0.5):
            scores = self.make("where", self.make("tril", self.make("ones_like", scores, dtype="bool")), scores, -1e9)
        return self.make("einsum", self.make("softmax", scores, axis=-1), z, subscripts="...qk,...kd->...qd")

    def normed(self, x, y, z, axis):
        mean, var = self.make("mean", x, axis=axis, keepdims=True), self.make("var", x, axis=axis, keepdims=True)
        return self.make("mul", self.make("mul", self.make("sub", x, mean), self.make("rsqrt", self.make("add", var, 1e-3))), y)

    def outer(self, x, y, z, axis):
        """Sums along one dimension of one and of the others of another, each with each."""
        rows = self.make("sum", x, axis=axis, keepdims=True)
        columns = self.make("sum", y, axis=[d for d in range(len(self.shape)) if d != axis], keepdims=True)
        return self.make(self.draw.of("mul", "add", "maximum"), rows, columns)

    def diagonal(self, x, y, z, axis):
        size = min(self.shape[-2:])
        part = self.make("slice", x, start=[0] * len(self.shape), limit=[*self.shape[:-2], size, size])
        return self.make("mul", y, self.make("expand_dims", self.make("expand_dims", self.make("trace", part, axis1=-2, axis2=-1), axis=-1), axis=-1))

    def counted(self, x, y, z, axis):
        number = self.make("cumsum", self.make("convert", self.make("greater", x, 1.3), dtype="int32"), axis=axis)
        return self.make("div", y, self.make("add", number, 1))
