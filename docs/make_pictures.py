#!/usr/bin/env python3
"""Makes the pictures of docs/images from recorded scenarios: docs/make_pictures.py [BUILD] [--only NAME].

Every picture is a recorded run shown without a display: `shardlab replay … --trace`, then `shardlab view … --screenshot`. A sheet shows
every view of one trace; there is one of each kind of trace, light and dark, named in docs/pictures.md.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCENARIOS = ROOT / "scenarios"
SHEET = ["--view", "all", "--size", "2800x1960"]


def network():
    """Two layers on a 4 x 2 mesh: rows of the batch over a, features over b, a loss over all."""
    return {
        "shardlab": 1, "name": "network", "cluster": {"processes": 4, "devices": 2},
        "meshes": {"m": {"shape": [4, 2], "axes": ["a", "b"]}},
        "program": [
            {"let": "x", "op": "ones", "shape": [32, 64]},
            {"let": "x", "op": "device_put", "args": ["x"], "sharding": ["a", None]},
            {"let": "w1", "op": "ones", "shape": [64, 128]},
            {"let": "w1", "op": "device_put", "args": ["w1"], "sharding": [None, "b"]},
            {"let": "w2", "op": "ones", "shape": [128, 64]},
            {"let": "w2", "op": "device_put", "args": ["w2"], "sharding": ["b", None]},
            {"let": "h", "op": "matmul", "args": ["x", "w1"]},
            {"let": "h", "op": "relu", "args": ["h"]},
            {"let": "y", "op": "matmul", "args": ["h", "w2"]},
            {"let": "y", "op": "device_put", "args": ["y"], "sharding": [None, "b"]},
            {"let": "l", "op": "sum", "args": ["y"]},
        ],
        "expect": [{"array": "y", "shape": [32, 64]}],
    }


def pipeline():
    """Stages on rows of the mesh, each moved on to the next by a resharding."""
    program = [{"let": "x", "op": "ones", "shape": [16, 48]},
               {"let": "x", "op": "device_put", "args": ["x"], "sharding": ["stage", None]}]
    for _ in range(4):
        program += [{"let": "x", "op": "sin", "args": ["x"]},
                    {"let": "x", "op": "device_put", "args": ["x"], "sharding": [None, "stage"]},
                    {"let": "x", "op": "cos", "args": ["x"]},
                    {"let": "x", "op": "device_put", "args": ["x"], "sharding": ["stage", None]}]
    return {"shardlab": 1, "name": "pipeline", "cluster": {"processes": 4, "devices": 1},
            "meshes": {"m": {"shape": [4], "axes": ["stage"]}}, "program": program,
            "expect": [{"array": "x", "shape": [16, 48]}]}


def wide():
    """512 devices in 8 processes."""
    return {"shardlab": 1, "name": "512 devices", "cluster": {"processes": 8, "devices": 64},
            "meshes": {"m": {"shape": [32, 16], "axes": ["data", "model"]}},
            "program": [
                {"let": "x", "op": "ones", "shape": [512, 256]},
                {"let": "x", "op": "device_put", "args": ["x"], "sharding": ["data", "model"]},
                {"let": "w", "op": "ones", "shape": [256, 128]},
                {"let": "w", "op": "device_put", "args": ["w"], "sharding": ["model", None]},
                {"let": "y", "op": "matmul", "args": ["x", "w"]},
                {"let": "y", "op": "device_put", "args": ["y"], "sharding": [["data", "model"], None]},
                {"let": "s", "op": "sum", "args": ["y"]}],
            "expect": [{"array": "y", "shape": [512, 128]}]}


# A training step of four processes on two hosts; a host is a name of its own for its processes, which only root may give.
HOSTS = ["run", "-n", "4", "-d", "2", "--", "sh", "-c",
         "case $SHARDLAB_PROCESS_INDEX in 0|1) host=node-a;; *) host=node-b;; esac; "
         "exec unshare --uts sh -c 'hostname '$host' && exec \"$0\" 3' {bin}/train_step"]

# trace -> a scenario, a document, or a command of `shardlab`
TRACES = {
    "toy": "corpus/toy.json",
    "network": network,
    "pipeline": pipeline,
    "wide": wide,
    "swapped": "corpus/deadlock_operands_swapped.json",
    "order": "corpus/order_swapped.json",
    "device_put": "corpus/deadlock_device_put_on_process_0.json",
    "circle": "diagnoses/deadlock.json",
    "program": "diagnoses/program-mismatch.json",
    "predicate": "diagnoses/input-divergence.while_loop.json",
    "stuck": "diagnoses/process-stuck.json",
    "killed": "corpus/killed.json",
    "exited": "corpus/exited.json",
    "raises": "corpus/process_raises.json",
    "differs": "corpus/shard_map_differs.json",
    "hosts": HOSTS,
    "torn": None,  # the network, cut off
}

# trace -> what its sheet shows, and the trace that it is compared with
SHEETS = {
    "toy": ("the toy program", "network"),
    "network": ("the 4 × 2 network", "pipeline"),
    "pipeline": ("the pipeline", "network"),
    "wide": ("512 devices", "network"),
    "hosts": ("two hosts", "network"),
    "torn": ("a torn trace", "network"),
    "swapped": ("program-mismatch: operands swapped on one process", "toy"),
    "order": ("order-mismatch: two calls swapped", "swapped"),
    "device_put": ("missing-participant: device_put on process 0 alone", "toy"),
    "circle": ("deadlock: three processes in a circle", "device_put"),
    "program": ("program-mismatch", "toy"),
    "predicate": ("input-divergence: a loop parts ways", "program"),
    "differs": ("program-mismatch: per-device code differs", "toy"),
    "stuck": ("process-stuck", "toy"),
    "killed": ("process-killed", "toy"),
    "exited": ("process-exited", "toy"),
    "raises": ("process-raised", "toy"),
}

# picture -> trace, arguments of the window
PICTURES = {
    "workbench": ("swapped", []),
    "workbench_dark": ("swapped", ["--theme", "dark"]),
    "toy": ("toy", []),
    "network": ("network", ["--select", "collective:1"]),
    "network_dark": ("network", ["--theme", "dark"]),
    "pipeline": ("pipeline", ["--select", "collective:1"]),
    "order": ("order", []),
    "device_put": ("device_put", []),
    "differs": ("differs", []),
    "killed": ("killed", []),
    "exited": ("exited", ["--theme", "dark"]),
    "raises": ("raises", ["--theme", "dark"]),
    "wide": ("wide", []),
    "hosts": ("hosts", []),
    "torn": ("torn", []),
    "torn_dark": ("torn", ["--theme", "dark"]),
    **{f"{name}_dark": (name, ["--theme", "dark"]) for name in ("toy", "order", "device_put", "killed", "differs", "wide", "hosts")},
    "pipeline_dark": ("pipeline", ["--select", "collective:1", "--theme", "dark"]),
    **{f"{name}_light": (name, []) for name in ("exited", "raises")},
    "timeline": ("network", ["--view", "timeline", "--size", "1400x560"]),
    "timeline_wide": ("wide", ["--view", "timeline", "--size", "1400x560", "--theme", "dark"]),
    "sharding": ("network", ["--view", "sharding", "--size", "1200x620"]),
    "sharding_wide": ("wide", ["--view", "sharding", "--size", "1400x800"]),
    "touched": ("network", ["--array", "h", "--select", "device:3"]),
    "touched_dark": ("network", ["--array", "h", "--select", "device:3", "--theme", "dark"]),
    "reshard": ("network", ["--view", "reshard", "--select", "collective:4", "--size", "1400x520"]),
    "diagnoses": ("swapped", ["--view", "diagnoses", "--size", "1200x620"]),
    "calls": ("order", ["--view", "sequence", "--size", "1200x420"]),
    "waits": ("device_put", ["--view", "waits", "--size", "1200x480"]),
    "waits_dark": ("killed", ["--view", "waits", "--size", "1200x480", "--theme", "dark"]),
    "traffic": ("network", ["--view", "matrix", "--size", "1200x480"]),
    "traffic_dark": ("wide", ["--view", "matrix", "--size", "1200x480", "--theme", "dark"]),
    "overview": ("hosts", ["--view", "overview", "--size", "1200x520"]),
    "overview_dark": ("wide", ["--view", "overview", "--size", "1200x520", "--theme", "dark"]),
    "callsites": ("hosts", ["--view", "callsites", "--size", "1200x480"]),
    "callsites_dark": ("swapped", ["--view", "callsites", "--size", "1200x480", "--theme", "dark"]),
    "path": ("hosts", ["--view", "path", "--size", "1200x480"]),
    "memory": ("network", ["--view", "memory", "--size", "1200x420"]),
    "memory_dark": ("wide", ["--view", "memory", "--size", "1200x420", "--theme", "dark"]),
    "events": ("network", ["--view", "events", "--size", "1200x480"]),
    "stats": ("hosts", ["--view", "stats", "--size", "1200x420"]),
    "predicted": ("network", ["--view", "predicted", "--size", "1200x320"]),
    "compare": ("network", ["--view", "compare", "--compare", "pipeline", "--size", "1300x640"]),
    "run": ("toy", ["--view", "run", "--size", "1200x520"]),
    "sql": ("toy", ["--view", "sql", "--size", "1200x420"]),
    **{f"sheets/{name}{suffix}": (name, [*SHEET, "--compare", other, *theme])
       for name, (_, other) in SHEETS.items() for suffix, theme in (("", []), ("_dark", ["--theme", "dark"]))},
}


def page():
    """docs/pictures.md: what there is to see."""
    rows = [f"| {what} | [light](images/sheets/{name}.png) | [dark](images/sheets/{name}_dark.png) |" for name, (what, _) in SHEETS.items()]
    return "\n".join(["# Pictures", "", "Every view of every kind of trace, as `docs/make_pictures.py` recorded and painted them:", "",
                      "| trace | | |", "|---|---|---|", *rows, ""])


def record(shardlab, name, folder):
    trace = folder / f"{name}.db"
    source = TRACES[name]
    if source is None:
        whole = folder / "network.db"
        data = whole.read_bytes()
        trace.write_bytes(data[: len(data) * 7 // 10])
        return
    if isinstance(source, list):
        words = [word.format(bin=shardlab.parent) if "{bin}" in word else word for word in source]
        done = subprocess.run([shardlab, words[0], "--trace", trace, *words[1:]], cwd=folder, capture_output=True, text=True)
        if not trace.exists():
            raise SystemExit(f"{name}: no trace\n{done.stdout}{done.stderr}")
        return
    if callable(source):
        scenario = folder / f"{name}.json"
        scenario.write_text(json.dumps(source()))
    else:
        scenario = SCENARIOS / source
    traces = folder / f"{name}.traces"  # of a document with a matrix the first
    done = subprocess.run([shardlab, "replay", scenario, "--run", "spawned", "--trace-dir", traces, "--quiet"], cwd=folder, capture_output=True, text=True)
    made = sorted(traces.glob("*.db"))
    if not made:
        raise SystemExit(f"{name}: no trace\n{done.stdout}{done.stderr}")
    made[0].rename(trace)
    shutil.rmtree(traces)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", nargs="?", default=ROOT / "build" / "release", type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--out", default=ROOT / "docs" / "images", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the traces")
    options = parser.parse_args()
    shardlab = options.build.resolve() / "bin" / "shardlab"
    wanted = {name: PICTURES[name] for name in options.only} or PICTURES
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        needed = {trace for trace, _ in wanted.values()} | {word for _, words in wanted.values() for word in words} | {"network"}
        for name in TRACES:
            if name in needed and not (folder / f"{name}.db").exists():
                record(shardlab, name, folder)
        for name, (trace, arguments) in wanted.items():
            arguments = [str(folder / f"{a}.db") if a in TRACES and previous == "--compare" else a
                         for previous, a in zip([""] + arguments, arguments)]
            out = options.out / f"{name}.png"
            out.parent.mkdir(parents=True, exist_ok=True)
            # From the traces' folder, so that no picture shows where it was made.
            arguments = [a.replace(str(folder) + "/", "") for a in arguments]
            subprocess.run([shardlab.parent / "shardlab-view", f"{trace}.db", "--screenshot", out.resolve(), *arguments],
                           cwd=folder, check=True)
            print(out.relative_to(ROOT) if out.is_relative_to(ROOT) else out)
    (ROOT / "docs" / "pictures.md").write_text(page())


if __name__ == "__main__":
    main()
