"""Per-device code in loops and loops in per-device code, which do to a weight in every turn what they do to a turn's own values."""
from draw import step
from per_device import Code

OF_THE_WEIGHT = {"v": "w", "r": "rw", "k": "kw", "m": "mw"}


def program(draw, name):
    shape = draw.shape(draw.of(1, 2, 2, 3))
    manual = list(draw.axes) if draw.is_true(0.65) else draw.random.sample(list(draw.axes), draw.random.randint(1, len(draw.axes)))
    spec = draw.spec(shape, manual)
    turns = draw.of(2, 3, 4)
    code = Code(draw, shape, spec, manual)
    code.extended(draw.of(1, 2, 2, 3))
    steps = [step(OF_THE_WEIGHT["v"], draw.of("sin", "tanh"), "w"), *map(of_the_weight, code.steps), *code.steps, *together(draw)]
    code.steps = []
    out, result = code.result()
    steps += code.steps
    device = {"params": ["w", "v"], "body": steps, "results": ["v"]}
    some = {"axis_names": manual} if len(manual) < len(draw.axes) else {}
    draw.argument("w", shape)
    draw.argument("xs", [turns, *shape])
    draw.functions["device"] = device
    made = draw.of(code_in_loop, loop_in_code, code_in_loops, loop_in_code_in_loop)(draw, turns, spec, out, some)
    results = [turns, *result]
    return draw.finished(name, [*draw.held("w", shape), *made, *draw.touched("ys", results)], {"ys": results},
                         gradient=0.4 if code.is_smooth else 0)


def of_the_weight(each):
    renamed = [OF_THE_WEIGHT.get(arg, arg) if isinstance(arg, str) else arg for arg in each.get("args", [])]
    return {**each, "let": OF_THE_WEIGHT[each["let"]], "args": renamed}


def together(draw):
    """Of the weight's part and the turn's, which are of one shape."""
    return draw.of([step("v", "mul", "v", "w")], [step("v", "add", "v", "w"), step("v", "sin", "v")],
                   [step("w", "mean", "w", axis=0, keepdims=True), step("v", "sub", "v", "w")])


def turn(draw, name, code):
    """A function whose values are a scan's: the weight, a count, and a turn's own."""
    draw.functions[name] = {"params": ["w", "n", "v"], "body": [*code, step("n", "add", "n", 1)], "results": ["n", "v"]}
    return [step("n", "constant", value=0), step(["n", "ys"], "scan", "w", "n", "xs", fn=name, num_consts=1, num_carry=1)]


def call(spec, out, some):
    return step("v", "shard_map", "w", "v", fn="device", in_specs=[spec, spec], out_specs=[out], **some)


def code_in_loop(draw, turns, spec, out, some):
    return turn(draw, "each_turn", [call(spec, out, some)])


def loop_in_code(draw, turns, spec, out, some):
    draw.functions["rows"] = {"params": ["w", "xs"], "body": turn(draw, "each_turn", draw.functions["device"]["body"]), "results": ["ys"]}
    return [step("ys", "shard_map", "w", "xs", fn="rows", in_specs=[spec, [None, *spec]], out_specs=[[None, *out]], **some)]


def again(draw, code):
    """The code in two turns of a loop of its own, which takes the same twice, but for a number."""
    body = [step("u", "mul", "v", 0.9), *code, step("v", "sum", "v"), step("v", "tanh", "v"), step("v", "mul", "u", "v"),
            step("s", "add", "s", 1)]
    draw.functions["again"] = {"params": ["w", "v", "s"], "body": body, "results": ["v", "s"]}
    return [step("s", "constant", value=0), step(["v", "s"], "scan", "w", "v", "s", fn="again", num_consts=1, num_carry=2, length=2)]


def code_in_loops(draw, turns, spec, out, some):
    called = call(spec, out, some)
    return turn(draw, "each_turn", [*again(draw, [called]), called])


def loop_in_code_in_loop(draw, turns, spec, out, some):
    device = draw.functions["device"]
    draw.functions["device"] = {**device, "body": again(draw, device["body"]) + device["body"]}
    return turn(draw, "each_turn", [call(spec, out, some)])
