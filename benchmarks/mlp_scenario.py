#!/usr/bin/env python3
"""A scenario: two steps of a perceptron on PROCESSES x DEVICES devices, data along axis a, layers along axis b; one process takes another step.

    mlp_scenario.py PROCESSES DEVICES A B [WHO]      A x B devices in the mesh; WHO departs (default: a third of the way)
"""
import json
import sys

WIDTHS = [784, 1024, 1024, 1024, 10]


def line(value):
    return json.dumps(value, ensure_ascii=False)


def scenario(processes, devices, a, b, who):
    parameters, program = [], [{"let": "key", "op": "random.key", "seed": 0}]

    def normal(name, shape, spec):
        program.append({"let": name, "op": "random.normal", "args": ["key"], "shape": shape, "sharding": spec})

    normal("x", [8 * a, WIDTHS[0]], ["a", None])
    normal("y", [8 * a, WIDTHS[-1]], ["a", None])
    for i, (before, after) in enumerate(zip(WIDTHS, WIDTHS[1:])):
        by_column = i % 2 == 0
        normal(f"w{i}", [before, after], [None, "b"] if by_column else ["b", None])
        normal(f"b{i}", [after], ["b"] if by_column else [None])
        parameters += [f"w{i}", f"b{i}"]
    loss = []
    for i in range(len(WIDTHS) - 1):
        loss.append({"let": "h", "op": "matmul", "args": ["h" if i else "x", f"w{i}"]})
        loss.append({"let": "h", "op": "add", "args": ["h", f"b{i}"]})
        if i < len(WIDTHS) - 2:
            loss.append({"let": "h", "op": "relu", "args": ["h"]})
    loss += [{"let": "d", "op": "sub", "args": ["h", "y"]}, {"let": "d", "op": "mul", "args": ["d", "d"]}, {"let": "l", "op": "mean", "args": ["d"]}]

    def step(rate):
        body = [{"let": ["loss"] + ["g" + p for p in parameters], "op": "value_and_grad", "fn": "loss", "args": parameters + ["x", "y"],
                 "argnums": list(range(len(parameters)))}]
        for p in parameters:
            body += [{"let": "g" + p, "op": "mul", "args": ["g" + p, rate]}, {"let": "n" + p, "op": "sub", "args": [p, "g" + p]}]
        return {"params": parameters + ["x", "y"], "body": body, "results": ["loss"] + ["n" + p for p in parameters]}

    functions = {"loss": {"params": parameters + ["x", "y"], "body": loss, "results": ["l"]}, "step": step(0.1), "other_rate": step(0.2)}
    call = {"let": ["loss"] + parameters, "op": "jit", "fn": "step", "args": parameters + ["x", "y"]}
    program.append(call)
    departs = len(program)
    program.append({**call, "not_on": {"processes": [who]}})
    program.append({**call, "fn": "other_rate", "on": {"processes": [who]}})
    program.append({"let": "l", "op": "fetch", "args": ["loss"]})
    return {
        "shardlab": 1, "name": "mlp_step_one_departs",
        "description": f"The gradient step of a perceptron on {processes * devices} devices, without data: one process learns at another rate.",
        "cluster": {"processes": processes, "devices": devices, "execute": "structure"},
        "meshes": {"m": {"shape": [a, b], "axes": ["a", "b"]}},
        "functions": functions, "program": program,
        "expect": [{"diagnosis": "program-mismatch", "processes": [who], "statement": departs}, {"diagnosis": "program-mismatch", "processes": [who], "statement": departs + 1}],
    }


def text_of(document):
    """One line a statement."""
    parts = []
    for key, value in document.items():
        if key == "functions":
            functions = []
            for name, function in value.items():
                body = ",\n      ".join(line(each) for each in function["body"])
                functions.append(f'    {line(name)}: {{"params": {line(function["params"])}, "body": [\n      {body}],\n      "results": {line(function["results"])}}}')
            parts.append('  "functions": {\n' + ",\n".join(functions) + "}")
        elif key in ("program", "expect"):
            parts.append(f'  {line(key)}: [\n    ' + ",\n    ".join(line(each) for each in value) + "]")
        else:
            parts.append(f"  {line(key)}: {line(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    if len(numbers) not in (4, 5):
        sys.exit(__doc__)
    print(text_of(scenario(*numbers[:4], numbers[4] if len(numbers) == 5 else numbers[0] // 3)), end="")
