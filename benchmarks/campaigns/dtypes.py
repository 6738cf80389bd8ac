"""Programs of the other kinds on values of other types: 16-bit floats, integers of every width, complex numbers, truths."""
import convolutions
import expressions
import functions
import lookups
import loops
import networks
import per_device
import products
import rearrangements
import recurrent
import shapes
import slices
from draw import Draw, step

KINDS = (convolutions, expressions, functions, functions, lookups, loops, networks, per_device, products, rearrangements, rearrangements, recurrent,
         shapes, shapes, slices)
SMALL_FLOATS = ("bfloat16", "float16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def retyped(document, dtype):
    """Its float32 arguments are of dtype instead; whole numbers below 7 where that has no fractions, beside their cosines as imaginary parts
    where it is complex."""
    made, statements = {}, []
    for statement in document["program"]:
        name = statement["let"]
        if statement["op"] == "arange" and statement["dtype"] == "float32":
            made[name] = True
            if dtype in INTEGERS or dtype == "bool":
                statement = {**statement, "dtype": "int32"}
            elif dtype in ("float64", "complex128"):
                statement = {**statement, "dtype": "float64"}
        elif statement["op"] == "reshape" and name in made:
            if dtype.startswith("complex"):
                statements += [step("imaginary", "cos", name), step(name, "complex", name, "imaginary")]
            else:
                statements.append(step(name, "convert", name, dtype=dtype))
        elif statement["op"] in ("mul", "sin", "add", "square", "remainder", "equal") and name in made and (dtype in INTEGERS or dtype == "bool"):
            if statement["op"] != "sin":
                continue
            statement = step(name, "remainder", name, 2 if dtype == "bool" else 7)
        statements.append(statement)
    return {**document, "program": statements} if made else None


def has_gradient(document):
    return any(each["op"] in ("grad", "value_and_grad") for function in document["functions"].values() for each in function["body"])


def program(d, name):
    dtype = d.of(*SMALL_FLOATS, *SMALL_FLOATS, *INTEGERS, "complex64", "complex64", "complex64", "bool")
    while True:
        document = d.of(*KINDS).program(Draw(d.random.getrandbits(48)), name)
        if dtype not in SMALL_FLOATS and has_gradient(document):
            continue
        if changed := retyped(document, dtype):
            return changed
