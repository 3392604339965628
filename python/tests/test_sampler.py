import math
import threading

import numpy as np
import pytest
from scipy_free import chi_square_p

import hws
from hws import _arrays
from hws._library import lib

RNG = np.random.default_rng(1)
LOSSES = RNG.normal(1, 0.4, 50).astype(np.float32)


def softmax(values):
    weights = np.exp(values - values.max())
    return weights / weights.sum()


def test_probabilities_are_the_softmax():
    sampler = hws.Sampler(LOSSES, beta=7)
    expected = softmax(7 * LOSSES.astype(float))
    np.testing.assert_allclose(sampler.probabilities(), expected, rtol=1e-9)
    assert sampler.probability(3) == pytest.approx(expected[3], rel=1e-9)
    np.testing.assert_allclose(sampler.probabilities(10, 5), expected[10:15], rtol=1e-9)
    np.testing.assert_allclose(hws.probabilities(LOSSES, 7), expected, rtol=1e-9)


@pytest.mark.parametrize("divergence", ["kl", "chi2", "reverse-kl", "hellinger", "cressie-read:1.5", "js", "cvar:0.3"])
def test_single_draws_follow_the_probabilities(divergence):
    sampler = hws.Sampler(LOSSES, beta=1.5, divergence=divergence, seed=5)
    counts = np.zeros(50)
    for _ in range(40):
        counts += np.bincount(np.concatenate([sampler.draw(1) for _ in range(250)]), minlength=50)
    assert chi_square_p(counts, hws.probabilities(LOSSES, 1.5, divergence)) > 1e-6
    assert chi_square_p(counts, np.full(50, 0.02)) < 1e-6


def test_batches_without_replacement_are_successive_draws():
    losses, beta = np.array([0.0, 0.5, 1.0, 1.5]), 2.0
    p = softmax(beta * losses)
    sampler = hws.Sampler(losses, beta=beta, seed=3)
    pairs = np.zeros((4, 4))
    for _ in range(20000):
        first, second = sampler.draw(2)
        pairs[first, second] += 1
    expected = p[:, None] * p[None, :] / (1 - p[:, None])
    np.fill_diagonal(expected, 0)
    assert np.trace(pairs) == 0
    off = ~np.eye(4, dtype=bool)
    assert chi_square_p(pairs[off], expected[off]) > 1e-6


def test_with_replacement_an_example_may_come_twice():
    batch = hws.Sampler([0.0, 5.0], beta=100, replacement=True).draw(8)
    assert batch.tolist() == [1] * 8


def test_floor_and_uniform_mix():
    losses = [0.0, 1.0]
    p = softmax(20 * np.array(losses))
    floored = np.maximum(p, 0.5 / 2)
    np.testing.assert_allclose(hws.Sampler(losses, beta=20, floor=0.5).probabilities(), floored / floored.sum(), rtol=1e-6)
    np.testing.assert_allclose(hws.Sampler(losses, beta=20, uniform_mix=0.4).probabilities(), 0.6 * p + 0.2, rtol=1e-6)


def test_update_with_momentum_and_double_indices():
    sampler = hws.Sampler(3, momentum=0.25, initial_loss=1)
    sampler.update([0, 2, 0], [3.0, 2.0, 5.0])
    np.testing.assert_allclose(sampler.losses(), [0.25 + 0.75 * 5, 1, 0.25 + 0.75 * 2])
    assert sampler.updates_made == 1
    sampler.update([], [])
    sampler.update(1, 9)  # a single one, as scalars
    assert sampler.losses()[1] == 7


def test_importance_weights():
    sampler = hws.Sampler(LOSSES, beta=2, momentum=0.5)
    new = LOSSES[:4] + np.array([0.1, -0.1, 50, -50], np.float32)
    weights = sampler.importance_weights(np.arange(4), new)
    np.testing.assert_allclose(weights, [math.exp(0.1), math.exp(-0.1), 10, 0.1], rtol=1e-5)
    exact = hws.Sampler(LOSSES, beta=2, importance="exact")
    changed = LOSSES.copy()
    changed[7] += 0.5
    ratio = softmax(2 * changed.astype(float))[7] / softmax(2 * LOSSES.astype(float))[7]
    np.testing.assert_allclose(exact.importance_weights([7], changed[7:8]), [ratio], rtol=1e-5)


def test_history():
    sampler = hws.Sampler(4, keep_counts=True, initial_loss=2)
    sampler.set_losses([1, 3], first=1)
    np.testing.assert_array_equal(sampler.losses(), [2, 1, 3, 2])
    sampler.grow([0.5])
    sampler.grow(2)
    np.testing.assert_array_equal(sampler.losses(3), [2, 0.5, 2, 2])
    assert len(sampler) == 7
    indices, losses = sampler.hardest(3)
    assert indices.tolist() == [2, 0, 3] and losses.tolist() == [3, 2, 2]
    sampler.update([1], [1])
    sampler.update([0], [1])
    assert sampler.ages().tolist() == [0, 1, 2, 2, 2, 2, 2]
    drawn = np.bincount(np.concatenate([sampler.draw(2) for _ in range(9)]), minlength=7)
    assert sampler.draw_counts().tolist() == drawn.tolist()
    assert sampler.draws_made == 9


def test_stale_is_the_library_s_walk():
    import ctypes
    sampler = hws.Sampler(100, keep_counts=True)
    for _ in range(30):
        sampler.update(sampler.draw(5), np.ones(5))
    walk, cursor, example = [], ctypes.c_int64(), ctypes.c_int64()
    while True:
        assert lib.hws_sampler_next_stale(sampler._handle, 10, ctypes.byref(cursor), ctypes.byref(example)) == 0
        if example.value < 0:
            break
        walk.append(example.value)
    assert 0 < len(walk) < 100
    assert sampler.stale(10).tolist() == walk


def test_statistics():
    sampler = hws.Sampler(LOSSES, beta=3)
    p, values = softmax(3 * LOSSES.astype(float)), sampler.statistics()
    expected = {
        "loss_mean": LOSSES.mean(dtype=float), "loss_std": LOSSES.std(dtype=float), "loss_min": LOSSES.min(),
        "loss_max": LOSSES.max(), "robust_loss": math.log(np.exp(3 * LOSSES.astype(float)).mean()) / 3,
        "effective_size": 1 / (p**2).sum(), "entropy": -(p * np.log(p)).sum(),
        "kl_to_uniform": math.log(50) + (p * np.log(p)).sum(), "largest_p": p.max(), "drawable": 50,
        "oldest_age": 0, "never_drawn": 0, "unseen": 0, "beta": 3,
    }
    assert set(values) == set(expected)
    for name, value in expected.items():
        assert values[name] == pytest.approx(value, rel=1e-6), name
    assert sampler.ess() == values["effective_size"]
    assert sampler.robust_loss() == pytest.approx(values["robust_loss"])
    assert hws.robust_loss(LOSSES, 3) == pytest.approx(values["robust_loss"])
    assert sampler.drawable == 50
    ordered = np.sort(LOSSES)[::-1].astype(float)
    assert sampler.percentile(0.2) == pytest.approx(ordered[10])
    assert sampler.cvar(0.2) == pytest.approx(ordered[:10].mean())
    assert sampler.percentile_bound(0.2) == pytest.approx(math.log(np.exp(3 * ordered).sum() / (0.2 * 50)) / 3)
    assert (LOSSES >= sampler.percentile_bound(0.2)).mean() <= 0.2


def test_beta():
    sampler = hws.Sampler(LOSSES, beta=3)
    assert sampler.beta_for_spread(2) == pytest.approx(2 / LOSSES.std(dtype=float))
    sampler.beta = sampler.beta_for_ess(10)
    assert sampler.ess() == pytest.approx(10)
    sampler.beta = sampler.beta_for_kl(0.7)
    assert sampler.statistics()["kl_to_uniform"] == pytest.approx(0.7)
    assert sampler.options["beta"] == sampler.beta


def test_draws_depend_on_the_seed_alone():
    def draws(seed):
        return np.concatenate([hws.Sampler(1000, seed=seed).draw(20), hws.Sampler(1000, seed=seed).draw(20)])

    first = draws(2**64 - 1)
    assert (first[:20] == first[20:]).all()
    assert (first != draws(0)).any()


def test_arrays_that_fit_are_not_copied():
    indices, losses = np.array([1, 2]), np.array([1, 2], np.float32)
    assert _arrays.as_indices(indices) is indices and _arrays.as_losses(losses) is losses
    out = np.empty(3, np.int64)
    sampler = hws.Sampler(10)
    assert sampler.draw(3, out) is out
    assert sampler.draw(3, out=out[:3]).base is out
    strided = np.arange(10)[::3]
    sampler.update(strided, np.arange(8.0)[::2])
    assert sampler.losses()[[0, 3, 6, 9]].tolist() == [0, 2, 4, 6]


def test_tensors_are_taken():
    torch = pytest.importorskip("torch")
    sampler = hws.Sampler(4)
    sampler.update(torch.tensor([1, 2]), torch.tensor([2.0, 3.0], requires_grad=True))
    sampler.update(torch.tensor([3], dtype=torch.int32), torch.tensor([0.5], dtype=torch.bfloat16))
    sampler.update(torch.tensor([0]), torch.tensor([4.0], dtype=torch.float64))
    assert sampler.losses().tolist() == [4, 2, 3, 0.5]
    sampler.update([torch.tensor(1), 2], [torch.tensor(0.25, requires_grad=True), 0.75])
    assert sampler.losses().tolist() == [4, 0.25, 0.75, 0.5]


def test_threads_may_share_a_sampler():
    sampler = hws.Sampler(1000, keep_counts=True)

    def work():
        for _ in range(300):
            batch = sampler.draw(4)
            sampler.update(batch, np.full(4, 0.5, np.float32))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sampler.draws_made == sampler.updates_made == 1200
    assert sampler.draw_counts().sum() == 4800


def test_million_examples_in_little_memory():
    sampler = hws.Sampler(1_000_000)
    assert sampler.memory < 6_000_000
    assert len(set(sampler.draw(1000).tolist())) == 1000
