"""Programs of the other kinds on meshes with Explicit axes, beside Auto ones as a rule; JAX refuses many."""
import json

import expressions
import functions
import operands
import options
import products
import rearrangements
import shapes
import slices
from draw import Draw

KINDS = (expressions, expressions, functions, operands, options, products, products, rearrangements, shapes, slices)


def program(d, name):
    while True:
        document = d.of(*KINDS).program(Draw(d.random.getrandbits(48)), name)
        text = json.dumps(document)
        if '"with_sharding_constraint"' not in text and '"out_shardings"' not in text:
            break
    mesh = document["meshes"]["m"]
    mesh["axis_types"] = [d.of("Explicit", "Explicit", "Explicit", "Auto") for _ in mesh["axes"]]
    if "Explicit" not in mesh["axis_types"]:
        mesh["axis_types"][0] = "Explicit"
    return document
