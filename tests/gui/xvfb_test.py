#!/usr/bin/env python3
"""One pass of the window's tests with real windows under Xvfb: xvfb_test.py TEST_PROGRAM... (exit code 77: skipped, no Xvfb)."""
import os
import shutil
import subprocess
import sys

SKIPPED = 77


def main():
    server = shutil.which("Xvfb")
    if server is None:
        print("Xvfb is not installed (package xvfb): no pass with a real window")
        return SKIPPED
    read_end, write_end = os.pipe()
    xvfb = subprocess.Popen([server, "-displayfd", str(write_end), "-screen", "0", "1920x1200x24", "-nolisten", "tcp"],
                            pass_fds=[write_end], stderr=subprocess.DEVNULL)
    os.close(write_end)
    try:
        display = os.fdopen(read_end).readline().strip()
        if not display:
            print("Xvfb did not start: no pass with a real window")
            return SKIPPED
        environment = dict(os.environ, DISPLAY=f":{display}", SHARDLAB_TEST_PLATFORM="xcb")
        for program in sys.argv[1:]:
            done = subprocess.run([program], env=environment)
            if done.returncode != 0:
                return done.returncode
        return 0
    finally:
        xvfb.terminate()
        xvfb.wait()


if __name__ == "__main__":
    sys.exit(main())
