#!/usr/bin/env python3
"""Counting in HLO, in each form of groups, and the verdict of the comparison."""
import unittest

import compare
import hlo_bytes


def counted(line, devices=8):
    return [(found.kind, found.wire_bytes) for found in hlo_bytes.collectives_of(line, devices)]


class HloBytes(unittest.TestCase):
    def test_groups_listed_as_iota_of_all_devices_and_of_mesh_axes_count_the_same(self):
        for groups in ("{{0,1},{2,3},{4,5},{6,7}}", "[4,2]<=[8]", "[4,2]<=[2,4]T(1,0)", "mesh['a'=4,'b'=2] {'b'}",
                       "mesh['a'=4,'b'=2], device_ids=([4,2]T(1,0)) {'b'}", "mesh['a'=8] {'a':(4)2}"):
            self.assertEqual(counted(f"  %r = f32[4,8]{{1,0}} all-reduce(%x), channel_id=1, replica_groups={groups}, to_apply=%add"),
                             [("all-reduce", 4 * 2 * 128)], groups)
        self.assertEqual(counted("%r = f32[4,8]{1,0} all-reduce(%x), replica_groups={}, to_apply=%add"), [("all-reduce", 14 * 128)])

    def test_each_kind_by_its_ring(self):
        groups = "replica_groups={{0,1,2,3}}"
        self.assertEqual(counted(f"%r = c64[8]{{0}} all-gather(%x), {groups}"), [("all-gather", 3 * 64)])
        self.assertEqual(counted(f"%r = f32[2]{{0}} reduce-scatter(%x), {groups}"), [("reduce-scatter", 12 * 8)])
        self.assertEqual(counted(f"%r = (s8[4]{{0}}, s8[4]{{0}}, s8[4]{{0}}, s8[4]{{0}}) all-to-all(%a, %b, %c, %d), {groups}"),
                         [("all-to-all", 3 * 16)])
        self.assertEqual(counted("%r = u32[3]{0} collective-permute(%x), source_target_pairs={{0,1},{1,2},{2,2}}"),
                         [("collective-permute", 24)])

    def test_what_moves_nothing_is_left_out_and_the_unknown_is_an_error(self):
        self.assertEqual(counted("%r = f32[4]{0} all-gather(%x), replica_groups={{0},{1}}"), [])
        self.assertEqual(counted("%r = f32[4]{0} add(%all-reduce.1, %y)"), [])
        with self.assertRaises(ValueError):
            counted("%r = f32[4]{0} all-gather(%x), replica_groups=somehow")
        with self.assertRaises(ValueError):
            counted("%r = (f32[4]{0}, f32[8]{0}) all-gather-start(%x), replica_groups={{0,1}}")


class Verdict(unittest.TestCase):
    def test_more_in_one_case_is_named(self):
        xla = {"f": {"wire_bytes": 800, "collectives": {"all-reduce": 1}}, "g": {"wire_bytes": 0, "collectives": {}}}
        lines, more = compare.report({"f": (400, "all-to-all,all-to-all"), "g": (0, "")}, xla)
        self.assertEqual(more, [])
        self.assertIn("0.500  2 all-to-all | all-reduce", lines[1])
        _, more = compare.report({"f": (400, "all-to-all"), "g": (8, "all-gather")}, xla)
        self.assertEqual(more, ["g: 1.0 wire bytes per device, XLA 0.0"])


if __name__ == "__main__":
    unittest.main()
