"""Tiny pieces of work for every verb: what goes in, the command, and how somebody goes on after a failure.

A workload's folder is made anew for every fault from a template; what is read is made once. `hws fetch` is not among them: it
knows the checksums of MNIST alone, which is not here, and other programs bring it (cli/fetch fakes them).
"""
import csv
import filecmp
import os
import re
import shutil
import struct
import subprocess
import zlib

SMALL = "--model mlp-1-4 --batch 8 --threads 1 --loaders 0 --quiet".split()
DATA = "digits:24,12"
SMALL_VOLUMES = "--epoch-length 1 --schedule constant --warm-up 0 --threads 1 --loaders 0 --quiet".split()
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"}


class Workload:
    """`template` holds what is there before; {out} in the command is the folder that it is copied to."""

    def __init__(self, name, command, template=None, again=None, anew=False):
        self.name, self.command, self.template = name, command, template
        self.again = again or (lambda out: command)  # what somebody types after a failure
        self.anew = anew  # the verb asks for a new folder: what a killed one left is removed first


def run(program, command, out, environment=None, **options):
    words = [word.replace("{out}", out) for word in command]
    return subprocess.run([program, *words], capture_output=True, env={**ENVIRONMENT, **(environment or {})}, check=False,
                          **options)


def checked(program, *words):
    done = subprocess.run([program, *words], capture_output=True, env=ENVIRONMENT, check=False)
    if done.returncode != 0:
        raise SystemExit(f"hws {' '.join(words)}: {done.stderr.decode()}")


def write_picture(path, seed, size=8):
    """A grey PNG."""
    rows = b"".join(b"\0" + bytes((seed * 37 + 5 * y + 11 * x) % 256 for x in range(size)) for y in range(size))
    chunk = lambda name, bytes_: struct.pack(">I", len(bytes_)) + name + bytes_ + struct.pack(">I", zlib.crc32(name + bytes_))
    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def make_pictures(folder):
    for name in "ab":
        os.makedirs(os.path.join(folder, name))
        for k in range(6):
            write_picture(os.path.join(folder, name, f"{k}.png"), 2 * k + (name == "b"))


def make_inputs(program, work):
    """Everything that the workloads read."""
    at = lambda name: os.path.join(work, name)
    checked(program, "train", DATA, *SMALL, "--epochs", "2", "--out", at("run/run"))
    checked(program, "train", DATA, *SMALL, "--epochs", "1", "--out", at("begun/run"))
    os.makedirs(at("digits"))
    with open(at("digits/x-images-idx3-ubyte"), "wb") as file:
        file.write(bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28]) + bytes(1568))
    make_pictures(at("pictures"))
    checked(program, "train", at("pictures"), *SMALL, "--epochs", "1", "--out", at("seen"))
    checked(program, "phantom", "--out", at("heads"), "--cases", "5", "--test", "2", "--size", "16,20,16", "--spacing", "8",
            "--threads", "1")
    checked(program, "plan", at("heads"), "--out", at("cache"), "--threads", "1", "--quiet")
    checked(program, "train", at("heads"), "--cache", at("cache"), "--iterations", "1", "--threads", "1", "--quiet", "--out",
            at("volumes"))
    checked(program, "export", "nnunet", at("volumes"), "--out", at("model"), "--quiet")
    checked(program, "phantom", "--out", at("tiny"), "--cases", "5", "--size", "8,8,8", "--spacing", "16", "--threads", "1")
    checked(program, "plan", at("tiny"), "--out", at("tiny-cache"), "--threads", "1", "--quiet")
    checked(program, "train", at("tiny"), "--cache", at("tiny-cache"), *SMALL_VOLUMES, "--epochs", "1", "--out",
            at("begun-volumes/run"))
    shutil.copytree(at("begun-volumes"), at("scored-volumes"))
    checked(program, "evaluate", at("scored-volumes/run"), "--weights", "latest", "--threads", "1")
    for name in ("first", "second"):
        checked(program, "evaluate", "--pred", at("heads/labelsTs"), "--ref", at("heads/labelsTs"), "--threads", "1", "--out",
                at(name))
    damaged = at("damaged/cache")
    shutil.copytree(at("cache"), damaged)
    with open(os.path.join(damaged, "cases/phantom_002.hwscase"), "r+b") as file:
        file.seek(5000)
        byte = file.read(1)[0]
        file.seek(5000)
        file.write(bytes([255 - byte]))


def workloads(work):
    at = lambda name: os.path.join(work, name)
    begin = ["train", DATA, *SMALL, "--epochs", "2", "--out", "{out}/run"]
    begin_volumes = ["train", at("tiny"), "--cache", at("tiny-cache"), *SMALL_VOLUMES, "--epochs", "1", "--out", "{out}/run"]
    resume = ["train", "--resume", "--epochs", "2", "--threads", "1", "--quiet", "--out", "{out}/run"]
    finish = ["train", "--resume", "--threads", "1", "--quiet", "--out", "{out}/run"]
    begun = lambda out: os.path.exists(os.path.join(out, "run/config.json"))
    plan = ["plan", at("heads"), "--out", "{out}/cache", "--threads", "1", "--quiet"]
    return [
        Workload("train", begin, again=lambda out: resume if begun(out) else begin),
        Workload("resume", resume, template=at("begun")),
        Workload("train-volumes", begin_volumes, again=lambda out: finish if begun(out) else begin_volumes),
        Workload("resume-volumes", resume, template=at("begun-volumes")),
        Workload("plan", plan),
        Workload("plan-repair", plan, template=at("damaged")),
        Workload("predict", ["predict", at("run/run"), "--input", at("digits"), "--output", "{out}/labels", "--threads", "1"]),
        Workload("predict-pictures", ["predict", at("seen"), "--input", at("pictures/b"), "--output", "{out}/labels", "--threads",
                                      "1"]),
        Workload("predict-volumes", ["predict", at("volumes"), "--input", at("heads/imagesTs"), "--output", "{out}/labels",
                                     "--threads", "1", "--quiet"]),
        Workload("evaluate", ["evaluate", "--pred", at("heads/labelsTs"), "--ref", at("heads/labelsTs"), "--threads", "1",
                              "--out", "{out}/scores"]),
        Workload("evaluate-run", ["evaluate", "{out}/run", "--threads", "1"], template=at("run")),
        Workload("evaluate-volumes", ["evaluate", "{out}/run", "--threads", "1"],
                 template=at("scored-volumes")),
        Workload("report", ["report", "{out}/run"], template=at("run")),
        Workload("report-scores", ["report", at("first"), "--out", "{out}/page.html"]),
        Workload("compare", ["compare", at("first"), at("second"), "--out", "{out}/compared"]),
        Workload("triage", ["triage", at("run/run"), "--count", "3"]),
        Workload("inspect", ["inspect", at("run/run")]),
        Workload("phantom", ["phantom", "--out", "{out}/heads", "--cases", "3", "--size", "16,20,16", "--spacing", "8",
                             "--threads", "1"], anew=True),
        Workload("export", ["export", "nnunet", at("volumes"), "--out", "{out}/model", "--quiet"], anew=True),
        Workload("export-onnx", ["export", at("run/run"), "--onnx", "{out}/run.onnx"]),
        Workload("import", ["import", "nnunet", at("model"), "--out", "{out}/run", "--quiet"], anew=True),
    ]


# ---- what came out ------------------------------------------------------------------------------------------------------

TOLD = ("train.log",)  # what was told on the way; no run is given up for want of it
PICTURED = {"hardest.csv": "hardest", "worst.csv": "worst"}  # tables, and the folder with a picture of each example


def normal(path):
    """The bytes of a file, without what differs from run to run."""
    name = os.path.basename(path)
    with open(path, "rb") as file:
        bytes_ = file.read()
    if name == "history.csv":
        rows = [line.split(b",") for line in bytes_.splitlines()]
        return b"\n".join(b",".join(cells[:2] + cells[3:]) for cells in rows)
    if name == "summary.json":  # names files by their whole paths
        return re.sub(rb'"/[^"]*/', b'"', bytes_)
    if name.endswith(".html"):  # what cannot be read is left out of a page, which says so
        return b"<!doctype" if bytes_[:9].lower() == b"<!doctype" and b"</html>" in bytes_[-100:] else bytes_
    return bytes_


def relative_files(folder):
    for at, _, names in os.walk(folder):
        yield from (os.path.relpath(os.path.join(at, name), folder) for name in names)


def lost(old, whole, found):
    """What is no longer good, before anything is done again: each file that is there before and after an undisturbed run has its
    old or its new bytes, and each picture that a table names is there."""
    for name in relative_files(old) if old else ():
        path, after = os.path.join(found, name), os.path.join(whole, name)
        if os.path.basename(name) in TOLD or not os.path.exists(path) and not os.path.exists(after):
            continue
        if not os.path.exists(path):
            yield f"{name} is lost"
        elif normal(path) not in [normal(kept) for kept in (os.path.join(old, name), after) if os.path.exists(kept)]:
            yield f"{name} is neither the old nor the new one"
    for table, pictures in PICTURED.items():
        for name in (name for name in relative_files(found) if os.path.basename(name) == table):
            yield from missing_pictures(old, whole, found, os.path.dirname(name), table, pictures)


def missing_pictures(old, whole, found, folder, table, pictures):
    with open(os.path.join(found, folder, table), encoding="utf-8", newline="") as file:
        examples = {row["example"] for row in csv.DictReader(file)}
    for example in examples:
        path = os.path.join(folder, pictures, example + ".png")
        drawn = any(os.path.exists(os.path.join(there, path)) for there in (old, whole) if there)
        if drawn and not os.path.exists(os.path.join(found, path)):
            yield f"{path} is lost, which {table} names"


def cut_lines(found):
    """Lines of a train.log below a folder that do not begin with a time: what a fault has cut."""
    for folder, _, names in os.walk(found):
        for name in set(names) & set(TOLD):
            with open(os.path.join(folder, name), "rb") as file:
                text = file.read()
            lines = text.splitlines(keepends=True)
            yield from (f"{name} has the line {line!r}" for line in lines if not re.match(rb"\d{4}-\d\d-\d\d [\d:]{8}  .*\n$", line))


def same(expected, found, ignore=TOLD):
    """How two folders differ; an empty list if they do not."""
    compared = filecmp.dircmp(expected, found, ignore=list(ignore), hide=[])
    wrong = [f"{name} is missing" for name in compared.left_only] + [f"{name} was left" for name in compared.right_only]
    for name in compared.common_files:
        if normal(os.path.join(expected, name)) != normal(os.path.join(found, name)):
            wrong.append(f"{name} is another")
    for name in compared.common_dirs:
        wrong += same(os.path.join(expected, name), os.path.join(found, name), ignore)
    return wrong
