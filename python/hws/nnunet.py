"""Hardness weighted sampling inside nnU-Net v2: a trainer that is chosen by name.

    python -m hws.nnunet install            # once; says how to undo it
    nnUNetv2_train DATASET 3d_fullres 0 -tr nnUNetTrainerHWS

The trainer is nnU-Net's own with three things changed: training cases are drawn by their last losses, which all loader
processes see; the loss is nnU-Net's, case by case; checkpoints carry the losses. Everything else (planning, augmentation,
validation, prediction) is nnU-Net's, and its checkpoints are predicted with by plain nnU-Net.

Variants by name, in any combination and order: ``nnUNetTrainerHWS_tail20`` (train for the hardest 20 %), ``_beta100``,
``_warmup0`` (percent of the epochs that draw uniformly), ``_momentum50`` (percent), ``_paper``, ``_normalised`` or
``_exact`` (importance weights; ``_paper`` is the paper's recipe with them: beta 100, an initial loss of 1, neither warm-up
nor momentum, unless the name says otherwise), ``_250epochs``. No setting may stand there twice. What the name does not say
can be said by environment variables: HWS_NNUNET_TAIL or _BETA, _WARM_UP, _MOMENTUM, _IMPORTANCE, _INITIAL_LOSS, _FLOOR,
_UNIFORM_MIX, _SEED, _EPOCHS, and _BASE, the name of another trainer of nnU-Net to build upon. Where a name has percent, the
variable has a fraction: HWS_NNUNET_TAIL=0.2 is ``_tail20``. What cannot be is refused before training begins.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, Dict, Iterator, List, Mapping, Optional, Set, Tuple, Type

import numpy as np
import torch
from torch import Tensor, nn

from ._arrays import from_state
from ._learning import learn
from ._ranks import exchanged
from ._recipes import RECIPES
from .errors import ArgumentError, CorruptStateError, HwsError
from .sampler import Sampler
from .shared import SharedHandle, SharedSampler, stream_seed
from .telemetry import concerns_by_kind, log, summary_writer
from .torch import DROLoss, PerCase

__all__ = ["HardnessWeighted", "Settings", "trainer"]

PREFIX = "nnUNetTrainerHWS"
HARDEST_FILE = "hardest_cases.csv"
#: What to do about each concern, in the words of a trainer's name.
_REMEDIES = {
    "unseen": "they come first, but it takes more epochs to see all of them",
    "few": f"Choose a larger tail (_tail50), a lower beta or HWS_NNUNET_UNIFORM_MIX=0.1, and look at {HARDEST_FILE}",
}
_WORKERS_PER_RANK = 256


# ---- what is asked for -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """How cases are drawn and weighed. The defaults are those of ``hws train`` for volumes.

    The loss of a case is that of its last patch, and depends on where the patch was: with ``momentum`` the history
    remembers a mean of the last patches. ``tail``, ``warm_up``, ``momentum``, ``floor`` and ``uniform_mix`` are fractions;
    a ``beta`` is taken instead of the tail. What the sampler would refuse after the warm-up is refused here.
    """

    tail: Optional[float] = RECIPES["volumes"].tail
    beta: Optional[float] = None
    warm_up: float = RECIPES["volumes"].warm_up
    momentum: float = 0.5
    importance: Optional[str] = None
    initial_loss: Optional[float] = None
    floor: float = 0.0
    uniform_mix: float = 0.0
    seed: int = 0
    epochs: Optional[int] = None
    base: str = "nnUNetTrainer"

    def __post_init__(self) -> None:
        for name in ("tail", "beta", "warm_up", "momentum", "initial_loss", "floor", "uniform_mix", "seed", "epochs"):
            self._require_number(name)
        if self.tail is None and self.beta is None:
            raise ArgumentError("tail and beta are both None; one of them must say how robust training is to be")
        if self.tail is not None and not 0 < self.tail <= 1:
            raise ArgumentError(f"tail is {self.tail:g}; it must be above 0 and at most 1: the fraction of the cases to train "
                                "for (a trainer's name has it in percent, up to _tail100)")
        if not 0 <= self.warm_up <= 1:
            raise ArgumentError(f"warm_up is {self.warm_up:g}; it must be from 0 to 1: the fraction of the epochs that draw "
                                "uniformly (a trainer's name has it in percent, from _warmup0 to _warmup100)")
        if self.epochs is not None and self.epochs < 1:
            raise ArgumentError(f"epochs is {self.epochs}; it must be at least 1")
        Sampler(1, **self.options(warming_up=False))

    def _require_number(self, name: str) -> None:
        value = getattr(self, name)
        if value is None and name in ("tail", "beta", "initial_loss", "epochs"):
            return
        kind, words = (Integral, "whole number") if name in ("seed", "epochs") else (Real, "number")
        if isinstance(value, bool) or not isinstance(value, kind):
            raise ArgumentError(f"{name} is {value!r}, which is no {words}")

    def options(self, warming_up: bool) -> Dict[str, Any]:
        """The sampler's options."""
        return {"momentum": self.momentum, "floor": self.floor, "uniform_mix": self.uniform_mix, "seed": self.seed,
                "importance": self.importance or "paper", "initial_loss": self.initial_loss, **self.robustness(warming_up)}

    def robustness(self, warming_up: bool) -> Dict[str, Optional[float]]:
        """The sampler's options that decide p."""
        if warming_up:
            return {"tail": None, "beta": 0.0}
        return {"tail": self.tail if self.beta is None else None, "beta": self.beta}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """What the variables HWS_NNUNET_... say; one that means nothing is refused."""
        known = [f"HWS_NNUNET_{field.name.upper()}" for field in fields(cls)]
        for name in sorted(environment):
            if name.startswith("HWS_NNUNET_") and name not in known:
                nearest = get_close_matches(name, known, 1, 0.0)[0]
                raise ArgumentError(f"the variable {name} means nothing; is it {nearest} that you mean?")
        found: Dict[str, Any] = {}
        for field in fields(cls):
            text = environment.get(f"HWS_NNUNET_{field.name.upper()}")
            if text is not None and (text or field.name != "base"):
                found[field.name] = _parsed(field.name, text)
        if "tail" in found and "beta" in found:
            raise ArgumentError("HWS_NNUNET_TAIL and HWS_NNUNET_BETA are both set; a beta is instead of a tail")
        with _said_by("the variables HWS_NNUNET_..."):
            return cls(**found)

    def named(self, name: str) -> "Settings":
        """These settings with what a trainer's name says."""
        found: Dict[str, Any] = {}
        named: Set[str] = set()
        if not f"{name}_".startswith(f"{PREFIX}_"):
            raise ArgumentError(f"the trainer's name {name} is not {PREFIX}, with parts behind it such as {PREFIX}_tail20")
        words = name.split("_")[1:]
        for word in sorted(words, key="paper".__ne__):  # first, so that other words go before what it brings along
            said = _word(word, name)
            own = {"importance"} if word == "paper" else set(said)
            if named & own:
                raise ArgumentError(f"the trainer's name {name} says {', '.join(named & own)} twice")
            named |= own
            found.update(said)
        if {"tail", "beta"} <= named:
            raise ArgumentError(f"the trainer's name {name} has a tail and a beta; a beta is instead of a tail")
        if "tail" in named:
            found["beta"] = None
        with _said_by(f"the trainer's name {name}"):
            return replace(self, **found)


@contextmanager
def _said_by(place: str) -> Iterator[None]:
    """Within it, a setting that is refused says where it comes from."""
    try:
        yield
    except HwsError as error:
        raise ArgumentError(f"{place}: {error}") from None


def _parsed(name: str, text: str) -> Any:
    if name in ("importance", "base"):
        return text or None
    try:
        value = int(text) if name in ("seed", "epochs") else float(text)
    except ValueError:
        raise ArgumentError(f"HWS_NNUNET_{name.upper()} is {text!r}, which is no number") from None
    if not math.isfinite(value) or (value < 0 and name != "initial_loss"):
        raise ArgumentError(f"HWS_NNUNET_{name.upper()} is {text}, which is out of range")
    return value


def _word(word: str, name: str) -> Dict[str, Any]:
    """What one part of a trainer's name asks for."""
    number = re.fullmatch(r"(tail|beta|warmup|momentum)(\d+(?:p\d+)?)", word)
    if number:
        value = float(number.group(2).replace("p", "."))
        if number.group(1) == "beta":
            return {"beta": value}
        return {{"warmup": "warm_up"}.get(number.group(1), number.group(1)): value / 100}
    epochs = re.fullmatch(r"(\d+)epochs?", word)
    if epochs:
        return {"epochs": int(epochs.group(1))}
    if word == "paper":
        recipe = RECIPES["paper-volumes"]
        return {"importance": "paper", "beta": recipe.beta, "initial_loss": recipe.initial_loss, "warm_up": 0.0, "momentum": 0.0}
    if word in ("normalised", "exact"):
        return {"importance": word}
    raise ArgumentError(f"the trainer's name {name} has a part {word!r}; parts are tail20 (percent), beta100, warmup50 "
                        "(percent), momentum50 (percent), paper, normalised, exact, 250epochs")


# ---- drawing in nnU-Net's loader processes ----------------------------------------------------------------------------


class _Source:
    """What a loader needs to draw; it travels with the training data into the loader processes."""

    def __init__(self, handle: SharedHandle, rank: int, seed: int):
        self.handle, self.rank, self.seed = handle, rank, seed
        self.loaders = 0  # how many loaders have been made with it
        self._process = -1

    def draw(self, count: int, worker: int) -> np.ndarray:
        if self._process != os.getpid():
            number = self.rank * _WORKERS_PER_RANK + worker % _WORKERS_PER_RANK
            self._reader = self.handle.reader(number)
            self._order = np.random.default_rng(stream_seed(self.seed, number + (1 << 32), self._reader.era))
            self._process = os.getpid()
        batch = self._reader.draw(count)
        # nnU-Net forces foreground by the place in the batch: no case must prefer one.
        self._order.shuffle(batch)
        return batch

    def __getstate__(self) -> Dict[str, Any]:
        return {"handle": self.handle, "rank": self.rank, "seed": self.seed, "loaders": 0, "_process": -1}


def _drawing(base: type) -> type:
    """A loader of nnU-Net's that draws through the shared losses where its data say so."""

    class Drawing(base):  # type: ignore[misc, valid-type]
        def __init__(self, data: Any, *arguments: Any, **named: Any):
            super().__init__(data, *arguments, **named)
            source = getattr(data, "_hws_source", None)
            if source is not None:
                source.loaders += 1

        def get_indices(self) -> Any:
            source = getattr(self._data, "_hws_source", None)
            if source is None:
                return super().get_indices()
            return [self.indices[case] for case in source.draw(self.batch_size, self.thread_id)]

        def __reduce__(self) -> Any:
            return _restored, (base, self.__dict__)

    Drawing.__name__, Drawing.__qualname__ = base.__name__, base.__qualname__
    Drawing._hws_drawing = True  # type: ignore[attr-defined]
    return Drawing


def _restored(base: type, state: Dict[str, Any]) -> Any:
    kind = _drawing(base)
    loader: Any = object.__new__(kind)
    loader.__dict__.update(state)
    return loader


@contextmanager
def _loaders_that_draw(kind: type) -> Iterator[None]:
    """Within it, the modules of a trainer's classes know only loaders that draw through the shared losses."""
    from batchgenerators.dataloading.data_loader import DataLoader

    replaced: List[Tuple[Any, str, type]] = []
    for module in {sys.modules[base.__module__] for base in kind.__mro__ if base.__module__ in sys.modules}:
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and issubclass(value, DataLoader) and not hasattr(value, "_hws_drawing"):
                replaced.append((module, name, value))
                setattr(module, name, _drawing(value))
    try:
        yield
    finally:
        for module, name, value in replaced:
            setattr(module, name, value)


# ---- losses coming back ------------------------------------------------------------------------------------------------


class _Learner:
    """Writes the losses of all ranks into the shared history; what a DROLoss takes for its sampler."""

    def __init__(self, sampler: SharedSampler, ranks: int):
        self.sampler = sampler
        self.visits = np.zeros(len(sampler), np.int64)
        self._ranks = ranks

    def update(self, indices: Any, losses: Any) -> None:
        self.step(indices, losses, False)

    def importance_weights(self, indices: Any, losses: Any) -> np.ndarray:
        return self.sampler.importance_weights(indices, losses)

    def step(self, indices: np.ndarray, losses: Tensor, importance: bool = True,
             skip_non_finite: bool = True) -> Optional[np.ndarray]:
        own = losses.float().cpu().numpy()
        cases, fresh, first = indices, own, 0
        if self._ranks > 1:
            cases, fresh, first = self._gathered(indices, own, losses)
        weights = learn(self.sampler, cases, fresh, importance, skip_non_finite)
        np.add.at(self.visits, cases, 1)
        return None if weights is None else weights[first:first + len(indices)]

    def _gathered(self, indices: np.ndarray, losses: np.ndarray, given: Tensor) -> Tuple[np.ndarray, np.ndarray, int]:
        """All ranks' cases and losses, rank after rank, and where this rank's begin. Their numbers may differ."""
        parts = exchanged(np.stack([indices, losses]), given)
        counts = np.array([part.shape[1] for part in parts])
        together = np.concatenate(parts, axis=1)
        first = int(counts[:torch.distributed.get_rank()].sum())
        return together[0].astype(np.int64), together[1].astype(np.float32), first


class _Criterion(nn.Module):
    """nnU-Net's loss: case by case and learnt from in training, as it is in validation."""

    def __init__(self, plain: nn.Module, single: nn.Module):
        super().__init__()
        self.plain = plain
        for part in single.modules():  # one case at a time, on this rank
            for name in ("batch_dice", "ddp"):
                if hasattr(part, name):
                    setattr(part, name, False)
        self.per_case = PerCase(single)
        self.robust: Optional[DROLoss] = None
        self.expected: Optional[np.ndarray] = None

    def forward(self, output: Any, target: Any) -> Tensor:
        if self.expected is None or self.robust is None:
            return self.plain(output, target)
        indices, self.expected = self.expected, None
        return self.robust(output, target, indices)


# ---- the trainer -------------------------------------------------------------------------------------------------------


class HardnessWeighted:
    """To be put in front of a trainer of nnU-Net: ``class Mine(HardnessWeighted, nnUNetTrainer)``; see :func:`trainer`.

    It has no constructor, since nnU-Net reads the arguments of its trainers' constructors.
    """

    hws_settings = Settings()
    hws_shared: Optional[SharedSampler] = None
    hws_base = "nnUNetTrainer"
    _hws_learner: Optional[_Learner] = None
    _hws_resumed: Optional[Mapping[str, Any]] = None
    _hws_writer: Any = None

    # What nnU-Net's trainers have and this uses.
    output_folder: str
    local_rank: int
    is_ddp: bool
    current_epoch: int
    num_epochs: int
    batch_size: int
    configuration_manager: Any
    loss: Any
    disable_checkpointing: bool

    def initialize(self) -> None:
        if self.hws_settings.epochs is not None:
            self.num_epochs = self.hws_settings.epochs
        super().initialize()  # type: ignore[misc]
        self._hws_connect()

    def _build_loss(self) -> Any:
        # Twice, since the one that runs case by case must not look at a batch, nor wait for other ranks.
        return _Criterion(super()._build_loss(), super()._build_loss())  # type: ignore[misc]

    def get_tr_and_val_datasets(self) -> Any:
        training, validation = super().get_tr_and_val_datasets()  # type: ignore[misc]
        names = list(training.identifiers if hasattr(training, "identifiers") else training.keys())
        self._hws_open(names)
        assert self.hws_shared is not None
        training._hws_source = _Source(self.hws_shared.handle, self.local_rank, self.hws_settings.seed)
        self._hws_training = training
        return training, validation

    def get_dataloaders(self) -> Any:
        with _loaders_that_draw(type(self)):
            loaders = super().get_dataloaders()  # type: ignore[misc]
        if not self._hws_training._hws_source.loaders:
            raise HwsError("this version of nnU-Net makes its training loader in a way that hws.nnunet does not know, so "
                           "cases would be drawn uniformly: please report it with the version")
        return loaders

    def on_train_epoch_start(self) -> None:
        super().on_train_epoch_start()  # type: ignore[misc]
        self._hws_set_robustness()

    def train_step(self, batch: Dict[str, Any]) -> Dict[str, Any]:
        assert self._hws_learner is not None
        self.loss.expected = np.array([self._hws_place[str(key)] for key in batch["keys"]], np.int64)
        result = super().train_step(batch)  # type: ignore[misc]
        # What is logged is comparable with plain nnU-Net's: the mean without weights.
        result["loss"] = self.loss.robust.last_losses.mean().cpu().numpy()
        return result

    def on_train_epoch_end(self, train_outputs: Any) -> None:
        super().on_train_epoch_end(train_outputs)  # type: ignore[misc]
        if self.local_rank == 0:
            self._hws_report()

    def save_checkpoint(self, filename: str) -> None:
        super().save_checkpoint(filename)  # type: ignore[misc]
        if self.local_rank != 0 or self.disable_checkpointing or self.hws_shared is None:
            return
        checkpoint = _load(filename)
        checkpoint["hws"] = self._hws_state()
        # The network is that of the trainer underneath: plain nnU-Net predicts with it.
        checkpoint["trainer_name"] = self.hws_base
        torch.save(checkpoint, f"{filename}.tmp")
        os.replace(f"{filename}.tmp", filename)

    def load_checkpoint(self, filename_or_checkpoint: Any) -> None:
        super().load_checkpoint(filename_or_checkpoint)  # type: ignore[misc]
        checkpoint = filename_or_checkpoint if isinstance(filename_or_checkpoint, dict) else _load(filename_or_checkpoint)
        self._hws_resumed = checkpoint.get("hws")
        if self.hws_shared is not None:
            self._hws_take_over()

    # ---- the history

    def _hws_open(self, names: List[str]) -> None:
        settings = self.hws_settings
        ranks = torch.distributed.get_world_size() if self.is_ddp else 1
        # The loader draws this rank's batch alone; it may be larger than the number of cases.
        options = {**settings.options(self._hws_warming_up()), "replacement": self.batch_size > len(names)}
        self.hws_cases = names
        self._hws_place = {str(name): place for place, name in enumerate(names)}
        self.hws_shared = SharedSampler(len(names), **options)
        self._hws_learner = _Learner(self.hws_shared, ranks)
        self._hws_connect()
        self._hws_take_over()

    def _hws_connect(self) -> None:
        """Lets the loss learn into the history: whichever is made last; in v2.5 the loaders come before the loss."""
        if self._hws_learner is not None and isinstance(getattr(self, "loss", None), _Criterion):
            self.loss.robust = DROLoss(self.loss.per_case, self._hws_learner, self.hws_settings.importance,
                                       skip_non_finite=True)

    def _hws_warming_up(self) -> bool:
        return self.current_epoch < self.hws_settings.warm_up * self.num_epochs

    def _hws_set_robustness(self) -> None:
        """Sees to it that draws are uniform in the warm-up, and as asked for afterwards."""
        assert self.hws_shared is not None
        wanted = self.hws_settings.robustness(self._hws_warming_up())
        options = self.hws_shared.options
        if options["tail"] == wanted["tail"] and (wanted["tail"] is not None or options["beta"] == wanted["beta"]):
            return
        self._hws_rebuild(wanted)
        self._hws_print(f"cases are drawn {'uniformly' if self._hws_warming_up() else f'by their losses ({wanted})'}")

    def _hws_rebuild(self, wanted: Mapping[str, Any]) -> None:
        """The same losses with options that a sampler cannot change."""
        assert self.hws_shared is not None
        other = Sampler(self.hws_shared.losses(), **{**self.hws_shared.options, **wanted})
        self.hws_shared.load_state_dict(other.state_dict())

    def _hws_keep_settings(self) -> None:
        """Goes on with the momentum and the weights that are asked for now, whatever the checkpoint had."""
        assert self.hws_shared is not None
        before, wanted = self.hws_shared.options, self.hws_settings.options(self._hws_warming_up())
        changed = [name for name in ("momentum", "importance") if before[name] != wanted[name]]
        if "momentum" in changed:
            self._hws_rebuild({"momentum": wanted["momentum"]})
        self.hws_shared.importance = wanted["importance"]
        if changed:
            self._hws_print("other than in the checkpoint: " + ", ".join(f"{name} {wanted[name]} instead of {before[name]}"
                                                                         for name in changed))

    def _hws_state(self) -> Dict[str, Any]:
        assert self.hws_shared is not None and self._hws_learner is not None
        return {**self.hws_shared.state_dict(), "cases": list(self.hws_cases),
                "visits": torch.from_numpy(self._hws_learner.visits.copy())}

    def _hws_take_over(self) -> None:
        """Goes on with the losses of a checkpoint, as far as they are of the same cases."""
        saved, self._hws_resumed = self._hws_resumed, None
        if saved is None:
            return
        assert self.hws_shared is not None and self._hws_learner is not None
        losses = dict(zip(saved["cases"], Sampler.from_bytes(saved["state"]).losses()))
        visits = dict(zip(saved["cases"], saved["visits"].tolist()))
        self._hws_learner.visits[:] = [visits.get(name, 0) for name in self.hws_cases]
        # Streams of random numbers that nobody on any rank has used yet: only rank 0's are in the checkpoint.
        used = from_state(saved["eras"])
        eras = np.full_like(used, int(used.max()) + 1)
        try:
            if saved["cases"] != self.hws_cases:
                raise CorruptStateError("the checkpoint is of other training cases")
            self.hws_shared.load_state_dict({"state": saved["state"], "eras": eras})
        except CorruptStateError as error:
            self.hws_shared.load_state_dict({**self.hws_shared.state_dict(), "eras": eras})
            self.hws_shared.set_losses(np.array([losses.get(name, np.nan) for name in self.hws_cases], np.float32))
            self._hws_print(f"{error}: the losses of {len(set(losses) & set(self.hws_cases))} cases are taken over")
        self._hws_keep_settings()
        self._hws_set_robustness()

    # ---- what it says

    def _hws_print(self, text: str) -> None:
        self.print_to_log_file(f"hws: {text}")  # type: ignore[attr-defined]

    def _hws_report(self) -> None:
        assert self.hws_shared is not None and self.loss.robust is not None
        numbers = self.hws_shared.statistics()
        worst = [self.hws_cases[case] for case in self.hws_shared.hardest(min(3, len(self.hws_cases)))[0]]
        self._hws_print(f"beta {numbers['beta']:.3g}, draws spread over {numbers['effective_size']:.1f} of "
                        f"{len(self.hws_cases)} cases, mean loss {numbers['loss_mean']:.4f}, robust loss "
                        f"{numbers['robust_loss']:.4f}, largest {numbers['loss_max']:.4f}, unseen {numbers['unseen']}; "
                        f"hardest: {', '.join(map(str, worst))}")
        for advice in self._hws_concerns():
            self._hws_print(f"advice: {advice}")
        if self.loss.robust.skipped:
            named = {str(self.hws_cases[case]): times for case, times in self.loss.robust.skipped.items()}
            self._hws_print(f"losses that were not finite and left out: {named}")
        self._hws_write_hardest()
        if self._hws_writer is None:
            self._hws_writer = summary_writer(os.path.join(self.output_folder, "tensorboard")) or False
        if self._hws_writer:
            log(self._hws_writer, self.hws_shared, self.current_epoch, self.loss.robust, histogram=True)

    def _hws_concerns(self) -> List[str]:
        """What is wrong, if anything, in nnU-Net's words."""
        assert self.hws_shared is not None and self._hws_learner is not None
        batch = self.batch_size * (torch.distributed.get_world_size() if self.is_ddp else 1)
        found = concerns_by_kind(self.hws_shared, batch, _REMEDIES)
        if self._hws_learner.visits.sum() < len(self.hws_cases):  # nobody can have seen all of them by now
            found.pop("unseen", None)
        return list(found.values())

    def _hws_write_hardest(self) -> None:
        """All training cases, hardest first, as a table beside the checkpoints."""
        assert self.hws_shared is not None and self._hws_learner is not None
        order, losses = self.hws_shared.hardest(len(self.hws_cases))
        p = self.hws_shared.probabilities()
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["case", "loss", "probability", "visits"])
        for case, loss in zip(order, losses):
            table.writerow([self.hws_cases[case], "" if math.isnan(loss) else f"{loss:.6g}", f"{p[case]:.6g}",
                            self._hws_learner.visits[case]])
        path = os.path.join(self.output_folder, HARDEST_FILE)
        with open(f"{path}.tmp", "w", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
        os.replace(f"{path}.tmp", path)


def _load(filename: str) -> Dict[str, Any]:
    try:
        return torch.load(filename, map_location="cpu", weights_only=False)
    except TypeError:  # PyTorch before 1.13
        return torch.load(filename, map_location="cpu")


# ---- trainers by name ----------------------------------------------------------------------------------------------------


_made: Dict[str, type] = {}


def trainer(base: type, name: Optional[str] = None, settings: Optional[Settings] = None) -> Type[Any]:
    """A trainer of nnU-Net with hardness weighted sampling: any trainer class with :class:`HardnessWeighted` before it."""
    settings = settings or Settings.from_environment(os.environ)
    return type(name or f"{base.__name__}HWS", (HardnessWeighted, base),
                {"hws_settings": settings, "hws_base": base.__name__, "__module__": __name__,
                 "__doc__": f"{base.__name__} with hardness weighted sampling: {settings}"})


def _find_base(name: str) -> type:
    import nnunetv2
    from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer
    from nnunetv2.utilities.find_class_by_name import recursive_find_python_class

    if name == "nnUNetTrainer":
        return nnUNetTrainer
    folder = os.path.join(nnunetv2.__path__[0], "training", "nnUNetTrainer")
    found = recursive_find_python_class(folder, name, "nnunetv2.training.nnUNetTrainer")
    if found is None or name.startswith(PREFIX):
        raise ArgumentError(f"HWS_NNUNET_BASE is {name!r}, but nnU-Net has no such trainer")
    return found


def __getattr__(name: str) -> Any:
    """nnUNetTrainerHWS and its variants; nnU-Net asks every module of its folder whether it has a trainer's name."""
    if not name.startswith(PREFIX):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _made:
        settings = Settings.from_environment(os.environ).named(name)
        _made[name] = trainer(_find_base(settings.base), name, settings)
    return _made[name]


if __name__ == "__main__":
    from ._nnunet_install import main

    sys.exit(main(sys.argv[1:]))
