"""One product of two operands with any dimensions in common, all of them cut where axes divide them, in any order; or a convolution in
groups, along which either may be cut on all devices."""
import math

from draw import step


def cut(draw, shape):
    """As many axes as fit, several on a dimension too."""
    free, spec = draw.shuffled(draw.axes), [[] for _ in shape]
    for d in draw.shuffled(range(len(shape))):
        while free and draw.is_true(0.6) and shape[d] % math.prod(draw.axes[axis] for axis in [*spec[d], free[-1]]) == 0:
            spec[d].append(free.pop())
    return [None if not axes else axes[0] if len(axes) == 1 else axes for axes in spec]


def argument(draw, name, shape, is_whole=()):
    draw.argument(name, shape)
    draw.program[-1]["sharding"] = [None if d in is_whole else axes for d, axes in enumerate(cut(draw, shape))]


def finished(draw, name, statement, shape):
    function = {"params": list(draw.arguments), "body": [statement], "results": ["r"]}
    placed = {"out_shardings": [cut(draw, shape)]} if draw.is_true(0.4) else {}
    return draw.document(name, {"f": function}, ["r"], **placed)


def product(draw, name):
    sizes, letters = {}, iter("ijklmnopq")

    def dimensions(*counts):
        found = [next(letters) for _ in range(draw.of(*counts))]
        sizes.update((letter, draw.size(2, 4, 16)) for letter in found)
        return found

    batch, contracted, left, right = dimensions(0, 0, 1, 2), dimensions(1, 1, 1, 2), dimensions(0, 1, 1, 2), dimensions(0, 1, 1, 2)
    operands = [draw.shuffled(batch + contracted + left), draw.shuffled(batch + contracted + right)]
    result = batch + left + right
    if draw.is_true(0.5):
        result = draw.shuffled(result)
    for each, own in zip("xy", operands):
        argument(draw, each, [sizes[letter] for letter in own])
    text = ",".join("".join(own) for own in operands) + "->" + "".join(result)
    return finished(draw, name, step("r", "einsum", "x", "y", subscripts=text), [sizes[letter] for letter in result])


def convolution(draw, name):
    groups, each, outputs, space = draw.size(2, 4), draw.of(1, 1, 2, 4), draw.of(1, 2, 4), 12
    of_batch = draw.is_true(0.4)
    batch, features = draw.size(2, 4), draw.size(2, 4)
    if of_batch:
        x, k, shape = [groups * each, features, space], [groups * outputs, features, 2], [each, groups * outputs]
    else:
        x, k, shape = [batch, groups * each, space], [groups * outputs, each, 2], [batch, groups * outputs]
    argument(draw, "x", x, {2})
    argument(draw, "k", k, {2})
    dilation = draw.of(1, 1, 2)
    conv = step("r", "conv", "x", "k", dimension_numbers=["NCH", "OIH", "NCH"], strides=[dilation], lhs_dilation=[dilation], pads=[[0, 1]],
                **{"batch_group_count" if of_batch else "feature_group_count": groups})
    return finished(draw, name, conv, [*shape, space])


def program(draw, name):
    return (convolution if draw.is_true(0.3) else product)(draw, name)
