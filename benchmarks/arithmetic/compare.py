#!/usr/bin/env python3
"""Puts the arithmetic that one device does in jitted programs beside XLA's, program by program; fails where shardlab's does more.

    compare.py SHARDLAB [--python PYTHON_WITH_JAX | --recorded] [--all-ops] [SCENARIOS…]

Ours is what `shardlab check --explain` says of the steps that the busiest device executes, XLA's is counted in the modules that JAX compiles
(jax_side.py); hlo_arithmetic.py says how, and what does not count. Wire bytes are compared, too. Without scenarios they are those of
programs.jsonl, in which ours once did more; without JAX, or with --recorded, XLA's side of these is the record xla.jsonl, and
`jax_side.py programs.jsonl > xla.jsonl` makes it again.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent)]
import jax_python

import programs

SHOWN_OPS = 6


def ours(shardlab, paths):
    """{program: {"arithmetic": {op: elements}, "wire_bytes": bytes}} of its jit statements; no arithmetic where it is refused."""
    text = subprocess.run([shardlab, "check", "--explain", *paths], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    return read_explanation(text)


def read_explanation(text):
    found, here, is_jit = {}, None, False
    for line in text.splitlines():
        if match := re.match(r"(\S.*): \d+ processes? . \d+ device", line):
            here = found[match[1]] = {"arithmetic": None, "wire_bytes": 0}
        elif match := re.match(r"  /program/\S+ +(\S+)", line):
            is_jit = match[1] == "jit"
        elif match := re.search(r"\d+ elements are computed on the busiest device(?:: (.*))?", line):
            if is_jit:
                here["arithmetic"] = here["arithmetic"] or {}
                for op, count in (each.rsplit(" ", 1) for each in (match[1] or "").split(", ") if each):
                    here["arithmetic"][op] = here["arithmetic"].get(op, 0) + int(count)
        elif match := re.match(r"  (\d+) bytes on the wire", line):
            here["wire_bytes"] = int(match[1])
    return found


def records(lines):
    """JAX's version, and {program: what jax_side.py says of it}."""
    each = [json.loads(line) for line in lines if line.strip()]
    return each[0]["jax"], {record["name"]: record for record in each[1:]}


def theirs(python, paths):
    """XLA ends the process on some programs: the others are given to another one."""
    left, version, found = programs.read(paths), "", {}
    while left:
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write("".join(json.dumps(document) + "\n" for document in left))
            file.flush()
            printed = subprocess.run([python, HERE / "jax_side.py", file.name], capture_output=True, text=True)
        if not printed.stdout:
            sys.exit(printed.stderr)
        version, more = records(printed.stdout.splitlines())
        found.update(more)
        left = left[len(more):]
        if left:
            found[left[0]["name"]] = {"error": "XLA ended the process"}
            left = left[1:]
    return version, found


def total(side):
    return sum(side["arithmetic"].values())


def summary(arithmetic, shown):
    most = sorted(arithmetic.items(), key=lambda each: -each[1])
    return ", ".join(f"{op} {count}" for op, count in most[:shown]) + (", …" if len(most) > shown else "")


def report(mine, other, shown=SHOWN_OPS):
    """Lines on the programs in which we do more, with the ops that do most, and a last one on all."""
    lines, compared, more, by_a_fiftieth, more_bytes = [], 0, 0, 0, 0
    for name, xla in other.items():
        own = mine.get(name)
        if "error" in xla or own is None or own["arithmetic"] is None:
            continue
        compared += 1
        if total(own) > total(xla):
            more += 1
            by_a_fiftieth += 50 * total(own) > 51 * total(xla)
            lines.append(f"{name}: {total(own)} elements on a device, XLA {total(xla)}; {own['wire_bytes']} wire bytes, XLA {xla['wire_bytes']}\n"
                         f"  shardlab {summary(own['arithmetic'], shown)}\n  XLA      {summary(xla['arithmetic'], shown)}")
        if xla["wire_bytes"] is not None and own["wire_bytes"] > xla["wire_bytes"]:
            more_bytes += 1
            lines.append(f"{name}: {own['wire_bytes']} wire bytes, XLA {xla['wire_bytes']}")
    lines.append(f"{compared} programs compared, {len(other) - compared} not: more arithmetic in {more}, by over a fiftieth in {by_a_fiftieth}, "
                 f"more wire bytes in {more_bytes}")
    return lines, more + more_bytes


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        sys.exit(__doc__)
    recorded = "--recorded" in arguments
    if recorded:
        arguments.remove("--recorded")
    shown = SHOWN_OPS
    if "--all-ops" in arguments:
        arguments.remove("--all-ops")
        shown = sys.maxsize
    python = None if recorded else jax_python.taken_from(arguments)
    shardlab, paths = arguments[0], arguments[1:]
    if paths and not python:
        sys.exit("compare.py: XLA's side of these is not recorded, and there is no Python with jax here: SHARDLAB_JAX_PYTHON or --python names one")
    paths = paths or [str(HERE / "programs.jsonl")]
    version, other = theirs(python, paths) if python else records((HERE / "xla.jsonl").read_text(encoding="utf-8").splitlines())
    print(f"Arithmetic of a device; XLA of JAX {version}, {'compiled now' if python else 'recorded in benchmarks/arithmetic/xla.jsonl'}")
    lines, more = report(ours(shardlab, paths), other, shown)
    print("\n".join(lines))
    if more:
        sys.exit("shardlab computes or moves more than XLA")


if __name__ == "__main__":
    main()
