"""What those who try hws for the first time do by mistake: it is refused with what to do instead."""
import pickle
import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import hws
import hws.torch
from hws.torch import DROLoss, HardnessWeightedBatchSampler, HardnessWeightedSampler, IndexedDataset

DATA = TensorDataset(torch.arange(24).float()[:, None], torch.arange(24) % 3)


def test_a_batch_sampler_in_the_place_of_a_sampler():
    loader = DataLoader(IndexedDataset(DATA), sampler=HardnessWeightedBatchSampler(DATA, 4), batch_size=4)
    with pytest.raises(hws.ArgumentTypeError, match=r"not a list: .* is for DataLoader\(batch_sampler=...\)"):
        next(iter(loader))


def test_a_sampler_of_other_data():
    loader = DataLoader(IndexedDataset(DATA), batch_sampler=HardnessWeightedBatchSampler(2000, 20))
    with pytest.raises(hws.ExampleIndexError, match="behind the last of 24 examples: is the sampler of the same data set"):
        next(iter(loader))
    assert len(list(IndexedDataset(DATA))) == 24  # Python's way of iterating ends by an IndexError


def test_things_in_the_wrong_place():
    for make, words in ((lambda: IndexedDataset(IndexedDataset(DATA)), "an IndexedDataset already"),
                        (lambda: HardnessWeightedBatchSampler(DataLoader(DATA), 4), "give the data set, not its DataLoader"),
                        (lambda: DROLoss(nn.CrossEntropyLoss, hws.Sampler(3)), r"the class CrossEntropyLoss: .*CrossEntropyLoss\(\)"),
                        (lambda: hws.torch.PerCase(nn.MSELoss), r"the class MSELoss: .*MSELoss\(\)")):
        with pytest.raises(hws.ArgumentTypeError, match=words):
            make()


@pytest.mark.parametrize("loss", [nn.MSELoss(), nn.L1Loss(reduction="sum"), nn.BCEWithLogitsLoss()])
def test_shapes_that_would_mix_examples(loss):
    """torch broadcasts them, with a warning at most: each example's loss was a mean over the targets of all."""
    sampler = hws.Sampler(10)
    criterion = DROLoss(loss, sampler)
    with pytest.raises(hws.ArgumentError, match=r"\(10, 1\), the target of \(10,\): .* would compare examples with the targets"):
        criterion(torch.rand(10, 1), torch.rand(10), torch.arange(10))
    assert sampler.unseen == 10
    criterion(torch.rand(10, 1), torch.rand(10, 1), torch.arange(10))
    assert sampler.unseen == 0


def test_a_loss_that_half_precision_cannot_hold_says_what_helps():
    criterion = DROLoss(lambda prediction, target: (prediction - target) * 300, hws.Sampler(2))
    with pytest.raises(hws.NotFiniteError, match="example 1 .* is inf.*mixed precision.*skip_non_finite=True") as refused:
        criterion(torch.tensor([1.0, 300.0]).half(), torch.zeros(2).half(), [0, 1])
    assert refused.value.example == 1


@pytest.mark.parametrize("sampler", [HardnessWeightedBatchSampler(DATA, 4), HardnessWeightedSampler(DATA)])
def test_what_is_expected_of_a_sampler_of_torch_s(sampler):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for epoch in range(2):
            sampler.set_epoch(epoch)
            next(iter(sampler))
    assert repr(sampler) == f"<{type(sampler).__name__} over <Sampler of 24 examples, tail=0.1, divergence='kl'>>"
    sampler.sampler.set_losses(torch.arange(24.0))
    assert sampler.cvar(0.5) == 17.5 and sampler.percentile(0.5) == sampler.sampler.percentile(0.5)
    assert sampler.robust_loss() == sampler.sampler.robust_loss()
    other = pickle.loads(pickle.dumps(sampler))
    assert list(other) == list(sampler)


class KnowsItsSampler(torch.utils.data.Dataset):
    """A data set that goes to the loader's processes with a sampler in it."""

    def __init__(self, sampler):
        self.sampler = sampler

    def __len__(self):
        return len(DATA)

    def __getitem__(self, index):
        return DATA[index]


def test_loaders_that_spawn_get_a_copy_of_the_sampler():
    sampler = HardnessWeightedBatchSampler(DATA, 4)
    loader = DataLoader(IndexedDataset(KnowsItsSampler(sampler)), batch_sampler=sampler, num_workers=1,
                        multiprocessing_context="spawn")
    for _, _, indices in loader:
        sampler.update(indices, indices.float())
    assert sampler.unseen == 0
