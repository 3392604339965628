"""MONAI's and Lightning's hooks: for real where the packages can be imported, else against their documented interfaces."""
import textwrap
import types

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

import hws
import hws.lightning
import hws.monai
from hws.torch import DROLoss, HardnessWeightedBatchSampler, IndexedDataset

N = 24
DATA = TensorDataset(torch.arange(N).float()[:, None], torch.arange(N) % 3)


# ---- what both frameworks call -----------------------------------------------------------------------------------------------


def test_indices_of_a_batch():
    assert hws.monai.batch_indices({"number": [1]}, "number") == [1]
    assert hws.monai.batch_indices([torch.ones(2), [3, 4]]) == [3, 4]
    for wrong in ({"image": 1}, torch.ones(2), [1]):
        with pytest.raises(hws.HwsError, match="IndexedDataset"):
            hws.monai.batch_indices(wrong)


def test_the_handler_announces_reports_and_has_a_state():
    sampler = HardnessWeightedBatchSampler(N, 4, seed=1)
    criterion = DROLoss(nn.MSELoss(), sampler)
    written = []
    writer = types.SimpleNamespace(add_scalar=lambda *values: written.append(values))
    handler = hws.monai.HardnessWeightedHandler(criterion, writer=writer)
    engine = types.SimpleNamespace(state=types.SimpleNamespace(batch={"index": torch.tensor([2, 5])}, epoch=3))
    handler.iteration_started(engine)
    criterion(torch.ones(2), torch.zeros(2))
    handler.epoch_completed(engine)
    assert sampler.losses()[[2, 5]].tolist() == [1, 1] and engine.state.hws["loss_mean"] == 1
    assert ("hws/loss_mean", 1.0, 3) in written
    other = hws.monai.HardnessWeightedHandler(DROLoss(nn.MSELoss(), HardnessWeightedBatchSampler(N, 4)))
    other.load_state_dict(handler.state_dict())
    assert other.criterion.sampler.sampler.to_bytes() == sampler.sampler.to_bytes()
    with pytest.raises(hws.ArgumentTypeError, match="DROLoss"):
        hws.monai.HardnessWeightedHandler(nn.MSELoss())


class Module:
    def __init__(self):
        self.logged = {}

    def log_dict(self, values):
        self.logged.update(values)


class DataModule:
    """Lightning's has a state as well."""

    def state_dict(self):
        return {"own": 1}

    def load_state_dict(self, state):
        assert state == {"own": 1}


class Data(hws.lightning.HardnessWeightedData, DataModule):
    def train_dataloader(self):
        return self.hardness_weighted_loader(DATA, 4, sampler=dict(seed=3, tail=0.3))


def test_the_callback_announces_logs_and_keeps_lightning_s_sampler_away():
    sampler = HardnessWeightedBatchSampler(N, 4, seed=1)
    criterion, module = DROLoss(nn.MSELoss(), sampler), Module()
    callback = hws.lightning.HardnessWeightedCallback(criterion)
    connector = types.SimpleNamespace(use_distributed_sampler=True)
    trainer = types.SimpleNamespace(_accelerator_connector=connector, world_size=2, datamodule=None)
    callback.setup(trainer, module, "fit")
    assert connector.use_distributed_sampler is False
    with pytest.raises(hws.ArgumentError, match="use_distributed_sampler=False"):
        callback.setup(types.SimpleNamespace(world_size=2), module, "fit")
    callback.on_train_batch_start(trainer, module, (torch.ones(2), torch.zeros(2), torch.tensor([4, 1])), 0)
    criterion(torch.ones(2), torch.zeros(2))
    callback.on_train_epoch_end(trainer, module)
    assert module.logged["hws/loss_mean"] == 1
    other = hws.lightning.HardnessWeightedCallback(DROLoss(nn.MSELoss(), HardnessWeightedBatchSampler(N, 4)))
    other.load_state_dict(callback.state_dict())
    assert other.criterion.sampler.sampler.to_bytes() == sampler.sampler.to_bytes()
    callback.setup(types.SimpleNamespace(_accelerator_connector=connector, datamodule=Data()), module, "fit")
    assert callback.state_dict() == {}  # the data module has it


def test_the_data_module_s_sampler_is_saved_and_resumed():
    data = Data()
    seen = []
    for _, _, indices in data.train_dataloader():
        data.sampler.update(indices, torch.sin(indices.float()) + 1)
        seen.append(indices.tolist())
        if len(seen) == 3:
            state = data.state_dict()
    for opened_before in (False, True):
        resumed = Data()
        if opened_before:
            resumed.train_dataloader()
        resumed.load_state_dict(state)
        rest = []
        for _, _, indices in resumed.train_dataloader():
            resumed.sampler.update(indices, torch.sin(indices.float()) + 1)
            rest.append(indices.tolist())
        assert rest == seen[3:]


def test_the_data_module_s_sampler_is_not_asked_for_twice_with_other_options():
    """They were ignored."""
    data, labels = Data(), torch.arange(N) % 2
    opened = data.hardness_weighted_sampler(DATA, 4, beta=10, labels=labels, generator=torch.Generator().manual_seed(3))
    for repeated in ({}, {"beta": 10}, {"labels": labels.clone()}, {"generator": torch.Generator().manual_seed(3)}):
        assert data.hardness_weighted_loader(DATA, 4, sampler=repeated, num_workers=0).batch_sampler is opened
    for size, other, words in ((5, {}, "batch_size = 4.* to 5"), (4, {"beta": 3}, "beta = 10; .* beta = 3"),
                               (4, {"trim": 0.1}, "without trim"), (4, {"labels": 1 - labels}, "with labels"),
                               (4, {"generator": torch.Generator().manual_seed(4)}, "with generator")):
        with pytest.raises(hws.ArgumentError, match=words):
            data.hardness_weighted_sampler(DATA, size, **other)
    with pytest.raises(hws.ArgumentError, match=f"examples = {N}; .* to 3"):
        data.hardness_weighted_loader([1, 2, 3], 4)
    assert data.sampler is opened


class StandInTrainer:
    """Calls what Lightning's trainer calls, for one epoch."""

    world_size = 1

    def __init__(self, callbacks):
        self.callbacks = callbacks

    def fit(self, model, data):
        self.datamodule = data
        self._accelerator_connector = types.SimpleNamespace(use_distributed_sampler=True)
        (callback,), optimiser = self.callbacks, model.configure_optimizers()
        callback.setup(self, model, "fit")
        for number, batch in enumerate(data.train_dataloader()):
            callback.on_train_batch_start(self, model, batch, number)
            optimiser.zero_grad()
            model.training_step(batch, number).backward()
            optimiser.step()


def test_the_example_in_the_manual_of_lightning_runs():
    manual = hws.lightning.__doc__
    code = textwrap.dedent(manual[manual.index("    class Data"):manual.index("Works with")])
    names = {"hws": hws, "nn": nn, "torch": torch, "training": DATA, "network": nn.Linear(1, 3), "Trainer": StandInTrainer,
             "LightningDataModule": type("LightningDataModule", (), {}), "LightningModule": nn.Module}
    exec(code, names)
    assert names["data"].sampler.sampler.updates_made == 2 and names["data"].sampler.unseen == 0


# ---- Lightning itself ----------------------------------------------------------------------------------------------------------


def test_lightning_trains_and_resumes_in_mid_epoch(tmp_path):
    pl = pytest.importorskip("lightning.pytorch", reason="Lightning is neither installed nor a clone in NNUNET")

    class Real(hws.lightning.HardnessWeightedData, pl.LightningDataModule):
        def __init__(self):
            super().__init__()
            self.hardness_weighted_sampler(DATA, 4, seed=3, tail=0.3)

        def train_dataloader(self):
            return self.hardness_weighted_loader(DATA, 4)

    class Model(pl.LightningModule):
        def __init__(self, sampler):
            super().__init__()
            self.network, self.seen = nn.Linear(1, 3), []
            self.criterion = DROLoss(nn.CrossEntropyLoss(), sampler)

        def training_step(self, batch, number):
            inputs, labels, indices = batch
            self.seen.append(indices.tolist())
            return self.criterion(self.network(inputs), labels)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-3)

    def run(steps, checkpoint=None):
        torch.manual_seed(0)
        data = Real()
        model = Model(data.sampler)
        trainer = pl.Trainer(accelerator="cpu", max_steps=steps, logger=False, enable_checkpointing=False,
                             enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
                             callbacks=[hws.lightning.HardnessWeightedCallback(model.criterion)])
        trainer.fit(model, data, ckpt_path=checkpoint)
        return model.seen, trainer

    straight, _ = run(15)
    first, trainer = run(8)
    trainer.save_checkpoint(tmp_path / "checkpoint")
    rest, trainer = run(15, tmp_path / "checkpoint")
    assert first + rest == straight and "hws/robust_loss" in trainer.callback_metrics


# ---- MONAI itself --------------------------------------------------------------------------------------------------------------


def monai_parts(workers):
    """The parts of the tutorial-like loop in docs/python.md."""
    from monai.data import CacheDataset, DataLoader
    from monai.losses import DiceCELoss
    from monai.networks.nets import DynUNet
    from monai.transforms import Compose, RandCropByPosNegLabeld, RandFlipd

    torch.manual_seed(0)
    labels = [(torch.rand(1, 20, 20, 20) > 0.9).float() for _ in range(10)]
    cases = [{"image": label + 0.3 * torch.randn_like(label), "label": label} for label in labels]
    crops = RandCropByPosNegLabeld(["image", "label"], "label", spatial_size=(16, 16, 16), num_samples=2)
    data = CacheDataset(cases, Compose([crops, RandFlipd(["image", "label"], prob=0.5)]), progress=False)
    sampler = HardnessWeightedBatchSampler(data, batch_size=2, tail=0.5, seed=5)
    loader = DataLoader(IndexedDataset(data, randomness=sampler), batch_sampler=sampler, num_workers=workers)
    network = DynUNet(3, 1, 2, [3, 3, 3], [1, 2, 2], [2, 2], filters=[4, 8, 16], deep_supervision=True, deep_supr_num=1)
    loss = DiceCELoss(to_onehot_y=True, softmax=True)

    def deep(outputs, label):
        return sum(0.5**level * loss(output, label) for level, output in enumerate(outputs.unbind(1)))

    criterion = DROLoss(deep, sampler, importance=None)
    return sampler, loader, network, criterion, torch.optim.SGD(network.parameters(), lr=0.01)


def monai_train(parts, seen, steps, stop=None):
    sampler, loader, network, criterion, optimiser = parts
    while len(seen) < steps:
        for batch in loader:
            optimiser.zero_grad()
            loss = criterion(network(batch["image"]), batch["label"], batch["index"])
            loss.backward()
            optimiser.step()
            seen.append((batch["index"].tolist(), float(batch["image"].sum()), float(loss)))
            if len(seen) in (stop, steps):
                return


@pytest.mark.parametrize("workers", [0, 2])
def test_monai_s_loop_resumed_in_mid_epoch_trains_on_the_same_batches(workers):
    """Cases, crops and losses: to the bit."""
    pytest.importorskip("monai")
    straight = []
    monai_train(monai_parts(workers), straight, 9)
    parts, seen = monai_parts(workers), []
    monai_train(parts, seen, 9, stop=3)  # an epoch has 5
    state = {"network": parts[2].state_dict(), "sampler": parts[0].state_dict()}
    resumed = monai_parts(workers)
    resumed[0].load_state_dict(state["sampler"])
    resumed[2].load_state_dict(state["network"])
    monai_train(resumed, seen, 9)
    assert seen == straight
    assert all(len(indices) == 4 and indices[0] == indices[1] for indices, *_ in seen)
    assert resumed[0].staleness()["max"] == 2 * workers


def test_monai_s_engine():
    pytest.importorskip("monai")
    pytest.importorskip("ignite")
    from monai.engines import SupervisedTrainer

    sampler, loader, network, criterion, optimiser = monai_parts(0)
    handler = hws.monai.HardnessWeightedHandler(criterion)
    trainer = SupervisedTrainer(torch.device("cpu"), 2, loader, network, optimiser, criterion, train_handlers=[handler])
    trainer.run()
    assert sampler.sampler.updates_made == 10 and sampler.unseen == 0 and len(sampler._pending) == 0
    assert np.isfinite(trainer.state.hws["robust_loss"])
