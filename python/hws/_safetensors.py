"""Reads and writes files of named tensors in the safetensors format (docs/formats.md), with numpy alone."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Dict, List, Mapping, Tuple

import numpy as np

from ._crc64 import crc64
from .errors import CorruptStateError, StateIOError

#: BF16, which numpy does not have, comes as the uint16 of its bits.
_TYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "<?",
}
_LARGEST_HEADER = 100 << 20
_ALIGNMENT = 64


def _unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _tensor(data: np.ndarray, name: str, entry: Any) -> Tuple[int, int, np.ndarray]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"the entry of '{name}' has not exactly dtype, shape and data_offsets")
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in _TYPES:
        raise ValueError(f"'{name}' is of the unknown type {entry['dtype']}")
    if not isinstance(shape, list) or not all(map(_is_count, shape)) or len(shape) > 8:
        raise ValueError(f"the shape of '{name}' is none")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_count, offsets)):
        raise ValueError(f"the offsets of '{name}' are none")
    dtype = np.dtype(_TYPES[entry["dtype"]])
    size = dtype.itemsize
    for length in shape:
        size *= length
    begin, end = offsets
    if not begin <= end <= data.size or end - begin != size:
        raise ValueError(f"'{name}' does not fit its place in the file")
    return begin, end, np.frombuffer(data[begin:end].tobytes(), dtype).reshape(shape)


def _verify(content: np.ndarray, length: int, digits: str) -> None:
    """The checksum of our own files is that of the header, with zeros in the place of its digits, and of the data."""
    key = b'"hws_crc64":"'
    place = content[8:8 + length].tobytes().find(key + digits.encode()) + len(key)
    zeroed = content[8:].copy()
    zeroed[place:place + 16] = ord("0")
    if len(digits) != 16 or place < len(key) or f"{crc64(zeroed):016x}" != digits:
        raise ValueError("its checksum does not match: it is damaged")


def _parse(content: np.ndarray) -> Tuple[Dict[str, np.ndarray], Dict[str, str]]:
    length = int.from_bytes(content[:8].tobytes(), "little")
    if content.size < 8 or length > min(content.size - 8, _LARGEST_HEADER) or content[8:9].tobytes() != b"{":
        raise ValueError("it does not begin with a header")
    header = json.loads(content[8:8 + length].tobytes().decode(), object_pairs_hook=_unique)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("its metadata are not strings")
    data, tensors, places = content[8 + length:], {}, []
    for name, entry in header.items():
        begin, end, tensors[name] = _tensor(data, name, entry)
        places.append((begin, end))
    position = 0
    for begin, end in sorted(places):
        if begin != position:
            raise ValueError("its tensors overlap or leave a hole")
        position = end
    if position != data.size:
        raise ValueError("there is something behind its tensors")
    if "hws_crc64" in metadata:
        _verify(content, length, metadata.pop("hws_crc64"))
    return tensors, metadata


def read(path: Any) -> Tuple[Dict[str, np.ndarray], Dict[str, str]]:
    """The tensors and the metadata of a file. Whatever is not exactly as the format says is refused."""
    try:
        content = np.fromfile(path, np.uint8)
    except OSError as error:
        raise StateIOError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from error
    try:
        return _parse(content)
    except (ValueError, RecursionError, AttributeError) as error:
        raise CorruptStateError(f"{os.fspath(path)}: is not a safetensors file: {error}") from error


def _type_name(array: np.ndarray) -> str:
    for name, dtype in _TYPES.items():
        if np.dtype(dtype) == array.dtype.newbyteorder("<") and name != "BF16":
            return name
    raise CorruptStateError(f"safetensors files cannot hold {array.dtype}")


def write(path: Any, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str] = {}) -> None:
    """Writes a file, whole or not at all; the same tensors give the same bytes."""
    header: Dict[str, Any] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    blocks, position = [], 0
    for name in sorted(tensors, key=lambda name: (-np.asarray(tensors[name]).itemsize, name.encode())):
        array = np.asarray(tensors[name])
        array = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(array.shape)
        header[name] = {"dtype": _type_name(array), "shape": list(array.shape),
                        "data_offsets": [position, position + array.nbytes]}
        blocks.append(array.tobytes())
        position += array.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-(8 + len(text)) % _ALIGNMENT)
    _replace(os.fspath(path), [len(text).to_bytes(8, "little"), text, *blocks])


def _replace(path: str, parts: List[bytes]) -> None:
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=os.path.basename(path) + ".", dir=os.path.dirname(path) or ".")
        try:
            mask = os.umask(0)
            os.umask(mask)
            os.fchmod(descriptor, 0o666 & ~mask)
            with os.fdopen(descriptor, "wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise StateIOError(f"{path}: cannot be written: {error.strerror or error}") from error
