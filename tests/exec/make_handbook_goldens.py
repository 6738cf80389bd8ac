#!/usr/bin/env python3
"""Writes goldens/handbook_programs.txt: what JAX gives for the programs of handbook_programs_test.cpp.

    make_handbook_goldens.py > goldens/handbook_programs.txt        (needs jax)
"""
from jax_goldens import *
from jax import nn
from jax.ad_checkpoint import checkpoint_name
def thinking_in_jax():
    selu=lambda x,alpha=1.67,lmbda=1.05: lmbda*jnp.where(x>0,x,alpha*jnp.exp(x)-alpha); show("selu",jit(selu)(random.normal(random.key(1),(1000,))))
    show("updated",jnp.arange(10).at[0].set(10)); x=jnp.linspace(0,10,8); show("convolve",jnp.convolve(x,jnp.ones(10)))
    show("convolve.lax",lax.conv_general_dilated(x.reshape(1,1,8),jnp.ones((1,1,10)),(1,),[(9,9)])[0,0])
    def norm(X): X=X-X.mean(0); return X/X.std(0)
    show("norm",jit(norm)(random.normal(random.key(2),(20,3)))); show("static",jit(lambda x,neg:-x if neg else x,static_argnums=1)(jnp.arange(3.),True))
    show("ravel",jit(lambda x:x.reshape(np.prod(x.shape)))(jnp.ones((2,3)))); sum_logistic=lambda x: jnp.sum(1.0/(1.0+jnp.exp(-x)))
    show("grad",grad(sum_logistic)(jnp.arange(3.))); show("grad3",grad(jit(grad(jit(grad(sum_logistic)))))(1.0)); show("hessian",jit(jax.jacfwd(jax.jacrev(sum_logistic)))(jnp.arange(3.)))
    k=random.split(random.key(1701)); mat,batch=random.normal(k[0],(15,10)),random.normal(k[1],(5,10)); show("vmap",jit(vmap(lambda x:mat@x))(batch))
    show("while",lax.while_loop(lambda x:x<100,lambda x:x*2,jnp.int32(3)))
def random_numbers():
    key=random.key(42); show("random.normal",random.normal(key))
    for i in range(3): key,sub=random.split(key); show(f"random.loop{i}",random.normal(sub))
    show("random.each",vmap(random.normal)(random.split(random.key(42),3))); show("random.whole",random.normal(random.key(42),(3,)))
    show("random.fold",vmap(lambda i:random.uniform(random.fold_in(random.key(0),i)))(jnp.arange(5)))
    show("random.sharded",jit(lambda k:lax.with_sharding_constraint(random.uniform(k,(8,4)),NamedSharding(mesh,P('x'))))(random.key(3)))
    show("random.per_device",jax.shard_map(lambda k:random.normal(random.fold_in(k,lax.axis_index('x')),(2,)),mesh=mesh,in_specs=P(),out_specs=P('x'))(random.key(4)))
    show("random.permutation",random.permutation(random.key(5),jnp.arange(12))); show("random.choice",random.choice(random.key(6),10,(4,),replace=False)); show("random.categorical",random.categorical(random.key(7),jnp.zeros((6,5))))
def checkpointing():
    cp=jax.checkpoint_policies; g=lambda W,x: jnp.sin(checkpoint_name(jnp.dot(W,x),"a")); k=random.split(random.key(5),4)
    Ws=[random.normal(k[i],s) for i,s in enumerate(((4,5),(6,4),(7,6)))]; x=random.normal(k[3],(5,))
    def f(Ws,x,p): l=jax.checkpoint(g,policy=p); return jnp.sum(l(Ws[2],l(Ws[1],l(Ws[0],x))))
    for i,p in enumerate((cp.nothing_saveable,cp.dots_saveable,cp.save_only_these_names("a"),cp.save_anything_except_these_names("a"),cp.save_any_names_but_these("b"),cp.save_from_both_policies(cp.dots_saveable,cp.save_only_these_names("b")))):
        show(f"checkpoint{i}",grad(f)(Ws,x,p))
    chain=lambda n: jnp.sin if n==1 else jax.checkpoint(lambda x: chain(n-n//2)(chain(n//2)(x)))
    show("checkpoint.recursive",grad(chain(8))(3.))
def partitioning():
    from jax.experimental.custom_partitioning import custom_partitioning
    my_fft=custom_partitioning(lambda x:jnp.fft.fft(x).real)
    def partition(mesh,args,result): s=NamedSharding(mesh,P(args[0].sharding.spec[0],None)); return mesh,my_fft.fun,s,(s,)
    my_fft.def_partition(partition=partition,sharding_rule='... i -> ... i',need_replication_factors=('i',),infer_sharding_from_operands=None)
    show("my_fft",jit(my_fft)(on(random.normal(random.key(8),(32,64)),'x','y')))
def networks():
    sizes=[12,16,16,8]; k=random.split(random.key(9),3); params=[(random.normal(k[i],(sizes[i],sizes[i+1]))/np.sqrt(sizes[i]),jnp.zeros(sizes[i+1])) for i in range(3)]
    def predict(params,x):
        for W,b in params: y=x@W+b; x=jnp.maximum(y,0)
        return y
    loss=lambda params,x,t: jnp.mean(jnp.sum((predict(params,x)-t)**2,-1)); x,t=random.normal(random.key(10),(32,12)),random.normal(random.key(11),(32,8))
    dp=jax.shard_map(lambda p,x,t: lax.pmean(loss(p,x,t),('x','y')),mesh=mesh,in_specs=(P(),P(('x','y')),P(('x','y'))),out_specs=P())
    show("networks.loss",jit(dp)(params,x,t)); show("networks.grads",jit(grad(dp))(params,x,t))
def cookbook():
    k=random.split(random.key(12),4); normal=lambda i,s,*p: on(random.normal(k[i],s)*0.2,*p); q,kk,v=[normal(i,(4,6,2,8),'x',None,'y') for i in range(3)]
    unembed=normal(3,(16,32),None,'y'); labels=on(random.randint(random.key(13),(4,6),0,32),'x')
    def loss(u,q,k,v,labels):
        o=nn.dot_product_attention(q,k,v,is_causal=True).reshape(4,6,16); return -jnp.mean(jnp.take_along_axis(nn.log_softmax(jnp.einsum('btd,dv->btv',o,u)),labels[...,None],-1))
    show("cookbook",jit(value_and_grad(loss))(unembed,q,kk,v,labels))
for f in (thinking_in_jax, random_numbers, checkpointing, partitioning, networks, cookbook): f()
