"""Expressions as people write them, with frazil.numpy and with NumPy."""

import frazil.numpy as fnp
import numpy as np
import pytest
from numpy_agreement import promotion_of_numpy_2

MATRIX = np.random.default_rng(0).normal(size=(4, 3))
OTHER = np.random.default_rng(1).normal(size=(3, 4))
WHOLE = np.array([3, 1, 2, 3, 5])
ROW = np.array([1.5, -2, 0, 4, 2.5])

IDIOMS = """
(A-A.mean(0))/A.std(0)
A.sum(axis=(0,1))
A.mean(axis=1,keepdims=True)
A.max(initial=0)
A[A>0]
A[:,1:2]
A[::-1,::2]
A[np.argsort(A[:,0])]
A[[0,2]][:,[1,0]]
xp.where(A>0,A,0)
xp.where(A>0)
A.argmax(1)
A@B
xp.dot(A,B).trace()
xp.linalg.norm(A,axis=1)
A/xp.linalg.norm(A,axis=1,keepdims=True)
xp.exp(A)/xp.exp(A).sum(1,keepdims=True)
xp.clip(A,-1,1)
A.clip(min=0)
xp.eye(3)[V[:3]-1]
xp.unique(V,return_counts=True)
xp.cumsum(A,axis=0)
xp.diff(W)
xp.histogram(W,bins=3)
xp.percentile(W,[25,75])
xp.median(A,axis=0)
xp.outer(V,V)
xp.meshgrid(V,W)
xp.linspace(0,1,5)
xp.stack([V,V]).T
xp.concatenate([A,A],axis=1)
xp.vstack([V,W])
xp.split(V,[2,3])
xp.tile(V,(2,2))
xp.repeat(V,2)
xp.roll(V,1)
xp.pad(A,((1,1),(0,0)))
xp.cov(A.T)
xp.corrcoef(V,W)
xp.polyfit(V,W,1)
xp.interp(W,np.arange(5.0),W)
xp.bincount(V)
xp.searchsorted(xp.sort(V),3)
xp.triu(A)
xp.tril(xp.ones((3,3)),-1)
xp.isin(V,[1,3])
xp.any(A>2) | xp.all(A<5)
xp.nan_to_num(W/0)
xp.sign(W)*xp.sqrt(xp.abs(W))
xp.einsum('ij,ij->i',A,A)
xp.tensordot(A,B,1)
xp.kron(V[:2],V[:2])
xp.convolve(W,[1,2,1],'same')
xp.apply_along_axis(lambda v:v.sum(),0,A)
xp.argsort(-W)
xp.take_along_axis(A,xp.argsort(A,axis=1),1)
xp.expand_dims(V,0)*V[:,None]
V[None,:]-V[:,None]
((A[:,None]-A[None])**2).sum(-1)
xp.squeeze(A[:,:1])
xp.moveaxis(A[None],0,-1).shape
xp.broadcast_to(V,(2,5))
xp.fft.fft(W)
xp.linalg.solve(A.T@A,A.T@A[:,0])
xp.linalg.svd(A,full_matrices=False)
xp.linalg.inv(A.T@A)
xp.linalg.eigh(A.T@A)
xp.allclose(A,A)
xp.array_equal(V,V)
xp.count_nonzero(A>0)
xp.flatnonzero(V>2)
xp.nonzero(A>0)
xp.logspace(0,2,3)
xp.average(W,weights=V)
xp.average(A,axis=0)
xp.prod(V)
xp.floor_divide(V,2)
V%2==0
V**2
2**V
V//2
~(V>2)
V&1
-V
divmod(V,2)
len(V)
sum(V)
max(V)
sorted(V.tolist())
[x*2 for x in V]
3 in V
float(W[0])
int(V[0])
A.T.shape
A.flatten()
A.ravel()
A.reshape(2,-1)
A.astype(int)
A.tolist()[0]
A.copy()
A.dtype
A.nbytes
A.size
V.cumsum()
V.prod()
W.round(1)
A.transpose(1,0)
A.swapaxes(0,1)
A.diagonal()
A.dot(B)
V.take([0,1])
V.repeat(2)
V.nonzero()
V.argsort()
V.searchsorted(2)
A.var(ddof=1)
A.ptp()
A.any()
A.min(axis=0)
V.item(0)
f"{W[0]:.2f}"
str(V)
xp.array2string(W)
xp.ix_([0,1],[0,2])
A[xp.ix_([0,1],[0,2])]
xp.r_[V,1,2]
xp.c_[V,W]
xp.mgrid[0:2,0:3]
xp.indices((2,3))
xp.unravel_index(5,(2,3))
xp.ravel_multi_index((1,2),(2,3))
xp.select([V<2,V<4],[V,V*10],-1)
xp.piecewise(W,[W<0,W>=0],[-1,1])
xp.digitize(W,[0,2])
xp.gradient(W)
xp.trapz(W)
xp.cross(A[0],A[1])
xp.vander(V)
xp.rot90(A)
xp.flip(A,0)
xp.fliplr(A)
xp.insert(V,1,9)
xp.delete(V,1)
xp.append(V,[1])
xp.union1d(V,[9])
xp.setdiff1d(V,[3])
xp.lexsort((V,W))
xp.partition(V,2)[2]
xp.argpartition(V,2)[2]
xp.nanmean(W)
xp.logaddexp.reduce(W)
xp.add.reduce(A,axis=1)
xp.maximum.accumulate(V)
xp.subtract.outer(V,V)
xp.add.reduceat(V,[0,2])
xp.multiply(A,2,dtype='float32').dtype
xp.sum(A,axis=0,dtype='float32').dtype
xp.finfo(xp.float32).eps
xp.iinfo(xp.int8).max
xp.result_type(V,W)
xp.issubdtype(V.dtype,xp.integer)
xp.hypot(W,W)
xp.deg2rad(W)
xp.exp2(W)
xp.full((2,2),7)
xp.zeros_like(A)
xp.arange(10,0,-2)
xp.diag(V)
xp.trace(A@B)
xp.block([[A[:2],A[2:]]])
xp.array_split(V,3)
xp.atleast_2d(V)
xp.isnan(W).any()
xp.quantile(W,.3,method='lower')
xp.polyval([1,2,3],W)
xp.roots([1,-3,2])
xp.angle(xp.fft.fft(W))
xp.vectorize(lambda a:a+1)(V)
xp.fromfunction(lambda i,j:i+j,(2,2))
xp.linalg.matrix_power(A.T@A,2)
xp.linalg.lstsq(A,A[:,0],rcond=None)[0]
xp.linalg.det(A.T@A)
xp.linalg.multi_dot([A,B,A])
xp.linalg.qr(A)
xp.linalg.cholesky(A.T@A)
xp.random.default_rng(3).normal(size=3)
xp.ones(3)[()]
A[...,0]
A[-1]
A[1,2]
V[V.argmax()]
A[xp.arange(4),[0,1,2,0]]
(A>0).sum()
(A>0).mean(axis=0)
xp.where(xp.isnan(W),0,W)
W.conj().real
xp.nanpercentile(W,50)
xp.unwrap(W)
xp.histogram2d(V,W,bins=2)[0]
xp.tri(3)
xp.triu_indices(3)
A[xp.tril_indices(3)]
xp.heaviside(W,.5)
xp.gcd(V,6)
xp.float_power(V,2)
xp.ediff1d(V)
xp.cumprod(V)
xp.trim_zeros([0,1,0])
xp.compress([True,False],V[:2])
xp.extract(V>2,V)
xp.choose([0,1],[V[:2],V[2:4]])
xp.resize(V,(2,3))
""".strip().splitlines()


def outcome(xp, text):
    made = fnp.array if xp is fnp else np.array
    names = {"A": made(MATRIX), "B": made(OTHER), "V": made(WHOLE), "W": made(ROW)}
    with np.errstate(all="ignore"), promotion_of_numpy_2():
        return eval(text, {"xp": xp, "np": np, **names})


def check(ours, theirs):
    if isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for mine, wanted in zip(ours, theirs):
            check(mine, wanted)
    elif isinstance(theirs, (str, np.dtype)):
        assert ours == theirs
    else:
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), 1e-10, 1e-10)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", IDIOMS)
def test_idioms(text):
    check(outcome(fnp, text), outcome(np, text))
