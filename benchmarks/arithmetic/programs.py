"""Reads scenarios: one of a .json, one a line of a .jsonl."""
import json
import pathlib


def read(paths):
    documents = []
    for path in map(pathlib.Path, paths):
        text = path.read_text(encoding="utf-8")
        documents += [json.loads(line) for line in text.splitlines() if line.strip()] if path.suffix == ".jsonl" else [json.loads(text)]
    return documents
