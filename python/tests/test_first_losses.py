"""The losses of another run: by name, strictly read."""
import math

import numpy as np
import pytest

import hws
import hws.torch

TEXT = 'example,stale_loss,age,draws\n"a, b.png",1.5,0,3\nc.png,,2,0\n7,-2e-1,1,1\n'


def written(folder, text):
    path = folder / "losses.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_losses_by_name(tmp_path):
    path = written(tmp_path, "\ufeff" + TEXT.replace("\n", "\r\n"))
    for place in (path, str(path), tmp_path):
        with pytest.warns(UserWarning, match="1 of 3 examples have no loss there, such as 'c.png', and are drawn first$"):
            losses = hws.losses_of(place, ["c.png", 7, "a, b.png"])
        np.testing.assert_array_equal(losses, np.array([np.nan, -0.2, 1.5], np.float32))
    with pytest.warns(UserWarning, match="losses.csv: 2 of its examples are none of these, such as 'a, b.png'$") as told:
        assert hws.losses_of(path, np.array([7])).tolist() == [np.float32(-0.2)]
    assert told[0].filename == __file__


def test_a_sampler_begins_with_them(tmp_path):
    written(tmp_path, "example,stale_loss\n0,1\n1,\n2,3\n")
    with pytest.warns(UserWarning, match="1 of 3"):
        losses = hws.losses_of(tmp_path, range(3))
    one, other = hws.Sampler(3, beta=1, initial_loss=losses), hws.Sampler(losses, beta=1)
    assert one.to_bytes() == other.to_bytes() and one.unseen == 1
    sampler = hws.torch.HardnessWeightedBatchSampler("abc", batch_size=1, recipe="paper-images", initial_loss=losses)
    assert next(iter(sampler)) == [1] and sampler.losses()[[0, 2]].tolist() == [1, 3] and sampler.beta == 10
    for wrong, words in (([1.0, 2.0], "initial_loss has 2 losses for 3 examples"), ([1.0, math.inf, 2.0], "loss of example 1")):
        with pytest.raises(hws.HwsError, match=words):
            hws.Sampler(3, initial_loss=wrong)
    with pytest.raises(hws.ArgumentError, match="in examples and in initial_loss"):
        hws.Sampler([1.0, 2.0, 3.0], initial_loss=losses)


@pytest.mark.parametrize("text, words", [
    ("", "no columns 'example' and 'stale_loss'"), ("example,loss\na,1\n", "no columns"),
    ("example,stale_loss,example\na,1,b\n", "no columns"), ("example,stale_loss\na,1,2\n", "row 2: 3 fields where the header has 2"),
    ("example,stale_loss\n\na,1\n", "row 2: 0 fields"), ("example,stale_loss\na,nan\n", "stale_loss is 'nan', not a finite"),
    ("example,stale_loss\na,1_0\n", "'1_0'"), ("example,stale_loss\na, 1\n", "' 1'"), ("example,stale_loss\na,1e39\n", "'1e39'"),
    ("example,stale_loss\na,\u0661\n", "not a finite"), ("example,stale_loss\na,1\na,2\n", "'a' stands there twice"),
    ('example,stale_loss\n"a,1\n', "is no CSV file"), ('example,stale_loss\n"a"b,1\n', "is no CSV file"),
    (b"example,stale_loss\n\xff,1\n", "is no CSV file"), (b"example,stale_loss\na\0,1\n", "zero bytes"),
    ("example,stale_loss\nb,1\n", "no loss of any of the 1 examples; the first one is called 'a'"),
    ("example,stale_loss\na,\n", "no loss of any of the 1 examples"), ("example,stale_loss\n" + "a" * 200_000 + ",1\n", "is no CSV file")])
def test_files_that_are_not_as_they_should_be_are_refused(tmp_path, text, words):
    with pytest.raises(hws.ArgumentError, match=words) as refused:
        hws.losses_of(written(tmp_path, text), ["a"])
    assert "losses.csv" in str(refused.value)


def test_other_arguments_that_cannot_be_are_refused(tmp_path):
    path = written(tmp_path, TEXT)
    for names, words in (("abc", "not one string"), ([1.5], "not float"), ([True], "not bool"), (["x", "x"], "'x' stands there twice"),
                         ([], "any of the 0 examples")):
        with pytest.raises(hws.HwsError, match=words):
            hws.losses_of(path, names)
    for wrong in (tmp_path / "none.csv", tmp_path / "none"):
        with pytest.raises(hws.StateIOError, match="none.*No such file") as refused:
            hws.losses_of(wrong, ["a"])
        assert refused.value.errno == 2
    with pytest.raises(hws.ArgumentTypeError, match="path must be a string or a path, not int"):
        hws.losses_of(0, ["a"])
    (tmp_path / "run").mkdir()
    with pytest.raises(hws.StateIOError, match="losses.csv: No such file"):
        hws.losses_of(tmp_path / "run", ["a"])
