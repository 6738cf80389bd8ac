#!/usr/bin/env python3
"""What crosses processes, beside JAX over gloo: bench_processes and jax_side.py in turn, 4 processes of 2 devices each; and starts.

    compare.py BIN_DIR BENCH_PROCESSES [--python PYTHON_WITH_JAX] [CASES…]

Below 1 shardlab is faster. `start_toy_4x2` and `start_toy_16x1` are the toy program from start to exit, on 4 and on 16 processes.
"""
import pathlib
import re
import socket
import subprocess
import sys
import time

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))
import jax_python

PROCESSES = 4
LINE = re.compile(r"^(?:\[0\] )?([a-z]\w+) ([0-9.e-]+) ([0-9.e-]+)$", re.MULTILINE)
STARTS = {"start_toy_4x2": (4, 2), "start_toy_16x1": (16, 1)}
STARTS_EACH = 5
LIMIT_S = 600


def medians(output):
    return {name: float(median) for name, median, _ in LINE.findall(output)}


def shardlab(binary, bench, cases):
    command = [f"{binary}/shardlab", "run", "-n", str(PROCESSES), "-d", str(8 // PROCESSES), "--", bench, *cases]
    return medians(subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S).stdout)


def start(binary, processes, devices):
    """The median time of a toy program from start to exit."""
    seconds = []
    for _ in range(STARTS_EACH):
        begin = time.perf_counter()
        subprocess.run([f"{binary}/shardlab", "run", "-n", str(processes), "-d", str(devices), "--", f"{binary}/toy"],
                       check=True, capture_output=True, timeout=LIMIT_S)
        seconds.append(time.perf_counter() - begin)
    return sorted(seconds)[len(seconds) // 2]


def jax(python, cases):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    jobs = [subprocess.Popen([python, FOLDER / "jax_side.py", str(p), str(PROCESSES), str(port), *cases], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True) for p in range(PROCESSES)]
    try:
        outputs = [job.communicate(timeout=LIMIT_S)[0] for job in jobs]
    finally:
        for job in jobs:
            job.kill()
    return medians(outputs[0])


def main():
    arguments = sys.argv[1:]
    python = jax_python.taken_from(arguments)
    if len(arguments) < 2:
        sys.exit(__doc__)
    binary, bench, cases = arguments[0], arguments[1], arguments[2:]
    measured = [case for case in cases if case not in STARTS]
    ours = shardlab(binary, bench, measured) if measured or not cases else {}
    ours.update({name: start(binary, *size) for name, size in STARTS.items() if not cases or name in cases})
    theirs = jax(python, measured) if python and (measured or not cases) else {}
    if not python:
        print("No Python with jax here (see SHARDLAB_JAX_PYTHON): shardlab's times alone")
    print(f"{'case':26} {'shardlab ms':>12} {'JAX ms':>10} {'ratio':>7}")
    for name, mine in ours.items():
        other = theirs.get(name)
        print(f"{name:26} {mine * 1e3:12.3f} " + (f"{other * 1e3:10.3f} {mine / other:7.3f}" if other else f"{'-':>10} {'-':>7}"))


if __name__ == "__main__":
    main()
