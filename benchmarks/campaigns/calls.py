"""Programs of which a part is a jitted function of its own, called from the middle: networks, expressions, products, rearrangements."""
import expressions
import networks
import products
import rearrangements
from draw import Draw

KINDS = (networks, networks, expressions, products, rearrangements)


def names_in(statement, known):
    return [each for each in statement["args"] if isinstance(each, str) and each in known]


def names_out(statement):
    return statement["let"] if isinstance(statement["let"], list) else [statement["let"]]


def with_call(d, document):
    """Moves some statements of its function into one that is called there; False where there are too few."""
    function = document["functions"].get("loss") or document["functions"]["f"]
    body = function["body"]
    if len(body) < 3 or any(each["op"] in ("grad", "vmap") for each in body):
        return False
    start = d.random.randint(0, len(body) - 2)
    stop = d.random.randint(start + 2, min(len(body), start + 7))
    part, made, needed = body[start:stop], set(), []
    known = set(function["params"]).union(*map(names_out, body))
    for statement in part:
        for each in names_in(statement, known):
            if each not in made and each not in needed:
                needed.append(each)
        made.update(names_out(statement))
    later = set(function["results"]).union(*(names_in(each, known) for each in body[stop:]))
    results = [each for each in dict.fromkeys(name for statement in part for name in names_out(statement)) if each in later]
    if not needed or not results:
        return False
    call = {"let": results if len(results) > 1 else results[0], "op": "jit", "fn": "inner", "args": needed}
    function["body"] = body[:start] + [call] + body[stop:]
    document["functions"] = {"inner": {"params": needed, "body": part, "results": results}, **document["functions"]}
    return True


def program(d, name):
    while True:
        document = d.of(*KINDS).program(Draw(d.random.getrandbits(48)), name)
        if with_call(d, document):
            return document
