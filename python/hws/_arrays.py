"""What users hand over, as arrays that libhws can read: without a copy where type and layout fit."""

from __future__ import annotations

import operator
import sys
from ctypes import addressof, c_char
from typing import Any, Optional

import numpy as np

from .errors import ArgumentError, ArgumentTypeError, ExampleIndexError

_INT64 = np.dtype(np.int64)
_FLOAT32 = np.dtype(np.float32)


def pointer(array: np.ndarray) -> int:
    """The address of the first element of a contiguous array."""
    try:
        return addressof(c_char.from_buffer(array))  # type: ignore[arg-type]  # twice as fast as the next
    except (TypeError, ValueError):  # read-only or empty
        return array.ctypes.data


def _one_dimensional(array: np.ndarray, what: str) -> np.ndarray:
    if array.ndim == 0:
        array = array.reshape(1)
    if array.ndim != 1:
        raise ArgumentError(f"{what} must be one-dimensional, not of shape {array.shape}")
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def from_anything(values: Any, what: str) -> np.ndarray:
    # Tensors, without importing torch: as they are, or away from the graph, the device and types unknown to numpy.
    try:
        try:
            return values.numpy() if hasattr(values, "detach") else np.asarray(values)
        except (RuntimeError, TypeError):
            return np.asarray(_off_the_graph(values))
    except (ValueError, TypeError, NotImplementedError) as error:  # the last of a tensor without data
        raise ArgumentTypeError(f"{what} are no array of numbers: {error}") from None


def _off_the_graph(values: Any) -> Any:
    if isinstance(values, (list, tuple)):
        return [_off_the_graph(value) for value in values]
    if not hasattr(values, "detach"):
        return values
    values = values.detach().cpu()
    return values.float().numpy() if values.is_floating_point() else values.numpy()


def from_state(values: Any) -> np.ndarray:
    """An array out of a saved state, in which it may be a tensor on any device."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


def for_state(array: np.ndarray) -> Any:
    """An array for a state: a tensor where PyTorch is in use, since ``torch.load(weights_only=True)`` reads no arrays."""
    from_numpy = getattr(sys.modules.get("torch"), "from_numpy", None)
    return array if from_numpy is None else from_numpy(array)


def is_array(values: Any) -> bool:
    """Whether this is an array, a sequence of numbers or a tensor, and not a single number."""
    return np.ndim(from_anything(values, "losses")) > 0


def as_indices(values: Any, what: str = "indices") -> np.ndarray:
    if type(values) is np.ndarray and values.dtype == _INT64 and values.ndim == 1 and values.flags.c_contiguous:
        return values
    array = from_anything(values, what)
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind not in "iu":
        raise ArgumentTypeError(f"{what} must be integers, not {array.dtype}")
    if array.dtype == np.uint64 and int(array.max()) >= 2**63:
        raise ArgumentError(f"{what} hold {array.max()}, which is no example")
    return _one_dimensional(array.astype(np.int64, copy=False), what)


def as_losses(values: Any, what: str = "losses") -> np.ndarray:
    if type(values) is np.ndarray and values.dtype == _FLOAT32 and values.ndim == 1 and values.flags.c_contiguous:
        return values
    array = from_anything(values, what)
    if array.dtype.kind not in "fiu":
        raise ArgumentTypeError(f"{what} must be real numbers, not {array.dtype}")
    if array.dtype != _FLOAT32:
        with np.errstate(over="ignore"):  # what overflows becomes infinite, and that is refused by name
            array = array.astype(np.float32)
    return _one_dimensional(array, what)


def as_count(value: Any, what: str) -> int:
    if isinstance(value, (bool, np.bool_)):
        raise ArgumentTypeError(f"{what} must be an integer, not a bool")
    try:
        count = operator.index(value)
    except TypeError:
        raise ArgumentTypeError(f"{what} must be an integer, not {type(value).__name__}") from None
    if not 0 <= count < 2**63:
        raise ArgumentError(f"{what} is {count}, which is out of range")
    return count


def as_example(value: Any, what: str = "example") -> int:
    try:
        return as_count(value, what)
    except ArgumentError:
        raise ExampleIndexError(f"{what} is {value}, and there is no such example") from None


def as_number(value: Any, what: str) -> float:
    if isinstance(value, (str, bytes)):
        raise ArgumentTypeError(f"{what} must be a number, not {type(value).__name__}")
    try:
        return float(value)
    except OverflowError:
        raise ArgumentError(f"{what} is larger than any float") from None
    except (TypeError, ValueError):
        raise ArgumentTypeError(f"{what} must be a number, not {type(value).__name__}") from None


def output(out: Optional[np.ndarray], count: int, dtype: type, what: str) -> np.ndarray:
    """The caller's array, checked, or a new one."""
    if out is None:
        return np.empty(count, dtype)
    if not isinstance(out, np.ndarray) or out.dtype != dtype:
        raise ArgumentTypeError(f"{what} must be a numpy array of {np.dtype(dtype).name}")
    if out.shape != (count,) or not out.flags.c_contiguous or not out.flags.writeable:
        raise ArgumentError(f"{what} must be a contiguous, writeable array of {count} elements")
    return out
