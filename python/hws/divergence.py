"""Divergences: how far from uniform a distribution is, and so how hard examples are weighted."""

from __future__ import annotations

import ctypes
import math
import threading
from typing import Any, Callable, Optional, Union

import numpy as np

from ._arrays import as_losses, as_number, pointer
from ._library import CUSTOM, DIVERGENCE_KINDS, Callback, DivergenceStruct, ErrorStruct, lib
from .errors import ArgumentError, ArgumentTypeError, DivergenceError, from_library

__all__ = ["CustomDivergence", "probabilities", "robust_loss"]

Divergence = Union[str, "CustomDivergence"]

_NAMES = "'kl', 'chi2', 'reverse-kl', 'hellinger', 'cressie-read:K', 'js', 'cvar:ALPHA'"


class CustomDivergence:
    """A divergence of your own: D(q || uniform) = mean(phi(n q)) with a convex phi, phi(1) = phi'(1) = 0.

    Args:
        slope: phi'(z) for z in [0, n]; may be ``-math.inf`` at 0.
        slope_inverse: the z with phi'(z) = y.
        phi: phi(z); only the robust loss needs it.

    The functions must be pure and must not use the sampler that calls them. An exception in one of them comes out of
    the call on the sampler as a :class:`DivergenceError`, and the sampler stays as it was. To pickle a sampler with a
    custom divergence, define the functions at the top of a module.

    >>> import math, hws
    >>> kl = hws.CustomDivergence(lambda z: math.log(z) if z > 0 else -math.inf, math.exp)
    >>> hws.probabilities([0.0, math.log(3.0)], beta=1, divergence=kl).round(6)
    array([0.25, 0.75])
    """

    def __init__(self, slope: Callable[[float], float], slope_inverse: Callable[[float], float],
                 phi: Optional[Callable[[float], float]] = None):
        for name, function in (("slope", slope), ("slope_inverse", slope_inverse)):
            if not callable(function):
                raise ArgumentTypeError(f"{name} must be a function, not {type(function).__name__}")
        if phi is not None and not callable(phi):
            raise ArgumentTypeError(f"phi must be a function or None, not {type(phi).__name__}")
        self.slope, self.slope_inverse, self.phi = slope, slope_inverse, phi
        self._raised = threading.local()  # by a function: the calls of another thread know nothing of it
        self._struct = DivergenceStruct(kind=CUSTOM, slope=self._callback(slope),
                                        slope_inverse=self._callback(slope_inverse))
        if phi is not None:
            self._struct.phi = self._callback(phi)

    def __reduce__(self) -> Any:
        return CustomDivergence, (self.slope, self.slope_inverse, self.phi)

    def _callback(self, function: Callable[[float], float]) -> Any:
        def called(value: float, _context: Any) -> float:
            # An exception cannot pass through C: keep it for _check(), and answer NaN, which the library refuses.
            try:
                result = float(function(value))
                if math.isnan(result):
                    raise ValueError(f"NaN for {value}")
                return result
            except BaseException as error:  # noqa: B902
                self._raised.error = getattr(self._raised, "error", None) or error
                return math.nan

        return Callback(called)

    def _check(self) -> None:
        """Raises what a function of the divergence raised during the call into the library."""
        error, self._raised.error = getattr(self._raised, "error", None), None
        if error is None:
            return
        if not isinstance(error, Exception):
            raise error
        raise DivergenceError(f"a function of the custom divergence raised {type(error).__name__}: {error}") from error


def divergence_struct(divergence: Divergence) -> DivergenceStruct:
    if isinstance(divergence, CustomDivergence):
        return divergence._struct
    if not isinstance(divergence, str):
        raise ArgumentTypeError(
            f"divergence must be one of {_NAMES} or a CustomDivergence, not {type(divergence).__name__}")
    if "\0" in divergence:  # where C would stop reading
        raise ArgumentError(f"there is no divergence {divergence!r}; there are {_NAMES}")
    struct, error = DivergenceStruct(), ErrorStruct()
    if lib.hws_divergence_parse(divergence.encode("ascii", "replace"), ctypes.byref(struct), ctypes.byref(error)):
        raise from_library(error)
    return struct


def divergence_name(struct: DivergenceStruct) -> str:
    name = DIVERGENCE_KINDS[struct.kind]
    return f"{name}:{struct.parameter:.17g}" if name in ("cressie-read", "cvar") else name


def _evaluate(function: Any, divergence: Divergence, beta: float, losses: Any, result: Any) -> None:
    struct, error = divergence_struct(divergence), ErrorStruct()
    function(ctypes.byref(struct), beta, len(losses), pointer(losses), result, ctypes.byref(error))
    if isinstance(divergence, CustomDivergence):
        divergence._check()
    if error.status:
        raise from_library(error)


def probabilities(losses: Any, beta: float = 100.0, divergence: Divergence = "kl") -> np.ndarray:
    """The distribution that a sampler with these losses draws from: argmax_q <L, q> - D(q || uniform) / beta.

    >>> import hws
    >>> hws.probabilities([1.0, 1.0, 2.0, 0.0], beta=0)
    array([0.25, 0.25, 0.25, 0.25])
    >>> hws.probabilities([1.0, 2.0, 3.0, 4.0], divergence="cvar:0.5")
    array([0. , 0. , 0.5, 0.5])
    """
    losses = as_losses(losses)
    result = np.empty(len(losses))
    _evaluate(lib.hws_divergence_probabilities, divergence, as_number(beta, "beta"), losses, pointer(result))
    return result


def robust_loss(losses: Any, beta: float = 100.0, divergence: Divergence = "kl") -> float:
    """R(L) = max_q <L, q> - D(q || uniform) / beta; for "kl" that is log(mean(exp(beta L))) / beta.

    >>> import hws
    >>> round(hws.robust_loss([0.0, 1.0], beta=2), 6)
    0.71689
    """
    losses = as_losses(losses)
    result = ctypes.c_double()
    _evaluate(lib.hws_divergence_robust_loss, divergence, as_number(beta, "beta"), losses, ctypes.byref(result))
    return result.value
