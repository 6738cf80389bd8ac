#!/usr/bin/env python3
"""Shows that project_text.py finds each kind of forbidden text and nothing else."""
import unittest

import project_text


def faults(text):
    return [fault for _, fault in project_text.findings_of(text)]


class ProjectText(unittest.TestCase):
    def test_plain_text_is_clean(self):
        self.assertEqual(faults("see https://github.com/google/googletest and /usr/include\n"), [])
        self.assertEqual(faults('{"at": "/program/3"}\n'), [])

    def test_each_kind_is_found(self):
        for text in ("/" + "home/ada/x", "/" + "root/x", "/" + "work/main", "TO" + "DO: later", "FIX" + "ME", "10." + "1.2.3",
                     "--index" + "-url x", "https" + "://mirror.internal/x"):
            self.assertEqual(len(faults(text)), 1, text)

    def test_stray_space_is_found(self):
        self.assertEqual([number for number, _ in project_text.stray_space_in("a\nb \n")], [2])

    def test_the_line_is_named(self):
        self.assertEqual([number for number, _ in project_text.findings_of("a\nb\nTO" + "DO\n")], [3])


if __name__ == "__main__":
    unittest.main()
