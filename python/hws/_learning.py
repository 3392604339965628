"""What every way of handing losses back has in common: one loss per case, importance weights, the update."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

from ._pending import distinct
from .sampler import Sampler


class Crops(NamedTuple):
    """Which draw each item of a batch belongs to, and the draws' losses: the means over their items."""

    examples: np.ndarray
    losses: np.ndarray
    items: np.ndarray


def mean_over_crops(examples: np.ndarray, items: np.ndarray, losses: np.ndarray) -> Crops:
    if len(examples) == len(items):
        return Crops(examples, losses, items)
    counts = np.bincount(items, minlength=len(examples))
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite stays so, and is dealt with by name
        means = (np.bincount(items, losses, len(examples)) / counts).astype(np.float32)
    return Crops(examples, means, items)


def learn(sampler: Sampler, indices: np.ndarray, losses: np.ndarray, importance: bool,
          skip_non_finite: bool) -> Optional[np.ndarray]:
    """Writes the losses of these draws into the history; an example drawn twice gets their mean.

    Returns the importance weights, one for each draw, if they are asked for. With ``skip_non_finite`` the examples whose
    loss is NaN or infinite keep the loss they had, and weigh 1.
    """
    cases = mean_over_crops(*distinct(indices), losses)
    fresh = cases.losses[cases.items]
    finite = np.isfinite(cases.losses)
    if not skip_non_finite or finite.all():
        weights = sampler.importance_weights(indices, fresh) if importance else None
        sampler.update(cases.examples, cases.losses)
        return weights
    known = finite[cases.items]
    weights = None
    if importance:
        weights = np.ones(len(indices), np.float32)
        weights[known] = sampler.importance_weights(indices[known], fresh[known])
    if finite.any():
        sampler.update(cases.examples[finite], cases.losses[finite])
    return weights


def learn_batch(sampler: Any, indices: np.ndarray, losses: np.ndarray, importance: bool,
                skip_non_finite: bool) -> Optional[np.ndarray]:
    """The same for the items of a batch, of which several may be crops of one case; one weight for each item."""
    crops = mean_over_crops(*distinct(indices), losses)
    weights = learn(sampler, crops.examples, crops.losses, importance, skip_non_finite)
    return None if weights is None else weights[crops.items]
