"""Tiny pieces of work for every verb: what goes in, the command, and how somebody goes on after a failure.

A workload's folder is made anew for every fault from a template; `inputs` are made once and only read.
"""
import filecmp
import os
import re
import shutil
import subprocess

SMALL = "--model mlp-1-4 --batch 8 --threads 1 --loaders 0 --quiet".split()
DATA = "digits:24,12"
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


def make_inputs(program, work):
    """Everything that the workloads read."""
    at = lambda name: os.path.join(work, name)
    checked(program, "train", DATA, *SMALL, "--epochs", "2", "--out", at("run/run"))
    checked(program, "train", DATA, *SMALL, "--epochs", "1", "--out", at("begun/run"))
    os.makedirs(at("digits"))
    with open(at("digits/x-images-idx3-ubyte"), "wb") as file:
        file.write(bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28]) + bytes(1568))
    checked(program, "phantom", "--out", at("heads"), "--cases", "5", "--test", "2", "--size", "16,20,16", "--spacing", "8",
            "--threads", "1")
    checked(program, "plan", at("heads"), "--out", at("cache"), "--threads", "1", "--quiet")
    checked(program, "train", at("heads"), "--cache", at("cache"), "--iterations", "1", "--threads", "1", "--quiet", "--out",
            at("volumes"))
    checked(program, "export", "nnunet", at("volumes"), "--out", at("model"), "--quiet")
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
    resume = ["train", "--resume", "--epochs", "2", "--threads", "1", "--quiet", "--out", "{out}/run"]
    begun = lambda out: resume if os.path.exists(os.path.join(out, "run/config.json")) else begin
    plan = ["plan", at("heads"), "--out", "{out}/cache", "--threads", "1", "--quiet"]
    return [
        Workload("train", begin, again=begun),
        Workload("resume", resume, template=at("begun")),
        Workload("plan", plan),
        Workload("plan-repair", plan, template=at("damaged")),
        Workload("predict", ["predict", at("run/run"), "--input", at("digits"), "--output", "{out}/labels", "--threads", "1"]),
        Workload("predict-volumes", ["predict", at("volumes"), "--input", at("heads/imagesTs"), "--output", "{out}/labels",
                                     "--threads", "1", "--quiet"]),
        Workload("evaluate", ["evaluate", "--pred", at("heads/labelsTs"), "--ref", at("heads/labelsTs"), "--threads", "1",
                              "--out", "{out}/scores"]),
        Workload("evaluate-run", ["evaluate", "{out}/run", "--threads", "1"], template=at("run")),
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


def normal(path):
    """The bytes of a file, without what differs from run to run."""
    name = os.path.basename(path)
    with open(path, "rb") as file:
        bytes_ = file.read()
    if name == "history.csv":
        rows = [line.split(b",") for line in bytes_.splitlines()]
        return b"\n".join(b",".join(cells[:2] + cells[3:]) for cells in rows)
    if name.endswith(".html"):  # what cannot be read is left out of a page, which says so
        return b"<!doctype" if bytes_[:9].lower() == b"<!doctype" and b"</html>" in bytes_[-100:] else bytes_
    return bytes_


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
