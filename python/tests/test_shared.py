import copy
import multiprocessing
import os
import pickle
import signal

import numpy as np
import pytest
import torch
from gpu_stand_in import on_gpu
from scipy_free import chi_square_p
from torch.utils.data import DataLoader

import hws
from hws.shared import SharedSampler
from hws.torch import SharedDraws

METHODS = ["fork", "spawn"]


def test_a_reader_knows_what_the_owner_knows():
    rng = np.random.default_rng(0)
    shared = SharedSampler(500, beta=3, momentum=0.3, journal=64, jitter=0.1)
    readers = [shared.handle.reader(worker) for worker in range(3)]
    for step in range(400):
        kind = rng.integers(10)
        if kind < 7:
            indices = rng.integers(0, 500, rng.integers(0, 20))  # twice the same, too
            shared.update(indices, rng.random(len(indices)))
        elif kind == 7:
            shared.update(rng.integers(0, 500, 100), rng.random(100))  # more than the journal holds
        elif kind == 8:
            first = int(rng.integers(0, 400))
            shared.set_losses(rng.random(rng.integers(0, 100)), first)
        else:
            shared.beta = float(rng.random())
        for worker, reader in enumerate(readers):
            if step % (1 + 7 * worker) == 0:
                np.testing.assert_array_equal(reader.losses(), shared.losses())
                np.testing.assert_array_equal(reader.probabilities(), shared.probabilities())
    assert all(0 < reader.copies < 100 for reader in readers)
    assert readers[2].changes_seen <= shared._block.changes()


def test_streams_are_reproducible_and_different():
    def draws(seed):
        handle = SharedSampler(10**6, seed=seed).handle
        return [handle.reader(worker).draw(8).tolist() for worker in (0, 1, 0, 1)], handle.reader(0, era=0).draw(8).tolist()

    first, again = draws(3)
    assert (first, again) == draws(3) and again == first[0]
    assert len({str(batch) for batch in first + draws(4)[0]}) == 8


# ---- other processes ----------------------------------------------------------------------------------------------


def follow(handle, worker, stop, results):
    """Draws all the time until told to stop; then says what it knows and draws a little more."""
    reader = handle.reader(worker)
    draws = 0
    while not stop.is_set():
        reader.draw(4)
        draws += 1
    batches = np.concatenate([reader.draw(1) for _ in range(4000)])
    results.put((worker, draws, reader.losses(), batches))


@pytest.mark.parametrize("method", METHODS)
def test_four_processes_miss_no_update_and_draw_from_the_shared_losses(method):
    context = multiprocessing.get_context(method)
    rng = np.random.default_rng(1)
    shared = SharedSampler(300, beta=2, journal=256, seed=7)
    stop, results = context.Event(), context.Queue()
    workers = [context.Process(target=follow, args=(shared.handle, worker, stop, results), daemon=True) for worker in range(4)]
    for worker in workers:
        worker.start()
    for _ in range(6000):
        shared.update(rng.integers(0, 300, 8), rng.random(8) * 2)
    stop.set()
    told = [results.get(timeout=300) for _ in workers]
    for worker in workers:
        worker.join(300)
        assert worker.exitcode == 0
    counts = np.zeros(300)
    for _, _, losses, batches in told:
        np.testing.assert_array_equal(losses, shared.losses())
        counts += np.bincount(batches, minlength=300)
    assert chi_square_p(counts, shared.probabilities()) > 1e-6
    assert len({batches.tobytes() for *_, batches in told}) == 4


def draw_for_ever(handle, worker, started):
    reader = handle.reader(worker)
    while True:
        reader.draw(2)
        started.set()


def draw_once(handle, results):
    results.put(handle.reader(1).draw(1).tolist())


def test_a_process_that_is_killed_harms_nobody():
    context = multiprocessing.get_context("fork")
    shared = SharedSampler(100, beta=1000)
    started, results = context.Event(), context.Queue()
    victim = context.Process(target=draw_for_ever, args=(shared.handle, 0, started), daemon=True)
    victim.start()
    assert started.wait(30)
    for step in range(200):
        shared.update([step % 100], [1.0 + step])
        if step == 100:
            os.kill(victim.pid, signal.SIGKILL)
    victim.join(300)
    assert victim.exitcode == -signal.SIGKILL
    other = context.Process(target=draw_once, args=(shared.handle, results), daemon=True)
    other.start()
    assert results.get(timeout=300) == [99]
    other.join(300)


def use_the_owner(shared, results):
    told = []
    for call in (lambda: shared.update([0], [1.0]), lambda: shared.draw(1), lambda: setattr(shared, "beta", 3.0)):
        try:
            call()
            told.append("")
        except hws.OwnershipError as error:
            told.append(str(error))
    results.put(told)


def test_only_the_owner_may_change_or_draw():
    context = multiprocessing.get_context("fork")
    shared, results = SharedSampler([1, 1, 1], beta=2), context.Queue()
    before = shared.to_bytes()
    child = context.Process(target=use_the_owner, args=(shared, results), daemon=True)
    child.start()
    assert all("belongs to another process" in text for text in results.get(timeout=300))
    child.join(300)
    assert shared.to_bytes() == before and shared.handle.reader(0).losses().tolist() == [1, 1, 1]
    for call in (copy.copy, copy.deepcopy, pickle.dumps, lambda s: s.grow(1), lambda s: pickle.dumps(s.handle.reader(0))):
        with pytest.raises(hws.OwnershipError):
            call(shared)


# ---- what can go wrong --------------------------------------------------------------------------------------------


def test_a_change_that_is_half_written_is_not_believed():
    shared = SharedSampler(10, journal=8, initial_loss=1)
    reader = shared.handle.reader(0)
    shared.update([1, 2], [5.0, 6.0])
    shared._block.journal_loss[1] = 99.0  # as if the next round of the journal were just being written
    assert not reader._apply(2)
    assert reader._sampler.losses().max() == 1
    reader.refresh()  # gives up waiting, and copies the losses
    assert reader.copies == 1
    np.testing.assert_array_equal(reader.losses(), shared.losses())


def test_an_interrupted_change_is_made_good():
    shared = SharedSampler(10, initial_loss=1)
    reader = shared.handle.reader(0)
    publish, shared._publish = shared._publish, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        shared.update([3], [7.0])
    shared._publish = publish
    assert reader.losses()[3] == 1
    shared.update([4], [8.0])
    np.testing.assert_array_equal(reader.losses(), shared.losses())
    assert reader.losses()[3:5].tolist() == [7, 8]


def test_first_visits_and_beta_reach_the_readers():
    shared = SharedSampler(40, tail=0.2, seed=1)
    reader = shared.handle.reader(0)
    assert sorted(reader.draw(40).tolist()) == list(range(40))
    shared.update(np.arange(40), np.linspace(0, 3, 40) ** 2)
    assert shared.unseen == 0 and shared.beta > 0
    np.testing.assert_allclose(reader.probabilities(), shared.probabilities(), rtol=1e-9)
    assert reader._sampler.beta == shared.beta
    for losses in (np.linspace(0, 0.1, 40), np.linspace(1, 0, 40)):
        shared.set_losses(losses)
        np.testing.assert_allclose(reader.probabilities(), shared.probabilities(), rtol=1e-9)
    shared.set_losses([np.nan], first=7)
    assert reader.draw(1).tolist() == [7] and np.isnan(reader.losses()[7])
    restored = SharedSampler.from_bytes(shared.to_bytes())
    assert restored.to_bytes() == shared.to_bytes() and restored.tail == 0.2


def test_a_refused_update_is_not_published():
    shared = SharedSampler(10)
    reader = shared.handle.reader(0)
    for indices, losses in (([1, 2], [1.0, float("nan")]), ([1, 10], [1.0, 1.0]), ([1], [1.0, 2.0])):
        with pytest.raises(hws.HwsError):
            shared.update(indices, losses)
    assert reader.changes_seen == shared._block.changes() == 0
    shared.update([1], [3.0])
    assert reader.losses()[1] == 3 and reader.copies == 0


def test_state():
    shared = SharedSampler(50, beta=2, seed=3, momentum=0.5)
    for worker in (0, 0, 1):
        shared.handle.reader(worker)
    shared.update([1, 2], [3.0, 4.0])
    other = SharedSampler(50, beta=9, seed=3, momentum=0.5)
    reader = other.handle.reader(5)
    other.load_state_dict(shared.state_dict())
    assert other.to_bytes() == shared.to_bytes()
    np.testing.assert_array_equal(reader.losses(), shared.losses())
    assert reader._sampler.beta == 2
    assert other.handle.reader(0).era == 2 and other.handle.reader(1).era == 1 and other.handle.reader(5).era == 1
    for wrong, words in (({}, "state"), ({"state": b""}, "empty"), ({**shared.state_dict(), "eras": np.zeros(3)}, "streams"),
                         (SharedSampler(50, seed=4).state_dict(), "differs in seed"),
                         (SharedSampler(49, seed=3).state_dict(), "49 examples")):
        before = other.to_bytes()
        with pytest.raises(hws.CorruptStateError, match=words):
            other.load_state_dict(wrong)
        assert other.to_bytes() == before


@pytest.mark.parametrize("options, words", [({"trim": 0.2}, "differs in trim"), ({"doubt": 0.5}, "doubt cannot be shared")])
def test_a_state_that_readers_could_not_draw_by_is_refused(options, words):
    """The owner drew from another distribution than its readers."""
    losses = np.linspace(0, 3, 20, dtype=np.float32)
    shared, other = SharedSampler(losses, beta=3), hws.Sampler(losses, beta=3, **options)
    before = shared.to_bytes()
    with pytest.raises(hws.CorruptStateError, match=words):
        shared.load_state_dict(other.state_dict())
    assert shared.to_bytes() == before


def test_a_state_with_records_and_labels_changes_no_draw():
    losses = np.linspace(0, 3, 20, dtype=np.float32)
    shared = SharedSampler(losses[::-1].copy(), beta=3)
    reader = shared.handle.reader(0)
    shared.load_state_dict(hws.Sampler(losses, beta=3, labels=np.arange(20) % 3).state_dict())
    assert set(shared.triage()["label"]) == {0, 1, 2}
    np.testing.assert_array_equal(reader.probabilities(), shared.probabilities())


def test_a_state_may_have_been_loaded_onto_a_gpu():
    shared, other = SharedSampler(50, seed=3), SharedSampler(50, seed=3)
    shared.handle.reader(1)
    shared.update([1, 2], [3.0, 4.0])
    other.load_state_dict(on_gpu(shared.state_dict()))
    assert other.to_bytes() == shared.to_bytes() and other.handle.reader(1).era == 1


def test_saved_and_loaded(tmp_path):
    shared = SharedSampler(20, beta=5, seed=1)
    shared.update(shared.draw(3), [1, 2, 3])
    shared.save(tmp_path / "state")
    loaded = SharedSampler.load(tmp_path / "state")
    assert loaded.to_bytes() == shared.to_bytes() and isinstance(loaded, SharedSampler)
    np.testing.assert_array_equal(loaded.handle.reader(0).losses(), shared.losses())


def test_readers_of_a_loaded_sampler_do_not_draw_the_same_again(tmp_path):
    shared = SharedSampler([1.0] * 1000, beta=0)
    before = [shared.handle.reader(worker).draw(5).tolist() for worker in (0, 0, 1)]
    shared.save(tmp_path / "state")
    after = [[SharedSampler.load(tmp_path / "state").handle.reader(worker).draw(5).tolist() for worker in (0, 1)]
             for _ in range(2)]
    assert after[0] == after[1] and not any(batch in before for batch in after[0])
    loaded = SharedSampler.from_bytes(shared.to_bytes())
    assert loaded.handle.reader(0).draw(5).tolist() == after[0][0] != loaded.handle.reader(0).draw(5).tolist()


def test_readers_of_a_loaded_sampler_have_its_beta():
    """With a tail, beta is what it became in the course of the updates; made anew of the same losses it differs a little."""
    rng = np.random.default_rng(0)
    shared = SharedSampler(rng.gamma(2.0, 1.0, 200), tail=0.1)
    for _ in range(7):
        shared.update(shared.draw(4), rng.gamma(2.0, 1.0, 4))
    loaded = SharedSampler.from_bytes(shared.to_bytes())
    assert loaded.beta == shared.beta != SharedSampler(shared.losses(), tail=0.1).beta
    np.testing.assert_array_equal(loaded.handle.reader(0).probabilities(), shared.probabilities())


def load_elsewhere(shared, state, results):
    try:
        shared.load_state_dict(state)
    except hws.OwnershipError as error:
        results.put(str(error))


def test_a_state_that_another_process_loads_reaches_nobody():
    context = multiprocessing.get_context("fork")
    shared = SharedSampler([1.0, 2.0], beta=3)
    reader, results = shared.handle.reader(0), context.Queue()
    other = context.Process(target=load_elsewhere, args=(shared, SharedSampler([5.0, 6.0], beta=9).state_dict(), results))
    other.start()
    assert "belongs to another process" in results.get(timeout=300)
    other.join(300)
    assert reader.losses().tolist() == [1, 2] and reader._sampler.beta == 3
    np.testing.assert_array_equal(reader.probabilities(), shared.probabilities())


def test_wrong_arguments():
    with pytest.raises(hws.ArgumentError, match="journal"):
        SharedSampler(3, journal=0)
    with pytest.raises(hws.ArgumentError, match="cannot be shared"):
        SharedSampler(3, doubt=1)
    handle = SharedSampler(3).handle
    with pytest.raises(hws.ArgumentError, match="below 4096"):
        handle.reader(4096)
    with pytest.raises(hws.ArgumentTypeError):
        handle.reader("a")
    with pytest.raises(hws.ArgumentError, match="of 3 examples, the data set of 2"):
        SharedDraws("ab", handle)
    with pytest.raises(hws.ArgumentTypeError):
        SharedDraws("abc", hws.Sampler(3))
    shared = SharedSampler(3)
    shared.close()
    with pytest.raises(hws.ClosedError):
        shared.handle


# ---- PyTorch's loader ---------------------------------------------------------------------------------------------


class Numbers:
    """A data set that can be sent to a spawned process."""

    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.tensor(float(index))


@pytest.mark.parametrize("method, persistent", [("fork", False), ("fork", True), ("spawn", True)])
def test_four_loader_workers_draw_from_the_shared_losses(method, persistent):
    shared = SharedSampler(40, beta=2, seed=5)
    loader = DataLoader(SharedDraws(Numbers(), shared, num_samples=6000), batch_size=50, num_workers=4,
                        multiprocessing_context=method, persistent_workers=persistent)
    epochs = []
    for epoch in range(2):
        shared.set_losses(np.roll(np.linspace(0, 2, 40), 13 * epoch))
        counts, drawn = np.zeros(40), []
        for values, indices in loader:
            assert (values.long() == indices).all()
            counts += np.bincount(indices, minlength=40)
            drawn += indices.tolist()
        assert counts.sum() == 6000
        assert chi_square_p(counts, shared.probabilities()) > 1e-6
        epochs.append(drawn)
    assert epochs[0] != epochs[1]


@pytest.mark.parametrize("samples, size, workers", [(10, 4, 2), (10, 4, 3), (3, 4, 2), (0, 4, 2), (16, 4, 2), (9, 4, 0)])
def test_a_loader_has_as_many_batches_as_it_says(samples, size, workers):
    draws = SharedDraws(Numbers(), SharedSampler(40, seed=5), samples, batch_size=size)
    loader = DataLoader(draws, batch_size=size, num_workers=workers)
    lengths = [len(indices) for _, indices in loader]
    expected = [min(size, samples - first) for first in range(0, samples, size)]
    assert len(lengths) == len(loader) and sorted(lengths, reverse=True) == expected


def test_updates_reach_workers_in_the_middle_of_an_epoch():
    shared = SharedSampler(40, beta=1000, seed=5, initial_loss=1)
    loader = DataLoader(SharedDraws(Numbers(), shared, num_samples=2000), batch_size=10, num_workers=4)
    last = []
    for step, (_, indices) in enumerate(loader):
        if step == 50:
            shared.update([17], [9.0])
        if step > 100:  # what was prefetched is through
            last += indices.tolist()
    assert len(last) == 990 and set(last) == {17}
