"""Hardness weighted sampling in MONAI's engines (and any other of PyTorch-Ignite).

    sampler = hws.torch.HardnessWeightedBatchSampler(data, batch_size=2, recipe="volumes")
    loader = DataLoader(hws.torch.IndexedDataset(data), batch_sampler=sampler)
    criterion = hws.torch.DROLoss(DiceCELoss(to_onehot_y=True, softmax=True), sampler)
    handler = hws.monai.HardnessWeightedHandler(criterion)
    trainer = SupervisedTrainer(..., train_data_loader=loader, loss_function=criterion, train_handlers=[handler])

A plain loop of MONAI's needs nothing of this module: see docs/python.md.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional

from .errors import ArgumentError, ArgumentTypeError
from .telemetry import collect, log

__all__ = ["HardnessWeightedHandler", "batch_indices"]


def batch_indices(batch: Any, key: Any = "index") -> Any:
    """The examples of a batch, as :class:`hws.torch.IndexedDataset` has added them: by name, or as the last element.

    >>> import hws.monai
    >>> hws.monai.batch_indices({"image": 1, "index": [4, 7]}), hws.monai.batch_indices(("images", "labels", [4, 7]))
    ([4, 7], [4, 7])
    """
    if isinstance(batch, Mapping):
        if key not in batch:
            raise ArgumentError(f"the batch has no entry {key!r}: wrap the data set in hws.torch.IndexedDataset")
        return batch[key]
    if isinstance(batch, (list, tuple)) and len(batch) > 1:
        return batch[-1]
    raise ArgumentTypeError(f"the batch is a {type(batch).__name__} without indices: wrap the data set in "
                            "hws.torch.IndexedDataset")


class HardnessWeightedHandler:
    """Tells a DROLoss which examples an engine's iteration is about, and reports after each epoch.

    A sampler that warms up, as those of ``recipe="volumes"`` do, is told the engine's number of epochs.

    Args:
        criterion: the :class:`hws.torch.DROLoss` that the engine has for its loss function.
        index: the name of the batch's entry with the indices.
        writer: a SummaryWriter or anything with ``add_scalar``; None writes nothing. ``engine.state.hws`` has the last
            report in any case.

    It has a state, so that MONAI's CheckpointSaver keeps it: ``CheckpointSaver(save_dict={"hws": handler, ...})``.
    """

    def __init__(self, criterion: Any, index: str = "index", writer: Any = None):
        if not hasattr(criterion, "expect"):
            raise ArgumentTypeError(f"criterion must be a hws.torch.DROLoss, not {type(criterion).__name__}")
        self.criterion, self.index, self.writer = criterion, index, writer
        self.last: Optional[Dict[str, float]] = None

    def attach(self, engine: Any) -> None:
        """Registers with an engine; MONAI does so with every handler of ``train_handlers``."""
        from ignite.engine import Events

        engine.add_event_handler(Events.STARTED, self.started)
        engine.add_event_handler(Events.ITERATION_STARTED, self.iteration_started)
        engine.add_event_handler(Events.EPOCH_COMPLETED, self.epoch_completed)

    def started(self, engine: Any) -> None:
        """Tells the sampler how many epochs the engine is to run, which a warm-up follows from."""
        epochs = getattr(engine.state, "max_epochs", None)
        if epochs is not None and hasattr(self.criterion.sampler, "plan"):
            self.criterion.sampler.plan(epochs)

    def iteration_started(self, engine: Any) -> None:
        self.criterion.expect(batch_indices(engine.state.batch, self.index))

    def epoch_completed(self, engine: Any) -> None:
        sampler = self.criterion.sampler
        if self.writer is None:
            self.last = collect(sampler, self.criterion)
        else:
            self.last = log(self.writer, sampler, engine.state.epoch, self.criterion)
        engine.state.hws = self.last

    def state_dict(self) -> Dict[str, Any]:
        """The sampler's."""
        return self.criterion.sampler.state_dict()

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        self.criterion.sampler.load_state_dict(state_dict)
