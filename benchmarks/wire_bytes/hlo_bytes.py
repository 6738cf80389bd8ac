"""Counts what a compiled HLO program moves, as the trace counts: the least a ring moves, summed over all devices."""
import dataclasses
import math
import re

WIDTHS = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "f16": 2, "bf16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8,
          "c64": 8, "c128": 16}
# Of a result of r bytes on each of g devices, in units of r.
RING = {
    "all-reduce": lambda g: 2 * (g - 1),
    "all-gather": lambda g: g - 1,
    "reduce-scatter": lambda g: (g - 1) * g,
    "all-to-all": lambda g: g - 1,
    "collective-broadcast": lambda g: g - 1,
}
INSTRUCTION = re.compile(r"= (?P<result>.+?) (?P<kind>%s)\(" % "|".join([*RING, "collective-permute"]))


@dataclasses.dataclass
class Collective:
    kind: str
    wire_bytes: int


def bytes_of(result):
    """Of a result's type, as text; tuples are their parts together."""
    total = 0
    for dtype, dimensions in re.findall(r"(\w+)\[([\d,]*)\]", result):
        total += WIDTHS[dtype] * math.prod(int(d) for d in dimensions.split(",") if d)
    return total


def group_sizes(line, device_count):
    """Of an instruction's replica groups, in each of the forms in which HLO writes them."""
    if "replica_groups={}" in line:
        return [device_count]
    listed = re.search(r"replica_groups=\{((?:\{[\d,]+\},?)+)\}", line)
    if listed:
        return [group.count(",") + 1 for group in re.findall(r"\{([\d,]+)\}", listed[1])]
    iota = re.search(r"replica_groups=\[(\d+),(\d+)\]<=", line)
    if iota:
        return [int(iota[2])] * int(iota[1])
    # Axes of a mesh: 'b' is all of it, 'b':(m)k the part of size k behind the first m.
    mesh = re.search(r"replica_groups=mesh\[([^\]]*)\].*?\{([^}]*)\}", line)
    if mesh:
        sizes = {name: int(size) for name, size in re.findall(r"'([^']+)'=(\d+)", mesh[1])}
        used = [int(part) if part else sizes[name] for name, part in re.findall(r"'([^']+)'(?::\(\d+\)(\d+))?", mesh[2])]
        return [math.prod(used)] * (math.prod(sizes.values()) // math.prod(used))
    raise ValueError("replica groups of an unknown form: " + line.strip())


def collectives_of(hlo, device_count):
    """Those that move anything. Bodies of loops count once: the documents' programs have none around collectives."""
    found = []
    for line in hlo.splitlines():
        if re.search(r" (%s)-start\(" % "|".join([*RING, "collective-permute"]), line):
            raise ValueError("asynchronous collectives are not understood: " + line.strip())
        instruction = INSTRUCTION.search(line)
        if not instruction:
            continue
        kind, size = instruction["kind"], bytes_of(instruction["result"])
        if kind == "collective-permute":
            pairs = re.findall(r"\{(\d+),(\d+)\}", line[line.index("source_target_pairs="):].split("}}")[0] + "}}")
            wire = size * sum(source != target for source, target in pairs)
        else:
            wire = sum(RING[kind](g) * size for g in group_sizes(line, device_count))
        if wire:
            found.append(Collective(kind, wire))
    return found


KNOWN_TURNS = re.compile(r'known_trip_count"?:\{"n":"(\d+)"')


def has_unknown_turns(hlo):
    """Whether the module has a loop of which it does not say how often it runs."""
    return any(" while(" in line and not KNOWN_TURNS.search(line) for line in hlo.splitlines())


def bytes_of_run(hlo, device_count):
    """What one run of a module moves: a loop's body as often as the module says that it runs (once where it does not), of branches the most."""
    bodies, entry, inside = {}, None, None
    for line in hlo.splitlines():
        if line[:1].strip() and line.rstrip().endswith("{") and "->" in line:
            name = line.replace("ENTRY ", "").split()[0].lstrip("%")
            inside = bodies[name] = []
            entry = name if line.startswith("ENTRY ") else entry
        elif line.startswith("}"):
            inside = None
        elif inside is not None:
            inside.append(line)

    def named(line, key):
        found = re.search(key + r"=%?([\w.\-]+)", line)
        return [found[1]] if found else []

    def run(name):
        total = sum(each.wire_bytes for each in collectives_of("\n".join(bodies[name]), device_count))
        for line in bodies[name]:
            if " while(" in line:
                turns = KNOWN_TURNS.search(line)
                total += sum(map(run, named(line, "body") + named(line, "condition"))) * (int(turns[1]) if turns else 1)
            elif " conditional(" in line:
                listed = re.search(r"branch_computations=\{([^}]*)\}", line)
                branches = [each.strip().lstrip("%") for each in listed[1].split(",")] if listed else (
                    named(line, "true_computation") + named(line, "false_computation"))
                total += max(map(run, branches))
            elif " call(" in line:
                total += sum(map(run, named(line, "to_apply")))
        return total

    return run(entry)
