"""hws.nnunet. Without nnU-Net: against stand-ins of ours that have its documented interface. With it: `make test-nnunet`."""
import copy
import faulthandler
import math
import multiprocessing
import os
import pickle
import subprocess
import sys
import tempfile
import types
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from gpu_stand_in import on_gpu
from scipy_free import chi_square_p
from torch import nn

import hws
import hws.nnunet
from hws._learning import learn
from hws.nnunet import HardnessWeighted, Settings, trainer

CASES = [f"case_{number:02d}" for number in range(20)]
HERE = Path(__file__).resolve().parent


# ---- stand-ins: what nnU-Net's classes have that hws.nnunet uses ---------------------------------------------------------


class Loader:
    def __init__(self, data, batch_size):
        self._data, self.batch_size, self.thread_id = data, batch_size, 0
        self.indices = list(data.keys())

    def get_indices(self):
        return list(np.random.choice(self.indices, self.batch_size))

    def batch(self):
        keys = self.get_indices()
        return {"data": torch.tensor([[float(key[-2:])] for key in keys]), "target": torch.zeros(len(keys), 1),
                "keys": np.array(keys)}


class Data(dict):
    pass


class BatchLoss(nn.Module):
    """One number for a batch; batch_dice and ddp must be off case by case."""

    batch_dice, ddp = True, True

    def forward(self, output, target):
        assert not (self.ddp and self.training and torch.is_grad_enabled())
        return ((output - target) ** 2).mean()


class Trainer:
    local_rank, is_ddp, current_epoch, num_epochs, batch_size, disable_checkpointing = 0, False, 0, 4, 2, False
    configuration_manager = types.SimpleNamespace(batch_size=2)

    def __init__(self, folder):
        self.output_folder, self.network, self.said = str(folder), nn.Linear(1, 1), []
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=1e-4)

    def initialize(self):
        self.loss = self._build_loss()

    def _build_loss(self):
        return BatchLoss()

    def get_tr_and_val_datasets(self):
        return Data((case, 0) for case in CASES), Data(case_99=0)

    def get_dataloaders(self):
        training, validation = self.get_tr_and_val_datasets()
        return Loader(training, self.batch_size), Loader(validation, self.batch_size)

    def on_train_start(self):
        self.training, self.validation = self.get_dataloaders()

    def on_train_epoch_start(self):
        pass

    def train_step(self, batch):
        self.optimizer.zero_grad()
        loss = self.loss(self.network(batch["data"]), batch["target"])
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.detach().numpy()}

    def on_train_epoch_end(self, outputs):
        self.current_epoch += 1

    def print_to_log_file(self, *words):
        self.said.append(" ".join(words))

    def save_checkpoint(self, filename):
        torch.save({"network_weights": self.network.state_dict(), "current_epoch": self.current_epoch,
                    "trainer_name": type(self).__name__}, filename)

    def load_checkpoint(self, filename):
        if not hasattr(self, "loss"):
            self.initialize()
        checkpoint = filename if isinstance(filename, dict) else torch.load(filename)
        self.network.load_state_dict(checkpoint["network_weights"])
        self.current_epoch = checkpoint["current_epoch"]


def use_batchgenerators(modules):
    """The one module of nnU-Net's that is imported while loaders are made."""
    for name in ("batchgenerators", "batchgenerators.dataloading", "batchgenerators.dataloading.data_loader"):
        modules[name] = types.ModuleType(name)
    modules["batchgenerators.dataloading.data_loader"].DataLoader = Loader


@pytest.fixture(autouse=True)
def batchgenerators(monkeypatch):
    made = {}
    use_batchgenerators(made)
    for name, module in made.items():
        monkeypatch.setitem(sys.modules, name, module)


def make(folder, settings=Settings(warm_up=0, tail=0.3), base=Trainer, start=True):
    made = trainer(base, "nnUNetTrainerHWS", settings)(folder)
    if start:
        made.initialize()
        made.on_train_start()
    return made


def epoch(made, iterations=30):
    made.on_train_epoch_start()
    outputs = [made.train_step(made.training.batch()) for _ in range(iterations)]
    made.on_train_epoch_end(outputs)
    return outputs


# ---- settings -------------------------------------------------------------------------------------------------------------


def test_settings_by_name_and_environment():
    assert Settings().named("nnUNetTrainerHWS") == Settings()
    assert Settings().named("nnUNetTrainerHWS_tail05_warmup0") == Settings(tail=0.05, warm_up=0)
    paper = Settings().named("nnUNetTrainerHWS_paper")
    assert (paper.beta, paper.importance, paper.warm_up, paper.momentum, paper.initial_loss) == (100, "paper", 0, 0, 1)
    assert paper.robustness(False) == {"tail": None, "beta": 100}
    assert paper == Settings().named("nnUNetTrainerHWS_paper_beta100")
    assert Settings(tail=0.2).named("nnUNetTrainerHWS_paper").robustness(False) == {"tail": None, "beta": 100}
    for name in ("beta30_paper", "paper_beta30"):
        assert Settings().named(f"nnUNetTrainerHWS_{name}") == replace(paper, beta=30.0)
    for name in ("tail20_paper", "paper_tail20"):
        tail = Settings().named(f"nnUNetTrainerHWS_{name}")
        assert tail == replace(paper, beta=None, tail=0.2) and tail.robustness(False) == {"tail": 0.2, "beta": None}
    slow = Settings().named("nnUNetTrainerHWS_momentum30_warmup10_paper")  # whose own words come first wherever they stand
    assert slow == Settings().named("nnUNetTrainerHWS_paper_warmup10_momentum30")
    assert (slow.importance, slow.warm_up, slow.momentum) == ("paper", 0.1, 0.3)
    assert Settings().named("nnUNetTrainerHWS_beta2p5_250epochs").beta == 2.5
    assert Settings().robustness(True) == {"tail": None, "beta": 0.0}
    found = Settings.from_environment({"HWS_NNUNET_TAIL": "0.2", "HWS_NNUNET_EPOCHS": "7", "HWS_NNUNET_BASE": "Other"})
    assert (found.tail, found.epochs, found.base) == (0.2, 7, "Other")
    with pytest.raises(hws.ArgumentError, match="part 'tial20'"):
        Settings().named("nnUNetTrainerHWS_tial20")
    for value in ("a lot", "nan", "-1"):
        with pytest.raises(hws.ArgumentError, match="HWS_NNUNET_TAIL"):
            Settings.from_environment({"HWS_NNUNET_TAIL": value})
    with pytest.raises(AttributeError):
        hws.nnunet.nnUNetTrainerDA5


@pytest.mark.parametrize("name", ["nnUNetTrainerHWStail20", "nnUNetTrainerHWS2_tail20", "nnUNetTrainerhws", "Other_tail20"])
def test_names_without_an_underscore_are_refused(name):
    """What stood between the prefix and the first underscore was ignored."""
    with pytest.raises(hws.ArgumentError, match=f"the trainer's name {name} is not nnUNetTrainerHWS, with parts"):
        Settings().named(name)


def test_variables_that_mean_nothing_are_refused():
    with pytest.raises(hws.ArgumentError, match="HWS_NNUNET_WARMUP means nothing; is it HWS_NNUNET_WARM_UP that"):
        Settings.from_environment({"HWS_NNUNET_WARMUP": "0", "HWS_NNUNET_TAIL": "0.2"})
    assert Settings.from_environment({"HWS_LIBRARY": "libhws.so", "HWS_NNUNET": "1"}) == Settings()


@pytest.mark.parametrize("variable, value, words", [
    ("TAIL", "20", "tail is 20; .* at most 1.*percent"), ("TAIL", "0", "tail is 0"), ("WARM_UP", "50", "warm_up is 50"),
    ("MOMENTUM", "50", "momentum"), ("UNIFORM_MIX", "2", "uniform_mix|uniform mix"), ("FLOOR", "2", "floor"),
    ("IMPORTANCE", "papre", "importance"), ("EPOCHS", "0", "epochs is 0"), ("SEED", str(2**70), "seed")])
def test_settings_that_cannot_be_are_refused_before_training(variable, value, words):
    """They were noticed when the warm-up ended, in the middle of a training, or never."""
    with pytest.raises(hws.ArgumentError, match=words) as refused:
        Settings.from_environment({f"HWS_NNUNET_{variable}": value})
    assert "HWS_NNUNET_" in str(refused.value)


@pytest.mark.parametrize("word", ["tail0", "tail200", "warmup101", "momentum100", "0epochs", "tail20_beta100",
                                  "tail20_tail30", "momentum30_paper_momentum50", "10epochs_20epochs", "exact_normalised",
                                  "exact_paper", "paper_exact", "paper_paper", "tail20_beta30_paper"])
def test_names_that_cannot_be_are_refused_before_training(word):
    with pytest.raises(hws.ArgumentError, match=f"the trainer's name nnUNetTrainerHWS_{word}"):
        Settings().named(f"nnUNetTrainerHWS_{word}")


def test_settings_of_the_wrong_kind_are_refused():
    with pytest.raises(hws.ArgumentError, match="tail is 'x', which is no number"):
        Settings(tail="x")
    with pytest.raises(hws.ArgumentError, match="warm_up is True"):
        Settings(warm_up=True)
    for name in ("warm_up", "momentum", "floor", "uniform_mix"):
        with pytest.raises(hws.ArgumentError, match=f"{name} is None, which is no number"):
            Settings(**{name: None})
    for name, value in (("epochs", 1.5), ("epochs", math.nan), ("epochs", True), ("epochs", "3"), ("seed", 1.5), ("seed", None),
                        ("seed", False), ("seed", "3")):
        with pytest.raises(hws.ArgumentError, match=f"{name} is {value!r}, which is no whole number"):
            Settings(**{name: value})
    with pytest.raises(hws.ArgumentError, match="tail and beta are both None"):
        Settings(tail=None)
    assert Settings(tail=None, beta=2, epochs=None) == Settings(tail=None, beta=2)
    assert Settings(seed=np.int64(3), epochs=np.int32(5)) == Settings(seed=3, epochs=5)
    assert Settings(tail=np.float32(0.5)).tail == 0.5
    assert Settings.from_environment({"HWS_NNUNET_BASE": ""}) == Settings()


def test_a_name_goes_before_the_variables():
    said = Settings.from_environment({"HWS_NNUNET_BETA": "100"})
    assert said.robustness(False) == {"tail": None, "beta": 100}
    assert said.named("nnUNetTrainerHWS_tail20").robustness(False) == {"tail": 0.2, "beta": None}
    assert said.named("nnUNetTrainerHWS_warmup0").robustness(False) == {"tail": None, "beta": 100}
    said = Settings.from_environment({"HWS_NNUNET_TAIL": "0.2"})
    assert said.named("nnUNetTrainerHWS_beta3").robustness(False) == {"tail": None, "beta": 3}
    with pytest.raises(hws.ArgumentError, match="both set"):
        Settings.from_environment({"HWS_NNUNET_BETA": "100", "HWS_NNUNET_TAIL": "0.2"})
    for edge in (Settings(tail=1), Settings(warm_up=0), Settings(warm_up=1), Settings(momentum=0)):
        assert edge.named("nnUNetTrainerHWS") == edge


def test_trainers_are_made_when_they_are_asked_for(monkeypatch):
    monkeypatch.setattr(hws.nnunet, "_find_base", lambda name: Trainer)
    monkeypatch.setattr(hws.nnunet, "_made", {})
    made = hws.nnunet.nnUNetTrainerHWS_tail20_10epochs
    assert made is getattr(hws.nnunet, "nnUNetTrainerHWS_tail20_10epochs")
    assert issubclass(made, HardnessWeighted) and issubclass(made, Trainer)
    assert made.__name__ == "nnUNetTrainerHWS_tail20_10epochs" and made.hws_settings.tail == 0.2
    assert pickle.loads(pickle.dumps(made)) is made


# ---- training ---------------------------------------------------------------------------------------------------------------


def test_the_history_holds_the_losses_of_the_cases(tmp_path):
    made = make(tmp_path, Settings(warm_up=0, tail=0.3, momentum=0))
    made.optimizer = torch.optim.SGD(made.network.parameters(), lr=0.0)
    outputs = epoch(made)
    with torch.no_grad():
        for name, loss in zip(made.hws_cases, made.hws_shared.losses()):
            expected = made.network(torch.tensor([[float(name[-2:])]])).item() ** 2
            assert np.isnan(loss) or loss == pytest.approx(expected, rel=1e-5)
    assert made.hws_shared.unseen == 0 and made._hws_learner.visits.sum() == 60
    assert all(np.isfinite(output["loss"]) for output in outputs)
    assert "hardest: case_" in made.said[-1]
    table = (tmp_path / "hardest_cases.csv").read_text().splitlines()
    assert table[0] == "case,loss,probability,visits" and len(table) == 21
    assert table[1].split(",")[0] == made.hws_cases[int(made.hws_shared.hardest(1)[0][0])]
    with torch.no_grad():  # validation: the plain loss, nothing learnt
        assert made.loss(torch.ones(2, 1), torch.zeros(2, 1)) == 1
    assert made._hws_learner.visits.sum() == 60


def test_loaders_may_be_made_before_the_loss(tmp_path):
    """As in nnU-Net v2.5, whose on_train_start initialises behind its loaders."""
    made = make(tmp_path, start=False)
    made.on_train_start()
    made.initialize()
    epoch(made)
    assert made._hws_learner.visits.sum() == 60


def test_weighted_gradients_and_unweighted_log(tmp_path):
    made = make(tmp_path, Settings(warm_up=0, beta=0.5, tail=None, importance="paper", momentum=0))
    made.hws_shared.set_losses(np.linspace(0, 2, 20))
    batch = made.training.batch()
    with torch.no_grad():
        losses = (made.network(batch["data"])[:, 0] ** 2)
    places = [CASES.index(key) for key in batch["keys"]]
    weights = made.hws_shared.importance_weights(places, losses)
    assert made.train_step(batch)["loss"] == pytest.approx(losses.mean().item(), rel=1e-5)
    np.testing.assert_allclose(made.loss.robust.last_weights, weights, rtol=1e-5)


def test_draws_follow_the_shared_losses_and_no_place_is_preferred(tmp_path):
    made = make(tmp_path, Settings(warm_up=0, beta=2.0, tail=None))
    made.hws_shared.set_losses(np.linspace(0, 1, 20))
    made.training.batch_size = 1
    counts = np.zeros(20)
    for _ in range(4000):
        counts[CASES.index(made.training.get_indices()[0])] += 1
    assert chi_square_p(counts, made.hws_shared.probabilities()) > 1e-6
    made.training.batch_size = 2
    batches = np.array([[CASES.index(key) for key in made.training.get_indices()] for _ in range(4000)])
    larger = (batches[:, 0] > batches[:, 1]).sum()
    assert chi_square_p(np.array([larger, 4000 - larger]), np.array([0.5, 0.5])) > 1e-6
    assert set(made.validation.get_indices()) == {"case_99"}


def test_the_warm_up_is_uniform_and_ends(tmp_path):
    made = make(tmp_path, Settings(warm_up=0.5, tail=0.3))
    for number in range(4):
        made.hws_shared.set_losses(np.linspace(0, 1, 20))
        made.on_train_epoch_start()
        uniform = np.ptp(made.hws_shared.probabilities()) < 1e-12
        assert uniform == (number < 2) and made.hws_shared.tail == (None if number < 2 else 0.3)
        assert np.ptp(made.training._data._hws_source.handle.reader(7).probabilities()) < 1e-12 or number >= 2
        made.on_train_epoch_end([])
    assert any("by their losses" in text for text in made.said)


def test_the_log_has_advice(tmp_path):
    """It had only how many cases are unseen."""
    made = make(tmp_path, Settings(warm_up=0, beta=1000.0, tail=None))
    made.hws_shared.set_losses([1.0] * 18 + [3.0, math.nan])
    made.said.clear()
    made._hws_report()
    few, = [text for text in made.said if "advice" in text]  # in this many visits nobody sees all cases
    assert f"fewer than a batch of {made.batch_size}" in few and "_tail50" in few and "hardest_cases.csv" in few
    made._hws_learner.visits[:] = 1
    made._hws_report()
    assert any("advice: 1 of 20 examples have no loss yet: they come first, but it takes" in text for text in made.said)
    calm = make(tmp_path, Settings(warm_up=0, tail=0.5))
    calm.hws_shared.set_losses(np.linspace(0, 1, 20))
    calm._hws_report()
    assert not any("advice" in text for text in calm.said)


def test_checkpoints_resume_and_name_the_trainer_underneath(tmp_path):
    made = make(tmp_path)
    epoch(made)
    made.save_checkpoint(str(tmp_path / "checkpoint.pth"))
    assert torch.load(tmp_path / "checkpoint.pth")["trainer_name"] == "Trainer"
    assert not list(tmp_path.glob("*.tmp"))
    resumed = make(tmp_path, start=False)
    resumed.load_checkpoint(str(tmp_path / "checkpoint.pth"))
    resumed.on_train_start()
    np.testing.assert_array_equal(resumed.hws_shared.losses(), made.hws_shared.losses())
    assert resumed._hws_learner.visits.tolist() == made._hws_learner.visits.tolist()
    before = [made.training.get_indices() for _ in range(20)]
    assert [resumed.training.get_indices() for _ in range(20)] != before  # a stream that nobody has used
    epoch(resumed)


@pytest.mark.parametrize("now, said", [
    (Settings(warm_up=0, tail=0.3), ""), (Settings(warm_up=0, tail=0.3, momentum=0), "momentum 0 instead of 0.5"),
    (Settings(warm_up=0, tail=0.3, importance="exact"), "importance exact instead of paper"),
    (Settings(warm_up=0, tail=0.2, momentum=0.8, importance="normalised"),
     "momentum 0.8 instead of 0.5, importance normalised instead of paper")])
def test_a_resumed_run_has_the_settings_that_are_asked_for_now(tmp_path, now, said):
    """Momentum and importance weights were those of the checkpoint, silently."""
    made = make(tmp_path)
    epoch(made)
    made.save_checkpoint(str(tmp_path / "checkpoint.pth"))
    resumed = make(tmp_path, now, start=False)
    resumed.load_checkpoint(str(tmp_path / "checkpoint.pth"))
    resumed.on_train_start()
    options = resumed.hws_shared.options
    assert (options["momentum"], options["importance"]) == (now.momentum, now.importance or "paper")
    assert options["tail"] == now.tail
    np.testing.assert_array_equal(resumed.hws_shared.losses(), made.hws_shared.losses())
    told = [text for text in resumed.said if "other than in the checkpoint" in text]
    assert told == ([f"hws: other than in the checkpoint: {said}"] if said else [])
    loss = resumed.hws_shared.losses()[3]
    resumed.hws_shared.update([3], [loss + 1])
    assert resumed.hws_shared.losses()[3] == pytest.approx(loss + 1 - now.momentum)
    assert resumed.training._data._hws_source.handle.reader(9).losses()[3] == resumed.hws_shared.losses()[3]


def test_a_checkpoint_may_have_been_loaded_onto_a_gpu(tmp_path):
    made = make(tmp_path)
    epoch(made)
    made.save_checkpoint(str(tmp_path / "checkpoint.pth"))
    checkpoint = torch.load(tmp_path / "checkpoint.pth")
    resumed = make(tmp_path, start=False)
    resumed.load_checkpoint({**checkpoint, "hws": on_gpu(checkpoint["hws"])})
    resumed.on_train_start()
    np.testing.assert_array_equal(resumed.hws_shared.losses(), made.hws_shared.losses())


def test_a_checkpoint_of_other_cases_or_without_losses(tmp_path):
    made = make(tmp_path)
    epoch(made)
    made.save_checkpoint(str(tmp_path / "checkpoint.pth"))

    class Other(Trainer):
        def get_tr_and_val_datasets(self):
            return Data((case, 0) for case in [*CASES[10:], "new"]), Data(case_99=0)

    other = make(tmp_path, base=Other, start=False)
    other.load_checkpoint(str(tmp_path / "checkpoint.pth"))
    other.on_train_start()
    np.testing.assert_array_equal(other.hws_shared.losses()[:10], made.hws_shared.losses()[10:])
    assert other.hws_shared.unseen == 1 and "10 cases are taken over" in " ".join(other.said)
    Trainer.save_checkpoint(made, str(tmp_path / "plain.pth"))
    fresh = make(tmp_path, start=False)
    fresh.load_checkpoint(str(tmp_path / "plain.pth"))
    fresh.on_train_start()
    assert fresh.hws_shared.unseen == 20


def test_losses_that_are_not_finite_are_left_out_and_named(tmp_path):
    made = make(tmp_path)
    batch = made.training.batch()
    batch["data"][0] = float("inf")
    made.train_step(batch)
    made.on_train_epoch_end([])
    assert any(f"'{batch['keys'][0]}': 1" in text for text in made.said)


def test_more_draws_than_cases_and_unknown_loaders(tmp_path):
    class Two(Trainer):
        batch_size = 50

    assert len(make(tmp_path, base=Two).training.get_indices()) == 50

    class Unknown(Trainer):
        def get_dataloaders(self):
            training, _ = self.get_tr_and_val_datasets()
            return training, None

    with pytest.raises(hws.HwsError, match="does not know"):
        make(tmp_path, base=Unknown)


def draw_in_a_process(loader, number, results):
    loader.thread_id = number
    results.put([loader.get_indices() for _ in range(5)])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_loader_processes_see_the_losses(tmp_path, method):
    made = make(tmp_path, Settings(warm_up=0, beta=1000.0, tail=None))
    made.hws_shared.set_losses(np.arange(20))
    context = multiprocessing.get_context(method)
    results = context.Queue()
    process = context.Process(target=draw_in_a_process, args=(made.training, 1, results), daemon=True)
    process.start()
    batches = results.get(timeout=120)
    process.join(120)
    assert all(set(batch) == {"case_19", "case_18"} for batch in batches)


PATIENCE = 300  # seconds until a rank that waits is given up


def train_rank(rank, meeting, folder, results):
    """One of two processes that train together, with batches of 2 and 1 cases."""
    faulthandler.dump_traceback_later(PATIENCE / 2, file=sys.__stderr__)
    use_batchgenerators(sys.modules)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)

    class Rank(Trainer):
        local_rank, is_ddp, batch_size = rank, True, 2 - rank

        def initialize(self):
            super().initialize()
            torch.manual_seed(0)
            self.network = nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
            self.optimizer = torch.optim.SGD(self.network.parameters(), lr=1e-3)

    made = make(folder, Settings(warm_up=0, beta=0.5, tail=None, importance="paper", momentum=0), Rank)
    steps = []
    for _ in range(12):
        batch = made.training.batch()
        made.train_step(batch)
        robust = made.loss.robust
        steps.append((batch["keys"].tolist(), robust.last_losses.tolist(), robust.last_weights.tolist()))
    weights = [value.detach().numpy().tolist() for value in made.network.parameters()]
    results.put((rank, steps, made.hws_shared.to_bytes(), made._hws_learner.visits.tolist(), weights))
    results.close()
    results.join_thread()
    os._exit(0)  # the destructor of gloo's group in PyTorch 1.13 may wait for ever


def test_two_ranks_learn_from_both_and_weigh_their_own(tmp_path):
    """Two real processes, gloo: what each learns is what one sampler learns from the batches of both, rank after rank."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    processes = [context.Process(target=train_rank, args=(rank, tmp_path / "meeting", tmp_path, results), daemon=True)
                 for rank in range(2)]
    for process in processes:
        process.start()
    try:
        reports = sorted(results.get(timeout=PATIENCE) for _ in processes)
    finally:
        for process in processes:
            process.kill()
            process.join()
    (_, first, state, visits, weights), (_, second, *others) = reports
    assert others == [state, visits, weights]
    reference = hws.Sampler(20, beta=0.5, importance="paper", momentum=0)
    for parts in zip(first, second):
        cases = np.array([CASES.index(key) for keys, _, _ in parts for key in keys])
        losses = np.array([loss for _, own, _ in parts for loss in own], np.float32)
        own = [weight for _, _, given in parts for weight in given]
        np.testing.assert_allclose(own, learn(reference, cases, losses, True, True), rtol=1e-6)
    np.testing.assert_array_equal(hws.Sampler.from_bytes(state).losses(), reference.losses())
    assert sum(visits) == 12 * 3 and {len(keys) for keys, _, _ in first} == {2} and {len(keys) for keys, _, _ in second} == {1}


# ---- installing ---------------------------------------------------------------------------------------------------------------


def fake_nnunet(folder, paths=""):
    variants = folder / "nnunetv2" / "training" / "nnUNetTrainer" / "variants"
    variants.mkdir(parents=True)
    (folder / "nnunetv2" / "__init__.py").write_text("")
    (folder / "nnunetv2" / "paths.py").write_text(paths)
    return variants / "hws_trainer.py"


def command(folder, *arguments):
    return subprocess.run([sys.executable, "-m", "hws.nnunet", *arguments], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": f"{HERE.parent}{os.pathsep}{folder}"})


def test_install_and_uninstall(tmp_path):
    assert "not installed" in command(tmp_path, "install").stderr
    file = fake_nnunet(tmp_path)
    assert "uninstall" in command(tmp_path, "install").stdout
    assert len(file.read_text().splitlines()) == 1 and "hws.nnunet" in file.read_text()
    assert "Removed" in command(tmp_path, "uninstall").stdout and not file.exists()
    assert "Nothing to undo" in command(tmp_path, "uninstall").stdout


def test_where_a_variable_does_nothing_is_installed(tmp_path):
    file = fake_nnunet(tmp_path, "nnUNet_extTrainer = 1")
    told = command(tmp_path, "install").stdout
    assert "export nnUNet_extTrainer=" in told and not file.exists()
    folder = Path(told.split("export nnUNet_extTrainer=")[1].splitlines()[0])
    assert [path.name for path in folder.glob("*.py")] == ["hws_trainer.py"]
    command(tmp_path, "install", "--always")
    assert file.exists()


# ---- nnU-Net itself ---------------------------------------------------------------------------------------------------------------


needs_clones = pytest.mark.skipif(not os.environ.get("NNUNET"), reason="nnU-Net itself: make test-nnunet NNUNET=FOLDER of clones")
PROGRAM = HERE.parents[1] / "build" / "release" / "cli" / "hws"


def run_script(name, *arguments):
    """Runs a script beside this one, shows what it says, and skips the test if that is only what it skipped."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:  # not a pipe, which a process left behind would keep open
        result = subprocess.run([sys.executable, HERE / f"{name}.py", *map(str, arguments)], stdout=output,
                                stderr=subprocess.STDOUT)
        output.seek(0)
        text = output.read()
    assert result.returncode == 0, text[-6000:]
    told = [line for line in text.splitlines() if line.startswith(f"{name}: ")]
    skipped = [line for line in told if line.startswith(f"{name}: skipped: ")]
    print("\n".join(told))
    if skipped and skipped == told:
        pytest.skip("; ".join(skipped))
    for line in skipped:
        warnings.warn(line, stacklevel=2)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """What nnunet_peer.py leaves behind: a data set that nnU-Net v2.1 has preprocessed."""
    scratch = tmp_path_factory.mktemp("nnunet")
    run_script("nnunet_peer", os.environ["NNUNET"], scratch)
    if not (scratch / "nnunet" / "preprocessed").is_dir():
        pytest.skip("nnU-Net v2.1 could not be run")
    return scratch


@needs_clones
def test_the_first_version_trains_resumes_validates_and_predicts(trained):
    assert (trained / "nnunet" / "predicted").is_dir()


@needs_clones
def test_two_ranks_inside_the_first_version(trained):
    run_script("nnunet_ranks", trained)


@needs_clones
def test_later_versions_train_an_epoch(trained):
    run_script("nnunet_later", os.environ["NNUNET"], trained)


@needs_clones
@pytest.mark.skipif(not PROGRAM.is_file(), reason="the program hws is not built: make")
def test_models_both_ways_give_the_same_labels(tmp_path):
    run_script("nnunet_models", os.environ["NNUNET"], tmp_path / "models", PROGRAM)


@needs_clones
@pytest.mark.skipif(not PROGRAM.is_file(), reason="the program hws is not built: make")
@pytest.mark.parametrize("data, configuration", [("Dataset004_Test", "3d_fullres"), ("Dataset005_Regions", "2d")])
def test_a_model_that_nnunet_has_planned_and_trained_gives_its_labels(trained, tmp_path, data, configuration):
    folder = trained / "nnunet"
    model = folder / "results" / data / f"nnUNetTrainerHWS_warmup0__nnUNetPlans__{configuration}"
    run_script("nnunet_models", os.environ["NNUNET"], tmp_path / "models", PROGRAM, model, folder / "raw" / data / "imagesTs")
