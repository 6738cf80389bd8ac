#!/usr/bin/env python3
"""Counting arithmetic in HLO, reading our own, and the verdict of the comparison."""
import unittest

import compare
import hlo_arithmetic

ADD = """
%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %sum = f32[] add(%x, %y)
}
"""


def counted(body, others=""):
    return hlo_arithmetic.arithmetic_of(ADD + others + "\nENTRY %main (p: f32[4,8]) -> f32[4,8] {\n  %p = f32[4,8]{1,0} parameter(0)\n" + body + "\n}\n")


class Counting(unittest.TestCase):
    def test_elementwise_reductions_products_and_convolutions(self):
        self.assertEqual(counted("  ROOT %r = f32[4,8]{1,0} sine(%p)"), {"sine": 32})
        self.assertEqual(counted("  %z = f32[] constant(0)\n  ROOT %r = f32[4]{0} reduce(%p, %z), dimensions={1}, to_apply=%add"), {"reduce": 32})
        self.assertEqual(counted("  %q = f32[8,3]{1,0} parameter(1)\n  ROOT %r = f32[4,3]{1,0} dot(%p, %q), lhs_contracting_dims={1}, "
                                 "rhs_contracting_dims={0}"), {"dot": 96})
        self.assertEqual(counted("  %k = f32[3,2,6]{2,1,0} parameter(1)\n  %x = f32[1,2,10]{2,1,0} parameter(2)\n  ROOT %r = f32[1,6,8]{2,1,0} "
                                 "convolution(%x, %k), window={size=3}, dim_labels=bf0_0io->bf0"), {"convolution": 48 * 6})

    def test_what_is_fused_called_chosen_and_repeated_counts_inside(self):
        inner = "%f (a: f32[4,8]) -> f32[4,8] {\n  %a = f32[4,8]{1,0} parameter(0)\n  %n = f32[4,8]{1,0} negate(%a)\n  ROOT %e = f32[4,8]{1,0} exponential(%n)\n}\n"
        self.assertEqual(counted("  ROOT %r = f32[4,8]{1,0} fusion(%p), kind=kLoop, calls=%f", inner), {"exponential": 32, "negate": 32})
        loop = inner + ("%body (c: (s32[], f32[4,8])) -> (s32[], f32[4,8]) {\n  %c = (s32[], f32[4,8]) parameter(0)\n  %i = s32[] get-tuple-element(%c), index=0\n"
                        "  %one = s32[] constant(1)\n  %j = s32[] add(%i, %one)\n  %x = f32[4,8]{1,0} get-tuple-element(%c), index=1\n"
                        "  %y = f32[4,8]{1,0} call(%x), to_apply=%f\n  ROOT %t = (s32[], f32[4,8]) tuple(%j, %y)\n}\n")
        self.assertEqual(counted("  %zero = s32[] constant(0)\n  %t0 = (s32[], f32[4,8]) tuple(%zero, %p)\n  %w = (s32[], f32[4,8]) while(%t0), condition=%c, "
                                 'body=%body, backend_config={"known_trip_count":{"n":"5"}}\n  ROOT %r = f32[4,8]{1,0} get-tuple-element(%w), index=1', loop),
                         {"exponential": 160, "negate": 160})

    def test_moves_and_what_is_known_before_the_program_runs_do_not_count(self):
        self.assertEqual(counted("  %id = u32[] partition-id()\n  %two = u32[] constant(2)\n  %at = u32[] multiply(%id, %two)\n  %rows = f32[8,4]{1,0} "
                                 "transpose(%p), dimensions={1,0}\n  ROOT %r = f32[2,4]{1,0} dynamic-slice(%rows, %at, %two), dynamic_slice_sizes={2,4}"), {})

    def test_collectives_count_where_the_device_has_summed_nothing_up(self):
        over = "replica_groups={{0,1}}, to_apply=%add"
        self.assertEqual(counted(f"  ROOT %r = f32[4,8]{{1,0}} all-reduce(%p), {over}"), {"all-reduce": 32})
        self.assertEqual(counted(f"  %z = f32[] constant(0)\n  %s = f32[4]{{0}} reduce(%p, %z), dimensions={{1}}, to_apply=%add\n"
                                 f"  ROOT %r = f32[4]{{0}} all-reduce(%s), {over}"), {"reduce": 32})

    def test_sums_stay_sums_under_factors_that_are_known(self):
        over = "replica_groups={{0,1}}, to_apply=%add"
        summed = "  %z = f32[] constant(0)\n  %s = f32[4]{0} reduce(%p, %z), dimensions={1}, to_apply=%add\n  %c = f32[4]{0} broadcast(%z), dimensions={}\n"
        scaled = summed + f"  %m = f32[4]{{0}} multiply(%s, %c)\n  ROOT %r = f32[4]{{0}} all-reduce(%m), {over}"
        self.assertEqual(counted(scaled), {"reduce": 32, "multiply": 4})
        spread = summed + "  %b = f32[4,8]{1,0} broadcast(%s), dimensions={0}\n  %m = f32[4,8]{1,0} multiply(%p, %b)\n"
        self.assertEqual(counted(spread + f"  ROOT %r = f32[4,8]{{1,0}} all-reduce(%m), {over}"), {"reduce": 32, "multiply": 32, "all-reduce": 32})

    def test_a_maximum_of_sums_is_none_of_them(self):
        largest = "%max (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n  ROOT %m = f32[] maximum(%x, %y)\n}\n"
        self.assertEqual(counted("  %z = f32[] constant(0)\n  %s = f32[4]{0} reduce(%p, %z), dimensions={1}, to_apply=%add\n"
                                 "  ROOT %r = f32[4]{0} all-reduce(%s), replica_groups={{0,1}}, to_apply=%max", largest), {"reduce": 32, "all-reduce": 4})

    def test_what_combines_elements_counts_with_all_that_it_computes(self):
        window = "  %z = f32[] constant(0)\n  ROOT %r = f32[4,8]{{1,0}} reduce-window(%p, %z), window={{size=1x8 pad=0_0x7_0}}, to_apply=%{}"
        self.assertEqual(counted(window.format("add")), {"reduce-window": 32 * 8})
        log_of_sum = ("%both (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n  %e = f32[] exponential(%x)\n"
                      "  %f = f32[] exponential(%y)\n  %s = f32[] add(%e, %f)\n  ROOT %l = f32[] log(%s)\n}\n")
        self.assertEqual(counted(window.format("both"), log_of_sum), {"reduce-window": 32 * 8 * 4})
        rows = "  %z = f32[] constant(0)\n  ROOT %r = f32[4]{{0}} reduce(%p, %z), dimensions={{1}}, to_apply=%{}"
        self.assertEqual(counted(rows.format("both"), log_of_sum), {"reduce": 32 * 4})


EXPLAINED = """case/1: 1 processes × 8 devices
  /program/0       sin
      | 64 elements are computed on the busiest device: sin 64
  /program/1       jit
      | 24 elements are computed on the busiest device: add 8, dot_general 16
  96 bytes on the wire
case/2: 1 processes × 8 devices
  /program/1       jit
      | 0 elements are computed on the busiest device
  0 bytes on the wire
"""


class Verdict(unittest.TestCase):
    def test_ours_are_those_of_jitted_programs(self):
        self.assertEqual(compare.read_explanation(EXPLAINED), {"case/1": {"arithmetic": {"add": 8, "dot_general": 16}, "wire_bytes": 96},
                                                               "case/2": {"arithmetic": {}, "wire_bytes": 0}})

    def test_more_in_one_program_is_told_and_counted(self):
        xla = {"case/1": {"arithmetic": {"add": 8, "dot": 15}, "wire_bytes": 96}, "case/2": {"arithmetic": {}, "wire_bytes": None}, "case/3": {"error": "no"}}
        lines, more = compare.report(compare.read_explanation(EXPLAINED), xla)
        self.assertEqual(more, 1)
        self.assertIn("case/1: 24 elements on a device, XLA 23", lines[0])
        self.assertEqual(lines[-1], "2 programs compared, 1 not: more arithmetic in 1, by over a fiftieth in 1, more wire bytes in 0")
        lines, more = compare.report({"case/1": {"arithmetic": {"add": 8}, "wire_bytes": 97}}, {"case/1": xla["case/1"]})
        self.assertEqual((more, lines[0]), (1, "case/1: 97 wire bytes, XLA 96"))


if __name__ == "__main__":
    unittest.main()
