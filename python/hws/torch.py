"""Hardness weighted sampling for PyTorch's DataLoader.

    sampler = hws.torch.HardnessWeightedBatchSampler(data, batch_size=64, beta=10)
    loader = DataLoader(hws.torch.IndexedDataset(data), batch_sampler=sampler)
    criterion = hws.torch.DROLoss(nn.CrossEntropyLoss(), sampler)

    for images, labels, indices in loader:
        loss = criterion(model(images), labels, indices)
        ...
"""

from __future__ import annotations

import inspect
import sys
import time
import warnings
from collections import deque
from typing import Any, Deque, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

import numpy as np
import torch
import torch.distributed
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from ._arrays import as_count, as_indices, as_losses, from_state
from ._learning import learn, mean_over_crops
from ._loss import DROLoss, PerCase, per_example
from ._pending import Draw, Match, Pending
from ._ranks import Ranks, exchanged, initialised
from ._randomness import NumberedIndex, seed_of_draw, seed_of_example, seeded
from ._recipes import Recipe, recipe_called
from ._warm_up import WarmUp
from .errors import ArgumentError, ArgumentTypeError, CorruptStateError, ExampleIndexError, HwsError, OwnershipError
from .sampler import HasBeta, Sampler
from .shared import SharedHandle, SharedSampler
from .telemetry import concerns_by_kind

__all__ = [
    "IndexedDataset", "HardnessWeightedSampler", "HardnessWeightedBatchSampler", "DROLoss", "PerCase", "SharedDraws",
    "of_all_ranks", "per_example",
]


# ---- the index of an example -------------------------------------------------------------------------------------


def _with_index(item: Any, index: int) -> Any:
    if isinstance(item, Mapping):
        if "index" in item:
            raise ArgumentError("the data set's items have an entry 'index' already")
        return {**item, "index": index}
    if isinstance(item, list) and item and all(isinstance(crop, (Mapping, tuple)) for crop in item):
        return [_with_index(crop, index) for crop in item]
    if isinstance(item, tuple):
        return (*item, index)
    return (item, index)


class IndexedDataset(Dataset):
    """A map-style data set whose items also say which example they are.

    A tuple gets the index as its last element, a mapping as its entry "index"; in a list of them (crops of one case, as
    MONAI's transforms give) each does; a named tuple becomes a plain one. Anything else becomes a pair.

    Args:
        dataset: a map-style data set.
        randomness: a sampler of this module. The random numbers of an item (Python's, numpy's, torch's and those of
            MONAI's transforms) then follow from the sampler's seed and the draw alone: augmentation is the same in
            whatever worker it happens, and in a resumed run.

    >>> import hws.torch
    >>> hws.torch.IndexedDataset([("image", "label")])[0]
    ('image', 'label', 0)
    >>> hws.torch.IndexedDataset([{"image": 1}])[0]
    {'image': 1, 'index': 0}
    >>> hws.torch.IndexedDataset([[{"crop": 1}, {"crop": 2}]])[0]
    [{'crop': 1, 'index': 0}, {'crop': 2, 'index': 0}]
    """

    def __init__(self, dataset: Any, randomness: Any = None):
        if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
            raise ArgumentTypeError("the data set must be map-style: it needs __getitem__ and __len__")
        if isinstance(dataset, IndexedDataset):
            raise ArgumentTypeError("the data set is an IndexedDataset already: each item would have two indices")
        if randomness is not None and not isinstance(randomness, _HandsOut):
            raise ArgumentTypeError("randomness must be a HardnessWeightedBatchSampler or HardnessWeightedSampler, not "
                                    f"{type(randomness).__name__}")
        self.dataset = dataset
        self._randomness: Any = randomness
        if randomness is not None:
            randomness._number_items = True

    def __getstate__(self) -> Dict[str, Any]:
        # A worker needs no sampler: indices carry the seed with them, and for others this one will do.
        return {**self.__dict__, "_randomness": self._seed()}

    def _seed(self) -> Any:
        """The sampler's seed of now, since a state that it takes over brings its own; None without a sampler."""
        known = self._randomness
        return known.sampler.options["seed"] if isinstance(known, _HandsOut) else known

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        if isinstance(index, (list, tuple)):
            raise ArgumentTypeError(f"an index must be an integer, not a {type(index).__name__}: a HardnessWeightedBatchSampler "
                                    "is for DataLoader(batch_sampler=...)")
        example = int(index) if index >= 0 else len(self) + int(index)
        if example < 0:
            raise ExampleIndexError(f"index {index} is before the first of {len(self)} examples", None, int(index))
        if example >= len(self):
            raise ExampleIndexError(f"index {index} is behind the last of {len(self)} examples: is the sampler of the same "
                                    "data set?", None, int(index))
        if self._randomness is None:
            return _with_index(self.dataset[int(index)], example)
        seed = seed_of_draw(index) if isinstance(index, NumberedIndex) else seed_of_example(self._seed(), example)
        with seeded(seed, self.dataset):
            return _with_index(self.dataset[example], example)


def _warn(text: str) -> None:
    """A warning that names the line of the training loop, however deep in hws and PyTorch it is found."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("hws", "torch"):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)


# ---- samplers ------------------------------------------------------------------------------------------------------


class _Items(NamedTuple):
    """The items of a step on all ranks, the first of each, the second of each...: as coded for the book of draws."""

    codes: np.ndarray
    losses: np.ndarray
    counted: Optional[np.ndarray]


class _HandsOut(HasBeta):
    """What the two samplers have in common: draws made when they are asked for, in pieces of equal size."""

    def __init__(self, examples: Any, ranks: Ranks, options: Dict[str, Any], warm_up: Optional[float], epochs: Optional[float]):
        name = options.get("recipe")
        recipe = Recipe() if name is None else recipe_called(name, options.get("tail"), options.get("beta"))
        self._warm_up = WarmUp(recipe.warm_up if warm_up is None else warm_up, epochs)
        self.sampler = self._opened(examples, options, recipe)
        self._ranks = ranks
        self._pending = Pending()
        self._replay: Deque[Draw] = deque()
        self._epoch, self._handed, self._resumed = 0, 0, False
        self._exhausted = False  # the epoch has been handed out to its end, and the loader has asked for more
        self._batch = 0  # how many draws the last batch that came back consisted of
        self._number_items = False
        self._warned = False  # that a batch came back which nobody had handed out
        self._updates_before = -1  # when the epoch began
        self._left_behind = 0  # examples of batches under way when the loop left an epoch; they come again after n others
        self._reviewed = 0  # the epoch that was looked back upon,
        self._told: Set[str] = set()  # and what was found
        self._staleness = {"counted": 0, "sum": 0, "max": 0, "last": 0}
        #: Time spent in drawing and updating, the exchange between ranks included.
        self.seconds = 0.0

    def _opened(self, examples: Any, given: Mapping[str, Any], recipe: Recipe) -> Sampler:
        options = {name: value for name, value in given.items() if value is not None or name not in ("generator", "recipe")}
        if isinstance(examples, Sampler):
            if options:
                raise ArgumentError(f"the sampler is open already; it cannot take {', '.join(options)}")
            return examples
        generator, called = options.pop("generator", None), options.pop("recipe", None)
        known = inspect.signature(Sampler.__init__).parameters
        for name in options:
            if name not in known or name in ("self", "examples"):
                raise ArgumentTypeError(f"{type(self).__name__} has no argument {name!r}")
        if generator is not None:
            if "seed" in options:
                raise ArgumentError("give seed or generator, not both")
            options["seed"] = int(torch.randint(0, 2**62, (), generator=generator))
        for setting, value in recipe.options().items():
            if options.get(setting) is None:
                options[setting] = value
        sampler = Sampler(number_of(examples), **options)
        sampler.recipe = called
        return sampler

    def __repr__(self) -> str:
        return f"<{type(self).__name__} over {self.sampler!r}>"

    def set_epoch(self, epoch: int) -> None:
        """Does nothing: the draws of each epoch are others anyway. Loops made for torch's DistributedSampler call it."""

    # ---- ranks

    @property
    def num_replicas(self) -> int:
        """How many ranks share each draw."""
        return self._ranks.count

    @property
    def rank(self) -> int:
        """Which of them this is."""
        return self._ranks.rank

    @property
    def process_group(self) -> Any:
        return self._ranks.group

    def _take_ranks(self) -> None:
        """The ranks are those of now, and stay so."""
        self._ranks.settle()
        self._check_ranks()

    def _check_ranks(self) -> None:
        """Refuses a number of ranks that cannot share a piece."""
        raise NotImplementedError

    # ---- handing out

    @property
    def _piece(self) -> int:
        """How many examples are drawn at once, for all ranks together."""
        raise NotImplementedError

    @property
    def _pieces_per_epoch(self) -> int:
        raise NotImplementedError

    def _pieces(self) -> Iterator[Sequence[int]]:
        """This rank's share of each piece, drawn at the moment when it is asked for."""
        self._take_ranks()
        self._warm_up.settle(self._pieces_per_epoch)
        if self._resumed:
            self._resumed = False
        else:
            if self._handed >= self._pieces_per_epoch and self._reviewed != self._epoch:
                self._look_back()
            if self._handed < self._pieces_per_epoch:
                self._left_behind += len(self._pending) * self._piece
            self._handed = 0
            self._epoch += 1
            self._pending.clear()
            self._replay.clear()
            self._updates_before = self.sampler.updates_made
        epoch = self._epoch
        self._exhausted = False
        while self._epoch == epoch and self._handed < self._pieces_per_epoch:
            start = time.perf_counter()
            draw = self._replay.popleft() if self._replay else self._next_draw()
            share = draw.examples[self.rank::self.num_replicas] if self.num_replicas > 1 else draw.examples
            self._pending.add(self._coded(draw.examples), draw)
            self._handed += 1
            indices = share.tolist()
            if self._number_items:
                seed = self.sampler.options["seed"]
                indices = [NumberedIndex.of(index, seed, draw.number, self.rank + place * self.num_replicas)
                           for place, index in enumerate(indices)]
            self.seconds += time.perf_counter() - start
            yield indices
        self._exhausted = self._epoch == epoch

    # ---- what is wrong

    def check(self) -> List[str]:
        """What is wrong with the training so far, and what to do about it, in words; empty if nothing is.

        The sampler warns of the same by itself, once for each concern until it is gone: as soon as an epoch has been handed out
        and all its losses are back, or when the next one begins.

        >>> import hws.torch
        >>> sampler = hws.torch.HardnessWeightedBatchSampler(6, batch_size=3)
        >>> for batch in sampler:
        ...     pass
        >>> sampler.check()  # doctest: +ELLIPSIS
        ['an epoch was drawn and no loss came back...']
        """
        return list(self._concerns(self._epoch if self._is_over() else self._epoch - 1).values())

    def _is_over(self) -> bool:
        """Whether the epoch has been handed out and all its losses are back."""
        return self._epoch > 0 and self._handed >= self._pieces_per_epoch and not len(self._pending)

    def _concerns(self, epochs: int) -> Dict[str, str]:
        """By what they are about, after so many whole epochs."""
        if self._handed >= self._pieces_per_epoch and self.sampler.updates_made == self._updates_before:
            return {"silent": "an epoch was drawn and no loss came back, so every draw is as likely as at the start: pass the "
                              "losses to DROLoss or update()"}
        batch = max(self._piece, self._batch * self._piece)
        found = concerns_by_kind(self, batch) if epochs > 0 else {}
        # Epochs may be meant to be short, and a pass of the warm-up leaves out what is no whole batch.
        in_passes = self._warm_up.made > 0 and (self.warming_up or self.sampler.draws_made == 0)
        expected = self._left_behind + (self._piece - 1 if in_passes else 0)
        if epochs * self._pieces_per_epoch * self._piece < len(self.sampler) or self.unseen <= expected:
            found.pop("unseen", None)
        return found

    def _look_back(self) -> None:
        """Warns of what went wrong in the epoch that is over."""
        self._reviewed = self._epoch
        found = self._concerns(self._epoch)
        for kind, concern in found.items():
            if kind not in self._told:
                _warn(f"after epoch {self._epoch}: {concern}")
        self._told = set(found)

    def _next_draw(self) -> Draw:
        warm_up, updates = self._warm_up, self.sampler.updates_made
        if warm_up.goes_on:
            examples = warm_up.draw(len(self.sampler), self._piece, self.sampler.options["seed"])
            return Draw(examples, updates, warm_up.made)
        examples = self._draw_piece()
        return Draw(examples, updates, warm_up.made + self.sampler.draws_made)

    def _draw_piece(self) -> np.ndarray:
        return self.sampler.draw(self._piece)

    # ---- the warm-up

    @property
    def recipe(self) -> Optional[str]:
        """The recipe that it was opened with, or None."""
        return self.sampler.recipe

    @property
    def warming_up(self) -> bool:
        """Whether the next draw is still one as in ordinary training."""
        return self._warm_up.goes_on

    def plan(self, epochs: float) -> None:
        """Says how many epochs the training has, which a warm-up follows from, where ``epochs`` was not given.

        The hooks of :mod:`hws.monai` and :mod:`hws.lightning` do so. What was given, and a state that was loaded, go before it.
        """
        self._warm_up.plan(epochs)

    # ---- losses coming back

    def update(self, indices: Any, losses: Any) -> None:
        """Writes the losses of this rank's examples, and of all other ranks', into the history.

        A batch may come back in pieces (micro-batches), in another order and more than once. Every rank must call it for each
        piece. What one rank refuses, all refuse.
        """
        self.step(indices, losses, importance=False)

    def importance_weights(self, indices: Any, losses: Any) -> np.ndarray:
        """clip(p_new / p_old) for the fresh losses of these examples. Call it before :meth:`update`."""
        return self.sampler.importance_weights(indices, losses)

    def step(self, indices: Any, losses: Any, importance: bool = True, skip_non_finite: bool = False,
             counted: Optional[np.ndarray] = None) -> Optional[np.ndarray]:
        """Importance weights (or None) and update in one go.

        An example that stands there several times with several losses (crops of one case) was drawn once: its loss is
        their mean. With ``skip_non_finite`` a loss that is NaN or infinite is left out instead of refused. ``counted`` says
        which items have a loss at all; an example that has none keeps the loss it had, and weighs 1.
        """
        start = time.perf_counter()
        self._take_ranks()
        if self.num_replicas > 1:
            self._check_group()
        try:
            items = self._own(indices, losses, counted)
        except HwsError:
            self.refuse(losses)
            raise
        if self.num_replicas > 1:
            items = self._of_all(items, losses)
        weights = self._learn(items, importance, skip_non_finite)
        self.seconds += time.perf_counter() - start
        return weights if weights is None or self.num_replicas == 1 else weights[items.codes % self.num_replicas == self.rank]

    def _learn(self, items: _Items, importance: bool, skip_non_finite: bool) -> Optional[np.ndarray]:
        """The step on what all ranks have received, which is the same on each of them; one weight for each item."""
        codes, ranks = items.codes, self.num_replicas
        match = self._pending.match(codes, ranks)
        crops = mean_over_crops(match.examples, match.items, items.losses, items.counted) if match else None
        drawn, fresh, counted = (crops.examples, crops.losses, crops.counted) if crops else items
        before = self.sampler.updates_made
        uniform = importance and match is not None and self._is_of_warm_up(match)
        weights = learn(self.sampler, drawn // ranks if ranks > 1 else drawn, fresh, importance and not uniform, skip_non_finite,
                        counted)
        if uniform:
            weights = np.ones(len(drawn), np.float32)
        if match:
            self._settle(match, before)
            if self._is_over() and self._reviewed != self._epoch:
                self._look_back()
        elif len(self._pending) and len(codes):
            self._warn_of_strangers()
        return weights[crops.items] if crops and weights is not None else weights

    def _is_of_warm_up(self, match: Match) -> bool:
        """Whether any of it was drawn uniformly: there is no p then to weigh by."""
        made = self._warm_up.made
        return made > 0 and any(draw.number <= made for draw in self._pending.drawn(match))

    def _own(self, indices: Any, losses: Any, counted: Optional[np.ndarray]) -> _Items:
        """What this rank was given, checked."""
        own_indices, own_losses = _pairs(indices, losses)
        if counted is not None and np.shape(counted) != own_losses.shape:
            raise ArgumentError(f"counted is of shape {np.shape(counted)} for {len(own_losses)} losses")
        return _Items(own_indices, own_losses, counted)

    def _coded(self, examples: np.ndarray, ranks: Optional[np.ndarray] = None) -> np.ndarray:
        """Examples and the ranks that they are on, in turn unless told otherwise, as the book of draws has them."""
        if self.num_replicas == 1:
            return examples
        ranks = np.arange(len(examples)) % self.num_replicas if ranks is None else ranks
        return examples * self.num_replicas + ranks

    def _check_group(self) -> None:
        if not initialised():
            raise OwnershipError(f"this sampler is rank {self.rank} of {self.num_replicas}, but torch.distributed is "
                                 "not initialised: the other ranks' losses cannot be had")
        there = (torch.distributed.get_rank(self.process_group), torch.distributed.get_world_size(self.process_group))
        if there != (self.rank, self.num_replicas):
            raise OwnershipError(f"this sampler is rank {self.rank} of {self.num_replicas}, but its process group has it as "
                                 f"rank {there[0]} of {there[1]}: the losses would go to the wrong examples")

    def refuse(self, losses: Any = None) -> None:
        """In place of :meth:`step`, where this rank has no losses to bring: the others raise instead of waiting for it.

        ``losses`` may be a tensor on this rank's GPU. Without other ranks it does nothing.
        """
        if self.num_replicas > 1 and initialised():
            exchanged(None, losses, self.process_group)

    def _of_all(self, own: _Items, given: Any) -> _Items:
        # Rank r holds every num_replicas-th example from r on: interleaving restores the order of the draw.
        counted = np.ones(len(own.losses)) if own.counted is None else own.counted
        parts = exchanged(np.stack([own.codes, own.losses, counted]), given, self.process_group)
        places = np.concatenate([np.arange(part.shape[1]) for part in parts])
        order = np.argsort(places, kind="stable")
        ranks = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])[order]
        indices, losses, has_loss = np.concatenate(parts, axis=1)[:, order]
        indices = np.clip(indices, -2.0**50, 2.0**50)  # further out there is no example, and codes would overflow
        return _Items(self._coded(indices.astype(np.int64), ranks), losses.astype(np.float32), has_loss != 0)

    def _settle(self, match: Match, updates: int) -> None:
        """Strikes out what has come back, and counts how old the draws were that are complete now."""
        ages = self._pending.take(match, updates)
        if not ages:
            return
        self._batch = len(ages)
        self._staleness["counted"] += len(ages)
        self._staleness["sum"] += sum(ages)
        self._staleness["max"] = max(self._staleness["max"], *ages)
        self._staleness["last"] = ages[-1]

    def _warn_of_strangers(self) -> None:
        """Says once that the book of the draws under way is of no use."""
        if not self._warned:
            self._warned = True
            _warn("losses came back of examples that are in none of the draws under way. They are learnt from, but their draws "
                  "count as not trained on, and a run that is resumed from state_dict() would hand them out again: the indices "
                  "must be those that the sampler handed out")

    # ---- what it knows

    @property
    def tail(self) -> Optional[float]:
        """The fraction of the examples that is trained for, or None where beta was given."""
        return self.sampler.tail

    @property
    def unseen(self) -> int:
        """How many examples have no loss yet."""
        return self.sampler.unseen

    def ess(self) -> float:
        """The effective sample size: over how many examples the draws are spread."""
        return self.sampler.ess()

    def robust_loss(self) -> float:
        """R(L) of the stale losses, as :meth:`hws.Sampler.robust_loss`."""
        return self.sampler.robust_loss()

    def percentile(self, alpha: float) -> float:
        """As :meth:`hws.Sampler.percentile`."""
        return self.sampler.percentile(alpha)

    def cvar(self, alpha: float) -> float:
        """The mean of the worst fraction ``alpha`` of the stale losses."""
        return self.sampler.cvar(alpha)

    def losses(self) -> np.ndarray:
        """A copy of all stale losses, NaN for examples without one."""
        return self.sampler.losses()

    def hardest(self, k: int) -> Tuple[np.ndarray, np.ndarray]:
        """The k examples with the largest stale losses, hardest first: (indices, losses)."""
        return self.sampler.hardest(k)

    def triage(self, count: Optional[int] = None) -> np.ndarray:
        """The examples, the most suspicious labels first, as :meth:`hws.Sampler.triage` gives them."""
        return self.sampler.triage(count)

    def statistics(self) -> Dict[str, Union[int, float]]:
        """Losses and distribution in numbers, as :meth:`hws.Sampler.statistics`."""
        return self.sampler.statistics()

    def staleness(self) -> Dict[str, float]:
        """How many updates were made between a draw and the arrival of its losses.

        0 in a loop without prefetching; a DataLoader with workers hands out ``num_workers * prefetch_factor`` batches
        ahead. ``mean`` and ``max`` are over all draws whose losses have come back, ``counted`` of them.
        """
        counted = self._staleness["counted"]
        return {"mean": self._staleness["sum"] / counted if counted else 0.0, "max": self._staleness["max"],
                "last": self._staleness["last"], "counted": counted}

    def telemetry(self) -> Dict[str, float]:
        """The sampler's statistics, the staleness of its draws and the time it took, as one flat dict."""
        ages = {f"staleness_{name}": value for name, value in self.staleness().items()}
        return {**self.sampler.statistics(), **ages, "sampler_seconds": self.seconds}

    def state_dict(self) -> Dict[str, Any]:
        """Everything that a resumed run needs to go on with the same batches, draws under way included.

        It is the same on every rank. Save it after the step's :meth:`update`; a batch of which only a part has come back by
        then is handed out again as a whole.
        """
        pending = [] if self._left_over() else self._pending.draws() + list(self._replay)
        examples = np.concatenate([draw.examples for draw in pending]) if pending else np.empty(0, np.int64)
        return {
            "sampler": torch.from_numpy(self.sampler._state()),
            "pending": torch.from_numpy(examples.reshape(-1, self._piece)),
            "pending_updates": torch.tensor([draw.updates for draw in pending], dtype=torch.int64),
            "pending_numbers": torch.tensor([draw.number for draw in pending], dtype=torch.int64),
            "handed": self._handed if self._left_over() else self._handed - len(self._pending),
            "batch": self._batch,
            "habits": self._pending.habits,
            "staleness": dict(self._staleness),
            "warm_up": [-1 if self._warm_up.length is None else self._warm_up.length, self._warm_up.made],
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over a state: the next iteration goes on where the saved one stood.

        Batches that were drawn ahead and not trained on yet come first. The batch size must be the same; the number of
        ranks may have changed, except for a :class:`HardnessWeightedSampler`. The options are those of the state, and so is
        the length of the warm-up.
        """
        try:
            state = state_dict["sampler"]
            staleness = {key: int(state_dict["staleness"][key]) for key in self._staleness}
            pending = from_state(state_dict["pending"])
            updates = from_state(state_dict["pending_updates"])
            numbers = from_state(state_dict.get("pending_numbers", np.arange(len(pending))))  # older states lack it
            habits = [int(number) for number in state_dict.get("habits", self._pending.habits)]
            handed, batch = int(state_dict["handed"]), int(state_dict.get("batch", 0))
            length, made = (int(number) for number in state_dict.get("warm_up", (0, 0)))  # older states had none
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise CorruptStateError(f"this is no state_dict of a {type(self).__name__}: {error!r}") from None
        if pending.dtype != np.int64 or pending.ndim != 2 or any(
                marks.shape != (len(pending),) or marks.dtype.kind != "i" for marks in (updates, numbers)):
            raise CorruptStateError("the draws under way are damaged")
        if len(habits) != 3 or min(habits) < 0:
            raise CorruptStateError("what is known of crops and passes is damaged")
        if not (0 <= made <= length or (length, made) == (-1, 0)):
            raise CorruptStateError("what is known of the warm-up is damaged")
        if pending.shape[1] != self._piece:
            raise CorruptStateError(self._misfit(pending.shape[1]))
        if pending.size and not (0 <= pending.min() and pending.max() < len(self.sampler)):
            raise CorruptStateError("the draws under way are of examples that do not exist")
        if not 0 <= handed <= self._pieces_per_epoch:
            raise CorruptStateError(f"{handed} batches of {self._pieces_per_epoch} in the epoch have been handed out")
        self.sampler.load_state_dict({"state": state})
        self._staleness = staleness
        self._pending.clear()
        self._pending.habits = habits
        self._replay = deque(Draw(row.copy(), int(mark), int(number))
                             for row, mark, number in zip(pending, updates, numbers))
        self._handed, self._batch, self._exhausted = handed, batch, False
        self._warm_up.made = made
        if length >= 0:
            self._warm_up.length = length
        # A state of the end of an epoch starts the next one.
        self._resumed = handed < self._pieces_per_epoch
        self._epoch += 1
        self._after_loading()

    def _left_over(self) -> bool:
        """Whether the draws under way are those that a loader with drop_last has dropped at the end of the epoch."""
        return False

    def _misfit(self, piece: int) -> str:
        """What is wrong with a state whose pieces are of another size."""
        return f"the state is of batches of {piece}, not of {self._piece}"

    def _after_loading(self) -> None:
        """What else there is to do when a state has been taken over."""


def number_of(examples: Any) -> int:
    """How many examples a data set has, or which number is given; a tensor without dimensions is a number."""
    if isinstance(examples, DataLoader):
        raise ArgumentTypeError("give the data set, not its DataLoader, whose length is in batches")
    has_length = hasattr(examples, "__len__") and getattr(examples, "ndim", None) != 0
    return len(examples) if has_length else as_count(examples, "the number of examples")


class HardnessWeightedBatchSampler(_HandsOut, torch.utils.data.Sampler):
    """For ``DataLoader(..., batch_sampler=...)``: batches drawn with the losses known when they are handed out.

    Args:
        examples: the data set, the number of its examples, or an open :class:`hws.Sampler`.
        batch_size: examples in one step of the optimiser, over all ranks together.
        batches_per_epoch: the length of an iteration; ceil(n / batch_size) unless told otherwise.
        num_samples: the same, in examples: ceil(num_samples / batch_size) batches.
        drop_last: round the number of batches down instead of up. Every batch is whole in any case.
        num_replicas, rank, process_group: what is not given is taken from ``torch.distributed`` at the first draw or
            update, so the sampler may be made before ``init_process_group``. Every rank makes the same draw and takes
            every ``num_replicas``-th example of it, so that the number of ranks changes nothing in what is trained on.
        generator: a torch.Generator to take the seed from; the same on every rank.
        warm_up: draw shuffled passes over the data, as ordinary training does, for this fraction of the training: 0.5 is its
            first half. Losses are remembered meanwhile, and weights are 1. 0 unless the recipe says otherwise.
        epochs: how many epochs the training has (12.5 is fine), for the warm-up's length; see also :meth:`plan`.
        options: those of :class:`hws.Sampler`, also ``recipe``, of which "volumes" begins with a warm-up of one half.

    Losses come back through :meth:`update` or a :class:`DROLoss`.

    >>> import hws.torch
    >>> sampler = hws.torch.HardnessWeightedBatchSampler(10, batch_size=4, beta=10, seed=3)
    >>> [len(batch) for batch in sampler]
    [4, 4, 4]
    """

    def __init__(self, examples: Any, batch_size: int, batches_per_epoch: Optional[int] = None, *,
                 num_samples: Optional[int] = None, drop_last: bool = False, num_replicas: Optional[int] = None,
                 rank: Optional[int] = None, process_group: Any = None, warm_up: Optional[float] = None,
                 epochs: Optional[float] = None, **options: Any):
        batch_size = as_count(batch_size, "batch_size")
        n = number_of(examples)
        if batch_size < 1:
            raise ArgumentError("batch_size must be at least 1")
        if batches_per_epoch is None:
            total = n if num_samples is None else as_count(num_samples, "num_samples")
            batches_per_epoch = total // batch_size if drop_last else -(-total // batch_size)
        elif num_samples is not None:
            raise ArgumentError("give batches_per_epoch or num_samples, not both")
        self._batches = as_count(batches_per_epoch, "batches_per_epoch")
        self.batch_size = batch_size
        _HandsOut.__init__(self, examples, Ranks(num_replicas, rank, process_group), options, warm_up, epochs)
        self._check_ranks()
        if batch_size > n and not self.sampler.options["replacement"]:
            raise ArgumentError(f"a batch of {batch_size} cannot be drawn without replacement from {n} examples")
        self.drop_last = bool(drop_last)

    @property
    def _piece(self) -> int:
        return self.batch_size

    @property
    def _pieces_per_epoch(self) -> int:
        return self._batches

    def _check_ranks(self) -> None:
        if self.batch_size % self.num_replicas:
            raise ArgumentError(f"a batch of {self.batch_size} cannot be shared equally by {self.num_replicas} ranks")

    def __iter__(self) -> Iterator[List[int]]:
        for share in self._pieces():
            yield list(share)

    def __len__(self) -> int:
        return self._pieces_per_epoch


class HardnessWeightedSampler(_HandsOut, torch.utils.data.Sampler):
    """For ``DataLoader(..., sampler=...)``: single examples, each drawn when it is asked for.

    The loader puts its batches together itself, so an example may stand twice in one batch; with
    :class:`HardnessWeightedBatchSampler` it does not.

    Args:
        examples: the data set, the number of its examples, or an open :class:`hws.Sampler`.
        num_samples: how many examples one iteration hands out over all ranks; n unless told otherwise.
        batch_size, drop_last: tell it what a ``DataLoader(batch_size=..., drop_last=True)`` does: an iteration is then
            rounded down to whole batches, and a state that is saved at the end of an epoch starts the next one.
        num_replicas, rank, process_group, generator, warm_up, epochs, options: as in
            :class:`HardnessWeightedBatchSampler`.

    >>> import hws.torch
    >>> len(list(hws.torch.HardnessWeightedSampler(10, beta=10)))
    10
    """

    def __init__(self, examples: Any, num_samples: Optional[int] = None, *, batch_size: Optional[int] = None,
                 drop_last: bool = False, num_replicas: Optional[int] = None, rank: Optional[int] = None,
                 process_group: Any = None, warm_up: Optional[float] = None, epochs: Optional[float] = None, **options: Any):
        num_samples = number_of(examples) if num_samples is None else as_count(num_samples, "num_samples")
        _HandsOut.__init__(self, examples, Ranks(num_replicas, rank, process_group), options, warm_up, epochs)
        self.num_samples = num_samples
        if drop_last and batch_size is None:
            raise ArgumentError("drop_last needs batch_size, that of the DataLoader")
        self.batch_size = batch_size if batch_size is None else as_count(batch_size, "batch_size")
        self.drop_last = bool(drop_last)
        self._check_ranks()

    @property
    def _piece(self) -> int:
        return self.num_replicas

    @property
    def _pieces_per_epoch(self) -> int:
        pieces = -(-self.num_samples // self.num_replicas)
        return pieces - pieces % self.batch_size if self.drop_last and self.batch_size else pieces

    def _check_ranks(self) -> None:
        pieces = -(-self.num_samples // self.num_replicas)
        if self.drop_last and not 1 <= (self.batch_size or 0) <= pieces:
            raise ArgumentError(f"batch_size is {self.batch_size}, but an epoch has {pieces} examples")

    def _left_over(self) -> bool:
        # Without prefetching, what is under way when the loader has asked for more than there is will never be trained on.
        pending = len(self._pending)
        return self._exhausted and 0 < pending < self._batch and self._staleness["max"] == 0

    def _misfit(self, piece: int) -> str:
        return (f"the state was saved on {piece} ranks, not on {self.num_replicas}: load it on as many, after "
                "init_process_group")

    def _after_loading(self) -> None:
        self._take_ranks()  # how far the epoch is, is counted in draws of one example for each rank
        rest = self._pieces_per_epoch - self._handed
        if self._resumed and 0 < rest < self._batch and not self.drop_last:
            _warn(f"{rest} examples of the epoch are left, fewer than a batch of {self._batch}: with DataLoader(drop_last=True) "
                  "the epoch that is resumed is empty. HardnessWeightedSampler(batch_size=..., drop_last=True) knows that it is "
                  "over")

    def _draw_piece(self) -> np.ndarray:
        # One draw for each rank, so that the ranks together see the sequence that a single process would.
        return np.concatenate([self.sampler.draw(1) for _ in range(self._piece)])

    def __iter__(self) -> Iterator[int]:
        for share in self._pieces():
            yield share[0]

    def __len__(self) -> int:
        return self._pieces_per_epoch


# ---- loader processes that draw themselves -------------------------------------------------------------------------


class SharedDraws(IterableDataset):
    """An iterable data set whose loader processes draw for themselves, from losses that the main process updates.

    For loaders that want no batch sampler, or whose prefetched draws would be too old: a worker draws when it is about
    to load. Items carry their index as those of :class:`IndexedDataset` do.

    Args:
        dataset: a map-style data set.
        shared: a :class:`hws.shared.SharedSampler` or its handle.
        num_samples: how many items all workers together yield in one iteration; n unless told otherwise.
        draw: how many examples a worker draws at once, without replacement among them.
        batch_size: that of the DataLoader. Each worker makes batches of its own items; told how large they are, the workers
            share whole batches. Otherwise each may end with a smaller one, and there are more batches than ``len(loader)``.
        num_replicas, rank: in a distributed training, how many ranks there are and which one this is. They share
            ``num_samples``, rounded up so that each yields equally many, and draw from streams of their own. Every rank has
            a SharedSampler of the same options, which must learn the losses of all: see :func:`of_all_ranks`. Without the
            two, more than one rank is refused.

    >>> import hws.shared, hws.torch
    >>> shared = hws.shared.SharedSampler([1.0, 9.0, 1.0], beta=1000)
    >>> list(hws.torch.SharedDraws("abc", shared, num_samples=2))
    [('b', 1), ('b', 1)]
    """

    def __init__(self, dataset: Any, shared: Union[SharedSampler, SharedHandle], num_samples: Optional[int] = None,
                 draw: int = 1, *, batch_size: int = 1, num_replicas: Optional[int] = None, rank: Optional[int] = None):
        handle = shared.handle if isinstance(shared, SharedSampler) else shared
        if not isinstance(handle, SharedHandle):
            raise ArgumentTypeError(f"shared must be a SharedSampler or its handle, not {type(shared).__name__}")
        if len(handle) != len(dataset):
            raise ArgumentError(f"the sampler is of {len(handle)} examples, the data set of {len(dataset)}")
        self.dataset = dataset
        self.handle = handle
        self.num_samples = len(dataset) if num_samples is None else as_count(num_samples, "num_samples")
        self.draw = as_count(draw, "draw")
        self.batch_size = as_count(batch_size, "batch_size")
        if self.draw < 1 or self.batch_size < 1:
            raise ArgumentError(f"{'draw' if self.draw < 1 else 'batch_size'} must be at least 1")
        if (num_replicas is None) != (rank is None):
            raise ArgumentError("give num_replicas and rank, or neither")
        self._ranks = None if rank is None else Ranks(num_replicas, rank, None)

    def _share(self) -> Tuple[int, int]:
        """Which of how many ranks this is."""
        if self._ranks is not None:
            return self._ranks.rank, self._ranks.count
        if initialised() and torch.distributed.get_world_size() > 1:
            raise OwnershipError(f"SharedDraws would draw the same examples on each of {torch.distributed.get_world_size()} "
                                 "ranks, and none would learn the losses of the others: use HardnessWeightedBatchSampler, or "
                                 "give num_replicas and rank and call shared.update(*hws.torch.of_all_ranks(indices, losses))")
        return 0, 1

    def __getstate__(self) -> Dict[str, Any]:
        self._share()  # a process that is spawned to load knows of no other ranks
        return self.__dict__

    def __iter__(self) -> Iterator[Any]:
        rank, ranks = self._share()
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info is not None else (0, 1)
        own = len(self)
        batches = -(-own // self.batch_size)
        left = len(range(worker, batches, workers)) * self.batch_size
        if batches % workers == (worker + 1) % workers:  # the last batch, which may be smaller, is this worker's
            left -= batches * self.batch_size - own
        reader = self.handle.reader(worker * ranks + rank)
        while left > 0:
            for index in reader.draw(min(self.draw, left)).tolist():
                yield _with_index(self.dataset[index], index)
                left -= 1

    def __len__(self) -> int:
        return -(-self.num_samples // self._share()[1])


def _pairs(indices: Any, losses: Any) -> Tuple[np.ndarray, np.ndarray]:
    own_indices, own_losses = as_indices(indices), as_losses(losses)
    if len(own_indices) != len(own_losses):
        raise ArgumentError(f"there are {len(own_indices)} indices but {len(own_losses)} losses")
    return own_indices, own_losses


def of_all_ranks(indices: Any, losses: Any, process_group: Any = None) -> Tuple[np.ndarray, np.ndarray]:
    """The examples and losses of this step on all ranks, rank after rank; without torch.distributed, this process's own.

    For samplers that know no ranks: with ``shared.update(*of_all_ranks(indices, losses))`` the history is the same on every
    rank. Each must call it in every step. What one rank refuses, all refuse.

    >>> import hws.torch
    >>> hws.torch.of_all_ranks([3, 1], [0.5, 2.0])
    (array([3, 1]), array([0.5, 2. ], dtype=float32))
    """
    try:
        own = _pairs(indices, losses)
    except HwsError:
        if initialised():
            exchanged(None, losses, process_group)
        raise
    if not initialised():
        return own
    together = np.concatenate(exchanged(np.stack(own), losses, process_group), axis=1)
    return together[0].astype(np.int64), together[1].astype(np.float32)
