"""The classes of the paper's package do what that package, or its documentation, does."""
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy_free import chi_square_p
from torch import nn
from torch.utils.data import DataLoader, RandomSampler

import hws
from hws.compat import BatchWeightedSampler, UnreducedLossFunction, WeightedSampler


def softmax(values):
    return torch.softmax(torch.as_tensor(values, dtype=torch.float64), 0).numpy()


def test_constant_and_given_weights():
    constant = WeightedSampler(weights_init=2.0, num_samples=1000)
    assert constant.num_samples == len(constant) == 1000 and constant.beta == 100 and constant.momentum == 0
    noise = constant.weights.numpy() / 2 - 1
    assert 0.0005 < noise.std() < 0.002  # the package's jitter
    for number in (np.float32(2), np.int64(2), torch.tensor(2.0), torch.tensor(2), np.array(2.0)):
        again = WeightedSampler(weights_init=number, num_samples=1000, seed=5)
        assert torch.equal(again.weights, WeightedSampler(weights_init=2.0, num_samples=1000, seed=5).weights)
    given = WeightedSampler(weights_init=torch.tensor([0, 1, 2, 3]))
    assert given.weights.dtype == torch.float32 and given.weights.tolist() == [0, 1, 2, 3]
    assert given.num_samples == 4


@pytest.mark.parametrize("arguments", [
    dict(), dict(weights_init=1), dict(num_samples=3, weights_init=torch.zeros(4)), dict(weights_init=torch.zeros(2, 2)),
    dict(weights_init=torch.tensor(2.3)), dict(weights_init="2.3", num_samples=3), dict(weights_init=None, num_samples=3),
])
def test_wrong_arguments_are_assertions(arguments):
    with pytest.raises(AssertionError):
        WeightedSampler(**arguments)


def test_draws_are_softmax_with_floor_without_replacement():
    weights = torch.tensor([0.0, 1.0, 2.0, 5.0])
    sampler = WeightedSampler(beta=1, weights_init=weights, seed=3)
    np.testing.assert_allclose(sampler.get_distribution().numpy(), softmax(weights), rtol=1e-6)
    counts = np.bincount([sampler.draw_samples(1)[0] for _ in range(10000)], minlength=4)
    assert chi_square_p(counts, softmax(weights)) > 1e-6
    assert sorted(sampler.draw_samples(4)) == [0, 1, 2, 3]
    # beta so large that without the floor nothing but the hardest would ever come
    steep = WeightedSampler(beta=1e4, weights_init=weights, seed=3)
    p = np.maximum(softmax(1e4 * weights), 1e-4 / 4)
    np.testing.assert_allclose(steep.sampler.probabilities(), p / p.sum(), rtol=1e-6)


def test_sampler_of_a_data_loader_weights_the_examples():
    weights = torch.linspace(0, 3, 10)
    sampler = WeightedSampler(beta=2, weights_init=weights, seed=4)
    counts = np.zeros(10)
    for _ in range(2000):
        counts += np.bincount(torch.cat(list(DataLoader(range(10), sampler=sampler, batch_size=5))), minlength=10)
    assert counts.sum() == 20000
    assert chi_square_p(counts, softmax(2 * weights)) > 1e-6


def test_importance_update_and_momentum():
    sampler = WeightedSampler(beta=2, weights_init=torch.ones(4), momentum=0.5)
    batches = BatchWeightedSampler(sampler, batch_size=2)
    new = torch.tensor([4.0, 0.5])
    weights = batches.get_importance_sampling_weights(new, torch.tensor([3, 0]))
    assert weights.dtype == torch.float32
    np.testing.assert_allclose(weights, [math.exp(2 * 0.5 * 3), math.exp(-2 * 0.5 * 0.5)], rtol=1e-5)  # not clipped
    batches.update_weights(new, [3, 0])
    assert sampler.weights.tolist() == [0.75, 1, 1, 2.5]
    sampler.update_weight(1, 3.0)
    sampler.update_weight(torch.tensor(2), torch.tensor(5.0))
    assert sampler.weights.tolist() == [0.75, 2, 3, 2.5]
    assert sampler.hardest_samples_indices(2) == [2, 3]
    assert sampler.hardest_samples_indices() == [2, 3, 1, 0]
    with pytest.raises(AssertionError, match="1 indices but 2 weights"):
        batches.update_weights(new, [3])
    with pytest.raises(AssertionError):
        batches.get_importance_sampling_weights(new, [3])
    with pytest.raises(hws.NotFiniteError, match="example 2"):
        batches.update_weights(torch.tensor([float("nan")]), [2])


def test_batches_follow_the_weights_of_the_moment():
    sampler = WeightedSampler(beta=1000, num_samples=10)
    batches = BatchWeightedSampler(sampler, batch_size=3)
    assert batches.num_samples == 10 and batches.beta == 1000
    assert len(batches) == 4 and len(BatchWeightedSampler(sampler, 3, drop_last=True)) == 3
    for step, batch in enumerate(batches):
        assert len(batch) == len(set(batch)) == 3 and batches.batch == batch
        if step > 0:
            assert hardest in batch
        hardest = step
        batches.update_weights(torch.tensor([10.0 + step]), [hardest])
    with pytest.raises(AssertionError):
        BatchWeightedSampler(RandomSampler(range(10)), batch_size=2)


def test_save_and_load(tmp_path):
    sampler = WeightedSampler(weights_init=torch.tensor([1.0, 2.0, 3.0]), momentum=0.5, beta=7)
    sampler.save_weights(tmp_path / "weights.pt")
    assert torch.load(tmp_path / "weights.pt").tolist() == [1, 2, 3]
    other = WeightedSampler(num_samples=8, momentum=0.25, beta=9)
    other.load_weights(tmp_path / "weights.pt")
    assert other.num_samples == 3 and other.weights.tolist() == [1, 2, 3] and other.momentum == 0.25 and other.beta == 9
    torch.save(torch.tensor([4.0, 5.0], dtype=torch.float64), tmp_path / "double.pt")  # as the package saves them
    other.load_weights(tmp_path / "double.pt")
    assert other.weights.tolist() == [4, 5]
    torch.save({"a": 1}, tmp_path / "wrong.pt")
    with pytest.raises(AssertionError, match="wrong.pt"):
        other.load_weights(tmp_path / "wrong.pt")


class Malicious:
    """Runs code when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_a_file_of_weights_cannot_run_code(tmp_path):
    torch.save(Malicious(tmp_path / "trace"), tmp_path / "weights.pt")
    sampler = WeightedSampler(num_samples=8)
    with pytest.raises(AssertionError, match="weights.pt"):
        sampler.load_weights(tmp_path / "weights.pt")
    assert not (tmp_path / "trace").exists() and sampler.num_samples == 8


def test_weights_can_be_loaded_by_a_pytorch_that_knows_no_weights_only(tmp_path, monkeypatch):
    load = torch.load
    monkeypatch.setattr(torch, "load", lambda path, map_location=None: load(path, map_location))
    WeightedSampler(weights_init=torch.tensor([1.0, 2.0])).save_weights(tmp_path / "weights.pt")
    sampler = WeightedSampler(num_samples=2)
    sampler.load_weights(tmp_path / "weights.pt")
    assert sampler.weights.tolist() == [1, 2]


def test_attributes_can_be_set():
    sampler = WeightedSampler(num_samples=4)
    sampler.beta, sampler.momentum, sampler.weights = 5, 0.5, torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert sampler.beta == 5 and sampler.momentum == 0.5 and sampler.weights.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(sampler.get_distribution(), softmax(5 * sampler.weights), rtol=1e-5)


def test_a_seed_outlives_what_reopens_the_sampler():
    """A new momentum and weights of another length took a seed from numpy instead."""
    def run(draws_before):
        sampler = WeightedSampler(num_samples=50, weights_init=torch.ones(50), seed=7)
        drawn = [sampler.draw_samples(5) for _ in range(draws_before)]
        sampler.momentum = 0.5
        drawn += [sampler.draw_samples(5) for _ in range(3)]
        sampler.weights = torch.ones(60)
        return drawn + [sampler.draw_samples(5) for _ in range(3)]

    assert run(3) == run(3)
    alike = WeightedSampler(weights_init=torch.ones(50), momentum=0.5, seed=7)
    assert run(0)[:3] == [alike.draw_samples(5) for _ in range(3)]
    assert len(set(map(tuple, run(3)))) == 9  # nor do the same random numbers come once more


def test_numpy_s_seed_makes_runs_repeatable():
    def run():
        np.random.seed(11)
        sampler = WeightedSampler(num_samples=100)
        return sampler.weights.tolist(), [sampler.draw_samples(5) for _ in range(5)]

    first, second = run(), run()
    np.random.seed(12)
    assert first == second and WeightedSampler(num_samples=100).weights.tolist() != first[0]


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_unreduced_loss(reduction):
    logits, target = torch.randn(3, 5, 4, 4, requires_grad=True), torch.randint(0, 5, (3, 4, 4))
    loss = UnreducedLossFunction(nn.CrossEntropyLoss(), reduction=reduction)
    value = loss(logits, target)
    each = torch.stack([nn.functional.cross_entropy(logits[i:i + 1], target[i:i + 1]) for i in range(3)])
    torch.testing.assert_close(loss.loss_batch, each)
    torch.testing.assert_close(value, each.sum() if reduction == "sum" else each.mean())
    value.backward()
    assert logits.grad is not None


def test_unreduced_loss_refuses():
    with pytest.raises(AssertionError):
        UnreducedLossFunction(lambda a, b: a)
    with pytest.raises(AssertionError):
        UnreducedLossFunction(nn.MSELoss(), reduction="none")

    class Reduced(nn.Module):
        def forward(self, a, b):
            return (a - b).mean()

    with pytest.raises(ValueError, match="one number for 2 examples"):
        UnreducedLossFunction(Reduced())(torch.ones(2), torch.ones(2))
