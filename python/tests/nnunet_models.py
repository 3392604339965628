"""Models in nnU-Net and in hws: the same labels?

usage: nnunet_models.py FOLDER SCRATCH HWS                      networks that are trained here, on small synthetic volumes
       nnunet_models.py FOLDER SCRATCH HWS MODEL IMAGES...      a run of hws or a model folder of nnU-Net, and folders of images

FOLDER holds clones (nnunet_clones.py), SCRATCH is a new folder, HWS the program. nnU-Net v2.1 loads what `hws export nnunet`
wrote, saves it again with its own trainer, and predicts with it on the CPU; `hws import nnunet` reads nnU-Net's file, and `hws
predict` predicts. nnU-Net adds up the scores of its windows in half precision; it runs once as it is, and once with that made
single precision. The differing labels of both are counted; with a MODEL the programs are timed as well, one after the other, with
the same number of threads (THREADS, 1).
"""
import itertools
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from nnunet_clones import first_version, make_importable, run_step, said

HERE = Path(__file__).resolve()
THREADS = os.environ.get("THREADS", "1")
ROUNDING = 2e-4  # of all voxels: where the scores of two labels are as good as equal, either may win


class Clock:
    """Seconds, and those of processors, which count for more where other work is going on."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return time.perf_counter(), sum(usage.ru_utime + usage.ru_stime for usage in used)

    def read(self):
        return [now - start for now, start in zip(self.now(), self.start)]


# ---- nnU-Net, in processes of their own -----------------------------------------------------------------------------------


def step_save_again(model, fold, file):
    """A checkpoint as nnU-Net's trainer writes it, with all that it puts there."""
    import torch
    from nnunetv2.training.nnUNetTrainer.nnUNetTrainer import nnUNetTrainer

    given = torch.load(file, map_location="cpu")
    plans, dataset = (json.loads((Path(model) / name).read_text()) for name in ("plans.json", "dataset.json"))
    trainer = nnUNetTrainer(plans, given["init_args"]["configuration"], int(fold), dataset, device=torch.device("cpu"))
    trainer.initialize()
    trainer.network.load_state_dict(given["network_weights"])
    trainer.inference_allowed_mirroring_axes = given["inference_allowed_mirroring_axes"]
    trainer.save_checkpoint(file)


def use_single_precision():
    """Where nnU-Net adds windows up: torch.half and Tensor.half give single precision."""
    import numpy as np
    import torch
    from nnunetv2.inference import predict_from_raw_data, sliding_window_prediction

    class Torch:
        half = torch.float32

        def __getattr__(self, name):
            return getattr(torch, name)

    weights = sliding_window_prediction.compute_gaussian
    sliding_window_prediction.torch = Torch()
    predict_from_raw_data.compute_gaussian = lambda size: weights(size, dtype=np.float32)
    torch.Tensor.half = torch.Tensor.float


def save_in_threads():
    """nnU-Net starts processes to save its labels, each of which imports everything: seconds that small volumes do not need."""
    import types
    from multiprocessing.pool import ThreadPool

    from nnunetv2.inference import predict_from_raw_data

    predict_from_raw_data.multiprocessing = types.SimpleNamespace(get_context=lambda _: types.SimpleNamespace(Pool=ThreadPool))


def order_spacings():
    """v2.1 resamples its scores by spacings in the order of the files' axes, where it has moved a thick axis to the front as well;
    v2.5 and later put them in the order of the moved axes, and so does hws."""
    from nnunetv2.inference import predict_from_raw_data

    export = predict_from_raw_data.export_prediction_from_softmax

    def export_in_order(scores, properties, configuration, plans, *rest):
        spacing = [properties["spacing"][axis] for axis in plans.transpose_forward]
        return export(scores, {**properties, "spacing": spacing}, configuration, plans, *rest)

    predict_from_raw_data.export_prediction_from_softmax = export_in_order


def step_predict(model, folds, how, scratch, *images):
    """To SCRATCH/IMAGES/half and .../single, and there what they took; HOW is "timed", or quick."""
    import torch
    from nnunetv2.inference.predict_from_raw_data import predict_from_raw_data

    torch.set_num_threads(int(THREADS))
    if how != "timed":
        save_in_threads()
        order_spacings()
    for precision in ("half", "single"):
        if precision == "single":
            use_single_precision()
        for where in map(Path, images):
            output, clock = Path(scratch) / where.name / precision, Clock()
            predict_from_raw_data(str(where), str(output), model, [int(fold) for fold in folds.split(",")], verbose=False,
                                  num_processes_preprocessing=1, num_processes_segmentation_export=1,
                                  device=torch.device("cpu"))
            (output / "seconds.json").write_text(json.dumps(clock.read()))


# ---- both beside each other ------------------------------------------------------------------------------------------------


def hws(*words):
    subprocess.run([PROGRAM, *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def labels(path):
    import nibabel
    import numpy as np

    return np.asarray(nibabel.load(path).dataobj)


def differing(ours, theirs):
    """Voxels, those that differ, and the labels of theirs."""
    voxels, different, seen = 0, 0, set()
    names = sorted(path.name for path in ours.glob("*.nii.gz"))
    assert names and names == sorted(path.name for path in theirs.glob("*.nii.gz")), (names, theirs)
    for name in names:
        a, b = labels(ours / name), labels(theirs / name)
        assert a.shape == b.shape, name
        voxels, different = voxels + a.size, different + int((a != b).sum())
        seen |= set(b.ravel().tolist())
    return voxels, different, seen


def wanted_labels(model):
    values = json.loads((model / "dataset.json").read_text())["labels"].values()
    return {value for value in values if isinstance(value, int)} | \
        {one for value in values if isinstance(value, list) for one in value}


def as_model_folder(model, scratch):
    """A folder of nnU-Net's whose checkpoints nnU-Net has written, and its folds."""
    if not (model[0] / "dataset.json").is_file():
        hws("export", "nnunet", *model, "--out", scratch / "model")
        for fold, _ in enumerate(model):
            run_step(HERE, "save_again", scratch / "model", fold, scratch / "model" / f"fold_{fold}" / "checkpoint_final.pth")
        return scratch / "model", list(range(len(model)))
    return model[0], [int(path.parent.name[5:]) for path in sorted(model[0].glob("fold_[0-9]*/checkpoint_final.pth"))]


def compare(what, model, images, scratch, how="quick"):
    """Predicts with both, says how they differ and how long it took if that is asked for, and refuses more than rounding."""
    scratch.mkdir(parents=True)
    folder, folds = as_model_folder(model, scratch)
    hws("import", "nnunet", folder, "--out", scratch / "imported")
    runs = sorted((scratch / "imported").glob("fold_*")) or [scratch / "imported"]
    clock = Clock()
    for where in images:
        hws("predict", *runs, "--input", where, "--output", scratch / where.name / "hws", "--threads", THREADS, "--quiet")
    ours = clock.read()
    run_step(HERE, "predict", folder, ",".join(map(str, folds)), how, scratch, *images, OMP_NUM_THREADS=THREADS)
    for where in images:
        missing = count(f"{what}, {where.name}", scratch / where.name, wanted_labels(folder))
        assert how == "timed" or not missing, what  # how well another's model was trained is not ours to say
    if how == "timed":
        times = [json.loads((scratch / where.name / "half" / "seconds.json").read_text()) for where in images]
        theirs = [sum(column) for column in zip(*times)]
        for name, own, other in zip(("s", "s of processors"), ours, theirs):
            said(f"{what}: hws predict {own:.1f} {name}, nnU-Net {other:.1f} without its start, {other / own:.1f} times as much")


def count(name, scratch, wanted):
    voxels, single, _ = differing(scratch / "hws", scratch / "single")
    _, half, seen = differing(scratch / "hws", scratch / "half")
    _, own, _ = differing(scratch / "single", scratch / "half")
    said(f"{name}: of {voxels} voxels {single} differ from nnU-Net in single precision and {half} from nnU-Net as it is, "
         f"whose two precisions differ in {own}; labels {sorted(seen)}")
    if wanted - seen:
        said(f"{name}: no voxel has the labels {sorted(wanted - seen)}")
    assert single <= ROUNDING * voxels and half <= own + ROUNDING * voxels, name
    return wanted - seen


# ---- volumes and networks of our own ------------------------------------------------------------------------------------------


def make_volumes(folder, spacing, cases=8, tests=2):
    """Noisy ellipsoids around one another, of a size in mm, on grids of these spacings."""
    import nibabel
    import numpy as np

    rng, spacing = np.random.default_rng(0), np.asarray(spacing, float)
    for part in ("imagesTr", "labelsTr", "imagesTs"):
        (folder / part).mkdir(parents=True)
    shape = np.maximum(np.round(np.array([150, 180, 165]) / spacing), 8).astype(int)
    for case in range(cases + tests):
        centre, radii = shape * spacing * rng.uniform(0.42, 0.58, 3), rng.uniform(45, 60, 3)
        away = np.stack(np.meshgrid(*(np.arange(n) * s - c for n, s, c in zip(shape, spacing, centre)), indexing="ij"), -1)
        radius = np.sqrt(((away / radii) ** 2).sum(-1))
        label = ((radius < 1).astype(np.uint8) + (radius < 0.75) + (radius < 0.45)).astype(np.uint8)
        image = (label * 100 + rng.normal(500, 60, label.shape)).astype(np.float32)
        name, affine = f"case_{case:02d}", np.diag([*spacing, 1.0])
        where = folder / ("imagesTr" if case < cases else "imagesTs")
        nibabel.save(nibabel.Nifti1Image(image, affine), where / f"{name}_0000.nii.gz")
        if case < cases:
            nibabel.save(nibabel.Nifti1Image(label, affine), folder / "labelsTr" / f"{name}.nii.gz")
    (folder / "dataset.json").write_text(json.dumps({
        "channel_names": {"0": "MRI"}, "labels": {"background": 0, "shell": 1, "middle": 2, "core": 3},
        "numTraining": cases, "file_ending": ".nii.gz"}))


def respaced(source, target, spacing):
    """The same voxels with another spacing in the header."""
    import nibabel
    import numpy as np

    target.mkdir(parents=True)
    for path in sorted(source.glob("*.nii.gz")):
        voxels = np.asarray(nibabel.load(path).dataobj)
        nibabel.save(nibabel.Nifti1Image(voxels, np.diag([*spacing, 1.0])), target / path.name)


def train(data, out, model="unet", fold="all"):
    """A run with a quarter of the features that are planned, so that it can be trained here until it shows all labels."""
    cache = Path(f"{out}-cache")
    hws("plan", data, "--out", cache, "--model", model, "--threads", THREADS, "--quiet")
    file = cache / ("plans.json" if model == "unet" else f"plans-{model}.json")
    plan = json.loads(file.read_text())
    for stage in plan["stages"]:
        stage["features"] = min(stage["features"] // 4, 32)
    file.write_text(json.dumps(plan))
    hws("train", data, "--cache", cache, "--model", model, "--fold", fold, "--objective", "erm", "--optimizer", "adam",
        "--lr", 0.005, "--iterations", 60, "--epoch-length", 60, "--batch", 2, "--threads", THREADS, "--quiet", "--out", out)
    return out


def own_models(scratch):
    data, other = scratch / "isotropic", scratch / "isotropic" / "resampled"
    make_volumes(data, (6, 6, 6))
    respaced(data / "imagesTs", other, (5.1, 6.7, 7.4))
    images = [data / "imagesTs", other]
    yield "isotropic", [train(data, scratch / "unet")], images
    yield "two folds", [scratch / "unet", train(data, scratch / "second", fold=1)], images[:1]
    yield "residual encoder", [train(data, scratch / "resenc", "resenc-m")], images[:1]
    yield "slices", [train(data, scratch / "slices", "unet-2d")], images
    # Thick slices along each axis of the files: nnU-Net resamples across them separately, and makes theirs its first axis.
    for axis in range(3):
        data, spacing, changed = scratch / f"thick{axis}", [6.0] * 3, [5.3, 6.4, 6.9]
        spacing[axis], changed[axis] = 20.0, 17.0
        make_volumes(data, spacing)
        respaced(data / "imagesTs", data / "resampled", changed)
        model = train(data, scratch / f"anisotropic{axis}")
        yield f"anisotropic along axis {axis}", [model], [data / "imagesTs", data / "resampled"]
    images = [scratch / "thick1" / "imagesTs", scratch / "thick1" / "resampled"]
    yield "slices across axis 1", [train(scratch / "thick1", scratch / "thick-slices", "unet-2d")], images


def main():
    global PROGRAM
    folder, scratch, PROGRAM, *given = sys.argv[1:]
    scratch = Path(scratch).resolve()
    packages = first_version(folder)
    if packages is None:
        return
    make_importable(packages, scratch / "nnunet")
    if given:
        model, *images = (Path(path).resolve() for path in given)
        compare(model.name, [model], images, scratch / "compared", "timed")
        return
    number = itertools.count()
    for what, model, images in own_models(scratch / "own"):
        compare(what, model, images, scratch / f"compared{next(number)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--step"]:
        globals()[f"step_{sys.argv[2]}"](*sys.argv[3:])
    else:
        main()
