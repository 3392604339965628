"""hws evaluate and hws compare beside numpy and scipy. usage: test_evaluation.py HWS"""
import csv
import json
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
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
        scores["HD95"] = scores["ASSD"] = scores["NSD"] = np.nan
    elif not p.any() or not r.any():
        scores["HD95"] = scores["ASSD"] = np.linalg.norm(np.array(p.shape) * spacing)
        scores["NSD"] = 0
    else:
        sp, sr = surface(p), surface(r)
        there = ndimage.distance_transform_edt(~sr, sampling=spacing)[sp]
        back = ndimage.distance_transform_edt(~sp, sampling=spacing)[sr]
        scores["HD95"] = max(np.percentile(there, 95), np.percentile(back, 95))
        scores["ASSD"] = np.concatenate([there, back]).mean()
        scores["NSD"] = (np.concatenate([there, back]) <= 1.7).mean()
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
    assert len(rows) == 4 * 3 * len(REGIONS)
    for row in rows:
        cases = [c for c in expected if row["group"] == "all" or groups[c] == row["group"]]
        values = np.array([expected[c][row["label"]][row["metric"]] for c in cases], float)
        worst = np.nanmax if row["metric"] not in ("Dice", "NSD") else np.nanmin
        close(row["mean"], np.nanmean(values), row)
        close(row["std"], np.nanstd(values, ddof=1), row)
        close(row["median"], np.nanmedian(values), row)
        close(row["iqr"], np.subtract(*np.nanpercentile(values, [75, 25])), row)
        for percentile in (5, 10, 25, 75, 90, 95):
            close(row[f"p{percentile}"], np.nanpercentile(values, percentile), row)
        close(row["worst"], worst(values), row)
        close(expected[row["worst_case"]][row["label"]][row["metric"]], worst(values), row)
        assert int(row["missing"]) == np.isnan(values).sum()
        check_interval(row["ci_low"], row["ci_high"], values[~np.isnan(values)], row)


def bootstrap_places(n, resamples=10000, purpose=48):
    """The n places of each resample: Philox4x32-10 with seed 0, counter (block, 0, resample, purpose << 24), and the
    high half of word * n (the chance that a word is rejected is n / 2^64)."""
    low32, blocks = np.uint64(0xFFFFFFFF), (n + 1) // 2
    c = [np.broadcast_to(x, (resamples, blocks)).astype(np.uint64) for x in
         (np.arange(blocks)[None, :], np.zeros((1, 1)), np.arange(resamples)[:, None], np.full((1, 1), purpose << 24))]
    k0, k1 = 0, 0
    for _ in range(10):
        p0, p1 = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(p1 >> np.uint64(32)) ^ c[1] ^ np.uint64(k0), p1 & low32, (p0 >> np.uint64(32)) ^ c[3] ^ np.uint64(k1),
             p0 & low32]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    words = np.stack([c[0] | c[1] << np.uint64(32), c[2] | c[3] << np.uint64(32)], -1).reshape(resamples, -1)[:, :n]
    high, low, size = words >> np.uint64(32), words & low32, np.uint64(n)
    return ((high * size + (low * size >> np.uint64(32))) >> np.uint64(32)).astype(int)


def check_interval(low, high, numbers, row):
    if len(numbers) < 10:
        assert low == high == "nan", row
        return
    means = numbers[bootstrap_places(len(numbers))].mean(1)
    close(low, np.percentile(means, 2.5), row)
    close(high, np.percentile(means, 97.5), row)


def holm(p):
    """Of the tests that there are, by the definition."""
    p = np.array(p, float)
    order = np.argsort(p)[:np.isfinite(p).sum()]
    corrected = np.full(len(p), np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1)
    return corrected


def tolerance(values, lower_is_better):
    ordered = np.sort(values)[::-1] if lower_is_better else np.sort(values)
    ranks = [k for k in range(1, len(ordered) + 1) if stats.binom.sf(k - 1, len(ordered), 0.1) >= 0.95]
    return ordered[ranks[-1] - 1] if ranks else np.nan


def signed_rank_p(differences, statistic):
    """The exact p, also with ties, for which scipy has the normal approximation only: how often each sum of ranks occurs."""
    sums = Counter({0.0: 1})
    for rank in stats.rankdata(np.abs(differences)):
        sums += Counter({total + rank: ways for total, ways in sums.items()})
    return min(1, 2 * sum(ways for total, ways in sums.items() if total <= statistic) / 2 ** len(differences))


def check_test(row, differences):
    differences = differences[differences != 0]
    if len(differences) < 6:
        assert row["p"] == "nan", row
        return np.nan
    exact = len(differences) <= 50
    tied = len(np.unique(np.abs(differences))) < len(differences)
    test = stats.wilcoxon(differences, mode="exact" if exact and not tied else "approx")
    p = signed_rank_p(differences, test.statistic) if exact and tied else test.pvalue
    close(row["wilcoxon"], test.statistic, row)
    np.testing.assert_allclose(float(row["p"]), p, rtol=1e-7, err_msg=str(row))
    return p


def check_comparison(rows, results, groups, metric):
    """`results` is {method: {case: {region: {metric: value}}}}; the first method is what the others are held against."""
    methods, low = list(results), metric not in ("Dice", "IoU", "NSD")
    assert len(rows) % len(methods) == 0
    expected_p = []
    for row in rows:
        cases = [c for c in results[methods[0]] if row["group"] == "all" or groups[c] == row["group"]]
        values = np.array([[results[m][c][row["label"]][metric] for c in cases] for m in methods], float)
        complete = ~np.isnan(values).any(0)
        assert (int(row["cases"]), int(row["missing"])) == (complete.sum(), (~complete).sum())
        first, own = values[0, complete], values[methods.index(row["method"]), complete]
        close(row["mean"], own.mean(), row)
        close(row["std"], own.std(ddof=1), row)
        close(row["iqr"], np.subtract(*np.percentile(own, [75, 25])), row)
        for percentile in (5, 10, 25, 75, 90, 95):
            close(row[f"p{percentile}"], np.percentile(own, percentile), row)
        close(row["worst"], own.max() if low else own.min(), row)
        close(row["tolerance"], tolerance(own, low), row)
        check_interval(row["ci_low"], row["ci_high"], own, row)
        if row["method"] == methods[0]:
            assert row["difference"] == row["p_holm"] == ""
            expected_p.append(np.nan)
            continue
        close(row["difference"], (own - first).mean(), row)
        check_interval(row["difference_low"], row["difference_high"], own - first, row)
        expected_p.append(check_test(row, own - first))
    for row, corrected in zip(rows, holm(expected_p)):
        if row["method"] != methods[0]:
            np.testing.assert_allclose(float(row["p_holm"]), corrected, rtol=1e-7, err_msg=str(row))


cases = make_cases(61)
groups = {name: random.choice(["spina, bifida", "control"], p=[0.12, 0.88]) for name in cases}
with (folder / "groups.csv").open("w", newline="") as file:
    csv.writer(file).writerows([("case", "condition"), *groups.items()])
expected = {}
METHODS = ("erm", "dro", "cvar", "tail")
for method in METHODS:
    expected[method] = {}
    for name, (labels, affine, spacing) in cases.items():
        prediction = predict(labels)
        save(name, folder / method, prediction, affine)
        save(name, folder / "ref", labels, affine)
        expected[method][name] = {region: expected_scores(prediction, labels, spacing, members)
                                  for region, members in REGIONS.items()}
    hws("evaluate", "--pred", folder / method, "--ref", folder / "ref", "--groups", folder / "groups.csv", "--regions",
        "one=1,two=2,rare=4,all=1+2+4", "--hd95", "--surface", "--nsd", 1.7, "--out", folder / f"{method}_scores", "--quiet")
    check_summary(folder / f"{method}_scores/summary.json", expected[method])
    check_table(folder / f"{method}_scores/table.csv", expected[method], groups)
for metric in ("Dice", "IoU", "NSD", "HD95", "ASSD"):
    out = hws("compare", *(folder / f"{method}_scores" for method in METHODS), "--names", ",".join(METHODS), "--groups",
              folder / "groups.csv", "--metric", metric, "--format", "csv")
    rows = list(csv.DictReader(out.splitlines()))
    assert len(rows) == 3 * len(REGIONS) * len(METHODS)
    check_comparison(rows, expected, groups, metric)
print("evaluation and comparison of four methods agree with numpy and scipy")
