#!/usr/bin/env python3
"""Writes goldens/user_models.txt: what JAX gives for the programs of user_models_test.cpp.

    make_user_models_goldens.py > goldens/user_models.txt        (needs jax)
"""
from jax_goldens import *
from jax import nn
def sharded(*p): return NamedSharding(mesh,P(*p))
def autoencoder():
    k=random.split(random.key(20),4); p={'enc':on(random.normal(k[1],(12,8))*0.3,None,'y'),'dec':random.normal(k[0],(4,12))*0.3}; x=on(random.uniform(k[2],(16,12)),'x')
    def elbo(p,x,key):
        mu,lv=jnp.split(x@p['enc'],2,-1); z=mu+jnp.exp(0.5*lv)*random.normal(key,mu.shape); l=z@p['dec']
        return jnp.mean(jnp.sum(nn.softplus(l)-x*l,-1)-0.5*jnp.sum(1+lv-mu**2-jnp.exp(lv),-1))
    show("autoencoder",jit(value_and_grad(elbo))(p,x,k[3]))
def convolutions():
    k=random.split(random.key(21),4); p={'conv':random.normal(k[0],(3,3,3,8))*0.2,'dense':random.normal(k[1],(8,5)),'scale':jnp.ones(8)}
    images,labels=random.normal(k[2],(16,8,8,3)),random.randint(k[3],(16,),0,5)
    def loss(p,images,labels):
        h=lax.conv_general_dilated(images,p['conv'],(2,2),'SAME',dimension_numbers=('NHWC','HWIO','NHWC')); c=lax.pmean(h.mean((0,1,2)),'x'); v=lax.pmean((h**2).mean((0,1,2)),'x')-c**2
        h=nn.relu((h-c)/jnp.sqrt(v+1e-5)*p['scale']); h=lax.reduce_window(h,-jnp.inf,lax.max,(1,2,2,1),(1,2,2,1),'VALID')
        return -jnp.mean(jnp.take_along_axis(nn.log_softmax(h.mean((1,2))@p['dense']),labels[:,None],1))
    def step(p,images,labels):
        l,g=value_and_grad(loss)(jax.tree.map(lambda x:lax.pcast(x,'x',to='varying'),p),images,labels); g=lax.pmean(g,'x')
        return jax.tree.map(lambda p,g:p-0.1*g,p,g),lax.pmean(l,'x')
    step=jit(jax.shard_map(step,mesh=mesh,in_specs=(P(),P('x'),P('x')),out_specs=(P(),P())))
    for i in range(3): p,l=step(p,images,labels)
    show("convolutions",(p,l))
def lstm():
    k=random.split(random.key(22),3); w,x=on(random.normal(k[0],(12,32))*0.3,None,'y'),on(random.normal(k[1],(10,8,4)),None,'x')
    def f(w,x):
        def cell(s,x):
            h,c=s; i,f,g,o=jnp.split(jnp.concatenate([x,h],-1)@w,4,-1); c=nn.sigmoid(f)*c+nn.sigmoid(i)*jnp.tanh(g); h=nn.sigmoid(o)*jnp.tanh(c); return (h,c),h
        (h,c),hs=lax.scan(cell,(jnp.zeros((8,8)),jnp.zeros((8,8))),x); return jnp.mean(hs**2)+jnp.sum(c)*0.01
    show("lstm",jit(value_and_grad(f))(w,x))
def sampling():
    table=on(random.normal(random.key(23),(16,16))*2,None,'y')
    def generate(table,key):
        def step(s):
            t,i,done,key=s; now,key=random.split(key); logits=table[lax.dynamic_index_in_dim(t,i-1,1,False)]; best,places=lax.top_k(logits,4)
            tok=jnp.take_along_axis(places,random.categorical(now,best)[:,None],1)[:,0]; tok=jnp.where(done,0,tok); return lax.dynamic_update_index_in_dim(t,tok,i,1),i+1,done|(tok==3),key
        return lax.while_loop(lambda s:(s[1]<12)&~jnp.all(s[2]),step,(jnp.zeros((8,12),int).at[:,0].set(jnp.arange(8)),jnp.int32(1),jnp.zeros(8,bool),key))[0]
    show("sampling",jit(generate)(table,random.key(24)))
def scaled_loss():
    w,x=on(random.normal(random.key(25),(8,8)),'y'),on(random.normal(random.key(26),(16,8)),'x'); h=jnp.float16
    @jit
    def step(w,s,x): g=grad(lambda w:jnp.mean((x.astype(h)@w.astype(h)).astype(jnp.float32)**2)*s)(w)/s; fine=jnp.all(jnp.isfinite(g)); return jnp.where(fine,w-0.01*g,w),jnp.where(fine,s*2,s/2)
    s=jnp.float32(1024)
    for i in range(12): w,s=step(w,s,x)
    show("scaled_loss",(w,s))
def chains():
    logp=lambda x: -0.5*jnp.sum(x**2)-0.1*jnp.sum(x**4)
    def chain(key):
        def step(s,key): x,a=s; k1,k2=random.split(key); p=x+0.5*random.normal(k1,(3,)); t=jnp.log(random.uniform(k2))<logp(p)-logp(x); return (jnp.where(t,p,x),a+t),x
        return lax.scan(step,(jnp.zeros(3),jnp.int32(0)),random.split(key,20))
    show("chains",jit(vmap(chain))(on(random.split(random.key(27),8),'x')))
def ensemble():
    w=on(vmap(lambda k:random.normal(k,(6,3)))(random.split(random.key(28),8)),'x'); x,y=random.normal(random.key(29),(10,6)),random.normal(random.key(30),(10,3)); loss=lambda w: jnp.mean((jnp.tanh(x@w)-y)**2)
    show("ensemble",jit(vmap(lambda w:lax.fori_loop(0,5,lambda i,w:w-0.1*grad(loss)(w),w)))(w))
def low_rank():
    k=random.split(random.key(31),4); frozen=on(random.normal(k[0],(16,16)),'x','y'); x=on(random.normal(k[2],(8,16)),'x')
    show("low_rank",jit(grad(lambda p,x:jnp.mean((x@lax.stop_gradient(frozen)+x@p['a']@p['b']*0.5)**2)))({'a':random.normal(k[1],(16,2)),'b':jnp.zeros((2,16))},x))
def contrastive():
    k=random.split(random.key(32),3); w,a,b=random.normal(k[0],(6,4)),random.normal(k[1],(16,6)),random.normal(k[2],(16,6))
    def loss(w,a,b):
        unit=lambda x: (lambda z: z/jnp.linalg.norm(z,axis=-1,keepdims=True))(x@w); za,zb=unit(a),lax.all_gather(unit(b),'x',tiled=True); labels=lax.axis_index('x')*len(za)+jnp.arange(len(za))
        return lax.pmean(-jnp.mean(jnp.take_along_axis(nn.log_softmax(za@zb.T/0.1),labels[:,None],1)),'x')
    show("contrastive",jit(value_and_grad(jax.shard_map(loss,mesh=mesh,in_specs=(P(),P('x'),P('x')),out_specs=P())))(w,a,b))
def evolution():
    @jit
    def step(c,key): n=lax.with_sharding_constraint(random.normal(key,(16,5)),sharded('x')); s=vmap(lambda x:-jnp.sum((x-1)**2))(c+0.1*n); r=jnp.argsort(jnp.argsort(s))/15.-0.5; return c+0.5/(16*0.1)*(r@n)
    c=jnp.zeros(5)
    for i in range(4): c=step(c,random.fold_in(random.key(33),i))
    show("evolution",c)
def returns():
    k=random.split(random.key(34),3); r,v,d=on(random.normal(k[0],(8,12)),'x'),on(random.normal(k[1],(8,13)),'x'),on(random.bernoulli(k[2],0.2,(8,12)),'x')
    def gae(r,v,d):
        alive=1.-d; delta=r+0.99*v[1:]*alive-v[:-1]
        def step(c,a): a=a[0]+0.99*0.95*a[1]*c; return a,a
        return lax.scan(step,jnp.float32(0),(delta,alive),reverse=True)[1]
    show("returns",jit(vmap(gae))(r,v,d))
def parts_of_states():
    w,x=random.normal(random.key(35),(16,4)),random.normal(random.key(36),(32,16))
    def step(w,m,x):
        g=grad(lambda w:jnp.mean((x@w-1)**2))(lax.pcast(w,'x',to='varying')); part=lax.psum_scatter(g,'x',tiled=True)/lax.axis_size('x'); n=0.9*m+part
        return lax.dynamic_slice_in_dim(w,lax.axis_index('x')*len(part),len(part))-0.1*n,n
    sm=jax.shard_map(step,mesh=mesh,in_specs=(P(),P('x'),P('x')),out_specs=(P('x'),P('x')))
    @jit
    def f(w,m,x): p,n=sm(w,m,x); return lax.with_sharding_constraint(p,sharded()),n
    m=on(jnp.zeros((16,4)),'x')
    for i in range(3): w,m=f(w,m,x)
    show("parts_of_states",(w,m))
def neural_ode():
    w,x=random.normal(random.key(37),(4,4))*0.5,on(random.normal(random.key(38),(8,4)),'x')
    def loss(w,x):
        f=lambda y: jnp.tanh(y@w)
        @jax.checkpoint
        def step(y): k1=f(y); k2=f(y+0.05*k1); k3=f(y+0.05*k2); k4=f(y+0.1*k3); return y+0.1/6*(k1+2*k2+2*k3+k4)
        return jnp.mean(lax.fori_loop(0,8,lambda i,y:step(y),x)**2)
    show("neural_ode",jit(value_and_grad(loss))(w,x))
def clusters():
    def f(x):
        def step(i,m): member=nn.one_hot(jnp.argmin(jnp.sum((x[:,None]-m)**2,-1),1),5); return lax.psum(member.T@x,'x')/jnp.maximum(lax.psum(member.sum(0),'x')[:,None],1.)
        return lax.fori_loop(0,6,step,lax.all_gather(x[:2],'x',tiled=True)[:5]*0.+jnp.arange(5.)[:,None]*0.1)
    show("clusters",jit(jax.shard_map(f,mesh=mesh,in_specs=P('x'),out_specs=P(),check_vma=False))(on(random.normal(random.key(39),(64,3)),'x')))
def wave():
    u=on(jnp.exp(-jnp.linspace(-3,3,64)**2),('x','y'))
    def step(s,_): now,before=s; n=2*now-before+0.25*(jnp.roll(now,1)-2*now+jnp.roll(now,-1)); return (n,now),jnp.sum(n**2)
    show("wave",jit(lambda u:lax.scan(step,(u,u),None,length=10))(u))
def newton():
    def solve(t): e=lambda x: jnp.sum(jnp.exp(x))-jnp.sum(x*(1+t))+0.1*jnp.sum(x)**2; return lax.fori_loop(0,4,lambda i,x:x-jnp.linalg.solve(jax.hessian(e)(x),grad(e)(x)),jnp.zeros(3))
    show("newton",jit(vmap(solve))(on(random.uniform(random.key(40),(8,3)),'x')))
def sinkhorn():
    def plan(c):
        K=jnp.exp(-c/0.1);
        def step(s): u=1/(K@s[1]); return u,1/(K.T@u),s[2]+1
        u,v,i=lax.while_loop(lambda s:(jnp.max(jnp.abs(s[0]*(K@s[1])-1))>1e-3)&(s[2]<100),step,(jnp.ones(8),jnp.ones(8),jnp.int32(0))); return u[:,None]*K*v
    show("sinkhorn",jit(plan)(on(random.uniform(random.key(41),(8,8)),'x','y')))
for f in (autoencoder, convolutions, lstm, sampling, scaled_loss, chains, ensemble, low_rank, contrastive, evolution, returns, parts_of_states, neural_ode, clusters, wave, newton, sinkhorn): f()
