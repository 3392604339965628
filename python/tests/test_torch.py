import copy
import math
import warnings

import numpy as np
import pytest
import torch
from gpu_stand_in import on_gpu
from scipy_free import chi_square_p
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from two_ranks import join_ranks, leave_ranks, refused, results_of_two_ranks

import hws
from hws.shared import SharedSampler
from hws.torch import (DROLoss, HardnessWeightedBatchSampler, HardnessWeightedSampler, IndexedDataset, SharedDraws,
                       of_all_ranks)

N = 60
DATA = TensorDataset(torch.arange(N).float(), torch.arange(N) % 3)


def loss_of(indices, step):
    """A loss that depends on example and step alone, so that runs can be compared."""
    return torch.sin(torch.as_tensor(indices).float() * 12.9898 + step) + 1


# ---- data sets ----------------------------------------------------------------------------------------------------


def test_indexed_dataset():
    images, labels, indices = next(iter(DataLoader(IndexedDataset(DATA), batch_size=4)))
    assert indices.tolist() == [0, 1, 2, 3] and images.tolist() == [0, 1, 2, 3]
    assert IndexedDataset(DATA)[-1][2] == N - 1
    for data in (IndexedDataset(DATA), IndexedDataset(DATA, randomness=HardnessWeightedBatchSampler(DATA, 4))):
        with pytest.raises(IndexError, match=f"index {-N - 1} is before the first"):
            data[-N - 1]
    with pytest.raises(hws.ArgumentTypeError, match="map-style"):
        IndexedDataset(iter([1, 2]))
    with pytest.raises(hws.ArgumentError, match="'index' already"):
        IndexedDataset([{"index": 3}])[0]


# ---- draws --------------------------------------------------------------------------------------------------------


def test_batches_are_the_core_sampler_s():
    batches = HardnessWeightedBatchSampler(DATA, batch_size=8, beta=3, seed=5)
    core = hws.Sampler(N, beta=3, seed=5)
    assert len(batches) == 8
    for step, batch in enumerate(batches):
        assert batch == core.draw(8).tolist()
        batches.update(batch, loss_of(batch, step))
        core.update(batch, loss_of(batch, step))


def test_single_examples_follow_the_losses():
    losses = np.linspace(0, 2, 20).astype(np.float32)
    sampler = HardnessWeightedSampler(hws.Sampler(losses, beta=2, seed=1), num_samples=20000)
    loader = DataLoader(IndexedDataset(list(range(20))), batch_size=100, sampler=sampler)
    counts = np.zeros(20)
    for _, indices in loader:
        counts += np.bincount(indices, minlength=20)
    assert counts.sum() == 20000
    assert chi_square_p(counts, hws.probabilities(losses, 2)) > 1e-6


@pytest.mark.parametrize("kind", [HardnessWeightedBatchSampler, HardnessWeightedSampler])
@pytest.mark.parametrize("workers, persistent", [(0, False), (2, False), (2, True)])
def test_draws_are_made_when_handed_out_and_their_staleness_counted(kind, workers, persistent):
    prefetched = 2 * workers
    if kind is HardnessWeightedBatchSampler:
        sampler = kind(DATA, batch_size=4, batches_per_epoch=12, seed=2)
        arguments = {"batch_sampler": sampler}
    else:
        sampler = kind(DATA, num_samples=48, seed=2)
        arguments = {"sampler": sampler, "batch_size": 4}
    loader = DataLoader(IndexedDataset(DATA), num_workers=workers, persistent_workers=persistent, **arguments)
    for _ in range(2):
        for step, (_, _, indices) in enumerate(loader):
            ahead = sampler._handed - (step + 1) * 4 // (4 if kind is HardnessWeightedBatchSampler else 1)
            assert ahead <= prefetched * (1 if kind is HardnessWeightedBatchSampler else 4)
            sampler.update(indices, loss_of(indices, step))
    staleness = sampler.staleness()
    assert staleness["max"] == prefetched
    assert staleness["counted"] == (24 if kind is HardnessWeightedBatchSampler else 96)
    assert 0 <= staleness["mean"] <= prefetched
    telemetry = sampler.telemetry()
    assert telemetry["staleness_max"] == prefetched and telemetry["sampler_seconds"] > 0


def test_an_epoch_that_is_left_early_does_no_harm():
    sampler = HardnessWeightedBatchSampler(DATA, batch_size=4, seed=2)
    for batch in sampler:
        break
    assert sum(1 for _ in sampler) == len(sampler)
    sampler.update([1, 2, 3], [1.0, 1.0, 1.0])  # never handed out in this form: taken, but not counted
    assert sampler.staleness()["counted"] == 0


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", ["batch", "single"])
def test_resumed_in_mid_epoch_the_batches_are_the_same(workers, kind, tmp_path):
    def make():
        if kind == "batch":
            sampler = HardnessWeightedBatchSampler(DATA, batch_size=4, batches_per_epoch=10, beta=4, seed=3)
            return sampler, DataLoader(IndexedDataset(DATA), batch_sampler=sampler, num_workers=workers)
        sampler = HardnessWeightedSampler(DATA, num_samples=40, beta=4, seed=3)
        return sampler, DataLoader(IndexedDataset(DATA), sampler=sampler, batch_size=4, num_workers=workers)

    def train(sampler, loader, seen, stop=None):
        while len(seen) < 20:
            for _, _, indices in loader:
                sampler.update(indices, loss_of(indices, len(seen)))
                seen.append(indices.tolist())
                if len(seen) == stop:
                    return

    straight = []
    sampler, loader = make()
    train(sampler, loader, straight)

    for stop in (1, 7, 10, 13):
        sampler, loader = make()
        parts = []
        train(sampler, loader, parts, stop)
        torch.save(sampler.state_dict(), tmp_path / "checkpoint")
        resumed, loader = make()
        resumed.load_state_dict(torch.load(tmp_path / "checkpoint"))
        train(resumed, loader, parts)
        assert parts == straight, stop


@pytest.mark.parametrize("kind, extra", [(HardnessWeightedBatchSampler, dict(batch_size=4)), (HardnessWeightedSampler, {})])
def test_a_state_may_have_been_loaded_onto_a_gpu(kind, extra):
    sampler, resumed = kind(DATA, seed=3, **extra), kind(DATA, **extra)
    handed = next(iter(sampler))
    state = on_gpu(sampler.state_dict())
    with pytest.raises(TypeError, match="cuda"):
        np.asarray(state["pending"])
    resumed.load_state_dict(state)
    assert next(iter(resumed)) == handed and resumed.sampler.to_bytes() == sampler.sampler.to_bytes()


def test_states_that_do_not_fit_are_refused():
    sampler = HardnessWeightedBatchSampler(DATA, batch_size=4)
    next(iter(sampler))
    state = sampler.state_dict()
    before = sampler.sampler.to_bytes()
    for change, words in ((dict(sampler=state["sampler"][:-1]), "truncated"), (dict(pending=torch.zeros(1)), "damaged"),
                          (dict(pending=torch.full((1, 4), N)), "do not exist"),
                          (dict(pending=torch.zeros((1, 5), dtype=torch.int64)), "batches of 5"),
                          (dict(handed=10**6), "handed out"), (dict(staleness=None), "no state_dict"),
                          (dict(pending_updates=torch.full((1,), math.nan)), "damaged")):
        with pytest.raises(hws.CorruptStateError, match=words):
            sampler.load_state_dict({**state, **change})
        assert sampler.sampler.to_bytes() == before
    with pytest.raises(hws.CorruptStateError, match="no state_dict"):
        sampler.load_state_dict({})


@pytest.mark.parametrize("arguments, words", [
    (dict(batch_size=0), "at least 1"), (dict(batch_size=2.5), "integer"), (dict(batch_size=N + 1), "without replacement"),
    (dict(batch_size=4, num_replicas=3, rank=0), "shared equally by 3"), (dict(batch_size=4, num_replicas=2, rank=2), "rank 2"),
    (dict(batch_size=4, beta=-1), "beta"), (dict(batch_size=4, num_replicas="two", rank=0), "num_replicas must be"),
])
def test_wrong_arguments(arguments, words):
    with pytest.raises(hws.HwsError, match=words):
        HardnessWeightedBatchSampler(DATA, **arguments)


def test_an_open_sampler_takes_no_options():
    with pytest.raises(hws.ArgumentError, match="beta"):
        HardnessWeightedBatchSampler(hws.Sampler(10), batch_size=2, beta=3)


# ---- the loss -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("importance", [True, False])
@pytest.mark.parametrize("loader_sampler", [True, False])
def test_dro_loss_is_algorithm_1(importance, loader_sampler):
    torch.manual_seed(0)
    core, reference = hws.Sampler(N, beta=1, momentum=0.3), hws.Sampler(N, beta=1, momentum=0.3)
    sampler = HardnessWeightedBatchSampler(core, batch_size=6) if loader_sampler else core
    criterion = DROLoss(nn.CrossEntropyLoss(), sampler, importance=importance)
    for _ in range(3):
        logits, target, indices = torch.randn(6, 3, requires_grad=True), torch.randint(0, 3, (6,)), torch.randperm(N)[:6]
        loss = criterion(logits, target, indices)
        loss.backward()
        mirror = logits.detach().clone().requires_grad_()
        losses = nn.functional.cross_entropy(mirror, target, reduction="none")
        weights = np.ones(6, np.float32)
        if importance:
            weights = reference.importance_weights(indices, losses)
        reference.update(indices, losses)
        expected = (torch.from_numpy(weights) * losses).mean()
        expected.backward()
        torch.testing.assert_close(loss, expected)
        torch.testing.assert_close(logits.grad, mirror.grad)
        torch.testing.assert_close(criterion.last_losses, losses.detach())
    assert core.to_bytes() == reference.to_bytes()


def test_dro_loss_over_voxels_and_in_evaluation():
    sampler = hws.Sampler(4, beta=1)
    criterion = DROLoss(nn.CrossEntropyLoss(), sampler)
    logits, target = torch.randn(2, 3, 4, 4, 4), torch.randint(0, 3, (2, 4, 4, 4))
    criterion.eval()
    plain = nn.functional.cross_entropy(logits, target)
    torch.testing.assert_close(criterion(logits, target, [0, 1]), plain)
    assert sampler.updates_made == 0
    criterion.train()
    criterion(logits, target, [0, 1])
    each = nn.functional.cross_entropy(logits, target, reduction="none").flatten(1).mean(1)
    np.testing.assert_allclose(sampler.losses(0, 2), each.numpy())


def test_dro_loss_leaves_the_user_s_loss_alone():
    loss = nn.CrossEntropyLoss()
    DROLoss(loss, hws.Sampler(4))
    assert loss.reduction == "mean"


def test_dro_loss_refuses():
    sampler = hws.Sampler(4)
    with pytest.raises(hws.ArgumentError, match="one number for 2 examples"):
        DROLoss(nn.MSELoss(), sampler).reduce(torch.ones(()), [0, 1])
    with pytest.raises(hws.ArgumentError, match="which examples"):
        DROLoss(nn.MSELoss(), sampler)(torch.ones(2), torch.ones(2))
    with pytest.raises(hws.ArgumentError, match="2 entries for 3 examples"):
        DROLoss(lambda p, t: p - t, sampler)(torch.ones(2), torch.ones(2), [0, 1, 2])
    with pytest.raises(hws.NotFiniteError, match="example 3"):
        DROLoss(lambda p, t: p / t, sampler)(torch.ones(2), torch.tensor([1.0, 0.0]), [0, 3])
    assert sampler.updates_made == 0
    with pytest.raises(hws.ArgumentTypeError, match="sampler"):
        DROLoss(nn.MSELoss(), object())
    with pytest.raises(hws.ArgumentTypeError, match="loss"):
        DROLoss(3, sampler)


def test_clip_rate():
    sampler = hws.Sampler(4, beta=1, initial_loss=1)
    criterion = DROLoss(lambda p, t: p, sampler, importance=True)
    criterion(torch.tensor([1.0, 50.0, 1.0, -50.0]), None, [0, 1, 2, 3])
    assert criterion.clip_rate() == 0.5
    assert criterion.clip_rate() == 0.0


# ---- several processes --------------------------------------------------------------------------------------------


def train_rank(rank, ranks, port, kind, replacement, made, results):
    """What one process of a DistributedDataParallel training does, its sampler made before or after the process group."""
    def make():
        if kind == "batch":
            return HardnessWeightedBatchSampler(DATA, batch_size=6, beta=3, seed=6, replacement=replacement)
        return HardnessWeightedSampler(DATA, beta=3, seed=6, replacement=replacement)

    begun = make()
    next(iter(begun))
    sampler = make() if made == "before" else None
    join_ranks(rank, ranks, port)
    too_late = [refused(lambda: next(iter(begun))), refused(lambda: begun.update([0], [1.0]))]
    sampler = sampler or make()
    batches = []
    if kind == "batch":
        loader = DataLoader(IndexedDataset(DATA), batch_sampler=sampler)
    else:
        loader = DataLoader(IndexedDataset(DATA), sampler=sampler, batch_size=6 // ranks)
    model = nn.parallel.DistributedDataParallel(nn.Linear(1, 3))
    criterion = DROLoss(lambda prediction, step: prediction, sampler, importance=True)
    for epoch in range(2):
        for step, (images, labels, indices) in enumerate(loader):
            model(images[:, None]).sum().backward()
            criterion(loss_of(indices, epoch * 100 + step), None, indices)
            batches.append((indices.tolist(), criterion.last_weights.tolist()))
    # A loss that is not finite, or of no example, on one rank stops both, and changes neither.
    before = sampler.sampler.to_bytes()
    stopped = refused(lambda: sampler.update([0, 1], [1.0, float("nan") if rank == 1 else 1.0]))
    nobody = refused(lambda: sampler.update([0, -1 if rank == 1 else 1], [1.0, 1.0]))
    stopped = stopped.startswith("NotFiniteError") and "index -1" in nobody and sampler.sampler.to_bytes() == before
    state = sampler.sampler.to_bytes()
    # Examples 1 and 3 are rank 1's. The second has no label, and all ranks leave its loss as it is.
    labels = torch.tensor([0, -100 if rank == 1 else 0])
    DROLoss(nn.CrossEntropyLoss(), sampler)(torch.full((2, 3), float(rank)), labels, [rank, rank + 2])
    results.put((rank, batches, state, stopped, too_late, sampler.losses()))
    leave_ranks(results)


@pytest.mark.parametrize("kind, replacement, made", [("batch", False, "after"), ("batch", True, "after"),
                                                     ("single", False, "after"), ("batch", False, "before"),
                                                     ("single", False, "before")])
def test_two_ranks_train_on_what_one_process_would(kind, replacement, made):
    ranks = results_of_two_ranks(train_rank, kind, replacement, made)
    options = dict(beta=3, seed=6, replacement=replacement)
    if kind == "batch":
        single = HardnessWeightedBatchSampler(DATA, batch_size=6, **options)
        batches = lambda: iter(single)
    else:
        single = HardnessWeightedSampler(DATA, **options)
        batches = lambda: iter(torch.utils.data.BatchSampler(single, 6, False))
    expected = []
    for epoch in range(2):
        for step, batch in enumerate(batches()):
            weights = single.step(batch, loss_of(batch, epoch * 100 + step))
            expected.append((batch, weights.tolist()))

    first, first_state, first_stopped, too_late, first_losses = ranks[0]
    second, second_state, second_stopped, _, second_losses = ranks[1]
    assert len(expected) == len(first) == len(second) == 20
    for (batch, weights), (a, a_weights), (b, b_weights) in zip(expected, first, second):
        assert (a, b) == (batch[0::2], batch[1::2])
        assert (a_weights, b_weights) == (weights[0::2], weights[1::2])
    assert first_state == second_state == single.sampler.to_bytes()
    assert first_stopped and second_stopped
    # One that had begun alone cannot be shared any more, and says so.
    assert all("began as rank 0 of 1" in text for text in too_late) and len(too_late) == 2
    left = single.losses()
    left[:3] = math.log(3)
    np.testing.assert_allclose(first_losses, left, rtol=1e-6)
    np.testing.assert_array_equal(first_losses, second_losses)


def train_rank_in_pieces(rank, ranks, port, results):
    join_ranks(rank, ranks, port)
    sampler = HardnessWeightedBatchSampler(DATA, batch_size=8, beta=3, seed=6)
    handed = []
    for step, share in enumerate(sampler):
        for piece in (share[:2], share[2:]):
            sampler.update(piece, loss_of(piece, step))
        handed.append((sampler.state_dict()["handed"], len(sampler._pending)))
    results.put((rank, handed, sampler.sampler.to_bytes()))
    leave_ranks(results)


def test_two_ranks_may_hand_back_their_shares_in_pieces():
    ranks = results_of_two_ranks(train_rank_in_pieces)
    single = HardnessWeightedBatchSampler(DATA, batch_size=8, beta=3, seed=6)
    for step, batch in enumerate(single):
        for piece in (batch[:4], batch[4:]):
            single.update(piece, loss_of(piece, step))
    assert ranks[0] == ranks[1] == [[(step + 1, 0) for step in range(len(single))], single.sampler.to_bytes()]


def test_a_rank_without_a_process_group_says_so():
    sampler = HardnessWeightedBatchSampler(DATA, batch_size=4, num_replicas=2, rank=1)
    with pytest.raises(hws.OwnershipError, match="not initialised"):
        sampler.update([0, 1], [1.0, 1.0])


def draw_rank(rank, ranks, port, results):
    """A rank whose loader processes draw by themselves: refused without the ranks, and with them through two epochs."""
    join_ranks(rank, ranks, port)
    shared = SharedSampler(N, beta=3, seed=6)
    told = []
    for method in (None, "fork", "spawn"):
        loader = DataLoader(SharedDraws(DATA, shared), num_workers=0 if method is None else 1, multiprocessing_context=method)
        told.append(refused(lambda: next(iter(loader))))
    loader = DataLoader(SharedDraws(DATA, shared, num_samples=N - 1, num_replicas=ranks, rank=rank), batch_size=5,
                        num_workers=1)
    drawn = []
    for epoch in range(2):
        for step, (_, _, indices) in enumerate(loader):
            shared.update(*of_all_ranks(indices, loss_of(indices, epoch * 100 + step)))
            drawn.append(indices.tolist())
    results.put((rank, told, drawn, shared.to_bytes()))
    leave_ranks(results)


def test_loader_processes_of_two_ranks_draw_different_examples_and_learn_from_both():
    ranks = results_of_two_ranks(draw_rank)
    (told, first, first_state), (_, second, second_state) = ranks[0], ranks[1]
    assert len(told) == 3 and all("OwnershipError" in text and "the same examples on each of 2" in text for text in told)
    assert len(first) == len(second) == 12 and all(len(batch) == 5 for batch in first + second)
    assert first[:6] != second[:6] and first[6:] != second[6:]
    assert first_state == second_state
    learnt = hws.Sampler.from_bytes(first_state).losses()
    assert {int(example) for example in np.flatnonzero(~np.isnan(learnt))} == {i for batch in first + second for i in batch}


@pytest.fixture
def pretend_ranks(monkeypatch):
    """Lets torch.distributed say that this is a rank of a group, without one."""

    def pretend(rank, ranks):
        monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
        monkeypatch.setattr(torch.distributed, "get_rank", lambda group=None: rank)
        monkeypatch.setattr(torch.distributed, "get_world_size", lambda group=None: ranks)

    return pretend


def test_ranks_that_come_to_be_known_late(pretend_ranks):
    fifth, whole = HardnessWeightedBatchSampler(DATA, batch_size=5), HardnessWeightedBatchSampler(DATA, batch_size=4)
    single = HardnessWeightedSampler(DATA, num_samples=21, batch_size=8, drop_last=True)
    short = HardnessWeightedSampler(DATA, num_samples=21, batch_size=12, drop_last=True)
    half_given = HardnessWeightedBatchSampler(DATA, batch_size=4, num_replicas=2)
    with pytest.raises(hws.OwnershipError, match="which one is this"):
        next(iter(half_given))
    assert (whole.rank, whole.num_replicas, len(single)) == (0, 1, 16)
    pretend_ranks(1, 2)
    assert (whole.rank, whole.num_replicas, len(single)) == (1, 2, 8)
    assert len(next(iter(whole))) == len(next(iter(half_given))) == 2 and half_given.rank == 1
    with pytest.raises(hws.ArgumentError, match="5 cannot be shared equally by 2"):
        next(iter(fifth))
    with pytest.raises(hws.ArgumentError, match="an epoch has 11 examples"):
        next(iter(short))
    with pytest.raises(hws.ArgumentError, match="at least 1"):
        HardnessWeightedBatchSampler(DATA, batch_size=4, num_replicas=0)
    given = HardnessWeightedBatchSampler(DATA, batch_size=4, num_replicas=2, rank=0)
    with pytest.raises(hws.OwnershipError, match="its process group has it as rank 1 of 2"):
        given.update([0, 1], [1.0, 1.0])


def test_draws_of_loader_processes_know_the_ranks_or_refuse(pretend_ranks):
    shared = SharedSampler(N, seed=6)
    plain, pair = SharedDraws(DATA, shared), [SharedDraws(DATA, shared, 7, num_replicas=2, rank=rank) for rank in (0, 1)]
    assert len(plain) == N and len(pair[0]) == len(list(pair[0])) == len(pair[1]) == len(list(pair[1])) == 4
    for arguments, words in ((dict(rank=1), "or neither"), (dict(num_replicas=2), "or neither"),
                             (dict(num_replicas=2, rank=2), "rank 2 of 2")):
        with pytest.raises(hws.ArgumentError, match=words):
            SharedDraws(DATA, shared, **arguments)
    with pytest.raises(hws.ArgumentError, match="2 indices but 1 losses"):
        of_all_ranks([1, 2], [1.0])
    pretend_ranks(0, 2)
    for call in (len, copy.copy, lambda draws: next(iter(draws))):
        with pytest.raises(hws.OwnershipError, match="the same examples on each of 2 ranks"):
            call(plain)


def test_states_and_ranks_that_come_to_be_known_late(pretend_ranks):
    def saved(make):
        next(iter(make))
        return make.state_dict()

    batches = saved(HardnessWeightedBatchSampler(DATA, batch_size=4))
    alone, pair = saved(HardnessWeightedSampler(DATA)), saved(HardnessWeightedSampler(DATA, num_replicas=2, rank=0))
    resumed, loaded = HardnessWeightedBatchSampler(DATA, batch_size=4), HardnessWeightedSampler(DATA)
    resumed.load_state_dict(batches)
    loaded.load_state_dict(alone)
    with pytest.raises(hws.CorruptStateError, match="saved on 2 ranks, not on 1.*after init_process_group"):
        HardnessWeightedSampler(DATA).load_state_dict(pair)
    pretend_ranks(1, 2)
    assert next(iter(resumed)) == batches["pending"][0, 1::2].tolist()
    with pytest.raises(hws.OwnershipError, match="began as rank 0 of 1"):
        next(iter(loaded))
    late = HardnessWeightedSampler(DATA)
    late.load_state_dict(pair)
    assert next(iter(late)) == int(pair["pending"][0, 1])


def test_an_epoch_without_updates_is_noticed_when_the_next_begins():
    sampler = hws.torch.HardnessWeightedBatchSampler(10, batch_size=5, beta=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for batch in sampler:
            pass
    with pytest.warns(UserWarning, match="no loss came back"):
        for batch in sampler:
            sampler.update(batch, [1.0] * len(batch))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        next(iter(sampler))


# ---- names that people expect -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, extra", [(HardnessWeightedBatchSampler, dict(batch_size=4)), (HardnessWeightedSampler, {})])
def test_samplers_answer_for_their_core(kind, extra):
    sampler = kind(10, tail=0.3, generator=torch.Generator().manual_seed(3), **extra)
    assert sampler.tail == 0.3 and sampler.unseen == 10
    sampler.update(range(10), np.arange(10) / 10)
    assert sampler.beta == sampler.sampler.beta > 0 and sampler.unseen == 0
    assert sampler.ess() == sampler.sampler.ess() < 10
    assert sampler.losses().tolist() == sampler.sampler.losses().tolist()
    assert sampler.hardest(2)[0].tolist() == [9, 8]
    assert sampler.statistics()["loss_max"] == sampler.losses().max()
    sampler.beta = 2
    assert sampler.sampler.beta == 2 and sampler.tail is None
    again = kind(10, tail=0.3, generator=torch.Generator().manual_seed(3), **extra)
    assert again.sampler.options["seed"] == sampler.sampler.options["seed"] != 0
    with pytest.raises(TypeError, match=f"{kind.__name__} has no argument 'shuffle'"):
        kind(10, shuffle=True, **extra)
    with pytest.raises(hws.ArgumentError, match="not both"):
        kind(10, seed=1, generator=torch.Generator(), **extra)
    with pytest.raises(hws.ArgumentError, match="generator"):
        kind(hws.Sampler(10), generator=torch.Generator(), **extra)


@pytest.mark.parametrize("number", [10, np.int64(10), np.array(10), torch.tensor(10)])
def test_the_number_of_examples_may_be_of_any_kind(number):
    assert len(HardnessWeightedBatchSampler(number, 4)) == 3 and len(HardnessWeightedSampler(number)) == 10


@pytest.mark.parametrize("number", [2.5, torch.tensor(2.5), None])
def test_what_is_no_number_of_examples_is_refused_by_name(number):
    for kind, arguments in ((HardnessWeightedBatchSampler, (4,)), (HardnessWeightedSampler, ())):
        with pytest.raises(hws.ArgumentTypeError, match="the number of examples must be an integer"):
            kind(number, *arguments)


def test_the_length_of_an_epoch():
    assert len(HardnessWeightedBatchSampler(10, 4)) == 3
    assert len(HardnessWeightedBatchSampler(10, 4, drop_last=True)) == 2
    assert len(HardnessWeightedBatchSampler(10, 4, num_samples=17)) == 5
    assert len(HardnessWeightedBatchSampler(10, 4, num_samples=17, drop_last=True)) == 4
    assert len(HardnessWeightedSampler(10, batch_size=4, drop_last=True)) == 8
    with pytest.raises(hws.ArgumentError, match="not both"):
        HardnessWeightedBatchSampler(10, 4, 3, num_samples=17)
    with pytest.raises(hws.ArgumentError, match="needs batch_size"):
        HardnessWeightedSampler(10, drop_last=True)
    with pytest.raises(hws.ArgumentError, match="batch_size is 11"):
        HardnessWeightedSampler(10, batch_size=11, drop_last=True)


@pytest.mark.parametrize("told, workers, after", [(False, 0, True), (True, 0, True), (True, 0, False), (True, 2, True),
                                                  (True, 2, False)])
def test_with_drop_last_the_end_of_an_epoch_is_followed_by_the_next(told, workers, after):
    """Saved after the last batch of an epoch, within the loop or after it, the resumed run has no empty epoch."""

    def make():
        sampler = HardnessWeightedSampler(DATA, 42, beta=4, seed=3, **(dict(batch_size=4, drop_last=True) if told else {}))
        return sampler, DataLoader(IndexedDataset(DATA), sampler=sampler, batch_size=4, drop_last=True, num_workers=workers)

    def epoch(sampler, loader, first=0):
        seen = []
        for _, _, indices in loader:
            sampler.update(indices, loss_of(indices, first + len(seen)))
            seen.append(indices.tolist())
            state = sampler.state_dict()
        return seen, sampler.state_dict() if after else state

    sampler, loader = make()
    first, state = epoch(sampler, loader)
    second, _ = epoch(sampler, loader, 10)
    resumed, loader = make()
    resumed.load_state_dict(state)
    assert len(first) == 10 and epoch(resumed, loader, 10)[0] == second


def test_a_rest_that_may_be_dropped_is_announced():
    sampler = HardnessWeightedSampler(DATA, 42, seed=3)
    loader = DataLoader(IndexedDataset(DATA), sampler=sampler, batch_size=4, drop_last=True)
    for _, _, indices in loader:
        sampler.update(indices, loss_of(indices, 0))
        state = sampler.state_dict()  # the last one before the loader asks for what it will drop
    with pytest.warns(UserWarning, match="the epoch that is resumed is empty"):
        HardnessWeightedSampler(DATA, 42).load_state_dict(state)
