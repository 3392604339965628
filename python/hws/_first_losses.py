"""The losses that another run has left behind, by the names of its examples."""

from __future__ import annotations

import csv
import io
import os
import re
import warnings
from typing import Any, Dict, Iterable, List, Union

import numpy as np

from .errors import ArgumentError, ArgumentTypeError, StateIOError

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_COLUMNS = ("example", "stale_loss")


def losses_of(path: Union[str, "os.PathLike[str]"], names: Iterable[Any]) -> np.ndarray:
    """The losses that another run ended with, one for each of these examples, for ``initial_loss``.

    As ``hws train --loss-init`` does: an example without a loss there gets NaN and is drawn first; a warning tells how many of
    either side have no counterpart, and nothing in common is refused.

    Args:
        path: a run of ``hws train``, or its losses.csv.
        names: what the run calls the examples, in the order of your data set: the names of files or cases, or numbers from 0 on.

    >>> import hws, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "losses.csv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("example,stale_loss\\ncase_2,0.5\\ncase_1,2\\n")
    >>> hws.losses_of(path, ["case_1", "case_2"])
    array([2. , 0.5], dtype=float32)
    """
    wanted = _as_names(names)
    try:
        file = os.fsdecode(path)
    except TypeError:
        raise ArgumentTypeError(f"path must be a string or a path, not {type(path).__name__}") from None
    file = os.path.join(file, "losses.csv") if os.path.isdir(file) else file
    known = _read(file)
    losses = np.array([known.get(name, np.nan) for name in wanted], np.float32)
    missing = [name for name, loss in zip(wanted, losses) if np.isnan(loss)]
    unknown = sorted(known.keys() - set(wanted))
    if len(missing) == len(wanted):
        raise ArgumentError(f"{file}: has no loss of any of the {len(wanted)} examples" +
                            (f"; the first one is called {wanted[0]!r}" if wanted else ""))
    said = []
    if missing:
        said.append(f"{len(missing)} of {len(wanted)} examples have no loss there, such as {missing[0]!r}, and are drawn first")
    if unknown:
        said.append(f"{len(unknown)} of its examples are none of these, such as {unknown[0]!r}")
    if said:
        warnings.warn(f"{file}: {'; '.join(said)}", stacklevel=2)
    return losses


def _as_names(names: Iterable[Any]) -> List[str]:
    if isinstance(names, (str, bytes)):
        raise ArgumentTypeError("names must be those of all examples, not one string")
    wanted = []
    for name in names:
        if isinstance(name, (bool, np.bool_)) or not isinstance(name, (str, int, np.integer, os.PathLike)):
            raise ArgumentTypeError(f"a name must be a string or a whole number, not {type(name).__name__}")
        wanted.append(os.fspath(name) if isinstance(name, os.PathLike) else str(name))
    _refuse_twice(wanted, "names")
    return wanted


def _refuse_twice(names: List[str], where: str) -> None:
    seen = set()
    for name in names:
        if name in seen:
            raise ArgumentError(f"{where}: the example {name!r} stands there twice")
        seen.add(name)


def _read(file: str) -> Dict[str, float]:
    """Each example's loss, NaN for none; a file that is not quite as it should be is refused."""
    try:
        with open(file, encoding="utf-8-sig", newline="") as opened:
            text = opened.read()
        if "\0" in text:
            raise ArgumentError(f"{file}: holds zero bytes, so it is no CSV file")
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    except OSError as error:
        refusal = StateIOError(f"{file}: {error.strerror}")
        refusal.errno = error.errno
        raise refusal from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise ArgumentError(f"{file}: is no CSV file: {error}") from None
    header = rows[0] if rows else []
    if any(header.count(column) != 1 for column in _COLUMNS):
        raise ArgumentError(f"{file}: has no columns 'example' and 'stale_loss': is it a losses.csv?")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            raise ArgumentError(f"{file}, row {number}: {len(row)} fields where the header has {len(header)}")
    name, loss = (header.index(column) for column in _COLUMNS)
    _refuse_twice([row[name] for row in rows[1:]], file)
    return {row[name]: _loss(row[loss], file, number) for number, row in enumerate(rows[1:], 2)}


def _loss(field: str, file: str, number: int) -> float:
    if not field:
        return float("nan")
    with np.errstate(over="ignore"):
        loss = float(np.float32(field)) if _NUMBER.fullmatch(field) else float("inf")
    if not np.isfinite(loss):
        raise ArgumentError(f"{file}, row {number}: stale_loss is {field!r}, not a finite number")
    return loss
