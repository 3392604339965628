"""Draws that were handed out and whose losses have not come back: the samplers' book."""

from __future__ import annotations

from collections import Counter, deque
from itertools import chain, islice
from typing import Counter as CounterType, Deque, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np


class Draw(NamedTuple):
    """What was handed out in one piece: the examples on all ranks, the updates made by then, and its number."""

    examples: np.ndarray
    updates: int
    number: int


class Manner(NamedTuple):
    """How the items of a batch belong to draws: so many crops of each, side by side or in rounds; 0 for any number."""

    crops: int = 1
    rounds: bool = False


class Match(NamedTuple):
    """Which draws a batch consists of: their entries in the book, the examples, and for each item which of them.

    ``parts`` says which examples of each entry have come back, and how often; None where all of all have. ``manner`` is how a
    batch of whole draws was read, and ``piece`` what it is recognised by when it comes once more.
    """

    entries: List[int]
    examples: np.ndarray
    items: np.ndarray
    parts: Optional[List[CounterType[int]]] = None
    manner: Optional[Manner] = None
    piece: bytes = b""


def distinct(indices: np.ndarray, ranks: int = 1) -> Tuple[np.ndarray, np.ndarray]:
    """The examples in the order of their first appearance, and for each item which of them it is of.

    Of several ranks, whose items are coded as in :class:`Pending`: the first example of each, the second of each...
    """
    examples, first, items = np.unique(indices, return_index=True, return_inverse=True)
    order = np.argsort(first)
    if ranks > 1:
        rank = examples[order] % ranks
        nth = np.empty_like(rank)
        for each in range(ranks):
            nth[rank == each] = np.arange((rank == each).sum())
        order = order[np.argsort(nth, kind="stable")]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return examples[order], place[items]


def _read(indices: np.ndarray, manner: Manner, ranks: int) -> Optional[Tuple[np.ndarray, np.ndarray]]:
    """The examples drawn and for each item which of them it is of, unless the batch cannot have come about so."""
    count, crops = len(indices), manner.crops
    if crops == 0:
        return distinct(indices, ranks)
    if crops == 1:
        return indices, np.arange(count)
    if count % (crops * ranks) or (indices.reshape(-1, ranks) % ranks != np.arange(ranks)).any():
        return None
    cases = count // (crops * ranks)
    shape, axis = ((crops, cases, ranks), 0) if manner.rounds else ((cases, crops, ranks), 1)
    grid = indices.reshape(shape)
    examples = np.take(grid, [0], axis)
    if (grid != examples).any():
        return None
    places = np.expand_dims(np.arange(cases * ranks).reshape(cases, ranks), axis)
    return np.ascontiguousarray(examples.reshape(-1)), np.broadcast_to(places, shape).reshape(-1)


def _manners(indices: np.ndarray) -> Iterator[Manner]:
    """How a batch can have come about: one item per draw, k crops of each, side by side or in k rounds, or any number."""
    yield Manner()
    most = int(np.unique(indices, return_counts=True)[1].max())
    for crops in range(2, most + 1):
        yield Manner(crops)
        yield Manner(crops, rounds=True)
    if most > 1:
        yield Manner(0)


class _Entry:
    """A draw in the book: what it is looked up by, how many items are awaited, and the updates made when the first came."""

    __slots__ = ("key", "draw", "size", "left", "begun")

    def __init__(self, share: np.ndarray, draw: Draw):
        self.key, self.draw, self.size, self.left = share.tobytes(), draw, len(share), len(share)
        self.begun: Optional[int] = None

    def share(self) -> List[int]:
        return np.frombuffer(self.key, np.int64).tolist()

    def age(self) -> int:
        """How many updates were made between the draw and the first of its losses."""
        assert self.begun is not None
        return self.begun - self.draw.updates


class Pending:
    """The draws under way, oldest first, with the shares of all ranks.

    Of several ranks, example e of rank r is coded as e * ranks + r, and the items of a batch are the first of each rank, the
    second of each and so on, as in the draw. Every rank keeps the same book and looks up the same batches in it.

    Usually the losses of a whole draw come back at once, in its order, and are found by the bytes of the batch. They may
    also come in pieces (micro-batches) and in any order: then the draw awaits the rest. And they may come more than once, as
    with an optimiser that computes each loss twice.

    What a batch is cannot always be told from its examples, while others with the same ones have been drawn ahead. Then it is
    what the batches before were: as many crops of each case, and as many passes.
    """

    LIMIT = 1 << 16  # of a loop that draws and never updates, the oldest are forgotten

    def __init__(self) -> None:
        self._draws: Dict[int, _Entry] = {}
        self._entries: Dict[bytes, Deque[int]] = {}
        # Example: {entry that awaits it: how often}, oldest first. Made when a batch comes back that is no whole draw.
        self._awaiting: Optional[Dict[int, Dict[int, int]]] = None
        self._begun: Dict[int, None] = {}  # entries of which a part has come back
        self._last: List[_Entry] = []  # those that were complete last
        self._round: List[bytes] = []  # the pieces in which they came,
        self._complete = False  # whether that was all,
        self._repeated = 0  # and how many of the pieces have come once more since
        self._passes = 0  # over what was complete last
        self._usual_passes = 1  # over what was complete before
        self._usual_manner = Manner()
        self._next = 0

    def __len__(self) -> int:
        return len(self._draws)

    @property
    def habits(self) -> List[int]:
        """What doubtful batches are read by, for a state: crops, whether in rounds, passes."""
        return [self._usual_manner.crops, int(self._usual_manner.rounds), self._usual_passes]

    @habits.setter
    def habits(self, numbers: Sequence[int]) -> None:
        crops, rounds, passes = numbers
        self._usual_manner, self._usual_passes = Manner(crops, bool(rounds)), passes

    def add(self, share: np.ndarray, draw: Draw) -> None:
        if len(self._draws) >= self.LIMIT:
            self._strike(next(iter(self._draws)))
        entry = _Entry(share, draw)
        self._draws[self._next] = entry
        self._entries.setdefault(entry.key, deque()).append(self._next)
        if self._awaiting is not None:
            self._await(self._next, entry)
        self._next += 1

    def match(self, indices: np.ndarray, ranks: int = 1) -> Optional[Match]:
        """The draws that this batch consists of, or None. Several crops of one case are one draw."""
        if not len(indices) or not (self._draws or self._last):
            return None
        piece = np.sort(indices).tobytes()
        again = self._complete and piece == self._round[self._repeated]
        if again and (self._repeated or self._passes < self._usual_passes or not self._due(indices, ranks)):
            found: Optional[Match] = self._nothing_new(indices, ranks)
        else:
            found = self._whole(indices, ranks) or self._in_pieces(indices, ranks)
        return found and found._replace(piece=piece)

    def _single(self, ranks: int) -> bool:
        """Whether batches are put together from single draws."""
        return any(entry.size == ranks for entry in islice(self._draws.values(), 1))

    def _due(self, indices: np.ndarray, ranks: int) -> bool:
        """Whether the draws whose turn it is have all of the batch."""
        examples = next(self._readings(indices, ranks))[1] if self._single(ranks) else distinct(indices, ranks)[0]
        counts, room = Counter(examples.tolist()), 0
        for entry in self._draws.values():
            if room >= len(examples):
                break
            counts.subtract(entry.share())
            room += entry.size
        return not +counts

    def _in_pieces(self, indices: np.ndarray, ranks: int) -> Optional[Match]:
        if not self._draws:
            return self._once_more(indices, ranks)
        if self._awaiting is None:
            self._awaiting = {}
            for number, entry in self._draws.items():
                self._await(number, entry)
        if self._single(ranks):
            return self._of_several(indices, ranks) or self._once_more(indices, ranks) or self._of_some(indices)
        return (self._of_one(indices, ranks) or self._once_more(indices, ranks) or self._of_several(indices, ranks) or
                self._of_some(indices))

    def take(self, match: Match, updates: int = 0) -> List[int]:
        """Strikes out what has come back; how many updates old each draw was that is complete now."""
        if match.manner is not None:
            self._usual_manner = match.manner
        if not match.entries:
            self._count_repeated(match.piece)
            return []
        self._begin_round(match.piece)
        complete = []
        for place, number in enumerate(match.entries):
            entry = self._draws[number]
            entry.begun = updates if entry.begun is None else entry.begun
            if match.parts is None or self._strike_part(number, entry, match.parts[place]):
                complete.append(number)
        if complete and self._begun:  # losses come back in the order of the draws: what an older one still lacks was dropped
            complete += [number for number in self._begun if number < max(complete) and number not in complete]
        if not complete:
            return []
        self._last = [self._strike(number) for number in sorted(complete)]
        if not self._begun:
            self._complete, self._passes = True, 1
        return [entry.age() for entry in self._last]

    def _begin_round(self, piece: bytes) -> None:
        """Notes a piece of draws under way; the first one after complete draws says how many passes there were over these."""
        if self._complete:
            self._usual_passes = self._passes
        if self._complete or len(self._round) >= self.LIMIT:
            self._forget_round()
        self._round.append(piece)

    def _forget_round(self) -> None:
        self._round, self._repeated, self._complete = [], 0, False

    def _count_repeated(self, piece: bytes) -> None:
        if self._complete and piece == self._round[self._repeated]:
            self._repeated += 1
            if self._repeated == len(self._round):
                self._repeated, self._passes = 0, self._passes + 1
        else:
            self._repeated = 0

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

    def _readings(self, indices: np.ndarray, ranks: int) -> Iterator[Tuple[Manner, np.ndarray, np.ndarray]]:
        """What the batch can consist of, in the usual manner first."""
        tried = set()
        for manner in chain([self._usual_manner], _manners(indices)):
            read = None if manner in tried else _read(indices, manner, ranks)
            tried.add(manner)
            if read is not None:
                yield (manner, *read)

    def _whole(self, indices: np.ndarray, ranks: int) -> Optional[Match]:
        for manner, examples, items in self._readings(indices, ranks):
            entries = self._piece(examples) or self._oldest(examples)
            if entries:
                return Match(entries, examples, items, None, manner)
        return None

    def _piece(self, examples: np.ndarray) -> List[int]:
        same = self._entries.get(examples.tobytes())
        return [same[0]] if same else []

    def _oldest(self, examples: np.ndarray) -> List[int]:
        """The oldest draws, if the batch is of them and in their order."""
        found: List[int] = []
        key, start = examples.tobytes(), 0
        for number, entry in self._draws.items():
            if start == len(key) or not key.startswith(entry.key, start):
                break
            found.append(number)
            start += len(entry.key)
        return found if start == len(key) else []

    # ---- draws in pieces, or in another order

    def _of_one(self, indices: np.ndarray, ranks: int) -> Optional[Match]:
        """The oldest draw that awaits some of the batch, and had all the rest: of it further crops may still come."""
        assert self._awaiting is not None
        counts = Counter(indices.tolist())
        for number in sorted({number for example in counts for number in self._awaiting.get(example, ())}):
            share = self._draws[number].share()
            if counts.keys() <= set(share):
                awaited = {example: self._awaiting.get(example, {}).get(number, 0) for example in counts}
                part = Counter({example: min(times, awaited[example]) for example, times in counts.items()})
                crops = any(times > awaited[example] for example, times in counts.items())
                examples, items = distinct(indices, ranks) if crops else (indices, np.arange(len(indices)))
                return Match([number], examples, items, [+part])
        return None

    def _once_more(self, indices: np.ndarray, ranks: int) -> Optional[Match]:
        """Nothing, if the batch is of the draws that were complete last: further crops of them, or a second pass."""
        known = {example for entry in self._last for example in entry.share()}
        return self._nothing_new(indices, ranks) if known.issuperset(indices.tolist()) else None

    def _nothing_new(self, indices: np.ndarray, ranks: int) -> Match:
        examples, items = _read(indices, self._usual_manner, ranks) or distinct(indices, ranks)
        return Match([], examples, items, [])

    def _of_several(self, indices: np.ndarray, ranks: int) -> Optional[Match]:
        """The oldest draws that together await all of the batch."""
        for manner, examples, items in self._readings(indices, ranks):
            parts = self._parts(Counter(examples.tolist()))
            if sum(sum(part.values()) for part in parts.values()) == len(examples):
                return Match(list(parts), examples, items, list(parts.values()), manner)
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
        self._forget_round()

    def drawn(self, match: Match) -> List[Draw]:
        """What a match is of; for a batch that came once more, what was complete last. Ask before :meth:`take`."""
        return [self._draws[number].draw for number in match.entries] or [entry.draw for entry in self._last]

    def draws(self) -> List[Draw]:
        return [entry.draw for entry in self._draws.values()]
