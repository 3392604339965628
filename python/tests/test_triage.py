"""Wrong labels: trim, doubt and triage."""

import numpy as np
import pytest

import hws


def story(**options):
    """Examples 0 to 29 are easy, 30 to 34 a rare label that is hard as a whole, 35 has the easy ones' label and is hard."""
    labels = np.array([0] * 30 + [1] * 5 + [0])
    sampler = hws.Sampler(36, beta=2, labels=labels, **options)
    for _ in range(8):
        sampler.update(np.arange(36), np.where(np.arange(36) < 30, 0.05, 3.0))
    return sampler


def test_triage_tells_wrong_from_rare():
    table = story().triage()
    assert table["example"][0] == 35 and table["doubt"][0] == 1 and (table["doubt"][1:] == 0).all()
    assert table["label"][0] == 0 and table["updates"][0] == 8 and table["trend"][0] == pytest.approx(0)
    assert table["loss_mean"][0] == pytest.approx(3) and table["peers"][0] < 1
    assert len(story().triage(5)) == 5


def test_doubt_takes_the_mass_from_the_wrong_and_not_from_the_rare():
    plain, doubting = story().probabilities(), story(doubt=1).probabilities()
    assert plain[35] == pytest.approx(plain[30])
    assert doubting[35] < doubting[0] * 1.01 and doubting[30] > 10 * doubting[0]


def test_trim_leaves_the_hardest_out():
    losses = np.arange(10.0)
    sampler = hws.Sampler(losses, beta=1, trim=0.2)
    assert (sampler.probabilities()[8:] == 0).all()
    assert sampler.probabilities()[:8] == pytest.approx(hws.probabilities(losses[:8], beta=1))
    assert sampler.losses().tolist() == losses.tolist()


def test_a_state_keeps_all_of_it():
    sampler = story(doubt=0.5, trim=0.1)
    copy = sampler.copy()
    assert (copy.triage() == sampler.triage()).all() and copy.options == sampler.options
    assert hws.Sampler(36, **sampler.options).options == sampler.options
    assert (copy.draw(5) == sampler.draw(5)).all()


@pytest.mark.parametrize("options, words", [
    (dict(trim=0.2, tail=0.1), "trim must be below tail"), (dict(trim=1), "trim is 1"), (dict(doubt=2), "doubt is 2"),
    (dict(labels=[0, 1]), "36 integers"), (dict(labels=[-1] * 36), "labels are from 0"),
    (dict(labels=[0.5] * 36), "36 integers")])
def test_what_makes_no_sense_is_refused(options, words):
    with pytest.raises(hws.HwsError, match=words):
        hws.Sampler(36, **options)


def test_a_loader_s_sampler_keeps_the_record_too():
    """labels= goes through to the sampler, the losses of a training loop fill the record, and a state carries it."""
    torch = pytest.importorskip("torch")
    from hws.torch import DROLoss, HardnessWeightedBatchSampler

    def opened():
        return HardnessWeightedBatchSampler(36, batch_size=6, tail=0.5, labels=[0] * 30 + [1] * 5 + [0])

    sampler = opened()
    criterion = DROLoss(torch.nn.MSELoss(), sampler, importance=None)
    for _ in range(8):
        for first in range(0, 36, 6):
            indices = torch.arange(first, first + 6)
            criterion(torch.where(indices < 30, 0.2, 1.7), torch.zeros(6), indices)
    assert sampler.triage(1)["example"][0] == 35 and sampler.triage(1)["doubt"][0] == 1
    resumed = opened()
    resumed.load_state_dict(sampler.state_dict())
    assert (resumed.triage() == sampler.triage()).all()


def test_without_a_record_there_is_no_triage():
    with pytest.raises(hws.HwsError, match="no record is kept"):
        hws.Sampler(3).triage()
