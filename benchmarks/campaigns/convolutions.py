"""Convolutions in one and two dimensions, strided, dilated, in groups, and their gradients."""
from draw import step


def program(draw, name):
    rank = draw.of(1, 1, 2)
    groups, batch_groups = draw.of((1, 1), (1, 1), (1, 1), (2, 1), (4, 1), (1, 2))
    batch = draw.size(2, 5) * batch_groups
    inputs, outputs = draw.of(1, 2, 4), draw.size(2, 6)
    outputs *= max(groups, batch_groups)
    each = lambda *choices: [draw.of(*choices) for _ in range(rank)]
    dilation = {"lhs_dilation": each(1, 1, 1, 2), "rhs_dilation": each(1, 1, 2, 3), "strides": each(1, 1, 2, 3)}
    space = [draw.size(9, 12, 16) if rank == 1 else draw.of(6, 8, 12, 7, 9) for _ in range(rank)]
    window = [draw.of(1, 2, 3, 5) if rank == 1 else draw.of(1, 2, 3) for _ in range(rank)]
    if draw.is_true(0.15):  # as gradients by kernels have them
        window = [max(1, size - draw.of(0, 1, 2)) for size in space]
    spread = [(w - 1) * d for w, d in zip(window, dilation["rhs_dilation"])]
    kind = draw.of("SAME", "VALID", "pads", "SAME_LOWER")
    if kind == "VALID" and any((s - 1) * d < w for s, d, w in zip(space, dilation["lhs_dilation"], spread)):
        kind = "pads"
    # SAME is refused by JAX for dilated operands.
    if kind.startswith("SAME") and max(dilation["lhs_dilation"]) > 1:
        kind = "pads"
    pads = [[w // 2 + draw.of(0, 0, 1), w - w // 2 + draw.of(0, 0, 2)] for w in spread]
    where = {"pads": pads} if kind == "pads" else {"padding": kind}
    letters = "HW"[:rank]
    lhs, rhs, out = draw.of(("NC" + letters, "OI" + letters, "NC" + letters), ("N" + letters + "C", letters + "IO", "N" + letters + "C"))
    shape_of = lambda text, sizes: [sizes[letter] for letter in text]
    x = shape_of(lhs, {"N": batch, "C": inputs * groups, **dict(zip(letters, space))})
    k = shape_of(rhs, {"O": outputs, "I": inputs, **dict(zip(letters, window))})
    draw.argument("x", x)
    draw.argument("k", k)
    conv = step("y", "conv", "x", "k", dimension_numbers=[lhs, rhs, out], feature_group_count=groups, batch_group_count=batch_groups,
                **dilation, **where)
    if draw.is_true(0.35):
        return draw.document(name, {"f": {"params": ["x", "k"], "body": [conv], "results": ["y"]}}, ["y"])
    body = [conv, step("s", draw.of("square", "tanh", "sin"), "y"), step("l", "sum", "s")]
    return draw.gradient(name, {"loss": {"params": ["x", "k"], "body": body, "results": ["l"]}}, draw.of([0], [1], [0, 1]))
