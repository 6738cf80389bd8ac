"""Counts the arithmetic of one device in a compiled HLO module, in elements, as shardlab counts its own (runtime/spmd/work.h).

Elementwise: the elements of the result. A reduction: the elements that go in, for each op that combines two. A product: result x
contraction. A convolution: result x window x features of a group. A sort: its elements; a transform: its elements for each dimension that
it goes along. A window's reduction: result x window, for each op that combines. A loop: its body, as often as the module says it runs; a
branch: the largest. Not counted: what only moves data (slices, joins, transposes, broadcasts, gathers, collectives), comparators of
sorts, combiners of reductions of several arrays, and what follows from constants and the device's number alone (masks and addresses: it
is known before the program runs).

Who sums n elements in p parts adds n - p times on the devices and p - 1 times between them: n elements that go in stand for both. So a
collective that combines what devices have summed up counts nothing, and one that combines what they have not counts as a reduction; so
does one among devices that have summed it up between them before, for they sum it up once more (per-device code's psum of what all have).
"""
import collections
import dataclasses
import math
import re

MOVES = frozenset("""
add-dependency after-all all-gather all-gather-done all-gather-start all-reduce-done all-to-all async-done async-start bitcast bitcast-convert broadcast collective-broadcast collective-permute collective-permute-done collective-permute-start
concatenate copy copy-done copy-start domain dynamic-slice dynamic-update-slice gather get-tuple-element opt-barrier pad parameter
reshape reverse slice transpose tuple
""".split())
KNOWN = frozenset("constant iota partition-id replica-id".split())
COMBINING = frozenset("all-reduce all-reduce-start reduce-scatter".split())
REDUCING = COMBINING | frozenset("reduce reduce-window scatter".split())  # by the computation that they name
LINEAR = frozenset("add convert negate subtract".split())  # of sums they give sums; products do by what is known
INSTRUCTION = re.compile(r"\s*(?P<root>ROOT )?%?(?P<name>[\w.\-]+) = (?P<type>.+?) (?P<op>[a-z][\w\-]*)\((?P<rest>.*)")


@dataclasses.dataclass
class Instruction:
    name: str
    op: str
    shape: list  # of the first array
    operands: list
    rest: str
    is_root: bool


def listed_groups(rest):
    """Those of per-device code; XLA's own are written otherwise, and are parts of one combination."""
    listed = re.search(r"replica_groups=\{((?:\{[\d,]+\},?)+)\}", rest)
    return frozenset(frozenset(numbers(group)) for group in re.findall(r"\{([\d,]+)\}", listed[1])) if listed else frozenset()


def numbers(text, separator=","):
    return [int(each) for each in text.split(separator) if each]


def computations_of(hlo):
    """{name: instructions}, and the entry's name."""
    found, entry, inside = {}, None, None
    for line in hlo.splitlines():
        if line[:1].strip() and line.rstrip().endswith("{") and "->" in line:
            name = line.replace("ENTRY ", "").split()[0].lstrip("%")
            inside = found[name] = []
            if line.startswith("ENTRY "):
                entry = name
        elif line.startswith("}"):
            inside = None
        elif inside is not None and (match := INSTRUCTION.match(line)):
            arrays = re.findall(r"\w+\[([\d,]*)\]", match["type"])
            inside.append(Instruction(match["name"], match["op"], numbers(arrays[0]) if arrays else [],
                                      re.findall(r"%([\w.\-]+)", match["rest"].split(")")[0]), match["rest"], bool(match["root"])))
    return found, entry


@dataclasses.dataclass(frozen=True)
class Value:
    is_known: bool = False  # before the program runs
    combined_by: str = ""  # "add", "maximum" …: what this device has made it with of several elements
    groups: frozenset = frozenset()  # of devices, as far as they are listed, that have combined it between them


class Counter:
    def __init__(self, hlo):
        self.computations, self.entry = computations_of(hlo)

    def run(self):
        """{op: elements} of one device."""
        _, count = self.walk(self.entry, [])
        return dict(count)

    def walk(self, name, arguments):
        """What comes out, a value or a list of them, and the count."""
        values, shapes, count = {}, {}, collections.Counter()
        result = Value()
        for each in self.computations[name]:
            given = [values[operand] for operand in each.operands if operand in values]
            values[each.name] = self.visit(each, given, [shapes.get(operand, []) for operand in each.operands], arguments, count)
            shapes[each.name] = each.shape
            if each.is_root:
                result = values[each.name]
        return result, count

    def visit(self, each, given, shapes, arguments, count):
        named = lambda key: re.search(key + r"=%?([\w.\-]+)", each.rest)[1]
        if each.op == "parameter":
            index = int(each.rest.split(")")[0])
            return arguments[index] if index < len(arguments) else Value()
        if each.op == "tuple":
            return given
        if each.op == "get-tuple-element":
            return given[0][int(re.search(r"index=(\d+)", each.rest)[1])] if isinstance(given[0], list) else given[0]
        if each.op in ("fusion", "call"):
            return self.inside(named("calls" if each.op == "fusion" else "to_apply"), given, count)
        if each.op == "conditional":
            listed = re.search(r"branch_computations=\{([^}]*)\}", each.rest)
            names = ([branch.strip().lstrip("%") for branch in listed[1].split(",")] if listed else
                     [named("true_computation"), named("false_computation")])
            walked = [self.walk(branch, [argument]) for branch, argument in zip(names, given[1:])]
            count.update(max((inner for _, inner in walked), key=lambda inner: sum(inner.values())))
            return Value()
        if each.op == "while":
            return self.loop(named("body"), given[0], re.search(r'known_trip_count"?:\{"n":"(\d+)"', each.rest), count)
        flat = [value for part in given for value in (part if isinstance(part, list) else [part])]
        is_known = each.op in KNOWN or bool(flat) and all(value.is_known for value in flat)
        combined_by = self.combined_by(each, flat)
        if each.op in COMBINING:
            groups = listed_groups(each.rest)
            is_new = lambda value: value.combined_by != combined_by or any(len(a & b) > 1 for a in groups for b in value.groups)
            count[each.op] += sum(math.prod(shape) for value, shape in zip(flat, shapes) if is_new(value))
            return Value(is_known, combined_by, groups.union(*(value.groups for value in flat)))
        elif not is_known and each.op not in MOVES:
            is_combined = each.op == "reduce-window" or each.op == "reduce" and len(each.operands) == 2
            count[each.op] += elements(each, shapes) * (self.combiner_work(named("to_apply")) if is_combined else 1)
        return Value(is_known, combined_by, frozenset().union(*(value.groups for value in flat)) if combined_by else frozenset())

    def combined_by(self, each, operands):
        if each.op in ("dot", "convolution"):
            return "add"
        if each.op in REDUCING:
            combiner = self.computations[re.search(r"to_apply=%?([\w.\-]+)", each.rest)[1]]
            return next(step.op for step in combiner if step.is_root)
        earlier = {value.combined_by for value in operands} - {""}
        if each.op in MOVES and len(earlier) == 1:
            return earlier.pop()
        varying = [value.combined_by for value in operands if not value.is_known]
        is_sum = all(combined_by == "add" for combined_by in varying) and bool(varying)
        return "add" if is_sum and (each.op in LINEAR or each.op in ("multiply", "divide") and len(varying) == 1) else ""

    def combiner_work(self, name):
        """Elements for one application: what combines may be a whole function, as in cumlogsumexp, of which ours counts every op."""
        _, inner = self.walk(name, [])
        return max(1, sum(number for op, number in inner.items() if op != "convert"))

    def inside(self, name, arguments, count, times=1):
        value, inner = self.walk(name, arguments)
        for op, number in inner.items():
            count[op] += number * times
        return value

    def loop(self, body, carried, trips, count):
        """What is carried is known where it begins so and stays so; a loop of unknown length counts once."""
        carried = carried if isinstance(carried, list) else [carried]
        while True:
            after, _ = self.walk(body, [carried])
            stays = [Value(a.is_known and b.is_known) for a, b in zip(carried, after if isinstance(after, list) else [after])]
            if stays == carried:
                break
            carried = stays
        self.inside(body, [carried], count, int(trips[1]) if trips else 1)
        return carried


def elements(each, operands):
    result = math.prod(each.shape)
    if each.op == "reduce":
        into = math.prod(operands[0])
        return into if into != result else 0  # of single elements: the device adds nothing
    if each.op == "reduce-window":
        return result * math.prod(numbers(re.search(r"window=\{size=([\dx]+)", each.rest)[1], "x"))
    if each.op == "dot":
        contracted = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", each.rest)
        return result * math.prod(operands[0][d] for d in numbers(contracted[1] if contracted else ""))
    if each.op == "convolution":
        features = re.search(r"dim_labels=\w+_(\w+)->", each.rest)[1].index("o")
        return result * math.prod(operands[1]) // max(operands[1][features], 1)
    if each.op == "scatter":
        return math.prod(operands[-1])
    if each.op == "fft":  # along one dimension after the other
        return result * len(numbers(re.search(r"fft_length=\{([\d,]*)\}", each.rest)[1]))
    if each.op == "custom-call":
        return max([result, *map(math.prod, operands)])
    return result


def arithmetic_of(hlo):
    """{op: elements} of one device in a module's text, without ops that compute nothing."""
    return {op: count for op, count in sorted(Counter(hlo).run().items()) if count}
