"""Hardness weighted sampling in Lightning: a callback, and a mixin for data modules.

    class Data(hws.lightning.HardnessWeightedData, LightningDataModule):
        def __init__(self, training):
            super().__init__()
            self.training = training
            self.hardness_weighted_sampler(training, batch_size=16)     # open from the start: the model's loss needs it

        def train_dataloader(self):
            return self.hardness_weighted_loader(self.training, batch_size=16, num_workers=4)

    class Model(LightningModule):
        def __init__(self, network, sampler):
            super().__init__()
            self.network = network
            self.criterion = hws.torch.DROLoss(nn.CrossEntropyLoss(), sampler)

        def training_step(self, batch, batch_index):
            images, labels, _ = batch
            return self.criterion(self.network(images), labels)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    data = Data(training)
    model = Model(network, data.sampler)
    Trainer(callbacks=[hws.lightning.HardnessWeightedCallback(model.criterion)]).fit(model, data)

Works with ``lightning`` and ``pytorch_lightning`` from 2.0 on.
"""

from __future__ import annotations

import importlib
from typing import Any, Dict, Mapping, Optional

import numpy as np
import torch
from torch.utils.data import DataLoader

from .errors import ArgumentError, ArgumentTypeError
from .monai import batch_indices
from .telemetry import collect
from .torch import HardnessWeightedBatchSampler, IndexedDataset, number_of

__all__ = ["HardnessWeightedCallback", "HardnessWeightedData"]


def _callback_base() -> Any:
    """Lightning's Callback; without Lightning the mixin can be used, and the callback be looked at."""
    for name in ("lightning.pytorch", "pytorch_lightning"):
        try:
            return importlib.import_module(name).Callback
        except ImportError:
            continue
    return object


_Base: Any = _callback_base()


class HardnessWeightedCallback(_Base):
    """Announces the examples of each training batch to a DROLoss, and logs the sampler's telemetry after each epoch.

    Args:
        criterion: the :class:`hws.torch.DROLoss` that the module's ``training_step`` calls, without indices.
        index: the name of the batch's entry with the indices, where batches are dicts.
        log: whether to log ``hws/...`` through the module.

    The sampler's state goes into Lightning's checkpoints, unless a :class:`HardnessWeightedData` has put it there. Lightning
    is kept from replacing the sampler by one of its own (``use_distributed_sampler=False``): the samplers of hws know the
    ranks themselves. A sampler that warms up is told the trainer's ``max_epochs``; where only ``max_steps`` is given, say
    ``epochs`` yourself.
    """

    def __init__(self, criterion: Any, index: str = "index", log: bool = True):
        super().__init__()
        if not hasattr(criterion, "expect"):
            raise ArgumentTypeError(f"criterion must be a hws.torch.DROLoss, not {type(criterion).__name__}")
        self.criterion, self.index, self.log = criterion, index, bool(log)
        self._elsewhere = False  # whether the data module keeps the sampler's state

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        self._elsewhere = isinstance(getattr(trainer, "datamodule", None), HardnessWeightedData)
        connector: Any = getattr(trainer, "_accelerator_connector", None)
        if getattr(connector, "use_distributed_sampler", False):
            connector.use_distributed_sampler = False
        elif connector is None and getattr(trainer, "world_size", 1) > 1:
            raise ArgumentError("give Trainer(use_distributed_sampler=False): Lightning would replace the sampler")
        epochs = getattr(trainer, "max_epochs", None)
        is_known = epochs is not None and epochs > 0  # -1 is without end
        if stage == "fit" and is_known and hasattr(self.criterion.sampler, "plan"):
            self.criterion.sampler.plan(epochs)

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        self.criterion.expect(batch_indices(batch, self.index))

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        if self.log:
            values = collect(self.criterion.sampler, self.criterion)
            pl_module.log_dict({f"hws/{name}": float(value) for name, value in values.items()})

    def state_dict(self) -> Dict[str, Any]:
        return {} if self._elsewhere else {"sampler": self.criterion.sampler.state_dict()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        if "sampler" in state_dict:
            self.criterion.sampler.load_state_dict(state_dict["sampler"])


def _same(one: Any, other: Any) -> bool:
    """Whether two values of an option are the same; a data module may make them anew in each call."""
    if isinstance(one, torch.Generator) and isinstance(other, torch.Generator):
        return one.initial_seed() == other.initial_seed()
    return one is other or bool(np.array_equal(one, other))


class HardnessWeightedData:
    """To be put in front of LightningDataModule: a training loader whose sampler is saved and resumed with the run.

    Call :meth:`hardness_weighted_loader` in ``train_dataloader``. ``sampler`` is None before; where a DROLoss needs it, call
    :meth:`hardness_weighted_sampler` in ``__init__``.
    """

    sampler: Optional[HardnessWeightedBatchSampler] = None
    _given: Mapping[str, Any] = {}  # the options that the sampler was opened with
    _loaded: Optional[Mapping[str, Any]] = None

    def hardness_weighted_sampler(self, data: Any, batch_size: int, **options: Any) -> HardnessWeightedBatchSampler:
        """The sampler of the training data, opened by the first call; options are those of the sampler.

        Later calls give the sampler that is open. They need not repeat the options, but are refused with others.
        """
        if self.sampler is not None:
            self._require_the_same(self.sampler, data, batch_size, options)
        else:
            self.sampler = HardnessWeightedBatchSampler(data, batch_size, **options)
            self._given = options
            if self._loaded is not None:
                self.sampler.load_state_dict(self._loaded)
                self._loaded = None
        return self.sampler

    def _require_the_same(self, opened: HardnessWeightedBatchSampler, data: Any, batch_size: int,
                          options: Mapping[str, Any]) -> None:
        """Refuses what an open sampler cannot become."""
        for what, asked, known in (("examples", number_of(data), len(opened.sampler)), ("batch_size", batch_size, opened.batch_size)):
            if asked != known:
                raise ArgumentError(f"the sampler is open already, with {what} = {known}; it cannot change to {asked}")
        for name, value in options.items():
            if name not in self._given or not _same(value, self._given[name]):
                before = f"with {name} = {self._given[name]!r}" if name in self._given else f"without {name}"
                raise ArgumentError(f"the sampler is open already, {before}; it cannot take {name} = {value!r}: give its "
                                    "options in the first call")

    def hardness_weighted_loader(self, data: Any, batch_size: int, sampler: Optional[Mapping[str, Any]] = None,
                                 **options: Any) -> DataLoader:
        """A DataLoader of the training data with their indices; ``sampler`` are options of the sampler."""
        drawn = self.hardness_weighted_sampler(data, batch_size, **(sampler or {}))
        return DataLoader(IndexedDataset(data), batch_sampler=drawn, **options)

    def state_dict(self) -> Dict[str, Any]:
        above = super()
        state: Dict[str, Any] = above.state_dict() if hasattr(above, "state_dict") else {}
        return {**state, "hws_sampler": self.sampler.state_dict()} if self.sampler is not None else state

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        above = super()
        if hasattr(above, "load_state_dict"):
            above.load_state_dict({name: value for name, value in state_dict.items() if name != "hws_sampler"})
        loaded = state_dict.get("hws_sampler")
        if loaded is not None and self.sampler is not None:
            self.sampler.load_state_dict(loaded)
        else:
            self._loaded = loaded
