"""hws.nnunet inside nnU-Net itself.

usage: nnunet_peer.py FOLDER SCRATCH [DATASET]

FOLDER holds clones (nnunet_clones.py). Trains nnU-Net v2.1 on the CPU: on small volumes made here, or on a DATASET folder in
nnU-Net's layout. Of every version the source is held against what hws.nnunet relies on.
"""
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from nnunet_clones import first_version, found, leave, make_importable, run_step, said

HERE = Path(__file__).resolve()
ITERATIONS, VALIDATIONS = 6, 2


# ---- every version: what hws.nnunet relies on -----------------------------------------------------------------------------


def functions(path, kind):
    tree = ast.parse(path.read_text())
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == kind:
            return {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
    raise AssertionError(f"{path} has no class {kind}")


def check_source(clone):
    root = clone / "nnunetv2" / "training"
    found = functions(root / "nnUNetTrainer" / "nnUNetTrainer.py", "nnUNetTrainer")
    arguments = {name: [argument.arg for argument in node.args.args][1:] for name, node in found.items()}
    for name, wanted in {"initialize": [], "_build_loss": [], "get_tr_and_val_datasets": [], "get_dataloaders": [],
                         "on_train_epoch_start": [], "train_step": ["batch"], "on_train_epoch_end": ["train_outputs"],
                         "save_checkpoint": ["filename"], "load_checkpoint": ["filename_or_checkpoint"]}.items():
        assert arguments.get(name) == wanted, (clone.name, name, arguments.get(name))
    text = {name: ast.unparse(node) for name, node in found.items()}
    loaders = set(re.findall(r"nnUNetDataLoader\w*", (text["get_dataloaders"] + text.get("get_plain_dataloaders", ""))))
    assert loaders, "no loader is made where hws.nnunet looks"
    assert "get_tr_and_val_datasets()" in text["get_dataloaders"] + text.get("get_plain_dataloaders", "")
    assert "self.loss(output, target)" in text["train_step"] and "'loss'" in text["train_step"]
    assert "self.loss(output, target)" in text["validation_step"] and "self._build_loss()" in text["initialize"]
    assert "'trainer_name'" in text["save_checkpoint"] and "torch.save(checkpoint, filename)" in text["save_checkpoint"]
    for name in ("self.output_folder", "self.local_rank", "self.is_ddp", "self.num_epochs", "self.current_epoch",
                 "self.disable_checkpointing"):
        assert name in text["__init__"], name
    loading = "\n".join(path.read_text() for path in (root / "dataloading").glob("*.py"))
    assert "selected_keys = self.get_indices()" in loading and "'keys': selected_keys" in loading
    assert "self.indices = data.identifiers" in loading or "self.indices = list(data.keys())" in loading
    losses = "\n".join(path.read_text() for path in (root / "loss").glob("*.py"))
    assert "self.batch_dice = batch_dice" in losses and "self.ddp = ddp" in losses
    said(f"{clone.name}: its source has what hws.nnunet relies on (loaders {', '.join(sorted(loaders))})")


# ---- v2.1 for real ----------------------------------------------------------------------------------------------------------


def make_volumes(folder, regions=False):
    import nibabel
    import numpy as np

    rng = np.random.default_rng(0)
    for part in ("imagesTr", "labelsTr", "imagesTs"):
        (folder / part).mkdir(parents=True)
    for case in range(12):
        label = np.zeros((24, 24, 24), np.uint8)
        centre = rng.integers(8, 16, 3)
        label[tuple(slice(c - 4, c + 4) for c in centre)] = 1
        if regions:
            label[tuple(slice(c - 2, c + 2) for c in centre)] = 2
        image = (label * 2 + rng.normal(0, 0.5, label.shape)).astype(np.float32)
        name = f"case_{case:02d}"
        test = case >= 10
        nibabel.save(nibabel.Nifti1Image(image, np.eye(4)), folder / ("imagesTs" if test else "imagesTr") / f"{name}_0000.nii.gz")
        if not test:
            nibabel.save(nibabel.Nifti1Image(label, np.eye(4)), folder / "labelsTr" / f"{name}.nii.gz")
    labels = {"labels": {"background": 0, "box": 1}}
    if regions:
        labels = {"labels": {"background": 0, "box": [1, 2], "core": [2]}, "regions_class_order": [1, 2]}
    describe(folder, {"channel_names": {"0": "MRI"}, "file_ending": ".nii.gz", **labels})


def describe(folder, contents):
    contents = {**contents, "numTraining": len(list((folder / "labelsTr").iterdir())),
                "overwrite_image_reader_writer": "NibabelIO"}
    (folder / "dataset.json").write_text(json.dumps(contents))


def copy_dataset(source, folder, cases=24, tests=2):
    source = Path(source)
    for part in ("imagesTr", "labelsTr", "imagesTs"):
        (folder / part).mkdir(parents=True)
    names = sorted(path.name[:-len(".nii.gz")] for path in (source / "labelsTr").glob("*.nii.gz"))
    for name in names[:cases]:
        shutil.copy(source / "labelsTr" / f"{name}.nii.gz", folder / "labelsTr")
    for name in names[:cases] + names[-tests:]:
        for path in (source / "imagesTr").glob(f"{name}_*.nii.gz"):
            shutil.copy(path, folder / ("imagesTr" if name in names[:cases] else "imagesTs"))
    describe(folder, json.loads((source / "dataset.json").read_text()))


def run(step, *arguments, **environment):
    run_step(HERE, step, *arguments, **environment)


def train_for_real(scratch):
    results = scratch / "results" / "Dataset004_Test" / "nnUNetTrainerHWS_warmup0__nnUNetPlans__3d_fullres"
    subprocess.run([sys.executable, "-m", "hws.nnunet", "install", "--always"], check=True)
    run("plan", 4, "3d_fullres")
    run("same_losses", nnUNet_n_proc_DA="0")
    run("draws")
    run("overhead", nnUNet_n_proc_DA="0")
    run("train", "nnUNetTrainerHWS_warmup0", 2, "")
    log = newest_log(results)
    assert log.count("hws: beta") == 2, log
    shutil.move(results / "fold_0" / "saved_latest.pth", results / "fold_0" / "checkpoint_latest.pth")
    (results / "fold_0" / "checkpoint_final.pth").unlink()
    run("train", "nnUNetTrainerHWS_warmup0", 3, "continue")
    log = newest_log(results)
    # checkpoint_latest was written after epoch 0; the visits of that epoch are counted on.
    assert "Epoch 1" in log and "Epoch 2" in log and "Epoch 0" not in log, log
    visits = sum(int(line.rsplit(",", 1)[1]) for line in (results / "fold_0" / "hardest_cases.csv").read_text().splitlines()[1:])
    assert visits == 3 * ITERATIONS * batch_size(scratch), visits
    run("train", "nnUNetTrainerHWS_warmup0", 3, "validate")
    train_regions_in_2d(scratch)
    subprocess.run([sys.executable, "-m", "hws.nnunet", "uninstall"], check=True)
    run("predict", scratch / "raw" / "Dataset004_Test" / "imagesTs", scratch / "predicted", results)
    assert len(list((scratch / "predicted").glob("*.nii.gz"))) == 2
    said("v2.1 trained, resumed, validated; without the trainer, plain nnU-Net predicted with its checkpoint")


def train_regions_in_2d(scratch):
    make_volumes(scratch / "raw" / "Dataset005_Regions", regions=True)
    run("plan", 5, "2d")
    run("train", "nnUNetTrainerHWS_warmup0", 1, "", 5, "2d")
    fold = scratch / "results" / "Dataset005_Regions" / "nnUNetTrainerHWS_warmup0__nnUNetPlans__2d" / "fold_0"
    assert "hws: beta" in newest_log(fold.parent) and (fold / "checkpoint_final.pth").is_file()
    said("v2.1 trained on regions in 2D, and validated")


def newest_log(results):
    return max((results / "fold_0").glob("training_log*"), key=os.path.getmtime).read_text()


def batch_size(scratch):
    plans = json.loads((scratch / "preprocessed" / "Dataset004_Test" / "nnUNetPlans.json").read_text())
    return plans["configurations"]["3d_fullres"]["batch_size"]


# ---- steps, each in a process of its own ---------------------------------------------------------------------------------------


def short(epochs):
    """nnU-Net's trainer with few iterations, and a validation that works on the CPU."""
    from nnunetv2.training.nnUNetTrainer import nnUNetTrainer as module

    kind, sliding = module.nnUNetTrainer, module.predict_sliding_window_return_logits
    initialize, save = kind.initialize, kind.save_checkpoint

    def few(self):
        self.num_iterations_per_epoch, self.num_val_iterations_per_epoch = ITERATIONS, VALIDATIONS
        self.num_epochs, self.save_every = epochs, 1
        initialize(self)

    def on_the_cpu(*arguments, **named):
        return sliding(*arguments, **{**named, "perform_everything_on_gpu": False})

    kind.initialize, kind.plot_network_architecture = few, lambda self: None
    module.predict_sliding_window_return_logits = on_the_cpu
    return module


def opened(name, epochs=1):
    import torch

    short(epochs)
    from nnunetv2.run.run_training import get_trainer_from_args

    torch.set_num_threads(1)
    trainer = get_trainer_from_args("4", "3d_fullres", 0, name, device=torch.device("cpu"))
    trainer.initialize()
    trainer.set_deep_supervision_enabled(True)
    from nnunetv2.training.dataloading.utils import unpack_dataset
    unpack_dataset(trainer.preprocessed_dataset_folder, unpack_segmentation=True, overwrite_existing=False, num_processes=1)
    return trainer


def step_plan(dataset, configuration):
    from nnunetv2.experiment_planning.plan_and_preprocess_entrypoints import plan_and_preprocess_entry

    sys.argv = ["plan", "-d", dataset, "-c", configuration, "-np", "2"]
    plan_and_preprocess_entry()


def seeded_steps(trainer, count=3):
    import numpy as np
    import torch

    torch.manual_seed(5)
    for module in trainer.network.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
    trainer.network.train()
    loader, _ = trainer.get_dataloaders()
    np.random.seed(7)
    random.seed(7)
    keys, losses = [], []
    for _ in range(count):
        batch = next(loader)
        keys.append([str(key) for key in batch["keys"]])
        losses.append(float(trainer.train_step(batch)["loss"]))
    return keys, losses


def step_same_losses():
    """With a tail of all cases the draws are uniform, and the losses are plain nnU-Net's for the same draws."""
    import numpy as np
    from batchgenerators.dataloading.data_loader import DataLoader

    robust = opened("nnUNetTrainerHWS_tail100_warmup0")
    keys, losses = seeded_steps(robust)
    shared = robust.hws_shared
    shared.set_losses(np.linspace(0, 1, len(shared)))
    assert np.ptp(shared.probabilities()) < 1e-9
    plain, replay = opened("nnUNetTrainer"), iter(keys)
    DataLoader.get_indices = lambda self: next(replay)
    _, expected = seeded_steps(plain)
    np.testing.assert_allclose(losses, expected, rtol=2e-5)
    said(f"tail 1: losses {losses}, plain nnU-Net's {expected}")


def step_draws():
    """Two loader processes of nnU-Net's draw by the shared losses: chi-square over the cases."""
    import numpy as np

    sys.path.insert(0, str(HERE.parent))
    from scipy_free import chi_square_p

    trainer = opened("nnUNetTrainerHWS_beta2_warmup0")
    trainer.batch_size = 1
    opening = trainer._hws_open

    def with_losses(names):
        opening(names)
        trainer.hws_shared.set_losses(np.linspace(0, 1, len(names)))

    trainer._hws_open = with_losses
    loader, _ = trainer.get_dataloaders()
    counts = np.zeros(len(trainer.hws_cases))
    for _ in range(800):
        counts[trainer._hws_place[str(next(loader)["keys"][0])]] += 1
    p = chi_square_p(counts, trainer.hws_shared.probabilities())
    uniform = chi_square_p(counts, np.full(len(counts), 1 / len(counts)))
    said(f"800 draws: chi-square p {p:.3f} for the shared losses, {uniform:.1e} for uniform draws")
    assert p > 1e-6 > uniform
    leave()


def step_overhead():
    """The CPU time of our code in an iteration: drawing, finding the cases, learning from their losses."""
    trainer = opened("nnUNetTrainerHWS_tail20_warmup0")
    loader, _ = trainer.get_dataloaders()
    trainer.network.train()
    ours = [0.0]

    def timed(function):
        def call(*arguments, **named):
            start = time.process_time()
            try:
                return function(*arguments, **named)
            finally:
                ours[0] += time.process_time() - start
        return call

    trainer._hws_learner.step = timed(trainer._hws_learner.step)
    source = trainer._hws_training._hws_source
    source.draw = timed(source.draw)
    trainer.train_step(next(loader))
    ours[0], start = 0.0, time.process_time()
    for _ in range(5):
        trainer.train_step(next(loader))
    whole = time.process_time() - start
    said(f"overhead: {ours[0] / 5 * 1e6:.0f} us of {whole / 5 * 1e3:.0f} ms per iteration, {ours[0] / whole:.3%}")
    assert ours[0] < 0.005 * whole


def step_train(name, epochs, how, dataset="4", configuration="3d_fullres"):
    import torch

    module = short(int(epochs))
    saving = module.nnUNetTrainer.on_epoch_end

    def keep_latest(self):
        saving(self)
        latest = Path(self.output_folder) / "checkpoint_latest.pth"
        if latest.exists():  # on_train_end removes it
            shutil.copy(latest, latest.with_name("saved_latest.pth"))

    module.nnUNetTrainer.on_epoch_end = keep_latest
    from nnunetv2.run.run_training import run_training

    run_training(dataset, configuration, 0, name, continue_training=how == "continue", only_run_validation=how == "validate",
                 device=torch.device("cpu"))


def step_predict(images, output, model):
    from nnunetv2.inference.predict_from_raw_data import predict_entry_point_modelfolder

    sys.argv = ["predict", "-i", images, "-o", output, "-m", model, "-f", "0", "-device", "cpu", "--disable_tta", "-npp", "1",
                "-nps", "1"]
    predict_entry_point_modelfolder()


def main():
    folder, scratch, *dataset = sys.argv[1:]
    for clone in found(folder):
        check_source(clone)
    packages, scratch = first_version(folder), Path(scratch).resolve() / "nnunet"
    if packages is None:
        return
    make_importable(packages, scratch)
    data = scratch / "raw" / "Dataset004_Test"
    copy_dataset(dataset[0], data) if dataset else make_volumes(data)
    train_for_real(scratch)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--step"]:
        globals()[f"step_{sys.argv[2]}"](*sys.argv[3:])
    else:
        main()
