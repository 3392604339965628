"""Losses per case: any loss run case by case, and Algorithm 1's step around it."""

from __future__ import annotations

import copy
import warnings
from collections import Counter
from numbers import Number
from typing import Any, Callable, Counter as CounterType, Iterator, Mapping, Optional, Union

import numpy as np
import torch
from torch import Tensor, nn

from ._arrays import as_indices, as_losses
from ._learning import learn_batch
from ._recipes import RECIPES
from .errors import ArgumentError, ArgumentTypeError, HwsError, NotFiniteError

Loss = Union[nn.Module, Callable[..., Tensor]]

# What they reduce are losses of elements, so these can be had and reduced per example at once.
_OF_LABELS = (nn.CrossEntropyLoss, nn.NLLLoss)
_ELEMENTWISE = (nn.L1Loss, nn.MSELoss, nn.SmoothL1Loss, nn.HuberLoss, nn.BCELoss, nn.BCEWithLogitsLoss, *_OF_LABELS)


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
        raise ArgumentError(f"the loss is one number for {count} examples; it must be one for each: wrap it in "
                            "hws.torch.PerCase")
    if losses.shape[0] != count:
        raise ArgumentError(f"the loss has {losses.shape[0]} entries for {count} examples")
    return losses if losses.ndim == 1 else losses.flatten(1).mean(1)


def _require_loss(loss: Any) -> None:
    if not callable(loss):
        raise ArgumentTypeError(f"loss must be a module or a function, not {type(loss).__name__}")
    if isinstance(loss, type):
        raise ArgumentTypeError(f"loss is the class {loss.__name__}: give an object of it, such as {loss.__name__}()")


# ---- case by case --------------------------------------------------------------------------------------------------


def _leaves(value: Any) -> Iterator[Any]:
    """What a value consists of, however it is nested."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for entry in value:
            yield from _leaves(entry)
    else:
        yield value


def _batch_size_if_known(prediction: Any) -> Optional[int]:
    for leaf in _leaves(prediction):
        if isinstance(leaf, Tensor) and leaf.ndim > 0:
            return int(leaf.shape[0])
    return None


def _batch_size(prediction: Any) -> int:
    count = _batch_size_if_known(prediction)
    if count is not None:
        return count
    raise ArgumentTypeError(f"the prediction is a {type(prediction).__name__} without a tensor that has a batch "
                            "dimension: how many cases there are cannot be told")


def _holds_numbers_only(value: Any) -> bool:
    leaves = list(_leaves(value))
    return any(isinstance(leaf, Number) for leaf in leaves) and not any(isinstance(leaf, (Tensor, np.ndarray)) for leaf in leaves)


def _refuse_numbers(value: Any) -> None:
    """Refuses a list of plain numbers: whether it has one for each case cannot be told."""
    if _holds_numbers_only(value):
        raise ArgumentTypeError(f"a {type(value).__name__} of numbers cannot be cut into cases: give a tensor")


def _case(value: Any, case: int, count: int) -> Any:
    """The same value for one case, as a batch of one."""
    if isinstance(value, (Tensor, np.ndarray)):
        if value.ndim == 0:
            return value
        if value.shape[0] != count:
            kind = "a tensor" if isinstance(value, Tensor) else "an array"
            raise ArgumentError(f"{kind} of shape {tuple(value.shape)} is not of a batch of {count} cases")
        return value[case:case + 1]
    if isinstance(value, Mapping):
        return {name: _case(entry, case, count) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        _refuse_numbers(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_case(entry, case, count) for entry in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_case(entry, case, count) for entry in value)
    return value


def _named_case(value: Any, case: int, count: int) -> Any:
    """The same of a named argument, which may also say something about all cases, such as spacing=(1, 1, 1)."""
    is_list = isinstance(value, (list, tuple))
    return value if is_list and len(value) != count and _holds_numbers_only(value) else _case(value, case, count)


class PerCase(nn.Module):
    """Runs a loss on one case of the batch after the other, each in the loss's own reduction: one number per case.

    For losses that give one number for a whole batch, whatever they are made of: Dice + cross entropy, class weights,
    labels to ignore, regions, deep supervision. Prediction and target may be tensors (the target also a numpy array), or
    lists, tuples and dicts of them; each is cut along its first dimension, and the loss sees batches of one.

    Args:
        loss: a module or function of (prediction, target) that returns one number for a batch.

    A loss that looks at the batch as a whole (a Dice over all cases together) becomes one that looks at each case.

    >>> import torch, hws.torch
    >>> loss = hws.torch.PerCase(torch.nn.CrossEntropyLoss(ignore_index=2))
    >>> logits, target = torch.zeros(2, 3, 4), torch.tensor([[0, 1, 2, 2], [2, 2, 2, 0]])
    >>> [round(value, 4) for value in loss(logits, target).tolist()]
    [1.0986, 1.0986]
    """

    def __init__(self, loss: Loss):
        super().__init__()
        _require_loss(loss)
        self.loss = loss

    def forward(self, prediction: Any, *others: Any, **named: Any) -> Tensor:
        """One loss for each case of the prediction, in the order of the batch; other arguments are cut into cases alike."""
        count = _batch_size(prediction)
        losses = []
        for case in range(count):
            loss = self.loss(_case(prediction, case, count), *(_case(other, case, count) for other in others),
                             **{name: _named_case(entry, case, count) for name, entry in named.items()})
            if not isinstance(loss, Tensor):
                raise ArgumentTypeError(f"the loss must be a tensor, not {type(loss).__name__}")
            losses.append(loss if loss.ndim == 0 else loss.mean())
        return torch.stack(losses) if losses else torch.zeros(0)


class _Unreduced(nn.Module):
    """A loss of torch that is a mean or sum over elements, as one number per example, without a loop over examples."""

    def __init__(self, loss: nn.Module):
        super().__init__()
        self.loss = loss
        self.each = copy.copy(loss)
        self.each.reduction = "none"  # type: ignore[assignment]
        #: Which examples of the last call had labels that count; None where all do, whatever their labels.
        self.counted: Optional[Tensor] = None

    def forward(self, prediction: Any, target: Any) -> Tensor:
        self.counted = None
        if not isinstance(self.loss, _OF_LABELS) and 0 < target.ndim != prediction.ndim:
            raise ArgumentError(f"the prediction is of shape {tuple(prediction.shape)}, the target of {tuple(target.shape)}: "
                                f"{type(self.loss).__name__} would compare examples with the targets of others")
        losses = self.each(prediction, target)
        count = _batch_size(prediction)
        if losses.ndim == 0 or losses.shape[0] != count:
            return losses  # refused by name later
        wide = torch.promote_types(losses.dtype, torch.float32)  # float16 ends at 65504, fewer than a volume has voxels
        if self.loss.reduction == "sum":
            return losses.reshape(count, -1).sum(1, dtype=wide)
        if not isinstance(self.loss, _OF_LABELS) or target.is_floating_point():
            return losses
        shares = self._shares(target, wide).reshape(count, -1).sum(1)
        return self._means(losses.reshape(count, -1).sum(1, dtype=wide), shares)

    def _means(self, sums: Tensor, shares: Tensor) -> Tensor:
        """The mean loss of each example; 0, without a gradient, for one in which nothing counts: its mean is 0 / 0."""
        empty = shares == 0
        self.counted = ~empty
        return (sums / shares.masked_fill(empty, 1)).masked_fill(empty, 0)

    def _shares(self, target: Tensor, dtype: torch.dtype) -> Tensor:
        """For how much each label counts in a mean of torch's: for its class's weight, and for nothing if it is ignored."""
        kept = target != self.loss.ignore_index
        weight = self.loss.weight
        return kept.to(dtype) if weight is None else weight[torch.where(kept, target, 0)].to(dtype) * kept


class _Whatever(nn.Module):
    """A loss of which nobody knows what it returns: one number for the batch makes it one that runs case by case."""

    def __init__(self, loss: Loss):
        super().__init__()
        self.loss = loss
        self.per_case: Optional[PerCase] = None

    def forward(self, prediction: Any, target: Any) -> Tensor:
        if self.per_case is not None:
            return self.per_case(prediction, target)
        losses = self.loss(prediction, target)
        if isinstance(losses, Tensor) and losses.ndim == 0 and _batch_size(prediction) > 1:
            self.per_case = PerCase(self.loss)
            return self.per_case(prediction, target)
        return losses


def _made_per_example(loss: Loss) -> nn.Module:
    """What gives one loss per example without changing what the loss means."""
    _require_loss(loss)
    reduction = getattr(loss, "reduction", None) if isinstance(loss, nn.Module) else None
    if reduction in ("mean", "sum") and type(loss) in _ELEMENTWISE:
        return _Unreduced(loss)  # type: ignore[arg-type]
    if reduction in ("mean", "sum"):
        return PerCase(loss)
    return loss if isinstance(loss, PerCase) else _Whatever(loss)


def _recipe_weighs(sampler: Any) -> bool:
    """Whether the recipe has importance weights; of which kind, the sampler says."""
    recipe = RECIPES.get(getattr(sampler, "recipe", None) or "")
    return recipe is not None and recipe.importance


# ---- Algorithm 1 -----------------------------------------------------------------------------------------------------


class DROLoss(nn.Module):
    """Turns a loss into Algorithm 1's step: the history's update, importance weights if wanted, the mean to go back from.

    Args:
        loss: a loss module or any function of (prediction, target). One that returns a loss per example is taken as it
            is, further dimensions (pixels, voxels) averaged. One that reduces runs case by case (:class:`PerCase`), in
            its own reduction; those of torch that are means or sums over elements are computed for all cases at once.
        sampler: a sampler of :mod:`hws.torch`, an :class:`hws.Sampler` or a :class:`hws.shared.SharedSampler`.
        importance: None is what the sampler's recipe says: no weights, but for "paper-volumes". False gives none in any
            case. Otherwise the examples are weighted by clip(p_new / p_old), as the paper recommends where losses are
            noisy (data augmentation, dropout); its theory and its MNIST experiment do without. "paper" takes the
            normaliser as unchanged, which stalls learning while all losses fall, "normalised" (KL only) keeps the mean
            weight near 1 as long as the effective sample size is well above the batch, "exact" replaces one loss in it;
            True is what the sampler has. A first visit weighs 1, unless the example has an initial loss. A kind that is
            named here is set in each step, whatever state the sampler has taken over and whatever another criterion has
            asked for.
        skip_non_finite: leave a loss that is NaN or infinite out of the history instead of raising: under automatic
            mixed precision GradScaler then skips the step. ``skipped`` counts them by example.

    Several items of one example (crops of a case) are one visit: the history gets their mean, and each has its weight.

    With torch's cross entropy or NLLLoss, an item whose labels are all ignored (``ignore_index``) has no loss: it adds 0 to
    the mean over the batch and leaves the history alone.

    In evaluation mode (``criterion.eval()``) it is the plain mean and leaves the history alone.

    >>> import hws, hws.torch, torch
    >>> sampler = hws.Sampler(4, beta=1)
    >>> criterion = hws.torch.DROLoss(torch.nn.MSELoss(), sampler)
    >>> float(criterion(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 0.0]), torch.tensor([3, 1])))
    2.5
    >>> sampler.losses()
    array([nan,  4., nan,  1.], dtype=float32)
    """

    def __init__(self, loss: Loss, sampler: Any, importance: Union[str, bool, None] = None,
                 skip_non_finite: bool = False):
        super().__init__()
        if not (hasattr(sampler, "update") and hasattr(sampler, "importance_weights")):
            raise ArgumentTypeError(f"sampler must be one of hws, not {type(sampler).__name__}")
        self.loss = _made_per_example(loss)
        self.sampler = sampler
        if importance is not None and not isinstance(importance, (str, bool, np.bool_)):
            raise ArgumentTypeError(f"importance must be a string, a bool or None, not {type(importance).__name__}")
        if importance is None:
            importance = _recipe_weighs(sampler)
        self._kind = importance if isinstance(importance, str) else None
        self._set_kind()
        self.importance = bool(importance)
        self.skip_non_finite = bool(skip_non_finite)
        #: The last step's losses and weights, one per item, outside the graph.
        self.last_losses: Optional[Tensor] = None
        self.last_weights: Optional[Tensor] = None
        #: How often a loss of each example was not finite, and skipped.
        self.skipped: CounterType[int] = Counter()
        self._expected: Optional[np.ndarray] = None
        self._weighted, self._clipped = 0, 0

    def expect(self, indices: Any) -> None:
        """Says which examples the next call is about, where a framework calls ``criterion(prediction, target)``.

        It is of use for that call alone, whether or not it is needed there.

        >>> import hws, hws.torch, torch
        >>> criterion = hws.torch.DROLoss(torch.nn.MSELoss(), hws.Sampler(4))
        >>> criterion.expect([3, 1])
        >>> float(criterion(torch.ones(2), torch.zeros(2)))
        1.0
        """
        self._expected = as_indices(indices).copy()

    def forward(self, prediction: Any, target: Any, indices: Any = None) -> Tensor:
        """The mean of the weighted losses, to go back from; the losses are written into the history.

        Args:
            prediction, target: what the loss takes.
            indices: which example each item of the batch is of. Without them, in training, they are those of the last
                :meth:`expect`; in evaluation mode none are needed.
        """
        expected, self._expected = self._expected, None
        if _batch_size_if_known(prediction) == 0:
            raise ArgumentError("the batch is empty")
        self._warn_of_class_weights(target)
        losses = self.loss(prediction, target)
        if indices is None:
            if not self.training:
                return per_example(losses, _batch_size(prediction)).mean()
            if expected is None:
                raise ArgumentError("which examples is this loss of? Call criterion(prediction, target, indices), or "
                                    "criterion.expect(indices) before each call")
            indices = expected
        return self._reduced(losses, indices, self.loss.counted if isinstance(self.loss, _Unreduced) else None)

    def reduce(self, losses: Tensor, indices: Any) -> Tensor:
        """The same for losses that have been computed already, one per item."""
        self._expected = None
        return self._reduced(losses, indices, None)

    def _reduced(self, losses: Tensor, indices: Any, counted: Optional[Tensor]) -> Tensor:
        try:
            indices = as_indices(indices)
            if len(indices) == 0:
                raise ArgumentError("the batch is empty")
            losses = per_example(losses, len(indices))
        except HwsError:
            if self.training and hasattr(self.sampler, "refuse"):
                self.sampler.refuse(losses)  # the other ranks must not wait
            raise
        if not self.training:
            return losses.mean()
        self.last_losses = losses.detach()
        weights = self._learn(indices, self.last_losses, None if counted is None else counted.cpu().numpy())
        if weights is None:
            self.last_weights = None
            return losses.mean()
        self._count_clipped(weights)
        self.last_weights = torch.from_numpy(np.ascontiguousarray(weights)).to(losses.device, losses.dtype)
        return (self.last_weights * losses).mean()

    def _set_kind(self) -> None:
        core = getattr(self.sampler, "sampler", self.sampler)
        if self._kind is not None and core.importance != self._kind:
            core.importance = self._kind

    def _learn(self, indices: np.ndarray, losses: Tensor, counted: Optional[np.ndarray]) -> Optional[np.ndarray]:
        self._set_kind()
        numbers = as_losses(losses)
        some = {} if counted is None or counted.all() else {"counted": counted}
        try:
            if hasattr(self.sampler, "step"):
                weights = self.sampler.step(indices, losses, self.importance, self.skip_non_finite, **some)
            else:
                weights = learn_batch(self.sampler, indices, numbers, self.importance, self.skip_non_finite, **some)
        except NotFiniteError as error:
            if losses.dtype == torch.float16 or torch.is_autocast_enabled():
                raise NotFiniteError(f"{error}. Under automatic mixed precision this happens now and then: "
                                     "DROLoss(..., skip_non_finite=True) leaves such a loss out", error.position,
                                     error.example) from None
            if "nan" in str(error) and isinstance(getattr(self.loss, "per_case", self.loss), PerCase):
                raise NotFiniteError(f"{error}. A mean over labels is NaN also where all labels of the example are "
                                     "ignored", error.position, error.example) from None
            raise
        if self.skip_non_finite:
            self.skipped.update(np.unique(indices[~np.isfinite(numbers)]).tolist())
        return weights

    def _warn_of_class_weights(self, target: Any) -> None:
        loss = self.loss.loss if isinstance(self.loss, (PerCase, _Unreduced)) else None
        if isinstance(loss, (nn.CrossEntropyLoss, nn.NLLLoss)) and loss.reduction == "mean" and loss.weight is not None \
                and isinstance(target, Tensor) and target.ndim == 1:
            warnings.warn("a class weight divided by itself is 1: with one label per example the weights of "
                          f"{type(loss).__name__} have no effect on the loss of an example. With reduction='none' they "
                          "multiply it", stacklevel=4)

    def _count_clipped(self, weights: np.ndarray) -> None:
        options = getattr(self.sampler, "sampler", self.sampler)._weight_range
        self._weighted += len(weights)
        self._clipped += int(((weights <= options[0]) | (weights >= options[1])).sum())

    def clip_rate(self) -> float:
        """The share of importance weights that were clipped, since the last call of this method."""
        rate = self._clipped / self._weighted if self._weighted else 0.0
        self._weighted = self._clipped = 0
        return rate
