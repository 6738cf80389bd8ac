#!/usr/bin/env python3
"""Writes goldens/user_programs.txt: what JAX gives for the programs of user_programs_test.cpp.

    make_user_goldens.py > goldens/user_programs.txt        (needs jax)
"""
from functools import partial
from jax_goldens import *
from jax import nn
def zeros_of(t): return jax.tree.map(jnp.zeros_like,t)
def sharded(*p): return NamedSharding(mesh,P(*p))
def train_state():
    keys=random.split(random.PRNGKey(0),3)
    dense=lambda k,i,o: {'kernel':nn.initializers.lecun_normal()(k,(i,o)),'bias':jnp.zeros(o)}
    params={'hidden':dense(keys[0],8,16),'out':dense(keys[1],16,4)}
    s=dict(step=jnp.int32(0),params=params,stats=(jnp.zeros(16),jnp.ones(16)),mu=zeros_of(params),nu=zeros_of(params),rng=keys[2]); s=jax.device_put(s,sharded())
    @partial(jit,donate_argnums=0)
    def step(s,x,y):
        key=random.fold_in(s['rng'],s['step'])
        def loss(params):
            h=x@params['hidden']['kernel']; m,v=h.mean(0),h.var(0)
            h=nn.relu((h-m)*lax.rsqrt(v+1e-5)+params['hidden']['bias']); h=jnp.where(random.bernoulli(key,0.9,h.shape),h/0.9,0.)
            logits=h@params['out']['kernel']+params['out']['bias']
            return -jnp.mean(jnp.sum(nn.one_hot(y,4)*nn.log_softmax(logits),-1)),(0.9*s['stats'][0]+0.1*m,0.9*s['stats'][1]+0.1*v)
        (l,stats),g=value_and_grad(loss,has_aux=True)(s['params']); n=s['step']+1
        mu=jax.tree.map(lambda m,g:0.9*m+0.1*g,s['mu'],g); nu=jax.tree.map(lambda v,g:0.999*v+0.001*g**2,s['nu'],g); rate=0.01*jnp.minimum(1.,n/10.)
        p=jax.tree.map(lambda p,m,v:p-rate*(m/(1-0.9**n)/(jnp.sqrt(v/(1-0.999**n))+1e-8)+1e-4*p),s['params'],mu,nu)
        return dict(step=n,params=p,stats=stats,mu=mu,nu=nu,rng=s['rng']),l
    for i in range(5):
        k=random.split(random.fold_in(random.key(7),i)); s,l=step(s,on(random.normal(k[0],(32,8)),'x'),on(random.randint(k[1],(32,),0,4),'x'))
    for n,d in s['params'].items(): s['params'][n]=(d['kernel'],d['bias'])
    show("train_state.params",s['params']); show("train_state.stats",s['stats']); show("train_state.step",s['step']); show("train_state.loss",l)
def optimizers():
    params={'w':on(random.normal(random.key(1),(16,8)),'x','y'),'b':on(jnp.zeros(8),'y')}
    loss=lambda p,x: jnp.mean((nn.gelu(x@p['w']+p['b'])-1)**2)
    schedule=lambda c: jnp.where(c<3,0.1*c/3,0.05*(1+jnp.cos(jnp.pi*jnp.minimum(c-3,10)/10)))
    @jit
    def step(p,opt,x):
        l,g=value_and_grad(loss)(p,x); norm=jnp.sqrt(sum(jnp.sum(a**2) for a in jax.tree.leaves(g))); g=jax.tree.map(lambda g:g*jnp.minimum(1.,0.5/norm),g)
        m,a,c=opt; m=jax.tree.map(lambda m,g:0.9*m+g,m,g); d=jax.tree_util.tree_map_with_path(lambda q,p: p*0.01 if jax.tree_util.keystr(q)=="['w']" else p*0.,p)
        n=jax.tree.map(lambda p,m,d:p-schedule(c)*(m+d),p,m,d); a=jax.tree.map(lambda a,p:0.99*a+0.01*p,a,n)
        return n,(m,a,c+1),l,norm
    opt=(zeros_of(params),params,jnp.int32(0)); x=on(random.normal(random.key(2),(64,16)),'x')
    for i in range(6): params,opt,l,norm=step(params,opt,x)
    show("optimizers.params",params); show("optimizers.average",opt[1]); show("optimizers.loss",(l,norm))
def accumulation():
    w,x=on(random.normal(random.key(3),(8,8)),None,'y'),on(random.normal(random.key(4),(32,8)),'x'); loss=lambda w,x: jnp.mean(jnp.tanh(x@w)**2)
    @jit
    def f(w,x):
        parts=lax.with_sharding_constraint(x.reshape(4,8,8),sharded(None,'x'))
        def body(c,part): l,g=value_and_grad(loss)(w,part); return (c[0]+l/4,c[1]+g/4),l
        (l,g),each=lax.scan(body,(jnp.float32(0),jnp.zeros_like(w)),parts); return l,g,each
    show("accumulation",f(w,x))
def transformer():
    L,d,H,F=3,16,4,32; keys=random.split(random.key(5),7); normal=lambda i,s,*p: on(random.normal(keys[i],s)*0.1,*p)
    p=[on(jnp.ones((L,d))),*[normal(i,(L,d,H,d//H),None,None,'y') for i in range(3)],normal(3,(L,H,d//H,d),None,'y'),on(jnp.ones((L,d))),
       normal(4,(L,d,F),None,None,'y'),normal(5,(L,d,F),None,None,'y'),normal(6,(L,F,d),None,'y')]
    x=on(random.normal(random.key(6),(8,12,d)),'x'); rms=lambda x,s: x*lax.rsqrt(jnp.mean(x**2,-1,keepdims=True)+1e-6)*s
    def rotary(x):
        half,t=x.shape[3]//2,x.shape[1]; a=jnp.arange(t,dtype=jnp.float32)[:,None]/10000**(jnp.arange(half,dtype=jnp.float32)/half); c,s=jnp.cos(a)[:,None],jnp.sin(a)[:,None]
        u,v=jnp.split(x,2,-1); return jnp.concatenate([u*c-v*s,v*c+u*s],-1)
    def layer(x,p):
        s1,wq,wk,wv,wo,s2,up,gate,down=p; h=rms(x,s1); q,k,v=rotary(jnp.einsum('btd,dhk->bthk',h,wq)),rotary(jnp.einsum('btd,dhk->bthk',h,wk)),jnp.einsum('btd,dhk->bthk',h,wv)
        logits=jnp.einsum('bthk,bshk->bhts',q.astype(jnp.bfloat16),k.astype(jnp.bfloat16)).astype(jnp.float32)/jnp.sqrt(d//H)
        logits=jnp.where(jnp.tril(jnp.ones((12,12),bool)),logits,-1e9)
        y=x+jnp.einsum('bthk,hkd->btd',jnp.einsum('bhts,bshk->bthk',nn.softmax(logits),v),wo); h=rms(y,s2); y=y+(nn.silu(h@gate)*(h@up))@down
        return lax.with_sharding_constraint(y,sharded('x')),None
    loss=lambda p,x: jnp.mean(lax.scan(jax.remat(layer,policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable),x,p)[0]**2)
    l,g=jit(value_and_grad(loss))(p,x); show("transformer.loss",l); show("transformer.grads",g)
def experts():
    k=random.split(random.key(8),4); x,router=on(random.normal(k[0],(4,16,8)),'x'),on(random.normal(k[1],(8,4)))
    up,down=on(random.normal(k[2],(4,8,16)),'x'),on(random.normal(k[3],(4,16,8)),'x')
    def moe(x,router,up,down):
        C=6; probs=nn.softmax(jnp.einsum('gsd,de->gse',x,router)); gate,index=probs.max(-1),probs.argmax(-1); mask=nn.one_hot(index,4)
        place=jnp.cumsum(mask,1)*mask; mask=mask*(place<=C); aux=jnp.mean(mask.mean(1)*probs.mean(1))*16
        dispatch=jnp.einsum('gse,gsc->gsec',mask,nn.one_hot(((place*mask).sum(-1)-1).astype(jnp.int32),C)); combine=dispatch*gate[...,None,None]
        i=lax.with_sharding_constraint(jnp.einsum('gsec,gsd->egcd',dispatch,x),sharded('x'))
        return jnp.einsum('gsec,egcd->gsd',combine,jnp.einsum('egch,ehd->egcd',nn.relu(jnp.einsum('egcd,edh->egch',i,up)),down)),aux
    def loss(router,up,x,down): y,a=moe(x,router,up,down); return jnp.mean(y**2)+0.01*a
    show("experts.out",jit(moe)(x,router,up,down)); show("experts.grads",jit(grad(loss,(0,1)))(router,up,x,down))
def rules():
    def init(): k=random.split(random.key(9),3); return {'dense':{'kernel':random.normal(k[0],(8,16)),'bias':jnp.zeros(16)},'embed':{'table':random.normal(k[1],(32,8))}}
    spec=lambda path: P(None,'y') if 'kernel' in path else P('x') if 'table' in path else P()
    shardings=jax.tree_util.tree_map_with_path(lambda p,x: NamedSharding(mesh,spec(jax.tree_util.keystr(p))),jax.eval_shape(init))
    params=jit(init,out_shardings=shardings)(); show("rules.params",params); ids=on(random.randint(random.key(10),(16,6),0,32),'x')
    show("rules.out",jit(lambda p,ids: p['embed']['table'][ids]@p['dense']['kernel']+p['dense']['bias'])(params,ids)); show("rules.replicated",jax.device_put(params,sharded()))
def loader():
    data,labels=random.normal(random.key(11),(24,4)),random.randint(random.key(12),(24,),0,3)
    evaluate=jit(lambda b: {'count':jnp.array([b['y'].size]),'correct':jnp.sum(b['x'][:,:3].argmax(-1)==b['y'])}); totals={'count':jnp.zeros(1,int),'correct':jnp.int32(0)}
    for i in range(3):
        b={n:jax.make_array_from_process_local_data(sharded('x'),np.asarray(v[8*i:8*i+8])) for n,v in (('x',data),('y',labels))}; totals=jax.tree.map(jnp.add,totals,evaluate(b))
    show("loader",totals); whole=np.arange(48,dtype=np.float32).reshape(8,6); show("loader.callback",jax.make_array_from_callback((8,6),sharded('x','y'),lambda i: whole[i]))
for f in (train_state, optimizers, accumulation, transformer, experts, rules, loader): f()
