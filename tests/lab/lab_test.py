#!/usr/bin/env python3
"""Runs ./lab with stand-ins for dpkg-query, apt-get, sudo and id, to see what it does on machines that lack packages."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOG_ARGUMENTS = 'printf "%s " "$(basename "$0")" "$@" >> "$LOG"; printf "\\n" >> "$LOG"\n'


class Machine:
    """A folder of stand-in commands at the front of PATH, and the log of what was called."""

    def __init__(self, folder, installed, uid, sudo_works):
        self.folder = pathlib.Path(folder)
        self.log = self.folder / "log"
        self.log.touch()
        self.command("dpkg-query", f'case " {installed} " in *" ${{@: -1}} "*|*" all "*) echo installed;; *) exit 1;; esac\n')
        self.command("id", f"echo {uid}\n")
        self.command("apt-get", LOG_ARGUMENTS)
        self.command("sudo", LOG_ARGUMENTS + f'[[ $1 == -n ]] && exit {0 if sudo_works else 1}\n"$@"\n')
        self.command("cmake", LOG_ARGUMENTS + "exit 7\n")

    def command(self, name, body):
        path = self.folder / name
        path.write_text("#!/usr/bin/env bash\n" + body, encoding="utf-8")
        path.chmod(0o755)

    def lab(self, *arguments):
        environment = dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}", LOG=str(self.log))
        return subprocess.run([ROOT / "lab", *arguments], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              check=False, timeout=60)

    def calls(self):
        return self.log.read_text(encoding="utf-8")


class Lab(unittest.TestCase):
    def machine(self, installed="", uid=1000, sudo_works=False):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Machine(folder.name, installed, uid, sudo_works)

    def test_help_lists_only_what_has_content(self):
        text = self.machine().lab("--help").stdout
        self.assertIn("./lab COMMAND", text)
        self.assertEqual("bench " in text, (ROOT / "benchmarks/CMakeLists.txt").exists())
        self.assertEqual("soak " in text, (ROOT / "benchmarks/soak").exists())

    def test_unknown_command_is_named(self):
        result = self.machine().lab("tset")
        self.assertEqual(result.returncode, 1)
        self.assertIn("unknown command 'tset'", result.stderr)

    def test_without_rights_it_prints_the_line_and_stops(self):
        machine = self.machine()
        result = machine.lab("test")
        self.assertEqual(result.returncode, 1)
        self.assertIn("sudo apt-get update && sudo apt-get install -y --no-install-recommends g++ cmake ninja-build", result.stderr)
        self.assertNotIn("apt-get", machine.calls())
        self.assertNotIn("cmake", machine.calls())

    def test_root_installs_what_is_missing_only(self):
        machine = self.machine(installed="g++ cmake ninja-build", uid=0)
        machine.lab("build")
        self.assertIn("apt-get update", machine.calls())
        self.assertIn("apt-get install -y -q --no-install-recommends pkg-config ccache", machine.calls())
        self.assertNotIn("libgtest-dev", machine.calls())

    def test_sudo_without_a_password_installs(self):
        machine = self.machine(sudo_works=True)
        machine.lab("test")
        self.assertIn("sudo apt-get update", machine.calls())
        self.assertIn("libgtest-dev", machine.calls())

    def test_with_everything_there_it_configures_and_passes_the_failure_on(self):
        machine = self.machine(installed="all")
        result = machine.lab("test")
        self.assertEqual(result.returncode, 7)
        self.assertNotIn("apt-get", machine.calls())
        self.assertIn("cmake --preset release -DSHARDLAB_UNITY=ON -DSHARDLAB_BUILD_TESTS=ON", machine.calls())


if __name__ == "__main__":
    unittest.main()
