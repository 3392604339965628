"""Any loss, per case: what PerCase gives is the loss of each case by itself, and DROLoss uses it where it must."""
import warnings

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import hws
from hws.torch import DROLoss, PerCase

CLASS_WEIGHTS = torch.tensor([1.0, 9.0, 3.0])


class DiceAndCrossEntropy(nn.Module):
    """One number for a batch; like MONAI's, it has a reduction that cannot be changed afterwards."""

    def __init__(self, reduction="mean"):
        super().__init__()
        self.reduction = reduction

    def forward(self, logits, target):
        one_hot = F.one_hot(target, logits.shape[1]).movedim(-1, 1)
        p, dims = logits.softmax(1), tuple(range(2, logits.ndim))
        dice = (2 * (p * one_hot).sum(dims) + 1) / (p.sum(dims) + one_hot.sum(dims) + 1)
        return F.cross_entropy(logits, target) + 1 - dice.mean()


def deep(loss):
    return lambda outputs, targets: sum(0.5 ** i * loss(*pair) for i, pair in enumerate(zip(outputs, targets)))


def regions(logits, target):
    return F.binary_cross_entropy_with_logits(logits, (target[:, None] > torch.arange(3)[:, None, None]).float())


def volumes(cases, *shape):
    torch.manual_seed(1)
    return torch.randn(cases, 3, *shape, requires_grad=True), torch.randint(0, 3, (cases, *shape))


@pytest.mark.parametrize("loss", [
    DiceAndCrossEntropy(), nn.CrossEntropyLoss(weight=CLASS_WEIGHTS), nn.CrossEntropyLoss(ignore_index=1), regions,
    nn.CrossEntropyLoss(weight=CLASS_WEIGHTS, ignore_index=2), nn.CrossEntropyLoss(), nn.CrossEntropyLoss(reduction="sum"),
    nn.CrossEntropyLoss(label_smoothing=0.1), nn.CrossEntropyLoss(weight=CLASS_WEIGHTS, ignore_index=0, label_smoothing=0.2),
    nn.CrossEntropyLoss(weight=CLASS_WEIGHTS, reduction="sum"), nn.NLLLoss(weight=CLASS_WEIGHTS, ignore_index=1),
    nn.BCEWithLogitsLoss(weight=torch.rand(5, 6)),
])
def test_each_case_has_the_loss_it_has_alone(loss):
    logits, target = volumes(4, 5, 6)
    if isinstance(loss, nn.BCEWithLogitsLoss):
        target = F.one_hot(target, 3).movedim(-1, 1).float()
    expected = torch.stack([loss(logits[i:i + 1], target[i:i + 1]) for i in range(4)])
    torch.testing.assert_close(PerCase(loss)(logits, target), expected)
    sampler = hws.Sampler(4)
    DROLoss(loss, sampler, importance=False)(logits, target, [2, 0, 3, 1])
    np.testing.assert_allclose(sampler.losses()[[2, 0, 3, 1]], expected.detach(), rtol=1e-6)


def test_deep_supervision_and_nested_targets():
    (fine, fine_target), (coarse, coarse_target) = volumes(3, 8, 8), volumes(3, 4, 4)
    loss = deep(DiceAndCrossEntropy())
    expected = torch.stack([loss([fine[i:i + 1], coarse[i:i + 1]], [fine_target[i:i + 1], coarse_target[i:i + 1]])
                            for i in range(3)])
    for form in (list, tuple):
        torch.testing.assert_close(PerCase(loss)(form((fine, coarse)), form((fine_target, coarse_target))), expected)
    named = lambda p, t: loss(p["outputs"], t["labels"])
    given = {"outputs": [fine, coarse]}, {"labels": [fine_target, coarse_target], "name": "x"}
    torch.testing.assert_close(PerCase(named)(*given), expected)


def test_gradients_are_those_of_the_mean_over_cases():
    logits, target = volumes(3, 4, 4)
    loss = nn.CrossEntropyLoss(weight=CLASS_WEIGHTS)
    DROLoss(loss, hws.Sampler(3), importance=False)(logits, target, [0, 1, 2]).backward()
    mirror = logits.detach().clone().requires_grad_()
    (sum(loss(mirror[i:i + 1], target[i:i + 1]) for i in range(3)) / 3).backward()
    torch.testing.assert_close(logits.grad, mirror.grad)


def test_losses_of_torch_are_computed_at_once(monkeypatch):
    """Not case by case: the module is called once, also with class weights and labels to ignore."""
    calls = []

    class Counted(nn.CrossEntropyLoss):
        def forward(self, *arguments):
            calls.append(1)
            return super().forward(*arguments)

    import hws._loss as module
    for name in ("_ELEMENTWISE", "_OF_LABELS"):
        monkeypatch.setattr(module, name, (*getattr(module, name), Counted))
    logits, target = volumes(4, 5)
    target[:, 0] = -100
    for options in ({}, {"weight": CLASS_WEIGHTS}, {"reduction": "sum"}):
        calls.clear()
        DROLoss(Counted(**options), hws.Sampler(4))(logits, target, [0, 1, 2, 3])
        assert len(calls) == 1


@pytest.mark.parametrize("loader_sampler", [True, False])
@pytest.mark.parametrize("loss", [
    nn.CrossEntropyLoss(ignore_index=-1), nn.NLLLoss(ignore_index=-1), nn.CrossEntropyLoss(ignore_index=-1, label_smoothing=0.1),
    nn.CrossEntropyLoss(weight=torch.tensor([1.0, 1.0, 1.0, 0.0]))])
def test_a_case_without_labels_that_count_adds_nothing_and_keeps_its_loss(loss, loader_sampler):
    """Its mean, 0 / 0, stopped the training, although torch's own mean over the batch is finite."""
    torch.manual_seed(1)
    logits, target = torch.randn(3, 4, 5, requires_grad=True), torch.randint(0, 3, (3, 5))
    target[1] = loss.ignore_index if loss.weight is None else 3  # the class that weighs 0
    for before in (7.0, np.nan):
        core = hws.Sampler(np.array([1, before, 1], np.float32), beta=1)
        criterion = DROLoss(loss, hws.torch.HardnessWeightedBatchSampler(core, 3) if loader_sampler else core, importance=True)
        logits.grad = None
        mean = criterion(logits, target, [0, 1, 2])
        mean.backward()
        alone = [float(loss(logits[i:i + 1], target[i:i + 1])) for i in (0, 2)]
        np.testing.assert_allclose(core.losses(), [alone[0], before, alone[1]], rtol=1e-6)
        weights = criterion.last_weights.tolist()
        assert float(mean) == pytest.approx((weights[0] * alone[0] + weights[2] * alone[1]) / 3)
        assert weights[1] == 1 and not logits.grad[1].any() and logits.grad[0].any()
    criterion.eval()
    assert float(criterion(logits, target)) == pytest.approx(sum(alone) / 3)


def test_a_batch_without_any_label_that_counts_changes_nothing():
    sampler = hws.Sampler([1.0, 2.0])
    criterion = DROLoss(nn.CrossEntropyLoss(), sampler)
    logits = torch.randn(2, 3, requires_grad=True)
    loss = criterion(logits, torch.full((2,), -100), [0, 1])
    loss.backward()
    assert float(loss) == 0 and not logits.grad.any() and sampler.losses().tolist() == [1, 2] and sampler.updates_made == 0
    criterion(logits, torch.tensor([0, 1]), [0, 1])  # the next call knows nothing of it
    assert sampler.updates_made == 1


def test_divergence_is_still_refused_beside_a_case_without_labels():
    logits = torch.zeros(3, 2)
    logits[2] = float("nan")
    sampler = hws.Sampler(3)
    with pytest.raises(hws.NotFiniteError, match="example 2.*lower the learning rate$"):
        DROLoss(nn.CrossEntropyLoss(), sampler)(logits, torch.tensor([0, -100, 1]), [0, 1, 2])
    assert sampler.updates_made == 0


@pytest.mark.parametrize("loss", [PerCase(nn.CrossEntropyLoss()), lambda p, t: F.cross_entropy(p, t)])
def test_case_by_case_a_nan_may_be_of_labels_that_are_all_ignored(loss):
    """Nobody can tell there: the message names both."""
    with pytest.raises(hws.NotFiniteError, match="learning rate.*all labels of the example are ignored") as refused:
        DROLoss(loss, hws.Sampler(2))(torch.zeros(2, 3), torch.tensor([0, -100]), [0, 1])
    assert refused.value.example == 1
    with pytest.raises(hws.NotFiniteError, match="is inf; .*learning rate$"):
        DROLoss(PerCase(lambda p, t: p.sum()), hws.Sampler(2))(torch.tensor([0.0, np.inf]), torch.zeros(2), [0, 1])


def test_a_function_that_reduces_runs_case_by_case():
    sampler = hws.Sampler(4, beta=0)
    criterion = DROLoss(lambda p, t: ((p - t) ** 2).mean(), sampler)
    assert float(criterion(torch.tensor([[1.0], [3.0]]), torch.zeros(2, 1), [0, 1])) == 5
    assert sampler.losses(0, 2).tolist() == [1, 9]


def test_class_weights_without_effect_are_noticed():
    logits, target = torch.randn(4, 3), torch.randint(0, 3, (4,))
    with pytest.warns(UserWarning, match="have no effect"):
        DROLoss(nn.CrossEntropyLoss(weight=CLASS_WEIGHTS), hws.Sampler(4))(logits, target, range(4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampler = hws.Sampler(4)
        DROLoss(nn.CrossEntropyLoss(weight=CLASS_WEIGHTS, reduction="none"), sampler)(logits, target, np.arange(4))
    np.testing.assert_allclose(sampler.losses(), F.cross_entropy(logits, target, CLASS_WEIGHTS, reduction="none"))


def test_per_case_refuses():
    with pytest.raises(hws.ArgumentTypeError, match="loss must be"):
        PerCase(3)
    with pytest.raises(hws.ArgumentTypeError, match="without a tensor"):
        PerCase(nn.MSELoss())([], torch.ones(2))
    with pytest.raises(hws.ArgumentError, match="not of a batch of 2"):
        PerCase(nn.MSELoss())(torch.ones(2, 3), torch.ones(3, 3))
    with pytest.raises(hws.ArgumentTypeError, match="must be a tensor"):
        PerCase(lambda p, t: 3.0)(torch.ones(2), torch.ones(2))


# ---- announced examples, and losses that are not finite ----------------------------------------------------------------


def test_expected_examples_are_those_of_the_next_call():
    sampler = hws.Sampler(4)
    criterion = DROLoss(nn.MSELoss(), sampler)
    criterion.expect(torch.tensor([3, 1]))
    assert float(criterion(torch.tensor([1.0, 2.0]), torch.zeros(2))) == 2.5
    assert sampler.losses()[[3, 1]].tolist() == [1, 4]
    with pytest.raises(hws.ArgumentError, match="which examples"):
        criterion(torch.tensor([1.0, 2.0]), torch.zeros(2))


@pytest.mark.parametrize("call", [
    lambda criterion: criterion.eval()(torch.ones(2), torch.zeros(2)),  # evaluation asks nobody
    lambda criterion: criterion(torch.ones(2), torch.zeros(2), [3, 1]),
    lambda criterion: criterion.reduce(torch.ones(2), [3, 1]),
])
def test_expected_examples_are_not_those_of_a_later_call(call):
    criterion = DROLoss(nn.MSELoss(), hws.Sampler(4))
    criterion.expect([0, 2])
    call(criterion)
    with pytest.raises(hws.ArgumentError, match="which examples"):
        criterion.train()(torch.ones(2), torch.zeros(2))


@pytest.mark.parametrize("loader_sampler", [True, False])
def test_losses_that_are_not_finite_are_skipped_and_named(loader_sampler):
    core = hws.Sampler(4, beta=1)
    sampler = hws.torch.HardnessWeightedBatchSampler(core, 2) if loader_sampler else core
    criterion = DROLoss(lambda p, t: p, sampler, importance=True, skip_non_finite=True)
    loss = criterion(torch.tensor([1.0, float("inf")]), None, [0, 3])
    assert torch.isinf(loss)  # so that GradScaler skips the step
    assert criterion.last_weights.tolist() == [1, 1]
    np.testing.assert_array_equal(core.losses(), np.array([1, np.nan, np.nan, np.nan], np.float32))
    criterion(torch.tensor([float("nan"), float("nan")]), None, [3, 1])
    assert core.updates_made == 1 and criterion.skipped == {3: 2, 1: 1}
    with pytest.raises(hws.NotFiniteError, match="example 3"):
        DROLoss(lambda p, t: p, sampler)(torch.tensor([1.0, float("inf")]), None, [0, 3])


def test_arrays_are_cut_into_cases_too():
    """They were handed to each case whole, and every case had the loss of all."""
    squared = PerCase(lambda prediction, target: ((prediction - torch.as_tensor(target)) ** 2).mean())
    prediction = torch.tensor([1.0, 5.0])
    assert squared(prediction, np.array([1.0, 2.0], np.float32)).tolist() == [0, 9]
    nested = PerCase(lambda prediction, target: (prediction - torch.as_tensor(target["of"][0])).abs().mean())
    assert nested(prediction, {"of": [np.array([1.0, 2.0])], "names": ["a", "b"], "empty": []}).tolist() == [0, 3]
    with pytest.raises(hws.ArgumentError, match=r"an array of shape \(3,\) is not of a batch of 2 cases"):
        squared(prediction, np.zeros(3))
    scaled = PerCase(lambda prediction, factor, offset: (factor * prediction + offset).mean())
    assert scaled(prediction, 2.0, offset=np.array(1.0)).tolist() == [3, 11]


@pytest.mark.parametrize("target", [[1.0, 5.0], (1, 5), [[1.0], [5.0]], {"labels": [np.float32(1), 5]}])
def test_lists_of_numbers_are_refused(target):
    with pytest.raises(hws.ArgumentTypeError, match="of numbers cannot be cut into cases: give a tensor"):
        PerCase(lambda prediction, target: prediction.mean())(torch.tensor([1.0, 5.0]), target)


def test_named_lists_may_be_about_all_cases():
    loss = PerCase(lambda prediction, spacing: prediction.mean() * spacing[2])
    assert loss(torch.tensor([1.0, 5.0]), spacing=(1, 1, 3)).tolist() == [3, 15]
    with pytest.raises(hws.ArgumentTypeError, match="give a tensor"):
        loss(torch.tensor([1.0, 5.0, 2.0]), spacing=(1, 1, 3))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("kind", [nn.BCELoss, nn.BCEWithLogitsLoss])
@pytest.mark.parametrize("shape", [(4, 3), (4, 1), (3,)])
def test_a_weight_for_each_element_of_the_batch(kind, reduction, shape):
    """Case by case it did not fit, and torch said so in its own words."""
    torch.manual_seed(0)
    prediction, target, weight = torch.rand(4, 3), torch.rand(4, 3), torch.rand(shape)
    sampler = hws.Sampler(4)
    DROLoss(kind(weight=weight, reduction=reduction), sampler)(prediction, target, [2, 0, 3, 1])
    each = kind(weight=weight, reduction="none")(prediction, target)
    expected = each.mean(1) if reduction == "mean" else each.sum(1)
    np.testing.assert_allclose(sampler.losses()[[2, 0, 3, 1]], expected, rtol=1e-6)


@pytest.mark.parametrize("reduction, expected", [("mean", 2.0), ("sum", 2.0 * 70_000)])
@pytest.mark.parametrize("weight", [None, torch.ones(2)])
def test_more_labels_than_float16_can_count(monkeypatch, reduction, expected, weight):
    """As on a GPU under autocast; the CPU has no cross entropy of float16, so one is put in its place."""
    monkeypatch.setattr(F, "cross_entropy", lambda prediction, target, *_, **__: torch.full(target.shape, 2.0).half())
    sampler = hws.Sampler(2)
    criterion = DROLoss(nn.CrossEntropyLoss(weight=weight, reduction=reduction), sampler)
    labels = torch.zeros(2, 70_000, dtype=torch.int64)
    labels[1, :10] = -100
    loss = criterion(torch.zeros(2, 2, 70_000), labels, [0, 1])
    assert torch.isfinite(loss) and sampler.losses()[0] == expected


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("loss", [nn.CrossEntropyLoss(), nn.CrossEntropyLoss(reduction="sum"), DiceAndCrossEntropy(),
                                  nn.CrossEntropyLoss(reduction="none"), F.cross_entropy])
def test_an_empty_batch_is_refused_by_name(loss, training):
    """It was NaN with some losses, and with others an error about shapes."""
    sampler = hws.Sampler(4)
    criterion = DROLoss(loss, sampler).train(training)
    nothing = torch.zeros(0, 3, 4), torch.zeros(0, 4, dtype=torch.int64)
    for call in (lambda: criterion(*nothing, []), lambda: criterion([nothing[0]], [nothing[1]], []),
                 lambda: criterion(*nothing), lambda: criterion.reduce(torch.zeros(0), [])):
        with pytest.raises(hws.ArgumentError, match="the batch is empty"):
            call()
    assert sampler.updates_made == 0
