#!/usr/bin/env python3
"""Lists the public functions of JAX that have no function here, module by module.

    jax_names.py        (needs jax; run in the source tree)
A name counts as here where a public header declares it."""
import importlib, inspect, pathlib, re

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = """jax.numpy jax.numpy.linalg jax.numpy.fft jax.lax jax.lax.linalg jax.nn jax.nn.initializers jax.random jax.image jax.ops jax.tree
jax.scipy.special jax.scipy.linalg jax.scipy.signal jax.scipy.stats jax.scipy.fft jax.scipy.ndimage jax.scipy.integrate
jax.scipy.interpolate jax.scipy.cluster.vq jax.scipy.optimize jax.scipy.sparse.linalg jax""".split()
# What they are for does not exist in C++, or is another way of saying what is here.
LEFT_OUT = set("""array_repr array_str array_equal_p astype asarray_chkfinite fromfile frombuffer fromfunction fromiter fromstring from_dlpack
get_printoptions set_printoptions printoptions load save savez savetxt vectorize frompyfunc isscalar issubdtype iterable einsum_path
result_type promote_types can_cast finfo iinfo ndim shape size dtype ufunc""".split())


def names_here():
    names = set()
    umbrella = (ROOT / "runtime/shardlab/shardlab.h").read_text()
    for header in re.findall(r'#include "(.*)"', umbrella):
        text = (ROOT / header).read_text()
        names |= set(re.findall(r"\b([A-Za-z_][A-Za-z_0-9]*)\s*\(", text))
        names |= set(re.findall(r"^SHARDLAB_[A-Z_]+\((\w+)", text, re.M))
        names |= set(re.findall(r"\b(?:constexpr|inline)[^;=(]*\b(\w+)\s*[={]", text))
    return names | {name.rstrip("_") for name in names}


def main():
    here = names_here()
    for module in MODULES:
        try: found = importlib.import_module(module)
        except ImportError: continue
        missing = []
        for name, what in sorted(vars(found).items()):
            if name.startswith("_") or inspect.isclass(what) or inspect.ismodule(what) or not callable(what): continue
            if name.lower() not in here and name not in here and name not in LEFT_OUT: missing.append(name)
        print(f"{module}: {len(missing)} {' '.join(missing)}")


main()
