"""hws evaluate and hws compare beside numpy and scipy. usage: test_evaluation.py HWS"""
import csv
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import nibabel
import numpy as np
from scipy import ndimage, stats

program = sys.argv[1]
workspace = tempfile.TemporaryDirectory()
folder = Path(workspace.name)
random = np.random.default_rng(7)
REGIONS = {"one": (1,), "two": (2,), "rare": (4,), "all": (1, 2, 4)}
KEYS = {"one": "1", "two": "2", "rare": "4", "all": "(1, 2, 4)"}
warnings.simplefilter("ignore")


def hws(*arguments):
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


def blobs(shape):
    smooth = ndimage.gaussian_filter(random.normal(size=shape), 2)
    labels = np.zeros(shape, np.uint8)
    for label, share in ((1, 0.8), (2, 0.9)):
        labels[smooth > np.quantile(smooth, share)] = label
    if random.random() < 0.6:
        labels[tuple(random.integers(0, n) for n in shape)] = 4
    return labels


def make_cases(count):
    references = {}
    for which in range(count):
        shape = tuple(random.integers(8, 30, 3))
        spacing = random.uniform(0.5, 3, 3)
        references[f"case_{which:02d}"] = (blobs(shape), np.diag([*spacing, 1]), np.float32(spacing).astype(float))
    return references


def predict(labels):
    moved = ndimage.shift(labels, random.integers(0, 2, 3), order=0)
    moved[random.random(labels.shape) < 0.01] = 1
    if random.random() < 0.2:
        moved[moved == 2] = 0
    return moved


def save(name, where, labels, affine):
    where.mkdir(exist_ok=True)
    nibabel.save(nibabel.Nifti1Image(labels, affine), where / f"{name}.nii.gz")


def surface(mask):
    return mask & ~ndimage.binary_erosion(mask)


def expected_scores(prediction, reference, spacing, labels):
    p, r = np.isin(prediction, labels), np.isin(reference, labels)
    tp, fp, fn = (p & r).sum(), (p & ~r).sum(), (~p & r).sum()
    scores = {"TP": tp, "FP": fp, "FN": fn, "TN": (~p & ~r).sum(), "n_pred": p.sum(), "n_ref": r.sum()}
    scores["Dice"] = 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else np.nan
    scores["IoU"] = tp / (tp + fp + fn) if tp + fp + fn else np.nan
    if not p.any() and not r.any():
        scores["HD95"] = scores["ASSD"] = np.nan
    elif not p.any() or not r.any():
        scores["HD95"] = scores["ASSD"] = np.linalg.norm(np.array(p.shape) * spacing)
    else:
        sp, sr = surface(p), surface(r)
        there = ndimage.distance_transform_edt(~sr, sampling=spacing)[sp]
        back = ndimage.distance_transform_edt(~sp, sampling=spacing)[sr]
        scores["HD95"] = max(np.percentile(there, 95), np.percentile(back, 95))
        scores["ASSD"] = np.concatenate([there, back]).mean()
    return scores


def close(a, b, what):
    np.testing.assert_allclose(float(a), float(b), rtol=1e-9, atol=1e-9, err_msg=str(what))


def check_summary(path, expected):
    summary = json.loads(path.read_text())  # Python reads the word NaN, as nnU-Net does
    assert len(summary["metric_per_case"]) == len(expected)
    for case in summary["metric_per_case"]:
        name = Path(case["prediction_file"]).name[:-7]
        for region, key in KEYS.items():
            for metric, value in expected[name][region].items():
                close(case["metrics"][key][metric], value, (name, region, metric))
    means = []
    for region, key in KEYS.items():
        dice = [scores[region]["Dice"] for scores in expected.values()]
        close(summary["mean"][key]["Dice"], np.nanmean(dice), region)
        means.append(np.nanmean(dice))
    close(summary["foreground_mean"]["Dice"], np.mean(means), "foreground")


def check_table(path, expected, groups):
    rows = list(csv.DictReader(path.open()))
    assert len(rows) == 3 * 3 * len(REGIONS)
    for row in rows:
        cases = [c for c in expected if row["group"] == "all" or groups[c] == row["group"]]
        values = np.array([expected[c][row["label"]][row["metric"]] for c in cases], float)
        worst = np.nanmax if row["metric"] != "Dice" else np.nanmin
        close(row["mean"], np.nanmean(values), row)
        close(row["std"], np.nanstd(values), row)
        close(row["median"], np.nanmedian(values), row)
        close(row["iqr"], np.subtract(*np.nanpercentile(values, [75, 25])), row)
        for percentile in (5, 10, 25, 75, 90, 95):
            close(row[f"p{percentile}"], np.nanpercentile(values, percentile), row)
        close(row["worst"], worst(values), row)
        close(expected[row["worst_case"]][row["label"]][row["metric"]], worst(values), row)
        assert int(row["missing"]) == np.isnan(values).sum()
        numbers = values[~np.isnan(values)]
        means = random.choice(numbers, (4000, len(numbers))).mean(1)
        slack = 0.15 * (means.max() - means.min()) + 1e-12
        np.testing.assert_allclose([float(row["ci_low"]), float(row["ci_high"])], np.percentile(means, [2.5, 97.5]),
                                   atol=slack, err_msg=str(row))


def check_comparison(rows, first, second, groups, metric):
    for row in rows:
        cases = [c for c in first if row["group"] == "all" or groups[c] == row["group"]]
        a, b = (np.array([scores[c][row["label"]][metric] for c in cases], float) for scores in (first, second))
        close(row["a_p10"], np.nanpercentile(a, 10), row)
        close(row["b_mean"], np.nanmean(b), row)
        both = ~np.isnan(a) & ~np.isnan(b)
        differences = (b - a)[both]
        sizes = np.abs(differences)
        if not sizes.any():
            assert float(row["p"]) == 1
            continue
        exact = len(sizes) <= 50 and len(np.unique(sizes)) == len(sizes) and sizes.min() > 0
        test = stats.wilcoxon(differences, mode="exact" if exact else "approx")
        close(row["wilcoxon"], test.statistic, row)
        np.testing.assert_allclose(float(row["p"]), test.pvalue, rtol=1e-7, err_msg=str(row))
        assert int(row["missing"]) == (~both).sum()


cases = make_cases(61)
groups = {name: random.choice(["spina, bifida", "control"], p=[0.4, 0.6]) for name in cases}
with (folder / "groups.csv").open("w", newline="") as file:
    csv.writer(file).writerows([("case", "condition"), *groups.items()])
expected = {}
for method in ("erm", "dro"):
    expected[method] = {}
    for name, (labels, affine, spacing) in cases.items():
        prediction = predict(labels)
        save(name, folder / method, prediction, affine)
        save(name, folder / "ref", labels, affine)
        expected[method][name] = {region: expected_scores(prediction, labels, spacing, members)
                                  for region, members in REGIONS.items()}
    hws("evaluate", "--pred", folder / method, "--ref", folder / "ref", "--groups", folder / "groups.csv", "--regions",
        "one=1,two=2,rare=4,all=1+2+4", "--hd95", "--surface", "--out", folder / f"{method}_scores", "--quiet")
    check_summary(folder / f"{method}_scores/summary.json", expected[method])
    check_table(folder / f"{method}_scores/table.csv", expected[method], groups)
for metric in ("Dice", "IoU", "HD95", "ASSD"):
    out = hws("compare", folder / "erm_scores/summary.json", folder / "dro_scores/summary.json", "--groups",
              folder / "groups.csv", "--metric", metric, "--format", "csv")
    check_comparison(list(csv.DictReader(out.splitlines())), expected["erm"], expected["dro"], groups, metric)
print("evaluation and comparison agree with numpy and scipy")
