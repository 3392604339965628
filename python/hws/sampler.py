"""The sampler of libhws in Python's manner."""

from __future__ import annotations

import math
import os
import threading
import weakref
from ctypes import byref, c_double, c_int64, c_void_p
from typing import Any, Callable, Dict, Mapping, Optional, SupportsIndex, Tuple, Type, TypeVar, Union

import numpy as np

from ._arrays import as_count, as_example, as_indices, as_losses, as_number, for_state, from_anything, is_array, output, pointer
from ._library import (CUSTOM, DIVERGENCE_KINDS, IMPORTANCE_KINDS, DivergenceStruct, ErrorStruct, OptionsStruct, RecordStruct,
                       StatisticsStruct, default_options, lib, sampler_options, values)
from ._recipes import RECIPES, recipe_called
from .divergence import CustomDivergence, Divergence, divergence_name, divergence_struct
from .errors import (ArgumentError, ArgumentTypeError, ClosedError, CorruptStateError, ExampleIndexError,
                     OwnershipError, TooFewError, from_library)

__all__ = ["Sampler"]

#: The fields of a record in C, and of what triage tells.
_RECORD = np.dtype([("loss_mean", "f8"), ("level", "f8"), ("evidence", "f8"), ("doubt", "f8"), ("updates", "u8"), ("label", "i8"),
                    ("excess", "f8"), ("reserved", "V24")])
_TRIAGE = np.dtype([("example", "i8"), ("doubt", "f8"), ("loss", "f8"), ("loss_mean", "f8"), ("peers", "f8"),
                    ("trend", "f8"), ("evidence", "f8"), ("updates", "i8"), ("label", "i8")])

#: What is trained for where neither tail, beta nor recipe is given.
DEFAULT_TAIL = RECIPES["images"].tail

Self = TypeVar("Self", bound="Sampler")
Value = TypeVar("Value")
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

# Looked up once: these two and importance are called in every training step.
_hws_draw, _hws_update, _hws_importance = lib.hws_sampler_draw, lib.hws_sampler_update, lib.hws_sampler_importance

_open_samplers: "weakref.WeakSet[Sampler]" = weakref.WeakSet()


def _renew_locks() -> None:
    """In a forked process nobody is left to release what another thread held."""
    owner: Any
    for owner in (Sampler, *_open_samplers):
        owner._lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


class Sampler:
    """Draws training examples with a probability that grows with their last known ("stale") losses.

    Args:
        examples: the number of examples, or an array with one loss for each, NaN for those that have none yet.
        beta: robustness. 0 is ordinary training; the larger, the more the hard examples count. Its unit is 1 / loss.
        tail: train for the hardest fraction ``tail`` of the examples, above 0 and up to 1 (which is uniform): beta then
            follows from the losses, and cannot be given as well. For "cvar:ALPHA" it is ALPHA itself.
            With neither ``tail`` nor ``beta`` the tail is 0.1; but "cvar:ALPHA" keeps its ALPHA, and where no tail is
            possible ("reverse-kl", "cressie-read:K" with K <= 0) or known to be (:class:`CustomDivergence`) beta is 100.
        divergence: "kl" (p = softmax(beta L)), "chi2", "reverse-kl", "hellinger", "cressie-read:K", "js",
            "cvar:ALPHA" or a :class:`CustomDivergence`.
        seed: the key of all randomness.
        initial_loss: None draws every example without a loss before any that has one (first visits). A number is taken
            for the loss of the examples not seen yet instead, in draws and in importance weights; a good choice is the
            loss' maximum. An array has one loss for each example, NaN for none: those of another run, say, by
            :func:`hws.losses_of`.
        jitter: relative standard deviation of noise on ``initial_loss``.
        momentum: stale <- momentum * stale + (1 - momentum) * new; in [0, 1).
        replacement: may an example stand twice in a batch?
        floor: draw from max(p, floor / n), renormalised.
        uniform_mix: draw from (1 - uniform_mix) p + uniform_mix / n; not together with ``floor``.
        importance: how importance weights are formed: "paper" (the normaliser taken as unchanged), "normalised" (divided
            by the mean of what was drawn, which keeps the mean weight near 1 while losses fall, as long as the effective
            sample size is well above the batch; KL only) or "exact" (the normaliser with this one loss replaced).
        weight_min, weight_max: the range to which importance weights are clipped; 0 and ``math.inf`` for none.
        keep_counts: keep each example's age and number of draws.
        trim: leave this fraction, the hardest, out of p; below ``tail``. Mix with uniform, so that they are seen again.
        doubt: from 0 to 1: how much a loss that stays above those of its peers although it is drawn, as that of a wrong
            label does, is discounted when p is formed.
        keep_record: keep what :meth:`triage` tells; with ``doubt`` or ``labels`` it is kept.
        labels: one label per example, from 0 on; the examples with the same label are peers. Without, all are.
        recipe: the settings of ``hws train`` in one word, in place of ``tail`` and ``beta``: "images" (tail 0.1, which is
            the default), "volumes" (tail 0.5 after a warm-up; only the samplers of :mod:`hws.torch` have one, so it is
            refused here), "paper-images" (the paper's: beta 10, an initial loss of 10) or "paper-volumes" (beta 100, an
            initial loss of 1, importance weights in a ``DROLoss``).

    >>> import hws
    >>> sampler = hws.Sampler(1000, beta=10, seed=1)
    >>> batch = sampler.draw(4)                           # indices of examples, as an int64 array
    >>> losses = [0.5, 0.1, 2.0, 0.3]                     # your forward pass
    >>> weights = sampler.importance_weights(batch, losses)
    >>> sampler.update(batch, losses)
    >>> bool(sampler.hardest(1)[0][0] == batch[2])
    True

    Arrays of int64 (indices) and float32 (losses) are handed to the library as they are; everything else, PyTorch
    tensors included, is converted. A call that raises changes nothing. One sampler may be used from several threads: each
    call is on its own, and a second one waits. It may not be used from several processes: see :mod:`hws.shared` for that.
    """

    #: The recipe that it was opened with, if any.
    recipe: Optional[str] = None

    _handle: Optional[int] = None
    _custom: Optional[CustomDivergence] = None  # the divergence in force, if it is one
    _functions: Optional[CustomDivergence] = None  # the one that was given, also where a state with another is in force
    _busy = False
    # Held by every use of the handle, and until what the library says of a failed call has been read; a function of a custom
    # divergence may come back in the same thread. Each sampler that is open has one of its own.
    _lock: Any = threading.RLock()

    def __init__(self, examples: Any, *, beta: Optional[float] = None, divergence: Divergence = "kl", seed: int = 0,
                 initial_loss: Any = None, jitter: float = 0.0, momentum: float = 0.0,
                 replacement: bool = False, floor: float = 0.0, uniform_mix: float = 0.0, importance: str = "paper",
                 weight_min: float = 0.1, weight_max: float = 10.0, keep_counts: bool = False,
                 tail: Optional[float] = None, trim: float = 0.0, doubt: float = 0.0, keep_record: bool = False,
                 labels: Any = None, recipe: Optional[str] = None):
        if recipe is not None:
            settings = recipe_called(recipe, tail, beta)
            if settings.warm_up:
                raise ArgumentError(f"the recipe {recipe!r} begins with a warm-up, which the samplers of hws.torch have; here "
                                    f"give tail={settings.tail:g}, and draw uniformly for the first half of the training")
            self.recipe, tail, beta = recipe, settings.tail, settings.beta
            initial_loss = settings.initial_loss if initial_loss is None else initial_loss
        if not is_array(examples):
            losses, n = None, as_count(examples, "the number of examples")
        else:
            losses = as_losses(examples)
            n = len(losses)
        if initial_loss is not None and is_array(initial_loss):
            losses, initial_loss = _first_losses(initial_loss, n, losses is not None), None
        options = default_options()
        if beta is not None and tail is not None:
            raise ArgumentError("beta and tail cannot be used together: with a tail, beta follows from the losses")
        if beta is not None:
            options.beta = as_number(beta, "beta")
        options.divergence = divergence_struct(divergence)
        options.seed = as_count(seed, "seed") if not _is_large_seed(seed) else int(seed)
        options.initial_loss = math.nan if initial_loss is None else as_number(initial_loss, "initial_loss")
        options.jitter = as_number(jitter, "jitter")
        options.momentum = as_number(momentum, "momentum")
        options.replacement = bool(replacement)
        options.floor = as_number(floor, "floor")
        options.uniform_mix = as_number(uniform_mix, "uniform_mix")
        options.importance = _importance_kind(importance)
        if tail is None and beta is None and _can_have_default_tail(options.divergence):
            tail = DEFAULT_TAIL
        if tail is not None:
            options.tail = as_number(tail, "tail")
            if options.tail == 0:
                raise ArgumentError("tail is 0; it must be above 0 and at most 1, or None")
        options.weight_min = as_number(weight_min, "weight_min")
        options.weight_max = as_number(weight_max, "weight_max")
        options.keep_counts = bool(keep_counts)
        options.trim = as_number(trim, "trim")
        options.doubt = as_number(doubt, "doubt")
        options.keep_record = bool(keep_record) or options.doubt > 0 or labels is not None
        handle, error = c_void_p(), ErrorStruct()
        lib.hws_sampler_open(byref(handle), n, None if losses is None else pointer(losses), byref(options),
                             byref(error))
        self._adopt(handle, error, divergence)
        if labels is not None:
            self.set_labels(labels)

    def _adopt(self, handle: c_void_p, error: ErrorStruct, divergence: Any) -> None:
        """Takes over a sampler that the library has opened, in place of the one at hand; raises if it has not."""
        custom = divergence if isinstance(divergence, CustomDivergence) else None
        try:
            if custom is not None:
                custom._check()
            if error.status:
                raise from_library(error)
        except BaseException:
            lib.hws_sampler_close(byref(handle))
            raise
        if "_lock" not in self.__dict__:
            self._lock = threading.RLock()
            _open_samplers.add(self)
        with self._lock:
            if self._handle is not None:
                self.close()
            self._handle = handle.value
            options = self._asked(sampler_options)
            # A sampler with another divergence never calls back: it needs no guard.
            self._custom = custom if options.divergence.kind == CUSTOM else None
            self._functions = custom
            self._weight_range = (np.float32(options.weight_min), np.float32(options.weight_max))

    # ---- calling the library -----------------------------------------------------------------------------------

    def _invoke(self, function: Any, *arguments: Any) -> None:
        with self._lock:
            handle = self._handle
            if handle is None:
                raise ClosedError("this sampler has been closed")
            if self._custom is None:
                status = function(handle, *arguments)
            else:
                status = self._invoke_guarded(function, handle, arguments)
            if status:
                raise from_library(lib.hws_sampler_error(handle).contents)

    def _invoke_guarded(self, function: Any, handle: int, arguments: Tuple[Any, ...]) -> int:
        """A call that may run Python code, which might come back to this sampler."""
        assert self._custom is not None
        if self._busy:
            raise OwnershipError("this sampler is in use by another call: its divergence's functions must not use it")
        self._busy = True
        try:
            status = function(handle, *arguments)
        finally:
            self._busy = False
        self._custom._check()
        return status

    def _live(self) -> int:
        if self._handle is None:
            raise ClosedError("this sampler has been closed")
        return self._handle

    def _asked(self, function: Callable[[int], Value]) -> Value:
        """What a function that cannot fail says of the handle."""
        with self._lock:
            return function(self._live())

    def _number(self, function: Any, *arguments: Any) -> float:
        result = c_double()
        self._invoke(function, *arguments, byref(result))
        return result.value

    def _range(self, function: Any, first: int, count: Optional[int], dtype: type,
               out: Optional[np.ndarray] = None) -> np.ndarray:
        first = as_count(first, "first")
        size = len(self)
        count = max(size - first, 0) if count is None else as_count(count, "count")
        if first > size or count > size - first:
            # The library says so too, but the array would have to be made first.
            raise ExampleIndexError(f"{count} examples from {first} on are not all within 0 to {size - 1}", None, first)
        result = output(out, count, dtype, "out")
        self._invoke(function, first, count, pointer(result))
        return result

    # ---- life ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Frees the memory. Any later call raises :class:`ClosedError`; closing twice is allowed."""
        with self._lock:
            if self._busy:
                raise OwnershipError("this sampler is in use by another call and cannot be closed now")
            if self._handle is not None:
                handle, self._handle = c_void_p(self._handle), None
                lib.hws_sampler_close(byref(handle))

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` has been called."""
        return self._handle is None

    def __enter__(self: Self) -> Self:
        self._live()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if self._handle is not None and not self._busy and lib is not None:
            handle, self._handle = c_void_p(self._handle), None
            lib.hws_sampler_close(byref(handle))

    def __len__(self) -> int:
        return int(self._asked(lib.hws_sampler_size))

    def __repr__(self) -> str:
        name = type(self).__name__
        if self._handle is None:
            return f"<{name}, closed>"
        options = self.options
        robustness = f"beta={self.beta:g}" if options["tail"] is None else f"tail={options['tail']:g}"
        return f"<{name} of {len(self)} examples, {robustness}, divergence={options['divergence']!r}>"

    # ---- what it is -----------------------------------------------------------------------------------------------

    @property
    def options(self) -> Dict[str, Any]:
        """The options now in force, as the constructor takes them: a custom divergence as the object, no beta beside a tail."""
        with self._lock:
            return _options_dict(sampler_options(self._live()), self._custom)

    @property
    def beta(self) -> float:
        """The robustness in force. Setting it costs a pass over all examples, and ends a ``tail``."""
        return float(self._asked(sampler_options).beta)

    @beta.setter
    def beta(self, value: float) -> None:
        self._invoke(lib.hws_sampler_set_beta, as_number(value, "beta"))

    @property
    def tail(self) -> Optional[float]:
        """The fraction of the examples that is trained for, or None where beta was given."""
        tail = float(self._asked(sampler_options).tail)
        return tail if tail > 0 else None

    @property
    def importance(self) -> str:
        """How importance weights are formed: "paper", "normalised" or "exact"."""
        return IMPORTANCE_KINDS[self._asked(sampler_options).importance]

    @importance.setter
    def importance(self, value: str) -> None:
        self._invoke(lib.hws_sampler_set_importance, _importance_kind(value))

    @property
    def unseen(self) -> int:
        """How many examples have no loss yet."""
        return int(self._asked(lib.hws_sampler_unseen))

    @property
    def draws_made(self) -> int:
        """How many batches have been drawn."""
        return int(self._asked(lib.hws_sampler_draws_made))

    @property
    def updates_made(self) -> int:
        """How often :meth:`update` has been called."""
        return int(self._asked(lib.hws_sampler_updates_made))

    @property
    def memory(self) -> int:
        """Bytes of memory held, everything included."""
        return int(self._asked(lib.hws_sampler_memory))

    # ---- wrong labels ---------------------------------------------------------------------------------------------

    def set_labels(self, labels: Any) -> None:
        """Says which examples are peers: one label per example, an integer from 0 on. Needs a record."""
        given = from_anything(labels, "labels")
        if given.ndim != 1 or len(given) != len(self) or not np.issubdtype(given.dtype, np.integer):
            raise ArgumentError(f"labels must be {len(self)} integers, one for each example")
        if len(given) and not (0 <= given.min() and given.max() < 2**20):
            raise ArgumentError(f"labels are from 0 to {2**20 - 1}, not {given.min()} to {given.max()}")
        given = np.ascontiguousarray(given, np.int32)
        self._invoke(lib.hws_sampler_set_labels, 0, len(given), pointer(given))

    def triage(self, count: Optional[int] = None) -> np.ndarray:
        """The examples, the most suspicious labels first: hard, or mislabelled? (docs/triage.md tells how to read it.)

        Returns a structured array, by evidence and by how far the losses were above their peers, with the fields ``example``,
        ``doubt`` (0 to 1), ``loss`` (the last), ``loss_mean`` (of about the last 16), ``peers`` (the level of the examples with
        the same label), ``trend`` (loss minus mean), ``evidence``, ``updates`` and ``label``; of the first ``count`` examples,
        or all. Needs a record.

        >>> import hws
        >>> sampler = hws.Sampler(20, labels=[0] * 20)
        >>> for _ in range(8):
        ...     sampler.update(range(20), [0.1] * 19 + [4.0])
        >>> int(sampler.triage()["example"][0]), float(sampler.triage()["doubt"][0])
        (19, 1.0)
        """
        with self._lock:  # records and losses of the same moment
            raw = (RecordStruct * len(self))()
            self._invoke(lib.hws_sampler_records, 0, len(raw), byref(raw))
            losses = self.losses(0, len(raw))
        records = np.frombuffer(raw, _RECORD)
        result = np.zeros(len(raw), _TRIAGE)
        result["example"] = np.arange(len(raw))
        result["loss"] = losses
        for name, source in (("doubt", "doubt"), ("loss_mean", "loss_mean"), ("peers", "level"), ("evidence", "evidence"),
                             ("updates", "updates"), ("label", "label")):
            result[name] = records[source]
        result["trend"] = result["loss"] - result["loss_mean"]
        order = np.argsort(-(records["evidence"] + records["excess"]), kind="stable")
        return result[order[:None if count is None else as_count(count, "count")]]

    # ---- Algorithm 1 ----------------------------------------------------------------------------------------------

    def draw(self, count: SupportsIndex, out: Optional[np.ndarray] = None) -> np.ndarray:
        """Draws a batch of ``count`` examples; returns their indices (int64), in ``out`` if given.

        Examples without a loss come first, in random order. Without replacement (the default) each next example follows
        p restricted to those not yet in the batch.

        >>> import hws
        >>> sorted(hws.Sampler(3).draw(3))
        [0, 1, 2]
        """
        if type(count) is not int or count < 0:
            count = as_count(count, "count")
        if out is None:
            if count > 1_000_000 and count > len(self) and not self._asked(sampler_options).replacement:
                # Refuse before an enormous array is made; the library says the same of smaller ones.
                raise TooFewError(f"{count} of {len(self)} examples cannot be drawn without replacement")
            out = np.empty(count, np.int64)
        else:
            output(out, count, np.int64, "out")
        self._invoke(_hws_draw, count, pointer(out))
        return out

    def update(self, indices: Any, losses: Any) -> None:
        """Writes the fresh losses of these examples into the history, with momentum.

        All or nothing: with one index out of range or one loss NaN nothing is written, and the exception names the
        culprit. If an index stands twice, the last one wins.

        >>> import hws
        >>> sampler = hws.Sampler(3)
        >>> sampler.update([0, 2], [0.5, float("nan")])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        hws.errors.NotFiniteError: the loss of example 2 (position 1) is nan...
        >>> sampler.losses()
        array([nan, nan, nan], dtype=float32)
        """
        indices, losses = as_indices(indices), as_losses(losses)
        if len(indices) != len(losses):
            raise ArgumentError(f"there are {len(indices)} indices but {len(losses)} losses")
        self._invoke(_hws_update, len(indices), pointer(indices), pointer(losses))

    def importance_weights(self, indices: Any, losses: Any, out: Optional[np.ndarray] = None) -> np.ndarray:
        """clip(p_new / p_old) for the fresh losses of these examples (float32); 1 for a first visit.

        Call it before :meth:`update`, with the batch in the order in which it was drawn.

        >>> import hws, math
        >>> sampler = hws.Sampler([1.0, 1.0], beta=1)
        >>> sampler.importance_weights([0, 1], [1.0, 1.0 + math.log(2.0)])
        array([1., 2.], dtype=float32)
        """
        indices, losses = as_indices(indices), as_losses(losses)
        if len(indices) != len(losses):
            raise ArgumentError(f"there are {len(indices)} indices but {len(losses)} losses")
        weights = output(out, len(indices), np.float32, "out")
        self._invoke(_hws_importance, len(indices), pointer(indices), pointer(losses), pointer(weights))
        return weights

    # ---- the history ----------------------------------------------------------------------------------------------

    def losses(self, first: int = 0, count: Optional[int] = None, out: Optional[np.ndarray] = None) -> np.ndarray:
        """A copy of the stale losses of examples first ... first + count - 1 (all, unless told otherwise).

        NaN for those that have none yet.
        """
        return self._range(lib.hws_sampler_get_losses, first, count, np.float32, out)

    def set_losses(self, losses: Any, first: int = 0) -> None:
        """Replaces stale losses from example ``first`` on, without momentum: after a full evaluation, say.

        NaN takes a loss away: the example is visited as if it were new.
        """
        losses = as_losses(losses)
        self._invoke(lib.hws_sampler_set_losses, as_count(first, "first"), len(losses), pointer(losses))

    def grow(self, examples: Any) -> None:
        """Adds examples at the end: a number of them, or their losses (NaN for none).

        >>> import hws
        >>> sampler = hws.Sampler(2)
        >>> sampler.grow([0.5]); sampler.grow(1); sampler.losses()
        array([nan, nan, 0.5, nan], dtype=float32)
        """
        if not is_array(examples):
            self._invoke(lib.hws_sampler_grow, as_count(examples, "the number of examples"), None)
        else:
            losses = as_losses(examples)
            self._invoke(lib.hws_sampler_grow, len(losses), pointer(losses))

    def hardest(self, k: SupportsIndex) -> Tuple[np.ndarray, np.ndarray]:
        """The k examples with the largest stale losses, hardest first: (indices, losses). Those without come last.

        >>> import hws
        >>> hws.Sampler([0.5, 2.0, 1.0]).hardest(2)
        (array([1, 2]), array([2., 1.], dtype=float32))
        """
        k = as_count(k, "k")
        if k > len(self):
            raise ArgumentError(f"k is {k}, but there are only {len(self)} examples")
        indices, losses = np.empty(k, np.int64), np.empty(k, np.float32)
        self._invoke(lib.hws_sampler_hardest, k, pointer(indices), pointer(losses))
        return indices, losses

    def ages(self, first: int = 0, count: Optional[int] = None) -> np.ndarray:
        """How many updates ago each example last took part in one (uint64); needs ``keep_counts=True``."""
        return self._range(lib.hws_sampler_ages, first, count, np.uint64)

    def draw_counts(self, first: int = 0, count: Optional[int] = None) -> np.ndarray:
        """How often each example has been drawn (uint64); needs ``keep_counts=True``."""
        return self._range(lib.hws_sampler_draw_counts, first, count, np.uint64)

    def stale(self, min_age: int) -> np.ndarray:
        """The examples whose age is at least ``min_age``; needs ``keep_counts=True``.

        >>> import hws
        >>> sampler = hws.Sampler(3, keep_counts=True)
        >>> sampler.update([1], [0.5])
        >>> sampler.stale(1)
        array([0, 2])
        """
        min_age = as_count(min_age, "min_age")
        return np.flatnonzero(self.ages() >= np.uint64(min_age))

    # ---- the distribution -----------------------------------------------------------------------------------------

    def probability(self, example: SupportsIndex) -> float:
        """The probability that the next single draw is this example, first visits, floor and mixing included."""
        return self._number(lib.hws_sampler_probability, as_example(example))

    def probabilities(self, first: int = 0, count: Optional[int] = None,
                      out: Optional[np.ndarray] = None) -> np.ndarray:
        """The same for examples first ... first + count - 1 (float64)."""
        return self._range(lib.hws_sampler_probabilities, first, count, np.float64, out)

    @property
    def drawable(self) -> int:
        """How many examples have p > 0 or no loss yet: the largest batch without replacement."""
        count = c_int64()
        self._invoke(lib.hws_sampler_drawable, byref(count))
        return count.value

    # ---- robust losses and telemetry ------------------------------------------------------------------------------

    def robust_loss(self) -> float:
        """R(L) of the stale losses: what training minimises."""
        return self._number(lib.hws_sampler_robust_loss)

    def percentile_bound(self, alpha: float) -> float:
        """At most a fraction ``alpha`` of the stale losses is at or above this bound (section 3.2.3 of the paper)."""
        return self._number(lib.hws_sampler_percentile_bound, as_number(alpha, "alpha"))

    def percentile(self, alpha: float) -> float:
        """The smallest stale loss such that at most a fraction ``alpha`` of the examples lies strictly above it."""
        return self._number(lib.hws_sampler_percentile, as_number(alpha, "alpha"))

    def cvar(self, alpha: float) -> float:
        """The mean of the worst fraction ``alpha`` of the stale losses."""
        return self._number(lib.hws_sampler_cvar, as_number(alpha, "alpha"))

    def statistics(self) -> Dict[str, Union[int, float]]:
        """Losses and distribution in numbers, of the examples that have a loss, in one pass over all of them.

        >>> import hws
        >>> statistics = hws.Sampler([1.0, 3.0], beta=0).statistics()
        >>> statistics["loss_mean"], round(statistics["effective_size"], 6), round(statistics["largest_p"], 6)
        (2.0, 2.0, 0.5)
        >>> sorted(statistics)  # doctest: +NORMALIZE_WHITESPACE
        ['beta', 'drawable', 'effective_size', 'entropy', 'kl_to_uniform', 'largest_p', 'loss_max', 'loss_mean',
         'loss_min', 'loss_std', 'never_drawn', 'oldest_age', 'robust_loss', 'unseen']
        """
        statistics = StatisticsStruct()
        self._invoke(lib.hws_sampler_statistics, byref(statistics))
        return values(statistics)

    def ess(self) -> float:
        """The effective sample size 1 / sum(p^2): n when uniform, 1 when one example holds all the mass."""
        return float(self.statistics()["effective_size"])

    # ---- beta ------------------------------------------------------------------------------------------------------

    def beta_for_spread(self, factor: float = 1.0) -> float:
        """factor / std(L): the paper's rule of thumb. Nothing changes until you set :attr:`beta`."""
        return self._number(lib.hws_sampler_beta_for_spread, as_number(factor, "factor"))

    def beta_for_ess(self, target: float) -> float:
        """The beta at which the effective sample size is ``target`` with the present losses.

        >>> import hws
        >>> sampler = hws.Sampler([0.1, 0.4, 0.7, 2.0])
        >>> sampler.beta = sampler.beta_for_ess(2)
        >>> round(sampler.ess(), 9)
        2.0
        """
        return self._number(lib.hws_sampler_beta_for_effective_size, as_number(target, "target"))

    def beta_for_kl(self, radius: float) -> float:
        """The beta at which KL(p || uniform) is ``radius`` nats with the present losses."""
        return self._number(lib.hws_sampler_beta_for_kl, as_number(radius, "radius"))

    # ---- saving and resuming ---------------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Writes everything to a file: a crash leaves the old file or the new one, never half."""
        self._invoke(lib.hws_sampler_save, _encoded(path))

    @classmethod
    def load(cls: Type[Self], path: Path,
             divergence: Optional[CustomDivergence] = None) -> Self:
        """Reads a sampler that :meth:`save` wrote; it goes on to the same bits as the one that was saved.

        ``divergence`` gives the functions of a custom divergence, which a file cannot hold.
        """
        struct = None if divergence is None else byref(divergence_struct(divergence))
        handle, error = c_void_p(), ErrorStruct()
        lib.hws_sampler_load(byref(handle), _encoded(path), struct, byref(error))
        sampler = cls.__new__(cls)
        sampler._adopt(handle, error, divergence)
        return sampler

    def to_bytes(self) -> bytes:
        """Everything, as bytes in the format of :meth:`save`."""
        return self._state().tobytes()

    @classmethod
    def from_bytes(cls: Type[Self], state: Any, divergence: Optional[CustomDivergence] = None) -> Self:
        """The sampler that :meth:`to_bytes` or :meth:`state_dict` wrote down."""
        sampler = cls.__new__(cls)
        sampler._read(state, divergence)
        return sampler

    def state_dict(self) -> Dict[str, Any]:
        """Everything, for a checkpoint: options, losses, counters. Where PyTorch is imported, it is in a tensor.

        >>> import hws
        >>> a, b = hws.Sampler(100, seed=7), hws.Sampler(100)
        >>> a.update(a.draw(5), [5, 4, 3, 2, 1])
        >>> b.load_state_dict(a.state_dict())
        >>> bool((a.draw(10) == b.draw(10)).all())
        True
        """
        return {"state": for_state(self._state())}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over a state: options, losses, counters. It must be of a sampler over as many examples.

        A damaged state is refused and leaves this sampler as it was.
        """
        size = len(self)
        if not isinstance(state_dict, Mapping) or "state" not in state_dict:
            raise CorruptStateError("this is no state_dict of a sampler: it has no entry 'state'")
        other = Sampler.from_bytes(state_dict["state"], self._functions)
        if len(other) != size:
            raise CorruptStateError(f"the state is of {len(other)} examples, this sampler of {size}")
        with self._lock:
            if self._busy:
                raise OwnershipError("this sampler is in use by another call")
            self._live()
            self._handle, other._handle = other._handle, self._handle
            self._custom, self._weight_range = other._custom, other._weight_range
        other.close()

    def _state(self) -> np.ndarray:
        with self._lock:
            state = np.empty(lib.hws_sampler_state_size(self._live()), np.uint8)
            self._invoke(lib.hws_sampler_state_write, pointer(state), len(state))
            return state

    def _read(self, state: Any, divergence: Optional[CustomDivergence]) -> None:
        if isinstance(state, (bytes, bytearray, memoryview)):
            state = np.frombuffer(state, np.uint8)
        elif hasattr(state, "detach"):
            state = state.detach().cpu().numpy()
        if not isinstance(state, np.ndarray) or state.dtype != np.uint8:
            raise ArgumentTypeError("a sampler's state must be bytes, or an array or tensor of uint8")
        state = np.ascontiguousarray(state).reshape(-1)
        struct = None if divergence is None else byref(divergence_struct(divergence))
        handle, error = c_void_p(), ErrorStruct()
        lib.hws_sampler_state_read(byref(handle), pointer(state), len(state), struct, byref(error))
        self._adopt(handle, error, divergence)

    def __reduce__(self) -> Any:
        return _unpickled, (type(self), self.to_bytes(), self._functions, self.recipe)

    def __copy__(self: Self) -> Self:
        return _unpickled(type(self), self._state(), self._functions, self.recipe)

    def __deepcopy__(self: Self, memo: Dict[int, Any]) -> Self:
        return self.__copy__()

    def copy(self: Self) -> Self:
        """Another sampler in the same state."""
        return self.__copy__()


def _unpickled(cls: Type[Self], state: Any, divergence: Optional[CustomDivergence], recipe: Optional[str] = None) -> Self:
    sampler = cls.from_bytes(state, divergence)
    sampler.recipe = recipe
    return sampler


def _first_losses(given: Any, n: int, twice: bool) -> np.ndarray:
    losses = as_losses(given, "initial_loss")
    if twice:
        raise ArgumentError("there are losses in examples and in initial_loss; give one of them")
    if len(losses) != n:
        raise ArgumentError(f"initial_loss has {len(losses)} losses for {n} examples")
    return losses


def _can_have_default_tail(divergence: DivergenceStruct) -> bool:
    """Not where it has a tail of its own, is unknown, or phi(0) is infinite: then no p with a zero is near uniform."""
    kind = DIVERGENCE_KINDS[divergence.kind]
    return kind not in ("cvar", "custom", "reverse-kl") and not (kind == "cressie-read" and divergence.parameter <= 0)


def _importance_kind(name: Any) -> int:
    if not isinstance(name, str):
        raise ArgumentTypeError(f"importance must be one of {IMPORTANCE_KINDS}, not {type(name).__name__}")
    if name == "approximate":  # what the paper's was called before there were three
        name = "paper"
    if name not in IMPORTANCE_KINDS:
        raise ArgumentError(f"importance is {name!r}; there are {IMPORTANCE_KINDS}")
    return IMPORTANCE_KINDS.index(name)


def _is_large_seed(seed: Any) -> bool:
    return isinstance(seed, (int, np.integer)) and not isinstance(seed, bool) and 2**63 <= int(seed) < 2**64


def _encoded(path: Path) -> bytes:
    try:
        encoded = os.fsencode(path)
    except TypeError:
        raise ArgumentTypeError(f"path must be a string or a path, not {type(path).__name__}") from None
    if b"\0" in encoded:
        raise ArgumentError("path holds a NUL character")
    return encoded


def _options_dict(options: OptionsStruct, custom: Optional[CustomDivergence]) -> Dict[str, Any]:
    result = values(options)
    result["divergence"] = divergence_name(options.divergence) if custom is None else custom
    result["importance"] = IMPORTANCE_KINDS[options.importance]
    result["initial_loss"] = None if math.isnan(options.initial_loss) else options.initial_loss
    result["tail"] = options.tail if options.tail > 0 else None
    if result["tail"] is not None:
        result["beta"] = None  # it follows from the losses: Sampler.beta
    result["replacement"] = bool(options.replacement)
    result["keep_counts"] = bool(options.keep_counts)
    result["keep_record"] = bool(options.keep_record)
    return result


class HasBeta:
    """What has its beta from the sampler that it holds."""

    sampler: Any

    @property
    def beta(self) -> float:
        """The robustness in force, as of :attr:`hws.Sampler.beta`; it can be set, which ends a tail."""
        return self.sampler.beta

    @beta.setter
    def beta(self, value: float) -> None:
        self.sampler.beta = value
