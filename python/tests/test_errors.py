"""Wrong input: an exception that says what is wrong, and a state that is untouched."""
import math

import numpy as np
import pytest
import torch

import hws
import hws.torch


@pytest.fixture
def sampler():
    sampler = hws.Sampler([0.5, 1.0, 1.5, 2.0], beta=2, seed=9, keep_counts=True)
    sampler.update([1], [1.25])
    sampler.draw(2)
    yield sampler


NAN = float("nan")

WRONG = [
    (lambda s: s.update([0, 1], [1.0, NAN]), hws.NotFiniteError, "example 1 (position 1) is nan"),
    (lambda s: s.update([0, 1], [1.0, 1e300]), hws.NotFiniteError, "example 1"),
    (lambda s: s.update([0, 4], [1.0, 1.0]), hws.ExampleIndexError, "index 4 (position 1)"),
    (lambda s: s.update([-1], [1.0]), hws.ExampleIndexError, "index -1"),
    (lambda s: s.update([0, 1], [1.0]), hws.ArgumentError, "2 indices but 1 losses"),
    (lambda s: s.update([[0, 1]], [[1.0, 1.0]]), hws.ArgumentError, "one-dimensional, not of shape (1, 2)"),
    (lambda s: s.update([0.5], [1.0]), hws.ArgumentTypeError, "integers, not float64"),
    (lambda s: s.update([True], [1.0]), hws.ArgumentTypeError, "integers, not bool"),
    (lambda s: s.update(["a"], [1.0]), hws.ArgumentTypeError, "integers"),
    (lambda s: s.update([0], ["a"]), hws.ArgumentTypeError, "real numbers"),
    (lambda s: s.update([0], [1j]), hws.ArgumentTypeError, "real numbers, not complex128"),
    (lambda s: s.update([0], None), hws.ArgumentTypeError, "real numbers, not object"),
    (lambda s: s.update([0, [1]], [1.0, 2.0]), hws.ArgumentTypeError, "no array"),
    (lambda s: s.update(np.array([2**63], np.uint64), [1.0]), hws.ArgumentError, "9223372036854775808"),
    (lambda s: s.importance_weights([0], [math.inf]), hws.NotFiniteError, "example 0"),
    (lambda s: s.importance_weights([9], [1.0]), hws.ExampleIndexError, "index 9"),
    (lambda s: s.importance_weights([1, 2], [1.0]), hws.ArgumentError, "2 indices but 1 losses"),
    (lambda s: s.importance_weights([1], [1.0], out=np.empty(1)), hws.ArgumentTypeError, "float32"),
    (lambda s: s.draw(5), hws.TooFewError, "5"),
    (lambda s: s.draw(2**40), hws.TooFewError, "without replacement"),
    (lambda s: s.draw(-1), hws.ArgumentError, "-1"),
    (lambda s: s.draw(2.0), hws.ArgumentTypeError, "integer, not float"),
    (lambda s: s.draw(True), hws.ArgumentTypeError, "not a bool"),
    (lambda s: s.draw("2"), hws.ArgumentTypeError, "integer, not str"),
    (lambda s: s.draw(2, out=np.empty(2, np.int32)), hws.ArgumentTypeError, "int64"),
    (lambda s: s.draw(2, out=np.empty(3, np.int64)), hws.ArgumentError, "2 elements"),
    (lambda s: s.draw(2, out=np.empty(4, np.int64)[::2]), hws.ArgumentError, "contiguous"),
    (lambda s: s.losses(3, 2), hws.ExampleIndexError, "within 0 to 3"),
    (lambda s: s.update([0], torch.empty(1, device="meta")), hws.ArgumentTypeError, "no array"),
    (lambda s: s.update(torch.ones(2).to_sparse(), [1.0, 1.0]), hws.ArgumentTypeError, "no array"),
    (lambda s: s.probability(4), hws.ExampleIndexError, "4"),
    (lambda s: s.probability(-1), hws.ExampleIndexError, "-1"),
    (lambda s: s.probability(2**70), hws.ExampleIndexError, "no such example"),
    (lambda s: s.probability(0.5), hws.ArgumentTypeError, "integer"),
    (lambda s: setattr(s, "beta", 10**400), hws.ArgumentError, "beta is larger than any float"),
    (lambda s: setattr(s, "importance", np.array(["paper", "exact"])), hws.ArgumentTypeError, "not ndarray"),
    (lambda s: hws.torch.DROLoss(torch.nn.MSELoss(), s, importance=np.array([1, 0])), hws.ArgumentTypeError, "not ndarray"),
    (lambda s: s.set_losses([1, 2], first=3), hws.ExampleIndexError, "within 0 to 3"),
    (lambda s: s.set_losses([-math.inf]), hws.NotFiniteError, "example 0"),
    (lambda s: s.grow([1.0, math.inf]), hws.NotFiniteError, ""),
    (lambda s: s.grow(2**40), hws.HwsError, ""),
    (lambda s: s.hardest(5), hws.ArgumentError, "only 4 examples"),
    (lambda s: setattr(s, "beta", -1), hws.ArgumentError, "-1"),
    (lambda s: setattr(s, "beta", NAN), hws.ArgumentError, ""),
    (lambda s: setattr(s, "beta", "1"), hws.ArgumentTypeError, "number, not str"),
    (lambda s: s.percentile(0), hws.ArgumentError, ""),
    (lambda s: s.beta_for_ess(5), hws.ArgumentError, "5"),
    (lambda s: s.load_state_dict({"state": b"nonsense"}), hws.CorruptStateError, "the state was not written by a sampler"),
    (lambda s: s.load_state_dict({"state": "text"}), hws.ArgumentTypeError, "uint8"),
    (lambda s: s.load_state_dict({}), hws.CorruptStateError, "'state'"),
    (lambda s: s.load_state_dict(3), hws.CorruptStateError, "'state'"),
    (lambda s: s.load_state_dict(hws.Sampler(5).state_dict()), hws.CorruptStateError, "5 examples, this sampler of 4"),
    (lambda s: s.save("/nowhere/at/all"), hws.StateIOError, "/nowhere/at/all"),
    (lambda s: s.save(3.5), hws.ArgumentTypeError, "path"),
    (lambda s: s.save("a\0b"), hws.ArgumentError, "NUL"),
]


@pytest.mark.parametrize("call, exception, words", WRONG)
def test_wrong_input_is_refused_and_changes_nothing(sampler, call, exception, words):
    before = sampler.to_bytes()
    with pytest.raises(exception) as caught:
        call(sampler)
    assert isinstance(caught.value, hws.HwsError)
    assert words in str(caught.value)
    assert sampler.to_bytes() == before


def test_the_exception_names_position_and_example(sampler):
    with pytest.raises(hws.NotFiniteError) as caught:
        sampler.update([3, 0, 2], [1, NAN, 1])
    assert (caught.value.position, caught.value.example) == (1, 0)


def test_exceptions_are_what_python_expects():
    for exception, base in ((hws.ArgumentError, ValueError), (hws.ArgumentTypeError, TypeError),
                            (hws.ExampleIndexError, IndexError), (hws.NotFiniteError, ValueError),
                            (hws.TooFewError, ValueError), (hws.OutOfMemoryError, MemoryError),
                            (hws.StateIOError, OSError), (hws.CorruptStateError, ValueError),
                            (hws.NotKeptError, RuntimeError), (hws.LibraryNotFoundError, ImportError)):
        assert issubclass(exception, base)
        raised = exception("text", 1, 2)
        assert str(raised) == "text" and raised.position == 1 and raised.example == 2


OPENED_WRONGLY = [
    (dict(examples=0), "0 examples"),
    (dict(examples=-3), "-3"),
    (dict(examples=2**33), "examples"),
    (dict(examples=[]), "0 examples"),
    (dict(examples=[1.0, math.inf]), "example 1 is inf"),
    (dict(tail=0.1, beta=2), "beta and tail cannot be used together"),
    (dict(tail=0), "tail is 0"),
    (dict(tail=2), "tail is 2"),
    (dict(tail=NAN), "tail is nan"),
    (dict(tail=0.1, divergence="reverse-kl"), "phi(0) is infinite"),
    (dict(importance="other"), "importance is 'other'"),
    (dict(importance="normalised", divergence="chi2"), "are for KL"),
    (dict(examples=3.0), "integer"),
    (dict(examples="3"), "integer"),
    (dict(examples=None), "integer"),
    (dict(examples=[[1.0]]), "one-dimensional"),
    (dict(examples=[[1.0, 2.0], [3.0]]), "no array"),
    (dict(examples={1: 2.0}), "integer"),
    (dict(divergence="kl\0"), "no divergence"),
    (dict(divergence="\ud800"), "no divergence"),
    (dict(beta=-1), "beta is -1"),
    (dict(beta=NAN), "beta is nan"),
    (dict(beta=None, tail="wide"), "tail must be a number"),
    (dict(divergence="euclid"), "no divergence 'euclid'"),
    (dict(divergence="cvar:0"), "cvar:0"),
    (dict(divergence=3), "not int"),
    (dict(seed=-1), "-1"),
    (dict(seed=2**64), "out of range"),
    (dict(seed=1.5), "integer"),
    (dict(initial_loss=math.inf), "initial_loss"),
    (dict(jitter=-1), "jitter is -1"),
    (dict(momentum=1), "momentum is 1"),
    (dict(floor=2), "floor is 2"),
    (dict(uniform_mix=-0.5), "uniform_mix is -0.5"),
    (dict(floor=0.1, uniform_mix=0.1), "exclude each other"),
    (dict(importance="rough"), "'rough'"),
    (dict(weight_min=-1), "weight_min is -1"),
    (dict(beta=10**400), "beta is larger"),
    (dict(labels=[[1], [2, 3], 1, 0]), "labels are no array"),
    (dict(importance=np.array(["paper", "exact"])), "importance must be"),
    (dict(weight_min=2, weight_max=1), "weight_max is 1"),
]


@pytest.mark.parametrize("arguments, words", OPENED_WRONGLY)
def test_opening_says_which_argument_is_wrong(arguments, words):
    with pytest.raises(hws.HwsError) as caught:
        hws.Sampler(arguments.pop("examples", 4), **arguments)
    assert words in str(caught.value)


def test_functions_without_a_sampler():
    with pytest.raises(hws.NotFiniteError, match="example 1 is inf"):
        hws.probabilities([1.0, math.inf])
    with pytest.raises(hws.ArgumentError, match="no losses"):
        hws.robust_loss([])
    with pytest.raises(hws.ArgumentError, match="beta is -2"):
        hws.robust_loss([1.0], beta=-2)


def test_a_beta_that_cannot_be():
    with pytest.raises(hws.UnreachableError):
        hws.Sampler([1.0, 1.0]).beta_for_spread()


def test_counts_that_are_not_kept():
    sampler = hws.Sampler(3)
    for call in (sampler.ages, sampler.draw_counts, lambda: sampler.stale(1)):
        with pytest.raises(hws.NotKeptError):
            call()


def test_a_closed_sampler_says_so(tmp_path):
    calls = [
        lambda s: s.draw(1), lambda s: s.update([0], [1.0]), lambda s: s.importance_weights([0], [1.0]), len,
        lambda s: s.losses(), lambda s: s.set_losses([1.0]), lambda s: s.grow(1), lambda s: s.hardest(1),
        lambda s: s.ages(), lambda s: s.draw_counts(), lambda s: s.stale(1), lambda s: s.probability(0),
        lambda s: s.probabilities(), lambda s: s.drawable, lambda s: s.robust_loss(), lambda s: s.percentile_bound(0.1),
        lambda s: s.percentile(0.1), lambda s: s.cvar(0.1), lambda s: s.statistics(), lambda s: s.ess(),
        lambda s: s.beta, lambda s: setattr(s, "beta", 1), lambda s: s.beta_for_spread(), lambda s: s.beta_for_ess(2),
        lambda s: s.beta_for_kl(0.1), lambda s: s.save(tmp_path / "state"), lambda s: s.to_bytes(),
        lambda s: s.state_dict(), lambda s: s.load_state_dict(hws.Sampler(3).state_dict()), lambda s: s.options,
        lambda s: s.draws_made, lambda s: s.updates_made, lambda s: s.memory, lambda s: s.copy(),
        lambda s: s.__enter__(),
    ]
    for call in calls:
        sampler = hws.Sampler(3, keep_counts=True)
        sampler.close()
        with pytest.raises(hws.ClosedError, match="closed"):
            call(sampler)
        assert sampler.closed
    with hws.Sampler(3) as sampler:
        assert not sampler.closed
    assert sampler.closed and "closed" in repr(sampler)
    sampler.close()  # twice is allowed
