#!/usr/bin/env python3
"""Writes goldens/repeated_types.txt: how JAX types what vmap repeats for every element, on Explicit axes (repeated_types_test.cpp).

    make_repeated_goldens.py > goldens/repeated_types.txt        (needs jax)
"""
import contextlib
from jax_goldens import *
from jax.sharding import AxisType
E,A=AxisType.Explicit,AxisType.Auto
# Where shardings are in types they name Explicit axes alone.
whole_text,globals_of_show=spec_text,show.__globals__
def programs(mark,mesh,a,c,n,show):
    one=dict(in_axes=(0,None))
    show("argument",vmap(lambda r,c:(c,r),**one),a,c)
    show("argument_computed",vmap(lambda r,c:(c*2,r),**one),a,c)
    show("argument_last",vmap(lambda r,c:(c,r),out_axes=1,**one),a,c)
    show("argument_of_columns",vmap(lambda r,c:(c,r),in_axes=(1,None)),a,c)
    show("captured",lambda a,c:vmap(lambda r:(c,r))(a),a,c)
    show("host",vmap(lambda r:(n,r)),a)
    show("host_last",vmap(lambda r:(n,r),out_axes=1),a)
    show("host_computed",vmap(lambda r:(n*2,r)),a)
    show("host_with_placed",vmap(lambda r,c:(n+c,r),**one),a,c)
    show("host_argument",vmap(lambda r,c:(c,r),**one),a,n)
    show("ones",vmap(lambda r:(jnp.ones(3),r)),a)
    show("iota",vmap(lambda r:(jnp.arange(3.)*2,r)),a)
    show("inner",vmap(vmap(lambda r,c:(c,r),**one),**one),a,c)
    show("inner_host",vmap(vmap(lambda r:(n,r))),a)
    show("choice",vmap(lambda r,c:(lax.cond(c[1]>0,lambda z:z,lambda z:z*2,n),r),**one),a,c)
    show("checkpoint",vmap(lambda r:(jax.checkpoint(lambda z:z)(n),r)),a)
    show("loop",lambda a,n:lax.scan(lambda k,e:(k,vmap(lambda q:n)(k)),a,None,length=3),a,n)
    show("loop_computed",lambda a,n:lax.scan(lambda k,e:(k,vmap(lambda q:n*2)(k)),a,None,length=3),a,n)
    show("loop_slices",lambda a,n:lax.scan(lambda k,e:(k,vmap(lambda q:e)(k)),a,jnp.ones((3,8))),a,n)
    show("then_added",lambda a:vmap(lambda r:n)(a)+a,a)
    show("uncut",vmap(lambda r,c:(c,r),spmd_axis_name='x',**one),jax.device_put(jnp.ones((8,8)),NamedSharding(mesh,P())),c)
    show("spmd",vmap(lambda r,c:(c,r),spmd_axis_name='x',**one),a,c)
def mode(mark,types,has_context):
    mesh=jax.make_mesh((4,2),('x','y'),axis_types=types)
    put=lambda x,*p: jax.device_put(x,NamedSharding(mesh,P(*p)))
    a,c,n=put(jnp.sin(jnp.arange(64.).reshape(8,8)),'x','y'),put(jnp.arange(8.)),jnp.cos(jnp.arange(8.))
    globals_of_show["spec_text"]=lambda a: whole_text(a) if A not in types else whole_text(a).replace("@y","")
    with jax.set_mesh(mesh) if has_context else contextlib.nullcontext():
        def both(name,f,*args):
            show(f"{mark}_{name}",jit(f)(*args))
            # Outside jit and without a context mesh JAX leaves what is not computed with `a` on one device.
            if has_context: show(f"{mark}_{name}_eager",f(*args))
        programs(mark,mesh,a,c,n,both)
mode("context",(E,E),True); mode("mixed",(E,A),True); mode("free",(E,E),False)
