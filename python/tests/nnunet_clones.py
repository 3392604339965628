"""Clones of nnU-Net v2 and of what it needs, made importable for the scripts nnunet_*.py beside this one.

A folder of clones (make test-nnunet NNUNET=FOLDER) holds any of these; what is missing is said and skipped:

- nnUNet...: v2.1 to v2.8.1, several if you like. Their sources are held against what hws.nnunet relies on.
- batchgenerators (v0.25), dynamic-network-architectures (v0.2) and acvl_utils (v0.2), to run nnU-Net v2.1.
- nnUNet...-needs, to run a later version: batchgenerators, batchgeneratorsv2, dynamic-network-architectures and acvl_utils that go
  with it.
- MONAI (1.4) and ignite; lightning (2.0), lightning-utilities and torchmetrics.
"""
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PARTS = {"batchgenerators": "batchgenerators", "dynamic-network-architectures": "dynamic_network_architectures",
         "acvl_utils": "acvl_utils"}


def said(text):
    print(f"{Path(sys.argv[0]).stem}: {text}", flush=True)


def found(folder):
    """The clones of nnU-Net v2, by name."""
    clones = sorted(path for path in Path(folder).resolve().iterdir() if (path / "nnunetv2").is_dir())
    if not clones:
        sys.exit(f"{Path(sys.argv[0]).stem}: {folder} has no clone of nnU-Net v2")
    return clones


def version(clone):
    told = "".join((clone / name).read_text() for name in ("pyproject.toml", "setup.py") if (clone / name).is_file())
    return re.search(r"version\s*=\s*[\"']([^\"']+)[\"']", told).group(1)


def first_version(folder):
    """v2.1 with what it needs, as {package: folder}; where something is missing, None, and it is said."""
    packages = {package: Path(folder).resolve() / name / package for name, package in PARTS.items()}
    missing = [name for name, package in PARTS.items() if not packages[package].is_dir()]
    clones = [clone for clone in found(folder) if version(clone).startswith("2.1")]
    if missing or not clones:
        said(f"skipped: running nnU-Net v2.1, for want of {', '.join(missing) or 'nnU-Net v2.1'}")
        return None
    return {"nnunetv2": clones[0] / "nnunetv2", **packages}


def set_folders(scratch, packages, **others):
    """The environment of nnU-Net's processes: these packages, the checkout's hws, and nnU-Net's folders in SCRATCH."""
    python = Path(__file__).resolve().parents[1]
    os.environ.update(PYTHONPATH=f"{packages}{os.pathsep}{python}", nnUNet_raw=str(scratch / "raw"),
                      nnUNet_preprocessed=str(scratch / "preprocessed"), nnUNet_results=str(scratch / "results"),
                      OMP_NUM_THREADS="1", nnUNet_def_n_proc="2", nnUNet_n_proc_DA="2", **others)


def copy_packages(packages, home, stand_ins):
    """Copies, in which trainers can be installed, and modules of these names and texts beside them."""
    home.mkdir(parents=True)
    for package, source in packages.items():
        shutil.copytree(source, home / package)
    for name, text in stand_ins.items():
        (home / f"{name}.py").write_text(text)


def make_importable(packages, scratch):
    """v2.1, with empty modules for what NIfTI does not need."""
    copy_packages(packages, scratch / "packages", {"SimpleITK": "", "cc3d": ""})
    set_folders(scratch, scratch / "packages")


def run_step(script, step, *arguments, **environment):
    """A function step_NAME of a script, in a process of its own."""
    subprocess.run([sys.executable, script, "--step", step, *map(str, arguments)], check=True,
                   env={**os.environ, **{name: str(value) for name, value in environment.items()}})


def leave():
    """Ends this process at once, and the loader processes of nnU-Net, which would wait for ever and keep its output open."""
    for child in multiprocessing.active_children():
        child.kill()
    os._exit(0)
