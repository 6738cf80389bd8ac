"""Writes goldens/dtype_grid.txt: what JAX gives for every elementwise function and dtype.

    JAX_PLATFORMS=cpu python3 make_dtype_grid.py > goldens/dtype_grid.txt

A line is: function, operands' dtype, result's dtype and the elements, complex ones as two numbers; or "error".
"""
import jax.numpy as jnp
import numpy as np

DTYPES = ["bool", "int8", "uint8", "int32", "float32", "complex64"]
X, Y = [0, 1, -3, 7], [0, 1, 2, -2]
ONE = """abs square rint sign negative positive floor ceil trunc round reciprocal sqrt conj real imag angle invert logical_not isnan
isfinite signbit fabs exp""".split()
TWO = """remainder fmod power left_shift right_shift floor_divide divide logaddexp logaddexp2 arctan2 add subtract multiply maximum minimum
bitwise_and bitwise_xor logical_and hypot copysign heaviside nextafter gcd lcm fmax isclose""".split()


def operand(values, dtype):
    if dtype == "bool":
        return np.array([bool(v) for v in values])
    if dtype == "uint8":
        return np.array([abs(v) for v in values], dtype)
    if dtype == "complex64":
        return np.array([complex(v, v / 2) for v in values], dtype)
    return np.array(values, dtype)


def show(name, dtype, *operands):
    try:
        result = getattr(jnp, name)(*operands)
    except (TypeError, ValueError):
        print(name, dtype, "error")
        return
    elements = []
    for value in np.asarray(result).tolist():
        elements += [value.real, value.imag] if isinstance(value, complex) else [value]
    print(name, dtype, result.dtype, *(repr(float(value)) for value in elements))


for name in ONE:
    for dtype in DTYPES:
        show(name, dtype, operand(X, dtype))
for name in TWO:
    for dtype in DTYPES:
        show(name, dtype, operand(X, dtype), operand(Y, dtype))
