#!/usr/bin/env python3
"""Makes scenarios in which one process departs from the others, and correct twins of them.

    make_mutants.py [--seed N] [--count N] [--oracle programs.jsonl] > mutants.jsonl

Every mutant is a correct program in which one statement is dropped, swapped, repeated, or given another shape, type, reduction, axis,
group or function on one process. What must come out is computed here, from what was done to which statement, and never taken from a run.
A twin writes the same statement twice, once for each side, and nothing differs: it must stay quiet.
"""
import argparse
import copy
import json
import random
import sys

SIZES = [(2, 2), (3, 2), (4, 2), (8, 1), (4, 1), (2, 4), (3, 1)]


# ---- correct programs. Each statement that all processes take part in has a "call": what must be equal; statements of a process alone
# have none. "leaf": nothing later depends on it, or depends on it in no way that another program would show.

def call(statement, leaf=True, **changes):
    """`changes`: ways to make the statement another program: name of the change -> attributes."""
    return {"s": statement, "call": True, "leaf": leaf, "changes": changes}


def local(statement, matters=False):
    """`matters`: its value is brought whole by every process to a later device_put."""
    return {"s": statement, "call": False, "leaf": False, "changes": {}, "matters": matters}


def placed(name, n, m, spec, leaf=True, other=None):
    changes = {"regroup": {"sharding": other}} if other is not None else {}
    return [local({"let": name, "op": "ones", "shape": [n, m]}),
            call({"let": name + "_", "op": "device_put", "args": [name], "sharding": spec}, leaf, **changes)]


def toy(rng, p, d):
    n = p * d
    return ({"m": {"shape": [n], "axes": ["i"]}}, {}, [
        local({"let": "x", "op": "arange", "args": [4 * n], "dtype": "float32"}),
        local({"let": "x", "op": "mul", "args": ["x", 0.37]}, matters=True),
        call({"let": "x", "op": "device_put", "args": ["x"], "sharding": ["i"]}, leaf=False),
        call({"let": "y", "op": "sin", "args": ["x"]}, op={"op": "cos"}),
        call({"let": "z", "op": "sum", "args": ["x"]}, reduction={"op": "max"}),
        call({"let": "w", "op": "exp", "args": ["x"]}, retype={"op": "convert", "dtype": "int32"}),
        call({"let": "v", "op": "reshape", "args": ["x"], "shape": [n, 4]}, reshape={"shape": [2 * n, 2]}),
    ])


def steps(rng, p, d):
    n = p * d
    return ({"m": {"shape": [p, d], "axes": ["a", "b"]}}, {}, [
        local({"let": "x", "op": "ones", "shape": [2 * p, 2 * d]}),
        call({"let": "x", "op": "device_put", "args": ["x"], "sharding": ["a", "b"]}, leaf=False),
        call({"let": "x", "op": "sin", "args": ["x"]}, op={"op": "tanh"}),
        call({"let": "s", "op": "sum", "args": ["x"], "axis": 0}, axis={"axis": 1}),
        call({"let": "x", "op": "cos", "args": ["x"]}, op={"op": "exp"}),
        call({"let": "t", "op": "max", "args": ["x"], "axis": 1}, axis={"axis": 0}, reduction={"op": "min"}),
        call({"let": "u", "op": "transpose", "args": ["x"]}, op={"op": "square"}),
        call({"let": "q", "op": "device_put", "args": ["x"], "sharding": [None, "b"]}, regroup={"sharding": ["b", None]},
             ) if p > 1 and (2 * p) % d == 0 else call({"let": "q", "op": "square", "args": ["x"]}),
    ])


def mlp(rng, p, d):
    n = p * d
    f = {"params": ["x", "w", "v"], "body": [
        {"let": "h", "op": "matmul", "args": ["x", "w"]}, {"let": "h", "op": "relu", "args": ["h"]},
        {"let": "y", "op": "matmul", "args": ["h", "v"]}, {"let": "l", "op": "sum", "args": ["y"]}], "results": ["l"]}
    other = copy.deepcopy(f)
    other["body"][1]["op"] = "tanh"
    return ({"m": {"shape": [n], "axes": ["d"]}}, {"step": f, "step2": other}, [
        local({"let": "x", "op": "ones", "shape": [n, 4]}), local({"let": "w", "op": "ones", "shape": [4, 2 * n]}),
        local({"let": "v", "op": "ones", "shape": [2 * n, 4]}),
        call({"let": "x", "op": "device_put", "args": ["x"], "sharding": ["d", None]}, leaf=False),
        call({"let": "w", "op": "device_put", "args": ["w"], "sharding": [None, None]}, leaf=False),
        call({"let": "v", "op": "device_put", "args": ["v"], "sharding": [None, None]}, leaf=False),
        call({"let": "l", "op": "jit", "fn": "step", "args": ["x", "w", "v"]}, code={"fn": "step2"}),
        call({"let": "g", "op": "matmul", "args": ["x", "w"]}),
        call({"let": "k", "op": "sum", "args": ["v"]}, reduction={"op": "prod"}),
    ])


def loop(rng, p, d):
    n = p * d
    k = rng.randint(2, 4)
    return ({"m": {"shape": [n], "axes": ["i"]}}, {}, [
        local({"let": "x", "op": "ones", "shape": [n, 3]}),
        call({"let": "x", "op": "device_put", "args": ["x"], "sharding": ["i"]}, leaf=False),
        {"s": {"repeat": k, "body": [{"let": "x", "op": "sin", "args": ["x"]}, {"let": "s", "op": "sum", "args": ["x"]}]}, "call": True,
         "leaf": True, "loop": True, "changes": {"less": {"repeat": k - 1}, "more": {"repeat": k + 1}}},
        call({"let": "y", "op": "max", "args": ["x"], "axis": 1}, axis={"axis": 0}),
        call({"let": "r", "op": "process_allgather", "args": ["x"]}),
        call({"let": "z", "op": "exp", "args": ["x"]}, op={"op": "tanh"}),
    ])


def meshes(rng, p, d):
    n = p * d
    order = list(range(n))
    back = order[::-1]
    return ({"m": {"shape": [n], "axes": ["i"]}, "back": {"shape": [n], "axes": ["i"], "devices": back}}, {}, [
        local({"let": "x", "op": "ones", "shape": [2 * n]}),
        call({"let": "y", "op": "device_put", "args": ["x"], "sharding": {"mesh": "m", "spec": ["i"]}},
             mesh={"sharding": {"mesh": "back", "spec": ["i"]}}),
        call({"let": "z", "op": "device_put", "args": ["x"], "sharding": {"mesh": "back", "spec": [None]}},
             mesh={"sharding": {"mesh": "m", "spec": [None]}}, regroup={"sharding": {"mesh": "back", "spec": ["i"]}}),
        call({"let": "u", "op": "zeros", "shape": [2 * n], "sharding": {"mesh": "m", "spec": ["i"]}},
             reshape={"shape": [4 * n]}, retype={"dtype": "int32"}),
        call({"let": "w", "op": "full", "args": [2.0], "shape": [n, 2], "sharding": {"mesh": "m", "spec": ["i"]}}, reshape={"shape": [n, 4]}),
    ])


def barriers(rng, p, d):
    n = p * d
    return ({"m": {"shape": [n], "axes": ["i"]}}, {}, [
        call({"op": "barrier", "name": "begin"}, code={"name": "start"}),
        local({"let": "x", "op": "ones", "shape": [n]}),
        call({"let": "x", "op": "device_put", "args": ["x"], "sharding": ["i"]}, leaf=False),
        call({"let": "s", "op": "sum", "args": ["x"]}, reduction={"op": "min"}),
        call({"op": "barrier", "name": "middle"}, code={"name": "half"}),
        call({"let": "h", "op": "process_allgather", "args": ["x"]}),
        call({"let": "y", "op": "sin", "args": ["x"]}, op={"op": "cos"}),
        call({"op": "barrier", "name": "end"}, code={"name": "stop"}),
    ])


PROGRAMS = [toy, steps, mlp, loop, meshes, barriers]


def from_oracle(document):
    """An oracle's program as statements: the arrays are made locally, placed, and go through one jitted function."""
    def build(rng, p, d):
        statements, functions = [], copy.deepcopy(document["functions"])
        body = functions["f"]["body"]
        swaps = {"add": "sub", "sub": "add", "mul": "add", "sin": "cos", "exp": "sin", "tanh": "sin", "maximum": "minimum", "neg": "sin"}
        mutable = [i for i, s in enumerate(body) if s["op"] in swaps]
        last_put = max(i for i, s in enumerate(document["program"]) if s["op"] == "device_put")
        for i, s in enumerate(document["program"]):
            if s["op"] == "jit":
                changes = {}
                if mutable:
                    functions["g"] = copy.deepcopy(functions["f"])
                    chosen = functions["g"]["body"][rng.choice(mutable)]
                    chosen["op"] = swaps[chosen["op"]]
                    changes["code"] = {"fn": "g"}
                statements.append(call(copy.deepcopy(s), **changes))
            elif s["op"] == "device_put":
                spec = s["sharding"]
                changes = {}
                if i == last_put and any(axes is not None for axes in spec):
                    changes["regroup"] = {"sharding": [None] * len(spec)}
                statements.append(call(copy.deepcopy(s), leaf=False, **changes))
            else:
                statements.append(local(copy.deepcopy(s), matters=s["op"] == "sin"))
        return copy.deepcopy(document["meshes"]), functions, statements
    return build


# ---- mutations. Each gives the statements of the mutant and what must come out.

def others(p, size):
    return [q for q in range(size) if q != p]


def tie(p, size):
    """Two processes contradict each other, and nobody can say who is right."""
    return [p] if size > 2 else list(range(size))


def on(statement, p):
    return {**copy.deepcopy(statement), "on": {"processes": [p]}}


def not_on(statement, p):
    return {**copy.deepcopy(statement), "not_on": {"processes": [p]}}


def key(entry):
    return json.dumps({k: v for k, v in entry["s"].items() if k != "let"}, sort_keys=True)


def next_call(entries, i):
    return next((e for e in entries[i + 1:] if e["call"]), None)


def mutate_drop(rng, entries, p, size):
    chosen = [i for i, e in enumerate(entries) if e["call"] and e["leaf"] and not e.get("loop")]
    # The next call must differ from the one that is dropped, or the gap shows later.
    chosen = [i for i in chosen if next_call(entries, i) is None or key(next_call(entries, i)) != key(entries[i])]
    chosen = [i for i in chosen if not used_later(entries, i)]
    if not chosen:
        return None
    i = rng.choice(chosen)
    out = [copy.deepcopy(e["s"]) for e in entries]
    out[i] = not_on(out[i], p)
    return out, {"diagnosis": "missing-participant", "processes": [p], "statement": i}, f"drop {i}"


def used_later(entries, i):
    """A name that only this statement binds, used by a later one: dropping it would leave it unbound."""
    let = entries[i]["s"].get("let")
    if let is None:
        return False
    bound_before = any(e["s"].get("let") == let for e in entries[:i])
    if bound_before:
        return False
    return any(let in e["s"].get("args", []) for e in entries[i + 1:])


def mutate_repeat(rng, entries, p, size):
    chosen = [i for i, e in enumerate(entries) if e["call"] and e["leaf"] and not e.get("loop")]
    chosen = [i for i in chosen if next_call(entries, i) is None or key(next_call(entries, i)) != key(entries[i])]
    if not chosen:
        return None
    i = rng.choice(chosen)
    out = [copy.deepcopy(e["s"]) for e in entries]
    out.insert(i + 1, on(out[i], p))
    guilty = [p] if size > 2 else others(p, size)  # of two, the one that lacks the call
    return out, {"diagnosis": "missing-participant", "processes": guilty, "statement": i + 1}, f"repeat {i}"


def mutate_swap(rng, entries, p, size):
    chosen = []
    for i in range(len(entries) - 1):
        a, b = entries[i], entries[i + 1]
        if not (a["call"] and b["call"] and a["leaf"] and b["leaf"]) or a.get("loop") or b.get("loop"):
            continue
        # Who waits in a statement shows nothing of what would follow.
        if {a["s"]["op"], b["s"]["op"]} & {"barrier", "process_allgather", "fetch"}:
            continue
        names = {a["s"].get("let"), b["s"].get("let")} - {None}
        uses = set(map(str, a["s"].get("args", []) + b["s"].get("args", [])))
        if names & uses or key(a) == key(b):
            continue
        chosen.append(i)
    if not chosen:
        return None
    i = rng.choice(chosen)
    plain = [copy.deepcopy(e["s"]) for e in entries]
    out = plain[:i] + [not_on(plain[i], p), not_on(plain[i + 1], p), on(plain[i + 1], p), on(plain[i], p)] + plain[i + 2:]
    statement = rng.choice([i, i + 2])
    return out, {"diagnosis": "order-mismatch", "processes": tie(p, size), "statement": statement}, f"swap {i}"


def mutate_change(rng, entries, p, size):
    chosen = [(i, name) for i, e in enumerate(entries) for name in e["changes"] if not e.get("loop")]
    if not chosen:
        return None
    i, name = rng.choice(chosen)
    plain = [copy.deepcopy(e["s"]) for e in entries]
    changed = {**plain[i], **entries[i]["changes"][name]}
    out = plain[:i] + [not_on(plain[i], p), on(changed, p)] + plain[i + 1:]
    return out, {"diagnosis": "program-mismatch", "processes": tie(p, size), "statement": rng.choice([i, i + 1])}, f"{name} {i}"


def mutate_loop(rng, entries, p, size):
    chosen = [i for i, e in enumerate(entries) if e.get("loop")]
    if not chosen:
        return None
    i = rng.choice(chosen)
    name = rng.choice(["less", "more"])
    plain = [copy.deepcopy(e["s"]) for e in entries]
    out = plain[:i] + [not_on(plain[i], p), on({**plain[i], **entries[i]["changes"][name]}, p)] + plain[i + 1:]
    lacks = [p] if name == "less" else others(p, size)
    guilty = [p] if size > 2 else lacks
    # Who makes the iteration too many is seen in its loop.
    return out, {"diagnosis": "missing-participant", "processes": guilty, "statement": i if name == "less" else i + 1}, f"loop {name} {i}"


def mutate_value(rng, entries, p, size):
    chosen = [i for i, e in enumerate(entries) if e.get("matters")]
    if not chosen:
        return None
    i = rng.choice(chosen)
    out = [copy.deepcopy(e["s"]) for e in entries]
    out[i] = not_on(out[i], p)
    return out, {"diagnosis": "input-divergence", "processes": tie(p, size), "statement": i}, f"value {i}"


def mutate_fault(rng, entries, p, size):
    calls = [i for i, e in enumerate(entries) if e["call"] and not e.get("loop")]
    i = rng.choice(calls)
    code, what = rng.choice([("process-raised", "raise"), ("process-exited", {"exit": 3}), ("process-killed", "kill"), ("process-stuck", "hang")])
    out = [copy.deepcopy(e["s"]) for e in entries]
    return (out, {"diagnosis": code, "processes": [p]}, f"{code} {i}", [{"at": i, "processes": [p], "do": what}])


def twin(rng, entries, p, size):
    i = rng.randrange(len(entries))
    plain = [copy.deepcopy(e["s"]) for e in entries]
    return plain[:i] + [not_on(plain[i], p), on(plain[i], p)] + plain[i + 1:], {"diagnosis": None}, f"twin {i}"


MUTATIONS = [mutate_drop, mutate_repeat, mutate_swap, mutate_change, mutate_change, mutate_loop, mutate_value, mutate_fault]


def document(name, size, devices, meshes_, functions, program, expect, faults=None):
    result = {"shardlab": 1, "name": name, "cluster": {"processes": size, "devices": devices, "run": "simulated"}, "meshes": meshes_}
    if functions:
        result["functions"] = functions
    result["program"] = program
    if faults:
        result["faults"] = faults
    result["expect"] = [expect]
    return result


def make(seed, count, oracle):
    rng = random.Random(seed)
    made = 0
    builders = list(PROGRAMS)
    documents = [from_oracle(d) for d in rng.sample(oracle, min(len(oracle), 24))] if oracle else []
    while made < count:
        use_oracle = documents and rng.random() < 0.3
        build = rng.choice(documents if use_oracle else builders)
        size, devices = rng.choice([(2, 4), (4, 2), (8, 1)]) if use_oracle else rng.choice(SIZES)
        meshes_, functions, entries = build(rng, size, devices)
        p = rng.randrange(size)
        is_twin = made % 5 == 4
        mutated = (twin if is_twin else rng.choice(MUTATIONS))(rng, entries, p, size)
        if mutated is None:
            continue
        program, expect, what, *faults = mutated
        origin = "oracle" if use_oracle else build.__name__
        name = f"{made:04d} {origin} {size}x{devices} {what} on {p}"
        yield document(name, size, devices, meshes_, functions, program, expect, faults[0] if faults else None)
        made += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--oracle", help="programs.jsonl: more programs to mutate")
    arguments = parser.parse_args()
    oracle = []
    if arguments.oracle:
        with open(arguments.oracle) as lines:
            oracle = [json.loads(line) for line in lines]
        # Those of a few statements, without ops whose result is not an array of floats.
        plain = {"add", "sub", "mul", "sin", "exp", "tanh", "maximum", "neg", "matmul", "transpose", "sum", "reshape", "max", "relu"}
        oracle = [d for d in oracle if all(s["op"] in plain for s in d["functions"]["f"]["body"]) and len(d["functions"]["f"]["body"]) <= 6]
    for each in make(arguments.seed, arguments.count, oracle):
        json.dump(each, sys.stdout)
        print()


if __name__ == "__main__":
    main()
