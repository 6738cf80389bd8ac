#!/usr/bin/env python3
"""Writes goldens/parallel_programs.txt: what JAX gives for the programs of parallel_programs_test.cpp.

    make_parallel_goldens.py > goldens/parallel_programs.txt        (needs jax)
"""
from jax_goldens import *
from jax.lax import pcast
def fsdp():
    k=random.split(random.key(20),3)
    p=(on(0.2*random.normal(k[0],(16,32)),'x'),on(0.2*random.normal(k[1],(32,16)),'x')); x=on(random.normal(k[2],(16,16)),'x')
    @jax.shard_map(mesh=mesh,in_specs=(P('x'),P('x')),out_specs=P())
    def loss(p,x):
        w1=lax.all_gather(p[0],'x',axis=0,tiled=True); h=jax.nn.gelu(x@w1); w2=lax.all_gather(p[1],'x',axis=0,tiled=True)
        return lax.pmean(jnp.mean(jnp.square(h@w2-x)),'x')
    show("fsdp",jit(value_and_grad(loss))(p,x))
def tensor_parallel():
    k=random.split(random.key(21),3)
    p=(on(0.2*random.normal(k[0],(16,32)),None,'y'),on(0.2*random.normal(k[1],(32,16)),'y',None)); x=on(random.normal(k[2],(8,8,16)),'x','y')
    @jax.shard_map(mesh=mesh,in_specs=(P(None,'y'),P('y',None),P('x','y')),out_specs=P('x','y'))
    def block(w1,w2,x):
        n=(x-jnp.mean(x,-1,keepdims=True))*lax.rsqrt(jnp.var(x,-1,keepdims=True)+1e-5)
        full=lax.all_gather(n,'y',axis=1,tiled=True); h=jax.nn.silu(jnp.einsum("btd,df->btf",full,w1))
        return x+lax.psum_scatter(jnp.einsum("btf,fd->btd",h,w2),'y',scatter_dimension=1,tiled=True)
    show("tp",jit(value_and_grad(lambda p,x:jnp.sum(jnp.sin(block(p[0],p[1],x)))))(p,x))
def pipeline():
    k=random.split(random.key(22),2)
    w=on(0.5*random.normal(k[0],(4,8,8)),'x'); xs=on(random.normal(k[1],(6,4,8)))
    @jax.shard_map(mesh=mesh,in_specs=(P('x'),P()),out_specs=P())
    def run(w,xs):
        n=lax.axis_size('x'); me=lax.axis_index('x'); nxt=[(i,(i+1)%n) for i in range(n)]
        st=pcast(jnp.zeros((4,8)),'x',to='varying')
        def f(st,t):
            cur=jnp.where(me==0,lax.dynamic_index_in_dim(xs,jnp.minimum(t,5),0,False),st); out=jnp.tanh(cur@w[0])
            return lax.ppermute(out,'x',nxt),out
        _,outs=lax.scan(f,st,jnp.arange(9)); mine=outs[3:]
        return lax.psum(jnp.where(me==n-1,mine,jnp.zeros_like(mine)),'x')
    show("pipeline",jit(value_and_grad(lambda w,xs:jnp.sum(run(w,xs)**2)))(w,xs))
def experts():
    k=random.split(random.key(23),3)
    x=on(random.normal(k[0],(32,8)),'x'); r=on(random.normal(k[1],(8,4))); w=on(random.normal(k[2],(4,8,8)),'x')
    @jax.shard_map(mesh=mesh,in_specs=(P('x'),P(),P('x')),out_specs=P('x'))
    def moe(x,r,w):
        C=4; gate=jax.nn.softmax(x@r); e=jnp.argmax(gate,1); g=jnp.max(gate,1); hot=jax.nn.one_hot(e,4)
        place=jnp.sum(jnp.cumsum(hot,0)*hot,1)-1.; keep=place<C; slots=hot*jnp.where(keep,1.,0.)[:,None]
        d=jnp.einsum("te,tc->tec",slots,jax.nn.one_hot(place.astype(jnp.int32),C))
        sent=lax.all_to_all(jnp.einsum("tec,td->ecd",d,x),'x',0,1,tiled=True); done=jnp.einsum("ecd,edf->ecf",sent,w)
        back=lax.all_to_all(done,'x',1,0,tiled=True)
        return jnp.einsum("tec,ecd->td",d,back)*g[:,None]
    show("experts",jit(value_and_grad(lambda x,r,w:jnp.sum(moe(x,r,w)**2),argnums=(0,1,2)))(x,r,w))
def explicit_mode():
    em=jax.make_mesh((4,2),('x','y'),axis_types=(jax.sharding.AxisType.Explicit,)*2)
    with jax.set_mesh(em):
        put=lambda x,*p: jax.device_put(x,NamedSharding(em,P(*p)))
        k=random.split(random.key(24),3)
        x=put(random.normal(k[0],(8,16)),'x',None); w1=put(random.normal(k[1],(16,32)),None,'y'); w2=put(random.normal(k[2],(32,16)),'y',None)
        f=jit(lambda x,w1,w2: jnp.dot(jnp.tanh(jnp.dot(x,w1)),w2,out_sharding=P('x',None)))
        show("explicit",f(x,w1,w2)); show("explicit.eager",jnp.dot(jnp.tanh(x@w1),w2,out_sharding=P('x','y')))
        show("explicit.grad",jit(value_and_grad(lambda w1,w2:jnp.sum(f(x,w1,w2)**2),argnums=(0,1)))(w1,w2))
        show("explicit.reshape",lax.reshape(x,(2,4,16),out_sharding=P(None,'x')))
        show("explicit.get",x.at[jnp.array([0,5,2])].get(out_sharding=P(None,'y')))
        show("explicit.einsum",jnp.einsum("bd,df->bf",x,w1)); show("explicit.reshard",jax.sharding.reshard(x,P('y','x')))
def rest():
    x=on(random.normal(random.key(25),(16,8)),'x','y')
    @jax.custom_vjp
    def ste(x): return jnp.round(x)
    ste.defvjp(lambda x:(jnp.round(x),()),lambda r,g:(g,))
    show("ste",jit(grad(lambda x:jnp.sum(ste(x)**2)))(x))
    a=on(random.uniform(random.key(26),(16,8)),'x','y')
    lin=jit(lambda a,b: lax.associative_scan(lambda p,q:(p[0]*q[0],q[0]*p[1]+q[1]),(a,b)))
    show("ssm",lin(a,x)[1]); show("ssm.grad",jit(grad(lambda a,x:jnp.sum(lin(a,x)[1])))(a,x))
    from jax.ad_checkpoint import checkpoint_name
    f=jax.checkpoint(lambda x:(lambda h:jnp.sum(jnp.exp(h)*h))(checkpoint_name(jnp.sin(x),"h")),policy=jax.checkpoint_policies.save_only_these_names("h"))
    show("policy",jit(grad(f))(x))
    show("perm",on(random.permutation(random.key(27),x),'x'))
    show("categorical",jit(lambda l:random.categorical(random.key(3),l))(x))
    show("gumbel",jit(lambda l:jax.nn.softmax((l+random.gumbel(random.key(4),(16,8)))/0.5))(x))
    show("vmap2",jit(vmap(vmap(lambda a,b:a*b+jnp.sum(a),in_axes=(0,None)),in_axes=(0,0)))(x,x))
    show("jacrev",jit(jax.jacrev(lambda v:jnp.tanh(v)*jnp.sum(v)))(on(jnp.arange(8.)/8.,'x')))
for f in (fsdp, tensor_parallel, pipeline, experts, explicit_mode, rest): f()
