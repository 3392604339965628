"""Draws that were handed out and whose losses have not come back: the samplers' book."""

from __future__ import annotations

from collections import Counter, deque
from typing import Counter as CounterType, Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np


class Draw(NamedTuple):
    """What was handed out in one piece: the examples on all ranks, the updates made by then, and its number."""

    examples: np.ndarray
    updates: int
    number: int


class Match(NamedTuple):
    """Which draws a batch consists of: their entries in the book, the examples, and for each item which of them.

    ``parts`` says which examples of each entry have come back, and how often; None where all of all have.
    """

    entries: List[int]
    examples: np.ndarray
    items: np.ndarray
    parts: Optional[List[CounterType[int]]] = None


def distinct(indices: np.ndarray) -> Tuple[np.ndarray, np.ndarray]:
    """The examples in the order of their first appearance, and for each item which of them it is of."""
    examples, first, items = np.unique(indices, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return examples[order], place[items]


def _readings(indices: np.ndarray) -> Iterator[Tuple[np.ndarray, np.ndarray]]:
    """How a batch can have come about: one item per draw, k crops of each, side by side or in k rounds, or any number."""
    count = len(indices)
    everyone = np.arange(count)
    yield indices, everyone
    examples, items = distinct(indices)
    if len(examples) == count:
        return
    for crops in range(2, count + 1):
        if count % crops == 0 and (indices.reshape(-1, crops) == indices[::crops, None]).all():
            yield np.ascontiguousarray(indices[::crops]), everyone // crops
        if count % crops == 0 and (indices.reshape(crops, -1) == indices[:count // crops]).all():
            yield indices[:count // crops], everyone % (count // crops)
    yield examples, items


class _Entry:
    """A draw in the book: what it is looked up by, how many items are awaited, and the updates made when the first came."""

    __slots__ = ("key", "draw", "left", "begun")

    def __init__(self, share: np.ndarray, draw: Draw):
        self.key, self.draw, self.left = share.tobytes(), draw, len(share)
        self.begun: Optional[int] = None

    def share(self) -> List[int]:
        return np.frombuffer(self.key, np.int64).tolist()

    def age(self) -> int:
        """How many updates were made between the draw and the first of its losses."""
        assert self.begun is not None
        return self.begun - self.draw.updates


class Pending:
    """The draws under way, oldest first. A draw is looked up by this rank's share of its examples.

    Usually the losses of a whole draw come back at once, in its order, and are found by the bytes of the batch. They may
    also come in pieces (micro-batches) and in any order: then the draw awaits the rest.
    """

    LIMIT = 1 << 16  # of a loop that draws and never updates, the oldest are forgotten

    def __init__(self) -> None:
        self._draws: Dict[int, _Entry] = {}
        self._entries: Dict[bytes, Deque[int]] = {}
        # Example: {entry that awaits it: how often}, oldest first. Made when a batch comes back that is no whole draw.
        self._awaiting: Optional[Dict[int, Dict[int, int]]] = None
        self._begun: Dict[int, None] = {}  # entries of which a part has come back
        self._last: List[_Entry] = []  # those that were complete last
        self._next = 0

    def __len__(self) -> int:
        return len(self._draws)

    def add(self, share: np.ndarray, draw: Draw) -> None:
        if len(self._draws) >= self.LIMIT:
            self._strike(next(iter(self._draws)))
        entry = _Entry(share, draw)
        self._draws[self._next] = entry
        self._entries.setdefault(entry.key, deque()).append(self._next)
        if self._awaiting is not None:
            self._await(self._next, entry)
        self._next += 1

    def match(self, indices: np.ndarray) -> Optional[Match]:
        """The draws that this batch consists of, or None. Several crops of one case are one draw."""
        if not len(indices) or not self._draws:
            return None
        readings = []
        for examples, items in _readings(indices):
            entries = self._piece(examples) or self._oldest(examples)
            if entries:
                return Match(entries, examples, items)
            readings.append((examples, items))
        if self._awaiting is None:
            self._awaiting = {}
            for number, entry in self._draws.items():
                self._await(number, entry)
        if len(next(iter(self._draws.values())).share()) == 1:  # a batch is put together from single draws
            return self._of_several(readings) or self._once_more(indices) or self._of_some(indices)
        return self._of_one(indices) or self._once_more(indices) or self._of_several(readings) or self._of_some(indices)

    def take(self, match: Match, updates: int = 0) -> List[int]:
        """Strikes out what has come back; how many updates old each draw was that is complete now."""
        complete = []
        for place, number in enumerate(match.entries):
            entry = self._draws[number]
            entry.begun = updates if entry.begun is None else entry.begun
            if match.parts is None or self._strike_part(number, entry, match.parts[place]):
                complete.append(number)
        if complete and self._begun:  # losses come back in the order of the draws: what an older one still lacks was dropped
            complete += [number for number in self._begun if number < max(complete) and number not in complete]
        if complete:
            self._last = [self._strike(number) for number in sorted(complete)]
        return [entry.age() for entry in self._last] if complete else []

    def _strike(self, number: int) -> _Entry:
        entry = self._draws.pop(number)
        self._begun.pop(number, None)
        same = self._entries[entry.key]
        same.remove(number)
        if not same:
            del self._entries[entry.key]
        if self._awaiting is not None:
            for example in entry.share():
                self._forget(number, example)
        return entry

    def _strike_part(self, number: int, entry: _Entry, part: CounterType[int]) -> bool:
        """Whether nothing of the entry is awaited any more."""
        assert self._awaiting is not None
        self._begun[number] = None
        for example, times in part.items():
            entry.left -= times
            left = self._awaiting[example][number] - times
            if left:
                self._awaiting[example][number] = left
            else:
                self._forget(number, example)
        return entry.left == 0

    def _await(self, number: int, entry: _Entry) -> None:
        assert self._awaiting is not None
        for example in entry.share():
            waiting = self._awaiting.setdefault(example, {})
            waiting[number] = waiting.get(number, 0) + 1

    def _forget(self, number: int, example: int) -> None:
        assert self._awaiting is not None
        waiting = self._awaiting.get(example, {})
        waiting.pop(number, None)
        if not waiting:
            self._awaiting.pop(example, None)

    # ---- whole draws

    def _piece(self, examples: np.ndarray) -> List[int]:
        same = self._entries.get(examples.tobytes())
        return [same[0]] if same else []

    def _oldest(self, examples: np.ndarray) -> List[int]:
        found: List[int] = []
        for example, (number, entry) in zip(examples, self._draws.items()):
            if entry.key != example.tobytes():
                return []
            found.append(number)
        return found if len(found) == len(examples) else []

    # ---- draws in pieces, or in another order

    def _of_one(self, indices: np.ndarray) -> Optional[Match]:
        """The oldest draw that awaits some of the batch, and had all the rest: of it further crops may still come."""
        assert self._awaiting is not None
        counts = Counter(indices.tolist())
        for number in sorted({number for example in counts for number in self._awaiting.get(example, ())}):
            share = self._draws[number].share()
            if counts.keys() <= set(share):
                awaited = {example: self._awaiting.get(example, {}).get(number, 0) for example in counts}
                part = Counter({example: min(times, awaited[example]) for example, times in counts.items()})
                crops = any(times > awaited[example] for example, times in counts.items())
                examples, items = distinct(indices) if crops else (indices, np.arange(len(indices)))
                return Match([number], examples, items, [+part])
        return None

    def _once_more(self, indices: np.ndarray) -> Optional[Match]:
        """Nothing, if the batch is of the draws that were complete last: further crops of them, or a second pass."""
        examples, items = distinct(indices)
        known = {example for entry in self._last for example in entry.share()}
        return Match([], examples, items, []) if known.issuperset(examples.tolist()) else None

    def _of_several(self, readings: Iterable[Tuple[np.ndarray, np.ndarray]]) -> Optional[Match]:
        """The oldest draws that together await all of the batch."""
        for examples, items in readings:
            parts = self._parts(Counter(examples.tolist()))
            if sum(sum(part.values()) for part in parts.values()) == len(examples):
                return Match(list(parts), examples, items, list(parts.values()))
        return None

    def _of_some(self, indices: np.ndarray) -> Optional[Match]:
        """The oldest draws that await anything of the batch, whatever the rest of it is."""
        parts = self._parts(Counter(set(indices.tolist())))
        return Match(list(parts), indices, np.arange(len(indices)), list(parts.values())) if parts else None

    def _parts(self, counts: CounterType[int]) -> Dict[int, CounterType[int]]:
        """What the oldest entries can give of these examples."""
        assert self._awaiting is not None
        parts: Dict[int, CounterType[int]] = {}
        for example, times in counts.items():
            for number, awaited in self._awaiting.get(example, {}).items():
                given = min(times, awaited)
                parts.setdefault(number, Counter())[example] = given
                times -= given
                if not times:
                    break
        return parts

    def clear(self) -> None:
        self._draws.clear()
        self._entries.clear()
        self._begun.clear()
        self._last = []
        self._awaiting = None

    def draws(self) -> List[Draw]:
        return [entry.draw for entry in self._draws.values()]
