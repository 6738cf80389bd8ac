"""Programs of the other kinds, each of whose shardings names one of two meshes: the same devices in the same order, in other shapes."""
import math

import calls
import expressions
import idioms
import lookups
import loops
import operands
import per_device
import products
import rearrangements
import recurrent
import shapes
import slices
from draw import Draw

KINDS = (calls, expressions, idioms, lookups, loops, operands, per_device, products, rearrangements, recurrent, shapes, slices)
SHAPES = {8: [(8,), (2, 4), (4, 2), (2, 2, 2)], 6: [(6,), (2, 3), (3, 2)]}


class OnTwoMeshes(Draw):
    """Specs for parameters and values in between name either mesh; those of per-device code, which names its axes, the first."""

    def __init__(self, seed):
        super().__init__(seed, [(shape, "abc"[: len(shape)]) for each in SHAPES.values() for shape in each])
        shape = self.of(*(each for each in SHAPES[math.prod(self.mesh["shape"])] if list(each) != self.mesh["shape"]))
        self.second = {**self.mesh, "shape": list(shape), "axes": list("pqr"[: len(shape)])}

    def spec(self, shape, axes=None):
        if axes is not None:
            return super().spec(shape, axes)
        if self.is_true(0.5):
            return {"mesh": "m", "spec": super().spec(shape)}
        first, self.axes = self.axes, dict(zip(self.second["axes"], self.second["shape"]))
        found = super().spec(shape)
        self.axes = first
        return {"mesh": "n", "spec": found}

    def document(self, *args, **options):
        document = super().document(*args, **options)
        document["meshes"]["n"] = self.second
        for each in document["program"]:  # from kinds that place arguments by themselves
            if isinstance(each.get("sharding"), list):
                each["sharding"] = {"mesh": "m", "spec": each["sharding"]}
        for function in document["functions"].values():
            for each in function["body"]:
                if each["op"] == "shard_map":
                    each["mesh"] = "m"
        return document


def program(d, name):
    return d.of(*KINDS).program(OnTwoMeshes(d.random.getrandbits(48)), name)
