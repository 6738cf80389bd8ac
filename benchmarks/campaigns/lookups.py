"""Lookups and updates at computed places: rows, windows, boxes, embeddings, and their gradients."""
from draw import step


def program(draw, name):
    """One or two of them, one after the other."""
    body, value, shape = [], None, None
    for turn in range(draw.of(1, 1, 2)):
        if value is None:
            shape = draw.shape(draw.of(1, 2, 2, 3))
            value = draw.argument("x", shape)
        made, shape = draw.of(take, take_along, gather, scatter, windows_added, boxes, boxes_replaced, embedding)(draw, value, shape, turn)
        value = f"y{turn}"
        body += made + draw.touched(value, shape)
    return draw.finished(name, body, {value: shape})


def take(draw, value, shape, turn):
    axis = draw.random.randrange(len(shape))
    places = draw.shape(1 if len(shape) > 2 else draw.of(1, 1, 2))
    draw.indices(f"i{turn}", places, shape[axis])
    mode = draw.of({}, {"mode": "clip"}, {"mode": "wrap"})
    return [step(f"y{turn}", "take", value, f"i{turn}", axis=axis, **mode)], shape[:axis] + places + shape[axis + 1:]


def take_along(draw, value, shape, turn):
    axis = draw.random.randrange(len(shape))
    places = [size if each != axis else draw.size(5) for each, size in enumerate(shape)]
    draw.indices(f"i{turn}", places, shape[axis])
    return [step(f"y{turn}", "take_along_axis", value, f"i{turn}", axis=axis)], places


def window_numbers(draw, shape):
    """What gather and scatter_add call windows: their sizes, the dimensions that they lack, and those that indices speak of."""
    rank = len(shape)
    spoken = sorted(draw.random.sample(range(rank), draw.random.randint(1, min(2, rank))))
    sizes = [size if each not in spoken else draw.random.randint(1, max(1, size // 2)) for each, size in enumerate(shape)]
    collapsed = [each for each in spoken if draw.is_true(0.6)]
    for each in collapsed:
        sizes[each] = 1
    return spoken, sizes, collapsed


def gather(draw, value, shape, turn):
    spoken, sizes, collapsed = window_numbers(draw, shape)
    count = draw.size(5)
    draw.indices(f"i{turn}", [count, len(spoken)], max(2, min(shape[each] for each in spoken)))
    window = [size for each, size in enumerate(sizes) if each not in collapsed]
    return [step(f"y{turn}", "gather", value, f"i{turn}", offset_dims=[1 + each for each in range(len(window))], collapsed_slice_dims=collapsed,
                 start_index_map=spoken, slice_sizes=sizes)], [count, *window]


def windows_added(draw, value, shape, turn):
    spoken, sizes, collapsed = window_numbers(draw, shape)
    count = draw.size(5)
    draw.indices(f"i{turn}", [count, len(spoken)], max(2, min(shape[each] for each in spoken)))
    window = [size for each, size in enumerate(sizes) if each not in collapsed]
    draw.argument(f"u{turn}", [count, *window])
    return [step(f"y{turn}", "scatter_add", value, f"i{turn}", f"u{turn}", update_window_dims=[1 + each for each in range(len(window))],
                 collapsed_slice_dims=collapsed, start_index_map=spoken)], shape


def scatter(draw, value, shape, turn):
    rows = draw.of(shape[0], max(1, shape[0] // 2), draw.size())
    draw.indices(f"i{turn}", [rows], shape[0], unique=True)
    draw.argument(f"u{turn}", [rows, *shape[1:]])
    # Which of several updates of one row remains is nobody's promise.
    op = draw.of("scatter_add", "scatter_add", *(["scatter"] if rows <= shape[0] else []))
    return [step(f"y{turn}", op, value, f"i{turn}", f"u{turn}")], shape


def starts(draw, value, shape, sizes, turn):
    """A start for each dimension, a number or an argument."""
    found = []
    for each, size in enumerate(sizes):
        if size == shape[each] or draw.is_true(0.3):
            found.append(draw.random.randint(0, shape[each] - size))
        else:
            found.append(draw.indices(f"i{turn}{each}", [], shape[each]))
    return found


def box(draw, shape):
    return [size if draw.is_true(0.4) else draw.random.randint(1, size) if draw.is_true(0.5) else max(1, size // 2) for size in shape]


def boxes(draw, value, shape, turn):
    sizes = box(draw, shape)
    return [step(f"y{turn}", "dynamic_slice", value, *starts(draw, value, shape, sizes, turn), sizes=sizes)], sizes


def boxes_replaced(draw, value, shape, turn):
    sizes = box(draw, shape)
    draw.argument(f"u{turn}", sizes)
    return [step(f"y{turn}", "dynamic_update_slice", value, f"u{turn}", *starts(draw, value, shape, sizes, turn))], shape


def embedding(draw, value, shape, turn):
    """Rows of a table, by a product with ones and zeros or by a lookup, and a product with the value."""
    words, width, places = draw.size(), shape[-1], draw.shape(draw.of(1, 2))
    draw.indices(f"i{turn}", places, words)
    draw.argument(f"t{turn}", [words, width])
    if draw.is_true(0.6):
        rows = [step("o", "one_hot", f"i{turn}", num_classes=words), *draw.held("o", [*places, words], 0.2), step("e", "matmul", "o", f"t{turn}")]
    else:
        rows = [step("e", "take", f"t{turn}", f"i{turn}", axis=0)]
    rows += draw.held("e", [*places, width])
    letters = "pq"[: len(places)]
    others = "bcd"[: len(shape) - 1]
    return [*rows, step(f"y{turn}", "einsum", "e", value, subscripts=f"{letters}w,{others}w->{letters}{others}")], [*places, *shape[:-1]]
