"""Random numbers of the data pipeline that follow from the draw alone, not from the process or the moment."""

from __future__ import annotations

import random
from contextlib import contextmanager
from typing import Any, Iterator, Tuple

import numpy as np
import torch
from torch.utils.data import get_worker_info

from .shared import stream_seed

# Where a data set keeps another one, or what it does to its items.
_INSIDE = ("dataset", "datasets", "transform", "transforms")


class NumberedIndex(int):
    """An index that also says which draw it is of: the sampler's seed, the number of the draw, and the place in it."""

    draw: Tuple[int, int, int]

    @classmethod
    def of(cls, index: int, seed: int, number: int, place: int) -> "NumberedIndex":
        numbered = cls(index)
        numbered.draw = (seed, number, place)
        return numbered


def seed_of_draw(index: NumberedIndex) -> int:
    """The seed of the randomness of an item that a sampler has handed out."""
    return stream_seed(*index.draw)


def seed_of_example(seed: int, example: int) -> int:
    """The seed of the randomness of an item that was asked for without a draw."""
    return stream_seed(seed, example, 1 << 40)


def _reseed(inside: Any, seed: int, depth: int = 0) -> None:
    """Sets the random state of MONAI's transforms, which have generators of their own."""
    if hasattr(inside, "set_random_state"):
        inside.set_random_state(seed=seed)
    elif isinstance(inside, (list, tuple)):
        for entry in inside:
            _reseed(entry, seed, depth + 1)
    elif depth < 8 and hasattr(inside, "__dict__"):
        for name in _INSIDE:
            if name in vars(inside):
                _reseed(vars(inside)[name], seed, depth + 1)


@contextmanager
def seeded(seed: int, dataset: Any) -> Iterator[None]:
    """Within it, random numbers of Python, numpy, torch and of MONAI's transforms follow from the seed."""
    # A worker has nothing else to do with its generators; those of the main process belong to the user.
    before = None if get_worker_info() is not None else (random.getstate(), np.random.get_state(), torch.get_rng_state())
    short = seed & 0xFFFFFFFF
    random.seed(seed)
    np.random.seed(short)
    torch.random.default_generator.manual_seed(seed & (2**63 - 1))
    _reseed(dataset, short)
    try:
        yield
    finally:
        if before is not None:
            random.setstate(before[0])
            np.random.set_state(before[1])
            torch.set_rng_state(before[2])
