"""Programs of the other kinds with x64 on: values of 64 bits, and narrower ones beside scalars and defaults that are wide."""
import draws
import dtypes
import options
from draw import Draw

KINDS = dtypes.KINDS + (draws, draws, options, options, options)
DTYPES = ("float64", "float64", "float64", "int64", "uint64", "complex128", "float32", "int32", "bfloat16")


def program(d, name):
    dtype = d.of(*DTYPES)
    while True:
        document = d.of(*KINDS).program(Draw(d.random.getrandbits(48)), name)
        if "float" not in dtype and dtypes.has_gradient(document):
            continue
        if changed := dtypes.retyped(document, dtype):
            return {**changed, "config": {"enable_x64": True}}
