"""libhws through ctypes: where the shared library is, and the types of its functions.

The functions are called with the global interpreter lock held (``PyDLL``): a call takes microseconds, or one pass over all
examples, and while it runs no other thread does, unless it calls back. See :class:`hws.Sampler` for what two calls need.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Dict, Iterator, Tuple

from .errors import LibraryNotFoundError

#: The oldest library that has everything this binding calls.
OLDEST = (0, 2)
#: What the library is called where the system has it: its soname, which changes when older programs no longer work.
SYSTEM_LIBRARY = "libhws.so.0.1"

#: double (*)(double, void *): what a custom divergence's functions are in C.
Callback = ctypes.CFUNCTYPE(c_double, c_double, c_void_p)

DIVERGENCE_KINDS = ("kl", "chi2", "reverse-kl", "hellinger", "cressie-read", "js", "cvar", "custom")
CUSTOM, CVAR = DIVERGENCE_KINDS.index("custom"), DIVERGENCE_KINDS.index("cvar")
IMPORTANCE_KINDS = ("paper", "exact", "normalised")


class DivergenceStruct(Structure):
    _fields_ = [
        ("kind", c_int),
        ("parameter", c_double),
        ("slope", Callback),
        ("slope_inverse", Callback),
        ("phi", Callback),
        ("context", c_void_p),
        ("reserved", c_uint64 * 4),
    ]


class OptionsStruct(Structure):
    """Made by :func:`default_options`, which sets ``size`` and every default."""

    _fields_ = [
        ("size", c_size_t),
        ("beta", c_double),
        ("divergence", DivergenceStruct),
        ("seed", c_uint64),
        ("initial_loss", c_double),
        ("jitter", c_double),
        ("momentum", c_double),
        ("floor", c_double),
        ("uniform_mix", c_double),
        ("weight_min", c_double),
        ("weight_max", c_double),
        ("importance", c_int),
        ("replacement", c_int),
        ("keep_counts", c_int),
        ("reserved", c_int),
        ("tail", c_double),
        ("trim", c_double),
        ("doubt", c_double),
        ("keep_record", c_int),
        ("reserved_2", c_int),
    ]


class ErrorStruct(Structure):
    _fields_ = [
        ("status", c_int),
        ("system_error", c_int),
        ("position", c_int64),
        ("example", c_int64),
        ("message", c_char * 256),
        ("reserved", c_uint64 * 4),
    ]


class StatisticsStruct(Structure):
    _fields_ = [
        ("loss_mean", c_double),
        ("loss_std", c_double),
        ("loss_min", c_double),
        ("loss_max", c_double),
        ("robust_loss", c_double),
        ("effective_size", c_double),
        ("entropy", c_double),
        ("kl_to_uniform", c_double),
        ("largest_p", c_double),
        ("drawable", c_int64),
        ("oldest_age", c_uint64),
        ("never_drawn", c_int64),
        ("unseen", c_int64),
        ("beta", c_double),
        ("reserved", c_uint64 * 6),
    ]


class RecordStruct(Structure):
    _fields_ = [
        ("loss_mean", c_double),
        ("level", c_double),
        ("evidence", c_double),
        ("doubt", c_double),
        ("updates", c_uint64),
        ("label", c_int64),
        ("excess", c_double),
        ("reserved", c_uint64 * 3),
    ]


def values(structure: Structure) -> Dict[str, Any]:
    """What a structure of the library says, without what only keeps its layout."""
    return {name: getattr(structure, name) for name, *_ in structure._fields_ if name not in ("size", "reserved", "reserved_2")}


_sampler, _array, _status = c_void_p, c_void_p, c_int
_double_out = POINTER(c_double)
_divergence, _options, _error = POINTER(DivergenceStruct), POINTER(OptionsStruct), POINTER(ErrorStruct)

#: name: (result, arguments), as in hws.h. Arrays travel as plain addresses.
PROTOTYPES = {
    "hws_version": (c_char_p, []),
    "hws_status_text": (c_char_p, [_status]),
    "hws_divergence_parse": (_status, [c_char_p, _divergence, _error]),
    "hws_divergence_probabilities": (_status, [_divergence, c_double, c_int64, _array, _array, _error]),
    "hws_divergence_robust_loss": (_status, [_divergence, c_double, c_int64, _array, _double_out, _error]),
    "hws_options_init": (None, [_options, c_size_t]),
    "hws_sampler_open": (_status, [POINTER(_sampler), c_int64, _array, _options, _error]),
    "hws_sampler_close": (None, [POINTER(_sampler)]),
    "hws_sampler_error": (_error, [_sampler]),
    "hws_sampler_size": (c_int64, [_sampler]),
    "hws_sampler_unseen": (c_int64, [_sampler]),
    "hws_sampler_get_options": (None, [_sampler, _options, c_size_t]),
    "hws_sampler_draws_made": (c_uint64, [_sampler]),
    "hws_sampler_updates_made": (c_uint64, [_sampler]),
    "hws_sampler_memory": (c_size_t, [_sampler]),
    "hws_sampler_draw": (_status, [_sampler, c_int64, _array]),
    "hws_sampler_importance": (_status, [_sampler, c_int64, _array, _array, _array]),
    "hws_sampler_set_importance": (_status, [_sampler, c_int]),
    "hws_sampler_update": (_status, [_sampler, c_int64, _array, _array]),
    "hws_sampler_set_labels": (_status, [_sampler, c_int64, c_int64, _array]),
    "hws_sampler_records": (_status, [_sampler, c_int64, c_int64, _array]),
    "hws_sampler_get_losses": (_status, [_sampler, c_int64, c_int64, _array]),
    "hws_sampler_set_losses": (_status, [_sampler, c_int64, c_int64, _array]),
    "hws_sampler_grow": (_status, [_sampler, c_int64, _array]),
    "hws_sampler_hardest": (_status, [_sampler, c_int64, _array, _array]),
    "hws_sampler_ages": (_status, [_sampler, c_int64, c_int64, _array]),
    "hws_sampler_draw_counts": (_status, [_sampler, c_int64, c_int64, _array]),
    "hws_sampler_next_stale": (_status, [_sampler, c_uint64, POINTER(c_int64), POINTER(c_int64)]),
    "hws_sampler_probability": (_status, [_sampler, c_int64, _double_out]),
    "hws_sampler_probabilities": (_status, [_sampler, c_int64, c_int64, _array]),
    "hws_sampler_drawable": (_status, [_sampler, POINTER(c_int64)]),
    "hws_sampler_robust_loss": (_status, [_sampler, _double_out]),
    "hws_sampler_percentile_bound": (_status, [_sampler, c_double, _double_out]),
    "hws_sampler_percentile": (_status, [_sampler, c_double, _double_out]),
    "hws_sampler_cvar": (_status, [_sampler, c_double, _double_out]),
    "hws_sampler_statistics": (_status, [_sampler, POINTER(StatisticsStruct)]),
    "hws_sampler_set_beta": (_status, [_sampler, c_double]),
    "hws_sampler_beta_for_spread": (_status, [_sampler, c_double, _double_out]),
    "hws_sampler_beta_for_effective_size": (_status, [_sampler, c_double, _double_out]),
    "hws_sampler_beta_for_kl": (_status, [_sampler, c_double, _double_out]),
    "hws_sampler_save": (_status, [_sampler, c_char_p]),
    "hws_sampler_load": (_status, [POINTER(_sampler), c_char_p, _divergence, _error]),
    "hws_sampler_state_size": (c_size_t, [_sampler]),
    "hws_sampler_state_write": (_status, [_sampler, _array, c_size_t]),
    "hws_sampler_state_read": (_status, [POINTER(_sampler), _array, c_size_t, _divergence, _error]),
}


def _candidates() -> Iterator[Tuple[str, str]]:
    """Where the library may be, best first, each with a name for error messages."""
    named = os.environ.get("HWS_LIBRARY")
    if named:
        yield named, "HWS_LIBRARY"
        return
    file = "libhws.dylib" if sys.platform == "darwin" else "libhws.so"
    package = Path(__file__).resolve().parent
    yield str(package / file), "the installed package"
    yield str(package.parent.parent / "build" / "release" / "src" / "sampler" / file), "the checkout"
    yield (ctypes.util.find_library("hws") or file) if sys.platform == "darwin" else SYSTEM_LIBRARY, "the system"


def _open() -> Tuple[ctypes.PyDLL, str]:
    tried = []
    for path, origin in _candidates():
        if os.sep in path and not os.path.exists(path):
            tried.append(f"{origin}: no file {path}")
            continue
        try:
            return ctypes.PyDLL(path), path
        except OSError as error:
            tried.append(f"{origin}: {error}")
    raise LibraryNotFoundError(
        "libhws was not found; build it (cmake --preset release && cmake --build build/release --target hws) or name "
        "it in the environment variable HWS_LIBRARY. Tried: " + "; ".join(tried))


def _bind() -> Tuple[ctypes.PyDLL, str]:
    library, path = _open()
    for name, (result, arguments) in PROTOTYPES.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise LibraryNotFoundError(f"{path} has no function {name}; it is not the libhws of this package") from None
        function.restype = result
        function.argtypes = arguments
    version = library.hws_version().decode()
    if not OLDEST <= tuple(int(part) for part in version.split(".")[:2]) < (1, 0):
        raise LibraryNotFoundError(f"{path} is version {version}; this package needs {OLDEST[0]}.{OLDEST[1]} or later, and below 1.0")
    return library, path


lib, library_path = _bind()


def default_options() -> OptionsStruct:
    """The library's defaults."""
    options = OptionsStruct()
    lib.hws_options_init(ctypes.byref(options), ctypes.sizeof(options))
    return options


def sampler_options(handle: int) -> OptionsStruct:
    """The options in force in a sampler."""
    options = OptionsStruct()
    lib.hws_sampler_get_options(handle, ctypes.byref(options), ctypes.sizeof(options))
    return options
