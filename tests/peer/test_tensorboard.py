"""hws train --tensorboard, read by a reader of its own: checksums, scalars, histograms and pictures. usage: test_tensorboard.py HWS"""
import csv
import io
import math
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

program = sys.argv[1]
workspace = tempfile.TemporaryDirectory()
folder = Path(workspace.name)

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    data = path.read_bytes()
    while data:
        (size,), (check,) = struct.unpack("<Q", data[:8]), struct.unpack("<I", data[8:12])
        assert check == masked(data[:8])
        body, (check,) = data[12 : 12 + size], struct.unpack("<I", data[12 + size : 16 + size])
        assert len(body) == size and check == masked(body)
        yield body
        data = data[16 + size :]


def fields(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                return value

    while at < len(data):
        tag = varint()
        kind, number = tag & 7, tag >> 3
        if kind == 0:
            yield number, varint()
            continue
        size = {1: 8, 2: None, 5: 4}[kind]
        size = varint() if size is None else size
        raw = data[at : at + size]
        at += size
        yield number, {1: lambda: struct.unpack("<d", raw)[0], 5: lambda: struct.unpack("<f", raw)[0], 2: lambda: raw}[kind]()


def values(event):
    """Of the summary: tag, and scalar, histogram or picture."""
    for number, summary in fields(event):
        if number == 5:
            for _, value in fields(summary):
                parts = dict(fields(value))
                yield parts.pop(1).decode(), parts


def run(*words):
    subprocess.run([program, *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


options = "--model mlp-1-16 --batch 8 --threads 1 --lr 0.01 --tensorboard".split()
run("train", "digits:480,100", *options, "--epochs", 2, "--schedule", "constant", "--out", folder / "run")
run("train", "--resume", "--epochs", 3, "--out", folder / "run")

history = {int(row["iteration"]): row for row in csv.DictReader((folder / "run/history.csv").open())}
files = sorted((folder / "run/tensorboard").iterdir())
assert len(files) == 2 and all(path.name.startswith("events.out.tfevents.") for path in files), "each process has a file of its own"
seen, pictures = set(), 0
for path in files:
    first, *events = [dict(fields(record)) | {"record": record} for record in records(path)]
    assert first[3] == b"brain.Event:2" and first[1] > 1.6e9
    for event in events:
        row, told = history[event[2]], dict(values(event["record"]))
        seen.add(event[2])
        for name, number in row.items():
            if number and math.isfinite(float(number)):
                assert math.isclose(told[name][2], float(number), rel_tol=1e-5, abs_tol=1e-30), (name, told[name], number)
        for name in ("losses", "chances"):
            histogram = dict(fields(told[name][5]))
            limits, counts = (struct.unpack(f"<{len(histogram[k]) // 8}d", histogram[k]) for k in (6, 7))
            assert len(limits) == len(counts) == 40 and list(limits) == sorted(limits) and sum(counts) == histogram[3] <= 480
            assert histogram[1] <= histogram[2] <= limits[-1] * (1 + 1e-12) and histogram[4] <= histogram[3] * histogram[2] * (1 + 1e-12)
        for name, value in told.items():
            if name.startswith("hardest/"):
                picture = dict(fields(value[4]))
                image = Image.open(io.BytesIO(picture[4]))
                assert image.size == (picture[2], picture[1]) == (28, 28) and picture[3] == len(image.getbands())
                pictures += 1
assert seen == set(history), "every epoch is told"
assert pictures, "there are pictures"
print(f"{len(files)} files, {len(seen)} epochs, {pictures} pictures")
