"""Several crops of one case in a batch are one draw: one loss, their mean, and nothing stays under way."""
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, default_collate

import hws
from hws._pending import Draw, Pending
from hws.torch import DROLoss, HardnessWeightedBatchSampler, HardnessWeightedSampler, IndexedDataset

N = 30


class Crops:
    """As MONAI's: a case gives a list of dicts, cut at random."""

    def __init__(self, crops=2):
        self.crops = crops

    def __len__(self):
        return N

    def __getitem__(self, case):
        return [{"image": torch.rand(3) + case} for _ in range(self.crops if self.crops else 1 + case % 3)]


def flat(batch):
    """What MONAI's collation does: the crops of all cases become one batch."""
    return default_collate([crop for case in batch for crop in case])


def loaders(kind, crops=2, workers=0, randomness=False):
    if kind == "batch":
        sampler = HardnessWeightedBatchSampler(N, batch_size=4, batches_per_epoch=10, beta=4, seed=3)
        arguments = dict(batch_sampler=sampler)
    else:
        sampler = HardnessWeightedSampler(N, num_samples=40, beta=4, seed=3)
        arguments = dict(sampler=sampler, batch_size=4)
    data = IndexedDataset(Crops(crops), randomness=sampler if randomness else None)
    return sampler, DataLoader(data, collate_fn=flat, num_workers=workers, **arguments)


# Of single draws with any number of crops (0 here), a case that was drawn twice cannot be told from one with twice as many.
@pytest.mark.parametrize("kind, crops, workers", [("batch", 0, 0), *(
    (kind, *rest) for kind in ("batch", "single") for rest in ((2, 0), (2, 2), (3, 0), (1, 0)))])
def test_the_loss_of_a_case_is_the_mean_over_its_crops(kind, crops, workers):
    torch.manual_seed(0)
    sampler, loader = loaders(kind, crops, workers)
    criterion = DROLoss(lambda prediction, target: prediction, sampler, importance=True)
    for batch in loader:
        indices = batch["index"]
        losses = batch["image"].mean(1) - indices
        cases = list(dict.fromkeys(indices.tolist()))  # in the order of the draw
        means = np.array([losses[indices == case].mean() for case in cases])
        weights = dict(zip(cases, sampler.importance_weights(cases, means)))
        criterion(losses, None, indices)
        np.testing.assert_allclose(sampler.losses()[cases], means, rtol=1e-5)
        np.testing.assert_allclose(criterion.last_weights, [weights[int(case)] for case in indices], rtol=1e-4)
    assert len(sampler._pending) == 0
    assert sampler.staleness()["counted"] == (10 if kind == "batch" else 40)
    assert sampler.staleness()["max"] == 2 * workers


@pytest.mark.parametrize("kind", ["batch", "single"])
@pytest.mark.parametrize("workers", [0, 2])
def test_resumed_the_crops_are_the_same_too(kind, workers):
    """Cases and crops: the losses depend on the crops, and the next draws on the losses."""

    def train(sampler, loader, seen, stop=None):
        while len(seen) < 20:
            for batch in loader:
                sampler.update(batch["index"], batch["image"].mean(1) - batch["index"])
                seen.append((batch["index"].tolist(), batch["image"].tolist()))
                if len(seen) == stop:
                    return

    straight = []
    train(*loaders(kind, 2, workers, randomness=True), straight)
    for stop in (3, 10, 14):
        parts = []
        sampler, loader = loaders(kind, 2, workers, randomness=True)
        train(sampler, loader, parts, stop)
        resumed, loader = loaders(kind, 2, workers, randomness=True)
        resumed.load_state_dict(sampler.state_dict())
        train(resumed, loader, parts)
        assert parts == straight, stop


def test_random_numbers_follow_the_draw_and_leave_the_user_s_alone():
    seen = []
    for workers in (0, 2):
        _, loader = loaders("batch", 2, workers, randomness=True)
        torch.manual_seed(1)
        seen.append([batch["image"].tolist() for batch in loader])
        if workers == 0:
            after = torch.rand(1)
            torch.manual_seed(1)
            torch.empty((), dtype=torch.int64).random_()  # the loader's base seed
            assert after == torch.rand(1)
    assert seen[0] == seen[1]
    data = IndexedDataset(Crops(), randomness=loaders("batch")[0])
    assert data[3][0]["image"].tolist() == data[3][0]["image"].tolist() != data[4][0]["image"].tolist()
    with pytest.raises(hws.ArgumentTypeError, match="randomness"):
        IndexedDataset(Crops(), randomness=hws.Sampler(3))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_resumed_run_has_the_crops_of_the_seed_that_it_was_begun_with(workers):
    """The sampler that takes the state over was made with another seed; the data set knew it before."""
    def make(seed):
        sampler = HardnessWeightedBatchSampler(N, batch_size=4, batches_per_epoch=10, seed=seed)
        data = IndexedDataset(Crops(2), randomness=sampler)
        return sampler, data, DataLoader(data, collate_fn=flat, num_workers=workers, batch_sampler=sampler)

    def train(sampler, loader, steps):
        seen = []
        for batch in loader:
            sampler.update(batch["index"], batch["image"].mean(1) - batch["index"])
            seen.append(batch["image"].tolist())
            if len(seen) == steps:
                break
        return seen

    sampler, data, loader = make(7)
    straight = train(sampler, loader, 10)
    sampler, data, loader = make(7)
    train(sampler, loader, 4)
    resumed, again, loader = make(0)
    other = [crop["image"].tolist() for crop in again[3]]
    resumed.load_state_dict(sampler.state_dict())
    assert train(resumed, loader, 6) == straight[4:]
    assert [crop["image"].tolist() for crop in again[3]] == [crop["image"].tolist() for crop in data[3]] != other


def test_random_numbers_of_an_index_from_the_end():
    data = IndexedDataset(Crops(), randomness=loaders("batch")[0])
    assert data[-2][0]["image"].tolist() == data[N - 2][0]["image"].tolist()


def test_items_that_are_lists():
    assert IndexedDataset([[("a", 1), ("b", 2)]])[0] == [("a", 1, 0), ("b", 2, 0)]
    assert IndexedDataset([["image", "label"]])[0] == (["image", "label"], 0)
    assert IndexedDataset([[]])[0] == ([], 0)


def test_batches_are_matched_with_draws_in_whatever_form_they_come():
    def book(*draws):
        pending = Pending()
        for number, draw in enumerate(draws):
            pending.add(np.array(draw), Draw(np.array(draw), 0, number))
        return pending

    def found(pending, *indices):
        match = pending.match(np.array(indices))
        return match and (match.entries, match.examples.tolist(), match.items.tolist())

    assert found(book([9, 4]), 9, 9, 4, 4) == ([0], [9, 4], [0, 0, 1, 1])
    assert found(book([9, 4]), 9, 9, 9, 4) == ([0], [9, 4], [0, 0, 0, 1])
    assert found(book([9, 9, 4, 4], [9, 4]), 9, 9, 4, 4)[0] == [0]  # drawn with replacement
    assert found(book([9], [9], [4]), 9, 9, 4)[0] == [0, 1, 2]
    assert found(book([9], [4], [9]), 9, 9, 4, 4) == ([0, 1], [9, 4], [0, 0, 1, 1])
    assert found(book([4], [9]), 9, 4)[0] == [1, 0]  # another order
    assert found(book([4, 9]), 1, 2) is None
    pending = book([7], [7], [8])
    pending.take(pending.match(np.array([7])))
    assert len(pending) == 2 and [draw.number for draw in pending.draws()] == [1, 2]


@pytest.mark.parametrize("loader_sampler", [True, False])
def test_a_crop_whose_labels_are_all_ignored_is_left_out_of_its_case_s_mean(loader_sampler):
    core = hws.Sampler(3, seed=1)
    sampler = HardnessWeightedBatchSampler(core, 3) if loader_sampler else core
    cases = next(iter(sampler)) if loader_sampler else [2, 0, 1]
    logits = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    labels = torch.tensor([0, -100, 1, 2, -100, -100])
    DROLoss(nn.CrossEntropyLoss(), sampler)(logits, labels, np.repeat(cases, 2))
    expected = [float(nn.functional.cross_entropy(logits[i:i + 2], labels[i:i + 2])) for i in (0, 2, 4)]  # NaN at last
    np.testing.assert_allclose(core.losses()[cases], expected, rtol=1e-6)
    if loader_sampler:
        assert len(sampler._pending) == 0


def test_a_draw_of_crops_is_one_update():
    sampler = hws.Sampler(4, momentum=0.5)
    criterion = DROLoss(nn.MSELoss(), sampler)
    for _ in range(2):
        criterion(torch.tensor([1.0, 3.0, 2.0]), torch.zeros(3), [1, 1, 0])
    assert sampler.losses(0, 2).tolist() == [4, 5] and sampler.updates_made == 2
