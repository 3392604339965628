"""The examples run, and so does every block of Python in docs/python.md."""
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import PEERS

PYTHON = Path(__file__).resolve().parents[1]
DOCUMENT = PYTHON.parent / "docs" / "python.md"


def run(*arguments, **options):
    result = subprocess.run([sys.executable, *map(str, arguments)], text=True, capture_output=True, timeout=600,
                            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(PYTHON), *PEERS]),
                                 "OMP_NUM_THREADS": "1"}, **options)
    assert result.returncode == 0, result.stderr
    return result.stdout


def number(text, name):
    return float(re.search(re.escape(name) + r" (-?[\d.]+)", text).group(1))


def test_numpy_loop_protects_the_rare_group():
    usual, robust = (run(PYTHON / "examples" / "numpy_loop.py", beta) for beta in (0, 5))
    assert number(robust, "of the rare group") < 0.7 * number(usual, "of the rare group")
    assert number(robust, "of the worst 1 %") < 0.7 * number(usual, "of the worst 1 %")


def test_segmentation_runs():
    output = run(PYTHON / "examples" / "segmentation.py", 10, 20)
    assert 0 <= number(output, "Dice") <= 1 and 0 <= number(output, "worst") <= 1


def test_mnist_runs(tmp_path):
    """With the format of MNIST, but with far fewer images, made here."""
    rng = np.random.default_rng(0)
    for part, count in (("train", 320), ("t10k", 60)):
        labels = (np.arange(count) % 10).astype(np.uint8)
        images = rng.integers(0, 30, (count, 28, 28), np.uint8) + (labels * 20)[:, None, None].astype(np.uint8)
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(bytes(16) + images.tobytes())
        (tmp_path / f"{part}-labels-idx1-ubyte").write_bytes(bytes(8) + labels.tobytes())
    for mode in ("erm", "10"):
        output = run(PYTHON / "examples" / "mnist.py", tmp_path, mode, 1).splitlines()
        assert output[0].startswith("epoch,seconds,test_accuracy,test_accuracy_3")
        epoch, _, accuracy, *_ = output[1].split(",")
        assert epoch == "1" and 0 <= float(accuracy) <= 1


def test_the_benchmark_measures():
    output = run("-m", "hws.bench", "--n", "1e3", "--batch", "2", "--seconds", "0.05", "--json")
    import json
    row = json.loads(output)
    assert row["n"] == 1000 and row["batch"] == 2 and row["iteration_us"] > 0 and row["paper_us"] > 0


BLOCKS = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)


def test_the_document_has_blocks():
    assert len(BLOCKS) >= 8


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_document_runs(number, tmp_path):
    """Each block by itself, as a reader would paste it into a file."""
    if "from monai" in BLOCKS[number]:
        pytest.importorskip("monai", reason="MONAI is not installed; make test-nnunet NNUNET=FOLDER has a clone")
    script = tmp_path / "block.py"
    script.write_text(BLOCKS[number])
    run(script, cwd=tmp_path)
