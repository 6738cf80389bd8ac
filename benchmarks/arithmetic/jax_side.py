#!/usr/bin/env python3
"""What XLA's compiled modules compute on a device and move: of each `jit` of scenarios, compiled by JAX for virtual CPU devices.

    jax_side.py SCENARIOS…        (.json, or .jsonl with one a line; needs `pip install jax`)

Prints one line for each scenario: {"name": …, "arithmetic": {op: elements}, "wire_bytes": bytes or null where loops or branches hide them}, or its
"error". Nothing of a `jit` runs, its module is read (hlo_arithmetic.py). Behind a first line with JAX's version it is the record xla.jsonl.
"""
import collections
import json
import os
import pathlib
import sys

os.environ.setdefault("JAX_NUM_CPU_DEVICES", "16")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "wire_bytes"), str(HERE.parent.parent / "tests" / "scenarios")]
import jax
import jax_scenarios

import hlo_arithmetic
import hlo_bytes
import programs


class Compiled(jax_scenarios.Run):
    """Keeps the counts of what it compiles."""

    def __init__(self, document):
        super().__init__(document)
        self.arithmetic, self.wire_bytes = collections.Counter(), 0

    def compiled(self, function, args, options):
        lowered = jax.jit(function, **options).lower(*args)
        hlo = lowered.compile().as_text()
        self.arithmetic.update(hlo_arithmetic.arithmetic_of(hlo))
        hides_bytes = self.wire_bytes is None or " while(" in hlo or " conditional(" in hlo
        self.wire_bytes = None if hides_bytes else self.wire_bytes + sum(
            found.wire_bytes for found in hlo_bytes.collectives_of(hlo, len(self.devices)))
        # Later statements need no more than how results look.
        return lowered.out_info


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(json.dumps({"jax": jax.__version__}), flush=True)
    for document in programs.read(sys.argv[1:]):
        try:
            run = Compiled(document)
            run.run()
            found = {"arithmetic": dict(sorted(run.arithmetic.items())), "wire_bytes": run.wire_bytes}
        except Exception as error:  # JAX's own, of a program that it refuses
            found = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps({"name": document["name"], **found}), flush=True)


if __name__ == "__main__":
    main()
