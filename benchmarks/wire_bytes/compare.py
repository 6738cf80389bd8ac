#!/usr/bin/env python3
"""Puts the wire bytes of the documents' programs beside XLA's, case by case; fails where shardlab moves more.

    compare.py SHARDLAB DOCUMENT_PROGRAMS [--python PYTHON_WITH_JAX | --recorded] [CASES…]

Ours are read from the trace of a run on 8 devices, XLA's from the programs that JAX compiles (jax_side.py): both count the least that a ring
moves, here per device. Without JAX, or with --recorded, XLA's side is the record xla.json; `jax_side.py > xla.json` makes it again.
"""
import json
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
import jax_python

DEVICES = 8
QUERY = """
SELECT p.name, COALESCE(SUM(c.wire_bytes), 0), COALESCE(GROUP_CONCAT(k.text), '')
FROM programs p LEFT JOIN collectives c ON c.program = p.id LEFT JOIN strings k ON k.id = c.kind
WHERE COALESCE(k.text, '') != 'transfer' GROUP BY p.name
"""


def ours(shardlab, programs, cases):
    """{case: (wire bytes, kinds)} of a run of the cases, from its trace."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.db"
        printed = subprocess.run([shardlab, "run", "-d", str(DEVICES), "--trace", trace, "--", programs, *cases], check=True,
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
        with sqlite3.connect(trace) as database:
            moved = {name: (total, kinds) for name, total, kinds in database.execute(QUERY)}
    ran = [line.split("] ")[-1] for line in printed.splitlines()]
    return {case: moved[case] for case in ran}


def theirs(python, cases):
    if python:
        return json.loads(subprocess.run([python, HERE / "jax_side.py", *cases], check=True, capture_output=True, text=True).stdout)
    return json.loads((HERE / "xla.json").read_text(encoding="utf-8"))


def summary(kinds):
    """"2 all-to-all, all-gather" of a list of kinds with their counts."""
    return ", ".join(f"{count} {kind}" if count > 1 else kind for kind, count in sorted(kinds.items())) or "-"


def report(mine, other):
    """The table, and the cases in which we move more."""
    lines, more = [], []
    lines.append(f"{'case':32} {'shardlab':>12} {'XLA':>12} {'ratio':>7}  collectives here | in XLA's program")
    totals = [0, 0]
    for case, (moved, kinds) in mine.items():
        if case not in other:
            sys.exit(f"compare.py: no case {case} on JAX's side: jax_side.py and document_programs.cpp must have the same")
        xla = other[case]["wire_bytes"]
        totals = [totals[0] + moved, totals[1] + xla]
        ratio = f"{moved / xla:7.3f}" if xla else ("      -" if not moved else "    inf")
        counts = {kind: kinds.split(",").count(kind) for kind in kinds.split(",") if kind}
        lines.append(f"{case:32} {moved / DEVICES:12.1f} {xla / DEVICES:12.1f} {ratio}  {summary(counts)} | {summary(other[case]['collectives'])}")
        if moved > xla:
            more.append(f"{case}: {moved / DEVICES:.1f} wire bytes per device, XLA {xla / DEVICES:.1f}")
    if totals[1]:
        lines.append(f"{'all':32} {totals[0] / DEVICES:12.1f} {totals[1] / DEVICES:12.1f} {totals[0] / totals[1]:7.3f}")
    return lines, more


def main():
    arguments = sys.argv[1:]
    if len(arguments) < 2:
        sys.exit(__doc__)
    recorded = "--recorded" in arguments
    if recorded:
        arguments.remove("--recorded")
    python = None if recorded else jax_python.taken_from(arguments)
    shardlab, programs, cases = arguments[0], arguments[1], arguments[2:]
    other = theirs(python, cases)
    where = "compiled now" if python else "recorded in benchmarks/wire_bytes/xla.json" + ("" if recorded else "; no Python with jax here, see SHARDLAB_JAX_PYTHON")
    print(f"Wire bytes per device on {DEVICES} devices; XLA of JAX {other['jax']}, {where}")
    lines, more = report(ours(shardlab, programs, cases), other["cases"])
    print("\n".join(lines))
    if more:
        sys.exit("shardlab moves more than XLA in:\n  " + "\n  ".join(more))
    print("never more than XLA")


if __name__ == "__main__":
    main()
