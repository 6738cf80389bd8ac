#!/usr/bin/env python3
"""Runs bench_runtime and JAX in turn on this machine and prints the ratio of their medians, case by case.

    compare.py BENCH_RUNTIME [--python PYTHON_WITH_JAX] [CASES…]

Below 1 shardlab is faster. Absolute figures move from machine to machine; the ratio of one run is what counts. Without JAX only
shardlab's times are printed.
"""
import json
import pathlib
import subprocess
import sys

import jax_python


def main():
    arguments = sys.argv[1:]
    if not arguments:
        sys.exit(__doc__)
    python = jax_python.taken_from(arguments)
    bench, cases = arguments[0], arguments[1:]
    jax_side = pathlib.Path(__file__).with_name("jax_side.py")
    ours = json.loads(subprocess.run([bench, *cases], check=True, capture_output=True, text=True).stdout)
    if python:
        theirs = json.loads(subprocess.run([python, jax_side, *cases], check=True, capture_output=True, text=True).stdout)
    else:
        theirs = {}
        print("No Python with jax here (see SHARDLAB_JAX_PYTHON): shardlab's times alone")
    print(f"{'case':26} {'shardlab ms':>12} {'JAX ms':>10} {'ratio':>7}")
    for name, mine in ours.items():
        other = theirs.get(name)
        ratio = f"{mine['median_s'] / other['median_s']:7.3f}" if other else "      -"
        jax_ms = f"{other['median_s'] * 1e3:10.3f}" if other else "         -"
        print(f"{name:26} {mine['median_s'] * 1e3:12.3f} {jax_ms} {ratio}")


if __name__ == "__main__":
    main()
