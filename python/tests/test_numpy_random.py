"""frazil.numpy.random: draws by keys, and NumPy's generators."""

import frazil
import frazil.numpy as fnp
import numpy as np
import pytest
from frazil.numpy.random.keys import philox

random = fnp.random
COUNT = 20_000



def words_of(counter, key):
    """Philox4x32-10 in Python's integers."""
    mask = 0xFFFFFFFF
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(b >> 32) ^ counter[1] ^ key[0], b & mask, (a >> 32) ^ counter[3] ^ key[1], a & mask]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return counter


def test_known_answers():
    """The answers that the generator's authors publish."""
    assert words_of([0] * 4, [0] * 2) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert words_of([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]) == [
        *(0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ]


def test_words():
    rng = np.random.default_rng(5)
    for purpose in (0, 1, 2):
        key = rng.integers(0, 1 << 32, 2, dtype=np.uint32)
        counters = rng.integers(0, 1 << 32, 7, dtype=np.uint32)
        made = philox(fnp.array(key), fnp.array(counters), purpose).tolist()
        assert made == [words_of([int(c), 0, purpose, 0], key.tolist()) for c in counters]


def test_keys():
    key = random.key(0x1234567890ABCDEF)
    assert key.tolist() == [0x90ABCDEF, 0x12345678] and key.dtype == np.uint32
    assert random.key(-1).tolist() == [0xFFFFFFFF] * 2
    assert random.key(fnp.array(3)).tolist() == random.key(3).tolist()
    made = random.split(key, 4).tolist()
    assert made == [words_of([i, 0, 1, 0], key.tolist())[:2] for i in range(4)]
    assert random.fold_in(key, 9).tolist() == words_of([9, 0, 2, 0], key.tolist())[:2]
    whole = random.bits(key, (3, 3)).ravel().tolist()
    assert whole == [word for i in range(3) for word in words_of([i, 0, 0, 0], key.tolist())][:9]
    with pytest.raises(TypeError, match=r"normal\(random.key\(seed\), ...\)"):
        random.normal(0, (2,))


def moments(sample):
    sample = np.asarray(sample, np.float64)
    return sample.mean(), sample.var()


MOMENTS = {  # mean and variance
    "uniform": (lambda key: random.uniform(key, (COUNT,), "float64", -1, 3), 1, 16 / 12),
    "uniform of 32 bits": (lambda key: random.uniform(key, (COUNT,)), 1 / 2, 1 / 12),
    "uniform of 16 bits": (lambda key: random.uniform(key, (COUNT,), "float16"), 1 / 2, 1 / 12),
    "normal": (lambda key: random.normal(key, (COUNT,)), 0, 1),
    "randint": (lambda key: random.randint(key, (COUNT,), -3, 4), 0, 4),
    "bernoulli": (lambda key: random.bernoulli(key, 0.3, (COUNT,)), 0.3, 0.21),
    "exponential": (lambda key: random.exponential(key, (COUNT,)), 1, 1),
    "gumbel": (lambda key: random.gumbel(key, (COUNT,)), np.euler_gamma, np.pi**2 / 6),
    "laplace": (lambda key: random.laplace(key, (COUNT,)), 0, 2),
    "logistic": (lambda key: random.logistic(key, (COUNT,)), 0, np.pi**2 / 3),
    "rayleigh": (lambda key: random.rayleigh(key, 2.0, (COUNT,)), np.sqrt(np.pi / 2) * 2, (4 - np.pi) / 2 * 4),
    "weibull": (lambda key: random.weibull_min(key, 3.0, 1.0, (COUNT,)), 3, 9),
    "pareto": (lambda key: random.pareto(key, 5.0, (COUNT,)), 5 / 4, 5 / 48),
    "geometric": (lambda key: random.geometric(key, 0.25, (COUNT,)), 4, 12),
    "rademacher": (lambda key: random.rademacher(key, (COUNT,)), 0, 1),
    "gamma": (lambda key: random.gamma(key, 2.5, (COUNT,)), 2.5, 2.5),
    "gamma below 1": (lambda key: random.gamma(key, 0.5, (COUNT,)), 0.5, 0.5),
    "beta": (lambda key: random.beta(key, 2.0, 3.0, (COUNT,)), 0.4, 0.04),
    "chisquare": (lambda key: random.chisquare(key, 3.0, (COUNT,)), 3, 6),
    "t": (lambda key: random.t(key, 8.0, (COUNT,)), 0, 8 / 6),
    "dirichlet": (lambda key: random.dirichlet(key, fnp.array([1.0, 3.0]), (COUNT,))[:, 1], 0.75, 0.0375),
    "choice by probabilities": (lambda key: random.choice(key, 3, (COUNT,), p=[0.2, 0.5, 0.3]), 1.1, 0.49),
    "categorical": (lambda key: random.categorical(key, fnp.log([0.2, 0.5, 0.3]), shape=(COUNT,)), 1.1, 0.49),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_moments(name):
    """Within five standard errors of what the distribution has, with three keys, and equal when drawn again."""
    draw, mean, variance = MOMENTS[name]
    for seed in range(3):
        sample = draw(random.key(seed)).numpy()
        assert sample.shape == (COUNT,) and (sample == draw(random.key(seed)).numpy()).all()
        made_mean, made_variance = moments(sample)
        spread = np.mean((np.asarray(sample, np.float64) - mean) ** 4)
        assert abs(made_mean - mean) < 5 * np.sqrt(variance / COUNT)
        assert abs(made_variance - variance) < 5 * np.sqrt(spread / COUNT)


def test_ranges():
    sample = random.uniform(random.key(3), (COUNT,), "float64").numpy()
    assert 0 <= sample.min() and sample.max() < 1 and len(set(sample.tolist())) == COUNT
    numbers = random.randint(random.key(3), (COUNT,), -3, 4).numpy()
    assert sorted(set(numbers.tolist())) == [-3, -2, -1, 0, 1, 2, 3] and numbers.dtype == np.int32


def test_orders():
    key = random.key(8)
    assert sorted(random.permutation(key, 9).tolist()) == list(range(9))
    x = np.arange(12.0).reshape(3, 4)
    rows = random.permutation(key, fnp.array(x)).tolist()
    assert sorted(rows) == x.tolist() and rows != x.tolist()
    apart = random.permutation(key, fnp.array(x), 1, independent=True).numpy()
    assert (np.sort(apart, 1) == x).all() and len({tuple(row) for row in (apart - x[:, :1]).tolist()}) > 1
    drawn = random.choice(key, fnp.array(x), (3,), replace=False, axis=1).numpy()
    assert drawn.shape == (3, 3) and len(set(drawn[0])) == 3
    rare = random.choice(key, 4, (3,), replace=False, p=[0.5, 0, 0.25, 0.25]).tolist()
    assert sorted(rare) == [0, 2, 3]
    with pytest.raises(ValueError, match="without replacement"):
        random.choice(key, 2, (3,), replace=False)


def test_in_a_recorded_function():
    @frazil.function
    def noisy(key, x):
        first, second = random.split(key)
        return x + random.normal(first, x.shape, x.dtype) * random.gamma(second, 2.0, x.shape, x.dtype)

    for seed, count in ((0, 3), (1, 5), (2, 4)):
        x = fnp.array(np.arange(count, dtype=np.float64))
        first, second = random.split(random.key(seed))
        wanted = x + random.normal(first, (count,), "float64") * random.gamma(second, 2.0, (count,), "float64")
        np.testing.assert_allclose(noisy(random.key(seed), x).numpy(), wanted.numpy(), 1e-12)


def test_vectors():
    cov = np.array([[2.0, 0.6], [0.6, 1.0]])
    sample = random.multivariate_normal(random.key(1), np.array([1.0, -2.0]), cov, (COUNT,), "float64").numpy()
    np.testing.assert_allclose(sample.mean(0), [1, -2], atol=0.05)
    np.testing.assert_allclose(np.cov(sample.T), cov, atol=0.08)


def test_generators_are_numpys():
    calls = [
        lambda rng: rng.random((2, 3)),
        lambda rng: rng.standard_normal(4),
        lambda rng: rng.normal(1.0, 2.0, (3,)),
        lambda rng: rng.uniform(-1, 1, 5),
        lambda rng: rng.integers(0, 10, (2, 2)),
        lambda rng: rng.choice(5, 3, replace=False),
        lambda rng: rng.permutation(6),
        lambda rng: rng.poisson([1.0, 5.0]),
        lambda rng: rng.gamma(2.0, size=2),
        lambda rng: rng.random(),
    ]
    ours, theirs = random.default_rng(7), np.random.default_rng(7)
    for call in calls:
        made, wanted = call(ours), call(theirs)
        assert np.asarray(made).tolist() == np.asarray(wanted).tolist()
        assert isinstance(made, frazil.LazyArray) == isinstance(wanted, np.ndarray)
    spread = fnp.array([1.0, 2.0])
    assert ours.normal(0.0, spread).tolist() == theirs.normal(0.0, [1.0, 2.0]).tolist()
    values, copy = np.arange(5), np.arange(5)
    ours.shuffle(values)
    theirs.shuffle(copy)
    assert values.tolist() == copy.tolist() and random.default_rng(ours) is ours
    assert [rng.random() for rng in ours.spawn(2)] != [ours.random()] * 2 and "poisson" in dir(ours)


def test_what_generators_refuse():
    rng = random.default_rng(0)
    with pytest.raises(TypeError, match="rng.permutation"):
        rng.shuffle(fnp.zeros(3))
    with pytest.raises(AttributeError):
        rng.rand
    with pytest.raises(frazil.Unsupported, match="pass it a key"):
        frazil.function(lambda x: x + rng.normal(size=3))(np.zeros(3))
