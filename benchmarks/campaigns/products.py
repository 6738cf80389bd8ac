"""Products of two and three operands, batches of decompositions and solves, Fourier transforms along several axes."""
from draw import step


def program(draw, name):
    return draw.of(einsum, einsum, einsum, dot_general, decomposition, decomposition, transform, transform)(draw, name)


def einsum(draw, name):
    letters = "abcde"[: draw.of(3, 4, 5)]
    sizes = {letter: draw.of(*draw.axes.values(), 4, 6) * draw.of(1, 1, 2) for letter in letters}
    count = draw.of(2, 2, 3)
    texts = ["".join(draw.random.sample(letters, draw.random.randint(1, min(3, len(letters))))) for _ in range(count)]
    used = sorted(set("".join(texts)))
    result = "".join(draw.random.sample(used, draw.random.randint(0, min(3, len(used)))))
    given = [draw.argument(f"x{i}", [sizes[letter] for letter in text]) for i, text in enumerate(texts)]
    if draw.is_true(0.15):  # an operand twice
        given.append(given[0])
        texts.append("".join(texts[0]))
    shape = [sizes[letter] for letter in result]
    body = [step("y", "einsum", *given, subscripts=",".join(texts) + "->" + result), *draw.touched("y", shape)]
    return draw.finished(name, body, {"y": shape})


def dot_general(draw, name):
    batch, contract = draw.of(0, 1, 1, 2), draw.of(0, 1, 1, 2)
    some = lambda count: [draw.of(*draw.axes.values(), 4, 6) * draw.of(1, 2) for _ in range(count)]
    together, summed, own = some(batch), some(contract), [some(draw.of(0, 1, 1, 2)) for _ in range(2)]
    shapes, numbers = [], []
    for each in own:
        kinds = draw.shuffled([("t", i) for i in range(batch)] + [("s", i) for i in range(contract)] + [("o", i) for i in range(len(each))])
        shapes.append([{"t": together, "s": summed, "o": each}[kind][i] for kind, i in kinds])
        numbers.append({kind: [kinds.index((kind, i)) for i in range(count)] for kind, count in (("t", batch), ("s", contract))} |
                       {"o": [i for kind, i in kinds if kind == "o"]})
    for i, shape in enumerate(shapes):
        draw.argument(f"x{i}", shape)
    result = together + [own[side][i] for side in range(2) for i in numbers[side]["o"]]
    body = [step("y", "dot_general", "x0", "x1", contract=[numbers[0]["s"], numbers[1]["s"]], batch=[numbers[0]["t"], numbers[1]["t"]])]
    return draw.finished(name, body + draw.touched("y", result), {"y": result})


def decomposition(draw, name):
    rows, columns = draw.of(*draw.axes.values(), 4, 6), draw.of(*draw.axes.values(), 3)
    batch = [draw.size() for _ in range(draw.of(0, 1, 1, 2))]
    square, wide = [*batch, rows, rows], [*batch, rows, columns]
    draw.argument("x", square)
    # The sum of a square and a large diagonal is positive definite.
    definite = [step("t", "matrix_transpose", "x"), step("p", "matmul", "x", "t"), step("n", "eye", rows), step("n", "mul", "n", 4.0 * rows),
                step("p", "add", "p", "n"), *draw.held("p", square, 0.2)]
    kind = draw.of("cholesky", "solve", "solve_triangular", "qr", "inv", "cho_solve")
    if kind == "qr":
        draw.argument("w", [*batch, rows + columns, columns])
        shape = [*batch, columns, columns]
        # Sines alone have rank 2.
        full = [step("n", "eye", rows + columns, columns), step("w2", "add", "w", "n")]
        return draw.finished(name, [*full, step(["q", "r"], "linalg.qr", "w2"), *draw.held("r", shape)], {"q": draw.arguments["w"], "r": shape})
    if kind in ("cholesky", "inv"):
        return draw.finished(name, [*definite, step("y", "linalg." + kind, "p"), *draw.touched("y", square)], {"y": square})
    draw.argument("b", wide)
    solved = {"solve": [step("y", "linalg.solve", "p", "b")],
              "solve_triangular": [step("y", "linalg.solve_triangular", "p", "b", lower=draw.is_true(0.5), trans=draw.of(0, 1))],
              "cho_solve": [step("c", "linalg.cholesky", "p"), step("z", "linalg.solve_triangular", "c", "b", lower=True),
                            step("y", "linalg.solve_triangular", "c", "z", lower=True, trans=1)]}[kind]
    return draw.finished(name, [*definite, *solved, *draw.touched("y", wide)], {"y": wide})


def transform(draw, name):
    rank = draw.of(1, 2, 2, 3)
    shape = draw.shape(rank)
    draw.argument("x", shape)
    body, value, is_real, new = [], "x", True, list(shape)
    for turn in range(draw.of(1, 1, 2)):
        axes = draw.random.sample(range(rank), draw.random.randint(1, rank))
        along = {"axis": axes[0]} if len(axes) == 1 else {"axes": axes}
        many = "" if len(axes) == 1 else "n"
        kinds = ["fft", "ifft"] + (["rfft"] if is_real else ["irfft"] if new[axes[-1]] > 1 else [])
        kind = draw.of(*kinds)
        body.append(step(f"z{turn}", f"fft.{kind}{many}", value, **along))
        last = axes[-1]
        new[last] = {"rfft": new[last] // 2 + 1, "irfft": 2 * (new[last] - 1)}.get(kind, new[last])
        value, is_real = f"z{turn}", kind == "irfft"
        body += draw.held(value, new, 0.2)
    if is_real or draw.is_true(0.2):
        return draw.finished(name, body, {value: new}, gradient=0.5 if is_real else 0)
    body += [step("p", "real", value), step("q", "imag", value)]
    return draw.finished(name, body, {"p": new, "q": new})
