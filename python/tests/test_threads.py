"""One sampler and several threads: calls do not get into each other's way."""
import multiprocessing
import threading
from ctypes import byref, c_double, c_float, c_int64

import numpy as np
import pytest

import hws
from hws._library import lib
from hws.shared import SharedSampler

A_MOMENT = 0.3  # seconds for another thread to do what it must not; if it is slower, a test passes that should not


def meanwhile(work):
    """Lets another thread work for a moment, in the middle of a call; returns the thread."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(A_MOMENT)
    return thread


def refused(call):
    with pytest.raises(hws.HwsError):
        call()


def test_the_error_raised_is_that_of_the_call():
    sampler = hws.Sampler(10)
    threads = []

    def fail(handle):
        status = lib.hws_sampler_update(handle, 1, byref(c_int64(77)), byref(c_float(1.0)))
        threads.append(meanwhile(lambda: refused(lambda: sampler.update([3], [float("nan")]))))
        return status

    with pytest.raises(hws.ExampleIndexError, match="77"):
        sampler._invoke(fail)
    threads[0].join()


@pytest.mark.parametrize("name", ["close", "load_state_dict"])
def test_the_memory_of_a_sampler_in_use_is_not_freed(name):
    sampler, other = hws.Sampler(10), hws.Sampler(10, seed=4)
    state, threads = other.state_dict(), []

    def use(handle):
        threads.append(meanwhile(lambda: sampler.close() if name == "close" else sampler.load_state_dict(state)))
        assert sampler._handle == handle
        return 0

    sampler._invoke(use)
    threads[0].join()
    assert sampler.closed == (name == "close")
    if name != "close":
        assert sampler.to_bytes() == other.to_bytes()


def test_what_a_divergence_raises_comes_out_of_the_call_that_it_was_raised_in():
    failing = []

    def phi(z):
        if failing:
            raise RuntimeError("no phi today")
        return (z - 1) ** 2 / 2

    divergence = hws.CustomDivergence(lambda z: z - 1, lambda y: y + 1, phi)
    one, other = (hws.Sampler([1.0, 2.0], beta=1, divergence=divergence) for _ in range(2))
    told = []

    def fail(handle):
        failing.append(True)
        status = lib.hws_sampler_robust_loss(handle, byref(c_double()))
        failing.clear()
        thread = threading.Thread(target=lambda: told.append(other.robust_loss()), daemon=True)
        thread.start()
        thread.join()
        return status

    with pytest.raises(hws.DivergenceError, match="no phi today"):
        one._invoke(fail)
    assert told == [other.robust_loss()]


def test_a_divergence_of_the_user_s_lets_other_threads_wait():
    """Its functions are Python, so that another thread may run in the middle of a call."""
    inside = []

    def slope_inverse(y):
        if not inside:
            inside.append(meanwhile(lambda: sampler.draw(1)))
        return 1 + y

    inside.append(None)
    sampler = hws.Sampler(np.linspace(0, 1, 10), beta=1, divergence=hws.CustomDivergence(lambda z: z - 1, slope_inverse))
    inside.clear()
    sampler.update([1], [0.7])
    sampler.draw(2)
    inside[0].join()
    assert sampler.draws_made == 2


def draw_in_child(sampler, results):
    results.put(len(sampler.draw(3)))


def test_a_process_forked_while_another_thread_holds_the_lock_can_draw():
    sampler = hws.Sampler(10)
    holds, done = threading.Event(), threading.Event()

    def hold(handle):
        holds.set()
        done.wait(60)
        return 0

    thread = threading.Thread(target=lambda: sampler._invoke(hold), daemon=True)
    thread.start()
    assert holds.wait(60)
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    child = context.Process(target=draw_in_child, args=(sampler, results), daemon=True)
    child.start()
    try:
        assert results.get(timeout=60) == 3
    finally:
        done.set()
        child.kill()
        child.join()
        thread.join()


@pytest.mark.parametrize("change", [lambda shared: shared.update([5], [6.0]), lambda shared: shared.set_losses([6.0], first=5),
                                    lambda shared: shared.load_state_dict(hws.Sampler(np.full(10, 6.0), beta=3).state_dict())])
def test_no_change_of_another_thread_is_lost_for_readers(change):
    """The other change comes while the first has read at which place in the journal it will write."""
    shared = SharedSampler(10, beta=3, initial_loss=1)
    reader = shared.handle.reader(0)
    reader.refresh()
    threads, changes = [], shared._block.changes

    def changes_meanwhile():
        before = changes()
        if not threads:
            threads.append(None)
            threads[0] = meanwhile(lambda: change(shared))
        return before

    shared._block.changes = changes_meanwhile
    shared.update([4], [7.0])
    threads[0].join()
    shared._block.changes = changes
    np.testing.assert_array_equal(reader.losses(), shared.losses())
    assert reader.losses()[5] == 6


class Words:
    """An array that lets something happen before it is first written to."""

    def __init__(self, array, before):
        self.array, self.before = array, before

    def __setitem__(self, place, value):
        before, self.before = self.before, lambda: None
        before()
        self.array[place] = value


def test_beta_reaches_the_readers_as_the_last_thread_has_set_it():
    shared = SharedSampler(np.linspace(0, 1, 10), beta=1)
    reader, threads = shared.handle.reader(0), []
    words = shared._block.beta
    shared._block.beta = Words(words, lambda: threads.append(meanwhile(lambda: setattr(shared, "beta", 9))))
    shared.beta = 4
    threads[0].join()
    shared._block.beta = words
    reader.refresh()
    assert reader._sampler.beta == shared.beta == 9
