#!/usr/bin/env python3
"""Makes scenarios in which a minority departs from the others, written apart from make_mutants.py and from other programs.

    make_departures.py [--seed N] [--count N] [--oracle programs.jsonl] [--kinds drop,swap] > departures.jsonl

Beside what make_mutants.py does, these depart on several processes at once, in what follows from an earlier statement (a lost device_put, a
local value of another shape, type or seed), in messages, roots, split sizes, permutations and groups, leave early, or depart in two
places for two reasons. `expect` is worked out from what was done; a description "fields: root" says which of the diagnosis's fields must
be there. One in six is a correct program, written twice over for two sides, with late processes: it must stay quiet.
"""
import argparse
import copy
import json
import random
import sys

from departed_programs import flatten, PROGRAMS, from_oracle


# ---- departures: (statements, expectations, what, description, faults)

def bodies(p):
    return [copy.deepcopy(step.body) for step in p.steps]


def on(body, who):
    return {**copy.deepcopy(body), "on": {"processes": sorted(who)}}


def not_on(body, who):
    return {**copy.deepcopy(body), "not_on": {"processes": sorted(who)}}


def wanted(code, processes, statement=None):
    expect = {"diagnosis": code, "processes": sorted(processes)}
    return {**expect, "statement": statement} if statement is not None else expect


def minority(rng, members):
    """Who departs: never more than half of them."""
    return rng.sample(members, rng.randint(1, max(1, len(members) // 2)))


def guilty(who, members):
    return who if 2 * len(who) < len(members) else members


def lacking(who, members):
    """Who makes one more: they are told, but for a tie, where those are who lack it."""
    return who if 2 * len(who) < len(members) else [q for q in members if q not in who]


def calls_of(p, plain=True):
    return [i for i, step in enumerate(p.steps) if step.calls and (not plain or (step.calls == 1 and "on" not in step.body))]


def unlike_next(p, i):
    """The next call that the members make differs, or the gap would show later."""
    following = [step for step in p.steps[i + 1:] if step.calls and set(step.members) & set(p.steps[i].members)]
    return not following or following[0].sig != p.steps[i].sig


def drop(rng, p):
    chosen = [i for i in calls_of(p) if unlike_next(p, i) and (p.steps[i].rebinds or not p.used_later(i))]
    if not chosen:
        return None
    i = rng.choice(chosen)
    who = minority(rng, p.steps[i].members)
    out = bodies(p)
    out[i] = not_on(out[i], who)
    return out, [wanted("missing-participant", who, i)], f"drop {i}"


def repeat(rng, p):
    chosen = [i for i in calls_of(p) if unlike_next(p, i) and not p.steps[i].rebinds]
    if not chosen:
        return None
    i = rng.choice(chosen)
    members = p.steps[i].members
    who = minority(rng, members)
    out = bodies(p)
    out.insert(i + 1, on(out[i], who))
    return out, [wanted("missing-participant", lacking(who, members), i + 1)], f"repeat {i}"


def swap(rng, p):
    chosen = []
    for i in range(len(p.steps) - 1):
        a, b = p.steps[i], p.steps[i + 1]
        if a.calls != 1 or b.calls != 1 or a.blocks or b.blocks or a.sig == b.sig or a.members != b.members or "on" in a.body or "on" in b.body:
            continue
        uses = json.dumps([each.get("args", []) for each in flatten(b.body)])
        if any(f'"{name}"' in uses for name in ([a.body["let"]] if isinstance(a.body.get("let"), str) else a.body.get("let", []))):
            continue
        chosen.append(i)
    if not chosen:
        return None
    i = rng.choice(chosen)
    members = p.steps[i].members
    who = minority(rng, members)
    plain = bodies(p)
    out = plain[:i] + [not_on(plain[i], who), not_on(plain[i + 1], who), on(plain[i + 1], who), on(plain[i], who)] + plain[i + 2:]
    return out, [wanted("order-mismatch", guilty(who, members), rng.choice([i, i + 2]))], f"swap {i}"


def later(rng, p):
    """One call comes two calls later than on the others."""
    chosen = []
    for i in range(len(p.steps) - 2):
        three = p.steps[i:i + 3]
        if any(s.calls != 1 or s.blocks or s.members != three[0].members or "on" in s.body for s in three) or len({s.sig for s in three}) < 3:
            continue
        uses = json.dumps([each.get("args", []) for s in three[1:] for each in flatten(s.body)])
        if any(f'"{name}"' in uses for name in ([three[0].body["let"]] if isinstance(three[0].body.get("let"), str) else three[0].body.get("let", []))):
            continue
        chosen.append(i)
    if not chosen:
        return None
    i = rng.choice(chosen)
    members = p.steps[i].members
    who = minority(rng, members)
    plain = bodies(p)
    out = plain[:i] + [not_on(plain[i], who), plain[i + 1], plain[i + 2], on(plain[i], who)] + plain[i + 3:]
    return out, [wanted("order-mismatch", guilty(who, members), rng.choice([i, i + 1]))], f"later {i}"


def change(rng, p):
    chosen = [(i, c) for i in calls_of(p) for c in p.steps[i].changes]
    if not chosen:
        return None
    i, (what, attrs, fields) = rng.choice(chosen)
    members = p.steps[i].members
    who = minority(rng, members)
    plain = bodies(p)
    out = plain[:i] + [not_on(plain[i], who), on({**plain[i], **attrs}, who)] + plain[i + 1:]
    expect = [wanted("program-mismatch", guilty(who, members), rng.choice([i, i + 1]))]
    return out, expect, f"{what} {i}", ("fields: " + " ".join(fields)) if fields else None


def consequence(rng, p):
    """A statement of a process alone that differs, and shows only where its value is brought to the others."""
    chosen = [(i, c) for i, step in enumerate(p.steps) if not step.calls for c in step.changes if c[3] is not None]
    if not chosen:
        return None
    i, (what, attrs, code, shows) = rng.choice(chosen)
    members = p.steps[shows].members or list(range(p.processes))
    who = minority(rng, members)
    plain = bodies(p)
    out = plain[:i] + [not_on(plain[i], who), on({**plain[i], **attrs}, who)] + plain[i + 1:]
    if code == "process-raised":  # an error of its own, before anybody is met
        return out, [wanted(code, who, shows + 1)], f"{what} {i}"
    return out, [wanted(code, guilty(who, members), rng.choice([i, i + 1]))], f"{what} {i}"


def loop(rng, p):
    chosen = [i for i, step in enumerate(p.steps) if "repeat" in step.body]
    if not chosen:
        return None
    i = rng.choice(chosen)
    members = p.steps[i].members
    who = minority(rng, members)
    plain = bodies(p)
    by = rng.choice([-1, 1])
    out = plain[:i] + [not_on(plain[i], who), on({**plain[i], "repeat": plain[i]["repeat"] + by}, who)] + plain[i + 1:]
    if by < 0:
        return out, [wanted("missing-participant", who, i)], f"less {i}"
    return out, [wanted("missing-participant", lacking(who, members), i + 1)], f"more {i}"


def leave(rng, p):
    """These return early."""
    chosen = [i for i in calls_of(p) if set(p.steps[i].members) == set(range(p.processes))]
    if not chosen:
        return None
    i = rng.choice(chosen)
    who = minority(rng, list(range(p.processes)))
    out = bodies(p)
    for k in range(i, len(out)):
        if "on" in out[k]:
            out[k]["on"] = {"processes": [q for q in out[k]["on"]["processes"] if q not in who]}
            continue
        out[k] = not_on(out[k], who)
    if any("on" in each and not each["on"]["processes"] for each in out):
        return None
    return out, [wanted("missing-participant", who, i)], f"leave {i}"


def message(rng, p):
    sends = [i for i, step in enumerate(p.steps) if step.body.get("op") == "send"]
    if not sends:
        return None
    i = rng.choice(sends)
    sender, receiver = p.steps[i].members
    r = next(k for k, step in enumerate(p.steps) if step.body.get("op") == "recv" and step.body["on"]["processes"] == [receiver])
    what = rng.choice(["no send", "no receive", "tag", "shape"] + (["peer"] if p.processes > 2 else []))
    out = bodies(p)
    if what == "no send":
        del out[i]
        return out, [wanted("missing-participant", [sender], r - 1)], what
    if what == "no receive":
        del out[r]
        return out, [wanted("missing-participant", [receiver], i)], what
    if what == "tag":
        out[r]["tag"] += 1
    elif what == "shape":
        out[r]["shape"] = [5]
    else:
        out[i]["peer"] = (out[i]["peer"] + 1) % p.processes
        if out[i]["peer"] == sender:
            return None
        return out, [wanted("program-mismatch", [sender], i)], what
    return out, [wanted("program-mismatch", [sender, receiver], rng.choice([i, r]))], what, "fields: " + {"tag": "channel", "shape": "shape"}[what]


def fault(rng, p):
    calls = [i for i in calls_of(p, plain=False) if "repeat" not in p.steps[i].body]
    i = rng.choice(calls)
    on_them = p.steps[i].body.get("on", {"processes": p.steps[i].members})["processes"]
    q = rng.choice(on_them)
    code, do = rng.choice([("process-raised", "raise"), ("process-exited", {"exit": 4}), ("process-killed", "kill"), ("process-stuck", "hang")])
    return bodies(p), [wanted(code, [q], i)], f"{code} {i}", None, [{"at": i, "processes": [q], "do": do}]


def two_causes(rng, p):
    """A departure on either side, which have nothing to do with each other: both are told."""
    sides = {name: [i for i in calls_of(p) if p.steps[i].members == p.steps[i].members and p.meshes.get(name) and p.steps[i].changes and p.steps[i].members == members]
             for name, members in (("left", list(range(p.processes // 2))), ("right", list(range(p.processes // 2, p.processes))))}
    if not all(sides.values()):
        return None
    out, expects = bodies(p), []
    for name in ("right", "left"):  # from the end, so that places stay
        i = rng.choice(sides[name])
        members = p.steps[i].members
        who = [rng.choice(members)]
        blamed = guilty(who, members)
        if rng.random() < 0.5 or p.used_later(i):
            what, attrs, _ = rng.choice(p.steps[i].changes)
            out = out[:i] + [not_on(out[i], who), on({**out[i], **attrs}, who)] + out[i + 1:]
            expects = [{**e, "statement": e["statement"] + 1} for e in expects]
            expects.append(wanted("program-mismatch", blamed, i))
        else:
            out[i] = not_on(out[i], who)
            expects.append(wanted("missing-participant", who, i))
    return out, expects, "two"


def quiet(rng, p):
    plain = bodies(p)
    spots = [i for i, step in enumerate(p.steps) if "on" not in step.body]
    i = rng.choice(spots)
    who = minority(rng, list(range(p.processes)))
    out = plain[:i] + [not_on(plain[i], who), on(plain[i], who)] + plain[i + 1:]
    plain_spots = [k for k, each in enumerate(out) if "on" not in each and "not_on" not in each]
    faults = [{"at": rng.choice(plain_spots), "processes": [rng.randrange(p.processes)], "do": {"delay_ms": rng.randrange(1, 40)}} for _ in range(2)]
    return out, [{"diagnosis": None}], f"quiet {i}", None, faults


DEPARTURES = {f.__name__: f for f in (drop, repeat, swap, later, change, consequence, loop, leave, message, fault, two_causes, quiet)}


def make(seed, count, oracle, kinds):
    rng = random.Random(seed)
    documents = [from_oracle(each) for each in oracle]
    made = 0
    while made < count:
        kind = kinds[made % len(kinds)]
        build = rng.choice(documents) if documents and rng.random() < 0.35 else rng.choice(PROGRAMS)
        p = build(rng)
        result = DEPARTURES[kind](rng, p)
        if result is None:
            continue
        program, expects, what, description, faults = (*result, None, None)[:5]
        document = {"shardlab": 1, "name": f"{made:04d} {build.__name__} {p.processes}x{p.devices} {what}",
                    "cluster": {"processes": p.processes, "devices": p.devices, "run": "simulated"}, "meshes": p.meshes}
        if description:
            document["description"] = description
        if p.functions:
            document["functions"] = p.functions
        document["program"] = program
        if faults:
            document["faults"] = faults
        document["expect"] = expects
        yield document
        made += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=761)
    parser.add_argument("--count", type=int, default=360)
    parser.add_argument("--oracle", help="programs.jsonl: more programs to depart from")
    parser.add_argument("--kinds", default=",".join(DEPARTURES))
    arguments = parser.parse_args()
    oracle = []
    if arguments.oracle:
        with open(arguments.oracle) as lines:
            oracle = [json.loads(line) for line in lines]
    for each in make(arguments.seed, arguments.count, oracle, arguments.kinds.split(",")):
        print(json.dumps(each))


if __name__ == "__main__":
    main()
