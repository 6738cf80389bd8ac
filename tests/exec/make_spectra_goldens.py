#!/usr/bin/env python3
"""Writes goldens/spectra.txt: what JAX gives for the programs of spectra_test.cpp.

    make_spectra_goldens.py > goldens/spectra.txt        (needs jax)
"""
from jax_goldens import *
from jax.scipy import signal as s, linalg as la
def spectra():
    x,y=random.normal(random.key(1),(8,100)),random.normal(random.key(2),(8,100)); cut=on(x,'x')
    f,t,Z=s.stft(x,fs=10,nperseg=16); show("stft",(f,t,jnp.abs(Z)))
    absolute=lambda x: jnp.abs(s.stft(x,nperseg=16,noverlap=12,boundary='odd')[2])
    whole=lambda x: jnp.sum(s.istft(s.stft(x,nperseg=16)[2],nperseg=16)[1]**3); show("istft.grad",jit(grad(whole))(cut))
    density=lambda x,y: jnp.sum(jnp.abs(s.csd(x,y,nperseg=16,detrend='linear')[1])**2); show("csd.grad",jit(grad(density,(0,1)))(cut,y))
    show("stft.cut",jit(absolute)(cut)); show("stft.grad",jit(grad(lambda x: jnp.sum(absolute(x)**2)))(cut)); show("istft",s.istft(Z,fs=10,nperseg=16))
    show("welch",s.welch(x,fs=5,nperseg=20)); show("welch.median",s.welch(x,nperseg=20,detrend='linear',scaling='spectrum',average='median'))
    f,b=s.csd(x,y,nperseg=16,return_onesided=False); show("csd",(f,b.real,b.imag))
    show("detrend",s.detrend(x)); show("detrend.bp",jit(lambda x: s.detrend(x,bp=[30,70]))(cut)); show("detrend.constant",s.detrend(x,axis=0,type='constant'))
    k=random.normal(random.key(3),(3,5))
    show("convolve2d.grad",grad(lambda x,k: jnp.sum(s.convolve2d(x,k,'same')**2),(0,1))(x,k))  # cut XLA gives twice the kernel's
    for m in ('full','same','valid'):
        show("convolve2d."+m,s.convolve2d(x,k,m)); show("correlate2d."+m,s.correlate2d(x,k,m)); show("correlate2d.swapped."+m,s.correlate2d(k,x,m))
def matrices():
    A,B,C=[random.normal(random.key(i),n) for i,n in ((4,(5,5)),(5,(3,3)),(6,(5,3)))]
    show("sylvester",la.solve_sylvester(A,B,C)); show("expm_frechet",la.expm_frechet(A/3,A.T))
    tall=random.normal(random.key(7),(5,3)); show("qr_multiply",jax.tree.map(jnp.abs,la.qr_multiply(tall,random.normal(random.key(8),(2,5)))))
    show("qr_multiply.left",jnp.abs(la.qr_multiply(tall,jnp.eye(3),'left')[0]))
    for k in ('symmetric','lower','upper'): show("invpascal."+k,la.invpascal(5,k))
    show("funm",(lambda f: (f.real,f.imag))(la.funm(A,jnp.sin,disp=True))); show("hessenberg",la.hessenberg(A,calc_q=True))
    Z=A+1j*A[::-1]; H,Q=la.hessenberg(Z,calc_q=True); show("hessenberg.complex",(H.real,H.imag,Q.real,Q.imag))
    show("eigh_tridiagonal",la.eigh_tridiagonal(A[0],A[1,1:],eigvals_only=True)); show("eigh_tridiagonal.some",la.eigh_tridiagonal(A[0],A[1,1:],eigvals_only=True,select='i',select_range=(1,2)))
    from jax.scipy.special import sph_harm_y
    n,m,theta,phi=jnp.array([0,1,2,5,7,3]),jnp.array([0,-1,2,-3,0,1]),jnp.linspace(0.1,3,6),jnp.linspace(0,6,6); y=sph_harm_y(n,m,theta,phi); show("sph_harm_y",(y.real,y.imag))
    show("sph_harm_y.grad",jit(grad(lambda t: jnp.sum(sph_harm_y(n,m,t,phi,n_max=7).real)))(theta))
    show("expm_frechet.grad",grad(lambda a: jnp.sum(la.expm_frechet(a/3,a.T)[1]))(A))
def values():
    i=random.randint(random.key(9),(4,6),-2,3); cut=on(i,'x'); r=random.randint(random.key(10),(12,),-4,1)
    show("unique_all",jnp.unique_all(cut)); show("unique_all.more",jit(lambda x: jnp.unique_all(x,size=8,fill_value=9))(cut))
    show("unique_all.less",jnp.unique_all(i,size=3)); show("unique_inverse",jnp.unique_inverse(i)); show("unique_counts",jnp.unique_counts(i))
    show("unique",jnp.unique(cut)); show("union1d",jnp.union1d(i,r)); show("intersect1d",jnp.intersect1d(i,r)); show("setdiff1d",jnp.setdiff1d(i,r)); show("setxor1d",jnp.setxor1d(i,r))
    show("nonzero",jnp.nonzero(cut)); show("flatnonzero",jnp.flatnonzero(i)); show("argwhere",jnp.argwhere(i>0)); show("argwhere.none",jnp.argwhere(i>9))
    show("extract",jnp.extract(i>0,i)); show("compress",jnp.compress(jnp.array([True,False,True]),i,axis=0))
    show("trim_zeros",jnp.trim_zeros(jnp.array([0,0,3,0,1,0]))); show("trim_zeros.front",jnp.trim_zeros(jnp.array([0,0,3,0,1,0]),'f')); show("trim_zeros.all",jnp.trim_zeros(jnp.zeros(3)))
    show("mask_indices",jnp.mask_indices(4,jnp.triu,1)); show("mask_indices.size",jnp.mask_indices(4,jnp.tril,size=12))
    p=jnp.array([0.,2.,-3.,0.,0.]); ordered=lambda z: jnp.sort(jnp.abs(z)); show("roots",ordered(jnp.roots(p)))
    show("roots.jit",jnp.nan_to_num(ordered(jit(lambda p: jnp.roots(p,strip_zeros=False))(p)))); show("roots.one",jnp.abs(jnp.roots(jnp.array([0.,3.]))))
    x=on(random.normal(random.key(11),(40,3)),'x'); w=random.uniform(random.key(12),(40,))
    show("histogramdd",jnp.histogramdd(x,bins=4)); show("histogramdd.each",jnp.histogramdd(x,bins=[2,3,4],range=[[-1,1],[-2,2],[-3,3]],weights=w,density=True))
    show("histogramdd.jit",jit(lambda x: jnp.histogramdd(x,bins=[2,3,4])[0])(x))
for f in (spectra, matrices, values): f()
