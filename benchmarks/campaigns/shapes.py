"""Functions of several operands of different shapes, cut otherwise from each other."""
from draw import step

# By the shapes of their arguments: sizes are letters and numbers, and the kind of what is in them stands before a colon; or a key.
OF_SHAPES = [
    ("matmul", "mk kn"), ("dot", "mk k"), ("outer", "m n"), ("kron", "mk nk"), ("inner", "mk nk"), ("cross", "m3 m3"), ("convolve", "m n"),
    ("correlate", "m n"), ("polyval", "k mn"), ("polyadd", "m n"), ("polymul", "m n"), ("interp", "mn u:k k"), ("isin", "i:mn i:k"),
    ("append", "mk nk", {"axis": 0}), ("append", "mn mk", {"axis": 1}), ("vdot", "mn mn"), ("tensordot", "mk kn", {"axes": 1}),
    ("take", "mn i:k", {"axis": 0}), ("take", "mn i:k", {"axis": 1}), ("take_along_axis", "mn i:mn", {"axis": 0}),
    ("take_along_axis", "mn i:mn", {"axis": 1}), ("put_along_axis", "mn i:m1 m1", {"axis": 1, "inplace": False}), ("average", "mn mn"),
    ("trapezoid", "mn mn"), ("sort_key_val", "mn mn"), ("cov", "mn"), ("dot_product_attention", "mk2n ml2n ml2n"), ("insert", "mn i:3 3n", {"axis": 0}),
    ("tridiagonal_solve", "m p:m m mn"), ("linalg.toeplitz", "m n"), ("linalg.toeplitz", "m"), ("linalg.toeplitz", "km kn"), ("linalg.hankel", "m n"),
    ("linalg.companion", "p:m"), ("linalg.companion", "p:km"), ("linalg.circulant", "m"), ("linalg.leslie", "m m"), ("where", "b:mn mn n"),
    ("logsumexp", "mn", {"axis": 0}), ("searchsorted", "u:k mn"), ("digitize", "mn u:k"), ("scatter_add", "mn i:k kn"), ("scatter_max", "mn i:k kn"),
    ("scatter_mul", "mn i:k kn"), ("scatter", "mn i:k kn"), ("scatter_add", "m i:k k"), ("scatter_min", "m i:kl kl"), ("scatter_add", "mnl i:k knl"),
]
NOT_DIFFERENTIABLE = ("isin", "searchsorted", "digitize")
TWO_RESULTS = ("sort_key_val", "linalg.slogdet", "histogram", "approx_max_k", "approx_min_k")


def program(draw, name, of_shapes=OF_SHAPES, not_differentiable=NOT_DIFFERENTIABLE):
    op, texts, *at = draw.of(*of_shapes)
    sizes = {letter: draw.size() for letter in "mnkl"}
    given = "xyzw"[: len(texts.split())]
    for each, text in zip(given, texts.split()):
        if text == "key":
            draw.key(each)
            continue
        kind, _, letters = text.rpartition(":")
        draw.argument(each, [sizes.get(letter) or int(letter) for letter in letters], kind or "f", is_cut=True)
    results = ["r", "s"] if op in TWO_RESULTS else ["r"]
    body = [step(results if len(results) > 1 else "r", op, *given, **(at[0] if at else {}))]
    of = [i for i, text in enumerate(texts.split()) if text != "key" and text[:2] not in ("i:", "b:")]
    if op in not_differentiable or draw.is_true(0.5):
        return draw.document(name, {"f": {"params": list(given), "body": body, "results": results}}, results)
    body += [step("l", "sin", "r"), step("l", "sum", "l")]
    functions = {"loss": {"params": list(given), "body": body, "results": ["l"]}}
    return draw.gradient(name, functions, sorted(draw.random.sample(of, draw.random.randint(1, len(of)))))
