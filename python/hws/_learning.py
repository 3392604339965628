"""What every way of handing losses back has in common: one loss per case, importance weights, the update."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from ._pending import distinct
from .sampler import Sampler


class Crops(NamedTuple):
    """Which draw each item of a batch belongs to, the draws' losses (the means over their items) and which have one."""

    examples: np.ndarray
    losses: np.ndarray
    items: np.ndarray
    counted: np.ndarray


def mean_over_crops(examples: np.ndarray, items: np.ndarray, losses: np.ndarray,
                    counted: Optional[np.ndarray] = None) -> Crops:
    """``counted`` says which items have a loss at all; all of them unless told otherwise."""
    has_loss: np.ndarray = np.ones(len(losses), bool) if counted is None else np.asarray(counted, bool)
    if len(examples) == len(items):
        return Crops(examples, losses, items, has_loss)
    counts = np.bincount(items, has_loss, len(examples))
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite stays so, and is dealt with by name
        sums = np.bincount(items, np.where(has_loss, losses, 0), len(examples))
        means = (sums / np.maximum(counts, 1)).astype(np.float32)
    return Crops(examples, means, items, counts > 0)


def learn(sampler: Sampler, indices: np.ndarray, losses: np.ndarray, importance: bool, skip_non_finite: bool,
          counted: Optional[np.ndarray] = None) -> Optional[np.ndarray]:
    """Writes the losses of these draws into the history; an example drawn twice gets their mean.

    Returns the importance weights, one for each draw, if they are asked for. Examples of which no draw is ``counted``, and
    with ``skip_non_finite`` those whose loss is NaN or infinite, keep the loss they had, and weigh 1.
    """
    cases = mean_over_crops(*distinct(indices), losses, counted)
    fresh = cases.losses[cases.items]
    learnt = cases.counted & np.isfinite(cases.losses) if skip_non_finite else cases.counted
    if learnt.all():
        weights = sampler.importance_weights(indices, fresh) if importance else None
        sampler.update(cases.examples, cases.losses)
        return weights
    known = learnt[cases.items]
    weights = None
    if importance:
        weights = np.ones(len(indices), np.float32)
        weights[known] = sampler.importance_weights(indices[known], fresh[known])
    if learnt.any():
        sampler.update(cases.examples[learnt], cases.losses[learnt])
    return weights


def learn_batch(sampler: Any, indices: np.ndarray, losses: np.ndarray, importance: bool, skip_non_finite: bool,
                counted: Optional[np.ndarray] = None) -> Optional[np.ndarray]:
    """The same for the items of a batch, of which several may be crops of one case; one weight for each item."""
    crops = mean_over_crops(*distinct(indices), losses, counted)
    weights = learn(sampler, crops.examples, crops.losses, importance, skip_non_finite, crops.counted)
    return None if weights is None else weights[crops.items]
