"""Elementwise expressions of several values, some of them used twice, whose operands are cut otherwise from each other."""
from draw import step

ONE = ["sin", "tanh", "exp", "square", "logistic", "neg", "abs", "softplus", "relu", "cos"]
TWO = ["add", "sub", "mul", "mul", "maximum", "minimum", "atan2", "logaddexp"]


def program(draw, name):
    rank = draw.of(1, 2, 2, 2, 3)
    shape = [draw.size() for _ in range(rank)]
    values, body = {}, []  # the values' shapes

    def argument(kind="f", of_shape=None):
        whole = of_shape or (shape if draw.is_true(0.6) else shape[draw.random.randint(0, rank - 1):])
        if of_shape is None and draw.is_true(0.2):
            whole = [1 if draw.is_true(0.5) else size for size in whole]
        made = draw.argument(f"x{len(draw.arguments)}", whole, kind, is_cut=True)
        values[made] = whole
        return made

    def together(*shapes):
        longest = max(map(len, shapes))
        padded = [[1] * (longest - len(each)) + each for each in shapes]
        return [max(sizes) for sizes in zip(*padded)]

    def make(op, *args, result=None, **attributes):
        made = f"v{len(body)}"
        body.append(step(made, op, *args, **attributes))
        values[made] = result if result is not None else together(*(values[each] for each in args if isinstance(each, str)))
        return made

    argument(of_shape=shape)
    for _ in range(draw.random.randint(1, 3)):
        argument()
    for _ in range(draw.random.randint(2, 7)):
        known = list(values)
        x, y = draw.of(*known[-3:]), draw.of(*known)
        kind = draw.of("one", "one", "two", "two", "two", "itself", "power", "number", "clip", "where", "reduced", "running", "product", "new")
        if kind == "one":
            make(draw.of(*ONE), x)
        elif kind == "two":
            make(draw.of(*TWO), *draw.shuffled([x, y]))
        elif kind == "itself":
            make(draw.of("mul", "mul", "add", "div", "maximum"), x, x)
        elif kind == "power":
            make("power", x, draw.of(2, 3, 4))
        elif kind == "number":
            make(draw.of("mul", "add", "sub", "div", "maximum"), *draw.shuffled([x, 1.5]) if draw.is_true(0.3) else (x, 0.7))
        elif kind == "clip":
            make("clip", x, -0.5, draw.of(0.5, y) if values[y] == values[x] else 0.5)
        elif kind == "where":
            test = make("greater", x, 0.1)
            make("where", test, x, draw.of(y, 0.0))
        elif kind == "reduced" and len(values[x]) > 0:
            axis = draw.random.randrange(len(values[x]))
            total = make(draw.of("sum", "mean", "max", "logsumexp"), x, axis=axis, keepdims=True, result=[1 if d == axis else size for d, size in enumerate(values[x])])
            make(draw.of("sub", "mul"), x, total)
        elif kind == "running" and len(values[x]) > 0:
            make("cumsum", x, axis=draw.random.randrange(len(values[x])), result=values[x])
        elif kind == "product" and len(values[x]) == 2:
            weights = draw.argument(f"x{len(draw.arguments)}", [values[x][1]] * 2, is_cut=True)
            make("matmul", x, weights, result=values[x])
        else:
            make("mul", x, argument(of_shape=values[x]))
        last = body[-1]["let"]
        body.extend(draw.held(last, values[last], 0.1))
    results = {last: values[last]}
    return draw.finished(name, body, results, gradient=0.8)
