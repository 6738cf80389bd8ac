#!/usr/bin/env python3
"""Writes goldens/aliases.txt: what JAX gives for the calls of aliases_test.cpp.

    make_aliases_goldens.py > goldens/aliases.txt        (needs jax)
"""
from jax_goldens import *
import jax.scipy.special as special
x,y=jnp.array([-0.9,-0.5,0.25,0.75]),jnp.array([0.5,2.,3.,0.25]); i,j=jnp.array([1,2,5,12]),jnp.array([1,3,0,2])
def calls(modules,names,*args):
    for name in names.split():
        show(name,next(getattr(m,name) for m in modules if hasattr(m,name))(*args))
calls((jnp,lax,jax.nn,special),"absolute acos around asin asinh atan atanh bessel_i0e bessel_i1e conjugate degrees erfinv expit hard_swish is_finite neg radians sigmoid swish amax cumulative_sum cumulative_prod empty_like",x)
calls((jnp,),"acosh",y+1); calls((special,),"gammaln",y); calls((jnp,),"bitwise_count bitwise_invert bitwise_not",i)
calls((jnp,lax),"atan2 div mod mul sub true_divide",x,y); calls((jnp,),"pow",y,x); calls((jnp,),"amin",x,0)
calls((jnp,lax),"bitwise_left_shift bitwise_right_shift eq ge gt le lt ne shift_left shift_right_arithmetic",i,j)
calls((lax,),"bitcast_convert_type",i,jnp.uint32); calls((lax,),"convert_element_type",i,jnp.float32); calls((jnp,),"concat",[x,y])
calls((jnp,),"permute_dims",x.reshape(2,2),(1,0)); calls((lax,),"broadcasted_iota",jnp.int32,(2,3),1)
show("random::PRNGKey",random.PRNGKey(3))
for name in "kaiming_normal kaiming_uniform xavier_normal xavier_uniform".split(): show(name,getattr(jax.nn.initializers,name)()(random.key(1),(8,4)))
