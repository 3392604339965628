"""Our resampling beside scipy.ndimage.zoom. usage: test_resample.py PEER_RESAMPLE"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import ndimage

program = sys.argv[1]
workspace = tempfile.TemporaryDirectory()
folder = Path(workspace.name)
random = np.random.default_rng(1)


def ours(kind, data, shape, orders):
    data.tofile(folder / "in")
    numbers = [str(n) for n in (*data.shape, *shape, *orders)]
    subprocess.run([program, kind, folder / "in", folder / "out", *numbers], check=True)
    return np.fromfile(folder / "out", data.dtype).reshape(shape)


def zoomed(data, shape, order):
    factors = np.array(shape) / data.shape
    return ndimage.zoom(data.astype(float), factors, order=order, mode="nearest", grid_mode=True)


def some_shape(low=1, high=40):
    return tuple(int(n) for n in random.integers(low, high, 3))


worst = 0
for trial in range(60):
    order = int(random.choice([0, 1, 3]))
    data = random.normal(size=some_shape()).astype(np.float32)
    shape = some_shape()
    difference = np.abs(ours("image", data, shape, [order] * 3) - zoomed(data, shape, order)).max()
    worst = max(worst, difference)
    assert difference < 1e-5, (trial, order, data.shape, shape, difference)

# A coarse axis apart: slices by cubic splines, then the nearest slice.
for trial in range(10):
    data = random.normal(size=some_shape()).astype(np.float32)
    shape = some_shape()
    slices = np.stack([zoomed(s[None], (1, *shape[1:]), 3)[0] for s in data])
    places = (np.arange(shape[0]) + 0.5) * data.shape[0] / shape[0] - 0.5
    places = np.clip(np.floor(places + 0.5).astype(int), 0, data.shape[0] - 1)
    difference = np.abs(ours("image", data, shape, [0, 3, 3]) - slices[places]).max()
    worst = max(worst, difference)
    assert difference < 1e-5, (trial, difference)

undecided = 0
for trial in range(20):
    blobs = ndimage.gaussian_filter(random.normal(size=(4, *some_shape(4))), (0, 2, 2, 2)).argmax(0) - 1
    data = blobs.astype(np.int16)
    shape = some_shape(2)
    shares = np.stack([zoomed(data == label, shape, 1) for label in range(-1, 3)])
    expected = np.zeros(shape, np.int16)
    for label in range(-1, 3):
        expected[shares[label + 1] >= 0.5 - 1e-9] = label
    decided = shares.max(0) >= 0.5 - 1e-9
    undecided += (~decided).sum()
    got = ours("labels", data, shape, [1, 1, 1])
    np.testing.assert_array_equal(got[decided], expected[decided])
    ordered = np.sort(shares, 0)
    clear = ordered[-1] - ordered[-2] > 1e-9
    np.testing.assert_array_equal(got[clear], (shares.argmax(0) - 1)[clear])
print("largest difference to scipy", worst)
