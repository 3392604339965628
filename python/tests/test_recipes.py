"""The settings of hws train in one word, and the warm-up that one of them begins with."""
import copy
import pickle
import re
import types
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import hws
import hws.lightning
import hws.monai
import hws.torch
from hws._recipes import RECIPES
from hws.torch import DROLoss, HardnessWeightedBatchSampler, HardnessWeightedSampler, IndexedDataset

N = 22
KINDS = [(HardnessWeightedBatchSampler, {"batch_size": 4}), (HardnessWeightedSampler, {})]
SETTINGS = Path(__file__).resolve().parents[2] / "src" / "run" / "settings_table.c"


# ---- recipes ------------------------------------------------------------------------------------------------------


def of_the_program(key, field):
    """A default in the program's table of settings; what is the same for volumes stands there once."""
    row = re.search(rf'\{{"{key}",.*?\}},\n    \{{"', SETTINGS.read_text(), re.DOTALL).group()
    for name in (field, {"volumes": "images", "paper_volumes": "paper", "paper": "images"}.get(field, field), "images"):
        found = re.search(rf'\.{name} = "([^"]*)"', row)
        if found:
            return found.group(1)


@pytest.mark.parametrize("name, field", [("images", "images"), ("volumes", "volumes"), ("paper-images", "paper"),
                                         ("paper-volumes", "paper_volumes")])
def test_recipes_are_those_of_the_program(name, field):
    recipe = RECIPES[name]
    for key, ours in (("tail", recipe.tail), ("beta", recipe.beta), ("loss_init", recipe.initial_loss),
                      ("warm_up", recipe.warm_up)):
        text = of_the_program(key, field)
        assert (None if text == "none" else float(text)) == ours, key
    assert of_the_program("importance", field) == ("0.1,10" if recipe.importance else "off")


@pytest.mark.parametrize("kind, extra", KINDS)
def test_a_sampler_follows_a_recipe(kind, extra):
    assert kind(N, **extra).tail == kind(N, recipe="images", **extra).tail == 0.1
    volumes = kind(N, recipe="volumes", epochs=4, **extra)
    assert (volumes.tail, volumes.warming_up, volumes.recipe) == (0.5, True, "volumes")
    paper = kind(N, recipe="paper-images", **extra)
    assert (paper.tail, paper.beta, paper.losses().tolist()) == (None, 10, [10] * N)
    assert kind(N, recipe="paper-volumes", initial_loss=3, **extra).losses()[0] == 3  # other options change it
    assert kind(N, recipe="volumes", warm_up=0, **extra).warming_up is False


def test_a_sampler_of_one_s_own_follows_a_recipe():
    sampler = hws.Sampler(5, recipe="paper-images")
    assert (sampler.beta, sampler.unseen, sampler.recipe) == (10, 0, "paper-images")
    for other in (pickle.loads(pickle.dumps(sampler)), copy.copy(sampler), sampler.copy()):
        assert other.recipe == "paper-images"
    assert hws.Sampler(5, recipe="images").tail == 0.1 and hws.Sampler(5).recipe is None
    with pytest.raises(hws.ArgumentError, match="'volumes' begins with a warm-up, which the samplers of hws.torch have.*tail=0.5"):
        hws.Sampler(5, recipe="volumes")


@pytest.mark.parametrize("options, words", [
    ({"recipe": "images", "tail": 0.2}, "recipe and tail cannot be used together: the recipe 'images' is a tail of 0.1"),
    ({"recipe": "paper-volumes", "beta": 3}, "recipe and beta cannot be used together: the recipe 'paper-volumes' is beta 100"),
    ({"recipe": "paper"}, "'paper-images' or 'paper-volumes'"), ({"recipe": "photos"}, "recipe is 'photos'; there are 'images'"),
    ({"recipe": 3}, "recipe must be a string, not int")])
def test_what_contradicts_a_recipe_is_refused(options, words):
    for make in (hws.Sampler, lambda n, **given: HardnessWeightedBatchSampler(n, 4, **given)):
        with pytest.raises(hws.HwsError, match=words):
            make(N, **options)
    with pytest.raises(hws.ArgumentError, match="open already; it cannot take recipe"):
        HardnessWeightedBatchSampler(hws.Sampler(N), 4, recipe="images")


def test_the_loss_weighs_as_the_recipe_says():
    weighs = HardnessWeightedBatchSampler(N, 4, recipe="paper-volumes")
    assert DROLoss(nn.MSELoss(), weighs).importance and weighs.sampler.importance == "paper"
    assert not DROLoss(nn.MSELoss(), weighs, importance=False).importance
    assert DROLoss(nn.MSELoss(), hws.Sampler(N, recipe="paper-volumes", importance="exact")).sampler.importance == "exact"
    for none in ("images", "paper-images"):
        assert not DROLoss(nn.MSELoss(), HardnessWeightedBatchSampler(N, 4, recipe=none)).importance


# ---- the warm-up --------------------------------------------------------------------------------------------------


def losses_of(indices):
    return torch.sin(torch.as_tensor(indices).float()) + 2


def train(sampler, count):
    """The next draws of a training, as lists."""
    drawn = []
    while len(drawn) < count:
        for indices in sampler:
            indices = indices if isinstance(indices, list) else [indices]
            sampler.update(indices, losses_of(indices))
            drawn.append(indices)
            if len(drawn) == count:
                break
    return drawn


def test_the_warm_up_draws_shuffled_passes_and_ends():
    sampler = HardnessWeightedBatchSampler(N, 4, tail=0.3, warm_up=0.5, epochs=10, seed=5)  # 6 batches an epoch, 5 a pass
    warm = train(sampler, 30)
    assert not sampler.warming_up and sampler.sampler.draws_made == 0
    passes = [sum(warm[first:first + 5], []) for first in range(0, 30, 5)]
    assert all(len(set(seen)) == 20 for seen in passes) and len({tuple(seen) for seen in passes}) == 6
    assert train(sampler, 1) and sampler.sampler.draws_made == 1
    robust = sum(train(sampler, 200), [])
    hard = np.argsort(losses_of(np.arange(N)).numpy())[-8:]
    assert np.isin(robust, hard).mean() > 0.8 > np.isin(sum(warm, []), hard).mean() + 0.2
    assert train(HardnessWeightedBatchSampler(N, 4, warm_up=0.5, epochs=10, seed=6), 30) != warm


def test_the_order_of_the_warm_up_stays_the_same_between_versions():
    sampler = HardnessWeightedBatchSampler(10, 5, warm_up=1, epochs=1, seed=7)
    assert list(sampler) == [[0, 5, 2, 4, 3], [6, 9, 8, 1, 7]]
    small = HardnessWeightedBatchSampler(3, 5, batches_per_epoch=3, warm_up=1, epochs=1, seed=7, replacement=True)
    assert list(small) == [[0, 2, 1, 2, 0], [1, 1, 2, 0, 2], [1, 0, 1, 2, 0]]


@pytest.mark.parametrize("epochs, fraction, warm", [(4, 0.5, 12), (2.5, 0.5, 7), (1, 1, 6), (3, 0, 0)])
def test_the_length_of_the_warm_up_follows_from_the_epochs(epochs, fraction, warm):
    sampler = HardnessWeightedBatchSampler(N, 4, warm_up=fraction, epochs=epochs)
    drawn = 0
    while sampler.warming_up and drawn < 20:
        drawn += len(train(sampler, 1))
    assert drawn == warm or (drawn, warm) == (0, 0)


@pytest.mark.parametrize("kind, extra", KINDS)
@pytest.mark.parametrize("stop", [3, 11, 12, 13, 17])
def test_a_run_resumed_around_the_warm_up_draws_the_same(kind, extra, stop):
    options = {**extra, "recipe": "volumes", "epochs": 4 if extra else 1.1, "seed": 9}
    straight = train(kind(N, **options), 24)
    sampler = kind(N, **options)
    first = train(sampler, stop)
    resumed = kind(N, **{**options, "epochs": 400})  # the length is the state's
    resumed.load_state_dict(sampler.state_dict())
    assert first + train(resumed, 24 - stop) == straight


def test_draws_made_ahead_of_the_end_of_the_warm_up_are_resumed():
    def loaded(sampler):
        return DataLoader(IndexedDataset(list(range(N)), randomness=sampler), batch_sampler=sampler, num_workers=2)

    def run(sampler, loader, seen, stop):
        while len(seen) < stop:
            for _, indices in loader:
                sampler.update(indices, losses_of(indices))
                seen.append(indices.tolist())
                if len(seen) == stop:
                    return

    options = {"recipe": "volumes", "epochs": 3.5, "seed": 2}  # ends after 10 batches, 4 into the second epoch
    one = HardnessWeightedBatchSampler(N, 4, **options)
    straight, seen = [], []
    run(one, loaded(one), straight, 18)
    two = HardnessWeightedBatchSampler(N, 4, **options)
    run(two, loaded(two), seen, 8)
    three = HardnessWeightedBatchSampler(N, 4, **options)
    three.load_state_dict(two.state_dict())
    assert not three.warming_up  # what was drawn ahead
    run(three, loaded(three), seen, 18)
    assert seen == straight


def test_weights_are_one_in_the_warm_up():
    sampler = HardnessWeightedBatchSampler(N, 4, beta=3, warm_up=0.5, epochs=4)
    criterion = DROLoss(nn.MSELoss(reduction="none"), sampler, importance="paper")
    rng = torch.Generator().manual_seed(0)
    ones = []
    for _ in range(4):
        for indices in sampler:
            criterion(torch.rand(4, generator=rng), torch.zeros(4), indices)
            ones.append(criterion.last_weights.tolist() == [1] * 4)
    assert all(ones[:12]) and not any(ones[18:])


def test_draws_of_states_without_numbers_are_none_of_a_warm_up():
    sampler = HardnessWeightedBatchSampler(N, 4, beta=3)
    sampler.sampler.set_losses(losses_of(np.arange(N)))
    drawn = next(iter(sampler))
    state = sampler.state_dict()
    for name in ("warm_up", "pending_numbers"):
        del state[name]
    resumed = HardnessWeightedBatchSampler(N, 4)
    resumed.load_state_dict(state)
    assert next(iter(resumed)) == drawn
    fresh = losses_of(drawn).numpy() + 0.3
    np.testing.assert_array_equal(resumed.step(drawn, fresh), sampler.sampler.importance_weights(drawn, fresh))


def test_older_states_have_no_warm_up_and_damaged_ones_are_refused():
    options = {"batch_size": 4, "recipe": "volumes", "epochs": 4}
    sampler = HardnessWeightedBatchSampler(N, **options)
    state = sampler.state_dict()
    fresh = HardnessWeightedBatchSampler(N, **options)
    fresh.load_state_dict(state)  # saved before its length was known
    assert fresh.warming_up
    older = HardnessWeightedBatchSampler(N, 4).state_dict()
    del older["warm_up"]
    fresh.load_state_dict(older)
    assert not fresh.warming_up
    for wrong in ([3, 4], [-1, 2], [-2, 0], [3, -1], [3], "no"):
        with pytest.raises(hws.CorruptStateError):
            sampler.load_state_dict({**state, "warm_up": wrong})


def test_a_warm_up_of_unknown_length_is_refused_and_changes_nothing():
    sampler = HardnessWeightedBatchSampler(N, 4, recipe="volumes")
    for _ in range(2):
        with pytest.raises(hws.ArgumentError, match="how long the training is is not known: give epochs=, or warm_up=0"):
            next(iter(sampler))
    sampler.plan(4)
    sampler.plan(100)  # known already
    assert len(train(sampler, 12)) == 12 and not sampler.warming_up
    for wrong, words in (({"warm_up": 50}, "warm_up is 50"), ({"warm_up": "half"}, "warm_up must be a number"),
                         ({"epochs": 0}, "epochs is 0"), ({"epochs": float("nan")}, "epochs is nan")):
        with pytest.raises(hws.HwsError, match=words):
            HardnessWeightedBatchSampler(N, 4, **wrong)


# ---- frameworks know how long they train --------------------------------------------------------------------------


def test_monai_s_engine_tells_how_many_epochs_there_are():
    sampler = HardnessWeightedBatchSampler(N, 4, recipe="volumes")
    handler = hws.monai.HardnessWeightedHandler(DROLoss(nn.MSELoss(), sampler))
    handler.started(types.SimpleNamespace(state=types.SimpleNamespace(max_epochs=None)))  # an engine that counts iterations
    handler.started(types.SimpleNamespace(state=types.SimpleNamespace(max_epochs=2)))
    assert len(train(sampler, 6)) == 6 and not sampler.warming_up
    plain = hws.monai.HardnessWeightedHandler(DROLoss(nn.MSELoss(), hws.Sampler(N)))
    plain.started(types.SimpleNamespace(state=types.SimpleNamespace(max_epochs=2)))


def test_lightning_s_trainer_tells_how_many_epochs_there_are():
    sampler = HardnessWeightedBatchSampler(N, 4, recipe="volumes")
    callback = hws.lightning.HardnessWeightedCallback(DROLoss(nn.MSELoss(), sampler))
    for stage, epochs in (("fit", -1), ("validate", 7), ("fit", 2), ("fit", 9)):
        callback.setup(types.SimpleNamespace(max_epochs=epochs), None, stage)
    assert len(train(sampler, 6)) == 6 and not sampler.warming_up
