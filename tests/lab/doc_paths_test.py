#!/usr/bin/env python3
"""Shows that doc_paths.py finds names and links that lead nowhere."""
import pathlib
import tempfile
import unittest

import doc_paths


class DocPaths(unittest.TestCase):
    def dead(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "docs").mkdir()
            (root / "docs/a.md").write_text(text, encoding="utf-8")
            return list(doc_paths.dead_names(root, root / "docs/a.md"))

    def test_what_exists_is_quiet(self):
        self.assertEqual(self.dead("`docs/a.md`, [here](a.md), [there](a.md#x), [web](https://github.com/x)\n"), [])

    def test_what_does_not_exist_is_named_with_its_line(self):
        self.assertEqual(self.dead("text\n`runtime/core/gone.h` and [gone](gone.md)\n"),
                         [(2, "runtime/core/gone.h"), (2, "gone.md")])

    def test_code_has_no_links(self):
        self.assertEqual(self.dead("```cpp\nauto f = [](const Array& x) { return x; };\n```\n[gone](gone.md)\n"), [(4, "gone.md")])

    def test_patterns_are_left_alone(self):
        self.assertEqual(self.dead("`runtime/ops/<op>.cpp`, `gui/views/<view>_view.{h,cpp}`\n"), [])


if __name__ == "__main__":
    unittest.main()
