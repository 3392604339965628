"""Losses of a batch that come back in pieces or in another order: the draw is struck out all the same."""
import warnings

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, default_collate

import hws
from hws._pending import Draw, Pending
from hws.torch import DROLoss, HardnessWeightedBatchSampler, HardnessWeightedSampler, IndexedDataset

pytestmark = pytest.mark.filterwarnings("ignore:after epoch 1")  # few examples and a high beta, so that draws overlap

N = 40
DATA = [(torch.tensor(float(number)),) for number in range(N)]


def tiled(items):
    """Two crops of every case, in rounds: all the first, then all the second."""
    return default_collate(items + items)


def in_order(items):
    return default_collate(sorted(items, key=lambda item: item[-1]))


def backwards_in_pairs(items):
    """Two crops of every case side by side, the cases sorted."""
    return default_collate([item for item in sorted(items, key=lambda item: -item[-1]) for _ in range(2)])


# How a training loop may hand back a batch: what collates it, and the places at which it is cut.
MANNERS = {
    "micro-batches": (default_collate, [2]), "uneven micro-batches": (default_collate, [1, 3]), "sorted": (in_order, []),
    "sorted micro-batches": (in_order, [2]), "tiles": (tiled, []), "micro-batches of tiles": (tiled, [4]),
    "crops cut apart": (backwards_in_pairs, [3]), "sorted crops": (backwards_in_pairs, []),
}


def loaders(kind, collate, workers=0):
    if kind == "batch":
        sampler = HardnessWeightedBatchSampler(N, batch_size=4, batches_per_epoch=5, beta=5, seed=2)
        arguments = dict(batch_sampler=sampler)
    else:
        sampler = HardnessWeightedSampler(N, num_samples=20, beta=5, seed=2)
        arguments = dict(sampler=sampler, batch_size=4)
    return sampler, DataLoader(IndexedDataset(DATA), collate_fn=collate, num_workers=workers, **arguments)


def train(sampler, loader, cuts, seen, stop=None):
    """Two epochs of DROLoss, the batch in pieces; each loss depends on how often the loop has stepped."""
    criterion = DROLoss(lambda prediction, target: prediction, sampler)
    while len(seen) < 10:
        for values, indices in loader:
            losses = torch.sin(values * 12.9898 + len(seen)) + 1
            for piece in np.split(np.arange(len(indices)), cuts):
                criterion(losses[piece], None, indices[piece])
            seen.append(indices.tolist())
            if len(seen) == stop:
                return


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("manner", MANNERS)
def test_a_run_resumed_after_step_3_of_5_goes_on_with_step_4(manner, workers):
    collate, cuts = MANNERS[manner]
    straight = []
    train(*loaders("batch", collate, workers), cuts, straight)
    sampler, loader = loaders("batch", collate, workers)
    parts = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train(sampler, loader, cuts, parts, stop=3)
    state = sampler.state_dict()
    assert state["handed"] == 3 and len(state["pending"]) == (2 if workers else 0)
    assert sampler.staleness()["counted"] == 3
    resumed, loader = loaders("batch", collate, workers)
    resumed.load_state_dict(state)
    train(resumed, loader, cuts, parts)
    assert parts == straight


@pytest.mark.parametrize("manner", ["micro-batches", "sorted", "sorted micro-batches", "tiles", "sorted crops"])
def test_single_draws_that_a_loader_puts_into_batches(manner):
    collate, cuts = MANNERS[manner]
    sampler, loader = loaders("single", collate)
    train(sampler, loader, cuts, [], stop=3)
    assert sampler.state_dict()["handed"] == 12 and sampler.staleness()["counted"] == 12


def test_updates_in_halves_leave_nothing_under_way():
    sampler = HardnessWeightedBatchSampler(N, batch_size=4, beta=5)
    for number, batch in zip(range(1, 6), sampler):
        sampler.update(batch[:2], [1.0, 2.0])
        assert sampler.state_dict()["handed"] == number - 1 and sampler.state_dict()["pending"].tolist() == [batch]
        sampler.update(batch[2:], [3.0, 4.0])
        assert sampler.state_dict()["handed"] == number and not len(sampler._pending)
    assert sampler.staleness() == {"mean": 0, "max": 0, "last": 0, "counted": 5}


def test_two_batches_whose_losses_come_back_together():
    sampler = HardnessWeightedBatchSampler(N, batch_size=4, beta=5)
    batches = iter(sampler)
    both = next(batches) + next(batches)
    sampler.update(both[::2], np.ones(4))
    assert len(sampler._pending) == 2
    sampler.update(both[1::2], np.ones(4))
    assert len(sampler._pending) == 0


def test_losses_of_strangers_are_told_once():
    sampler = HardnessWeightedBatchSampler(N, batch_size=4, beta=5)
    batch = next(iter(sampler))
    others = [example for example in range(N) if example not in batch]
    with pytest.warns(UserWarning, match="in none of the draws under way"):
        sampler.update(others[:4], np.ones(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampler.update(others[:4], np.ones(4))
        sampler.update(batch, np.ones(4))
        sampler.update(others[:4], np.ones(4))  # nothing is under way, so nothing is missed
    assert sampler.state_dict()["handed"] == 1


def test_a_second_pass_over_a_batch_is_no_other_draw():
    """As of an optimiser that computes each loss twice, while the loader has drawn ahead."""
    sampler = HardnessWeightedBatchSampler(N, batch_size=4, beta=5, initial_loss=1)
    batches = iter(sampler)
    ahead = [next(batches) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number, batch in enumerate(ahead, start=1):
            sampler.update(batch, np.ones(4))
            sampler.update(batch[::-1], np.ones(4))
            assert sampler.state_dict()["pending"].tolist() == ahead[number:]


def test_what_is_refused_is_not_struck_out():
    sampler = HardnessWeightedBatchSampler(N, batch_size=4, beta=5)
    batch = next(iter(sampler))
    with pytest.raises(hws.NotFiniteError):
        sampler.update(batch[2:], [1.0, float("nan")])
    sampler.update(batch[:2], [1.0, 1.0])
    assert len(sampler._pending) == 1
    sampler.update(batch[2:], [1.0, 1.0])
    assert len(sampler._pending) == 0


def book(*draws):
    pending = Pending()
    for number, draw in enumerate(draws):
        pending.add(np.array(draw), Draw(np.array(draw), number, number))
    return pending


def come_back(pending, *indices, updates=10):
    """The ages of the draws that are complete then, and the numbers of those that are left."""
    ages = pending.take(pending.match(np.array(indices)), updates)
    return ages, [draw.number for draw in pending.draws()]


def test_the_oldest_draw_that_fits_is_struck_out_first():
    pending = book([1, 2, 3], [3, 4, 5], [3, 1, 6])
    assert come_back(pending, 3) == ([], [0, 1, 2])
    assert come_back(pending, 3, 1, 2) == ([10], [1, 2])  # another crop of 3, not the next draw's
    assert come_back(pending, 6, 1, updates=20) == ([], [1, 2])
    assert come_back(pending, 3, 4, 5, updates=30) == ([29], [2])
    assert come_back(pending, 3, updates=40) == ([18], [])  # as old as when its first loss came


def test_single_draws_come_back_in_any_order_batch_after_batch():
    pending = book([7], [8], [8], [7], [9])
    assert come_back(pending, 7, 8)[1] == [2, 3, 4]
    assert come_back(pending, 7, 8)[1] == [4]  # the next two, not the first once more
    assert come_back(pending, 7, 8)[1] == [4]


def test_a_draw_with_replacement_awaits_each_of_its_items():
    pending = book([7, 7, 8, 9])
    assert come_back(pending, 8, 7) == ([], [0])
    assert come_back(pending, 9, 7) == ([10], [])


def test_what_an_older_draw_lacks_is_not_awaited_when_a_later_one_is_complete():
    pending = book([1, 2, 3], [4, 5, 6], [7, 8, 9])
    assert come_back(pending, 1, 2) == ([], [0, 1, 2])
    assert come_back(pending, 9, 8, 7) == ([10, 8], [1])  # nothing of draw 1 has come: it may be under way


def test_a_batch_mixed_with_others_counts_for_its_own():
    pending = book([1, 2], [3, 4])
    assert come_back(pending, 1, 30, 31) == ([], [0, 1])
    assert come_back(pending, 40, 2) == ([10], [1])
    assert pending.match(np.array([40, 41])) is None
    assert pending.match(np.array([], np.int64)) is None


def test_whole_batches_go_on_when_others_have_been_cut(monkeypatch):
    monkeypatch.setattr(Pending, "LIMIT", 3)
    pending = book([1, 2], [3, 4], [5, 6])
    come_back(pending, 1)
    pending.add(np.array([7, 8]), Draw(np.array([7, 8]), 0, 3))  # the oldest is forgotten, half as it is
    pending.add(np.array([1, 9]), Draw(np.array([1, 9]), 0, 4))
    assert [draw.number for draw in pending.draws()] == [2, 3, 4]
    assert come_back(pending, 1)[1] == [2, 3, 4]
    assert come_back(pending, 5, 6)[1] == [3, 4] and come_back(pending, 7, 8)[1] == [4]
    assert come_back(pending, 9)[1] == []
    pending.clear()
    assert len(pending) == 0 and pending.match(np.array([1])) is None


def singles():
    """Batches of four single draws; ahead of them eight more have been made."""
    sampler = HardnessWeightedSampler(30, num_samples=4 * 160, beta=3, seed=1)
    draws = iter(sampler)
    return sampler, lambda: [next(draws) for _ in range(4)]


def whole():
    sampler = HardnessWeightedBatchSampler(30, batch_size=4, batches_per_epoch=160, beta=10, seed=1)
    draws = iter(sampler)
    return sampler, lambda: next(draws)


@pytest.mark.parametrize("kind, crops, passes, cut", [
    (singles, 1, 1, 4), (singles, 1, 2, 4), (singles, 2, 1, 8), (singles, 2, 2, 8), (whole, 1, 2, 4), (whole, 1, 2, 2),
    (whole, 2, 1, 2), (whole, 2, 1, 3), (whole, 2, 2, 4)])
def test_what_is_under_way_is_known_whatever_was_drawn_ahead(kind, crops, passes, cut):
    """Few examples count here, so that those that come back are among the ones drawn ahead, too."""
    sampler, draw = kind()
    ahead, rng = [draw(), draw()], np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for step in range(150):
            ahead.append(draw())
            batch = np.repeat(ahead.pop(0), crops)
            for _ in range(passes):
                for start in range(0, len(batch), cut):
                    piece = batch[start:start + cut]
                    sampler.update(piece, rng.gamma(2.0, 0.5, len(piece)))
            assert sampler.state_dict()["pending"].reshape(-1).tolist() == [example for one in ahead for example in one], step


def test_what_batches_look_like_is_known_after_resuming():
    def resumed(habits):
        sampler = HardnessWeightedSampler([2.0] * 3, num_samples=12, beta=1)
        state = sampler.state_dict()
        state.update(habits=habits, pending=torch.full((4, 1), 2), pending_updates=torch.zeros(4, dtype=torch.int64),
                     pending_numbers=torch.arange(4))
        sampler.load_state_dict(state)
        draws = iter(sampler)
        [next(draws) for _ in range(4)]
        sampler.update([2, 2], [1.0, 1.0])
        once = len(sampler._pending)
        sampler.update([2, 2], [1.0, 1.0])
        return once, len(sampler._pending), sampler.state_dict()["habits"][0]

    assert resumed([1, 0, 1]) == (2, 0, 1)
    assert resumed([2, 0, 1]) == (3, 2, 2)  # two crops of each
    assert resumed([1, 0, 2]) == (2, 2, 1)  # two passes
    for damaged in ([1, 0], [1, 0, -1], ["many", 0, 1], 3):
        with pytest.raises(hws.CorruptStateError):
            resumed(damaged)
