#!/usr/bin/env python3
"""Writes goldens/ported_programs.txt: what JAX gives for the programs of ported_programs_test.cpp.

    make_ported_goldens.py > goldens/ported_programs.txt        (needs jax)
"""
import math
from jax_goldens import *
from jax.lax import pcast
vary=lambda x: pcast(x,'x',to='varying')
def overlapped():
    k=random.split(random.key(1),2); a,w=on(random.normal(k[0],(16,32)),'x'),on(random.normal(k[1],(32,24)),None,'x')
    @jit
    @jax.shard_map(mesh=mesh,in_specs=(P('x'),P(None,'x')),out_specs=P(None,'x'))
    def gathered(a,w):
        n,i,rows=lax.axis_size('x'),lax.axis_index('x'),a.shape[0]
        def step(t,c):
            out,a=c
            return lax.dynamic_update_slice(out,a@w,(((i+t)%n)*rows,0)),lax.ppermute(a,'x',[(j,(j-1)%n) for j in range(n)])
        return lax.fori_loop(0,n,step,(vary(jnp.zeros((rows*n,w.shape[1]))),a))[0]
    run("gathered",gathered,a,w)
    @jit
    @jax.shard_map(mesh=mesh,in_specs=(P(None,'x'),P('x')),out_specs=P('x'))
    def scattered(a,w):
        n,i=lax.axis_size('x'),lax.axis_index('x'); rows=a.shape[0]//n; acc=vary(jnp.zeros((rows,w.shape[1])))
        for t in range(n):
            if t: acc=lax.ppermute(acc,'x',[(j,(j+1)%n) for j in range(n)])
            acc=acc+lax.dynamic_slice_in_dim(a,(i+n-1-t)%n*rows,rows,0)@w
        return acc
    run("scattered",scattered,on(a,None,'x'),on(w,'x'))
def ring():
    q,k,v=[on(random.normal(j,(2,16,2,8)),None,'x') for j in random.split(random.key(3),3)]
    @jax.shard_map(mesh=mesh,in_specs=(P(None,'x'),)*3,out_specs=P(None,'x'))
    def f(q,k,v):
        n,i,S=lax.axis_size('x'),lax.axis_index('x'),q.shape[1]; perm=[(j,(j+1)%n) for j in range(n)]
        def step(c,t):
            k,v,o,m,l=c; src=(i-t)%n
            s=jnp.einsum("bqhd,bkhd->bhqk",q,k)/math.sqrt(8)
            s=jnp.where((i*S+jnp.arange(S))[:,None]>=(src*S+jnp.arange(S))[None],s,-1e30)
            top=jnp.maximum(m,s.max(-1)); p=jnp.exp(s-top[...,None]); c=jnp.exp(m-top)
            return (lax.ppermute(k,'x',perm),lax.ppermute(v,'x',perm),o*c[...,None]+jnp.einsum("bhqk,bkhd->bhqd",p,v),top,l*c+p.sum(-1)),None
        (_,_,o,_,l),_=lax.scan(step,(k,v,vary(jnp.zeros((2,2,S,8))),vary(jnp.full((2,2,S),-1e30)),vary(jnp.zeros((2,2,S)))),jnp.arange(n))
        return jnp.transpose(o/l[...,None],(0,2,1,3))
    run("ring",jit(f),q,k,v); run("ring.grad",jit(grad(lambda q,k,v: jnp.sum(f(q,k,v)**2),argnums=(0,1,2))),q,k,v)
def training():
    k=random.split(random.key(4),4)
    p={'b1':on(jnp.zeros(64),'y'),'b2':on(jnp.zeros(8)),'w1':on(0.3*random.normal(k[0],(16,64)),'x','y'),'w2':on(0.3*random.normal(k[1],(64,8)),'y','x')}
    x,y=on(random.normal(k[2],(4,16,16)),None,'x'),on(random.randint(k[3],(4,16),0,8),None,'x')
    def loss(p,x,y,scale):
        h=lax.with_sharding_constraint(jax.nn.gelu(x@p['w1']+p['b1']),NamedSharding(mesh,P('x','y')))
        l=-jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(h@p['w2']+p['b2']),y[:,None],1)); return l*scale,l
    def update(s,x,y):
        p,m,v,step,scale=s
        def add(g,b):
            (_,l),more=value_and_grad(loss,has_aux=True)(p,b[0],b[1],scale); return jax.tree.map(jnp.add,g,more),l
        g,ls=lax.scan(add,jax.tree.map(jnp.zeros_like,p),(x,y)); g=jax.tree.map(lambda a:a/(4*scale),g)
        finite=jnp.all(jnp.array([jnp.all(jnp.isfinite(a)) for a in jax.tree.leaves(g)]))
        norm=jnp.sqrt(sum(jnp.sum(a*a) for a in jax.tree.leaves(g))); g=jax.tree.map(lambda a:a*jnp.minimum(1.,0.5/(norm+1e-6)),g)
        step=step+1; t=step.astype(jnp.float32)
        m=jax.tree.map(lambda m,g:0.9*m+0.1*g,m,g); v=jax.tree.map(lambda v,g:0.99*v+0.01*g*g,v,g)
        new=jax.tree.map(lambda p,m,v: p-0.05*(m/(1-0.9**t))/(jnp.sqrt(v/(1-0.99**t))+1e-8),p,m,v)
        return (jax.tree.map(lambda a,b:jnp.where(finite,a,b),new,p),m,v,step,jnp.where(finite,scale,scale/2)),(jnp.mean(ls),norm)
    z=jax.tree.map(jnp.zeros_like,p); run("training",jit(update),(p,z,z,jnp.int32(0),jnp.float32(1024.)),x,y)
def vocabulary():
    k=random.split(random.key(5),3)
    E,ids,labels=on(random.normal(k[0],(32,16)),'y'),on(random.randint(k[1],(8,12),0,32),'x'),on(random.randint(k[2],(8,12),0,32),'x')
    @jax.shard_map(mesh=mesh,in_specs=(P('y'),P('x'),P('x')),out_specs=P())
    def loss(E,ids,labels):
        V=E.shape[0]; first=lax.axis_index('y')*V
        def mine(ids): i=ids-first; return (i>=0)&(i<V),jnp.clip(i,0,V-1)
        own,i=mine(ids); h=jnp.tanh(lax.psum(jnp.where(own[...,None],jnp.take(E,i,axis=0),0.),'y'))
        lg=jnp.einsum("btd,vd->btv",h,E); top=lax.pmax(lax.stop_gradient(lg.max(-1)),'y')
        total=jnp.log(lax.psum(jnp.exp(lg-top[...,None]).sum(-1),'y'))+top; own,i=mine(labels)
        return lax.pmean(jnp.mean(total-lax.psum(jnp.where(own,jnp.take_along_axis(lg,i[...,None],-1)[...,0],0.),'y')),'x')
    run("vocabulary",jit(value_and_grad(loss)),E,ids,labels)
def decoding():
    k=random.split(random.key(10),4); T,B=6,8
    W={'e':on(0.5*random.normal(k[0],(24,16)),None,'y'),'k':on(0.3*random.normal(k[1],(16,4,4)),None,'y'),'o':on(0.3*random.normal(k[2],(4,4,16)),'y')}
    cache,token=on(jnp.zeros((B,T,4,4)),'x',None,'y'),on(random.randint(k[3],(B,),0,24),'x')
    def generate(W,token,cache):
        def step(c,t):
            token,cache=c; h=W['e'][token]; q=jnp.einsum("bd,dhk->bhk",h,W['k'])
            cache=lax.dynamic_update_slice(cache,q[:,None],(0,t,0,0))
            s=jnp.where((jnp.arange(T)<=t)[None,None],jnp.einsum("bhk,bthk->bht",q,cache)/2.,-1e9)
            a=jnp.einsum("bht,bthk->bhk",jax.nn.softmax(s),cache); lg=(h+jnp.einsum("bhk,hkd->bd",a,W['o']))@W['e'].T
            best,_=lax.top_k(jax.nn.log_softmax(lg),2); token=jnp.argmax(lg,-1); return (token,cache),(token,best)
        (_,cache),out=lax.scan(step,(token,cache),jnp.arange(T)); return out,cache
    run("decoding",jit(generate),W,token,cache)
def halo():
    u=on(random.normal(random.key(14),(16,8,4)),'x','y')
    @jax.shard_map(mesh=mesh,in_specs=P('x','y'),out_specs=P('x','y'))
    def f(u):
        def wider(u,name,d):
            n=lax.axis_size(name); up,down=[[(i,(i+s)%n) for i in range(n)] for s in (1,-1)]
            return jnp.concatenate([lax.ppermute(lax.slice_in_dim(u,u.shape[d]-1,None,axis=d),name,up),u,lax.ppermute(lax.slice_in_dim(u,0,1,axis=d),name,down)],d)
        def step(_,u):
            e,f=wider(u,'x',0),wider(u,'y',1)
            return u+0.1*(e[2:]+e[:-2]+f[:,2:]+f[:,:-2]+jnp.roll(u,1,2)+jnp.roll(u,-1,2)-6*u)
        return lax.fori_loop(0,5,step,u)
    run("halo",jit(f),u)
def particles():
    k=random.split(random.key(15),2); place,mass=on(random.uniform(k[0],(64,2)),'x'),on(random.uniform(k[1],(64,)),'x')
    def f(place,mass):
        c=jnp.floor(place*4).astype(jnp.int32); cell=c[:,0]*4+c[:,1]; total=jax.ops.segment_sum(mass,cell,16)
        center=jax.ops.segment_sum(mass[:,None]*place,cell,16)/jnp.maximum(total,1e-6)[:,None]
        return place+0.1*(center[cell]-place),total,jnp.bincount(cell,length=16),place[jnp.argsort(cell)]
    run("particles",jit(f),place,mass)
def linear():
    A,b=on(random.normal(random.key(16),(64,8)),'x'),on(random.normal(random.key(17),(64,)),'x')
    @jax.shard_map(mesh=mesh,in_specs=P('x'),out_specs=(P('x'),P()),check_vma=False)
    def tall(A):
        q,r=jnp.linalg.qr(A); q2,r2=jnp.linalg.qr(lax.all_gather(r,'x').reshape(-1,8)); s=jnp.sign(jnp.diag(r2))
        return q@lax.dynamic_slice_in_dim(q2,lax.axis_index('x')*8,8,0)*s,r2*s[:,None]
    run("tall_qr",jit(tall),A)
    def cg(A,b):
        r=A.T@b
        def step(_,c):
            x,r,p,rr=c; q=A.T@(A@p)+0.1*p; a=rr/(p@q); x=x+a*p; r=r-a*q; new=r@r; return x,r,r+new/rr*p,new
        return lax.fori_loop(0,6,step,(jnp.zeros(8),r,r,r@r))[0]
    run("conjugate_gradients",jit(cg),A,b)
def derivatives():
    x,W=on(jnp.linspace(-1,1,16),'x'),on(random.normal(random.key(19),(16,16))*0.3,None,'x')
    f=lambda x,W: jnp.tanh(W@x)*jnp.sum(x); g=lambda x,W: jnp.sum(f(x,W)**2)
    run("jacobian",jit(jax.jacrev(f)),x,W); run("hessian",jit(jax.hessian(g)),x,W)
    run("hessian_by_vector",jit(lambda x,v,W: jax.jvp(lambda x:grad(g)(x,W),(x,),(v,))[1]),x,on(jnp.cos(x),'x'),W)
def tensor_parallel():
    k=random.split(random.key(20),3)
    @jax.custom_vjp
    def enter(x): return x
    enter.defvjp(lambda x:(x,None),lambda _,g:(lax.psum(g,'y'),))
    @jax.custom_vjp
    def leave(x): return lax.psum(x,'y')
    leave.defvjp(lambda x:(lax.psum(x,'y'),None),lambda _,g:(g,))
    def step(x,A,B):
        l,g=value_and_grad(lambda A,B: jnp.sum(leave(jax.nn.gelu(enter(x)@A)@B)**2),argnums=(0,1))(A,B)
        return lax.psum(l,'x'),jax.tree.map(lambda a:lax.psum(a,'x'),g)
    args=on(random.normal(k[0],(8,16)),'x'),on(random.normal(k[1],(16,32))*.2,None,'y'),on(random.normal(k[2],(32,16))*.2,'y')
    run("tensor_parallel",jit(jax.shard_map(step,mesh=mesh,in_specs=(P('x'),P(None,'y'),P('y')),out_specs=(P(),(P(None,'y'),P('y'))),check_vma=False)),*args)
def dispatch():
    k=random.split(random.key(32),3); T,E,C=64,8,16
    x,r,w=on(random.normal(k[0],(T,8)),'x'),on(random.normal(k[1],(8,E))),on(random.normal(k[2],(E,8,8)),'x')
    def f(x,r,w):
        v,i=lax.top_k(jax.nn.softmax(x@r),2); hot=jax.nn.one_hot(i,E); place=jnp.cumsum(hot.reshape(T*2,E),0).reshape(T,2,E)*hot-1
        fits=(place<C)&(place>=0); sent=jnp.einsum('tke,tkec->tec',jnp.where(fits,hot,0.),jax.nn.one_hot(jnp.where(fits,place,0).astype(jnp.int32),C))
        there=lax.with_sharding_constraint(jnp.einsum('tec,td->ecd',sent,x),NamedSharding(mesh,P('x')))
        return jnp.einsum('tec,ecd->td',sent*jnp.einsum('tke,tk->te',hot,v)[...,None],jnp.einsum('ecd,edf->ecf',there,w))
    run("dispatch",jit(f),x,r,w)
def typed():
    typed=jax.make_mesh((4,2),('x','y'),axis_types=(jax.sharding.AxisType.Explicit,)*2)
    with jax.set_mesh(typed):
        put=lambda x,*p: jax.device_put(x,NamedSharding(typed,P(*p))); k=random.split(random.key(30),3)
        x,W,V=put(random.normal(k[0],(8,16)),'x',None),put(0.2*random.normal(k[1],(3,16,16)),None,None,'y'),put(0.2*random.normal(k[2],(3,16,16)),None,'y',None)
        layer=lambda h,wv: (h+jnp.dot(jnp.tanh(jnp.dot(h,wv[0])),wv[1],out_sharding=P('x',None)),jnp.sum(h))
        run("typed",jit(grad(lambda W,V,x: jnp.mean(lax.scan(layer,x,(W,V))[0]**2),argnums=(0,1))),W,V,x)
for f in (overlapped, ring, training, vocabulary, decoding, halo, particles, linear, derivatives, tensor_parallel, dispatch, typed): f()
