"""Programs of the other kinds as what a scan does in each turn, or a branch: some arguments have a slice for each turn, others stay as they are."""
import around
import calls
import changed
import convolutions
import draws
import einsums
import expressions
import functions
import groups
import idioms
import invariants
import lookups
import loops
import medleys
import mixtures
import networks
import operands
import options
import products
import rearrangements
import recurrent
import shapes
import slices
import transforms
import uses
from draw import MESHES, Draw, one_or_all, step

KINDS = (calls, changed, convolutions, draws, einsums, expressions, functions, idioms, invariants, lookups, loops, medleys, mixtures, networks, operands,
         options, products, rearrangements, recurrent, shapes, slices, transforms, uses)


def program(d, name):
    while True:
        draw = Draw(d.random.getrandbits(48), MESHES)
        document = d.of(*KINDS).program(draw, name)
        if '"shard_map"' in str(document).replace("'", '"'):
            continue
        document["program"][-1].pop("out_shardings", None)
        repeated = d.of(in_turns, in_turns, chosen)(d, draw, document)
        return (d.is_true(0.3) and around.of_gradient(repeated)) or repeated


def in_turns(d, draw, document):
    f, jit = document["functions"]["f"], document["program"][-1]
    count = d.of(2, 3)
    keys = {each["let"] for each in document["program"] if each["op"].startswith("random")}
    own = [each for each in jit["args"] if each not in keys and d.is_true(0.5)]
    consts = [each for each in jit["args"] if each not in own]
    document["program"] = [*groups.with_parts(draw, document, own, count, None), jit]
    name = "each_turn" if "each_turn" not in document["functions"] else "each_outer_turn"
    document["functions"][name] = {"params": [*consts, "turns", *own], "results": ["turns", *f["results"]],
                                   "body": [*f["body"], step("turns", "add", "turns", 1)]}
    loop = step(["turns", *f["results"]], "scan", *consts, "turns", *own, fn=name, num_consts=len(consts), num_carry=1,
                **({} if own else {"length": count}))
    document["functions"]["f"] = {"params": f["params"], "body": [step("turns", "constant", value=0), loop], "results": f["results"]}
    return document


def chosen(d, draw, document):
    f = document["functions"]["f"]
    document["functions"]["one"] = f
    document["functions"]["other"] = {**f, "body": [*f["body"], *(step(each, "multiply", each, 2) for each in f["results"])]}
    first = f["params"][0]
    document["functions"]["f"] = {"params": f["params"], "results": f["results"], "body": [
        step("choice", "sum", first), step("choice", "greater", "choice", 0),
        step(one_or_all(f["results"]), "cond", "choice", *f["params"], fns=d.shuffled(["one", "other"]))]}
    return document
