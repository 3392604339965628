"""The begin of a training whose examples are drawn as in ordinary training."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import numpy as np

from ._arrays import as_number
from .errors import ArgumentError
from .shared import stream_seed

_PURPOSE = 1 << 41  # keeps the keys apart from those of readers and of augmentation


class WarmUp:
    """Draws shuffled passes over all examples for the first fraction of a training, as ``hws train`` does.

    A pass ends with its last whole batch. All of it follows from the seed and the number of draws made.
    """

    def __init__(self, fraction: float, epochs: Optional[Any]):
        self.fraction = as_number(fraction, "warm_up")
        if not 0 <= self.fraction <= 1:
            raise ArgumentError(f"warm_up is {self.fraction:g}; it must be from 0 to 1: the fraction of the training that draws "
                                "as ordinary training does")
        self.epochs: Optional[float] = None
        self.plan(epochs)
        self.length: Optional[int] = None if self.fraction else 0  # in draws; None while it is not known
        self.made = 0
        self._pass: Optional[Tuple[int, int, int]] = None  # the one that is shuffled: seed, number, examples
        self._order = np.empty(0, np.int64)

    def plan(self, epochs: Optional[Any]) -> None:
        """Says how long the training is, unless that is known."""
        if epochs is None or self.epochs is not None:
            return
        number = as_number(epochs, "epochs")
        if not 0 < number < float("inf"):
            raise ArgumentError(f"epochs is {number:g}; it must be above 0: how many epochs the training has")
        self.epochs = number

    def settle(self, draws_per_epoch: int) -> None:
        """Its length, from now on."""
        if self.length is not None:
            return
        if self.epochs is None:
            raise ArgumentError(f"the first {self.fraction:g} of the training draws as ordinary training does (warm_up), but how "
                                "long the training is is not known: give epochs=, or warm_up=0 for none")
        self.length = int(self.fraction * self.epochs * draws_per_epoch)

    @property
    def goes_on(self) -> bool:
        return self.length is None or self.made < self.length

    def draw(self, examples: int, size: int, seed: int) -> np.ndarray:
        """The next draw."""
        per_pass = examples // size * size or examples  # more than there are: only with replacement
        places = self.made * size + np.arange(size)
        drawn = np.empty(size, np.int64)
        for number in np.unique(places // per_pass).tolist():
            inside = places // per_pass == number
            drawn[inside] = self._shuffled(seed, number, examples)[places[inside] % per_pass]
        self.made += 1
        return drawn

    def _shuffled(self, seed: int, number: int, examples: int) -> np.ndarray:
        """The order of a pass; the last one is kept."""
        if self._pass != (seed, number, examples):
            # Raw bits and a stable sort: the same order whatever numpy's version.
            bits = np.random.Philox(key=stream_seed(seed, number, _PURPOSE)).random_raw(examples)
            self._order = np.argsort(bits, kind="stable")
            self._pass = seed, number, examples
        return self._order
