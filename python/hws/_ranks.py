"""What the ranks of a distributed training tell each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.distributed
from torch import Tensor


def exchanged(indices: np.ndarray, losses: np.ndarray, given: Any, ranks: int, group: Any = None) -> np.ndarray:
    """The indices and losses of all ranks, as an array [rank, 0 or 1, place]; each rank brings equally many."""
    # float64 holds every index below 2^53 and every float32 loss exactly: one exchange is enough.
    own = torch.from_numpy(np.stack([indices.astype(np.float64), losses.astype(np.float64)]))
    if torch.distributed.get_backend(group) == "nccl":
        own = own.to(given.device if isinstance(given, Tensor) and given.is_cuda else "cuda")
    parts = [torch.empty_like(own) for _ in range(ranks)]
    torch.distributed.all_gather(parts, own, group=group)
    return torch.stack(parts).cpu().numpy()
