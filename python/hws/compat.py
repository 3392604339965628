"""The classes of the paper's package, on top of libhws: existing code changes its imports and nothing else.

    from hws.compat import BatchWeightedSampler, UnreducedLossFunction, WeightedSampler

Signatures, attributes, file format of ``save_weights`` and exceptions are those of the paper's package, and so is what
is drawn: softmax(beta * weights) with a floor of 1e-4 / n, without replacement. What differs:

- A :class:`WeightedSampler` handed to a DataLoader as ``sampler=`` weights the examples, as its documentation promises.
  The paper's package draws all n of n examples without replacement there: a permutation, whatever the weights.
- ``weights`` is a copy of the history: assign to the attribute or call ``update_weight`` to change it; writing into the
  tensor changes nothing. It is float32.
- :class:`UnreducedLossFunction` refuses a loss that is one number for several examples. The paper's package stores that
  number as if it were a batch.
- Weights that are NaN or infinite are refused, with the number of the example.
- Nothing is printed.

A draw costs O(log n) instead of O(n). Randomness comes from a seed, taken from numpy's global generator unless given:
``np.random.seed`` makes runs repeatable as before, but the draws are others.
"""

from __future__ import annotations

import inspect
import math
import pickle
from typing import Any, Iterator, List, Optional

import numpy as np
import torch
from torch import Tensor, nn

from ._arrays import as_number, is_array
from .divergence import probabilities
from .errors import HwsError
from .sampler import HasBeta, Sampler
from .shared import stream_seed
from .torch import per_example

__all__ = ["WeightedSampler", "BatchWeightedSampler", "UnreducedLossFunction", "CompatError"]


class CompatError(HwsError, AssertionError, ValueError):
    """A wrong argument; an AssertionError too, as in the paper's package."""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise CompatError(message)


_NO_WEIGHTS = "weights_init must be a number or a 1d tensor"


def _constant(weights_init: Any) -> float:
    """A number of Python's or numpy's, or a tensor that is one."""
    try:
        return as_number(weights_init, "weights_init")
    except HwsError:
        raise CompatError(_NO_WEIGHTS) from None


def _load_tensors(path: Any) -> Any:
    """What torch.save has written, as far as it is tensors."""
    if "weights_only" not in inspect.signature(torch.load).parameters:  # PyTorch before 1.13
        return torch.load(path, map_location="cpu")
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise CompatError(f"{path} holds no weights: {error}") from None


class WeightedSampler(HasBeta, torch.utils.data.Sampler):
    """Draws examples with probability softmax(beta * weights), one weight (stale loss) per example.

    Args:
        beta: robustness, from 0 (empirical risk) upwards.
        weights_init: the initial weight of all examples, or a 1d tensor of them.
        num_samples: the number of examples; needed with a constant ``weights_init``.
        momentum: weight <- momentum * weight + (1 - momentum) * new.
        seed: not in the paper's package; from numpy's global generator unless given.

    >>> import torch
    >>> from hws.compat import WeightedSampler
    >>> sampler = WeightedSampler(beta=100, weights_init=torch.tensor([1.0, 3.0, 2.0]))
    >>> sampler.hardest_samples_indices(num=2)
    [1, 2]
    >>> sampler.update_weight(0, 9.0)
    >>> sampler.draw_samples(1)
    [0]
    """

    def __init__(self, beta: float = 100, weights_init: Any = 1, num_samples: int = -1, momentum: float = 0.0,
                 seed: Optional[int] = None):
        initial, examples = 1.0, weights_init
        if not is_array(weights_init):
            initial, examples = _constant(weights_init), num_samples
            _require(num_samples > 0, "num_samples must be given with a constant weights_init")
        else:
            _require(np.ndim(weights_init) == 1, _NO_WEIGHTS)
            _require(num_samples <= 0 or num_samples == len(weights_init),
                     f"weights_init has {len(weights_init)} entries, num_samples is {num_samples}")
        self._open(examples, beta, momentum, seed, initial)

    def _open(self, examples: Any, beta: float, momentum: float, seed: Optional[int], initial: float) -> None:
        if seed is None:
            seed = int(np.random.randint(0, 2**63 - 1, dtype=np.int64))
        self.sampler = Sampler(examples, beta=beta, momentum=momentum, seed=seed, initial_loss=initial, jitter=1e-3,
                               floor=1e-4, weight_min=0.0, weight_max=math.inf)

    def _reopen(self, examples: Any, momentum: float) -> None:
        """The same with what a sampler cannot change. The seed stays; after draws one that follows from it comes next."""
        seed, draws = self.sampler.options["seed"], self.sampler.draws_made
        if draws:  # with the seed alone, the same random numbers would come once more
            seed = stream_seed(seed, 0, draws)
        self._open(examples, self.beta, momentum, seed, 1.0)

    @property
    def num_samples(self) -> int:
        return len(self.sampler)

    @property
    def momentum(self) -> float:
        return self.sampler.options["momentum"]

    @momentum.setter
    def momentum(self, value: float) -> None:
        self._reopen(self.sampler.losses(), value)

    @property
    def weights(self) -> Tensor:
        """A copy of the weights. Assign to this attribute to replace them all."""
        return torch.from_numpy(self.sampler.losses())

    @weights.setter
    def weights(self, values: Any) -> None:
        _require(np.ndim(values) == 1, "weights must be a 1d tensor")
        if len(values) == len(self.sampler):
            self.sampler.set_losses(values)
        else:
            self._reopen(values, self.momentum)

    def get_distribution(self) -> Tensor:
        """softmax(beta * weights), without the floor."""
        return torch.from_numpy(probabilities(self.sampler.losses(), self.beta)).float()

    def draw_samples(self, n: int) -> List[int]:
        """Draws n different examples."""
        return self.sampler.draw(n).tolist()

    def get_importance_sampling_weights(self, batch_new_weights: Tensor, batch_indices: Any) -> Tensor:
        """exp(beta * (1 - momentum) * (new - old)), not clipped. To be called before the weights are updated."""
        _require(len(batch_indices) == len(batch_new_weights),
                 f"there are {len(batch_indices)} indices but {len(batch_new_weights)} weights")
        return torch.from_numpy(self.sampler.importance_weights(batch_indices, batch_new_weights))

    def update_weight(self, idx: int, new_weight: float) -> None:
        """Takes the new weight of one example into the history, with momentum."""
        self.sampler.update(idx, new_weight)

    def save_weights(self, save_path: Any) -> None:
        """Saves the weights, and nothing else, with torch.save; ``sampler.state_dict()`` holds everything."""
        torch.save(self.weights, save_path)

    def load_weights(self, weights_path: Any) -> None:
        """Loads weights that :meth:`save_weights`, or the paper's package, saved.

        From PyTorch 1.13 on nothing but tensors is read from the file: one that would run code is refused.
        """
        weights = _load_tensors(weights_path)
        _require(isinstance(weights, Tensor) and weights.ndim == 1, f"{weights_path} holds no 1d tensor of weights")
        self.weights = weights

    def hardest_samples_indices(self, num: int = 100) -> List[int]:
        """The examples with the highest weights, hardest first; all of them if ``num`` is larger."""
        return self.sampler.hardest(min(num, len(self.sampler)))[0].tolist()

    def __iter__(self) -> Iterator[int]:
        """num_samples examples, each drawn with the weights of the moment in which it is asked for."""
        for _ in range(len(self)):
            yield int(self.sampler.draw(1)[0])

    def __len__(self) -> int:
        return len(self.sampler)


class BatchWeightedSampler(torch.utils.data.BatchSampler):
    """Batches of a :class:`WeightedSampler`, each drawn when it is asked for, with the weights of that moment.

    Args:
        sampler: a WeightedSampler.
        batch_size: the number of examples in each batch.
        drop_last: whether an epoch is floor or ceil(num_samples / batch_size) batches long.

    >>> import torch
    >>> from hws.compat import BatchWeightedSampler, WeightedSampler
    >>> batches = BatchWeightedSampler(WeightedSampler(num_samples=10), batch_size=4)
    >>> for indices in batches:
    ...     batches.update_weights(torch.rand(4), indices)
    >>> len(batches), len(batches.batch)
    (3, 4)
    """

    sampler: WeightedSampler

    def __init__(self, sampler: WeightedSampler, batch_size: int, drop_last: bool = False):
        _require(isinstance(sampler, WeightedSampler), "sampler must be a WeightedSampler")
        super().__init__(sampler, batch_size, drop_last)

    @property
    def num_samples(self) -> int:
        return self.sampler.num_samples

    @property
    def beta(self) -> float:
        return self.sampler.beta

    def update_weights(self, batch_new_weights: Tensor, indices: Any) -> None:
        """Takes the new weights of these examples into the history."""
        _require(len(indices) == len(batch_new_weights),
                 f"there are {len(indices)} indices but {len(batch_new_weights)} weights")
        self.sampler.sampler.update(indices, batch_new_weights)

    def get_importance_sampling_weights(self, batch_new_weights: Tensor, indices: Any) -> Tensor:
        return self.sampler.get_importance_sampling_weights(batch_new_weights, indices)

    def __iter__(self) -> Iterator[List[int]]:
        for _ in range(len(self)):
            batch = self.sampler.draw_samples(self.batch_size)
            self.batch = list(batch)
            yield batch

    def __len__(self) -> int:
        full, rest = divmod(len(self.sampler), self.batch_size)
        return full if self.drop_last or not rest else full + 1


class UnreducedLossFunction(nn.Module):
    """A loss that returns the mean or sum over the batch and keeps the losses of the single examples.

    Args:
        reduced_loss_func: a loss module with an attribute ``reduction``.
        reduction: "mean" or "sum".

    After a call, ``loss_batch`` holds one loss per example, averaged over pixels or voxels.

    >>> import torch
    >>> from hws.compat import UnreducedLossFunction
    >>> loss = UnreducedLossFunction(torch.nn.MSELoss())
    >>> loss(torch.tensor([[1.0, 1.0], [2.0, 0.0]]), torch.zeros(2, 2)), loss.loss_batch
    (tensor(1.5000), tensor([1., 2.]))
    """

    def __init__(self, reduced_loss_func: nn.Module, reduction: str = "mean"):
        super().__init__()
        _require(isinstance(reduced_loss_func, nn.Module),
                 f"reduced_loss_func must be a torch.nn.Module, not {type(reduced_loss_func).__name__}")
        _require(reduction in ("mean", "sum"), f"reduction must be 'mean' or 'sum', not {reduction!r}")
        self.func = reduced_loss_func
        self.reduction = reduction
        self.loss_batch: Optional[Tensor] = None

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The mean or sum over the batch; ``loss_batch`` then holds the losses of its examples."""
        setattr(self.func, "reduction", "none")
        self.loss_batch = per_example(self.func(input, target), len(input))
        return self.loss_batch.sum() if self.reduction == "sum" else self.loss_batch.mean()
