#!/usr/bin/env python3
"""Writes outlines.inc: what JAX makes of elementwise ops, as steps (outlines.h), where it is more than one step.

    make_outlines.py OPS.md > outlines.inc        (docs/ops.md; needs jax)

Read are the modules that XLA hands to Shardy. Steps between one value and another that nobody else sees are left out.
"""
import os
import pathlib
import re
import shutil
import sys
import tempfile

DUMPS = tempfile.TemporaryDirectory()
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=2 --xla_dump_to={DUMPS.name} --xla_dump_hlo_pass_re=.*shardy.*"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import jax.scipy.special
import jax._src.scipy.special
from jax import lax
from jax._src.interpreters import mlir
from jax._src.lib.mlir import ir
from jax.sharding import NamedSharding, PartitionSpec as P

SHAPE = (4, 6)
LATE = {f"stablehlo.{each}" for each in ("broadcast_in_dim", "concatenate", "dot_general", "reduce", "reduce_window")}
OTHER_NAMES = {"regularized_incomplete_beta": "betainc", "mul": "multiply", "sub": "subtract", "div": "divide",
               **{f"hyp{kind}_grad_{by}": f"_hyp{kind}_{by}_derivative" for kind, letters in (("1f1", "ab"), ("2f1", "abc")) for by in letters}}


def elementwise_ops(page):
    """Name and number of operands of those whose dimensions all pass."""
    for line in pathlib.Path(page).read_text().splitlines():
        found = re.match(r"\| `([\w.]+)`.*`\{i=4, j=6\} ((?:\[i j\],?)+)->\[i j\]` \|$", line)
        if found:
            yield found[1], found[2].count("[")


def function_of(op):
    for place in (jnp, jax.scipy.special, jax._src.scipy.special, jax.nn, lax):
        if hasattr(place, OTHER_NAMES.get(op, op)):
            return getattr(place, OTHER_NAMES.get(op, op))
    return None


def module_of(function, operands, dtype):
    """As Shardy gets it."""
    shutil.rmtree(pathlib.Path(DUMPS.name) / "shardy", ignore_errors=True)
    mesh = jax.make_mesh((2,), ("a",), axis_types=(jax.sharding.AxisType.Auto,))
    types = [jax.ShapeDtypeStruct(SHAPE, dtype, sharding=NamedSharding(mesh, P("a")))] * operands
    jax.jit(lambda *args: function(*args)).lower(*types).compile()
    return next(pathlib.Path(DUMPS.name).rglob("*before_propagation.mlir")).read_text()


class Outline:
    """Steps in order: [kind, value, from], of values that are numbered as they come."""

    def __init__(self, module, operands):
        self.steps, self.count, self.operands = [], operands, operands
        self.functions = {op.attributes["sym_name"].value: op for op in module.body.operations if "sym_name" in op.attributes}
        main = self.functions["main"].regions[0].blocks[0]
        names = {argument: number for number, argument in enumerate(main.arguments)}
        self.result = self.walk(main, names)[0]

    def make(self, kind, sources):
        self.steps.append([kind, self.count, sources])
        self.count += 1
        return self.count - 1

    def walk(self, block, names):
        """Number or None (a scalar, a constant) of what the block gives; of `names` are those of its operands."""
        for op in block.operations:
            kind = op.operation.name
            operands = [names.get(value) for value in op.operands]
            if kind in ("func.return", "stablehlo.return", "sdy.return", "func.terminator"):
                return operands
            if kind == "stablehlo.while":
                self.loop(op, operands, names)
            elif kind in ("stablehlo.case", "stablehlo.if"):
                self.branches(op, names)
            elif kind in ("func.call", "call"):
                callee = self.functions[op.attributes["callee"].value].regions[0].blocks[0]
                names.update(zip(op.results, self.walk(callee, dict(zip(callee.arguments, operands)))))
            else:
                self.meet(op, operands, names)
        raise ValueError("a block without an end")

    def meet(self, op, operands, names):
        sources = [number for number in operands if number is not None]
        ranks = [ir.RankedTensorType(result.type).rank for result in op.results]
        if not sources:
            return
        if max(ranks, default=0) == 0:  # nothing comes of it but that it is used
            self.make("use", sources)
            return
        for result in op.results:
            if tuple(ir.RankedTensorType(result.type).shape)[: len(SHAPE)] != SHAPE:
                raise ValueError(f"{op.operation.name} is not elementwise")
            names[result] = self.make("late" if op.operation.name in LATE else "meet", sources)

    def loop(self, op, starts, names):
        condition, body = (region.blocks[0] for region in op.regions)
        ends = [end for end in body.operations][-1].operands
        carried = []
        for i, (start, argument) in enumerate(zip(starts, body.arguments)):
            has_rank = ir.RankedTensorType(argument.type).rank > 0
            stays = ends[i] == argument
            carried.append(start if stays or not has_rank else self.make("carried", []))
            for each in (argument, condition.arguments[i], op.results[i]):
                names[each] = carried[-1]
        self.walk(condition, names)
        for i, end in enumerate(self.walk(body, names)):
            if carried[i] is None or carried[i] == starts[i]:
                continue
            self.steps.append(["end", carried[i], [number for number in (starts[i], end) if number is not None]])

    def branches(self, op, names):
        results = [self.make("carried", []) if ir.RankedTensorType(result.type).rank > 0 else None for result in op.results]
        given = [self.walk(region.blocks[0], names) for region in op.regions]
        for i, result in enumerate(results):
            names[op.results[i]] = result
            if result is not None:
                self.steps.append(["end", result, [each[i] for each in given if each[i] is not None]])

    # Without what nobody sees.
    def shortened(self):
        self.drop_unused()
        while self.merge_one() or self.collapse_one():
            pass
        return self

    def drop_unused(self):
        needed, before = {self.result}, None
        while before != needed:
            before = set(needed)
            for kind, made, sources in self.steps:
                if kind == "use" or made in needed:
                    needed.update(sources)
        self.steps = [step for step in self.steps if step[1] in needed or step[0] == "use" and len(self.steps) > 1]

    def uses(self):
        found = {self.result: [None]}
        for step in self.steps:
            for number in step[2]:
                found.setdefault(number, []).append(step)
        return found

    def makers(self):
        return {step[1]: step for step in self.steps if step[0] == "meet"}

    # A value of which one other is made, and nothing else.
    def merge_one(self):
        uses, makers = self.uses(), self.makers()
        for step in self.steps:
            if step[0] != "meet" or len(step[2]) != 1:
                continue
            source = step[2][0]
            if source < self.operands or len(uses[source]) > 1:
                continue
            self.steps.remove(step)
            for other in self.steps:
                other[2] = [source if number == step[1] else number for number in other[2]]
            self.result = source if self.result == step[1] else self.result
            return True
        return False

    # A value made of one other by several steps that nobody else sees: of that one, which is used several times.
    def collapse_one(self):
        uses, makers = self.uses(), self.makers()
        for step in self.steps:
            if step[0] != "meet":
                continue
            inside, front, single = [step], set(step[2]), None
            while True:
                if len(front) == 1 and len(inside) > 1:
                    single = (list(front)[0], len(inside))
                last = max(front)
                if last not in makers or any(all(use is not each for each in inside) for use in uses[last]):
                    break
                inside.append(makers[last])
                front = front - {last} | set(makers[last][2])
            if single:
                step[2] = [single[0]] * 2
                self.steps = [each for each in self.steps if all(each is not other for other in inside[1 : single[1]])]
                return True
        return False

    def text(self):
        numbers, count, texts = {number: number for number in range(self.operands)}, self.operands, []
        for kind, made, sources in self.steps:
            if kind != "end":
                numbers[made] = count
                count += 1
            given = ",".join(str(numbers[number]) for number in sources)
            texts.append({"meet": given, "use": given, "late": "-" + given, "carried": "~", "end": f"{numbers[made]}={given}"}[kind])
        if self.steps[-1][1] != self.result:
            texts.append(f">{numbers[self.result]}")
        return " ".join(texts)


def text_of(op, operands, dtype):
    """Nothing where it is one step."""
    function = function_of(op)
    if function is None:
        raise ValueError("JAX has no such function")
    if not jnp.issubdtype(jax.eval_shape(function, *[jax.ShapeDtypeStruct(SHAPE, dtype)] * operands).dtype, jnp.integer) and dtype == jnp.int32:
        raise ValueError("no op of integers")
    with mlir.make_ir_context():
        outline = Outline(ir.Module.parse(module_of(function, operands, dtype)), operands).shortened()
        text = outline.text() if outline.steps else "0"
    return None if text == ",".join(map(str, range(operands))) else text


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for op, operands in elementwise_ops(sys.argv[1]):
        texts = {}
        for name, dtype in ((op, jnp.float32), (f"{op} of integers", jnp.int32)):
            try:
                texts[name] = text_of(op, operands, dtype)
            except (TypeError, ValueError, StopIteration) as error:
                print(f"{name}: {error}", file=sys.stderr)
        if len(set(texts.values())) == 1:  # of one name, too, where it is of integers alone
            texts = {op: next(iter(texts.values()))}
        for name, text in texts.items():
            if text is not None:
                print(f'{{"{name}", "{text}"}},')


if __name__ == "__main__":
    main()
