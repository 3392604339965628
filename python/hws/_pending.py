"""Draws that were handed out and whose losses have not come back: the samplers' book."""

from __future__ import annotations

from collections import deque
from typing import Deque, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np


class Draw(NamedTuple):
    """What was handed out in one piece: the examples on all ranks, the updates made by then, and its number."""

    examples: np.ndarray
    updates: int
    number: int


class Match(NamedTuple):
    """Which draws a batch consists of: their entries in the book, the examples, and for each item which of them."""

    entries: List[int]
    examples: np.ndarray
    items: np.ndarray


def distinct(indices: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """The examples in the order of their first appearance, and for each item which of them it is of."""
    examples, first, items = np.unique(indices, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return examples[order], place[items]


def _readings(indices: np.ndarray) -> Iterator[Tuple[np.ndarray, np.ndarray]]:
    """How a batch can have come about: one item per draw, k crops of each, or any number of crops of each."""
    count = len(indices)
    everyone = np.arange(count)
    yield indices, everyone
    if count < 2 or not (indices[1:] == indices[:-1]).any():
        return
    for crops in range(2, count + 1):
        if count % crops == 0 and (indices.reshape(-1, crops) == indices[::crops, None]).all():
            yield np.ascontiguousarray(indices[::crops]), everyone // crops
    yield distinct(indices)


class Pending:
    """The draws under way, oldest first. A draw is looked up by this rank's share of its examples."""

    LIMIT = 1 << 16  # of a loop that draws and never updates, the oldest are forgotten

    def __init__(self) -> None:
        self._draws: Dict[int, Tuple[bytes, Draw]] = {}
        self._entries: Dict[bytes, Deque[int]] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._draws)

    def add(self, share: np.ndarray, draw: Draw) -> None:
        if len(self._draws) >= self.LIMIT:
            self.take([next(iter(self._draws))])
        key = share.tobytes()
        self._draws[self._next] = (key, draw)
        self._entries.setdefault(key, deque()).append(self._next)
        self._next += 1

    def match(self, indices: np.ndarray) -> Optional[Match]:
        """The draws that this batch consists of, or None. Several crops of one case are one draw."""
        readings = []
        for examples, items in _readings(indices):
            entries = self._piece(examples) or self._oldest(examples)
            if entries:
                return Match(entries, examples, items)
            readings.append((examples, items))
        for examples, items in readings:  # single draws that a loader has put in another order
            entries = self._anywhere(examples)
            if entries:
                return Match(entries, examples, items)
        return None

    def take(self, entries: List[int]) -> List[Draw]:
        """Strikes these draws out."""
        taken = []
        for entry in entries:
            key, draw = self._draws.pop(entry)
            same = self._entries[key]
            same.remove(entry)
            if not same:
                del self._entries[key]
            taken.append(draw)
        return taken

    def _piece(self, examples: np.ndarray) -> List[int]:
        same = self._entries.get(examples.tobytes())
        return [same[0]] if same else []

    def _oldest(self, examples: np.ndarray) -> List[int]:
        found: List[int] = []
        for example, (entry, (key, _)) in zip(examples, self._draws.items()):
            if key != example.tobytes():
                return []
            found.append(entry)
        return found if len(found) == len(examples) else []

    def _anywhere(self, examples: np.ndarray) -> List[int]:
        found: List[int] = []
        used: Dict[bytes, int] = {}
        for example in examples:
            key = example.tobytes()
            same, skip = self._entries.get(key, deque()), used.get(key, 0)
            if skip >= len(same):
                return []
            found.append(same[skip])
            used[key] = skip + 1
        return found

    def clear(self) -> None:
        self._draws.clear()
        self._entries.clear()

    def draws(self) -> List[Draw]:
        return [draw for _, draw in self._draws.values()]
