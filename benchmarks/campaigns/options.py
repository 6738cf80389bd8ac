"""Functions with the arguments that most calls leave out: several axes, kept dimensions, masks, initial values, modes, orders, ends."""
from draw import step
from functions import each

SOME_AXES = ({"axis": [0, 2]}, {"axis": [0, 1], "keepdims": True}, {"axis": -1, "keepdims": True}, {"keepdims": True}, {"axis": [-1, 0]})
# As in shapes.py; operands that are given by name stand as `name=kind:sizes`.
OF_SHAPES = [
    *each("sum prod max min mean std var any all ptp median nansum nanmean nanmax nanmin nanstd logsumexp count_nonzero", "lmn", *SOME_AXES),
    *each("sum prod mean std var nansum nanmean logsumexp", "lmn where=b:lmn", {"axis": 1}, {"axis": [0, 2]}, {"axis": 0, "keepdims": True}),
    *each("sum prod max min nansum nanmax", "lmn", {"axis": 1, "initial": 0.7}, {"initial": -2.0}),
    *each("max min", "lmn where=b:lmn", {"axis": 1, "initial": 0.3}), *each("sum mean", "lmn where=b:n", {"axis": [0, 1]}),
    *each("std var nanstd nanvar", "mn", {"axis": 0, "ddof": 1}, {"ddof": 1}), *each("sum mean prod cumsum", "mn", {"axis": 1, "dtype": "bfloat16"}),
    *each("argmax argmin nanargmax", "lmn", {"axis": 1, "keepdims": True}, {"axis": -1}, {"keepdims": True}),
    *each("cumsum cumprod cummax cumlogsumexp", "lmn", {"axis": 1, "reverse": True}, {"axis": 2}), *each("cumsum cumprod nancumsum", "mn"),
    *each("sort", "lmn", {"axis": 0}, {"axis": -1, "descending": True}), *each("argsort", "lmn", {"axis": 1, "descending": True}),
    *each("softmax log_softmax", "lmn", {"axis": 0}, {"axis": [0, 2]}, {"axis": 1}), *each("softmax log_softmax", "mn where=b:mn", {"axis": 0}),
    *each("standardize", "lmn", {"axis": 1}, {"axis": [0, 2]}), *each("logsumexp", "mn b=p:mn", {"axis": 0}, {"axis": 1}),
    *each("take", "mn i:k", {"axis": 0, "mode": "clip"}, {"axis": 1, "mode": "wrap"}, {"axis": 0, "mode": "fill"}, {"mode": "clip"}),
    *each("repeat", "mn", {"repeats": 2}, {"repeats": 3, "axis": 1}), *each("roll", "lmn", {"shift": [1, 2], "axis": [0, 1]}, {"shift": 3}),
    *each("flip", "lmn", {"axis": [0, 1]}, {}), *each("diff", "mn", {"n": 2, "axis": 0}, {"n": 3, "axis": 1}),
    *each("pad", "mn", *({"pad_width": [[1, 2], [2, 1]], "mode": mode} for mode in ("edge", "reflect", "symmetric", "wrap", "linear_ramp", "maximum", "mean", "minimum"))),
    *each("quantile", "lmn", {"q": 0.3, "axis": [0, 2]}, {"q": 0.4, "axis": 1, "method": "nearest"}, {"q": 0.6, "axis": 0, "method": "midpoint", "keepdims": True}),
    *each("average", "lmn weights=p:lmn", {"axis": 0}, {"axis": [1, 2]}, {"axis": 1, "keepdims": True}),
    *each("cov corrcoef", "mn", {"rowvar": False}), *each("cov", "mn", {"ddof": 0}, {"bias": True}), *each("cov", "mn mn"),
    *each("histogram", "m", {"bins": 4, "range": [-1.0, 1.0]}), *each("bincount", "i:m weights=p:m", {"length": 8}), *each("bincount", "i:m", {"length": 4, "minlength": 6}),
    *each("searchsorted", "u:k mn", {"side": "right"}), *each("digitize", "mn u:k", {"right": True}), *each("interp", "mn u:k k", {"left": -1.0, "right": 2.0}),
    *each("convolve correlate", "m n", {"mode": "same"}, {"mode": "valid"}), *each("trapezoid", "mn", {"dx": 0.5, "axis": 0}, {"axis": 1}),
    *each("tensordot", "kmn mnl", {"axes": 2}), *each("tensordot", "kmn nlm", {"axes": [[1, 2], [2, 0]]}), *each("tensordot", "mk kn", {"axes": [[1], [0]]}),
    *each("cross", "3m 3m", {"axis": 0}), *each("vecdot", "mkn mkn", {"axis": 1}), *each("outer", "mn k"), *each("kron", "lmn kn"),
    *each("linalg.norm", "lmn", {"axis": 1, "keepdims": True}, {"ord": 1, "axis": [0, 1]}, {"ord": "fro", "axis": [1, 2]}, {"ord": 3, "axis": 2}),
    *each("linalg.vector_norm", "lmn", {"axis": [0, 2]}, {"axis": 1, "ord": 3, "keepdims": True}), *each("linalg.cond", "q:mm"),
    *each("diagonal", "lmn", {"axis1": 0, "axis2": 2}, {"offset": 1, "axis1": 1, "axis2": 2}), *each("trace", "lmn", {"offset": 1, "axis1": 0, "axis2": 2}),
    *each("triu tril", "lmn", {"k": -1}, {"k": 2}), *each("diag", "mn", {"k": 1}, {"k": -2}), *each("nan_to_num", "mn", {"nan": 1.0}),
    *each("clip", "mn", {"min": -0.2}, {"max": 0.2}, {"min": -0.5, "max": 0.1}), *each("round", "mn", {"decimals": 1}), *each("gelu", "mn", {"approximate": False}),
    *each("expand_dims", "mn", {"axis": [0, 3]}), *each("tile", "mn", {"reps": [2, 1, 3]}), *each("stack", "mn mn mn", {"axis": 1}, {"axis": -1}),
    *each("concatenate", "lmn lkn", {"axis": 1}), *each("concatenate", "lmn lmk", {"axis": -1}), *each("concatenate", "mn kn", {"axis": 0}), *each("hstack vstack dstack column_stack", "mn mn"),
    *each("moveaxis", "lmn", {"source": [0, 1], "destination": [2, 0]}), *each("swapaxes", "lmn", {"axis1": -1, "axis2": 1}), *each("rot90", "lmn", {"k": 2, "axes": [0, 2]}),
    *each("fft.fft fft.ifft", "mn", {"n": 6, "axis": 0}, {"axis": 1, "norm": "ortho"}), *each("fft.rfft", "mn", {"n": 8, "axis": 1}), *each("fft.irfft", "mn", {"n": 5, "axis": 0}),
    *each("fft.fftn fft.ifftn fft.rfftn", "lmn", {"axes": [0, 2]}, {"axes": [1, 2], "norm": "ortho"}), *each("fft.fftshift", "lmn", {"axes": [0, 1]}, {"axes": 2}),
    *each("one_hot", "i:mk", {"num_classes": 8, "axis": 0}, {"num_classes": 6, "axis": 1, "dtype": "int32"}), *each("glu", "lm8", {"axis": 2}),
    *each("unwrap", "mn", {"axis": 0, "period": 2.0}), *each("gradient", "lmn", {"axis": 1}), *each("ediff1d", "mn"), *each("unique", "i:mn", {"size": 8}),
    *each("partition", "lmn", {"kth": 1, "axis": 1}), *each("top_k", "lmn", {"k": 2}),
    *each("dot_product_attention", "mk2n ml2n ml2n", {"is_causal": True}, {"scale": 0.2}), *each("segment_sum segment_prod segment_max", "mn i:m", {"num_segments": 6, "indices_are_sorted": False}),
    *each("random.uniform", "key", {"shape": [8, 12], "minval": -1.0, "maxval": 2.0}), *each("random.permutation", "key mn", {"axis": 1}, {"independent": True}),
    *each("random.choice", "key mn", {"shape": [4], "axis": 0, "replace": False}, {"shape": [6], "axis": 1}), *each("random.truncated_normal", "key mn n"),
    *each("linspace", "m m", {"num": 6, "endpoint": False}), *each("geomspace", "p:m p:m", {"num": 4}), *each("logspace", "u:m u:m", {"num": 4}),
    *each("vander", "m", {"N": 4, "increasing": True}), *each("polyfit", "m m", {"deg": 1}), *each("polyint", "m", {"m": 2}), *each("polyder", "m", {"m": 2}),
    *each("matmul", "klm kmn"), *each("matmul", "lm kmn"), *each("matmul", "m mn"), *each("matmul", "kmn n"), *each("dot", "lm kmn"), *each("inner", "kmn ln"),
]
NOT_DIFFERENTIABLE = frozenset("""any all argmax argmin nanargmax argsort count_nonzero histogram bincount searchsorted digitize round one_hot unique fft.fft fft.ifft fft.rfft
                                  fft.fftn fft.ifftn fft.rfftn random.uniform top_k linalg.cond nanmax nanmin ptp""".split())


def program(draw, name, of_shapes=OF_SHAPES):
    op, texts, *at = draw.of(*of_shapes)
    attributes = dict(at[0]) if at else {}
    sizes = {letter: draw.size() for letter in "lmnk"}
    args = []
    for i, text in enumerate(texts.split()):
        keyword, _, text = text.rpartition("=")
        if text == "key":
            args.append(draw.key("xyzw"[i]) or "xyzw"[i])
            continue
        kind, _, letters = text.rpartition(":")
        given = draw.argument("xyzw"[i], [sizes.get(letter) or int(letter) for letter in letters], kind or "f", is_cut=True)
        if keyword:
            attributes[keyword] = given
        else:
            args.append(given)
    results = ["r", "s"] if op in ("top_k", "histogram") else ["r"]
    body = [step(results if len(results) > 1 else "r", op, *args, **attributes)]
    given = list(draw.arguments)
    by = [i for i, each in enumerate(given) if each not in draw.whole_numbers]
    if op in NOT_DIFFERENTIABLE or not by or draw.is_true(0.5):
        return draw.document(name, {"f": {"params": given, "body": body, "results": results}}, results)
    body += [step("l", "sin", "r"), step("l", "sum", "l")]
    functions = {"loss": {"params": given, "body": body, "results": ["l"]}}
    return draw.gradient(name, functions, sorted(draw.random.sample(by, draw.random.randint(1, len(by)))))
