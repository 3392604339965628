"""Our NIfTI reader and writer beside nibabel's. usage: test_nifti.py PEER_NIFTI"""
import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import nibabel
import numpy as np

program = sys.argv[1]
workspace = tempfile.TemporaryDirectory()
folder = Path(workspace.name)
random = np.random.default_rng(1)
count = 0


def rotation(axis, angle):
    axis = np.asarray(axis, float) / np.linalg.norm(axis)
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def some_affine():
    affine = np.eye(4)
    flip = np.diag([1, 1, random.choice([-1, 1])])
    affine[:3, :3] = rotation(random.normal(size=3), random.uniform(0, np.pi)) @ flip @ np.diag(random.uniform(0.5, 4, 3))
    affine[:3, 3] = random.uniform(-100, 100, 3)
    return affine


def copied(kind, path, suffix):
    target = folder / ("copy" + suffix)
    done = subprocess.run([program, kind, path, target], check=True, capture_output=True, text=True)
    numbers = np.array(done.stdout.split(), float)
    return nibabel.load(target), numbers[:3], numbers[3:].reshape(3, 4)


def check(original, path, kind, suffix):
    global count
    copy, spacing, affine = copied(kind, path, suffix)
    loaded = nibabel.load(path)
    expected = loaded.get_fdata()
    np.testing.assert_allclose(copy.get_fdata(), expected.astype(np.float32), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(copy.affine, loaded.affine)
    np.testing.assert_array_equal(copy.header.get_zooms()[:3], loaded.header.get_zooms()[:3])
    np.testing.assert_array_equal(spacing, loaded.header.get_zooms()[:3])
    if loaded.header["sform_code"] > 0 or loaded.header["qform_code"] > 0:
        np.testing.assert_allclose(affine, loaded.affine[:3], atol=2e-6 * np.abs(loaded.affine).max())
    for field in ("sform_code", "qform_code", "xyzt_units"):
        assert copy.header[field] == loaded.header[field], field
    assert copy.header.sizeof_hdr == loaded.header.sizeof_hdr
    count += 1


types = [np.uint8, np.int8, np.int16, np.uint16, np.int32, np.uint32, np.float32, np.float64, np.int64, np.uint64]
for dtype, version, order, suffix in itertools.product(types, (1, 2), "<>", (".nii", ".nii.gz")):
    for channels, forms in itertools.product((1, 3), ("s", "q", "sq", "")):
        shape = tuple(random.integers(1, 9, 3)) + ((channels,) if channels > 1 else ())
        data = random.integers(0, 100, shape).astype(dtype)
        image_type, header_type = ((nibabel.Nifti1Image, nibabel.Nifti1Header),
                                   (nibabel.Nifti2Image, nibabel.Nifti2Header))[version - 1]
        header = header_type(endianness=order)
        header.set_data_dtype(dtype)
        header.set_xyzt_units("mm")
        image = image_type(data, some_affine(), header)
        if "q" in forms:
            image.set_qform(some_affine() if "s" in forms else image.affine, code=1, update_affine=False)
        else:
            image.set_qform(None, code=0, update_affine=False)
        image.set_sform(image.affine if "s" in forms else None, code=2 if "s" in forms else 0, update_affine=False)
        if random.random() < 0.3:
            image.header.set_slope_inter(0.5, 3)
        path = folder / ("original" + suffix)
        nibabel.save(image, path)
        assert nibabel.load(path).header.endianness == order
        check(image, path, "image", suffix)
        if channels == 1 and image.header.get_slope_inter()[0] != 0.5:
            check(image, path, "labels", suffix)
print(count, "files agree with nibabel")
