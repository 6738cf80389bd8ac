#!/usr/bin/env python3
"""Checks that code in the documentation is code of the programs that it names, which the tests compile and run.

usage: doc_code.py [ROOT]    exit 0: all of it is; 1: each block that is not, with its file and line

A block that follows a paragraph with "`scenarios/programs/NAME.cpp`:" at its end, and those that follow it at once, must occur there
line by line, whatever their indentation.
"""
import pathlib
import re
import sys

import doc_paths

NAMES = re.compile(r"`(scenarios/programs/[\w.-]+)`:$")


def blocks(text):
    """(line number, named program, lines) of each block of C++ that says where it is from."""
    program, lines, first = None, None, 0
    for number, line in enumerate(text.splitlines(), 1):
        if lines is not None:
            if line == "```":
                if program:
                    yield first, program, lines
                lines = None
            else:
                lines.append(line)
        elif line == "```cpp":
            lines, first = [], number + 1
        elif named := NAMES.search(line):
            program = named[1]
        elif line:
            program = None


def is_in(lines, program):
    bare = [line.strip() for line in lines if line.strip()]
    all_lines = [line.strip() for line in program.splitlines() if line.strip()]
    return any(all_lines[i:i + len(bare)] == bare for i in range(len(all_lines) - len(bare) + 1))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    faults, found = [], 0
    for document in doc_paths.documents(root):
        for number, program, lines in blocks(document.read_text(encoding="utf-8")):
            found += 1
            if not is_in(lines, (root / program).read_text(encoding="utf-8")):
                faults.append(f"{document.relative_to(root)}:{number}: this is not in {program}")
    print("\n".join(faults) if faults else f"{found} blocks are as in their programs")
    sys.exit(1 if faults or not found else 0)


if __name__ == "__main__":
    main()
