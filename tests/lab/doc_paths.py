#!/usr/bin/env python3
"""Checks that every file that the documentation names or links to is in the tree, so that its tour stays true.

usage: doc_paths.py [ROOT]    exit 0: all there; 1: each name that leads nowhere, with its file and line
"""
import pathlib
import re
import sys

FOLDERS = "runtime|virtualdev|traces|gui|scenarios|tests|benchmarks|docs|cmake"
NAMED = re.compile(rf"`((?:{FOLDERS})(?:/[\w.-]+)+)`")
LINKED = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def dead_names(root, document):
    """(line number, name) for each path in the document that does not exist; `a/b.cpp` from the root, links from the document.

    Code between fences has no links.
    """
    is_code = False
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
        for name in NAMED.findall(line):
            if not (root / name).exists():
                yield number, name
        if line.startswith("```"):
            is_code = not is_code
        for name in [] if is_code else LINKED.findall(line):
            if not (document.parent / name).exists():
                yield number, name


def documents(root):
    return [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").rglob("*.md"))]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    faults = [f"{document.relative_to(root)}:{number}: there is no {name}"
              for document in documents(root) for number, name in dead_names(root, document)]
    print("\n".join(faults) if faults else "every file that is named is there")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
