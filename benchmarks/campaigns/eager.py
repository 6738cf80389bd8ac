#!/usr/bin/env python3
"""Prints scenarios of a kind whose jitted function's statements are the program's own, each run by itself.

    eager.py KIND SEED COUNT [--rare-meshes] [--axis-types] > PROGRAMS.jsonl    (a kind of generate.py's)

Every value has a name of its own, so that judge.py compares all of them with JAX, but no bytes: JAX compiles op by op.
"""
import json
import sys

from draw import MESHES, RARE_MESHES, Draw
from generate import KINDS, with_axis_types

NAMED_OPERANDS = ("where", "weights", "b")  # attributes that name a value


def eager(document):
    """The document without its jit; nothing where that says how arguments or results lie."""
    jit = document["program"][-1]
    if jit["op"] != "jit" or "out_shardings" in jit or "in_shardings" in jit:
        return None
    function = document["functions"][jit["fn"]]
    now, statements = dict(zip(function["params"], jit["args"])), []
    for n, each in enumerate(function["body"]):
        names = each["let"] if isinstance(each["let"], list) else [each["let"]]
        args = [now.get(arg, arg) if isinstance(arg, str) else arg for arg in each.get("args", [])]
        more = {key: now[value] for key, value in each.items() if key in NAMED_OPERANDS and isinstance(value, str) and value in now}
        own = [f"{name}_{n}" for name in names]
        statements.append({**each, **more, "let": own if isinstance(each["let"], list) else own[0], "args": args})
        now.update(zip(names, own))
    return {**document, "name": document["name"] + "/eager", "program": [*document["program"][:-1], *statements]}


def main():
    options = {each for each in sys.argv[1:] if each.startswith("--")}
    arguments = [each for each in sys.argv[1:] if each not in options]
    if len(arguments) != 3 or arguments[0] not in KINDS or options - {"--rare-meshes", "--axis-types"}:
        sys.exit(__doc__)
    kind, seed, count = arguments[0], int(arguments[1]), int(arguments[2])
    for each in range(seed, seed + count):
        draw = Draw(each, RARE_MESHES if "--rare-meshes" in options else MESHES)
        if document := eager(KINDS[kind](draw, f"{kind}/{each}")):
            print(json.dumps(with_axis_types(draw, document) if "--axis-types" in options else document))


if __name__ == "__main__":
    main()
