"""Random numbers within a program: dropout, noise, weights, shuffled rows, choices, draws with a key for each row or turn of a loop."""
from draw import step

SHAPED = ["normal", "uniform", "exponential", "gumbel", "laplace", "logistic", "cauchy", "rayleigh", "maxwell", "truncated_normal"]


def program(draw, name):
    shape = draw.shape(draw.of(1, 2, 2, 3))
    draw.argument("x", shape, is_cut=True)
    steps = [step("v", "sin", "x"), *draw.held("v", shape)] + key(draw)
    kinds = [dropped, noisy, weighed, shuffled, chosen, by_category, by_row, by_turn]
    for _ in range(draw.of(1, 1, 2)):
        more, shape = draw.of(*kinds)(draw, shape)
        steps += [*more, *draw.touched("v", shape), step("k", "random.fold_in", "k", data=draw.of(3, 123456))]
    return draw.finished(name, steps[:-1], {"v": shape}, gradient=0.4)


def key(draw):
    """One that the program makes, or gets."""
    if draw.is_true(0.5):
        return [step("k", "random.PRNGKey", draw.random.randrange(1000))]
    draw.key("k")
    return []


def dropped(draw, shape):
    kept = step("m", "random.bernoulli", "k", p=0.7, shape=shape)
    return [kept, *([step("m", "with_sharding_constraint", "m", spec=draw.spec(shape))] if draw.is_true(0.3) else []),
            step("w", "div", "v", 0.7), step("v", "where", "m", "w", 0.0)], shape


def noisy(draw, shape):
    noise = step("n", f"random.{draw.of(*SHAPED)}", "k", shape=shape)
    if noise["op"].endswith("truncated_normal"):
        noise["args"] += [-1, 2]
    return [noise, *draw.held("n", shape), step("n", "tanh", "n"), step("v", draw.of("add", "mul", "maximum"), "v", "n")], shape


def weighed(draw, shape):
    width = draw.size()
    weights = [step("W", f"random.{draw.of('normal', 'uniform')}", "k", shape=[shape[-1], width]), *draw.held("W", [shape[-1], width], 0.5)]
    return [*weights, step("v", "matmul", "v", "W"), step("v", "mul", "v", 0.3)], shape[:-1] + [width]


def shuffled(draw, shape):
    options = {"independent": True} if draw.is_true(0.3) else {}
    return [step("v", "random.permutation", "k", "v", axis=draw.random.randrange(len(shape)), **options)], shape


def chosen(draw, shape):
    count = draw.size()
    return [step("v", "random.choice", "k", "v", shape=[count], replace=True)], [count] + shape[1:]


def by_category(draw, shape):
    """A choice along a dimension, which weighs what is drawn from."""
    axis = draw.random.randrange(len(shape))
    steps = [step("i", "random.categorical", "k", "v", axis=axis), step("i", "convert", "i", dtype="float32")]
    return steps + [step("i", "expand_dims", "i", axis=axis), step("v", "mul", "v", "i")], shape


def by_row(draw, shape):
    """A key for each row."""
    draw.functions["row"] = {"params": ["k", "v"], "results": ["v"],
                             "body": [step("n", f"random.{draw.of('normal', 'uniform')}", "k", shape=shape[1:]), step("v", "add", "v", "n")]}
    return [step("r", "random.split", "k", num=shape[0]), step("v", "vmap", "r", "v", fn="row")], shape


def by_turn(draw, shape):
    """A key for each turn of a loop."""
    body = [step("m", "random.bernoulli", "k", p=0.5, shape=shape), step("w", "tanh", "v"), step("v", "where", "m", "w", "v"),
            *draw.held("v", shape)]
    draw.functions["turn"] = {"params": ["v", "k"], "results": ["v"], "body": body}
    return [step("r", "random.split", "k", num=draw.of(2, 3)), step("v", "scan", "v", "r", fn="turn", num_carry=1)], shape
