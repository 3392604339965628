"""hws predict labels volumes as the same network and windows do in PyTorch. usage: test_segment.py HWS TORCH_PREDICT LIBHWS"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel
import numpy as np

program, peer, library = sys.argv[1:]
workspace = tempfile.TemporaryDirectory()
folder = Path(workspace.name)


def run(*words):
    environment = dict(os.environ, HWS_LIBRARY=library, OMP_NUM_THREADS="1", T="1")
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL, env=environment)


def compare(images, what):
    run(program, "predict", folder / "run", "--input", images, "--output", folder / what, "--threads", 1, "--quiet")
    run("/usr/bin/python3", peer, folder / "run", images, folder / f"{what}-torch")
    voxels = different = foreground = 0
    for path in sorted((folder / what).glob("*.nii.gz")):
        ours, theirs = (np.asarray(nibabel.load(where / path.name).dataobj) for where in (folder / what, folder / f"{what}-torch"))
        assert ours.shape == theirs.shape
        voxels += ours.size
        different += (ours != theirs).sum()
        foreground += (theirs > 0).sum()
    print(f"{what}: {different} of {voxels} labels differ, {foreground} are foreground")
    assert foreground > 1000 and different <= 1e-4 * voxels  # where two classes score the same but for rounding


run(program, "phantom", "--out", folder / "data", "--cases", 6, "--test", 3, "--size", "24,32,24", "--spacing", 5)
run(program, "train", folder / "data", "--fold", -1, "--objective", "erm", "--optimizer", "adam", "--lr", 0.003, "--epochs", 2,
    "--epoch-length", 15, "--batch", 2, "--threads", 1, "--quiet", "--out", folder / "run")
compare(folder / "data" / "imagesTs", "smaller")

# Probabilities as numpy reads them: those of the classes sum to 1, and the label has the largest, of either average.
for average in ("logits", "probabilities"):
    run(program, "predict", folder / "run", "--input", folder / "data" / "imagesTs" / "test_001_0000.nii.gz", "--output", folder / average,
        "--save-probabilities", "--average", average, "--no-mirror", "--threads", 1, "--quiet")
    p = np.load(folder / average / "test_001.npz")["probabilities"]
    labels = np.asarray(nibabel.load(folder / average / "test_001.nii.gz").dataobj)
    assert p.dtype == np.float16 and p.shape == (4, *labels.shape[::-1])
    assert abs(p.astype(np.float64).sum(0) - 1).max() < 2e-3
    said = np.take_along_axis(p, labels.T[None].astype(int), 0)[0]
    assert (p.max(0) - said <= 1e-3).all()

# Several windows: the images beside themselves, with zeros around them, which are cropped away.
(folder / "large").mkdir()
for path in sorted((folder / "data" / "imagesTs").glob("*.nii.gz")):
    image = nibabel.load(path)
    voxels = np.asarray(image.dataobj, dtype=np.float32)
    beside = np.pad(np.concatenate([voxels, voxels[::-1]], 0), [(3, 0), (0, 2), (1, 1)])
    nibabel.save(nibabel.Nifti1Image(beside, image.affine), folder / "large" / path.name)
compare(folder / "large", "larger")
