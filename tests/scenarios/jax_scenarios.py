"""Runs scenarios under JAX: one process, the mesh "m" and perhaps others of its devices, statements as docs/scenarios.md has them."""
import contextlib, functools
import jax, jax.ad_checkpoint, jax.numpy as jnp, jax.ops, jax.scipy.fft, jax.scipy.linalg, jax.scipy.ndimage, jax.scipy.signal, jax.scipy.special, jax.scipy.stats, numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P, auto_axes, explicit_axes, reshard

plain = lambda x: tuple(map(plain, x)) if isinstance(x, list) else x
one_or_all = lambda x: x[0] if len(x) == 1 else tuple(x)
spec_of = lambda spec: P(*[P.UNCONSTRAINED if e == "UNCONSTRAINED" else plain(e) for e in spec])


SCATTERS = {"scatter": "set", "scatter_add": "add", "scatter_mul": "multiply", "scatter_min": "min", "scatter_max": "max"}


def named(name):
    """JAX's function of an op of this name, wherever JAX keeps it."""
    name = {"mul": "multiply", "sub": "subtract", "div": "divide"}.get(name, name)
    for place in (jnp, jax.scipy, jax.scipy.special, jax.nn, lax, jax.ops, jax):
        with contextlib.suppress(AttributeError): return functools.reduce(getattr, name.split("."), place)
    raise AttributeError(f"JAX has no function {name}")


def convolution(args, at):
    rank = args[0].ndim - 2
    padding = [tuple(p) for p in at["pads"]] if "pads" in at else at.get("padding", "VALID")
    more = {k: plain(at[k]) for k in ("lhs_dilation", "rhs_dilation", "dimension_numbers", "feature_group_count", "batch_group_count") if k in at}
    return lax.conv_general_dilated(*args, at.get("strides", [1] * rank), padding, **more)


def windows(x, reducer, window_dimensions, window_strides=None, padding=None, pads=None, **dilations):
    start, combine = {"sum": (0, lax.add), "prod": (1, lax.mul), "max": (-np.inf, lax.max), "min": (np.inf, lax.min)}[reducer]
    where = [tuple(p) for p in pads] if pads else padding or "VALID"
    return lax.reduce_window(x, np.array(start, x.dtype), combine, tuple(window_dimensions), tuple(window_strides or [1] * x.ndim), where, **{k: plain(v) for k, v in dilations.items()})


def looked_up(x, indices, slice_sizes, **numbers):
    return lax.gather(x, indices, lax.GatherDimensionNumbers(**{k: plain(v) for k, v in numbers.items()}), plain(slice_sizes), mode="clip")


def scattered(name, x, indices, updates, update_window_dims=None, collapsed_slice_dims=(), start_index_map=()):
    """Of rows, unless dimension numbers tell of other windows."""
    if update_window_dims is None: return getattr(x.at[indices], {"scatter": "set", "scatter_add": "add"}[name])(updates)
    return getattr(lax, name)(x, indices, updates, lax.ScatterDimensionNumbers(plain(update_window_dims), plain(collapsed_slice_dims), plain(start_index_map)))


def scanned(body, args, consts, carried, length, reverse):
    """What a scan gives, one after the other: what is carried, then what is stacked up."""
    fixed, start, rows = args[:consts], args[consts : consts + carried], args[consts + carried :]
    def step(carry, row):
        got = body(*fixed, *carry, *row)
        got = got if isinstance(got, tuple) else (got,)
        return got[:carried], got[carried:]
    carry, stacked = jax.lax.scan(step, tuple(start), tuple(rows), length=length, reverse=reverse)
    return one_or_all([*carry, *stacked])


NAMED_OPERANDS = ("where", "weights", "b")  # attributes that name a value


class Run:
    """The names that a document binds, once run() has run. Who wants to see what a `jit` compiles overrides compiled()."""

    def __init__(self, document):
        self.document, self.names = document, {}
        m = document["meshes"]["m"]
        self.is_typed = "Explicit" in m.get("axis_types", [])
        self.devices = jax.devices()[: int(np.prod(m["shape"]))]
        self.meshes = {name: self.mesh_of(mesh) for name, mesh in document["meshes"].items()}
        self.mesh = self.meshes["m"]

    def mesh_of(self, m):
        kinds = tuple(getattr(AxisType, t) for t in m.get("axis_types", ["Auto"] * len(m["axes"])))
        ordered = [self.devices[i] for i in m["devices"]] if "devices" in m else self.devices
        return Mesh(np.array(ordered).reshape(m["shape"]), tuple(m["axes"]), axis_types=kinds)

    def run(self):
        config = self.document.get("config", {})
        with contextlib.ExitStack() as flags:
            if "enable_x64" in config: flags.enter_context(jax.enable_x64(config["enable_x64"]))
            if "threefry_partitionable" in config: flags.enter_context(jax.threefry_partitionable(config["threefry_partitionable"]))
            if self.is_typed: flags.enter_context(jax.set_mesh(self.mesh))
            for s in self.document["program"]: self.statement(s, self.names, True)

    def sharding(self, spec):
        if isinstance(spec, dict): return NamedSharding(self.meshes[spec.get("mesh", "m")], spec_of(spec["spec"]))
        return NamedSharding(self.mesh, spec_of(spec))

    def function(self, name):
        f = self.document["functions"][name]
        def call(*args):
            names = dict(zip(f["params"], args))
            for s in f["body"]: self.statement(s, names, False)
            return one_or_all([names[r] for r in f["results"]])
        return call

    def statement(self, s, names, is_outer):
        at = {k: names[v] if k in NAMED_OPERANDS and isinstance(v, str) else v for k, v in s.items() if k not in ("let", "op", "args")}
        args = [names[a] if isinstance(a, str) else a for a in s["args"]]
        value = self.apply(s["op"], args, at, is_outer)
        names.update(zip(s["let"], value) if isinstance(s["let"], list) else [(s["let"], value)])

    def compiled(self, function, args, options): return jax.jit(function, **options)(*args)

    def apply(self, name, args, at, is_outer):
        call = lambda key="fn": self.function(at[key])
        axis = plain(at.get("axis_name"))
        if name == "jit":
            options = dict(out_shardings=one_or_all([self.sharding(o) for o in at["out_shardings"]])) if "out_shardings" in at else {}
            if "in_shardings" in at: options["in_shardings"] = tuple(None if i is None else self.sharding(i) for i in at["in_shardings"])
            return (self.compiled if is_outer else lambda f, a, o: jax.jit(f, **o)(*a))(call(), args, options)
        if name in ("grad", "value_and_grad"):
            got = getattr(jax, name)(call(), argnums=tuple(at.get("argnums", [0])))(*args)
            return (got[0], *got[1]) if name == "value_and_grad" else one_or_all(got)
        if name == "jvp":
            count = len(self.document["functions"][at["fn"]]["params"])
            return tuple(jax.tree.leaves(jax.jvp(call(), tuple(args[:count]), tuple(args[count:]))))
        if name == "vjp":
            count = len(self.document["functions"][at["fn"]]["params"])
            value, pull = jax.vjp(call(), *args[:count])
            return (*jax.tree.leaves(value), *pull(one_or_all(args[count:])))
        if name == "vmap":
            options = {k: plain(at[k]) for k in ("axis_name", "axis_size", "spmd_axis_name") if k in at}
            return jax.vmap(call(), in_axes=plain(at.get("in_axes", 0)), out_axes=plain(at.get("out_axes", 0)), **options)(*args)
        if name == "checkpoint":
            policies = jax.checkpoint_policies
            policy = policies.save_only_these_names(*at["names"]) if "names" in at else getattr(policies, at["policy"]) if "policy" in at else None
            return jax.checkpoint(call(), policy=policy)(*args)
        if name == "auto_axes": return auto_axes(call(), axes=plain(at.get("axes")), out_sharding=one_or_all([spec_of(o) for o in at["out_sharding"]]))(*args)
        if name == "explicit_axes": return explicit_axes(call(), axes=plain(at.get("axes")), in_sharding=tuple(spec_of(i) for i in at["in_sharding"]))(*args)
        if name == "shard_map":
            specs = dict(in_specs=tuple(spec_of(i) for i in at["in_specs"]), out_specs=one_or_all([spec_of(o) for o in at["out_specs"]]))
            axes = dict(axis_names=set(at["axis_names"])) if "axis_names" in at else {}
            around = jax.sharding.get_abstract_mesh()  # within such code its mesh is the one
            mesh = None if around.manual_axes else self.meshes[at.get("mesh", "m")]
            return jax.shard_map(call(), mesh=mesh, check_vma=False, **specs, **axes)(*args)
        if name == "scan":
            return scanned(call(), args, at.get("num_consts", 0), at.get("num_carry", 1), at.get("length"), at.get("reverse", False))
        if name == "cond": return jax.lax.cond(args[0], *[self.function(f) for f in at["fns"]], *args[1:])
        if name == "while_loop":
            tupled = lambda got: got if isinstance(got, tuple) else (got,)
            fixed, start = args[: at.get("num_consts", 0)], args[at.get("num_consts", 0) :]
            return one_or_all(jax.lax.while_loop(lambda c: call("cond_fn")(*fixed, *c), lambda c: tupled(call("body_fn")(*fixed, *c)), tuple(start)))
        if name == "device_put": return jax.device_put(args[0], self.sharding(at["sharding"]))
        if name == "reshard": return reshard(args[0], spec_of(at["sharding"]))
        if name == "with_sharding_constraint": return jax.lax.with_sharding_constraint(args[0], spec_of(at["spec"]) if self.is_typed else self.sharding(at["spec"]))
        if name == "checkpoint_name": return jax.ad_checkpoint.checkpoint_name(args[0], at["name"])
        if name == "axis_index": return jax.lax.axis_index(axis)
        if name in ("psum", "pmean", "pmax", "pmin"): return getattr(jax.lax, name)(args[0], axis, axis_index_groups=at.get("axis_index_groups"))
        if name in ("all_gather", "psum_scatter", "all_to_all", "ppermute"):
            return getattr(jax.lax, name)(args[0], axis, **{k: [tuple(p) for p in v] if k == "perm" else v for k, v in at.items() if k != "axis_name"})
        if name == "constant": return jnp.asarray(at["value"])
        if name == "convert": return args[0].astype(at["dtype"])
        if name == "matmul": return jnp.matmul(*args, out_sharding=spec_of(at["out_sharding"]) if "out_sharding" in at else None)
        if name == "einsum": return jnp.einsum(at["subscripts"], *args)
        if name in ("concatenate", "stack"): return getattr(jnp, name)(args, axis=at["axis"])
        if name == "reshape": return jnp.reshape(args[0], at["shape"])
        if name == "slice": return lax.slice(args[0], at["start"], at["limit"], at.get("stride"))
        if name == "arange": return jnp.arange(*args, dtype=at.get("dtype"))
        if name == "pad" and "padding" in at: return lax.pad(args[0], np.array(at.get("value", 0), args[0].dtype), [tuple(p) for p in at["padding"]])
        if name == "dot_general": return lax.dot_general(*args, dimension_numbers=(at["contract"], at["batch"]))
        if name == "dynamic_slice": return lax.dynamic_slice(args[0], args[1:], at["sizes"])
        if name == "dynamic_update_slice": return lax.dynamic_update_slice(args[0], args[1], args[2:])
        if name == "dynamic_index_in_dim": return lax.dynamic_index_in_dim(*args, **at)
        if name == "gather": return looked_up(*args, **at)
        if name in ("scatter", "scatter_add"): return scattered(name, *args, **at)
        if name == "reduce_window": return windows(*args, **at)
        if name == "sort" and len(args) > 1: return lax.sort(tuple(args), **{"dimension" if k == "axis" else k: v for k, v in at.items()})
        if name == "lexsort": return jnp.lexsort(tuple(args), **at)
        if name.startswith("cum") and "reverse" in at: return getattr(lax, name)(args[0], **at)
        if name == "conv": return convolution(args, at)
        if name in SCATTERS and not at: return getattr(args[0].at[args[1]], SCATTERS[name])(args[2])
        if name in ("softmax", "log_softmax", "relu", "gelu", "softplus"): return getattr(jax.nn, name)(*args, **at)
        if name == "logistic": return jax.nn.sigmoid(*args)
        if name in ("ones", "zeros"): return getattr(jnp, name)(at["shape"])
        return named(name)(*args, **{k: plain(v) for k, v in at.items()})
