"""Gradients of scans that read and write slices of what they carry."""
from draw import step


def program(draw, name):
    rows, width, steps, length = draw.size(), draw.size(), draw.of(2, 3, 4), draw.of(1, 2, 3)
    draw.argument("h", [length, width])
    draw.argument("W", [max(rows, length), width], is_cut=True)
    draw.argument("xs", [steps, length, width], is_cut=True)
    at = draw.of("i", 1, 0)
    cell = [step("r", "dynamic_slice_in_dim", "W", at, slice_size=length, axis=0), step("h", "mul", "h", "r"), step("h", "add", "h", "x"),
            step("h", draw.of("tanh", "sin"), "h")]
    if draw.is_true(0.4):
        cell += [step("u", "mul", "h", 0.5), step("W", "dynamic_update_slice_in_dim", "W", "u", at, axis=0)]
    cell.append(step("i", "add", "i", 1))
    carried = ["i", "h", "W"]
    gives_steps = draw.is_true(0.4)
    results = carried + (["h"] if gives_steps else [])
    loss = [step("i", "constant", value=0), step(["i2", "h2", "W2"] + (["ys"] if gives_steps else []), "scan", "i", "h", "W", "xs", fn="cell", num_carry=3)]
    loss += [step("l", "square", draw.of("h2", "W2") if not gives_steps else "ys"), step("l", "sum", "l")]
    functions = {"cell": {"params": [*carried, "x"], "body": cell, "results": results},
                 "loss": {"params": ["h", "W", "xs"], "body": loss, "results": ["l"]}}
    return draw.gradient(name, functions, sorted(draw.random.sample(range(3), draw.random.randint(1, 3))))
