"""Which rank of a distributed training this is, and what the ranks tell each other."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import numpy as np
import torch
import torch.distributed
from torch import Tensor

from ._arrays import as_count
from .errors import ArgumentError, OwnershipError


def initialised() -> bool:
    """Whether torch.distributed can be asked."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


class Ranks:
    """How many ranks share a draw and which one this is: as given, or as torch.distributed says.

    A sampler is often made before the process group. So what was not given is asked for again and again until
    :meth:`settle`, which is called when it begins to matter.
    """

    def __init__(self, count: Any, rank: Any, group: Any):
        self.group = group
        self._count = None if count is None else as_count(count, "num_replicas")
        self._rank = None if rank is None else as_count(rank, "rank")
        self._settled: Optional[Tuple[int, int]] = None
        if self._count == 0:
            raise ArgumentError("num_replicas must be at least 1")
        if self._count is not None and self._rank is not None:
            self.settle()

    @property
    def count(self) -> int:
        return self._now()[0]

    @property
    def rank(self) -> int:
        return self._now()[1]

    def settle(self) -> None:
        """From now on they stay as they are; refuses where torch.distributed has come to say something else."""
        if self._settled is None:
            self._settled = self._checked(*self._asked())
        elif initialised() and self._asked() != self._settled:
            now, before = self._asked(), self._settled
            raise OwnershipError(f"this sampler began as rank {before[1]} of {before[0]}, but torch.distributed says that it "
                                 f"is rank {now[1]} of {now[0]}: call init_process_group before the sampler's first draw "
                                 "or update, or make a new sampler after it")

    def _now(self) -> Tuple[int, int]:
        return self._settled or self._asked()

    def _asked(self) -> Tuple[int, int]:
        count, rank = self._count, self._rank
        if count is None:
            count = as_count(torch.distributed.get_world_size(self.group), "the world size") if initialised() else 1
        if rank is None:
            rank = as_count(torch.distributed.get_rank(self.group), "the rank") if initialised() else 0
        return count, rank

    def _checked(self, count: int, rank: int) -> Tuple[int, int]:
        if not rank < count:
            raise ArgumentError(f"rank {rank} of {count} replicas does not exist")
        if self._rank is None and count > 1 and not initialised():
            raise OwnershipError(f"there are {count} replicas, but which one is this? Give rank, or call "
                                 "init_process_group before the first draw")
        return count, rank


def _of_each(own: Tensor, group: Any) -> List[Tensor]:
    parts = [torch.empty_like(own) for _ in range(torch.distributed.get_world_size(group))]
    torch.distributed.all_gather(parts, own, group=group)
    return [part.cpu() for part in parts]


def exchanged(rows: Optional[np.ndarray], given: Any, group: Any = None) -> List[np.ndarray]:
    """The rows of numbers that each rank brings; how long they are may differ.

    A rank that refuses what it was given brings None, and raises its own error afterwards: then all the others raise too.
    ``given`` is the user's tensor, on whose device the exchange takes place where that matters.
    """
    on_gpu = torch.distributed.get_backend(group) == "nccl"
    device = (given.device if isinstance(given, Tensor) and given.is_cuda else "cuda") if on_gpu else "cpu"
    counts = [int(count) for count in
              _of_each(torch.tensor([-1 if rows is None else rows.shape[1]], device=device), group)]
    if rows is None:
        return []
    if min(counts) < 0:
        raise ArgumentError(f"rank {counts.index(-1)} has refused its indices or losses, and says why: no rank has learnt from "
                            "this step")
    # float64 holds every index below 2^53 and every float32 loss exactly.
    own = np.zeros((len(rows), max(counts)))
    own[:, :rows.shape[1]] = rows
    parts = _of_each(torch.from_numpy(own).to(device), group)
    return [part.numpy()[:, :count] for part, count in zip(parts, counts)]
