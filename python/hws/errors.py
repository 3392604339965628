"""The exceptions of hws.

Every one of them is an :class:`HwsError` and also what Python programmers expect for the case: a ``ValueError``, an
``IndexError``, an ``OSError``... A call that raises has changed nothing.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Type

__all__ = [
    "HwsError", "ArgumentError", "ArgumentTypeError", "ExampleIndexError", "NotFiniteError", "TooFewError",
    "OutOfMemoryError", "StateIOError", "CorruptStateError", "StateVersionError", "DivergenceError",
    "UnreachableError", "NotKeptError", "NoLossError", "ClosedError", "OwnershipError", "LibraryNotFoundError",
]


class HwsError(Exception):
    """Anything that hws refuses.

    ``position`` is where in the caller's array the fault lies and ``example`` which example is meant; both are
    ``None`` where the question does not arise.
    """

    def __init__(self, message: str = "", position: Optional[int] = None, example: Optional[int] = None):
        super().__init__(message)
        self.position = position
        self.example = example


class ArgumentError(HwsError, ValueError):
    """An argument is out of its range, or two arrays do not fit together."""


class ArgumentTypeError(HwsError, TypeError):
    """An argument is of a type that cannot be meant."""


class ExampleIndexError(HwsError, IndexError):
    """There is no example with this index."""


class NotFiniteError(HwsError, ValueError):
    """A loss is NaN or infinite; ``example`` says whose."""


class TooFewError(HwsError, ValueError):
    """The batch is larger than the number of examples that can be drawn."""


class OutOfMemoryError(HwsError, MemoryError):
    """There is not enough memory."""


class StateIOError(HwsError, OSError):
    """A state file could not be read or written."""


class CorruptStateError(HwsError, ValueError):
    """The state is damaged, truncated, not a sampler's, or of a sampler over other examples."""


class StateVersionError(HwsError, ValueError):
    """The state was written by a newer version."""


class DivergenceError(HwsError, ValueError):
    """The functions of a custom divergence are missing, disagree or raised an exception."""


class UnreachableError(HwsError, ValueError):
    """No beta reaches the target with these losses."""


class NotKeptError(HwsError, RuntimeError):
    """The sampler was opened without ``keep_counts=True``, which ages and draw counts need, or without a record, which
    ``triage()`` and labels need (``keep_record=True``, ``doubt`` or ``labels``)."""


class NoLossError(HwsError, ValueError):
    """No example has a loss yet, so nothing can be said about losses."""


class ClosedError(HwsError, ValueError):
    """The sampler has been closed."""


class OwnershipError(HwsError, RuntimeError):
    """The sampler belongs to another process, or is in use by another call."""


class LibraryNotFoundError(HwsError, ImportError):
    """The shared library libhws was not found, or is not the one this package binds to."""


#: The exception of each hws_status, whose values are fixed for all versions of the library.
BY_STATUS: Dict[int, Type[HwsError]] = {
    1: ArgumentError,
    2: ExampleIndexError,
    3: NotFiniteError,
    4: TooFewError,
    5: OutOfMemoryError,
    6: StateIOError,
    7: CorruptStateError,
    8: StateVersionError,
    9: DivergenceError,
    10: UnreachableError,
    11: NotKeptError,
    12: NoLossError,
}


def from_library(error: Any) -> HwsError:
    """What the library says in an hws_error, as an exception."""
    exception = BY_STATUS.get(error.status, HwsError)(
        error.message.decode(errors="replace"), error.position if error.position >= 0 else None,
        error.example if error.example >= 0 else None)
    if isinstance(exception, OSError):
        exception.errno = error.system_error
    return exception
