#!/usr/bin/env python3
"""Prints a program as a scenario of the corpus (scenarios/corpus): what JAX gives and moves is what it expects.

    keep.py [--python PYTHON_WITH_JAX] FILE.jsonl NAME NEW_NAME DESCRIPTION > scenarios/corpus/NEW_NAME.json

Expected are shardings and some elements of what the last statement gives, no more bytes than XLA's where its module tells them, and no diagnosis.
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "arithmetic")]
import jax_python
import programs

JAX_SIDE = "--jax-side"
SAMPLES = 6


def jax_side(path, name, new_name, description):
    from compiled_run import CompiledRun
    import numpy

    document = next(each for each in programs.read([path]) if each["name"] == name)
    run = CompiledRun(document)
    run.run()
    names = document["program"][-1]["let"]
    expect = []
    for each in names if isinstance(names, list) else [names]:
        array = run.names[each]
        expected = {"array": each, "sharding": sharding_of(array, document["meshes"])}
        elements = numpy.asarray(array).ravel()
        if not numpy.iscomplexobj(elements):
            at = sorted({int(i) for i in numpy.linspace(0, elements.size - 1, SAMPLES)}) if elements.size else []
            expected |= {"samples": [[i, float(f"{float(elements[i]):.6g}")] for i in at], "rtol": 5e-4, "atol": 1e-5}
        expect.append(expected)
    if document["program"][-1]["op"] == "jit" and not run.has_unknown_turns:
        expect.append({"wire_bytes": {"at_most": run.wire_bytes}})
    return text_of({**document, "name": new_name, "expect": [*expect, {"diagnosis": None}]}, description)


def sharding_of(array, meshes):
    if not hasattr(array.sharding, "spec"):
        sys.exit(f"keep.py: JAX has no named sharding for a result: {array.sharding}")
    spec = [list(entry) if isinstance(entry, tuple) else entry for entry in array.sharding.spec]
    spec += [None] * (array.ndim - len(spec))
    mesh = next(name for name, mesh in meshes.items() if tuple(mesh["axes"]) == array.sharding.mesh.axis_names)
    return {"mesh": mesh, "spec": spec} if len(meshes) > 1 else spec


def text_of(document, description):
    """One statement, function or expectation a line, as the corpus has them."""
    line = json.dumps
    rows = lambda items: ",\n".join("    " + item for item in items)
    functions = rows(f"{line(name)}: {line(function)}" for name, function in document["functions"].items())
    functions = f'  "functions": {{\n{functions}\n  }},\n' if functions else ""
    return f"""{{
  "shardlab": 1,
  "name": {line(document["name"])},
  "description": {line(description)},
  "cluster": {line(document["cluster"])},
  "meshes": {line(document["meshes"])},
{functions}  "program": [
{rows(map(line, document["program"]))}
  ],
  "expect": [
{rows(map(line, document["expect"]))}
  ]
}}"""


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == [JAX_SIDE]:
        print(jax_side(*arguments[1:]))
        return None
    python = jax_python.taken_from(arguments)
    if len(arguments) != 4 or not python:
        sys.exit(__doc__ if python else "keep.py: there is no Python with jax here: SHARDLAB_JAX_PYTHON or --python names one")
    return subprocess.run([python, __file__, JAX_SIDE, *arguments]).returncode


if __name__ == "__main__":
    sys.exit(main())
