#!/usr/bin/env python3
"""Writes goldens/numpy_text.txt: arrays and what numpy's str() makes of them (numpy 2.4.6).

A case is
    = DTYPE SHAPE            the shape as 2x3, or - for a scalar
    bits WORD…               32-bit words in hex, row-major (complex64: re, im pairs; bool: 0 and 1); or
    ramp STEP                element i is i * STEP, in the dtype's arithmetic
    | TEXT                   str(array), line by line
"""
import pathlib

import ml_dtypes
import numpy as np

rng = np.random.default_rng(20240607)
out = []


def shape_text(shape):
    return "x".join(map(str, shape)) if shape else "-"


def words(array):
    if array.dtype == np.bool_:
        return [str(int(x)) for x in array.ravel()]
    return [f"{x:x}" for x in np.ascontiguousarray(array).ravel().view(np.uint32)]


def add(array, ramp=None):
    array = np.asarray(array)
    out.append(f"= {array.dtype} {shape_text(array.shape)}")
    out.append(f"ramp {ramp}" if ramp is not None else " ".join(["bits", *words(array)]))
    out.extend(f"| {line}" for line in str(array).split("\n"))


def add_ramp(dtype, shape, step):
    count = int(np.prod(shape))
    values = np.arange(count).astype(dtype) * np.dtype(dtype).type(step)
    add(values.astype(dtype).reshape(shape), ramp=step)


f32 = lambda *x: np.array(x, np.float32)
c64 = lambda *x: np.array(x, np.complex64)

# Scalars.
for x in [0.0, -0.0, 1, -1, 0.1, 0.3, -0.12398731708526611, 1e-4, 9.999e-5, 1e-5, 1.5e-7, 1e-45, 123456.789, 1e5, 1e6, 999999.94, 1e7, 16777216, 1e8,
          1.2345679e9, 1e15, 9.999999e15, 1e16, 1.7e16, 3.4028235e38, np.inf, -np.inf, np.nan, 2 / 3, 33333.332, 0.00012345]:
    add(np.float32(x))
for x in [0, 1, -1, 2147483647, -2147483648]:
    add(np.int32(x))
for x in [0, 7, 4294967295]:
    add(np.uint32(x))
for x in [True, False]:
    add(np.bool_(x))
for x in [0, 1, 1j, -1j, 1 + 2j, 1.5 - 2.25j, complex(np.nan, 1), complex(1, np.nan), complex(np.inf, -np.inf), 1e-5 + 1e20j, complex(-0.0, 1),
          complex(0, -0.0), complex(-1, -0.0), 0.1 + 0.3j, complex(0.0, np.inf), complex(0.0, np.nan), 1e8 + 1e16j, 100 + 1e-4j]:
    add(np.complex64(x))

# One-dimensional floats that meet each rule.
for x in [f32(0), f32(1), f32(-1), f32(0.5, 1, 2), f32(0.1, 0.2, 0.3), f32(0.3, 0.12345678), f32(1, -1), f32(1, 1000), f32(1, 1001), f32(1, 1000.5),
          f32(1e-4, 0.01), f32(9.99e-5, 0.01), f32(1e-5, 0.12345678), f32(1e5), f32(999999), f32(1e6), f32(1e6, 1e5), f32(1e7), f32(1e8), f32(123456.79),
          f32(np.nan), f32(np.inf), f32(-np.inf), f32(np.nan, 1), f32(np.inf, 1), f32(-np.inf, 1), f32(np.nan, np.inf, -np.inf), f32(np.nan, 1e-10, 1),
          f32(-np.inf, 123.456), f32(np.inf, -0.5), f32(0, 0, 0), f32(0, -0.0), f32(-0.0), f32(1e-45), f32(3.4e38, 1), f32(1e-45, 3.4028235e38),
          f32(1e10, 2e10), f32(1e-10, 2.5e-10), f32(0, 1e-10), f32(1.5, np.nan, -2.25, np.inf), f32(2 / 3, 1 / 3), f32(1 / 3, 100), f32(16777216, 1),
          f32(65504, 70000), f32(0.1, 100000), f32(100000, 99.5), f32(0.0001, 0.1), f32(0.00011, 0.11), f32(-1e-5, 1e5), f32(5e-324), f32(1.1754944e-38),
          f32(8388608.5), f32(0.30000001, 0.3), f32(1.0000001, 2), f32(9.9999999), f32(99999.99), f32(0.99999994), f32(1e-4), f32(0.000123456789, 0.05)]:
    add(x)

# Random floats of many magnitudes, sizes and shapes.
for i in range(160):
    shape = [(3,), (7,), (11,), (2, 3), (4, 4), (2, 2, 2), (1, 5), (5, 1), (3, 1, 2), (17,), (2, 13)][i % 11]
    kind = i % 8
    x = rng.standard_normal(shape)
    if kind == 1: x = x * 10.0 ** rng.integers(-6, 7)
    if kind == 2: x = x * 10.0 ** rng.integers(-12, 12, shape)
    if kind == 3: x = np.round(x, rng.integers(0, 4))
    if kind == 4: x = np.round(x * 100)
    if kind == 5: x = rng.random(shape)
    if kind == 6: x = np.where(rng.random(shape) < 0.2, rng.choice([np.nan, np.inf, -np.inf]), x)
    if kind == 7: x = np.round(x * 10.0 ** rng.integers(0, 6), 1)
    add(x.astype(np.float32))
for i in range(40):  # any bits at all
    bits = rng.integers(0, 2**32, size=rng.integers(1, 6), dtype=np.uint32)
    add(bits.view(np.float32))

# Integers and bools.
for i in range(30):
    shape = [(1,), (5,), (2, 3), (3, 2, 2), (25,), (2, 30)][i % 6]
    limit = 10 ** int(rng.integers(1, 10))
    add(rng.integers(-limit if i % 2 else 0, limit, shape).astype(np.int32))
for i in range(6):
    add(rng.integers(0, 2**32, (i + 1, 2), dtype=np.uint32))
for shape in [(1,), (3,), (2, 2), (2, 3, 2), (40,)]:
    add(rng.random(shape) < 0.5)
    add(np.ones(shape, bool))

# Complex.
for x in [c64(1), c64(1j), c64(1 + 2j, 3 - 4.5j), c64(0.1, 1e-6j), c64(complex(np.nan, 1), 1), c64(complex(1, np.nan)), c64(complex(1, -np.inf), 2j),
          c64(1e7, 1j), c64(complex(np.inf, np.inf), complex(-np.inf, 0))]:
    add(x)
for i in range(24):
    shape = [(2,), (3,), (2, 2), (5,), (2, 3)][i % 5]
    x = rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 3) + 1j * rng.standard_normal(shape)
    add((np.round(x, 2) if i % 3 == 0 else x).astype(np.complex64))

# Empty, and nothing but brackets.
for shape in [(0,), (0, 3), (3, 0), (2, 0, 2)]:
    for dtype in [np.float32, np.int32, np.bool_, np.complex64]:
        add(np.zeros(shape, dtype))

# Line width, nesting and summaries; the data are ramps.
for dtype, shape, step in [
    (np.int32, (32,), 1), (np.int32, (4, 8), 1), (np.int32, (1, 4), 1), (np.int32, (1000,), 1), (np.int32, (1001,), 1), (np.int32, (1001,), -7),
    (np.int32, (2, 501), 1), (np.int32, (501, 2), 1), (np.int32, (40, 40), 1), (np.int32, (10, 10, 11), 1), (np.int32, (3, 4, 100), 1),
    (np.int32, (7, 7, 7, 7), 1), (np.int32, (6, 6, 6, 6), 1), (np.int32, (1, 1, 2000), 1), (np.int32, (2000, 1, 1), 1), (np.int32, (2, 2, 2, 2), 1),
    (np.float32, (100,), 1), (np.float32, (100,), 0.37), (np.float32, (1001,), 1), (np.float32, (1001,), 0.001), (np.float32, (2000, 2000), 0.5),
    (np.float32, (33, 65), 0.25), (np.float32, (8, 8), 0.125), (np.float32, (4, 16), 1), (np.float32, (2, 3, 4), 1), (np.float32, (1024, 2), 1),
    (np.uint32, (2000,), 1000), (np.float32, (1, 1001), -3), (np.float32, (3, 2, 300), 0.1), (np.int32, (24,), 1000000), (np.int32, (12,), 100000000),
    (np.float32, (4096, 2048), 0), (np.float32, (1000,), 0.5),
]:
    add_ramp(dtype, shape, step)

# The dtypes of other widths, as bytes.
def add_bytes(array):
    array = np.asarray(array)
    out.append(f"= {array.dtype} {shape_text(array.shape)}")
    out.append("bytes " + np.ascontiguousarray(array).tobytes().hex())
    out.extend(f"| {line}" for line in str(array).split("\n"))


rng = np.random.default_rng(20261121)
for dtype in [np.float16, ml_dtypes.bfloat16, np.float64]:
    for x in [0.0, -0.0, 1, -1, 0.1, 1e-4, 9e-5, 1e-7, 999, 1000, 1001, 12345, 3.14159, np.inf, -np.inf, np.nan, 1e15, 1e16, 1e17, 123456789.123]:
        add_bytes(np.array(x).astype(dtype))
    for x in [[0, 1, 2], [1.5, -2.25, 1000], [0.1, 1e-5, 3e4], [np.nan, np.inf, -1], [1e-4, 0.1], [999, 1], [1e8, 1], [99999999, 0.5], [6e-8, 1], [65504, 1]]:
        add_bytes(np.array(x).astype(dtype))
    for i in range(24):
        x = rng.standard_normal([(3,), (2, 3), (11,), (25,)][i % 4]) * 10.0 ** rng.integers(-3, 4)
        add_bytes(x.astype(dtype))
for x in [1 + 2j, 0.1 + 1e-3j, complex(np.nan, -np.inf), [1, 1j], [0.1 + 1e-3j, 1 + 2j], [1e10 + 1j, 0.5]]:
    add_bytes(np.array(x, np.complex128))
for dtype in [np.int8, np.int16, np.int64, np.uint8, np.uint16, np.uint64]:
    info = np.iinfo(dtype)
    for x in [info.min, info.max, [info.min, 0, info.max], [[1, 2], [3, 100]]]:
        add_bytes(np.array(x, dtype))

path = pathlib.Path(__file__).parent / "goldens" / "numpy_text.txt"
path.write_text("\n".join(out) + "\n", encoding="utf-8")
print(f"{path}: {sum(line.startswith('= ') for line in out)} cases")
