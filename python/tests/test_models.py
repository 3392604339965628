"""The modules have the architectures of the program, and weights go both ways."""
import json
import lzma
import os
import struct

import numpy as np
import pytest
import torch

import hws
import hws.models
from hws import _safetensors
from hws._crc64 import crc64

MODELS = {
    "mlp": lambda: hws.models.MLP(6, 2, 8, 3),
    "wrn": lambda: hws.models.WideResNet(10, 2, classes=5, channels=3),
    "unet": lambda: hws.models.UNet(2, 3, levels=3, base=4, bias=True, kernels=[(1, 3, 3), 3, 3],
                                    strides=[1, (1, 2, 2), 2]),
    "flat": lambda: hws.models.UNet(1, 2, levels=2, base=4, dimensions=2, max_pool=True),
}


def equal(a, b):
    a, b = a.state_dict(), b.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("kind", MODELS)
def test_weights_come_back(kind, tmp_path):
    torch.manual_seed(1)
    a, b = MODELS[kind](), MODELS[kind]()
    assert not equal(a, b)
    hws.models.save_weights(a, tmp_path / "w.safetensors")
    hws.models.load_weights(b, tmp_path / "w.safetensors")
    assert equal(a, b)
    hws.models.save_weights(b, tmp_path / "again.safetensors")
    assert (tmp_path / "w.safetensors").read_bytes() == (tmp_path / "again.safetensors").read_bytes()


def test_names_are_those_of_the_program():
    names = set(hws.models.WideResNet().state_dict())
    assert {"conv.weight", "blocks.0.norm1.running_mean", "blocks.2.shortcut.weight", "norm.num_batches_tracked",
            "classifier.bias"} <= names and "blocks.0.shortcut.weight" not in names
    names = set(hws.models.UNet(1, 3).state_dict())
    assert {"encoder.0.0.conv.weight", "encoder.3.1.norm.bias", "up.2.weight", "decoder.0.1.conv.bias",
            "heads.2.weight"} <= names and "up.0.bias" not in names and "heads.3.weight" not in names
    assert set(hws.models.MLP(4, 1, 8, 2).state_dict()) == {"layers.0.weight", "layers.1.weight", "output.weight"}


def test_the_unet_gives_all_outputs_in_training_and_the_finest_in_evaluation():
    model = MODELS["unet"]()
    x = torch.randn(2, 2, 4, 8, 8)
    outputs = model(x)
    assert [tuple(output.shape) for output in outputs] == [(2, 3, 4, 8, 8), (2, 3, 4, 4, 4)]
    assert torch.equal(model.eval()(x), outputs[0])
    assert MODELS["flat"]().eval()(torch.zeros(1, 1, 4, 6)).shape == (1, 2, 4, 6)


def test_impossible_networks_are_refused():
    for options in ({"levels": 1}, {"dimensions": 4}, {"heads": 4}, {"kernels": [3, 3]}, {"strides": [(1, 1)] * 4}):
        with pytest.raises(hws.ArgumentError):
            hws.models.UNet(1, 3, **options)
    with pytest.raises(hws.ArgumentError):
        hws.models.WideResNet(15)


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "w.safetensors"
    hws.models.save_weights(MODELS["wrn"](), path)
    return path


def changed(path, change):
    tensors, metadata = _safetensors.read(path)
    change(tensors)
    _safetensors.write(path, tensors, metadata)


@pytest.mark.parametrize("change, says", [
    (lambda t: t.pop("classifier.bias"), "classifier.bias"),
    (lambda t: t.pop("norm.num_batches_tracked"), "norm.num_batches_tracked"),
    (lambda t: t.update(more=np.zeros(3, np.float32)), "more"),
    (lambda t: t.update({"conv.weight": t["conv.weight"].astype(np.float64)}), "float64"),
    (lambda t: t.update({"conv.weight": t["conv.weight"][:4]}), "[4, 3, 3, 3]"),
    (lambda t: t.update({"norm.bias": t["norm.bias"] + np.nan}), "norm.bias"),
])
def test_what_does_not_fit_is_named_and_changes_nothing(saved, change, says):
    model, before = MODELS["wrn"](), MODELS["wrn"]()
    before.load_state_dict(model.state_dict())
    changed(saved, change)
    with pytest.raises(hws.CorruptStateError) as error:
        hws.models.load_weights(model, saved)
    assert says in str(error.value) and str(saved) in str(error.value)
    assert equal(model, before)


def test_a_checkpoint_holds_more_than_weights(saved):
    changed(saved, lambda t: t.update({"hws.optimizer": np.zeros(7, np.float32)}))
    hws.models.load_weights(MODELS["wrn"](), saved)


def test_values_of_other_types_become_f32(tmp_path):
    model = MODELS["mlp"]().double()
    hws.models.save_weights(model, tmp_path / "w")
    other = MODELS["mlp"]().double()
    hws.models.load_weights(other, tmp_path / "w")
    assert torch.equal(other.output.weight, model.output.weight.float().double())


def test_nothing_is_left_behind_where_writing_fails(tmp_path):
    model = MODELS["mlp"]()
    with pytest.raises(hws.StateIOError):
        hws.models.save_weights(model, tmp_path / "no" / "folder")
    (tmp_path / "folder").mkdir()
    with pytest.raises(hws.StateIOError):
        hws.models.save_weights(model, tmp_path / "folder")
    model.output.weight.data[0, 0] = float("inf")
    with pytest.raises(hws.ArgumentError):
        hws.models.save_weights(model, tmp_path / "w")
    assert os.listdir(tmp_path) == ["folder"]
    with pytest.raises(hws.StateIOError):
        hws.models.load_weights(model, tmp_path / "nothing")


# ---- the format ------------------------------------------------------------------------------------------------------


def raw(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(begin, end, shape=None, dtype="F32", **more):
    return {"dtype": dtype, "shape": [(end - begin) // 4] if shape is None else shape, "data_offsets": [begin, end], **more}


@pytest.mark.parametrize("content", [
    b"", b"short", struct.pack("<Q", 100) + b"{}", raw(b"[]"), raw(b"{"), raw(b'{"\xff": 1}'), raw(b'{"a":' * 5000),
    raw({"a": 1}), raw({"a": entry(0, 8)}, bytes(4)), raw({"a": entry(0, 8, [3])}, bytes(8)),
    raw({"a": entry(0, 8, [-2])}, bytes(8)), raw({"a": entry(0, 8, [2.0])}, bytes(8)),
    raw({"a": entry(0, 8, dtype="F8")}, bytes(8)), raw({"a": entry(0, 8, more=1)}, bytes(8)),
    raw({"a": entry(0, 8), "b": entry(4, 12)}, bytes(12)), raw({"a": entry(0, 4), "b": entry(8, 12)}, bytes(12)),
    raw({"a": entry(0, 4)}, bytes(8)), raw({"__metadata__": {"a": 1}}), raw({"__metadata__": []}),
    raw(b'{"__metadata__": {"a": "1", "a": "2"}}'), raw({"a": entry(0, 0, [2 ** 62, 2 ** 62])}),
    raw({"a": entry(0, 4, True)}, bytes(4)), raw({"a": entry(0, 4, [True])}, bytes(4)),
    raw({"a": {"dtype": [], "shape": [], "data_offsets": [0, 0]}}),
])
def test_what_is_not_exactly_the_format_is_refused(content, tmp_path):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(hws.CorruptStateError):
        _safetensors.read(tmp_path / "f")


def test_all_types_and_shapes_come_back(tmp_path):
    rng = np.random.default_rng(0)
    tensors = {str(dtype): (rng.random((2, 3)) * 100).astype(dtype)
               for dtype in ("f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?", ">f4")}
    tensors.update(scalar=np.array(-5, np.int64), empty=np.zeros((0, 4), np.float32), name=np.ones((3, 1)).T)
    _safetensors.write(tmp_path / "f", tensors, {"note": "\u00fc \" \\ \n"})
    back, metadata = _safetensors.read(tmp_path / "f")
    assert metadata == {"note": "\u00fc \" \\ \n"} and back.keys() == tensors.keys()
    for name, array in tensors.items():
        assert back[name].shape == array.shape and np.array_equal(back[name], array)
    assert (8 + struct.unpack("<Q", (tmp_path / "f").read_bytes()[:8])[0]) % 64 == 0


def with_checksum(path):
    """As the program writes it."""
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header, data = json.loads(content[8:8 + length]), content[8 + length:]
    header = {"__metadata__": {"hws_crc64": "0" * 16}, **header}
    text = json.dumps(header, separators=(",", ":")).encode()
    digits = f"{crc64(np.frombuffer(text + data, np.uint8)):016x}"
    path.write_bytes(struct.pack("<Q", len(text)) + text.replace(b"0" * 16, digits.encode(), 1) + data)


@pytest.mark.parametrize("size", [10, 300_000])
def test_damage_is_noticed_where_there_is_a_checksum(size, tmp_path):
    path = tmp_path / "f"
    _safetensors.write(path, {"a": np.arange(size, dtype=np.float32)})
    with_checksum(path)
    tensors, metadata = _safetensors.read(path)
    assert np.array_equal(tensors["a"], np.arange(size)) and metadata == {}
    content = bytearray(path.read_bytes())
    content[-size] ^= 1
    path.write_bytes(content)
    with pytest.raises(hws.CorruptStateError, match="checksum"):
        _safetensors.read(path)


def test_the_checksum_is_that_of_xz():
    """liblzma stores it behind the block, before the index and the footer."""
    data = np.random.default_rng(0).integers(0, 256, 1_000_003, np.uint8)
    packed = lzma.compress(data.tobytes(), check=lzma.CHECK_CRC64)
    index = 4 * (int.from_bytes(packed[-8:-4], "little") + 1)
    assert int.from_bytes(packed[-12 - index - 8:-12 - index], "little") == crc64(data)
