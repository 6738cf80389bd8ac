#!/usr/bin/env python3
"""Writes goldens/visualize.txt: pictures of shardings by jax.debug.visualize_sharding (jax 0.10.2, rich 15.0.0, matplotlib).

Left out: pictures wider than the terminal, where `rich` cuts or drops labels and ours does not, and colours for 2, 6, 10 … parts, where
JAX repeats some and ours does not.

A case is
    = SHAPE MESH DEVICES SPEC MODE SCALE     e.g.  8x8 a=4,b=2 0,1,2,3,6,7,4,5 a|b plain 1; a spec entry is -, a, or a+b
    | TEXT                                   line by line, ESC as \\e; runs of one style joined
"""
import contextlib
import io
import os
import pathlib
import re

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=16"
os.environ["COLORTERM"] = "truecolor"
os.environ["TERM"] = "xterm-256color"

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

devices = np.array(jax.devices())
out = []


def picture(shape, sharding, color, scale):
    os.environ["FORCE_COLOR"] = "1" if color else ""
    if not color: os.environ.pop("FORCE_COLOR")
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        jax.debug.visualize_sharding(shape, sharding, use_color=color, scale=scale)
    assert text.getvalue().endswith("\n") and not text.getvalue().endswith("\n\n")
    joined = re.sub(r"\x1b\[0m(\x1b\[[0-9;]*m)", r"\1", text.getvalue()[:-1])
    style, result = None, ""
    for part in re.split(r"(\x1b\[[0-9;]*m)", joined):
        if part.startswith("\x1b"):
            if part == style: continue
            if style not in (None, "\x1b[0m") and part != "\x1b[0m": result += "\x1b[0m"
            style = part
        result += part
    return result


def labels(shape, sharding):
    holders = {}
    for device, index in sharding.devices_indices_map(shape).items(): holders.setdefault(str(index), []).append(device.id)
    return ["CPU " + ",".join(map(str, sorted(ids))) for ids in holders.values()]


def add(shape, mesh, spec, order=None, color=False, scale=1):
    names = [part.split("=")[0] for part in mesh.split(",")]
    sizes = [int(part.split("=")[1]) for part in mesh.split(",")]
    order = order or list(range(int(np.prod(sizes))))
    entries = [None if e == "-" else tuple(e.split("+")) for e in spec.split("|")] if spec else []
    sharding = NamedSharding(Mesh(devices[order].reshape(sizes), names), PartitionSpec(*entries))
    text = picture(shape, sharding, color, scale)
    if any(label not in text for label in labels(shape, sharding)): return
    if color and len(labels(shape, sharding)) % 4 == 2: return
    out.append(f"= {'x'.join(map(str, shape))} {mesh} {','.join(map(str, order))} {spec or '.'} {'color' if color else 'plain'} {scale}")
    out.extend("| " + line.replace("\x1b", "\\e") for line in text.split("\n"))


ring = [0, 1, 2, 3, 6, 7, 4, 5]
for color in (False, True):
    for shape in [(8, 8)] if color else [(8, 8), (8192, 8192), (16, 8), (8, 48), (4096, 2048)]:
        for spec in ["a|b", "b|a", "a", "-|a", "-|b", "", "a+b", "-|b+a"]:
            add(shape, "a=4,b=2", spec, color=color)
    for spec in ["a|b", "-|a", "a+b"] if color else ["a|b", "-|a", "a+b", "b+a", "b", "-|a+b", ""]:
        add((8192, 8192), "a=4,b=2", spec, ring, color=color)
    for spec in ["x", "", "-"]:
        for count in [1, 5] if color else [1, 2, 3, 4, 5, 7, 8]:
            add((840,), f"x={count}", spec, color=color)
    for count in [3] if color else [1, 2, 3, 5, 6, 7]:
        add((42 * 5, 42 * 5), f"x={count}", "x", color=color)
        add((42 * 5, 42 * 5), f"x={count}", "-|x", color=color)
    for spec in ["x", ""]:
        add((16, 16), "x=16", spec, color=color)
        add((16,), "x=16", "", color=color)
    for spec in ["a|b", "b|a", "a", "b", "-|a", "-|b", "a|b+c", "a+b|c", "c|b", ""][::3 if color else 1]:
        add((64, 64), "a=4,b=2,c=2", spec, color=color)
    add((16, 16), "a=4,b=4", "a|b", [15, 3, 8, 0, 2, 1, 4, 5, 14, 13, 12, 11, 10, 9, 6, 7], color=color)
    add((2, 100), "a=2,b=2", "a|b", [3, 1, 0, 2], color=color)
    add((100, 2), "a=2,b=2", "a|b", color=color)
    add((1, 1), "a=1", "", [9], color=color)
    add((3, 1000), "a=1", "", color=color)
    for scale in (0.5,) if color else (0.5, 2, 1.7):
        add((8, 8), "a=4,b=2", "a|b", color=color, scale=scale)
        add((8, 8), "a=4,b=2", "-|b", color=color, scale=scale)

path = pathlib.Path(__file__).parent / "goldens" / "visualize.txt"
path.write_text("\n".join(out) + "\n", encoding="utf-8")
print(f"{path}: {sum(line.startswith('= ') for line in out)} cases")
