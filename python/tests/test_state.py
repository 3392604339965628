import copy
import errno
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hws
from hws.shared import SharedSampler


@pytest.fixture
def sampler():
    sampler = hws.Sampler(200, beta=3, divergence="js", seed=4, momentum=0.2, jitter=0.1, keep_counts=True)
    rng = np.random.default_rng(0)
    for _ in range(20):
        sampler.update(sampler.draw(8), rng.random(8))
    return sampler


def same_future(a, b):
    rng = np.random.default_rng(1)
    for _ in range(20):
        batch = a.draw(8)
        assert (batch == b.draw(8)).all()
        losses = rng.random(8)
        a.update(batch, losses)
        b.update(batch, losses)
    assert a.to_bytes() == b.to_bytes()


def test_file(sampler, tmp_path):
    sampler.save(tmp_path / "ä state")
    loaded = hws.Sampler.load(tmp_path / "ä state")
    assert loaded.options == sampler.options
    same_future(sampler, loaded)


@pytest.mark.parametrize("through", [
    lambda s: hws.Sampler.from_bytes(s.to_bytes()),
    lambda s: hws.Sampler.from_bytes(bytearray(s.to_bytes())),
    lambda s: pickle.loads(pickle.dumps(s)),
    copy.copy,
    copy.deepcopy,
    lambda s: s.copy(),
])
def test_copies_go_on_to_the_same_bits(sampler, through):
    other = through(sampler)
    assert type(other) is hws.Sampler
    same_future(sampler, other)


def test_copies_are_independent(sampler):
    other = sampler.copy()
    other.update([0], [99.0])
    assert sampler.losses(0, 1) != other.losses(0, 1)
    sampler.close()
    other.draw(1)


def test_state_dict_through_torch_save(sampler, tmp_path):
    torch = pytest.importorskip("torch")
    shared = SharedSampler(200, seed=4)
    shared.handle.reader(3)
    shared.update([1, 2], [3.0, 4.0])
    torch.save({"sampler": sampler.state_dict(), "shared": shared.state_dict()}, tmp_path / "checkpoint")
    saved = torch.load(tmp_path / "checkpoint", weights_only=True)  # the default from PyTorch 2.6 on: no arrays
    other, another = hws.Sampler(200), SharedSampler(200, seed=4)
    other.load_state_dict(saved["sampler"])
    same_future(sampler, other)
    another.load_state_dict(saved["shared"])
    assert another.to_bytes() == shared.to_bytes() and another.handle.reader(3).era == 1


def test_states_of_arrays_are_read(sampler):
    """As they were written before, and are where PyTorch is not imported."""
    other, shared = hws.Sampler(200), SharedSampler(200, seed=4)
    other.load_state_dict({"state": np.frombuffer(sampler.to_bytes(), np.uint8)})
    same_future(sampler, other)
    shared.load_state_dict({"state": np.frombuffer(shared.to_bytes(), np.uint8), "eras": np.arange(4096)})
    assert shared.handle.reader(7).era == 7
    code = "import sys, numpy, hws\nassert 'torch' not in sys.modules\nassert type(hws.Sampler(3).state_dict()['state']) is numpy.ndarray"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(hws.__file__).parents[1])


def test_damage_is_found_and_leaves_the_sampler_alone(sampler, tmp_path):
    state = np.frombuffer(sampler.to_bytes(), np.uint8)
    other = hws.Sampler(200, seed=8)
    before = other.to_bytes()
    damaged = [state[:-1], state[:100], state[:0], np.append(state, np.uint8(0))]
    for at in np.linspace(0, len(state) - 1, 60).astype(int):
        changed = state.copy()
        changed[at] ^= 4
        damaged.append(changed)
    for bad in damaged:
        with pytest.raises((hws.CorruptStateError, hws.StateVersionError)):
            other.load_state_dict({"state": bad})
        (tmp_path / "bad").write_bytes(bad.tobytes())
        with pytest.raises((hws.CorruptStateError, hws.StateVersionError), match="bad"):
            hws.Sampler.load(tmp_path / "bad")
    assert other.to_bytes() == before


def test_the_library_says_what_is_wrong_with_a_state(sampler, tmp_path):
    state = bytearray(sampler.to_bytes())
    newer, altered = bytearray(state), bytearray(state)
    newer[8] = 4
    altered[-20] ^= 1
    for bad, exception, words in (
            (state[:-1], hws.CorruptStateError, "is truncated"), (b"", hws.CorruptStateError, "is empty"),
            (b"PK" + state[2:], hws.CorruptStateError, "was not written by a sampler"),
            (altered, hws.CorruptStateError, "was altered: its checksum is wrong"),
            (newer, hws.StateVersionError, "was written by a newer version of hws")):
        with pytest.raises(exception, match=f"the state {words}"):
            hws.Sampler.from_bytes(bytes(bad))
        (tmp_path / "bad").write_bytes(bad)
        with pytest.raises(exception, match=f"/bad {words}"):
            hws.Sampler.load(tmp_path / "bad")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(hws.StateIOError, match="No such file"):
        hws.Sampler.load(tmp_path / "missing")
    with pytest.raises(hws.HwsError):
        hws.Sampler.load(tmp_path)
    with pytest.raises(hws.StateIOError, match="cannot write .*/missing/state: No such file") as caught:
        hws.Sampler(3).save(tmp_path / "missing" / "state")
    assert caught.value.errno == errno.ENOENT
    with pytest.raises(OSError):
        hws.Sampler.load(tmp_path / "missing")
