"""Finds an interpreter with JAX, the other side of the comparisons; nothing in the project needs one."""
import os
import subprocess
import sys


def find(asked=None):
    """The interpreter asked for, else $SHARDLAB_JAX_PYTHON or this one, as far as it can import jax; None where none can."""
    for python in [asked] if asked else [os.environ.get("SHARDLAB_JAX_PYTHON"), sys.executable]:
        if python and subprocess.run([python, "-c", "import jax"], capture_output=True, check=False).returncode == 0:
            return python
    if asked:
        sys.exit(f"{asked} cannot import jax")
    return None


def taken_from(arguments):
    """Removes `--python PYTHON` from the arguments; that interpreter, or the one that find() finds."""
    asked = None
    if "--python" in arguments:
        at = arguments.index("--python")
        asked = arguments[at + 1]
        del arguments[at : at + 2]
    return find(asked)
