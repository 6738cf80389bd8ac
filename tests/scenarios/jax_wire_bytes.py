"""How much the collectives of a compiled module of XLA move."""
import math, re
import numpy as np

WIDTH = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4, "c64": 8, "s64": 8, "u64": 8, "f64": 8, "c128": 16}


def groups_of(line):
    if found := re.search(r"source_target_pairs=\{((?:\{\d+,\d+\},?)*)\}", line): return [tuple(map(int, p.split(","))) for p in re.findall(r"\{(\d+,\d+)\}", found[1])]
    if found := re.search(r"replica_groups=\{((?:\{[\d,]+\},?)+)\}", line): return [tuple(map(int, p.split(","))) for p in re.findall(r"\{([\d,]+)\}", found[1])]
    if found := re.search(r"replica_groups=mesh\[([^\]]*)\].*?\{([^}]*)\}", line):  # of axes: all groups are as large
        sizes = dict((n.strip().strip("'"), int(k)) for n, k in (a.split("=") for a in found[1].split(",")))
        axes = re.findall(r"'([^']+)'(?::\(\d+\)(\d+))?", found[2])
        size = math.prod(int(part) if part else sizes[name] for name, part in axes)
        return [tuple(range(size))] * (math.prod(sizes.values()) // size)
    found = re.search(r"replica_groups=\[([\d,]+)\]<=\[([\d,]+)\](?:T\(([\d,]+)\))?", line)
    if not found: raise ValueError("replica groups not understood: " + line)
    numbers = lambda text: [int(each) for each in text.split(",")]
    ids = np.arange(math.prod(numbers(found[2]))).reshape(numbers(found[2]))
    if found[3]: ids = ids.transpose(numbers(found[3]))
    return [tuple(group) for group in ids.reshape(numbers(found[1]))]


def wire_bytes_of(hlo):
    """Over all devices, the least that rings move."""
    total = 0
    for line in hlo.splitlines():
        found = re.search(r"= (.+?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(-start)?\(", line)
        if not found: continue
        size = sum(WIDTH[t] * math.prod(int(d) for d in s.split(",") if d) for t, s in re.findall(r"(\w+)\[([\d,]*)\]", found[1]))
        factor = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 8, "all-to-all": 1}.get(found[2])
        groups = groups_of(line)
        if factor is None: total += size * sum(a != b for a, b in groups)
        elif found[2] == "reduce-scatter": total += sum((len(g) - 1) * size * len(g) for g in groups)
        else: total += sum(factor * (len(g) - 1) * size for g in groups)
    return total
