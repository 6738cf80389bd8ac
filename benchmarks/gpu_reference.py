#!/usr/bin/env python3
"""What bench_runtime's times on a GPU are held against, on the same card: JAX on one device, the product by cuBLAS alone, the memory's limit.

    gpu_reference.py       prints `case median best` in seconds, as bench_runtime; cases whose package is not there, or sees no
                           GPU, are left out with the reason; status 77, which is skipped, where that leaves none

The programs are those of bench_runtime and jax_side.py on one device: a card that 8 virtual devices share has the same work to do.
"""
import sys
import time

REPEATS = 20


class Missing(Exception):
    """Why a side has nothing to be measured on."""


def timed(name, run, wait):
    for _ in range(3):
        wait(run())
    seconds = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        wait(run())
        seconds.append(time.perf_counter() - begin)
    seconds.sort()
    print(f"{name} {seconds[len(seconds) // 2]:.9f} {seconds[0]:.9f}", flush=True)


def of_jax():
    import jax
    import jax.numpy as jnp

    if jax.default_backend() != "gpu":
        raise Missing(f"JAX {jax.__version__} computes on {jax.default_backend()}")
    jax.config.update("jax_default_matmul_precision", "highest")
    wait = jax.block_until_ready
    many = jnp.sin(jnp.arange(64 << 20, dtype=jnp.float32) * 0.37).reshape(8192, 8192)
    other, some, square = many + 1, many.reshape(-1)[: 4 << 20].reshape(4096, 1024), many[:2048, :2048]
    axpy, sine, total = jax.jit(lambda x, y: 2 * x + y), jax.jit(jnp.sin), jax.jit(jnp.sum)
    gelu = jax.jit(lambda x: jax.nn.softmax(jax.nn.gelu(x), 1))
    dot = jax.jit(lambda a, b: a @ b)
    timed("jax_axpy_64M", lambda: axpy(many, other), wait)
    timed("jax_sin_64M", lambda: sine(many), wait)
    timed("jax_sum_64M", lambda: total(many), wait)
    timed("jax_gelu_softmax_4M", lambda: gelu(some), wait)
    timed("jax_dot_2048", lambda: dot(square, square), wait)
    normal = jax.jit(lambda key: jax.random.normal(key, (4096, 4096)))
    timed("jax_normal_16M", lambda: normal(jax.random.key(42)), wait)
    images, window = many.reshape(-1)[: 32 * 64 * 56 * 56].reshape(32, 64, 56, 56), many.reshape(-1)[: 64 * 64 * 9].reshape(64, 64, 3, 3)
    conv = jax.jit(lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME"))
    timed("jax_conv_3x3_64", lambda: conv(images, window), wait)

    sizes = (784, 1024, 1024, 1024, 10)
    params = [(many[:m, :n], many[0, :n]) for m, n in zip(sizes, sizes[1:])]
    inputs, targets = many[:1024, :784], many[:1024, :10]

    def loss(params):
        hidden = inputs
        for weights, bias in params:
            outputs = hidden @ weights + bias
            hidden = jnp.maximum(outputs, 0)
        return -jnp.mean(jnp.sum((outputs - jax.nn.logsumexp(outputs, axis=1, keepdims=True)) * targets, axis=1))

    @jax.jit
    def step(params):
        value, gradients = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 1e-5 * g, params, gradients), value

    timed("jax_mlp_step", lambda: step(params), wait)


def of_torch():
    import torch

    if not torch.cuda.is_available():
        raise Missing(f"torch {torch.__version__} sees no GPU")
    torch.backends.cuda.matmul.allow_tf32 = False

    def wait(_):
        torch.cuda.synchronize()

    square = torch.sin(torch.arange(2048 * 2048, dtype=torch.float32, device="cuda") * 0.37).reshape(2048, 2048)
    many = torch.zeros(64 << 20, dtype=torch.float32, device="cuda")
    other = torch.empty_like(many)
    timed("cublas_dot_2048", lambda: torch.matmul(square, square), wait)
    # The products of mlp_step alone: forward, of the weights, of what went in.
    sizes = (784, 1024, 1024, 1024, 10)
    weights = [square[:m, :n].contiguous() for m, n in zip(sizes, sizes[1:])]
    inputs = [square[:1024, :m].contiguous() for m in sizes]

    def products():
        for i, w in enumerate(weights):
            torch.matmul(inputs[i], w)
        for i, w in reversed(list(enumerate(weights))):
            torch.matmul(inputs[i].T, inputs[i + 1])
            if i > 0:
                torch.matmul(inputs[i + 1], w.T)

    products()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        products()
    timed("cublas_mlp_products", graph.replay, wait)
    timed("copy_64M_floats", lambda: other.copy_(many), wait)


def main():
    measured = 0
    for side in (of_jax, of_torch):
        try:
            side()
            measured += 1
        except (ImportError, Missing) as error:
            print(f"# skipped: {side.__name__}: {error}")
    return 0 if measured > 0 else 77


if __name__ == "__main__":
    sys.exit(main())
