"""First visits, the tail and normalised importance weights, as Python sees them; tests/sampler tests the library."""

import math
import pickle
import warnings

import numpy as np
import pytest
import torch
from torch import nn

import hws
import hws.torch


def test_every_example_is_seen_before_any_is_seen_twice():
    sampler = hws.Sampler(100, beta=50, seed=2)
    assert sampler.unseen == 100 and sampler.options["initial_loss"] is None
    seen = []
    for _ in range(10):
        batch = sampler.draw(10)
        losses = 1000 * np.random.default_rng(0).random(10) - 500
        assert sampler.importance_weights(batch, losses).tolist() == [1] * 10
        sampler.update(batch, losses)
        seen += batch.tolist()
    assert sorted(seen) == list(range(100)) and sampler.unseen == 0


@pytest.mark.parametrize("guess", [None, 2.0])
def test_the_first_weight_goes_by_the_first_loss_if_there_is_one(guess):
    """The rule of hws.h and of hws train: 1 without a loss; a guess is the first stale loss, as the paper's L_init."""
    sampler = hws.Sampler(100, beta=1, seed=2, initial_loss=guess)
    losses = np.array([1.5, 1.9, 2.4, 1.7])
    weights = sampler.importance_weights(sampler.draw(4), losses)
    np.testing.assert_allclose(weights, np.ones(4) if guess is None else np.exp(losses - guess), rtol=1e-6)


def test_losses_that_are_missing():
    sampler = hws.Sampler([1.0, math.nan, 3.0], beta=1)
    assert sampler.unseen == 1 and sampler.probabilities().tolist() == [0, 1, 0]
    assert sampler.draw(1).tolist() == [1]
    np.testing.assert_allclose(sampler.probabilities(), [1 / (1 + math.exp(2)), 0, 1 / (1 + math.exp(-2))])
    sampler.grow([math.nan, 2.0])
    sampler.set_losses([math.nan])
    assert sampler.unseen == 3
    indices, losses = sampler.hardest(5)
    assert indices.tolist() == [2, 4, 0, 1, 3] and losses[:2].tolist() == [3, 2] and np.isnan(losses[2:]).all()
    again = pickle.loads(pickle.dumps(sampler))
    assert again.unseen == 3 and again.draw(5).tolist() == sampler.draw(5).tolist()
    with pytest.raises(hws.NoLossError, match="none of the 3 examples has a loss yet"):
        hws.Sampler(3).robust_loss()


def test_tail():
    losses = np.random.default_rng(1).gamma(2.0, 1.0, 5000)
    sampler = hws.Sampler(losses, tail=0.05)
    assert sampler.tail == 0.05 and sampler.options["tail"] == 0.05
    assert sampler.statistics()["kl_to_uniform"] == pytest.approx(math.log(20), rel=2e-4)
    before = sampler.beta
    sampler.set_losses(losses / 100)
    assert sampler.beta == pytest.approx(100 * before, rel=1e-3)
    resumed = hws.Sampler.from_bytes(sampler.to_bytes())
    assert resumed.beta == sampler.beta and resumed.tail == 0.05
    sampler.beta = 3
    assert sampler.tail is None and sampler.beta == 3
    assert hws.Sampler(losses, tail=1).ess() == pytest.approx(5000)
    assert hws.Sampler(losses, tail=0.25, divergence="cvar:0.5").options["divergence"] == "cvar:0.25"


@pytest.mark.parametrize("divergence", ["reverse-kl", "cressie-read:-1", "cressie-read:0"])
def test_divergences_that_can_have_no_tail_open_with_a_beta(divergence):
    sampler = hws.Sampler([1.0, 2.0], divergence=divergence)
    assert sampler.tail is None and sampler.beta == 100
    assert hws.Sampler([1.0, 2.0], divergence="cressie-read:0.5").tail == 0.1


@pytest.mark.parametrize("kind", ["paper", "normalised", "exact"])
def test_the_loss_takes_the_kind_of_weights(kind):
    sampler = hws.torch.HardnessWeightedBatchSampler(20, batch_size=4, beta=2)
    criterion = hws.torch.DROLoss(nn.MSELoss(), sampler, importance=kind)
    assert sampler.sampler.importance == kind
    sampler.sampler.set_losses(np.full(20, 2.0))
    indices = torch.tensor([3, 5, 7, 9])
    criterion(torch.ones(4), torch.zeros(4), indices)  # all losses fall from 2 to 1
    expected = {"paper": math.exp(-2), "normalised": 1.0, "exact": 20 * math.exp(-2) / (19 + math.exp(-2))}[kind]
    np.testing.assert_allclose(criterion.last_weights, expected, rtol=1e-5)


def test_the_kind_of_weights_stays_what_the_loss_was_told():
    """It was lost with a state that the sampler took over, and to a second loss on the same sampler."""
    sampler = hws.Sampler(np.full(20, 2.0), beta=2)
    older = sampler.state_dict()
    normalised = hws.torch.DROLoss(nn.MSELoss(), sampler, importance="normalised")
    paper = hws.torch.DROLoss(nn.MSELoss(), sampler, importance="paper")
    for _ in range(2):
        sampler.load_state_dict(older)
        for criterion, expected in ((normalised, 1.0), (paper, math.exp(-2))):
            sampler.set_losses(np.full(20, 2.0))
            criterion(torch.ones(4), torch.zeros(4), [3, 5, 7, 9])
            np.testing.assert_allclose(criterion.last_weights, expected, rtol=1e-5)


def test_no_weights_and_the_sampler_s_own():
    sampler = hws.Sampler(4, importance="exact")
    for none in (None, False):
        criterion = hws.torch.DROLoss(nn.MSELoss(), sampler, importance=none)
        criterion(torch.ones(1), torch.zeros(1), torch.tensor([0]))
        assert criterion.last_weights is None
    assert hws.torch.DROLoss(nn.MSELoss(), sampler, importance=True).importance and sampler.importance == "exact"
    assert not hws.torch.DROLoss(nn.MSELoss(), sampler).importance
    with pytest.raises(hws.ArgumentError, match="importance is 'best'"):
        hws.torch.DROLoss(nn.MSELoss(), sampler, importance="best")
    sampler.importance = "approximate"  # its older name
    assert sampler.importance == "paper"


def epochs(count, **options):
    sampler = hws.torch.HardnessWeightedBatchSampler(30, batch_size=5, **options)
    rng = np.random.default_rng(0)
    for _ in range(count):
        for batch in sampler:
            yield sampler, batch, rng.random(5)


def test_warnings_after_an_epoch():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for sampler, batch, losses in epochs(3, tail=0.5):
            sampler.update(batch, losses)
    with pytest.warns(UserWarning, match="after epoch 1: 15 of 30 examples have no loss yet"):
        for step, (sampler, batch, losses) in enumerate(epochs(2, beta=1)):
            if step % 2:
                sampler.update(batch, losses)
    with pytest.warns(UserWarning, match="in effect, fewer than a batch of 5"):
        for sampler, batch, losses in epochs(2, beta=1000):
            sampler.update(batch, losses)


def told(run):
    """What a run warns of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run()
    return [str(warning.message) for warning in found], [warning.filename for warning in found]


def test_the_last_epoch_and_the_only_one_are_looked_back_upon():
    """The samplers warned when the next epoch began, which the last and the only one do not have."""
    sampler = hws.torch.HardnessWeightedBatchSampler(30, batch_size=5, beta=1000)
    criterion = hws.torch.DROLoss(nn.MSELoss(), sampler)

    next(iter(sampler))  # a look at a batch, whose examples come again later
    assert sampler.check() == []  # it is too early to say

    def epoch():
        for batch in sampler:
            criterion(torch.rand(5) + torch.as_tensor(batch), torch.zeros(5), batch)

    assert told(epoch)[0] == []
    (text,), (place,) = told(epoch)
    assert text.startswith("after epoch 3: draws are spread over 1.0 examples in effect") and place == __file__
    assert sampler.check() == [text[len("after epoch 3: "):]]
    assert told(epoch)[0] == []  # once, until it is gone
    sampler.beta = 0
    assert sampler.check() == [] and told(epoch)[0] == []
    sampler.beta = 1000
    assert len(told(epoch)[0]) == 1


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("single", [False, True])
def test_an_epoch_through_a_loader_is_looked_back_upon(workers, single):
    options = {"beta": 1000, "seed": 3}
    sampler = (hws.torch.HardnessWeightedSampler(24, **options) if single else
               hws.torch.HardnessWeightedBatchSampler(24, batch_size=4, **options))
    given = {"sampler": sampler, "batch_size": 4} if single else {"batch_sampler": sampler}
    loader = torch.utils.data.DataLoader(hws.torch.IndexedDataset(range(24)), num_workers=workers, **given)

    def epoch():
        for _, indices in loader:
            sampler.update(indices, indices.float())

    assert [text[:24] for text in told(epoch)[0]] == ["after epoch 1: draws are"]


def test_losses_that_do_not_all_come_back():
    sampler = hws.torch.HardnessWeightedBatchSampler(30, batch_size=5, tail=0.5)
    assert sampler.check() == []
    for step, batch in enumerate(sampler):
        if step % 2:
            sampler.update(batch, np.ones(5))
    assert sampler.check() == []  # some may be on their way
    with pytest.warns(UserWarning, match="after epoch 1: 15 of 30 examples have no loss yet"):
        next(iter(sampler))
    assert sampler.check()[0].startswith("15 of 30")
    short = hws.torch.HardnessWeightedBatchSampler(30, batch_size=5, batches_per_epoch=3, tail=0.5)  # meant to be

    def epoch():
        for batch in short:
            short.update(batch, np.ones(5))

    assert told(lambda: [epoch() for _ in range(3)])[0] == [] and short.unseen == 0


def test_the_warm_up_is_nothing_to_warn_of():
    sampler = hws.torch.HardnessWeightedBatchSampler(22, batch_size=4, beta=1000, warm_up=0.5, epochs=4)

    def epoch():
        for batch in sampler:
            sampler.update(batch, np.asarray(batch, float))

    assert told(lambda: [epoch() for _ in range(2)])[0] == ["after epoch 2: " + sampler.check()[0]]  # what comes next is by hardness


def test_an_epoch_without_losses_is_told_on_demand():
    sampler = hws.torch.HardnessWeightedBatchSampler(30, batch_size=5)
    for _ in sampler:
        pass
    assert [text[:40] for text in sampler.check()] == ["an epoch was drawn and no loss came back"]
