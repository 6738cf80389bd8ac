"""Gradients of recurrent networks, plain and gated."""
from draw import step


def program(draw, name):
    batch, width, features, steps = draw.size(5), draw.size(), draw.size(6), draw.of(2, 3, 4, 8)
    weights = {"W": [features, width], "U": [width, width], "c": [width]}
    is_gated = draw.is_true(0.4)
    if is_gated:
        weights |= {"V": [features, width], "Z": [width, width]}
    draw.argument("h", [batch, width])
    draw.argument("xs", [steps, batch, features])
    for each, shape in weights.items():
        draw.argument(each, shape)
    cell = [step("p", "matmul", "x", "W"), step("q", "matmul", "h", "U"), step("s", "add", "p", "q"), step("s", "add", "s", "c"),
            step("n", "tanh", "s")]
    if is_gated:
        cell += [step("u", "matmul", "x", "V"), step("v", "matmul", "h", "Z"), step("z", "add", "u", "v"), step("z", "logistic", "z"),
                 step("n", "sub", "n", "h"), step("n", "mul", "n", "z"), step("n", "add", "h", "n")]
    if draw.is_true(0.2):
        cell.append(step("n", "with_sharding_constraint", "n", spec=draw.spec([batch, width])))
    gives_steps = draw.is_true(0.5)
    results = ["n", *weights] + (["n"] if gives_steps else [])
    carried = ["h2", *(each + "2" for each in weights)]
    loss = [step(carried + (["ys"] if gives_steps else []), "scan", "h", *weights, "xs", fn="cell", num_carry=1 + len(weights))]
    loss += [step("l", "square", "ys" if gives_steps else "h2"), step("l", "mean", "l")]
    given = list(draw.arguments)
    functions = {"cell": {"params": ["h", *weights, "x"], "body": cell, "results": results},
                 "loss": {"params": given, "body": loss, "results": ["l"]}}
    of = sorted(draw.random.sample(range(len(given)), draw.random.randint(1, len(given)))) if draw.is_true(0.5) else list(range(len(given)))
    return draw.gradient(name, functions, of)
