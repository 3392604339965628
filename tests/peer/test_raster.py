"""Decoding, turning and resizing of pictures beside Pillow. usage: test_raster.py PEER_RASTER"""
import subprocess
import sys
import tempfile

import numpy as np
from PIL import Image, ImageOps

program, folder = sys.argv[1], tempfile.mkdtemp()
random = np.random.default_rng(1)
worst = {}


def ours(*arguments):
    out = folder + "/out"
    words = subprocess.run([program, *map(str, arguments), out], check=True, capture_output=True, text=True).stdout
    return np.fromfile(out, np.uint8), tuple(map(int, words.split()))


def compare(what, path, expected, size=None):
    if size:
        pixels = ours("fit", path, *size)[0].reshape(expected.shape)
    else:
        pixels, shape = ours("decode", path)
        assert shape == (expected.shape + (1,))[:3], (what, shape, expected.shape)
        pixels = pixels.reshape(expected.shape)
    difference = np.abs(pixels.astype(int) - expected.astype(int)).mean()
    worst[what] = max(worst.get(what, 0), difference)
    assert difference < 1, (what, path, difference)


def smooth(height, width, channels):
    small = random.integers(0, 256, (height // 8 + 2, width // 8 + 2, channels), dtype=np.uint8)
    planes = [np.asarray(Image.fromarray(small[..., c]).resize((width, height), Image.BICUBIC)) for c in range(channels)]
    noise = random.integers(-20, 20, (height, width, channels))
    return np.clip(np.stack(planes, -1) + noise, 0, 255).astype(np.uint8)


def fit(image, height, width):
    """torchvision's Resize of the shorter side and CenterCrop, in its own arithmetic."""
    w, h = image.size
    if h * width <= w * height:
        image = image.resize((int(height * w / h), height), Image.BILINEAR)
    else:
        image = image.resize((width, int(width * h / w)), Image.BILINEAR)
    w, h = image.size
    top, left = int(round((h - height) / 2)), int(round((w - width) / 2))
    return np.asarray(image.crop((left, top, left + width, top + height)))


for k, (h, w) in enumerate([(64, 80), (33, 57), (200, 131), (7, 300)]):
    rgb = Image.fromarray(smooth(h, w, 3))
    grey = Image.fromarray(smooth(h, w, 1)[..., 0])
    files = {"grey.png": grey, "rgb.png": rgb, "palette.png": rgb.quantize(64), "bits.png": grey.convert("1"),
             "alpha.png": rgb.copy(), "grey.jpg": grey, "rgb.jpg": rgb, "cmyk.jpg": rgb.convert("CMYK")}
    files["alpha.png"].putalpha(grey)
    for name, image in files.items():
        path = f"{folder}/{k}{name}"
        image.save(path)
        back = Image.open(path)
        mode = "L" if back.mode in ("L", "1") else "RGB"
        compare(name, path, np.asarray(back.convert(mode)))
    for quality, subsampling in ((30, 2), (75, 1), (95, 0)):
        for progressive in (False, True):
            path = f"{folder}/{k}-{quality}{progressive}.jpg"
            rgb.save(path, quality=quality, subsampling=subsampling, progressive=progressive)
            compare("jpeg of all kinds", path, np.asarray(Image.open(path)))
    deep = (random.integers(0, 65536, (h, w))).astype(np.uint16)
    Image.fromarray(deep).save(f"{folder}/deep.png")
    compare("16 bits", f"{folder}/deep.png", np.round(deep / 257).astype(np.uint8))
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        path = f"{folder}/turned.jpg"
        rgb.save(path, exif=exif, quality=95)
        compare("EXIF", path, np.asarray(ImageOps.exif_transpose(Image.open(path))))
    for size in ((32, 32), (64, 64), (224, 224), (20, 50)):
        path = f"{folder}/{k}rgb.png"
        compare("resized and cropped", path, fit(rgb, *size), size)
        compare("resized and cropped", f"{folder}/{k}grey.png", fit(grey, *size), size)

for what, difference in sorted(worst.items()):
    print(f"{what:24} mean absolute difference at most {difference:.4f} grey levels")
