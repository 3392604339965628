"""Lightning of a clone, which its tests run with: pytorch and fabric, without the apps that the whole package imports."""
import importlib
import importlib.machinery
import importlib.util
import sys
import types
from pathlib import Path

# What Debian's torch cannot import, and what only sharded training needs.
SHARDING = [f"torch.distributed.{name}" for name in (
    "_shard", "_shard.sharded_tensor", "_shard.sharded_tensor.metadata", "_shard.sharding_spec", "fsdp",
    "fsdp.sharded_grad_scaler", "fsdp.wrap", "fsdp.fully_sharded_data_parallel", "algorithms._checkpoint",
    "algorithms._checkpoint.checkpoint_wrapper")]


class StandIn(types.ModuleType):
    """A module in which every class is an empty one and every function does nothing."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {}) if name[0].isupper() else lambda *_, **__: None


def make_importable(folder):
    """Lets lightning.pytorch be imported if FOLDER holds clones of lightning (2.0), lightning-utilities and torchmetrics."""
    places = [Path(folder) / name / "src" for name in ("lightning", "lightning-utilities", "torchmetrics")]
    if not all(place.is_dir() for place in places):
        return
    sys.path[1:1] = [str(place) for place in places]
    spec = importlib.machinery.ModuleSpec("lightning", None, is_package=True)
    spec.submodule_search_locations.append(str(places[0] / "lightning"))
    sys.modules["lightning"] = importlib.util.module_from_spec(spec)
    sys.modules["lightning"].__version__ = (places[0] / "version.info").read_text().strip()
    for name in SHARDING:
        try:
            importlib.import_module(name)
        except (ImportError, ValueError):
            sys.modules[name] = StandIn(name)
