#!/usr/bin/env python3
"""Prints scenarios of a kind whose last statement is a gradient, tangents or a batch of a function, outside of jit.

    outside_of_jit.py KIND SEED COUNT > PROGRAMS.jsonl

They are those of generate.py that end with such a one inside of jit and nothing else; the others are left out. judge.py compares what becomes of
them with JAX, but for bytes: JAX runs their ops one by one.
"""
import json
import sys

from draw import Draw
from generate import KINDS

TRANSFORMATIONS = ("grad", "value_and_grad", "jvp", "vjp", "vmap")


def unjitted(document):
    """The document with what its jit did as a statement by itself; nothing where that is not one transformation."""
    last = document["program"][-1]
    function = document["functions"].get(last.get("fn"), {})
    body = function.get("body", [])
    if last["op"] != "jit" or "out_shardings" in last or "in_shardings" in last or len(body) != 1 or body[0]["op"] not in TRANSFORMATIONS:
        return None
    names = body[0]["let"] if isinstance(body[0]["let"], list) else [body[0]["let"]]
    if function["params"] != last["args"] or function["results"] != names:
        return None
    return {**document, "name": document["name"] + "/outside_of_jit", "program": [*document["program"][:-1], body[0]]}


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in KINDS:
        sys.exit(__doc__)
    kind, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    for each in range(seed, seed + count):
        if document := unjitted(KINDS[kind](Draw(each), f"{kind}/{each}")):
            print(json.dumps(document))


if __name__ == "__main__":
    main()
