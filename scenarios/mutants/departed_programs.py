"""The programs that make_departures.py departs from: correct ones, each statement with what it does to other processes."""
import copy
import json


class Stmt:
    """One statement; `calls`: how many launches other processes take part in; `members`: who; `sig`: equal for equal launches."""

    def __init__(self, body, calls=0, members=None, sig=None, blocks=False, rebinds=False, changes=(), later=True):
        self.body, self.calls, self.members, self.blocks, self.rebinds = body, calls, members, blocks, rebinds
        self.sig = sig or json.dumps({k: v for k, v in body.items() if k not in ("let", "on", "not_on")}, sort_keys=True)
        self.changes = list(changes)  # (what, other attributes, fields that must be told, statements it needs before)
        self.later = later            # its result is used later


class Program:
    def __init__(self, processes, devices, meshes, functions=None):
        self.processes, self.devices, self.meshes, self.functions = processes, devices, meshes, functions or {}
        self.steps = []

    def local(self, body, changes=()):
        self.steps.append(Stmt(body, changes=changes))

    def call(self, body, members=None, **kw):
        self.steps.append(Stmt(body, calls=1, members=members or list(range(self.processes)), **kw))

    def used_later(self, i):
        names = self.steps[i].body.get("let", [])
        names = [names] if isinstance(names, str) else names
        for step in self.steps[i + 1:]:
            for name in names:
                if f'"{name}"' in json.dumps([b.get("args", []) for b in flatten(step.body)]) or f'"{name}"' in json.dumps(step.body.get("data", 0)):
                    return True
        return False


def flatten(body):
    if "body" in body:
        return [each for inner in body["body"] for each in flatten(inner)]
    return flatten(body["step"]) if "step" in body else [body]


# ---- programs

def network(rng):
    """Data parallel: a batch cut over processes, weights whole on all, the step jitted (the third document's network, small)."""
    n, d = rng.choice([(2, 2), (3, 1), (4, 2), (8, 1), (7, 1)])
    p = Program(n, d, {"m": {"shape": [n * d], "axes": ["batch"]}})
    f = {"params": ["w", "b", "x", "y"], "body": [
        {"let": "h", "op": "matmul", "args": ["x", "w"]}, {"let": "h", "op": "add", "args": ["h", "b"]}, {"let": "h", "op": "tanh", "args": ["h"]},
        {"let": "e", "op": "sub", "args": ["h", "y"]}, {"let": "e", "op": "mul", "args": ["e", "e"]}, {"let": "l", "op": "mean", "args": ["e"]}], "results": ["l"]}
    step = {"params": ["w", "b", "x", "y"], "body": [
        {"let": ["l", "g", "k"], "op": "value_and_grad", "fn": "loss", "args": ["w", "b", "x", "y"], "argnums": [0, 1]},
        {"let": "g", "op": "mul", "args": ["g", 0.1]}, {"let": "w", "op": "sub", "args": ["w", "g"]},
        {"let": "k", "op": "mul", "args": ["k", 0.1]}, {"let": "b", "op": "sub", "args": ["b", "k"]}], "results": ["l", "w", "b"]}
    other_rate = copy.deepcopy(step)
    other_rate["body"][1]["args"][1] = 0.01
    other_loss = copy.deepcopy(f)
    other_loss["body"][5]["op"] = "sum"
    step_sum = copy.deepcopy(step)
    step_sum["body"][0]["fn"] = "loss_sum"
    p.functions = {"loss": f, "step": step, "slow": other_rate, "loss_sum": other_loss, "sum_step": step_sum}
    seed = rng.randrange(100)
    p.local({"let": "key", "op": "random.key", "seed": seed}, changes=[("seed", {"seed": seed + 1}, "input-divergence", 5)])
    p.local({"let": "w", "op": "random.normal", "args": ["key"], "shape": [5, 3]})
    p.local({"let": "b", "op": "zeros", "shape": [3]}, changes=[("shape", {"shape": [1]}, "program-mismatch", 6), ("value", {"op": "ones"}, "input-divergence", 6)])
    p.local({"let": "x", "op": "ones", "shape": [2 * n * d, 5]}, changes=[("dtype", {"dtype": "int32"}, "program-mismatch", 7)])
    p.local({"let": "y", "op": "zeros", "shape": [2 * n * d, 3]})
    p.call({"let": "w", "op": "device_put", "args": ["w"], "sharding": [None, None]}, rebinds=True)
    p.call({"let": "b", "op": "device_put", "args": ["b"], "sharding": [None]}, rebinds=True)
    p.call({"let": "x", "op": "device_put", "args": ["x"], "sharding": ["batch", None]}, rebinds=True, changes=[("spec", {"sharding": [None, None]}, ["sharding"])])
    p.call({"let": "y", "op": "device_put", "args": ["y"], "sharding": ["batch", None]}, rebinds=True)
    body = {"let": ["l", "w", "b"], "op": "jit", "fn": "step", "args": ["w", "b", "x", "y"]}
    changes = [("rate", {"fn": "slow"}, []), ("loss", {"fn": "sum_step"}, [])]
    if rng.random() < 0.5:
        p.call(dict(body), changes=changes)
        p.call({"let": "s", "op": "sum", "args": ["x"]}, changes=[("reduction", {"op": "max"}, ["op"])])
    else:
        p.steps.append(Stmt({"repeat": rng.randint(2, 4), "body": [body]}, calls=2, members=list(range(n))))
    p.call({"let": "t", "op": "sin", "args": ["y"]}, changes=[("op", {"op": "cos"}, ["op"])])
    p.call({"let": "u", "op": "max", "args": ["x"], "axis": 0}, changes=[("axis", {"axis": 1}, [])])
    return p


def per_device(rng):
    """Per-device code with every kind of collective; functions f_k differ from f in one attribute."""
    n, d = rng.choice([(2, 2), (4, 1), (3, 2), (8, 1), (4, 2)])
    size = n * d
    p = Program(n, d, {"m": {"shape": [size], "axes": ["i"]}})
    ring = [[k, (k + 1) % size] for k in range(size)]
    even = size % 2 == 0
    pairs_of = lambda: [[2 * k, 2 * k + 1] for k in range(size // 2)]
    uneven = [1] * size
    uneven[0], uneven[-1] = 2, 0
    kinds = {
        "sum": ({"op": "psum", "axis_name": "i"}, [("pmax", {"op": "pmax"}, ["reduction"])] + ([("groups", {"axis_index_groups": pairs_of()}, ["group"])] if even else [])),
        "ring": ({"op": "ppermute", "axis_name": "i", "perm": ring}, [("pairs", {"perm": [[b, a] for a, b in ring]}, ["pairs"])] if size > 2 else []),
        "all": ({"op": "all_to_all", "axis_name": "i", "split_axis": 0, "concat_axis": 1, "tiled": True, "split_sizes": [1] * size}, [("sizes", {"split_sizes": uneven}, ["count"])]),
        "gather": ({"op": "all_gather", "axis_name": "i", "tiled": True}, [("kind", {"op": "psum", "tiled": None}, ["kind"])]),
    }
    for name, (attrs, others) in kinds.items():
        p.functions[name] = {"params": ["v"], "body": [{"let": "r", "op": "mul", "args": ["v", 2.0]}, {"let": "r", "args": ["r"], **attrs}], "results": ["r"]}
        for what, change, _ in others:
            p.functions[f"{name}_{what}"] = copy.deepcopy(p.functions[name])
            line = p.functions[f"{name}_{what}"]["body"][1]
            line.update(change)
            for key in [k for k, v in line.items() if v is None]:
                del line[key]
    p.local({"let": "x", "op": "arange", "args": [size * size], "dtype": "float32"}, changes=[("dtype", {"dtype": "int32"}, "program-mismatch", 2)])
    p.local({"let": "x", "op": "reshape", "args": ["x"], "shape": [size * size, 1]}, changes=[("shape", {"shape": [1, size * size]}, "program-mismatch", 2)] if size == 1 else [])
    p.call({"let": "x", "op": "device_put", "args": ["x"], "sharding": ["i", None]}, rebinds=True)
    order = list(kinds)
    rng.shuffle(order)
    for k, name in enumerate(order):
        body = {"let": f"y{k}", "op": "shard_map", "fn": name, "args": ["x"], "in_specs": [["i", None]], "out_specs": [["i", None]], "check_vma": False}
        p.call(body, sig=name, changes=[(what, {"fn": f"{name}_{what}"}, fields) for what, _, fields in kinds[name][1]])
    p.call({"let": "z", "op": "exp", "args": ["x"]}, changes=[("op", {"op": "sin"}, ["op"])])
    return p


def host_calls(rng):
    """What processes do together beside computing: broadcasts, gathers, barriers."""
    n, d = rng.choice([(2, 1), (3, 2), (4, 2), (8, 1)])
    p = Program(n, d, {"m": {"shape": [n * d], "axes": ["i"]}})
    p.local({"let": "v", "op": "arange", "args": [6], "dtype": "float32"}, changes=[("shape", {"args": [7]}, "program-mismatch", 1)])
    root = rng.randrange(n)
    p.call({"let": "t", "op": "broadcast", "args": ["v"], "root": root}, blocks=True, changes=[("root", {"root": (root + 1) % n}, ["root"])])
    p.local({"let": "x", "op": "ones", "shape": [4 * n * d]})
    p.call({"let": "x", "op": "device_put", "args": ["x"], "sharding": ["i"]}, rebinds=True)
    p.call({"op": "barrier", "name": "one"}, blocks=True, changes=[("name", {"name": "two"}, [])])
    p.call({"let": "b", "op": "start", "step": {"op": "broadcast", "args": ["v"], "root": 0}}, changes=[("root", {"step": {"op": "broadcast", "args": ["v"], "root": n - 1}}, ["root"])])
    p.call({"let": "c", "op": "sin", "args": ["x"]}, changes=[("op", {"op": "tanh"}, ["op"])])
    p.local({"op": "wait", "args": ["b"]})
    p.call({"let": "s", "op": "sum", "args": ["x"]}, changes=[("reduction", {"op": "prod"}, ["op"])])
    p.call({"let": "g", "op": "process_allgather", "args": ["x"]}, blocks=True)
    p.call({"let": "e", "op": "exp", "args": ["x"]}, changes=[("op", {"op": "cos"}, ["op"])])
    return p


def orders(rng):
    """Meshes of the same devices in other orders, subsets, axes together on one dimension, permuted devices."""
    n, d = rng.choice([(2, 2), (4, 2), (4, 1), (8, 1), (3, 2)])
    size = n * d
    order = list(range(size))
    while order == list(range(size)):
        rng.shuffle(order)
    shape = next([a, size // a] for a in (2, 3, 1) if size % a == 0)
    p = Program(n, d, {"m": {"shape": shape, "axes": ["a", "b"]}, "o": {"shape": shape, "axes": ["a", "b"], "devices": order}})
    both = {"mesh": "m", "spec": [["a", "b"]]}
    p.local({"let": "x", "op": "ones", "shape": [size * 3]}, changes=[("shape", {"shape": [size * 6]}, "program-mismatch", 1)])
    p.call({"let": "y", "op": "device_put", "args": ["x"], "sharding": both},
           changes=[("mesh", {"sharding": {"mesh": "o", "spec": [["a", "b"]]}}, ["mesh"]), ("spec", {"sharding": {"mesh": "m", "spec": [["b", "a"]]}}, ["sharding"])])
    p.call({"let": "z", "op": "device_put", "args": ["y"], "sharding": {"mesh": "m", "spec": [None]}}, changes=[("spec", {"sharding": {"mesh": "m", "spec": ["b"]}}, ["sharding"])])
    p.call({"let": "w", "op": "full", "args": [1.5], "shape": [size, 2], "sharding": {"mesh": "o", "spec": [["a", "b"], None]}},
           changes=[("retype", {"dtype": "int32"}, ["dtype"]), ("reshape", {"shape": [size, 4]}, ["shape"]), ("mesh", {"sharding": {"mesh": "m", "spec": [["a", "b"], None]}}, ["mesh"])])
    p.call({"let": "q", "op": "sum", "args": ["w"], "axis": 0}, changes=[("reduction", {"op": "min"}, ["op"]), ("axis", {"axis": 1}, [])])
    p.call({"let": "r", "op": "square", "args": ["y"]}, changes=[("op", {"op": "exp"}, ["op"])])
    return p


def halves(rng):
    """Two groups of processes with work of their own between calls of all: what is in one does not concern the other."""
    n, d = rng.choice([(4, 1), (4, 2), (8, 1), (6, 1)])
    half = n // 2
    p = Program(n, d, {"m": {"shape": [n * d], "axes": ["i"]}, "left": {"shape": [half * d], "axes": ["i"], "devices": list(range(half * d))},
                       "right": {"shape": [half * d], "axes": ["i"], "devices": list(range(half * d, n * d))}})
    left, right = list(range(half)), list(range(half, n))
    p.local({"let": "x", "op": "ones", "shape": [2 * n * d]})
    p.call({"let": "a", "op": "device_put", "args": ["x"], "sharding": {"mesh": "m", "spec": ["i"]}})
    for mesh, members in (("left", left), ("right", right)):
        p.call({"let": mesh[0], "op": "device_put", "args": ["x"], "sharding": {"mesh": mesh, "spec": ["i"]}}, members=members)
        p.call({"let": mesh[0] + "s", "op": "sin", "args": [mesh[0]]}, members=members, changes=[("op", {"op": "cos"}, ["op"])])
        p.call({"let": mesh[0] + "t", "op": "sum", "args": [mesh[0]]}, members=members, changes=[("reduction", {"op": "max"}, ["op"])])
    p.call({"let": "b", "op": "exp", "args": ["a"]}, changes=[("op", {"op": "tanh"}, ["op"])])
    p.call({"let": "c", "op": "sum", "args": ["a"]}, changes=[("reduction", {"op": "min"}, ["op"])])
    return p


def messages(rng):
    """A ring of messages; then all compute together."""
    n = rng.choice([2, 3, 4, 8])
    p = Program(n, 1, {"m": {"shape": [n], "axes": ["i"]}})
    p.local({"let": "x", "op": "arange", "args": [4], "dtype": "float32"})
    tag = rng.randrange(5)
    for q in range(n):
        p.steps.append(Stmt({"op": "send", "args": ["x"], "peer": (q + 1) % n, "tag": tag, "on": {"processes": [q]}}, calls=1, members=[q, (q + 1) % n]))
    for q in range(n):
        p.steps.append(Stmt({"let": "r", "op": "recv", "peer": (q - 1) % n, "tag": tag, "shape": [4], "dtype": "float32", "on": {"processes": [q]}}, calls=1,
                            members=[q, (q - 1) % n]))
    p.call({"let": "y", "op": "device_put", "args": ["x"], "sharding": ["i"]} if 4 % n == 0 else {"let": "y", "op": "zeros", "shape": [n], "sharding": ["i"]})
    p.call({"let": "z", "op": "sum", "args": ["y"]})
    return p


def from_oracle(document):
    def build(rng):
        n, d = rng.choice([(2, 4), (4, 2), (8, 1)])
        p = Program(n, d, copy.deepcopy(document["meshes"]), copy.deepcopy(document["functions"]))
        program = copy.deepcopy(document["program"])
        puts = {s["let"]: i for i, s in enumerate(program) if s["op"] == "device_put"}
        body = p.functions["f"]["body"]
        swaps = {"add": "sub", "sub": "add", "mul": "sub", "sin": "cos", "cos": "sin", "exp": "sin", "tanh": "sin", "maximum": "minimum", "neg": "sin", "sum": "max", "max": "min",
                 "relu": "sin", "logistic": "sin", "minimum": "maximum"}
        mutable = [i for i, s in enumerate(body) if s["op"] in swaps]
        for s in program:
            put = puts.get(s.get("let") if isinstance(s.get("let"), str) else None)
            if s["op"] == "device_put":
                spec = s["sharding"]
                flat = any(axes is not None for axes in spec)
                shape = [x for x in p.steps if x.body.get("let") == s["let"] and x.body["op"] == "reshape"][-1].body["shape"]
                p.call(s, rebinds=True, sig=json.dumps([shape, spec]), changes=[("spec", {"sharding": [None] * len(spec)}, ["sharding"])] if flat else [])
            elif s["op"] == "jit":
                changes = []
                if mutable:
                    p.functions["g"] = copy.deepcopy(p.functions["f"])
                    chosen = p.functions["g"]["body"][rng.choice(mutable)]
                    chosen["op"] = swaps[chosen["op"]]
                    changes.append(("code", {"fn": "g"}, []))
                p.call(s, changes=changes)
            elif s["op"] == "mul":
                p.local(s, changes=[("value", {"args": [s["args"][0], 0.61]}, "input-divergence", put)])
            elif s["op"] == "arange":
                p.local(s, changes=[("longer", {"args": [s["args"][0] + 1]}, "process-raised", next(
                    i for i, each in enumerate(program) if each["op"] == "reshape" and each["let"] == s["let"]))])
            else:
                p.local(s)
        return p
    build.__name__ = "oracle"
    return build


PROGRAMS = [network, per_device, host_calls, orders, halves, messages]
