"""Which rank of a distributed training this is, and what the ranks tell each other."""

from __future__ import annotations

from typing import Any, Optional, Tuple

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


def exchanged(indices: np.ndarray, losses: np.ndarray, given: Any, ranks: int, group: Any = None) -> np.ndarray:
    """The indices and losses of all ranks, as an array [rank, 0 or 1, place]; each rank brings equally many."""
    # float64 holds every index below 2^53 and every float32 loss exactly: one exchange is enough.
    own = torch.from_numpy(np.stack([indices.astype(np.float64), losses.astype(np.float64)]))
    if torch.distributed.get_backend(group) == "nccl":
        own = own.to(given.device if isinstance(given, Tensor) and given.is_cuda else "cuda")
    parts = [torch.empty_like(own) for _ in range(ranks)]
    torch.distributed.all_gather(parts, own, group=group)
    return torch.stack(parts).cpu().numpy()
