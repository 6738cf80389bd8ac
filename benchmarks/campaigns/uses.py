"""Values that several ops take whose results are to lie otherwise: one move may serve them all, before them or behind."""
from draw import step


def program(d, name):
    shape = d.shape(d.of(2, 2, 3))
    names = ["x"] + (["y"] if d.is_true(0.4) else [])
    for each in names:
        d.argument(each, shape, is_cut=True)
    body, results = [], {}
    if d.is_true(0.4):
        body += [step("x", d.of("sin", "tanh"), "x")]
    if d.is_true(0.3):
        body += d.held("x", shape, 1)
    for each in range(d.of(2, 2, 3, 4)):
        made, of = f"r{each}", d.of(*names, "x")
        kind = d.of("unary", "unary", "unary", "number", "binary", "sum", "transpose", "reshape", "product", "where", "itself", "slice", "cast")
        result = list(shape)
        if kind == "unary":
            body.append(step(made, d.of("sin", "cos", "tanh", "exp", "square", "negative"), of))
        elif kind == "number":
            body.append(step(made, d.of("mul", "add", "div"), of, 1.5))
        elif kind == "binary":
            body.append(step(made, d.of("mul", "add", "sub"), of, d.of(*names)))
        elif kind == "sum":
            axis = d.of(*range(len(shape)))
            body.append(step(made, d.of("sum", "max"), of, axis=axis))
            del result[axis]
        elif kind == "transpose":
            axes = d.shuffled(range(len(shape)))
            body.append(step(made, "transpose", of, axes=axes))
            result = [shape[axis] for axis in axes]
        elif kind == "reshape":
            result = [shape[0] * shape[1], *shape[2:]]
            body.append(step(made, "reshape", of, shape=result))
        elif kind == "product":
            body += [step("t", "swapaxes", d.of(*names), axis1=-1, axis2=-2), step(made, "matmul", of, "t")]
            result = [*shape[:-1], shape[-2]]
        elif kind == "where":
            body += [step("c", "greater", of, 0.1), step(made, "where", "c", of, 0.0)]
        elif kind == "itself":
            body.append(step(made, "with_sharding_constraint", of, spec=d.spec(shape)))
        elif kind == "slice":
            result = [max(1, size // 2) for size in shape]
            body.append(step(made, "slice", of, start=[0] * len(shape), limit=result))
        else:
            body += [step(made, "convert", of, dtype="bfloat16"), step(made, "convert", made, dtype="float32")]
        body += d.held(made, result, 0.7)
        if d.is_true(0.3):
            body.append(step(made, d.of("sin", "tanh"), made))
            body += d.held(made, result, 0.5)
        results[made] = result
    return d.finished(name, body, results, gradient=0.35)
