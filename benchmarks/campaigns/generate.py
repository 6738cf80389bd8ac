#!/usr/bin/env python3
"""Prints random scenarios, one a line: programs of one kind, on meshes of several shapes and device orders, arguments cut at random.

    generate.py KIND SEED COUNT > PROGRAMS.jsonl        (a kind is a module beside this one, from calls to wide)

The same seed gives the same programs. judge.py compares what becomes of them with JAX, ../arithmetic/compare.py the arithmetic.
"""
import json
import sys

import calls
import convolutions
import draws
import dtypes
import einsums
import explicit
import expressions
import functions
import loops
import lookups
import networks
import operands
import options
import per_device
import products
import rearrangements
import recurrent
import shapes
import slices
import transforms
import wide
from draw import Draw

KINDS = {module.__name__: module.program
         for module in (calls, convolutions, draws, dtypes, einsums, explicit, expressions, functions, loops, lookups, networks, operands, options, per_device,
                        products, rearrangements, recurrent, shapes, slices, transforms, wide)}


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS:
        sys.exit(__doc__ + "\nKinds: " + ", ".join(KINDS))
    kind, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for each in range(seed, seed + count):
        print(json.dumps(KINDS[kind](Draw(each), f"{kind}/{each}")))


if __name__ == "__main__":
    main()
