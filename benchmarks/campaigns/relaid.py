#!/usr/bin/env python3
"""Prints random scenarios as generate.py does, whose results, or values in between, are told to lie in random ways.

    relaid.py SHARDLAB KIND SEED COUNT [--constraints | --beside] > PROGRAMS.jsonl

Each result gets an out_sharding; with --constraints statements of the function that is traced get constraints, about every second one; with
--beside these are values of their own, several in a row perhaps, which some later statements take in place of what they are put on. SHARDLAB says
what shapes they have; programs in which it does not are left out. judge.py compares what becomes of them with JAX.
"""
import copy
import json
import re
import subprocess
import sys
import tempfile

from draw import Draw
from einsums import cut
from generate import KINDS

SHARE_OF_STATEMENTS = 0.45


def generated(kind, seed, count):
    documents = [KINDS[kind](Draw(each), f"{kind}/{each}") for each in range(seed, seed + count)]
    return [each for each in documents if each["program"][-1].get("op") == "jit" and len(each["meshes"]) == 1]


def shapes_of(shardlab, documents):
    """{program: {name: shape}} of what the last statements give."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(each) + "\n" for each in documents)
        file.flush()
        text = subprocess.run([shardlab, "check", file.name], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    found, program = {}, None
    for line in text.splitlines():
        if begins := re.match(r"(\S+/\d+): \d+ processes", line):
            program = begins[1]
        elif re.match(r"  /program/\d+\s", line) and program:
            found[program] = {}  # of one statement: the last one stays
        elif (gives := re.match(r"      (\w+): \w+\[([\d,]*)\] ", line)) and program in found:
            found[program][gives[1]] = [int(size) for size in gives[2].split(",") if size]
    return found


def drawn_spec(draw, document, shape):
    mesh = next(iter(document["meshes"].values()))
    draw.axes = dict(zip(mesh["axes"], mesh["shape"]))
    return cut(draw, shape)


def with_out_shardings(draw, shardlab, documents):
    shapes = shapes_of(shardlab, documents)
    for each in documents:
        last = each["program"][-1]
        names = last["let"] if isinstance(last["let"], list) else [last["let"]]
        if "out_shardings" not in last and all(name in shapes.get(each["name"], {}) for name in names):
            last["out_shardings"] = [drawn_spec(draw, each, shapes[each["name"]][name]) for name in names]
            yield each


def traced(document):
    """The function whose statements get constraints: what a loss is made of, or all."""
    return document["functions"].get("loss") or document["functions"][document["program"][-1]["fn"]]


def telling(document):
    """The program with a function of its own, which gives copies of what each of those statements gives."""
    other = copy.deepcopy(document)
    statements, given = [], []
    for number, each in enumerate(traced(document)["body"]):
        statements.append(each)
        if isinstance(each["let"], str):
            given.append(f"given{number}")
            statements.append({"let": given[-1], "op": "stop_gradient", "args": [each["let"]]})
    other["functions"]["telling"] = {"params": traced(document)["params"], "body": statements, "results": given}
    other["program"][-1].pop("out_shardings", None)
    other["program"][-1].update(fn="telling", let=given if len(given) > 1 else given[0])
    return other


def with_constraints(draw, shardlab, documents, constrained):
    documents = [each for each in documents
                 if traced(each)["params"] == each["functions"][each["program"][-1]["fn"]]["params"]
                 and any(isinstance(statement["let"], str) for statement in traced(each)["body"])]
    shapes = shapes_of(shardlab, [telling(each) for each in documents])
    for document in documents:
        function, found = traced(document), shapes.get(document["name"], {})
        before = len(function["body"])
        constrained(draw, document, function, [found.get(f"given{number}") for number in range(before)])
        if len(function["body"]) > before:
            yield document


def in_place(draw, document, function, shapes):
    statements = []
    for each, shape in zip(function["body"], shapes):
        statements.append(each)
        if shape and draw.is_true(SHARE_OF_STATEMENTS):
            statements.append({"let": each["let"], "op": "with_sharding_constraint", "args": [each["let"]],
                               "spec": drawn_spec(draw, document, shape)})
    function["body"] = statements


def beside(draw, document, function, shapes):
    statements, others = [], {}  # name -> what may be taken in its place

    def taken(name):
        return others[name] if isinstance(name, str) and name in others and draw.is_true(0.5) else name

    for number, (each, shape) in enumerate(zip(function["body"], shapes)):
        statements.append({**each, "args": [taken(name) for name in each["args"]]})
        for name in each["let"] if isinstance(each["let"], list) else [each["let"]]:
            others.pop(name, None)
        if not shape or not draw.is_true(SHARE_OF_STATEMENTS):
            continue
        held = others[each["let"]] = f"held{number}"
        for count in range(draw.of(1, 1, 2, 2, 3)):
            spec = [("UNCONSTRAINED" if draw.is_true(0.08) else axes) for axes in drawn_spec(draw, document, shape)]
            statements.append({"let": held, "op": "with_sharding_constraint", "args": [held if count else each["let"]], "spec": spec})
    function["results"] = [taken(name) for name in function["results"]]
    function["body"] = statements


def main():
    options = {"--constraints": in_place, "--beside": beside}
    arguments = [each for each in sys.argv[1:] if each not in options]
    if len(arguments) != 4 or arguments[1] not in KINDS:
        sys.exit(__doc__ + "\nKinds: " + ", ".join(KINDS))
    shardlab, kind, seed, count = arguments[0], arguments[1], int(arguments[2]), int(arguments[3])
    asked = [options[each] for each in sys.argv[1:] if each in options]
    documents = generated(kind, seed, count)
    relaid = with_constraints(Draw(seed), shardlab, documents, asked[0]) if asked else with_out_shardings(Draw(seed), shardlab, documents)
    for each in relaid:
        each["name"] = each["name"].replace("/", "_relaid/")
        print(json.dumps(each))


if __name__ == "__main__":
    main()
