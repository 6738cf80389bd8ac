"""Programs of the other kinds on meshes with Explicit axes, beside Auto ones as a rule; JAX refuses many."""
import json

import calls
import dtypes
import einsums
import expressions
import functions
import idioms
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
from draw import Draw

KINDS = (calls, dtypes, einsums, expressions, functions, idioms, lookups, loops, medleys, mixtures, networks, operands, options, products,
         rearrangements, recurrent, shapes, slices, transforms)


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
