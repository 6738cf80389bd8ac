#!/usr/bin/env python3
"""Shows one program, what shardlab makes of it, and what JAX and XLA do: where to begin with a program that judge.py names.

    look.py SHARDLAB [--python PYTHON_WITH_JAX] FILE.jsonl NAME FOLDER

Prints the program a statement a line, and XLA's collectives with their bytes (in loops of one turn). FOLDER gets program.json, explained.txt (`shardlab check --explain`),
and the module of the last jit as XLA has it, step by step: traced.mlir, simplified.mlir (what propagation sees), propagated.mlir,
partitioned.hlo and compiled.hlo.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent), str(HERE.parent / "arithmetic")]
import jax_python
import programs

JAX_SIDE = "--jax-side"
STEPS = {"traced.mlir": "shardy/{}/00.input_module.mlir", "simplified.mlir": "shardy/{}/01.before_propagation.mlir",
         "propagated.mlir": "shardy/{}/02.after_propagation.mlir"}


def told(value):
    return value if isinstance(value, str) else json.dumps(value)


def lines_of(statements, indent="  "):
    for each in statements:
        rest = {key: value for key, value in each.items() if key not in ("let", "op", "args")}
        yield indent + f"{told(each.get('let', ''))} = {each['op']}({', '.join(map(told, each.get('args', [])))})" + "".join(
            f" {key}={told(value)}" for key, value in rest.items())


def text_of(document):
    lines = [document["name"]] + [f"mesh {name}: {json.dumps(mesh)}" for name, mesh in document["meshes"].items()]
    for name, function in document.get("functions", {}).items():
        lines.append(f"{name}({', '.join(map(told, function.get('params', [])))}):")
        lines += lines_of(function.get("body", []))
        lines.append("  return " + ", ".join(map(told, function["results"])))
    return "\n".join(lines + ["program:"] + list(lines_of(document["program"])))


def jax_side(path):
    """Compiles the program; what XLA leaves of it is in the folder of XLA_FLAGS. Prints the last module's collectives."""
    from compiled_run import CompiledRun
    run = CompiledRun(programs.read([path])[0])
    run.run()
    for each in run.collectives:
        print(f"  {each.kind} {each.wire_bytes}")


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == [JAX_SIDE]:
        return jax_side(arguments[1])
    python = jax_python.taken_from(arguments)
    if len(arguments) != 4 or not python:
        sys.exit(__doc__ if python else "look.py: there is no Python with jax here: SHARDLAB_JAX_PYTHON or --python names one")
    shardlab, path, name, folder = arguments[0], arguments[1], arguments[2], pathlib.Path(arguments[3])
    document = next((each for each in programs.read([path]) if each["name"] == name), None)
    if document is None:
        sys.exit(f"look.py: {path} has no program {name}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.json").write_text(json.dumps(document), encoding="utf-8")
    print(text_of(document))
    explained = subprocess.run([shardlab, "check", "--explain", folder / "program.json"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    (folder / "explained.txt").write_text(explained.stdout + explained.stderr, encoding="utf-8")
    with tempfile.TemporaryDirectory() as dump:
        flags = f"--xla_dump_to={dump} --xla_dump_hlo_pass_re=shardy.*|.*spmd.* {os.environ.get('XLA_FLAGS', '')}"
        print("XLA's collectives:", flush=True)
        subprocess.run([python, __file__, JAX_SIDE, folder / "program.json"], env={**os.environ, "XLA_FLAGS": flags})
        modules = sorted(each.name for each in pathlib.Path(dump, "shardy").glob("module_*"))
        for to, where in STEPS.items() if modules else []:
            shutil.copy(pathlib.Path(dump, where.format(modules[-1])), folder / to)
        for to, pattern in {"partitioned.hlo": "after_spmd-partitioning*", "compiled.hlo": "cpu_after_optimizations"}.items() if modules else []:
            if found := sorted(pathlib.Path(dump).glob(f"{modules[-1]}.*{pattern}.txt")):
                shutil.copy(found[-1], folder / to)


if __name__ == "__main__":
    sys.exit(main())
