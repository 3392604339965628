import sys

import pytest
import torch

import hws
from hws import telemetry
from hws.torch import DROLoss, HardnessWeightedBatchSampler


class Writer:
    def __init__(self):
        self.scalars, self.histograms = {}, {}

    def add_scalar(self, tag, value, step):
        self.scalars[tag, step] = value

    def add_histogram(self, tag, values, step):
        self.histograms[tag, step] = values


def test_scalars_and_histogram_are_written():
    sampler = HardnessWeightedBatchSampler(10, batch_size=2, beta=3)
    criterion = DROLoss(torch.nn.MSELoss(), sampler)
    for batch in sampler:
        criterion(torch.ones(2), torch.zeros(2), batch)
    writer = Writer()
    values = telemetry.log(writer, sampler, 5, criterion, prefix="train", histogram=True)
    assert {tag for tag, step in writer.scalars if step == 5} == {f"train/{name}" for name in values}
    assert {"robust_loss", "effective_size", "staleness_mean", "clip_rate", "sampler_seconds", "beta"} <= set(values)
    assert writer.scalars["train/beta", 5] == 3 and len(writer.histograms["train/losses", 5]) == 10
    assert all(isinstance(value, (int, float)) for value in values.values())


def test_a_core_sampler_and_no_writer():
    values = telemetry.log(None, hws.Sampler(3, beta=2, initial_loss=1), 0)
    assert values["beta"] == 2 and values["loss_mean"] == 1


def test_a_number_that_is_not_there_is_left_out():
    writer = Writer()
    sampler = hws.Sampler([1, 1, 1], divergence=hws.CustomDivergence(lambda z: z - 1, lambda y: y + 1))
    telemetry.log(writer, sampler, 1)
    assert ("hws/robust_loss", 1) not in writer.scalars and ("hws/loss_mean", 1) in writer.scalars


def test_summary_writer_or_none(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)  # as where tensorboard is not installed
    assert telemetry.summary_writer(str(tmp_path)) is None

    class Module:
        SummaryWriter = staticmethod(lambda log_dir: ("writer", log_dir))

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", Module)
    assert telemetry.summary_writer("here") == ("writer", "here")


def test_the_samplers_of_the_paper_s_package_tell_too():
    """They have no statistics of their own, and nothing could be collected from them."""
    from hws.compat import BatchWeightedSampler, WeightedSampler

    single = WeightedSampler(beta=2, weights_init=torch.tensor([1.0, 3.0, 2.0]))
    writer = Writer()
    for sampler in (single, BatchWeightedSampler(single, batch_size=3)):
        values = telemetry.log(writer, sampler, 4, histogram=True)
        assert values["beta"] == 2 and values["loss_mean"] == 2 and len(writer.histograms["hws/losses", 4]) == 3
        assert "fewer than a batch of 3" in telemetry.concerns(sampler, 3)[0]
    with pytest.raises(hws.ArgumentTypeError, match="one of hws, not list"):
        telemetry.collect([1.0])


def test_concerns():
    assert telemetry.concerns(hws.Sampler([1.0, 1.1, 1.2], beta=1), 2) == []
    unseen, = telemetry.concerns(hws.Sampler(5), 2)
    assert unseen.startswith("5 of 5 examples have no loss yet")
    both = telemetry.concerns(hws.Sampler([1.0, 9.0, float("nan")], beta=10), 2)
    assert len(both) == 2 and both[0].startswith("1 of 3") and "fewer than a batch of 2" in both[1]
