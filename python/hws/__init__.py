"""Hardness weighted sampling for distributionally robust deep learning.

    sampler = hws.Sampler(n, beta=10)
    batch = sampler.draw(64)
    weights = sampler.importance_weights(batch, losses)   # optional
    sampler.update(batch, losses)

Modules: :mod:`hws.torch` for PyTorch's DataLoader, :mod:`hws.shared` for losses that several processes see,
:mod:`hws.nnunet`, :mod:`hws.monai` and :mod:`hws.lightning` for these frameworks, :mod:`hws.models` for the program's
networks, :mod:`hws.compat` for code written for the paper's package, :mod:`hws.telemetry` for logging.
"""

from ._first_losses import losses_of
from ._library import lib as _lib
from ._library import library_path
from .divergence import CustomDivergence, probabilities, robust_loss
from .errors import *  # noqa: F401,F403
from .errors import __all__ as _errors
from .sampler import Sampler

__version__: str = _lib.hws_version().decode()
__all__ = ["Sampler", "CustomDivergence", "probabilities", "robust_loss", "losses_of", "library_path", "__version__", *_errors]
