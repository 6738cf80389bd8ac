#!/usr/bin/env python3
"""Writes goldens/solvers.txt: what JAX gives for the programs of solvers_test.cpp.

    make_solvers_goldens.py > goldens/solvers.txt        (needs jax)
"""
from jax_goldens import *
from jax.scipy.sparse.linalg import cg, bicgstab, gmres
from jax.scipy.optimize import minimize
from jax.scipy import special as s
def krylov():
    A=random.normal(random.key(0),(8,8)); S=A@A.T+8*jnp.eye(8); G=A+8*jnp.eye(8); b=jnp.arange(8.); cut,right=on(S,'x'),on(b,'x')
    cg_of=lambda S,b: cg(lambda x:S@x,b)[0]; bi=lambda S,b: bicgstab(S,b)[0]; gm=lambda m: lambda S,b: gmres(lambda x:S@x,b,solve_method=m)[0]
    show("cg",cg_of(S,b)); show("cg.cut",jit(cg_of)(cut,right)); show("bicgstab",bi(G,b)); show("gmres",gm('batched')(G,b))
    show("gmres.incremental",gm('incremental')(G,b)); show("gmres.cut",jit(gm('batched'))(on(G,'x'),right))
    for n,f,M,r in (("cg.grad",cg_of,cut,right),("bicgstab.grad",bi,G,b),("gmres.grad",gm('batched'),G,b)):
        show(n,jit(grad(lambda S,b: jnp.sum(f(S,b)**2),(0,1)))(M,r))
    show("cg.hessian",jit(jax.hessian(lambda b: jnp.sum(jnp.sin(cg_of(S,b)))))(b)); show("cg.jvp",jax.jvp(cg_of,(S,b),(A,jnp.ones(8)))[1])
    show("cg.vmap",jit(vmap(cg_of,in_axes=(None,0)))(S,jnp.eye(8)))
    show("cg.tree",cg(lambda x:{'a':3*x['a']+x['b'],'b':x['a']+2*x['b']},{'a':jnp.arange(3.),'b':jnp.ones(3)})[0])
def roots():
    newton=lambda f,x: lax.while_loop(lambda x: jnp.abs(f(x))>1e-6,lambda x: x-f(x)/grad(f)(x),x)
    root=lambda a: lax.custom_root(lambda x: x**3-a,jnp.float32(1.5),newton,lambda g,y: y/g(1.))
    a=jnp.float32(3); show("root",root(a)); show("root.grad",jit(value_and_grad(root))(a)); show("root.second",grad(grad(root))(a))
    show("root.vmap",jit(vmap(grad(root)))(jnp.arange(1.,5.)))
def minima():
    def least(x):
        r=minimize(lambda x: jnp.sum((x-jnp.arange(4.))**2)+0.1*jnp.sum(x**4),x,method='BFGS'); return r.x,r.fun
    show("minimize",least(jnp.ones(4)))
    show("minimize.cut",jit(least)(on(jnp.zeros(4),'x')))
def special():
    pts=lambda lo,hi: on(jnp.linspace(lo,hi,16),'x')
    def both(n,f,x): show(n,f(x)); show(n+".grad",grad(lambda t: jnp.sum(jnp.sin(f(t))))(x))
    both("erfcx",s.erfcx,pts(-2,8)); both("dawsn",s.dawsn,pts(-9,8)); both("sine",lambda x:s.sici(x)[0],pts(-12,20)); both("cosine",lambda x:s.sici(x)[1],pts(.3,20))
    both("fresnel.s",lambda x:s.fresnel(x)[0],pts(-5,6)); both("fresnel.c",lambda x:s.fresnel(x)[1],pts(-5,6))
    h,a=pts(-2,3),pts(-2.5,2); show("owens_t",s.owens_t(h,a)); show("owens_t.grad",grad(lambda h,a: jnp.sum(jnp.sin(s.owens_t(h,a))),(0,1))(h,a))
    z=pts(-3,3)+pts(-2,2.5)*1j; w=s.wofz(z); show("wofz",(w.real,w.imag)); show("wofz.grad",grad(lambda z: jnp.sum(s.wofz(z).real))(z).real)
    x,p,q=pts(-.7,.7),pts(.4,2),pts(1.3,2.4)
    show("hyp1f1.grad",grad(lambda p,q,x: jnp.sum(s.hyp1f1(p,q,x)),(0,1,2))(p,q,x))
    show("hyp2f1.grad",grad(lambda p,r,q,x: jnp.sum(s.hyp2f1(p,r,q,x)),(0,1,2,3))(p,q-.2,q,x))
def transformations():
    @jax.custom_gradient
    def clipped(x): y=jnp.exp(x); return jnp.sum(y),lambda g: jnp.clip(g*y,-2.,2.)
    x=on(jnp.arange(8.)/4,'x'); show("custom_gradient",jit(value_and_grad(clipped))(x)); show("custom_gradient.vmap",vmap(grad(clipped))(jnp.arange(6.).reshape(2,3)))
    W=random.normal(random.key(5),(3,4)); f32=lambda *n: jax.ShapeDtypeStruct(n,jnp.float32)
    show("linear_transpose",jax.linear_transpose(lambda x,y: W@x+2*y,f32(4),f32(3))(jnp.arange(3.)))
for f in (krylov, roots, minima, special, transformations): f()
