"""Our augmentation beside scipy. usage: test_augment.py PEER_AUGMENT"""
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


def ours(kind, data, *numbers, shape=None):
    data.astype(np.float32).tofile(folder / "in")
    words = [str(n) for n in (*data.shape, *numbers)]
    done = subprocess.run([program, kind, folder / "in", folder / "out", *words], check=True, capture_output=True)
    return np.fromfile(folder / "out", np.float32).reshape(shape or data.shape), done.stdout


def some_volume(low, high):
    return random.normal(size=random.integers(low, high, 3)).astype(np.float32)


def zoomed(data, shape, order):
    factors = np.array(shape) / data.shape
    return ndimage.zoom(data, factors, order=order, mode="nearest", grid_mode=True)


def worst(name, differences, limit):
    differences = list(differences)
    print(name, max(differences))
    assert max(differences) < limit, name


def blur():
    for _ in range(30):
        data, sigma = some_volume(1, 40), random.uniform(0.5, 1.5)
        yield np.abs(ours("blur", data, sigma)[0] - ndimage.gaussian_filter(data.astype(float), sigma)).max()


def coarse():
    for _ in range(30):
        data, zoom = some_volume(4, 40), random.uniform(0.5, 1)
        small = zoomed(data.astype(float), np.round(np.array(data.shape) * zoom).astype(int), 0)
        expected = np.clip(zoomed(small, data.shape, 3), small.min(), small.max())
        yield np.abs(ours("coarse", data, zoom)[0] - expected).max()


def gamma():
    for _ in range(30):
        data, power = some_volume(2, 30), random.uniform(0.7, 1.5) * random.choice([-1, 1])
        values = data.astype(float) * np.sign(power)
        scaled = (values - values.min()) / (np.ptp(values) + 1e-7)
        changed = scaled ** abs(power)
        changed = (changed - changed.mean()) / changed.std() * values.std() + values.mean()
        yield np.abs(ours("gamma", data, power)[0] - changed * np.sign(power)).max()


def turn():
    """Deep inside of smooth volumes, where neither border conditions nor zeros beyond matter; then near the border."""
    for trial in range(12):
        data = ndimage.gaussian_filter(random.normal(size=(60, 60, 60)), 1).astype(np.float32)
        start, edge = (20, 20) if trial % 2 else (-4, 24)
        angles, scale = random.uniform(-0.5, 0.5, 3), random.uniform(0.7, 1.4)
        got, text = ours("turn", data, *angles, scale, edge, start, shape=(edge,) * 3)
        matrix = np.array(text.split(), float).reshape(3, 3)
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(3) * scale**2, atol=1e-9)
        middle = (edge - 1) / 2
        grid = np.stack(np.meshgrid(*[np.arange(edge) - middle] * 3, indexing="ij")).reshape(3, -1)
        pad = 30
        places = matrix @ grid + start + middle + pad
        padded = np.pad(data.astype(float), pad)
        yield np.abs(got.ravel() - ndimage.map_coordinates(padded, places, order=3)).max()


worst("blur", blur(), 1e-5)
worst("low resolution", coarse(), 1e-5)
worst("gamma", gamma(), 1e-5)
worst("rotation and scaling", turn(), 1e-5)
