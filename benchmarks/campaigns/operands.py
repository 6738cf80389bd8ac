"""Functions of several operands that are cut otherwise from each other, element by element."""
from draw import step

# Functions of several operands, by the kinds of these.
ELEMENTWISE = {
    "ff": """add sub mul div maximum minimum atan2 remainder rem fmod floor_divide divmod hypot logaddexp logaddexp2 copysign heaviside fmax
          fmin nextafter isclose equal not_equal less greater_equal owens_t logical_and logical_or logical_xor stats.norm.logpdf
          stats.norm.cdf stats.norm.logcdf stats.norm.sf stats.cauchy.logpdf stats.cauchy.cdf stats.laplace.cdf stats.laplace.logpdf
          stats.gumbel_r.logpdf stats.gumbel_l.logcdf stats.logistic.logpdf stats.logistic.cdf stats.uniform.cdf stats.expon.logpdf""",
    "pp": """pow float_power rel_entr kl_div beta betaln gammainc gammaincc igamma igammac igamma_grad_a random_gamma_grad poch boxcox
          boxcox1p comb stats.gamma.logpdf stats.gamma.cdf stats.chi2.logpdf stats.chi2.sf stats.pareto.logpdf stats.t.logpdf
          stats.gennorm.logpdf stats.gennorm.cdf stats.vonmises.logpdf""",
    "fp": "xlogy xlog1py stats.norm.pdf", "fi": "ldexp", "ip": "expn polygamma",
    "ii": """gcd lcm and or xor shift_left shift_right_logical shift_right_arithmetic floor_divide remainder divmod pow maximum less
          stats.poisson.logpmf""",
    "iu": "stats.geom.logpmf stats.bernoulli.logpmf", "uu": "stats.wrapcauchy.logpdf stats.wrapcauchy.pdf",
    "ppu": "betainc", "upp": "stats.beta.logpdf stats.beta.cdf stats.beta.sf stats.beta.pdf", "ppf": "hyp1f1", "pppu": "hyp2f1",
    "fff": "clip clamp", "bff": "where", "ffp": "stats.norm.logpdf stats.norm.cdf stats.t.logpdf stats.laplace.pdf",
    "ppf ": "stats.gamma.logpdf", "iiu": "stats.binom.logpmf stats.nbinom.logpmf", "iipp": "stats.betabinom.logpmf",
    "fffp": "stats.truncnorm.logpdf stats.truncnorm.cdf", "f": "frexp modf", "p": "frexp modf",
}
SEVERAL_RESULTS = {"divmod": 2, "frexp": 2, "modf": 2}
NOT_DIFFERENTIABLE = ("igamma_grad_a", "random_gamma_grad", "nextafter", "expn", "polygamma", "frexp", "modf", "divmod")


def program(draw, name):
    kinds = draw.of(*(kinds for kinds, ops in ELEMENTWISE.items() for _ in ops.split()))
    op = draw.of(*ELEMENTWISE[kinds].split())
    kinds = kinds.strip()
    shape = [draw.size() for _ in range(draw.of(1, 2, 2, 2, 3))]
    given = "xyzw"[: len(kinds)]
    for each, kind in zip(given, kinds):
        whole = each == "x" or draw.is_true(0.8)
        draw.argument(each, shape if whole else shape[draw.random.randint(1, len(shape)):] or [1], kind, is_cut=True)
    results = ["r", "s"][: SEVERAL_RESULTS.get(op, 1)]
    body = [step(results if len(results) > 1 else "r", op, *given)]
    if draw.is_true(0.25):
        body.append(step("r", draw.of("exp", "cumsum", "sin"), "r") if op not in ("less", "equal") else step("r", "sum", "r", axis=0))
    has_gradient = draw.is_true(0.25) and "i" not in kinds and "b" not in kinds and op not in NOT_DIFFERENTIABLE
    if not has_gradient:
        return draw.document(name, {"f": {"params": list(given), "body": body, "results": results}}, results)
    body += [step("l", "mul", "r", 0.3), step("l", "sum", "l")]
    functions = {"loss": {"params": list(given), "body": body, "results": ["l"]}}
    return draw.gradient(name, functions, sorted(draw.random.sample(range(len(given)), draw.random.randint(1, len(given)))))
