"""Programs of the other kinds as code of groups of devices: per device over some axes of the mesh, laid out by the partitioner over the others."""
import math

import convolutions
import einsums
import expressions
import functions
import idioms
import lookups
import loops
import mixtures
import networks
import operands
import products
import rearrangements
import recurrent
import shapes
import slices
from draw import Draw, one_or_all, step

KINDS = (convolutions, einsums, expressions, functions, idioms, lookups, loops, mixtures, networks, operands, products, rearrangements, recurrent,
         shapes, slices)
MESHES = [((2, 4), "ab"), ((4, 2), "ab"), ((2, 2, 2), "abc"), ((3, 2), "ab"), ((2, 2, 2), "abc")]


class OfGroup(Draw):
    """Specs are over the axes that are left to the partitioner."""

    def __init__(self, seed, meshes):
        super().__init__(seed, meshes)
        self.all_axes = self.axes
        manual = self.random.sample(list(self.axes), 1 if len(self.axes) == 2 or self.is_true(0.6) else 2)
        self.manual = [axis for axis in self.axes if axis in manual]
        self.axes = {axis: size for axis, size in self.axes.items() if axis not in manual}


def program(d, name, kinds=KINDS, meshes=MESHES):
    while True:
        draw = OfGroup(d.random.getrandbits(48), meshes)
        document = d.of(*kinds).program(draw, name)
        if '"shard_map"' not in str(document).replace("'", '"'):
            return grouped(d, draw, document)


def with_parts(draw, document, own, count, cut):
    """What makes the arguments; the `own` ones have other numbers in each part along a new first dimension, which `cut` cuts."""
    program = []
    for each in document["program"][:-1]:
        if each["op"] == "device_put" and each["let"] in own:
            made = [before for before in program if before["let"] == each["let"]]
            shape = next(before["shape"] for before in reversed(made) if "shape" in before)
            program += [step(each["let"], "broadcast_to", each["let"], shape=[count, *shape])]
            if each["let"] not in draw.whole_numbers and made[0].get("dtype") == "float32":
                program += [step("scale", "arange", count, dtype="float32"), step("scale", "mul", "scale", 0.1), step("scale", "add", "scale", 1.0),
                            step("scale", "reshape", "scale", shape=[count] + [1] * len(shape)),
                            step(each["let"], "mul", each["let"], "scale")]
            each = {**each, "sharding": [cut, *each["sharding"]]}
        program.append(each)
    return program


def grouped(d, draw, document):
    """The jitted function once for each group: some arguments have a part for each along a new first dimension, which the groups' axes cut."""
    count = math.prod(draw.all_axes[axis] for axis in draw.manual)
    cut = draw.manual if len(draw.manual) > 1 else draw.manual[0]
    document["cluster"]["devices"] = count * document["cluster"]["devices"]
    jit, f = document["program"][-1], document["functions"]["f"]
    jit.pop("out_shardings", None)
    keys = {each["let"] for each in document["program"] if each["op"].startswith("random")}
    own = {each for each in jit["args"] if d.is_true(0.6)} - keys
    program = with_parts(draw, document, own, count, cut)
    body = [step(each, "squeeze", each, axis=[0]) for each in f["params"] if each in own] + f["body"]
    after, specs = [], []
    for each in f["results"]:
        if d.is_true(0.3):
            after.append(step(each, "psum", each, axis_name=cut))
            specs.append([])
        else:
            after.append(step(each, "expand_dims", each, axis=0))
            specs.append([cut])
    document["functions"]["group"] = {"params": f["params"], "body": body + after, "results": f["results"]}
    call = step(one_or_all(f["results"]), "shard_map", *f["params"], fn="group", axis_names=draw.manual,
                in_specs=[[cut] if each in own else [] for each in f["params"]], out_specs=specs)
    document["functions"]["f"] = {"params": f["params"], "body": [call], "results": f["results"]}
    document["program"] = [*program, jit]
    return document
