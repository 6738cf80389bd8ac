#!/usr/bin/env python3
"""Runs scenarios with shardlab and with JAX, and names those in which values, dtypes or shardings differ, or shardlab moves more.

    judge.py SHARDLAB [--python PYTHON_WITH_JAX] [--remember FILE] SCENARIOS…        (as generate.py prints them)

With --remember, what JAX gives is kept in FILE, and programs that stand there need no JAX any more. Judged is what the last statement gives, without a jit what all of them give; bytes, where that is a jit. Loops count as often as they run, on both sides; where XLA's module has
ones whose turns it does not tell, those once.
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "arithmetic")]
import jax_python
import programs

JAX_SIDE = "--jax-side"


def names_given(document):
    """What the last statement gives; of a program without a jit everything that its statements give."""
    last = document["program"][-1]
    names = [each["let"] for each in (document["program"] if last["op"] != "jit" else [last])]
    return list(dict.fromkeys(name for each in names for name in (each if isinstance(each, list) else [each])))


def jax_side(path):
    """A line for each scenario: its results' shards and elements, and the bytes that its modules move."""
    from compiled_run import CompiledRun, jax_scenarios
    import numpy

    def elements(array):
        array = numpy.asarray(array).ravel()
        return (array.view(array.real.dtype) if numpy.iscomplexobj(array) else array).astype(float).tolist()

    def on_one_device(document):
        """Per-device code means something else there: on one device for each place along its axes."""
        def manual_axes(node):
            if isinstance(node, list):
                return set().union(*map(manual_axes, node))
            if not isinstance(node, dict):
                return set()
            own = set(node.get("axis_names", ["*"])) if node.get("op") == "shard_map" else set()
            return own.union(*map(manual_axes, node.values()))
        manual = manual_axes(document["functions"])
        if "*" in manual:
            return document
        def sizes(mesh):
            return [size if axis in manual else 1 for axis, size in zip(mesh["axes"], mesh["shape"])]
        count = max(math.prod(sizes(mesh)) for mesh in document["meshes"].values())
        def small(mesh):  # meshes of one program have the same devices
            first, *others = sizes(mesh)
            shape = [count // math.prod(others), *others]
            return {**mesh, "shape": shape, "devices": list(range(count))}
        return {**document, "meshes": {name: small(mesh) for name, mesh in document["meshes"].items()}}

    for document in programs.read([path]):
        try:
            run, alone = CompiledRun(document), jax_scenarios.Run(on_one_device(document))
            run.run()
            alone.run()
            arrays = {}
            for name in names_given(document):
                array = run.names[name]
                shards = {run.devices.index(device): [list(part.indices(size)[:2]) for part, size in zip(index, array.shape)]
                          for device, index in array.sharding.devices_indices_map(array.shape).items()}
                arrays[name] = {"dtype": array.dtype.name, "shards": sorted(shards.items()), "values": elements(array),
                                "values_alone": elements(alone.names[name])}
            # Outside of jit JAX compiles every op by itself, and says nothing of their bytes.
            found = {"arrays": arrays, "wire_bytes": run.wire_bytes if document["program"][-1]["op"] == "jit" else None,
                     "unknown_turns": run.has_unknown_turns}
        except Exception as error:  # JAX's own, of a program that it refuses
            found = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps({"name": document["name"], **found}), flush=True)


def remembered(path):
    """{program's text: what JAX gave} of a file that other runs have left, which may not be there."""
    lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
    return {each["program"]: each["gave"] for each in map(json.loads, lines)}


def theirs(python, documents, memory=None):
    """What JAX gives, by name. XLA ends the process on some programs: the others are given to another one."""
    known, texts = remembered(memory), {each["name"]: json.dumps(each) for each in documents}
    fresh = asked(python, [each for each in documents if texts[each["name"]] not in known])
    if memory and fresh:
        with memory.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps({"program": texts[name], "gave": gave}) + "\n" for name, gave in fresh.items())
    return {name: fresh[name] if name in fresh else known[text] for name, text in texts.items()}


def asked(python, documents):
    found = {}
    while documents:
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write("".join(json.dumps(document) + "\n" for document in documents))
            file.flush()
            printed = subprocess.run([python, __file__, JAX_SIDE, file.name], capture_output=True, text=True)
        lines = [json.loads(line) for line in printed.stdout.splitlines() if line.startswith("{")]
        found.update((line["name"], line) for line in lines)
        documents = documents[len(lines):]
        if documents:
            found[documents[0]["name"]] = {"error": "XLA ended the process"}
            documents = documents[1:]
    return found


def ours(shardlab, paths):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        subprocess.run([shardlab, "replay", *paths, "--report", report], stdin=subprocess.DEVNULL, capture_output=True)
        reports = json.loads(report.read_text(encoding="utf-8"))
    return {each["name"]: each for each in (reports if isinstance(reports, list) else [reports])}


def planned_bytes(shardlab, document):
    """What a program moves where loops run once whose turns nobody knows before: XLA's modules are counted so."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(document, file)
        file.flush()
        printed = subprocess.run([shardlab, "check", file.name], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    return int(re.findall(r"(\d+) bytes on the wire$", printed, re.MULTILINE)[-1])


# How far apart elements may be, as their share: XLA rounds floats of 16 bits less often.
APART = {"bfloat16": 0.03, "float16": 4e-3, "float64": 1e-9, "complex128": 1e-9}


def differing_value(own, values):
    """Where one of the elements that the report has is not JAX's, as far as floats can tell; programs compute with numbers about 1."""
    apart = APART.get(own["dtype"], 2e-4)
    scale = max([abs(value) for value in values if math.isfinite(value)], default=0) or 1
    told = enumerate(own["values"]) if "values" in own else own["samples"]
    return next((f"[{i}] = {value}, JAX {values[i]}" for i, value in told
                 if str(float(value)) != str(values[i]) and not abs(float(value) - values[i]) <= apart * max(abs(values[i]), 0.1 * scale) + 0.01 * apart), None)


def differences(own, xla):
    """What does not hold of one program: (what, how)."""
    if own is None or own.get("status") not in ("passed", "failed"):
        return [("runs", str((own or {}).get("message", "not run")))]
    found = []
    for name, array in xla["arrays"].items():
        mine = own["arrays"][name]
        # Outside of jit a gradient that nothing depends on is on one device there, and nobody has placed it.
        is_placed = xla["wire_bytes"] is not None or len(array["shards"]) > 1
        if is_placed and sorted(map(list, mine["shards"])) != [list(shard) for shard in array["shards"]]:
            found.append(("shardings", f"{name} lies by {mine.get('spec')}"))
        if mine["dtype"] != array["dtype"]:
            found.append(("dtypes", f"{name} is {mine['dtype']}, JAX's {array['dtype']}"))
        elif difference := differing_value(mine, array["values"]):
            alone = differing_value(mine, array["values_alone"])
            found.append(("values", name + alone + " on one device") if alone else
                         ("XLA's values", name + difference + "; on one device JAX has shardlab's"))
    if xla["wire_bytes"] is not None and own["wire_bytes"] > xla["wire_bytes"]:
        found.append(("bytes", f"{own['wire_bytes']} on the wire, XLA {xla['wire_bytes']}"))
    return found


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == [JAX_SIDE]:
        return jax_side(arguments[1])
    python, memory = jax_python.taken_from(arguments), None
    if "--remember" in arguments[:-1]:
        at = arguments.index("--remember")
        memory = pathlib.Path(arguments[at + 1])
        del arguments[at:at + 2]
    if len(arguments) < 2 or not python:
        sys.exit(__doc__ if python else "judge.py: there is no Python with jax here: SHARDLAB_JAX_PYTHON or --python names one")
    documents = {each["name"]: each for each in programs.read(arguments[1:])}
    mine, other = ours(arguments[0], arguments[1:]), theirs(python, list(documents.values()), memory)
    counts, fewer, moved, refused = {}, 0, [0, 0], 0
    for name, xla in other.items():
        if "error" in xla:
            refused += 1
            print(f"{name}: not judged: {xla['error']}")
            continue
        own = mine.get(name)
        if own is not None and "wire_bytes" in own and xla.get("unknown_turns") and own["wire_bytes"] > xla["wire_bytes"]:
            own["wire_bytes"] = planned_bytes(arguments[0], documents[name])
        for what, how in differences(own, xla):
            counts[what] = counts.get(what, 0) + 1
            print(f"{name}: {what}: {how}")
        if own is not None and "wire_bytes" in own and xla["wire_bytes"] is not None:
            fewer += own["wire_bytes"] < xla["wire_bytes"]
            moved[0] += own["wire_bytes"]
            moved[1] += xla["wire_bytes"]
    print(f"{len(other) - refused} programs judged, {refused} that JAX fails on not: " +
          (", ".join(f"{what} differ or are more in {count}" for what, count in sorted(counts.items())) or "all hold") +
          f"; fewer bytes in {fewer}; {moved[0]} bytes, XLA {moved[1]}")
    return 1 if set(counts) - {"XLA's values"} else 0


if __name__ == "__main__":
    sys.exit(main())
