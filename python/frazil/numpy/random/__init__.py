"""Random numbers: by keys, which are arrays, or by generators with state.

    key = fnp.random.key(0)
    first, second = fnp.random.split(key)
    x = fnp.random.normal(first, (2, 3))           # equal keys, equal numbers

    rng = fnp.random.default_rng(0)                # numpy.random's numbers
    x = rng.normal(size=(2, 3))

Draws by keys are recorded like other operations, also in functions and models.
"""

from .keys import PRNGKey, fold_in, key, split
from .draws import (
    bernoulli,
    bits,
    categorical,
    cauchy,
    choice,
    exponential,
    geometric,
    gumbel,
    laplace,
    logistic,
    multivariate_normal,
    normal,
    pareto,
    permutation,
    rademacher,
    randint,
    rayleigh,
    shuffle,
    uniform,
    weibull_min,
)
from .gammas import beta, chisquare, dirichlet, gamma, t
from .generator import Generator, default_rng
