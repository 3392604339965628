"""CRC-64 (ECMA-182, reflected, as in xz) with numpy: many stretches of the data at once, joined in the end."""

from __future__ import annotations

import numpy as np

_POLYNOMIAL = np.uint64(0xC96C5795D7870F42)
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_BITS = np.uint64(1) << np.arange(64, dtype=np.uint64)
_LANES = 1 << 14


def _make_table() -> np.ndarray:
    table = np.arange(256, dtype=np.uint64)
    for _ in range(8):
        table = (table >> np.uint64(1)) ^ np.where(table & np.uint64(1), _POLYNOMIAL, np.uint64(0))
    return table


_TABLE = _make_table()


def _add(crc: np.ndarray, byte: np.ndarray) -> np.ndarray:
    return _TABLE[((crc ^ byte) & np.uint64(255)).astype(np.intp)] ^ (crc >> np.uint64(8))


def _apply(operator: np.ndarray, values: np.ndarray) -> np.ndarray:
    """A linear map over bits, given by what it makes of each."""
    result = np.zeros_like(values)
    for bit, image in zip(_BITS, operator):
        result ^= np.where(values & bit, image, np.uint64(0))
    return result


def _behind(zeros: int) -> np.ndarray:
    """What so many zero bytes behind it make of a checksum."""
    result, power = _BITS, _add(_BITS, np.zeros(64, np.uint64))
    while zeros:
        if zeros & 1:
            result = _apply(power, result)
        power = _apply(power, power)
        zeros >>= 1
    return result


def crc64(data: np.ndarray) -> int:
    """The checksum of an array of bytes.

    >>> import numpy as np
    >>> hex(crc64(np.frombuffer(b"123456789", np.uint8)))
    '0x995dc9bbdf1939fa'
    """
    lanes = _LANES if data.size > 16 * _LANES else 1
    length = -(-data.size // lanes)
    padded = np.concatenate([np.zeros(lanes * length - data.size, np.uint8), data])     # in front they change nothing
    columns = padded.reshape(lanes, length)
    crc = np.zeros(lanes, np.uint64)
    for k in range(length):
        crc = _add(crc, columns[:, k].astype(np.uint64))
    operator = _behind(length)
    while len(crc) > 1:
        crc = _apply(operator, crc[::2]) ^ crc[1::2]
        operator = _apply(operator, operator)
    start = _apply(_behind(data.size), np.array([_ONES], np.uint64))
    return int(crc[0] ^ start[0] ^ _ONES)
