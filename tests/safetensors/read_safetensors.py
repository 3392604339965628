"""Reads a safetensors file from the format's description alone, and compares it with what the test has written."""
import json
import struct
import sys

with open(sys.argv[1], "rb") as file:
    content = file.read()
(length,) = struct.unpack("<Q", content[:8])
assert (8 + length) % 64 == 0
header = json.loads(content[8 : 8 + length].decode("utf-8"))
data = content[8 + length :]
metadata = header.pop("__metadata__")
assert list(metadata) == ["epoch", "note", "hws_crc64"], metadata
assert metadata["epoch"] == "7" and metadata["note"] == 'quotes " and \\ and \u00fc\n', metadata
assert sorted(header) == ["bias", "counts", "empty", "mask", "scalar", "w\u00e9ight"], header


def tensor(name, dtype, shape, code):
    entry = header[name]
    assert entry["dtype"] == dtype and entry["shape"] == shape, entry
    begin, end = entry["data_offsets"]
    return list(struct.unpack("<%d%s" % ((end - begin) // struct.calcsize(code), code), data[begin:end]))


assert tensor("w\u00e9ight", "F32", [2, 3], "f") == [0.5, -1.0, 2.0, 3.0, 4.0, 2.0**-60]
assert tensor("bias", "F64", [2], "d") == [0.1, 1e300]
assert tensor("counts", "I64", [3], "q") == [-1, 0, 1 << 40]
assert tensor("scalar", "I16", [], "h") == [-5]
assert tensor("mask", "U8", [3], "B") == [1, 2, 255]
assert tensor("empty", "F32", [0, 4], "f") == []
assert max(entry["data_offsets"][1] for entry in header.values()) == len(data)
print("read")
