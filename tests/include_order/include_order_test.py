#!/usr/bin/env python3
"""Shows that include_order.py fails on each kind of violation, on made-up trees."""
import pathlib
import tempfile
import unittest

import include_order


def faults_of(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return list(include_order.violations(root))


class IncludeOrder(unittest.TestCase):
    def quiet(self, file, include):
        self.assertEqual(faults_of({file: f"#pragma once\n#include {include}\n"}), [])

    def fires(self, file, include, *words):
        faults = faults_of({file: f"#pragma once\n#include {include}\n"})
        self.assertEqual(len(faults), 1, faults)
        self.assertTrue(faults[0].startswith(f"{file}:2: "), faults)
        for word in words:
            self.assertIn(word, faults[0])

    def test_downwards_is_allowed(self):
        self.quiet("runtime/core/mesh.h", '"runtime/base/error.h"')
        self.quiet("runtime/control/ledger.h", '"traces/checks/evidence.h"')
        self.quiet("gui/views/timeline_view.cpp", '"traces/database.h"')
        self.quiet("scenarios/cli/run.cpp", "<shardlab/shardlab.h>")

    def test_own_library_and_foreign_headers_are_allowed(self):
        self.quiet("runtime/core/mesh.h", '"runtime/core/axes.h"')
        self.quiet("runtime/core/mesh.h", "<vector>")

    def test_upwards_fires(self):
        self.fires("runtime/base/text.h", '"runtime/core/mesh.h"', "runtime/base may not include runtime/core", "nothing of ours")
        self.fires("runtime/comm/launch.h", '"runtime/graph/graph.h"', "runtime/comm may not include runtime/graph")
        self.fires("runtime/exec/jit.h", "<shardlab/shardlab.h>", "runtime/exec may not include runtime/shardlab")

    def test_partitioning_names_no_op(self):
        self.fires("runtime/spmd/partition.cpp", '"runtime/ops/matmul.h"', "runtime/spmd may not include runtime/ops")

    def test_checks_depend_on_base_alone(self):
        self.fires("traces/checks/deadlock.cpp", '"runtime/comm/launch.h"', "it may include runtime/base")

    def test_virtual_devices_see_only_the_device_interface(self):
        self.quiet("virtualdev/cpu/cpu_device.h", '"runtime/exec/device.h"')
        self.fires("virtualdev/cpu/cpu_device.h", '"runtime/exec/jit.h"', "virtualdev may not include runtime/exec")

    def test_gui_never_sees_the_runtime(self):
        self.fires("gui/models/trace_data.cpp", '"runtime/core/mesh.h"', "gui/models may not include runtime/core")
        self.fires("gui/models/trace_data.cpp", '"gui/views/theme.h"', "gui/models may not include gui/views")
        self.fires("scenarios/cli/view.cpp", '"gui/app/main_window.h"', "scenarios may not include gui/app")

    def test_foreign_libraries_stay_in_their_place(self):
        self.fires("runtime/comm/observer.cpp", "<sqlite3.h>", "only traces")
        self.fires("traces/checks/list.cpp", "<QString>", "only gui/app")
        self.quiet("traces/database.cpp", "<sqlite3.h>")

    def test_unknown_folder_fires(self):
        self.assertIn("belongs to no library", faults_of({"runtime/misc/helper.h": "#pragma once\n"})[0])

    def test_the_order_has_no_cycle(self):
        done, rest = set(), dict(include_order.MAY_INCLUDE)
        while rest:
            ready = [name for name, below in rest.items() if all(b in done or b.endswith(".h") for b in below)]
            self.assertTrue(ready, f"a cycle among {sorted(rest)}")
            done.update(ready)
            for name in ready:
                del rest[name]


if __name__ == "__main__":
    unittest.main()
