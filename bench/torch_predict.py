"""Segments images with the network of a run in PyTorch: the same preprocessing, windows and mirror images as hws predict.

usage: torch_predict.py RUN IMAGES OUTPUT          T = threads, LAYOUT = contiguous | channels_last

For images of one channel whose spacing is the plan's, so that nothing is resampled; a plan of other channels or another
network is refused. Prints the seconds per image, without reading and writing.
"""
import itertools
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import nibabel
import numpy as np
import torch

from hws import models


def check(plan):
    """Ends the program unless the plan is one that this file preprocesses and builds alike."""
    channels = plan["channels"]
    if len(channels) != 1 or channels[0]["normalisation"] != "z-score" or channels[0]["masked"]:
        sys.exit("torch_predict.py: the plan must have a single channel, a z-score over the whole image (not masked)")
    features = [stage["features"] for stage in plan["stages"]]
    doubled = [min(features[0] * 2 ** level, max(features)) for level in range(len(features))]
    if features != doubled:
        sys.exit(f"torch_predict.py: the stages' features {features} are not doubled from stage to stage up to a cap, "
                 f"as {doubled} are")


MIRRORS = [axes for k in range(4) for axes in itertools.combinations((1, 2, 3), k)]


def open_network(run, plan):
    stages = plan["stages"]
    base, cap = stages[0]["features"], max(stage["features"] for stage in stages)
    network = models.UNet(len(plan["channels"]), plan["classes"], len(stages), base, cap,
                          [stage["kernel"] for stage in stages], [stage["stride"] for stage in stages])
    models.load_weights(network, run / "best.safetensors")
    return network.eval()


def starts(size, patch):
    """nnU-Net's: windows at most half a patch apart, evenly spread."""
    count = int(np.ceil((size - patch) / (patch / 2))) + 1
    return [round((size - patch) / max(count - 1, 1) * k) for k in range(count)]


def window_weights(patch):
    """A Gaussian of an eighth of the patch."""
    axes = [np.exp(-0.5 * ((np.arange(n) - n // 2) / (n / 8)) ** 2) for n in patch]
    return torch.from_numpy(np.einsum("i,j,k->ijk", *axes).astype(np.float32))


def segment(network, image, patch, classes, layout):
    """Labels of an image, both [depth, height, width]."""
    inside = np.argwhere(image != 0)
    low, high = inside.min(0), inside.max(0) + 1
    box = tuple(slice(a, b) for a, b in zip(low, high))
    cropped = image[box]
    cropped = (cropped - cropped.mean()) / max(cropped.std(), 1e-8)
    lacking = [max(p - n, 0) for p, n in zip(patch, cropped.shape)]
    padded = torch.from_numpy(np.pad(cropped, [(n // 2, n - n // 2) for n in lacking]).astype(np.float32))
    sums, weight_sums, weights = torch.zeros((classes, *padded.shape)), torch.zeros(padded.shape), window_weights(patch)
    for start in itertools.product(*(starts(n, p) for n, p in zip(padded.shape, patch))):
        where = tuple(slice(s, s + p) for s, p in zip(start, patch))
        window = padded[where][None]
        # All mirror images in one batch: one after the other takes PyTorch three times as long.
        mirrored = torch.stack([torch.flip(window, axes) for axes in MIRRORS]).contiguous(memory_format=layout)
        for axes, scores in zip(MIRRORS, network(mirrored)):
            sums[(slice(None), *where)] += weights * torch.flip(scores, axes)
        weight_sums[where] += weights
    said = (sums / (8 * weight_sums)).argmax(0).numpy()
    labels = np.zeros(image.shape, np.uint8)
    labels[box] = said[tuple(slice(n // 2, n // 2 + size) for n, size in zip(lacking, cropped.shape))]
    return labels


def main():
    run, images, output = map(Path, sys.argv[1:4])
    torch.set_num_threads(int(os.environ.get("T", "2")))
    layout = torch.channels_last_3d if os.environ.get("LAYOUT") == "channels_last" else torch.contiguous_format
    plan = json.loads((run / "plans.json").read_text())
    check(plan)
    network = open_network(run, plan).to(memory_format=layout)
    output.mkdir(exist_ok=True)
    seconds = []
    with torch.inference_mode():
        for path in sorted(images.glob("*.nii.gz")):
            file = nibabel.load(path)
            voxels = np.ascontiguousarray(np.asarray(file.dataobj, dtype=np.float64).T)
            begin = time.perf_counter()
            labels = segment(network, voxels, plan["patch"], plan["classes"], layout)
            seconds.append(time.perf_counter() - begin)
            name = path.name.replace("_0000.nii.gz", ".nii.gz")
            nibabel.save(nibabel.Nifti1Image(labels.T, file.affine), output / name)
    print(json.dumps({"images": len(seconds), "seconds_per_image": sum(seconds) / len(seconds)}))


main()
