#!/usr/bin/env python3
"""Checks every tracked text file for what may not be in the project: one machine's paths, hosts, unfinished notes, stray bytes.

usage: project_text.py [ROOT]    exit 0: clean; 1: each finding with its file and line
"""
import pathlib
import re
import subprocess
import sys

HOSTS = {
    "github.com", "arxiv.org", "doi.org", "www.apache.org", "json.schemastore.org", "docs.jax.dev", "openxla.org", "ui.perfetto.dev",
    "cmake.org", "fmt.dev", "eigen.tuxfamily.org", "doc.qt.io", "www.sqlite.org", "sqlite.org", "keepachangelog.com", "semver.org",
    "docs.oasis-open.org", "raw.githubusercontent.com", "www.w3.org", "localhost", "127.0.0.1", "example.com", "no-color.org", "protobuf.dev",
}

# pattern -> what is wrong with it. Written so that this file does not match itself.
FORBIDDEN = {
    r"/(?:(?:home|Users)/(?!u/|you/|user/)|(?:work|workspace|mnt)/)[A-Za-z]": "a path of one machine",
    r"(?<![\w.}])/[r]oot/": "a path of one machine",
    r"\b(?:TO[D]O|FIX[M]E|XX[X])\b": "an unfinished note",
    r"--(?:extra-)?index-url|trusted-[h]ost": "a package registry's address",
    r"\b10\.\d+\.\d+\.\d+\b|\b192\.168\.\d+\.\d+\b": "a private network address",
}
URL = re.compile(r"https?://([A-Za-z0-9.-]+)")
TEXT = {".h", ".cpp", ".cu", ".py", ".md", ".txt", ".cmake", ".json", ".jsonl", ".proto", ".sql", ".in", ".sh", ".html", ".css", ""}


def findings_of(text):
    """(line number, what is wrong) for each finding in a file's text."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, fault in FORBIDDEN.items():
            match = re.search(pattern, line)
            if match:
                yield number, f"{fault}: '{match.group(0)}'"
        for host in URL.findall(line):
            if host not in HOSTS:
                yield number, f"a link to '{host}', which is not among the known public hosts of project_text.py"


def stray_space_in(text):
    """(line number, what is wrong) for each line that ends in white space."""
    for number, line in enumerate(text.splitlines(), 1):
        if line != line.rstrip():
            yield number, "white space at the end of the line"


def findings_in_file(path):
    """All findings; a golden file holds what another program printed, its spaces included."""
    text = path.read_text(encoding="utf-8")
    spaces = [] if "goldens" in path.parts else list(stray_space_in(text))
    return sorted([*findings_of(text), *spaces])


def tracked_files(root):
    names = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], check=True, capture_output=True, text=True).stdout
    return [root / name for name in names.split("\0") if name and pathlib.PurePath(name).suffix in TEXT]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    count = 0
    for path in tracked_files(root):
        if not path.is_file():
            continue
        for number, fault in findings_in_file(path):
            print(f"{path.relative_to(root)}:{number}: {fault}")
            count += 1
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
