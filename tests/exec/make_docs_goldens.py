#!/usr/bin/env python3
"""Writes goldens/docs_programs.txt: what JAX gives for the programs of docs_programs_test.cpp.

    make_docs_goldens.py > goldens/docs_programs.txt        (needs jax)
"""
from functools import partial
from jax_goldens import *
from jax.sharding import AxisType
def explicit_sharding():
    explicit=jax.make_mesh((2,4),('x','y'),axis_types=(AxisType.Explicit,)*2)
    with jax.set_mesh(explicit):
        show("made.zeros",jnp.zeros((4,4),out_sharding=P('x','y'))); show("made.ones",jnp.ones((4,4),jnp.int32,out_sharding=P('x')))
        show("made.arange",jnp.arange(8,out_sharding=P('y'))); show("made.full",jnp.full((4,4),jnp.float32(2),out_sharding=P(None,'y')))
        key=random.key(0)
        show("made.normal",random.normal(key,(8,4),out_sharding=P('x','y'))); show("made.uniform",random.uniform(key,(8,4),out_sharding=P('x')))
        show("made.bits",random.bits(key,(8,4),out_sharding=P('y'))); show("made.randint",random.randint(key,(8,4),0,10,out_sharding=P('x','y')))
        show("made.jit",jit(lambda: jnp.zeros((4,4),out_sharding=P('x','y'))+1)())
        a=jnp.arange(16.,out_sharding=P('x')).reshape(4,4)
        show("inferred",jax.shard_map(lambda a:a*2,out_specs=P('x'))(a)); show("no_arguments",jax.shard_map(lambda:jnp.ones((2,3)),in_specs=(),out_specs=P(None,None))())
        show("fft",jnp.fft.fft(a,axis=0).real); show("fft2",jnp.fft.fft2(jnp.ones((8,8),out_sharding=P('x','y'))).real)
        w,x=jnp.ones((4,3),out_sharding=P('y')),jnp.ones((8,4),out_sharding=P('x','y'))
        show("typed_grad",jit(grad(lambda w,x: jnp.sum(jnp.tanh(0.1*jnp.dot(x,w,out_sharding=P('x',None))))))(w,x))
def shard_map_notebook():
    with jax.set_mesh(mesh):
        tile=jnp.array([[3.]])
        for i,s in enumerate((P('x','y'),P('x',None),P(None,None))): show(f"tile{i}",jax.shard_map(lambda:tile,in_specs=(),out_specs=s)())
        g=jax.shard_map(lambda x:lax.psum(jnp.sin(x),'x'),in_specs=P('x'),out_specs=P()); x=on(jnp.arange(8.),'x')
        show("psum.grad",grad(lambda x:jnp.sum(g(x)**2))(x)); show("psum.jacfwd",jax.jacfwd(g)(x))
        show("psum.vmap",vmap(g,in_axes=1)(on(jnp.arange(16.).reshape(8,2),'x')))
        p={'b':on(jnp.arange(8.),'x'),'w':on(jnp.ones((8,4)),'x','y')}
        show("tree.pmean",jax.shard_map(lambda p:lax.pmean(p,'x'),in_specs=({'b':P('x'),'w':P('x','y')},),out_specs={'b':P(),'w':P(None,'y')})(p))
        show("tree.constraint",jit(lambda p:lax.with_sharding_constraint(p,NamedSharding(mesh,P('y'))))(p))
def cookbook():
    W,b=random.normal(random.key(1),(3,)),jnp.float32(0.5)
    inputs=jnp.array([[0.52,1.12,0.77],[0.88,-1.08,0.15],[0.52,0.06,-1.30],[0.74,-2.49,1.39]]); targets=jnp.array([True,True,False,True])
    predict=lambda W,b,x: jax.nn.sigmoid(jnp.dot(x,W)+b)
    def loss(W,b): p=predict(W,b,inputs); return -jnp.sum(jnp.log(p*targets+(1-p)*(1-targets)))
    show("cookbook.grad",grad(loss,(0,1))(W,b))
    pd=lambda params,x: predict(params['W'],params['b'],x)
    for name,J in (("rev",jax.jacrev),("fwd",jax.jacfwd)): show("cookbook.jac"+name,J(pd)({'W':W,'b':b},inputs))
    two=lambda x: {'s':jnp.sin(x),'o':jnp.outer(x,x)}
    for name,J in (("rev",jax.jacrev),("fwd",jax.jacfwd)): show("cookbook.out"+name,J(two)(W))
    show("cookbook.hessian",jax.hessian(loss)(W,b))
    hvp=lambda f,p,t: jax.jvp(grad(f),p,t)[1]
    X=random.normal(random.key(2),(30,40)); V=random.normal(random.key(3),(30,40)); f=lambda X: jnp.sum(jnp.tanh(X)**2)
    show("cookbook.hvp",hvp(f,(X,),(V,))); show("cookbook.vmjp",vmap(jax.vjp(lambda W: predict(W,b,inputs),W)[1])(jnp.eye(4)))
    z=jnp.complex64(1.+2.j); show("cookbook.holomorphic",grad(jnp.sin,holomorphic=True)(z).imag); show("cookbook.conj",grad(lambda z: jnp.real(jnp.conj(z)*z))(z).imag)
    A=jnp.array([[5.,2.,3.,5.],[4.,9.,5.,9.],[1.,7.,3.,8.],[5.,7.,1.,2.]])
    show("cookbook.cholesky",jax.vjp(jnp.linalg.cholesky,A@A.T)[1](jnp.ones((4,4))))
def control_flow():
    show("fori",jit(lambda n,x: lax.fori_loop(0,n,lambda i,c: c*2+i,x))(jnp.int32(5),jnp.arange(3.)))
    show("fori.both",lax.fori_loop(jnp.int32(2),jnp.int32(6),lambda i,c:{'s':c['s']+i},{'s':jnp.int32(0)}))
    xs=jnp.arange(20.).reshape(10,2)
    for size in (3,5,16): show(f"map{size}",lax.map(lambda x:{'a':x.sum(),'b':x*2},xs,batch_size=size))
    show("switch",lax.switch(jnp.int32(2),[lambda x:x,lambda x:x*2,lambda x:x*3],jnp.arange(3.)))
def pytrees():
    t={'a':[jnp.arange(3.),jnp.ones(2)],'b':[jnp.zeros(4)]}
    show("tree.reduce",jax.tree.reduce(lambda s,x:s+x.sum(),t,jnp.float32(0)))
    show("tree.with_path",jax.tree_util.tree_map_with_path(lambda p,x:x+len(jax.tree_util.keystr(p)),t))
for f in (explicit_sharding, shard_map_notebook, cookbook, control_flow, pytrees): f()
