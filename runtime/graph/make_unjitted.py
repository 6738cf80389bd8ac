#!/usr/bin/env python3
"""Writes unjitted.inc: the functions that JAX runs op by op where nobody jits what calls them (unjitted.h).

    make_unjitted.py OPS.md JAX_SCENARIOS_DIR > unjitted.inc        (docs/ops.md, tests/scenarios; needs jax)

They are those of jax.lax, and those that are compiled as several programs when they are called alone. Each is tried with some arguments that
may suit it; what takes none of these is told by where it is defined.
"""
import importlib
import logging
import os
import pathlib
import re
import sys

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_NUM_CPU_DEVICES"] = "2"
import jax
import jax.numpy as jnp
import numpy as np

# Wrappers that do little before they call a jitted function (other arguments of where and select are those of another one), and what has no
# operands.
NOT_THESE = {"all", "any", "approx_max_k", "approx_min_k", "empty", "indices", "numpy.select", "ones", "select", "stop_gradient", "where", "zeros"}
# Programs that convert or reshape one argument, before a function that is jitted.
ON_THE_WAY = {"atleast_1d", "convert_element_type", "ravel", "_squeeze"}
OF_LAX = {"bessel_i0e", "bessel_i1e", "digamma", "erf", "erf_inv", "erfc", "igamma", "igammac", "lgamma", "logistic", "polygamma",
          "regularized_incomplete_beta", "zeta"}
ACTIVATIONS = {"gelu", "log_softmax", "relu", "softmax", "softplus"}


def tries():
    x, y = (jnp.asarray(np.sin(np.arange(64.0) * step).astype("float32").reshape(8, 8) * 0.4 + 0.5) for step in (0.37, 0.47))
    i = jnp.asarray((np.arange(64) * 7 % 5).astype("int32").reshape(8, 8))
    key = jax.random.key(0)
    yield from ((x,), (x, y), (x, y, x * 0.9), (x, y, x * 0.9, x + 1), (i,), (i, i + 1), (x[0],), (x[0], y[0]), (x[0], y[0], x[1]), (i[0],))
    yield from ((x, i[0]), (x, 0), (x, 2), (x, 0, 1), (x, (8, 8)), (x, (0,), (1,)), (key, x), (key, (8, 8)), (key,), (key, x, (8, 8)))
    yield from (([x, y],), (x > 0.5,), (x > 0.5, x, y))


def programs_of(function, compiled):
    """The names of what is compiled where it is called with the first arguments that it takes; None: it takes none of them."""
    for arguments in tries():
        jax.clear_caches()
        compiled.clear()
        try:
            function(*arguments)
        except Exception:  # whatever a function says of arguments that are not for it
            continue
        return list(compiled)
    return None


def is_unjitted(name, function, compiled):
    if name in NOT_THESE or any(hasattr(each, "lower") for each in (function, getattr(function, "__wrapped__", None))):
        return False
    if type(function).__name__ in ("PjitFunction", "ufunc"):
        return False
    if function.__module__.startswith(("jax.lax", "jax._src.lax")):
        return True
    programs = programs_of(function, compiled)
    if programs is None:
        return False
    steps = [each for each in programs if each not in ON_THE_WAY]
    return len(steps) > 1 or ("scipy" in function.__module__ and len(programs) == 1 and programs[0] in OF_LAX)


def takers_of(jaxpr, taken):
    return [equation for equation in jaxpr.eqns if any(any(v is given for given in taken) for v in equation.invars)]


def is_traced_apart(function):
    for arguments in tries():
        try:
            jaxpr = jax.make_jaxpr(lambda *given: function(*given))(*arguments).jaxpr
        except Exception:  # whatever a function says of arguments that are not for it
            continue
        if takers := takers_of(jaxpr, jaxpr.invars):
            return {each.primitive.name for each in takers} == {"jit"}
    return False


def is_inlined(function):
    """Whether nothing is cut that comes of tangents that are cut, along either dimension, of values that are not."""
    mesh = jax.make_mesh((2,), ("a",), axis_types=(jax.sharding.AxisType.Explicit,))
    found = []
    for spec in (("a", None), (None, "a")):
        for arguments in tries():
            if any(not hasattr(each, "dtype") or each.dtype != "float32" or each.ndim != 2 for each in arguments):
                continue
            cut = [jax.device_put(each, jax.NamedSharding(mesh, jax.P(*spec))) for each in arguments]
            whole = [jax.device_put(each, jax.NamedSharding(mesh, jax.P())) for each in arguments]
            try:
                jaxpr = jax.make_jaxpr(lambda primals, tangents: jax.jvp(function, primals, tangents))(whole, cut).jaxpr
            except Exception:  # as above
                continue
            takers = takers_of(jaxpr, jaxpr.invars[len(arguments):])
            found.append(takers and not any("a" in str(out.aval.sharding.spec) for each in takers for out in each.outvars))
            break
    return bool(found) and all(found) and not is_traced_apart(function)


class Compiled(logging.Handler):
    def __init__(self, names):
        super().__init__()
        self.names = names

    def emit(self, record):
        if found := re.match(r"Finished XLA compilation of (?:jit\()?([^)]*?)\)? in", record.getMessage()):
            self.names.append(found[1])


def main():
    kinds = {"--traced-apart": is_traced_apart, "--inlined": is_inlined}
    kind = kinds.get(" ".join(sys.argv[3:]))
    if len(sys.argv) != 3 + (kind is not None):
        sys.exit(__doc__)
    sys.path.append(sys.argv[2])
    scenarios = importlib.import_module("jax_scenarios")
    jax.config.update("jax_log_compiles", True)
    compiled = []
    logger = logging.getLogger("jax")
    logger.setLevel(logging.DEBUG)
    logger.handlers, logger.propagate = [Compiled(compiled)], False
    found = set()
    for name in re.findall(r"^\| `?([a-z0-9_.]+)`?(?:, [^|]*)? \|", pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), re.M):
        try:
            function = getattr(jax.nn, name) if name in ACTIVATIONS else scenarios.named(name)
        except AttributeError:  # it is no function of JAX's
            continue
        if kind(function) if kind else is_unjitted(name, function, compiled):
            found.add(name)
    print("\n".join(f'    "{name}",' for name in sorted(found)))


if __name__ == "__main__":
    main()
