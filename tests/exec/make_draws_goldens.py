#!/usr/bin/env python3
"""Writes goldens/draws.txt: what JAX gives for the programs of draws_test.cpp.

    make_draws_goldens.py > goldens/draws.txt        (needs jax)
"""
from jax_goldens import *

key = random.key(11, impl="threefry2x32")
a = jnp.linspace(0.05, 6.0, 16).reshape(8, 2)
b = jnp.linspace(0.2, 4.0, 16)[::-1].reshape(8, 2)
rates = jnp.linspace(0.0, 40.0, 16).reshape(8, 2)
shares = jnp.linspace(0.02, 0.97, 16).reshape(8, 2)
trials = jnp.arange(16).reshape(8, 2) * 7.0
odds = jnp.stack([a[:, 0], b[:, 0], a[:, 1] + 1], axis=1)
chances = odds / odds.sum(1, keepdims=True)
run = lambda name, f, *args: show(name, jit(f)(*args))
total = lambda f: lambda *args: jnp.sum(jnp.sin(f(*args)))

def draws(n, p):
    a_, b_, l_, s_, t_, o_, c_ = (p(each) for each in (a, b, rates, shares, trials, odds, chances))
    two = {"gamma": random.gamma, "loggamma": random.loggamma, "chisquare": random.chisquare, "t": random.t,
           "generalized_normal": lambda k, x: random.generalized_normal(k, x, (8, 2))}
    for name, f in two.items():
        run(n + name, lambda k, x: f(k, x), key, a_)
        run(n + "grad." + name, grad(total(lambda x: f(key, x))), a_)
    for name, f in {"beta": random.beta, "f": random.f}.items():
        run(n + name, lambda k, x, y: f(k, x, y), key, a_, b_)
        run(n + "grad." + name, grad(total(lambda x: f(key, x + 2, b + 2))), a_)
    run(n + "dirichlet", lambda k, x: random.dirichlet(k, x), key, o_)
    run(n + "dirichlet.shape", lambda k, x: random.dirichlet(k, x[0], (4,)), key, o_)
    run(n + "poisson", lambda k, x: random.poisson(k, x), key, l_)
    run(n + "binomial", lambda k, x, y: random.binomial(k, x, y), key, t_, s_)
    run(n + "multinomial", lambda k, x: random.multinomial(k, 50, x), key, c_)
    keys = random.split(key, 4)
    run(n + "vmap.gamma", vmap(lambda k: random.gamma(k, a[0], dtype=jnp.float32)), keys)
    run(n + "vmap.poisson", vmap(lambda k, x: random.poisson(k, x)), random.split(key, 8), l_)

draws("cut.", lambda t: on(t, "x"))
draws("whole.", lambda t: on(t))
run("gamma.shape", lambda k: random.gamma(k, 0.3, (3, 4)), key)
run("loggamma.tiny", lambda k: random.loggamma(k, 1e-3, (6,)), key)
run("poisson.shape", lambda k: random.poisson(k, 3.5, (3, 4)), key)
run("poisson.wide", lambda k: random.poisson(k, 2000.0, (5,), jnp.int16), key)
run("binomial.shape", lambda k: random.binomial(k, 10, 0.4, (3, 4)), key)
run("binomial.odd", lambda k: jnp.nan_to_num(random.binomial(k, jnp.array([-1.0, jnp.inf, jnp.nan, 5, 5, 5, 0]),
                                                            jnp.array([0.5, 0.5, 0.5, -0.1, 0.0, 1.0, 0.5])), nan=-7, posinf=-9), key)
run("ball", lambda k: random.ball(k, 3, shape=(5,)), key)
run("ball.1", lambda k: random.ball(k, 2, 1, (5,)), key)
with jax.threefry_partitionable(False):
    run("older.gamma", lambda k: random.gamma(k, jnp.linspace(0.3, 4.0, 7)), key)
    run("older.poisson", lambda k: random.poisson(k, jnp.linspace(0.3, 14.0, 7)), key)
