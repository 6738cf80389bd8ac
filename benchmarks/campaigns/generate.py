#!/usr/bin/env python3
"""Prints random scenarios, one a line: programs of one kind, on meshes of several shapes and device orders, arguments cut at random.

    generate.py KIND SEED COUNT [--rare-meshes] [--long-dimensions] [--axis-types] > PROGRAMS.jsonl    (a kind is a module beside this one)

The same seed gives the same programs. Rare meshes have axes of size 1, up to four axes, other numbers of devices than 8; with long dimensions
up to two of a program's dimensions are 4 to 32 times as long as else; with axis types some axes are Explicit, and some Auto where a mesh has several
(JAX refuses half of these programs). judge.py compares what becomes of them with JAX, ../arithmetic/compare.py the arithmetic.
"""
import json
import sys

import around
import calls
import changed
import code_turns
import convolutions
import draws
import dtypes
import einsums
import explicit
import expressions
import functions
import groups
import idioms
import invariants
import loops
import lookups
import medleys
import mixtures
import more_groups
import nested
import networks
import operands
import options
import per_device
import products
import rearrangements
import recurrent
import repeated
import shapes
import slices
import transforms
import turns
import two_meshes
import unplaced
import uses
import wide
from draw import MESHES, RARE_MESHES, Draw, DrawLong

KINDS = {module.__name__: module.program
         for module in (around, calls, changed, code_turns, convolutions, draws, dtypes, einsums, explicit, expressions, functions, groups, idioms, invariants,
                        loops, lookups, medleys, mixtures, more_groups, nested, networks, operands, options, per_device, products, rearrangements,
                        recurrent, repeated, shapes, slices, transforms, turns, two_meshes, unplaced, uses, wide)}


def with_axis_types(d, program):
    for mesh in program["meshes"].values():
        types = ["Explicit"]
        while len(types) < len(mesh["axes"]) or (len(types) > 1 and len(set(types)) == 1):
            types = [d.of("Explicit", "Auto") for _ in mesh["axes"]]
        mesh["axis_types"] = types
    return program


def main():
    options = {each for each in sys.argv[1:] if each.startswith("--")}
    arguments = [each for each in sys.argv[1:] if each not in options]
    if len(arguments) != 3 or arguments[0] not in KINDS or options - {"--rare-meshes", "--long-dimensions", "--axis-types"}:
        sys.exit(__doc__ + "\nKinds: " + ", ".join(KINDS))
    meshes = RARE_MESHES if "--rare-meshes" in options else MESHES
    draw = DrawLong if "--long-dimensions" in options else Draw
    kind, seed, count = arguments[0], int(arguments[1]), int(arguments[2])
    for each in range(seed, seed + count):
        d = draw(each, meshes)
        program = KINDS[kind](d, f"{kind}/{each}")
        print(json.dumps(with_axis_types(d, program) if "--axis-types" in options else program))


if __name__ == "__main__":
    main()
