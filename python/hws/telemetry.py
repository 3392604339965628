"""What a sampler has to say, to TensorBoard or anything with the same methods."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, Optional

import numpy as np

from .errors import ArgumentTypeError
from .sampler import Sampler

__all__ = ["collect", "concerns", "log", "summary_writer"]


def _core(sampler: Any) -> Sampler:
    """The :class:`hws.Sampler` within a sampler of any kind."""
    core = sampler
    while not isinstance(core, Sampler):
        if not hasattr(core, "sampler"):
            raise ArgumentTypeError(f"sampler must be one of hws, not {type(sampler).__name__}")
        core = core.sampler
    return core


def collect(sampler: Any, criterion: Any = None) -> Dict[str, float]:
    """The telemetry of a sampler of any kind as a flat dict; with a DROLoss, its clip rate too.

    >>> import hws, hws.telemetry
    >>> hws.telemetry.collect(hws.Sampler([1.0, 3.0], beta=0))["loss_mean"]
    2.0
    """
    core = _core(sampler)
    values = sampler.telemetry() if hasattr(sampler, "telemetry") else core.statistics()
    values = {**values, "beta": core.beta}
    if criterion is not None:
        values["clip_rate"] = criterion.clip_rate()
    return values


#: What to do about each concern, in the words of a training loop of one's own.
_REMEDIES = {
    "unseen": "an epoch is too short to see all of them, or not all losses come back through DROLoss or update()",
    "few": "Lower beta, choose a larger tail or set uniform_mix, and look at hardest()",
}


def concerns(sampler: Any, batch_size: int) -> List[str]:
    """What is wrong with a sampler after an epoch of batches of this size, in words; empty if nothing is.

    The samplers of :mod:`hws.torch` tell the same by ``check()``, and warn of it at the end of an epoch.

    >>> import hws, hws.telemetry
    >>> hws.telemetry.concerns(hws.Sampler([1.0, 9.0, 1.0], beta=10), batch_size=2)  # doctest: +ELLIPSIS
    ['draws are spread over 1.0 examples in effect, fewer than a batch of 2 ...']
    """
    return list(concerns_by_kind(sampler, batch_size).values())


def concerns_by_kind(sampler: Any, batch_size: int, remedies: Mapping[str, str] = _REMEDIES) -> Dict[str, str]:
    """The same by what it is about: "unseen", "few"."""
    warming_up = getattr(sampler, "warming_up", False)  # then draws do not follow the losses
    sampler = _core(sampler)
    statistics = sampler.statistics()
    found = {}
    if statistics["unseen"] > 0:
        found["unseen"] = f"{statistics['unseen']} of {len(sampler)} examples have no loss yet: {remedies['unseen']}"
    first_visits = statistics["unseen"] >= batch_size  # whole batches of them
    if not warming_up and not first_visits and statistics["effective_size"] < batch_size:
        found["few"] = (f"draws are spread over {statistics['effective_size']:.1f} examples in effect, fewer than a batch of "
                        f"{batch_size} holds: the same few are trained on again and again (beta is {statistics['beta']:g}). "
                        f"{remedies['few']}")
    return found


def log(writer: Any, sampler: Any, step: int, criterion: Any = None, prefix: str = "hws",
        histogram: bool = False) -> Dict[str, float]:
    """Writes the telemetry as scalars ``prefix/name`` and returns it.

    Args:
        writer: a SummaryWriter or anything with ``add_scalar(tag, value, step)``; None writes nothing.
        sampler: a sampler of hws.
        criterion: a DROLoss, for its clip rate.
        histogram: also write a histogram of the stale losses that are known (``writer.add_histogram``).

    >>> class Printer:
    ...     def add_scalar(self, tag, value, step): print(step, tag, value)
    >>> import hws, hws.telemetry
    >>> values = hws.telemetry.log(Printer(), hws.Sampler([1.0, 3.0]), step=7)  # doctest: +ELLIPSIS
    7 hws/loss_mean 2.0
    ...
    """
    values = collect(sampler, criterion)
    if writer is None:
        return values
    for name, value in values.items():
        if not math.isnan(value):  # the robust loss of a custom divergence without phi; no losses yet
            writer.add_scalar(f"{prefix}/{name}", value, step)
    if histogram:
        losses = _core(sampler).losses()
        if not np.isnan(losses).all():
            writer.add_histogram(f"{prefix}/losses", losses[~np.isnan(losses)], step)
    return values


def summary_writer(log_dir: Optional[str] = None, **options: Any) -> Any:
    """TensorBoard's SummaryWriter, or None where torch comes without it."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(log_dir, **options)
