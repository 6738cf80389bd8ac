"""Gradients of what code of groups of devices gives, taken around it."""
import json

import groups
from draw import one_or_all, step

TAKEN_ALREADY = ('"grad"', '"jvp"', '"vjp"', '"while_loop"')  # or what has no reverse mode


def program(d, name):
    while True:
        if gradient := of_gradient(groups.program(d, name)):
            return gradient


def of_gradient(document):
    """The program with the gradient by all floats in place of its results; None where there is none."""
    f = document["functions"]["f"]
    whole = {each["let"] for each in document["program"] if each.get("dtype", "").startswith("int") or each["op"].startswith("random")}
    of = [i for i, each in enumerate(f["params"]) if each not in whole]
    taken_already = "loss" in document["functions"] or any(each in json.dumps(document) for each in TAKEN_ALREADY)
    return differentiated(document, f, of) if of and not taken_already else None


def differentiated(document, f, of):
    losses = []
    for i, each in enumerate(f["results"]):
        losses += [step(f"s{i}", "sin", each), step(f"l{i}", "sum", f"s{i}")] + ([step("l0", "add", "l0", f"l{i}")] if i else [])
    results = [f"g{i}" for i in of]
    document["functions"]["loss"] = {"params": f["params"], "body": f["body"] + losses, "results": ["l0"]}
    document["functions"]["f"] = {"params": f["params"], "results": results,
                                  "body": [step(one_or_all(results), "grad", *f["params"], fn="loss", argnums=of)]}
    document["program"][-1]["let"] = one_or_all(results)
    return document
