"""What the makers of goldens share: a mesh of eight devices, and lines of a name, the type with its sharding, the sum and the sum of
magnitudes (jax_goldens.h reads them)."""
import os, sys
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../scenarios"))
os.environ['XLA_FLAGS']='--xla_force_host_platform_device_count=8'
import jax, jax.numpy as jnp, numpy as np
from jax import lax, random, jit, grad, vmap, value_and_grad
from jax.sharding import PartitionSpec as P, NamedSharding
mesh=jax.make_mesh((4,2),('x','y'), axis_types=(jax.sharding.AxisType.Auto,)*2)
def spec_text(a):
    sp=getattr(a.sharding,'spec',())
    out=[]
    for i,d in enumerate(a.shape):
        e=sp[i] if i<len(sp) else None
        if isinstance(e,tuple) and len(e)==1: e=e[0]
        out.append(str(d)+('' if e is None or e==() else '@'+(e if isinstance(e,str) else '('+','.join(e)+')')))
    return f"{a.dtype}[{','.join(out)}]"
def show(name,t):
    for i,a in enumerate(jax.tree.leaves(t)):
        v=np.asarray(a.astype(jnp.float32),dtype=np.float64)
        print(f"{name}.{i} {spec_text(a)} {v.sum():.6g} {np.abs(v).sum():.6g}")
def run(name,f,*args):
    """A jitted function's results, and what its module moves."""
    from jax_wire_bytes import wire_bytes_of
    show(name,f(*args)); print(f"{name} wire {wire_bytes_of(f.lower(*args).compile().as_text())} 0")
def on(x,*p): return jax.device_put(x,NamedSharding(mesh,P(*p)))
