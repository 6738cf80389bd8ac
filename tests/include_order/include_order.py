#!/usr/bin/env python3
"""Checks that the #include graph keeps the one-way order of the libraries (docs/architecture.md).

usage: include_order.py [ROOT]    exit 0: in order; 1: each violation with its file and line
"""
import pathlib
import re
import sys

RUNTIME_BELOW_EXEC = {"runtime/base", "runtime/core", "runtime/comm", "runtime/graph", "runtime/ops", "runtime/transform", "runtime/spmd"}
RUNTIME_LIBRARIES = RUNTIME_BELOW_EXEC | {"runtime/exec", "runtime/control"}
TRACES = {"traces/checks", "traces/importers", "traces/exporters", "traces"}
GUI = {"gui/models", "gui/views", "gui/app"}

# library folder -> the folders that its files may include, itself aside. The longest matching folder is a file's library.
MAY_INCLUDE = {
    "runtime/base": set(),
    "runtime/core": {"runtime/base"},
    "runtime/comm": {"runtime/base", "runtime/core"},
    "runtime/graph": {"runtime/base", "runtime/core"},
    "runtime/ops": {"runtime/base", "runtime/core", "runtime/graph"},
    "runtime/transform": {"runtime/base", "runtime/core", "runtime/graph", "runtime/ops"},
    "runtime/spmd": {"runtime/base", "runtime/core", "runtime/graph", "runtime/comm"},
    "runtime/exec": RUNTIME_BELOW_EXEC,
    "runtime/control": {"runtime/base", "runtime/core", "runtime/comm", "traces/checks"},
    "traces/checks": {"runtime/base"},
    "traces": {"runtime/base", "runtime/core", "traces/checks"},
    "traces/importers": {"runtime/base", "traces/checks", "traces"},
    "traces/exporters": {"runtime/base", "traces/checks", "traces"},
    "traces/recorder": {"runtime/base", "runtime/core", "runtime/comm"} | TRACES,
    "virtualdev": {"runtime/base", "runtime/core", "runtime/comm", "runtime/exec/device.h"},
    "virtualdev/cuda": RUNTIME_BELOW_EXEC | {"runtime/exec/backend.h", "runtime/exec/compute.h", "runtime/exec/epilogue.h", "runtime/exec/fuse.h", "runtime/exec/launch_aware.h", "runtime/exec/platform.h"},
    "virtualdev/platforms": {"runtime/exec/platform.h", "virtualdev/cuda"},
    "runtime/shardlab": RUNTIME_LIBRARIES | {"traces/checks", "traces/recorder", "virtualdev"},
    "scenarios": RUNTIME_LIBRARIES | TRACES | {"runtime/shardlab", "traces/recorder", "virtualdev"},
    "gui/models": {"runtime/base"} | TRACES,
    "gui/views": {"runtime/base", "gui/models"} | TRACES,
    "gui/app": {"runtime/base", "gui/models", "gui/views"} | TRACES,
}

# A foreign header -> the only libraries that may include it.
ONLY_IN = {
    r"<sqlite3\.h>": {"traces", "traces/importers", "traces/exporters", "traces/recorder"},
    r"<Q[A-Z]\w*>": GUI,
    r"<grpcpp/": {"runtime/control"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<][^">]+[">])')


def library_of(path):
    """The longest folder of MAY_INCLUDE that holds the path, or None."""
    folders = [folder for folder in MAY_INCLUDE if path.startswith(folder + "/")]
    return max(folders, key=len, default=None)


def included_path(spelling):
    """An #include's spelling as a path from the root; <shardlab/x.h> lives in runtime/shardlab."""
    name = spelling[1:-1]
    return "runtime/" + name if name.startswith("shardlab/") else name


def fault_of(library, spelling):
    """Why this library may not have this #include, or None."""
    for pattern, libraries in ONLY_IN.items():
        if re.match(pattern, spelling) and library not in libraries:
            return f"only {', '.join(sorted(libraries))} may include {spelling}"
    path = included_path(spelling)
    target = library_of(path)
    allowed = MAY_INCLUDE[library]
    if target is None or target == library or target in allowed or path in allowed:
        return None
    return f"{library} may not include {target} ({spelling}); it may include {', '.join(sorted(allowed)) or 'nothing of ours'}"


def source_files(root):
    for folder in ("runtime", "traces", "virtualdev", "scenarios", "gui"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in {".h", ".cpp", ".cu"}:
                yield path


def violations(root):
    """One line of text for each #include out of order."""
    for path in source_files(root):
        relative = path.relative_to(root).as_posix()
        library = library_of(relative)
        if library is None:
            yield f"{relative}: belongs to no library known to include_order.py"
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            fault = fault_of(library, match.group(1)) if match else None
            if fault:
                yield f"{relative}:{number}: {fault}"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    files = list(source_files(root))
    if not files:
        sys.exit(f"{root}: no sources found; run this in the repository's root")
    faults = list(violations(root))
    print("\n".join(faults) if faults else f"{len(files)} files keep the order")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
