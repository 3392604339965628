"""A run's weights in PyTorch give the probabilities of hws predict. usage: test_predict.py HWS PYTHON_FOLDER LIBHWS"""
import csv
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

program, python, library = sys.argv[1:]
os.environ["HWS_LIBRARY"] = library
sys.path.insert(0, python)

import numpy as np
import torch

from hws import models

workspace = tempfile.TemporaryDirectory()
folder = Path(workspace.name)
run, images = folder / "run", folder / "some-images-idx3-ubyte"


def hws(*words):
    subprocess.run([program, *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def probabilities(weights):
    out = folder / weights
    hws("predict", run, "--input", images, "--output", out, "--weights", weights, "--threads", 1)
    with open(out / "some-labels-idx1-ubyte.csv") as file:
        rows = list(csv.DictReader(file))
    return np.array([[float(row[f"p_{k}"]) for k in range(10)] for row in rows])


pixels = np.random.default_rng(0).integers(0, 256, (70, 28, 28), dtype=np.uint8)
images.write_bytes(struct.pack(">4i", 0x803, *pixels.shape) + pixels.tobytes())
hws("train", "digits:320,40", "--model", "wrn-10-1", "--epochs", 2, "--lr", 0.05, "--threads", 1, "--batch", 32,
    "--quiet", "--out", run)
facts = json.loads((run / "config.json").read_text())["facts"]
module = models.WideResNet(10, 1)
for weights in ("best", "latest"):
    models.load_weights(module, run / f"{weights}.safetensors")  # strict: every tensor, no other
    assert module.norm.num_batches_tracked.item() in (10, 20), module.norm.num_batches_tracked
    module.eval()
    inputs = (torch.tensor(pixels[:, None] / 255.0) - facts["pixel_mean"]) / facts["pixel_std"]
    with torch.no_grad():
        theirs = torch.softmax(module(inputs.float()), 1).numpy()
    error = np.abs(probabilities(weights) - theirs).max()
    print(f"{weights}: largest difference of a probability {error:.1e}")
    assert error < 1e-4
