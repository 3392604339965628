"""python -m hws.nnunet: puts the trainers where nnU-Net finds them."""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from pathlib import Path
from typing import List

_FILE = "hws_trainer.py"
_OURS = Path(__file__).resolve().parent / "nnunet_trainers"


def _nnunet_folder() -> Path:
    spec = importlib.util.find_spec("nnunetv2")
    places = list(spec.submodule_search_locations or []) if spec is not None else []
    if not places:
        sys.exit("hws.nnunet: nnU-Net v2 is not installed in this Python (no package nnunetv2): install it first, or run "
                 "this with the Python that has it")
    return Path(places[0])


def _place(folder: Path) -> Path:
    variants = folder / "training" / "nnUNetTrainer" / "variants"
    if not variants.is_dir():
        sys.exit(f"hws.nnunet: {variants} does not exist: this is no nnU-Net v2.1 to v2.8")
    return variants / _FILE


def _knows_folders(folder: Path) -> bool:
    """Whether this nnU-Net looks for trainers in folders that an environment variable names."""
    paths = folder / "paths.py"
    return paths.is_file() and "nnUNet_extTrainer" in paths.read_text(encoding="utf-8")


def install(always: bool) -> None:
    """Puts a file of one line among nnU-Net's trainers, or says which variable does without."""
    folder = _nnunet_folder()
    target = _place(folder)
    if _knows_folders(folder) and not always:
        print("This nnU-Net looks for trainers in folders of yours; nothing needs to be installed:\n\n"
              f"    export nnUNet_extTrainer={_OURS}\n\n"
              "(To put a file among its own trainers instead: python -m hws.nnunet install --always)")
    else:
        try:
            target.write_bytes((_OURS / _FILE).read_bytes())
        except OSError as error:
            sys.exit(f"hws.nnunet: {target} cannot be written: {error.strerror}")
        print(f"Wrote {target}\nTo undo it: python -m hws.nnunet uninstall")
    print("Then:       nnUNetv2_train DATASET 3d_fullres 0 -tr nnUNetTrainerHWS")


def uninstall() -> None:
    """Takes the file away again."""
    target = _place(_nnunet_folder())
    if not target.exists():
        print(f"Nothing to undo: there is no {target}")
        return
    try:
        os.remove(target)
    except OSError as error:
        sys.exit(f"hws.nnunet: {target} cannot be removed: {error.strerror}")
    print(f"Removed {target}")


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m hws.nnunet",
                                     description="The trainers nnUNetTrainerHWS... for nnU-Net v2.")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("install", help="let nnU-Net find the trainers")
    command.add_argument("--always", action="store_true", help="write the file even where a variable would do")
    commands.add_parser("uninstall", help="undo that")
    options = parser.parse_args(arguments)
    if options.command == "install":
        install(options.always)
    else:
        uninstall()
    return 0
