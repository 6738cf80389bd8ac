#!/usr/bin/env python3
"""Runs a benchmark (bench_runtime, bench_ops) and JAX in turn on this machine and prints the ratio of their medians, case by case.

    compare.py BIN_DIR BENCHMARK [--python PYTHON_WITH_JAX] [--jax-side FILE] [--processes N] [CASES…]

Below 1 shardlab is faster. Absolute figures move from machine to machine; the ratio of one run is what counts. Without JAX only
shardlab's times are printed. With --processes the 8 devices are dealt to N processes (JAX's speak over gloo) and the cases are those that
cross processes; `start_toy_4x2` and `start_toy_16x1` are the toy program from start to exit, on 4 and on 16 processes.
"""
import pathlib
import re
import socket
import subprocess
import sys
import time

import jax_python

JAX_SIDE = pathlib.Path(__file__).resolve().with_name("jax_side.py")
DEVICES = 8
ACROSS = ["eager_sum_8x8", "psum_4KB_each", "psum_16MB_each", "all_gather_2MB_each", "psum_scatter_16MB_each", "all_to_all_16MB_each",
          "ppermute_16MB_each", "reshard_ab_to_ba_64MB", "mlp_step_dp", "mlp_step_dp_tp", "fft3_128_slab"]
STARTS = {"start_toy_4x2": (4, 2), "start_toy_16x1": (16, 1)}
STARTS_EACH = 5
LIMIT_S = 3600
LINE = re.compile(r"^(?:\[0\] )?([a-z]\w+) ([0-9.e-]+) ([0-9.e-]+)$", re.MULTILINE)


def output_of(command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout


def shardlab(binary, bench, processes, cases):
    launcher = [f"{binary}/shardlab", "run", "-n", str(processes), "-d", str(DEVICES // processes), "--"] if processes > 1 else []
    return output_of([*launcher, bench, *cases])


def start(binary, processes, devices):
    """The median time of a toy program from start to exit."""
    seconds = []
    for _ in range(STARTS_EACH):
        begin = time.perf_counter()
        output_of([f"{binary}/shardlab", "run", "-n", str(processes), "-d", str(devices), "--", f"{binary}/toy"])
        seconds.append(time.perf_counter() - begin)
    return sorted(seconds)[len(seconds) // 2]


def jax(python, side, processes, cases):
    if processes == 1:
        return output_of([python, side, *cases])
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    jobs = [subprocess.Popen([python, side, "--process", str(p), str(processes), str(port), *cases], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True) for p in range(processes)]
    try:
        return [job.communicate(timeout=LIMIT_S)[0] for job in jobs][0]
    finally:
        for job in jobs:
            job.kill()


def medians(output):
    return {name: float(median) for name, median, _ in LINE.findall(output)}


def main():
    arguments = sys.argv[1:]
    python = jax_python.taken_from(arguments)

    def taken(option, otherwise):
        if option not in arguments:
            return otherwise
        at = arguments.index(option)
        value = arguments[at + 1]
        del arguments[at : at + 2]
        return value

    processes, side = int(taken("--processes", 1)), taken("--jax-side", JAX_SIDE)
    if len(arguments) < 2:
        sys.exit(__doc__)
    binary, bench, cases = arguments[0], arguments[1], arguments[2:]
    starts = [case for case in STARTS if case in cases or (processes > 1 and not cases)]
    cases = [case for case in cases if case not in STARTS] or (ACROSS if processes > 1 and not cases else [])
    is_run = bool(cases) or not starts
    ours = medians(shardlab(binary, bench, processes, cases)) if is_run else {}
    ours.update({name: start(binary, *STARTS[name]) for name in starts})
    theirs = medians(jax(python, side, processes, cases)) if python and is_run else {}
    if not python:
        print("No Python with jax here (see SHARDLAB_JAX_PYTHON): shardlab's times alone")
    print(f"{'case':26} {'shardlab ms':>12} {'JAX ms':>10} {'ratio':>7}")
    for name, mine in ours.items():
        other = theirs.get(name)
        print(f"{name:26} {mine * 1e3:12.3f} " + (f"{other * 1e3:10.3f} {mine / other:7.3f}" if other else f"{'-':>10} {'-':>7}"))


if __name__ == "__main__":
    main()
