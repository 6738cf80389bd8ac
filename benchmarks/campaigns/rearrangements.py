"""What orders, accumulates, windows, cuts and joins: sorts, running combinations, pools, strided slices, pads, rolls, reshapes."""
import math

from draw import step

ELEMENTS_MAX = 6000


def program(draw, name):
    """One to three of them, one after the other."""
    shape = draw.shape(draw.of(1, 2, 2, 3))
    draw.argument("x", shape)
    body, value, is_smooth = [], "x", True
    for turn in range(draw.of(1, 2, 2, 3)):
        body += draw.touched(value, shape) if turn else []
        make = draw.of(sort, sort_several, argsort, top_k, running, running, pool, pool, strided, pad, flip, roll, tile, repeat, join, merge, split)
        made, new, smooth = make(draw, value, shape, turn)
        if made is None or math.prod(new) > ELEMENTS_MAX:
            continue
        value, shape, is_smooth = f"y{turn}", new, is_smooth and smooth
        body += made
    if not body or value == "x":
        body, value = [*body, step("y", "flip", value, axis=0)], "y"
    return draw.finished(name, body, {value: shape}, gradient=0.5 if is_smooth else 0)


def an_axis(draw, shape):
    return draw.random.randrange(len(shape))


def sort(draw, value, shape, turn):
    return [step(f"y{turn}", "sort", value, axis=an_axis(draw, shape))], shape, True


def sort_several(draw, value, shape, turn):
    draw.argument(f"v{turn}", shape)
    count = draw.of(1, 2)
    keys = draw.of([value, f"v{turn}"], [f"v{turn}", value])
    sorted_ = [f"k{turn}", f"w{turn}"]
    made = [step(sorted_, "sort", *keys, dimension=an_axis(draw, shape), num_keys=count), step(f"y{turn}", draw.of("mul", "sub"), *sorted_)]
    return made, shape, True


def argsort(draw, value, shape, turn):
    axis = an_axis(draw, shape)
    made = [step(f"o{turn}", "argsort", value, axis=axis)]
    if draw.is_true(0.5):
        return [*made, step(f"y{turn}", "take_along_axis", value, f"o{turn}", axis=axis)], shape, True
    return [*made, step(f"y{turn}", "convert", f"o{turn}", dtype="float32")], shape, False


def top_k(draw, value, shape, turn):
    k = draw.random.randint(1, shape[-1])
    made = [step([f"y{turn}", f"o{turn}"], "top_k", value, k=k)]
    if draw.is_true(0.3):
        made += [step(f"o{turn}", "convert", f"o{turn}", dtype="float32"), step(f"y{turn}", "add", f"y{turn}", f"o{turn}")]
    return made, [*shape[:-1], k], True


def running(draw, value, shape, turn):
    op = draw.of("cumsum", "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
    return [step(f"y{turn}", op, value, axis=an_axis(draw, shape), reverse=draw.is_true(0.5))], shape, True


def pool(draw, value, shape, turn):
    windowed = draw.random.sample(range(len(shape)), draw.random.randint(1, len(shape)))
    each = lambda *choices: [draw.of(*choices) if i in windowed else 1 for i in range(len(shape))]
    window, strides = [min(w, size) for w, size in zip(each(1, 2, 3, 4), shape)], each(1, 1, 2, 3)
    reducer = draw.of("sum", "max", "min", "sum")
    more, sizes, wide = {}, list(shape), list(window)
    if reducer == "sum" and draw.is_true(0.3):
        base, inner = each(1, 1, 2), each(1, 1, 2)
        more = {"base_dilation": base, "window_dilation": inner}
        sizes = [(s - 1) * b + 1 for s, b in zip(sizes, base)]
        wide = [(w - 1) * d + 1 for w, d in zip(wide, inner)]
    pads = [[draw.of(0, w // 2), draw.of(0, w - 1, w // 2)] for w in wide]
    new = [(s + low + high - w) // stride + 1 for s, (low, high), w, stride in zip(sizes, pads, wide, strides)]
    if min(new) < 1:
        return None, shape, True
    return [step(f"y{turn}", "reduce_window", value, reducer=reducer, window_dimensions=window, window_strides=strides, pads=pads, **more)], new, True


def strided(draw, value, shape, turn):
    start = [draw.of(0, 0, 1, size // 2) for size in shape]
    limit = [max(first + 1, size - draw.of(0, 0, 1, 2)) for first, size in zip(start, shape)]
    stride = [draw.of(1, 1, 2, 3) for _ in shape]
    new = [-(-(last - first) // by) for first, last, by in zip(start, limit, stride)]
    return [step(f"y{turn}", "slice", value, start=start, limit=limit, stride=stride)], new, True


def pad(draw, value, shape, turn):
    padding = [[draw.of(0, 0, 1, 3, -1), draw.of(0, 0, 1, 2, size, -1), draw.of(0, 0, 0, 1, 2)] for size in shape]
    new = [low + high + size + (size - 1) * inner for (low, high, inner), size in zip(padding, shape)]
    if min(new) < 1:
        return None, shape, True
    return [step(f"y{turn}", "pad", value, padding=padding, value=draw.of(0, 0.5))], new, True


def flip(draw, value, shape, turn):
    axes = draw.random.sample(range(len(shape)), draw.random.randint(1, len(shape)))
    return [step(f"y{turn}", "flip", value, axis=sorted(axes))], shape, True


def roll(draw, value, shape, turn):
    return [step(f"y{turn}", "roll", value, shift=draw.of(1, -1, 3, -2, 8, 5), axis=an_axis(draw, shape))], shape, True


def tile(draw, value, shape, turn):
    reps = [draw.of(1, 1, 2, 3) for _ in shape]
    return [step(f"y{turn}", "tile", value, reps=reps)], [size * by for size, by in zip(shape, reps)], True


def repeat(draw, value, shape, turn):
    axis, by = an_axis(draw, shape), draw.of(2, 3)
    return [step(f"y{turn}", "repeat", value, repeats=by, axis=axis)], [size * (by if i == axis else 1) for i, size in enumerate(shape)], True


def join(draw, value, shape, turn):
    axis = an_axis(draw, shape)
    others = [draw.argument(f"j{turn}{each}", [draw.size(1, 5) if i == axis else size for i, size in enumerate(shape)])
              for each in range(draw.of(1, 1, 2))]
    parts = draw.shuffled([value, *others, *([value] if draw.is_true(0.2) else [])])
    sizes = [draw.arguments[part][axis] if part in others else shape[axis] for part in parts]
    return [step(f"y{turn}", "concatenate", *parts, axis=axis)], [sum(sizes) if i == axis else size for i, size in enumerate(shape)], True


def merge(draw, value, shape, turn):
    if len(shape) < 2:
        return split(draw, value, shape, turn)
    at = draw.random.randrange(len(shape) - 1)
    new = [*shape[:at], shape[at] * shape[at + 1], *shape[at + 2:]]
    return [step(f"y{turn}", "reshape", value, shape=new)], new, True


def split(draw, value, shape, turn):
    at = an_axis(draw, shape)
    parts = [part for part in range(2, shape[at]) if shape[at] % part == 0]
    if not parts or len(shape) > 3:
        return None, shape, True
    part = draw.of(*parts)
    new = [*shape[:at], part, shape[at] // part, *shape[at + 1:]]
    return [step(f"y{turn}", "reshape", value, shape=new)], new, True
