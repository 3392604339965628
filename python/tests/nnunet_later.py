"""hws.nnunet inside versions of nnU-Net after v2.1: one short epoch each.

usage: nnunet_later.py FOLDER SCRATCH

SCRATCH is that of nnunet_peer.py, which has planned and preprocessed a data set with v2.1 there. FOLDER holds clones, and for
each version nnUNet-X beside it a folder nnUNet-X-needs with clones of batchgenerators, batchgeneratorsv2,
dynamic-network-architectures and acvl_utils that go with it. These versions ask for torch 2.1.2; here they run on the torch that
is there, with stand-ins for what only newer ones have, and for packages that this epoch does not need or that a few lines replace.
"""
import inspect
import shutil
import sys
import types
from pathlib import Path

from nnunet_clones import PARTS, copy_packages, found, run_step, said, set_folders, version

HERE = Path(__file__).resolve()
NEEDED = {**PARTS, "batchgeneratorsv2": "batchgeneratorsv2"}

STAND_INS = {
    "SimpleITK": "",
    "cc3d": "",
    # Named, not used: the files are .npz, as v2.1 writes them.
    "blosc2": "class ndarray:\n    class NDArray:\n        pass\nclass Codec:\n    LZ4HC = ZSTD = None\nclass Filter:\n    pass\n",
    "einops": "def rearrange(*_):\n    raise NotImplementedError\n",
    # The same sum without Fourier transforms.
    "fft_conv_pytorch": """
import torch.nn.functional as F

def fft_conv(signal, kernel, bias=None, **options):
    return getattr(F, f"conv{signal.ndim - 2}d")(signal, kernel, bias, **options)
""",
}

# Looking for a trainer imports all of them; these need timm, or a name that torch 1.13 lacks.
BEYOND = ("primus", "variants/lr_schedule")


def packages_of(clone):
    needs = clone.with_name(f"{clone.name}-needs")
    return {"nnunetv2": clone / "nnunetv2", **{package: needs / name / package for name, package in NEEDED.items()}}


def train(clone, scratch):
    packages = packages_of(clone)
    missing = sorted(name for name, path in packages.items() if not path.is_dir())
    if missing:
        said(f"skipped: training in {clone.name}, for want of {', '.join(missing)} in {clone.name}-needs")
        return
    home = scratch / f"packages-{version(clone)}"
    copy_packages(packages, home, STAND_INS)
    for place in BEYOND:
        shutil.rmtree(home / "nnunetv2" / "training" / "nnUNetTrainer" / place, ignore_errors=True)
    results = scratch / f"results-{version(clone)}"
    set_folders(scratch, home, nnUNet_extTrainer=str(HERE.parents[1] / "hws" / "nnunet_trainers"), nnUNet_compile="f")
    run_step(HERE, "train", nnUNet_results=results)
    fold = results / "Dataset004_Test" / "nnUNetTrainerHWS_warmup0__nnUNetPlans__3d_fullres" / "fold_0"
    log = max(fold.glob("training_log*")).read_text()
    table = (fold / "hardest_cases.csv").read_text().splitlines()
    assert "hws: beta" in log and (fold / "checkpoint_final.pth").is_file(), log
    assert sum(int(row.rsplit(",", 1)[1]) for row in table[1:]) > 0, table
    said(f"{clone.name} trained one epoch; its log: {log[log.index('hws: beta'):].splitlines()[0]}")


def complete_torch():
    """What torch 1.13 lacks and nnU-Net names: a class that nothing here is an instance of, and a newer name of another."""
    import torch

    dynamo = types.ModuleType("torch._dynamo")
    dynamo.OptimizedModule = type("OptimizedModule", (), {})
    sys.modules.setdefault("torch._dynamo", dynamo)
    if not hasattr(torch, "GradScaler"):
        torch.GradScaler = torch.cuda.amp.GradScaler
    return torch


def complete_acvl_utils():
    """nnU-Net v2.8 wants 0.2.6; in 0.2.5 an argument is missing that casts what is cut out before it is padded."""
    from acvl_utils.cropping_and_padding import bounding_boxes

    plain = getattr(bounding_boxes, "crop_and_pad_nd", None)
    if plain is None or "cast_cropped_to" in inspect.signature(plain).parameters:
        return

    def crop_and_pad_nd(image, *arguments, cast_cropped_to=None, **named):
        return plain(image if cast_cropped_to is None else image.astype(cast_cropped_to), *arguments, **named)

    bounding_boxes.crop_and_pad_nd = crop_and_pad_nd


def step_train():
    torch = complete_torch()
    complete_acvl_utils()
    from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer

    initialize = nnUNetTrainer.initialize

    def short(self):
        self.num_iterations_per_epoch, self.num_val_iterations_per_epoch, self.num_epochs = 6, 2, 1
        initialize(self)

    nnUNetTrainer.initialize, nnUNetTrainer.plot_network_architecture = short, lambda self: None
    nnUNetTrainer.perform_actual_validation = lambda self, *_: None
    if "nnUNet_extTrainer" not in Path(sys.modules["nnunetv2"].__path__[0], "paths.py").read_text():
        from hws._nnunet_install import main as install

        install(["install", "--always"])
    from nnunetv2.run.run_training import run_training

    torch.set_num_threads(1)
    run_training("4", "3d_fullres", 0, "nnUNetTrainerHWS_warmup0", device=torch.device("cpu"))


def main():
    folder, scratch = sys.argv[1:]
    for clone in found(folder):
        if not version(clone).startswith("2.1"):
            train(clone, Path(scratch).resolve() / "nnunet")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--step"]:
        globals()[f"step_{sys.argv[2]}"](*sys.argv[3:])
    else:
        main()
