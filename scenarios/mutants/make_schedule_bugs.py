#!/usr/bin/env python3
"""Makes scenarios that deadlock under some schedules only, and twins that cannot.

    make_schedule_bugs.py > schedule_bugs.jsonl

A ring of processes: process i has a call with each neighbour. Where each issues the call with the next one first, all wait in a circle;
one that begins with the call before it breaks the circle. `depth` processes issue their two calls from two threads, in the order of
the document the harmless one first: all of them must be turned round at once for the deadlock, which makes its depth. The twin's last
process has one thread and the harmless order: no schedule deadlocks.
"""
import json
import random
import sys


def calls(i, size):
    """The calls of process i: with the next process, and with the one before."""
    return [{"op": "zeros", "shape": [2], "sharding": {"mesh": f"c{i}", "spec": ["d"]}, "let": f"n{i}"},
            {"op": "zeros", "shape": [2], "sharding": {"mesh": f"c{(i - 1) % size}", "spec": ["d"]}, "let": f"b{i}"}]


def ring(size, depth, noise, rng, twin, policy):
    threaded = sorted(rng.sample(range(size - 1 if twin else size), depth))
    program = []
    for k in range(noise):  # agreed on by all
        program.append({"op": "zeros", "shape": [size], "sharding": {"mesh": "all", "spec": ["d"]}, "let": f"before{k}"})
    for i in range(size):
        following, before = calls(i, size)
        on = {"processes": [i]}
        if i in threaded:
            program += [{"issuer": f"first{i}", "body": [before], "on": on}, {"issuer": f"second{i}", "body": [following], "on": on},
                        {"op": "wait", "args": [f"first{i}", f"second{i}"], "on": on}]
        elif twin and i == size - 1:
            program += [{**before, "on": on}, {**following, "on": on}]
        else:
            program += [{**following, "on": on}, {**before, "on": on}]
    meshes = {f"c{i}": {"shape": [2], "axes": ["d"], "devices": [i, (i + 1) % size]} for i in range(size)}
    meshes["all"] = {"shape": [size], "axes": ["d"]}
    expect = {"diagnosis": None} if twin else {"diagnosis": "deadlock", "processes": list(range(size))}
    return {"shardlab": 1, "name": f"ring of {size}, depth {depth}, {noise} calls before{', twin' if twin else ''}",
            "cluster": {"processes": size, "devices": 1, "run": "simulated"}, "meshes": meshes, "program": program, "seed": 20261121,
            "schedules": policy, "expect": [expect]}


def main():
    rng = random.Random(20261121)
    for size in (3, 4, 5, 6):
        for depth in (1, 2, 3):
            for noise in (0, 3):
                if depth > size - 1:
                    continue
                pct = {"policy": "pct", "depth": depth + 1, "count": 4000}
                json.dump(ring(size, depth, noise, rng, False, pct), sys.stdout)
                print()
                # The others must hold the circle open both ways.
                if depth > size - 2:
                    continue
                json.dump(ring(size, depth, noise, rng, True, {"policy": "exhaustive"}), sys.stdout)
                print()


if __name__ == "__main__":
    main()
