"""Hardness weighted sampling for PyTorch's DataLoader.

    sampler = hws.torch.HardnessWeightedBatchSampler(data, batch_size=64, beta=10)
    loader = DataLoader(hws.torch.IndexedDataset(data), batch_sampler=sampler)
    criterion = hws.torch.DROLoss(nn.CrossEntropyLoss(), sampler)

    for images, labels, indices in loader:
        loss = criterion(model(images), labels, indices)
        ...
"""

from __future__ import annotations

import copy
import time
import warnings
from collections import deque
from typing import Any, Callable, Deque, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np
import torch
import torch.distributed
from torch import Tensor, nn
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from ._arrays import as_count, as_indices, as_losses
from .errors import ArgumentError, ArgumentTypeError, CorruptStateError, OwnershipError
from .sampler import Sampler
from .shared import SharedHandle, SharedSampler
from .telemetry import concerns

__all__ = [
    "IndexedDataset", "HardnessWeightedSampler", "HardnessWeightedBatchSampler", "DROLoss", "SharedDraws",
    "per_example",
]


# ---- the index of an example -------------------------------------------------------------------------------------


def _with_index(item: Any, index: int) -> Any:
    if isinstance(item, Mapping):
        if "index" in item:
            raise ArgumentError("the data set's items have an entry 'index' already")
        return {**item, "index": index}
    if isinstance(item, tuple):
        return (*item, index)
    return (item, index)


class IndexedDataset(Dataset):
    """A map-style data set whose items also say which example they are.

    A tuple gets the index as its last element, a mapping as its entry "index", anything else becomes a pair.

    >>> import hws.torch
    >>> hws.torch.IndexedDataset([("image", "label")])[0]
    ('image', 'label', 0)
    >>> hws.torch.IndexedDataset([{"image": 1}])[0]
    {'image': 1, 'index': 0}
    """

    def __init__(self, dataset: Any):
        if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
            raise ArgumentTypeError("the data set must be map-style: it needs __getitem__ and __len__")
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return _with_index(self.dataset[index], int(index) if index >= 0 else len(self) + int(index))


# ---- draws that are under way ------------------------------------------------------------------------------------


class _Draw(NamedTuple):
    """What was handed out in one piece: the examples on all ranks, and the updates made when it was drawn."""

    examples: np.ndarray
    updates: int


class _Pending:
    """The draws that were handed out and whose losses have not come back, oldest first."""

    LIMIT = 1 << 16  # of a loop that draws and never updates, the oldest are forgotten

    def __init__(self) -> None:
        self._draws: Dict[int, Tuple[bytes, _Draw]] = {}
        self._numbers: Dict[bytes, Deque[int]] = {}
        self._next = 0

    def add(self, key: bytes, draw: _Draw) -> None:
        if len(self._draws) >= self.LIMIT:
            self.take(next(iter(self._draws.values()))[0])
        self._draws[self._next] = (key, draw)
        self._numbers.setdefault(key, deque()).append(self._next)
        self._next += 1

    def take(self, key: bytes) -> Optional[_Draw]:
        numbers = self._numbers.get(key)
        if not numbers:
            return None
        number = numbers.popleft()
        if not numbers:
            del self._numbers[key]
        return self._draws.pop(number)[1]

    def clear(self) -> None:
        self._draws.clear()
        self._numbers.clear()

    def draws(self) -> List[_Draw]:
        return [draw for _, draw in self._draws.values()]


class _HandsOut:
    """What the two samplers have in common: draws made when they are asked for, in pieces of equal size."""

    def __init__(self, examples: Any, piece: int, pieces_per_epoch: int, num_replicas: Optional[int],
                 rank: Optional[int], process_group: Any, options: Dict[str, Any]):
        if isinstance(examples, Sampler):
            if options:
                raise ArgumentError(f"the sampler is open already; it cannot take {', '.join(options)}")
            self.sampler = examples
        else:
            self.sampler = Sampler(_number_of(examples), **options)
        distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
        if num_replicas is None:
            num_replicas = torch.distributed.get_world_size(process_group) if distributed else 1
        if rank is None:
            rank = torch.distributed.get_rank(process_group) if distributed else 0
        num_replicas, rank = as_count(num_replicas, "num_replicas"), as_count(rank, "rank")
        if not rank < num_replicas:
            raise ArgumentError(f"rank {rank} of {num_replicas} replicas does not exist")
        self.num_replicas, self.rank, self.process_group = num_replicas, rank, process_group
        self._piece = piece
        self._pieces_per_epoch = pieces_per_epoch
        self._pending = _Pending()
        self._replay: Deque[_Draw] = deque()
        self._epoch, self._handed, self._resumed = 0, 0, False
        self._updates_before = -1  # when the epoch began
        self._staleness = {"counted": 0, "sum": 0, "max": 0, "last": 0}
        #: Time spent in drawing and updating, the exchange between ranks included.
        self.seconds = 0.0

    # ---- handing out

    def _pieces(self) -> Iterator[np.ndarray]:
        """This rank's share of each piece, drawn at the moment when it is asked for."""
        if self._resumed:
            self._resumed = False
        else:
            if self._handed >= self._pieces_per_epoch:
                self._look_back()
            self._handed = 0
            self._epoch += 1
            self._pending.clear()
            self._replay.clear()
            self._updates_before = self.sampler.updates_made
        epoch = self._epoch
        while self._epoch == epoch and self._handed < self._pieces_per_epoch:
            start = time.perf_counter()
            if self._replay:
                draw = self._replay.popleft()
            else:
                draw = _Draw(self._draw_piece(), self.sampler.updates_made)
            share = draw.examples[self.rank::self.num_replicas] if self.num_replicas > 1 else draw.examples
            self._pending.add(share.tobytes(), draw)
            self._handed += 1
            self.seconds += time.perf_counter() - start
            yield share

    def _look_back(self) -> None:
        """Warns of what went wrong in the epoch that is over."""
        if self.sampler.updates_made == self._updates_before:
            warnings.warn("an epoch was drawn and no loss came back, so every draw is as likely as at the start: "
                          "pass the losses to DROLoss or update()", stacklevel=4)
            return
        for concern in concerns(self.sampler, self._piece):
            if self._pieces_per_epoch * self._piece < len(self.sampler) and "no loss yet" in concern:
                continue  # an epoch that is meant to be short
            warnings.warn(f"after epoch {self._epoch}: {concern}", stacklevel=4)

    def _draw_piece(self) -> np.ndarray:
        return self.sampler.draw(self._piece)

    # ---- losses coming back

    def update(self, indices: Any, losses: Any) -> None:
        """Writes the losses of this rank's examples, and of all other ranks', into the history.

        Every rank must call it for each step, with the same number of examples.
        """
        self.step(indices, losses, importance=False)

    def importance_weights(self, indices: Any, losses: Any) -> np.ndarray:
        """clip(p_new / p_old) for the fresh losses of these examples. Call it before :meth:`update`."""
        return self.sampler.importance_weights(indices, losses)

    def step(self, indices: Any, losses: Any, importance: bool = True) -> Optional[np.ndarray]:
        """Importance weights (or None) and update in one go, with one exchange between the ranks."""
        start = time.perf_counter()
        own_indices = as_indices(indices)
        own_losses = as_losses(losses)
        if len(own_indices) != len(own_losses):
            raise ArgumentError(f"there are {len(own_indices)} indices but {len(own_losses)} losses")
        if self.num_replicas > 1:
            all_indices, all_losses = self._gather(own_indices, own_losses, losses)
        else:
            all_indices, all_losses = own_indices, own_losses
        weights = None
        if importance:
            # Over all ranks, so that a loss that is not finite stops every rank and leaves none waiting.
            weights = self.sampler.importance_weights(all_indices, all_losses)[self.rank::self.num_replicas]
        before = self.sampler.updates_made
        self.sampler.update(all_indices, all_losses)
        self._count_staleness(own_indices, before)
        self.seconds += time.perf_counter() - start
        return weights

    def _gather(self, indices: np.ndarray, losses: np.ndarray, given: Any) -> Tuple[np.ndarray, np.ndarray]:
        if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
            raise OwnershipError(f"this sampler is rank {self.rank} of {self.num_replicas}, but torch.distributed is "
                                 "not initialised: the other ranks' losses cannot be had")
        # float64 holds every index below 2^53 and every float32 loss exactly: one exchange is enough.
        own = torch.from_numpy(np.stack([indices.astype(np.float64), losses.astype(np.float64)]))
        if torch.distributed.get_backend(self.process_group) == "nccl":
            own = own.to(given.device if isinstance(given, Tensor) and given.is_cuda else "cuda")
        parts = [torch.empty_like(own) for _ in range(self.num_replicas)]
        torch.distributed.all_gather(parts, own, group=self.process_group)
        # Rank r holds every num_replicas-th example from r on: interleaving restores the order of the draw.
        together = torch.stack(parts, dim=2).reshape(2, -1).cpu().numpy()
        return together[0].astype(np.int64), together[1].astype(np.float32)

    def _count_staleness(self, indices: np.ndarray, updates: int) -> None:
        whole = self._pending.take(indices.tobytes())
        found: List[Optional[_Draw]] = [whole]
        if whole is None:  # a loader that puts its batches together itself
            found = [self._pending.take(index.tobytes()) for index in indices]
        ages = [updates - draw.updates for draw in found if draw is not None]
        if ages:
            self._staleness["counted"] += len(ages)
            self._staleness["sum"] += sum(ages)
            self._staleness["max"] = max(self._staleness["max"], *ages)
            self._staleness["last"] = ages[-1]

    # ---- what it knows

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

        It is the same on every rank. Save it after the step's :meth:`update`.
        """
        pending = self._pending.draws() + list(self._replay)
        examples = np.concatenate([draw.examples for draw in pending]) if pending else np.empty(0, np.int64)
        return {
            "sampler": torch.from_numpy(self.sampler._state()),
            "pending": torch.from_numpy(examples.reshape(-1, self._piece)),
            "pending_updates": torch.tensor([draw.updates for draw in pending], dtype=torch.int64),
            "handed": self._handed - len(self._pending.draws()),
            "staleness": dict(self._staleness),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Takes over a state: the next iteration goes on where the saved one stood.

        Batches that were drawn ahead and not trained on yet come first. The batch size must be the same; the number of
        ranks may have changed, except for a :class:`HardnessWeightedSampler`.
        """
        try:
            state = state_dict["sampler"]
            staleness = {key: int(state_dict["staleness"][key]) for key in self._staleness}
            pending = np.asarray(state_dict["pending"])
            updates = np.asarray(state_dict["pending_updates"])
            handed = int(state_dict["handed"])
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptStateError(f"this is no state_dict of a {type(self).__name__}: {error!r}") from None
        if pending.dtype != np.int64 or pending.ndim != 2 or updates.shape != (len(pending),):
            raise CorruptStateError("the draws under way are damaged")
        if pending.shape[1] != self._piece:
            raise CorruptStateError(f"the state is of batches of {pending.shape[1]}, not of {self._piece}")
        if pending.size and not (0 <= pending.min() and pending.max() < len(self.sampler)):
            raise CorruptStateError("the draws under way are of examples that do not exist")
        if not 0 <= handed <= self._pieces_per_epoch:
            raise CorruptStateError(f"{handed} batches of {self._pieces_per_epoch} in the epoch have been handed out")
        self.sampler.load_state_dict({"state": state})
        self._staleness = staleness
        self._pending.clear()
        self._replay = deque(_Draw(row.copy(), int(mark)) for row, mark in zip(pending, updates))
        self._handed = handed
        # A state of the end of an epoch starts the next one.
        self._resumed = handed < self._pieces_per_epoch
        self._epoch += 1


def _number_of(examples: Any) -> int:
    return len(examples) if hasattr(examples, "__len__") else as_count(examples, "the number of examples")


class HardnessWeightedBatchSampler(_HandsOut, torch.utils.data.Sampler):
    """For ``DataLoader(..., batch_sampler=...)``: batches drawn with the losses known when they are handed out.

    Args:
        examples: the data set, the number of its examples, or an open :class:`hws.Sampler`.
        batch_size: examples in one step of the optimiser, over all ranks together.
        batches_per_epoch: the length of an iteration; ceil(n / batch_size) unless told otherwise.
        num_replicas, rank, process_group: taken from ``torch.distributed`` when it is initialised. Every rank makes
            the same draw and takes every ``num_replicas``-th example of it, so that the number of ranks changes
            nothing in what is trained on.
        options: those of :class:`hws.Sampler`.

    Losses come back through :meth:`update` or a :class:`DROLoss`.

    >>> import hws.torch
    >>> sampler = hws.torch.HardnessWeightedBatchSampler(10, batch_size=4, beta=10, seed=3)
    >>> [len(batch) for batch in sampler]
    [4, 4, 4]
    """

    def __init__(self, examples: Any, batch_size: int, batches_per_epoch: Optional[int] = None, *,
                 num_replicas: Optional[int] = None, rank: Optional[int] = None, process_group: Any = None,
                 **options: Any):
        batch_size = as_count(batch_size, "batch_size")
        n = _number_of(examples)
        if batch_size < 1:
            raise ArgumentError("batch_size must be at least 1")
        if batches_per_epoch is None:
            batches_per_epoch = -(-n // batch_size)
        batches_per_epoch = as_count(batches_per_epoch, "batches_per_epoch")
        _HandsOut.__init__(self, examples, batch_size, batches_per_epoch, num_replicas, rank, process_group, options)
        if batch_size % self.num_replicas:
            raise ArgumentError(f"a batch of {batch_size} cannot be shared equally by {self.num_replicas} ranks")
        if batch_size > n and not self.sampler.options["replacement"]:
            raise ArgumentError(f"a batch of {batch_size} cannot be drawn without replacement from {n} examples")
        self.batch_size = batch_size

    def __iter__(self) -> Iterator[List[int]]:
        for share in self._pieces():
            yield share.tolist()

    def __len__(self) -> int:
        return self._pieces_per_epoch


class HardnessWeightedSampler(_HandsOut, torch.utils.data.Sampler):
    """For ``DataLoader(..., sampler=...)``: single examples, each drawn when it is asked for.

    The loader puts its batches together itself, so an example may stand twice in one batch; with
    :class:`HardnessWeightedBatchSampler` it does not.

    Args:
        examples: the data set, the number of its examples, or an open :class:`hws.Sampler`.
        num_samples: how many examples one iteration hands out over all ranks; n unless told otherwise.
        num_replicas, rank, process_group, options: as in :class:`HardnessWeightedBatchSampler`.

    >>> import hws.torch
    >>> len(list(hws.torch.HardnessWeightedSampler(10, beta=10)))
    10
    """

    def __init__(self, examples: Any, num_samples: Optional[int] = None, *, num_replicas: Optional[int] = None,
                 rank: Optional[int] = None, process_group: Any = None, **options: Any):
        num_samples = _number_of(examples) if num_samples is None else as_count(num_samples, "num_samples")
        _HandsOut.__init__(self, examples, 1, num_samples, num_replicas, rank, process_group, options)
        self.num_samples = num_samples
        self._piece = self.num_replicas
        self._pieces_per_epoch = -(-num_samples // self.num_replicas)

    def _draw_piece(self) -> np.ndarray:
        # One draw for each rank, so that the ranks together see the sequence that a single process would.
        return np.concatenate([self.sampler.draw(1) for _ in range(self._piece)])

    def __iter__(self) -> Iterator[int]:
        for share in self._pieces():
            yield int(share[0])

    def __len__(self) -> int:
        return self._pieces_per_epoch


# ---- the loss ------------------------------------------------------------------------------------------------------


def per_example(losses: Tensor, count: int) -> Tensor:
    """One loss for each of ``count`` examples: the mean over all dimensions but the first.

    >>> import torch, hws.torch
    >>> hws.torch.per_example(torch.tensor([[1.0, 3.0], [2.0, 4.0]]), 2)
    tensor([2., 3.])
    """
    if not isinstance(losses, Tensor):
        raise ArgumentTypeError(f"the loss must be a tensor, not {type(losses).__name__}")
    if losses.ndim == 0 and count == 1:
        return losses.reshape(1)
    if losses.ndim == 0:
        raise ArgumentError(f"the loss is one number for {count} examples; it must be one for each: use a loss with "
                            "reduction='none'")
    if losses.shape[0] != count:
        raise ArgumentError(f"the loss has {losses.shape[0]} entries for {count} examples")
    return losses if losses.ndim == 1 else losses.flatten(1).mean(1)


class DROLoss(nn.Module):
    """Turns a loss into Algorithm 1's step: importance weights, the history's update, and the mean to go back from.

    Args:
        loss: a loss module (its ``reduction`` is set to "none" in a copy) or any function of (prediction, target) that
            returns one loss per example; further dimensions (pixels, voxels) are averaged.
        sampler: a sampler of :mod:`hws.torch`, an :class:`hws.Sampler` or a :class:`hws.shared.SharedSampler`.
        importance: weight the examples by clip(p_new / p_old), as the paper recommends where losses are noisy (data
            augmentation, dropout); its theory and its MNIST experiment do without. "paper" takes the normaliser as
            unchanged, "normalised" (KL only) keeps the mean weight at 1 while losses fall, "exact" replaces one loss in
            it; True is what the sampler was opened with, None or False gives no weights. A first visit weighs 1.

    In evaluation mode (``criterion.eval()``) it is the plain mean and leaves the history alone.

    >>> import hws, hws.torch, torch
    >>> sampler = hws.Sampler(4, beta=1)
    >>> criterion = hws.torch.DROLoss(torch.nn.MSELoss(), sampler, importance=False)
    >>> float(criterion(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]), torch.tensor([3, 1])))
    2.5
    >>> sampler.losses()
    array([nan,  4., nan,  1.], dtype=float32)
    """

    def __init__(self, loss: Union[nn.Module, Callable[..., Tensor]], sampler: Any,
                 importance: Union[str, bool, None] = True):
        super().__init__()
        if not callable(loss):
            raise ArgumentTypeError(f"loss must be a module or a function, not {type(loss).__name__}")
        if not (hasattr(sampler, "update") and hasattr(sampler, "importance_weights")):
            raise ArgumentTypeError(f"sampler must be one of hws, not {type(sampler).__name__}")
        if isinstance(loss, nn.Module) and hasattr(loss, "reduction"):
            loss = copy.copy(loss)
            loss.reduction = "none"
        self.loss = loss
        self.sampler = sampler
        if isinstance(importance, str):
            getattr(sampler, "sampler", sampler).importance = importance
        self.importance = bool(importance)
        #: The last step's losses and weights, one per example, outside the graph.
        self.last_losses: Optional[Tensor] = None
        self.last_weights: Optional[Tensor] = None
        self._weighted, self._clipped = 0, 0

    def forward(self, prediction: Any, target: Any, indices: Any) -> Tensor:
        return self.reduce(self.loss(prediction, target), indices)

    def reduce(self, losses: Tensor, indices: Any) -> Tensor:
        """The same for losses that have been computed already, one per example."""
        indices = as_indices(indices)
        losses = per_example(losses, len(indices))
        if not self.training:
            return losses.mean()
        self.last_losses = losses.detach()
        if isinstance(self.sampler, _HandsOut):
            weights = self.sampler.step(indices, self.last_losses, self.importance)
        else:
            weights = self.sampler.importance_weights(indices, self.last_losses) if self.importance else None
            self.sampler.update(indices, self.last_losses)
        if weights is None:
            self.last_weights = None
            return losses.mean()
        self._count_clipped(weights)
        self.last_weights = torch.from_numpy(np.ascontiguousarray(weights)).to(losses.device, losses.dtype)
        return (self.last_weights * losses).mean()

    def _count_clipped(self, weights: np.ndarray) -> None:
        options = getattr(self.sampler, "sampler", self.sampler)._weight_range
        self._weighted += len(weights)
        self._clipped += int(((weights <= options[0]) | (weights >= options[1])).sum())

    def clip_rate(self) -> float:
        """The share of importance weights that were clipped, since the last call of this method."""
        rate = self._clipped / self._weighted if self._weighted else 0.0
        self._weighted = self._clipped = 0
        return rate


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

    >>> import hws.shared, hws.torch
    >>> shared = hws.shared.SharedSampler([1.0, 9.0, 1.0], beta=1000)
    >>> list(hws.torch.SharedDraws("abc", shared, num_samples=2))
    [('b', 1), ('b', 1)]
    """

    def __init__(self, dataset: Any, shared: Union[SharedSampler, SharedHandle], num_samples: Optional[int] = None,
                 draw: int = 1):
        handle = shared.handle if isinstance(shared, SharedSampler) else shared
        if not isinstance(handle, SharedHandle):
            raise ArgumentTypeError(f"shared must be a SharedSampler or its handle, not {type(shared).__name__}")
        if len(handle) != len(dataset):
            raise ArgumentError(f"the sampler is of {len(handle)} examples, the data set of {len(dataset)}")
        self.dataset = dataset
        self.handle = handle
        self.num_samples = len(dataset) if num_samples is None else as_count(num_samples, "num_samples")
        self.draw = as_count(draw, "draw")
        if self.draw < 1:
            raise ArgumentError("draw must be at least 1")

    def __iter__(self) -> Iterator[Any]:
        info = get_worker_info()
        worker, workers = (info.id, info.num_workers) if info is not None else (0, 1)
        left = self.num_samples // workers + (worker < self.num_samples % workers)
        reader = self.handle.reader(worker)
        while left > 0:
            for index in reader.draw(min(self.draw, left)).tolist():
                yield _with_index(self.dataset[index], index)
                left -= 1

    def __len__(self) -> int:
        return self.num_samples
