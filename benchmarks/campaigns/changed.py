"""Programs of other kinds, changed in ways that these leave out: constraints with open dimensions, losses under checkpoint, gradients of gradients,
arguments that nobody placed."""
import copy

import expressions
import lookups
import loops
import networks
import products
import rearrangements
import recurrent
import slices
from draw import step

KINDS = (expressions, lookups, loops, networks, products, rearrangements, recurrent, slices)


def program(draw, name):
    document = copy.deepcopy(draw.of(*KINDS).program(draw, name))
    gives_gradients = any(each["op"] == "grad" for each in document["functions"]["f"]["body"])
    changes = [opened, kept_apart, *([derived_again] if gives_gradients else [])]
    for change in draw.shuffled(changes)[: draw.of(1, 1, 2)]:
        change(draw, document)
    if draw.is_true(0.3):
        uncommitted(draw, document)
    return document


def uncommitted(draw, document):
    """Some arguments are placed by the program that takes them."""
    placed = [each for each in document["program"] if each["op"] == "device_put"]
    for each in placed[draw.of(0, 1):]:
        if draw.is_true(0.5):
            document["program"].remove(each)


def opened(draw, document):
    """Of constraints some dimensions are left as they come to lie."""
    for function in document["functions"].values():
        for each in function["body"]:
            if each["op"] == "with_sharding_constraint":
                each["spec"] = ["UNCONSTRAINED" if entry is None and draw.is_true(0.6) else entry for entry in each["spec"]]


def kept_apart(draw, document):
    """The backward pass computes values again."""
    inner = "loss" if "loss" in document["functions"] else "f"
    function = document["functions"][inner]
    document["functions"]["kept"] = function
    results = function["results"]
    policy = draw.of("nothing_saveable", "everything_saveable", "dots_saveable", "dots_with_no_batch_dims_saveable")
    body = [step(results[0] if len(results) == 1 else results, "checkpoint", *function["params"], fn="kept", policy=policy)]
    document["functions"][inner] = {"params": function["params"], "body": body, "results": results}


def derived_again(draw, document):
    """The gradient of the sum of the gradients' squares."""
    f = document["functions"]["f"]
    derived = next(each for each in f["body"] if each["op"] == "grad")
    body, results = [copy.deepcopy(derived)], f["results"]
    for i, each in enumerate(results):
        body += [step(f"q{i}", "square", each), step(f"n{i}", "sum", f"q{i}")]
        body += [step("n0", "add", "n0", f"n{i}")] if i else []
    document["functions"]["norm"] = {"params": f["params"], "body": body, "results": ["n0"]}
    derived["fn"] = "norm"
