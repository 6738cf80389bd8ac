#!/usr/bin/env python3
"""Shows that doc_code.py finds blocks that are not in the program that they name."""
import unittest

import doc_code

PROGRAM = "int main() {\n  auto x = f(1);\n\n  g(x);\n}\n"
NAMED = "From `scenarios/programs/p.cpp`:\n\n```cpp\nauto x = f(1);\ng(x);\n```\n"


class DocCode(unittest.TestCase):
    def test_blocks_that_say_where_they_are_from(self):
        self.assertEqual(list(doc_code.blocks(NAMED)), [(4, "scenarios/programs/p.cpp", ["auto x = f(1);", "g(x);"])])
        self.assertEqual(list(doc_code.blocks("Some text:\n\n```cpp\nf();\n```\n")), [])
        self.assertEqual(list(doc_code.blocks(NAMED + "More text.\n\n```cpp\nf();\n```\n")), list(doc_code.blocks(NAMED)))

    def test_blocks_are_in_their_program_whatever_their_indentation(self):
        self.assertTrue(doc_code.is_in(["auto x = f(1);", "g(x);"], PROGRAM))
        self.assertFalse(doc_code.is_in(["auto x = f(2);", "g(x);"], PROGRAM))
        self.assertFalse(doc_code.is_in(["g(x);", "auto x = f(1);"], PROGRAM))


if __name__ == "__main__":
    unittest.main()
