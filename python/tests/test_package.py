"""A wheel carries the library and works without the checkout."""
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import hws

PYTHON = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode:
        pytest.skip("no pip")
    # A copy of what the build reads, so that it leaves nothing behind in the checkout.
    root = tmp_path_factory.mktemp("source")
    ignore = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "tests", "libhws.so")
    shutil.copytree(PYTHON, root / "python", ignore=ignore)
    (root / "include").mkdir()
    shutil.copy(PYTHON.parent / "include" / "hws.h", root / "include")
    # The library has been built for these tests already; without HWS_LIBRARY setup.py would run CMake.
    environment = {**os.environ, "HWS_LIBRARY": hws.library_path}
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index",
                    "--wheel-dir", root / "wheels", root / "python"], check=True, env=environment)
    return next((root / "wheels").glob("*.whl"))


def test_the_wheel_is_of_the_platform_and_of_any_python(wheel):
    name, version, python, abi, platform = wheel.stem.split("-")
    assert (name, version, python, abi) == ("hws", hws.__version__, "py3", "none") and platform != "any"
    files = zipfile.ZipFile(wheel).namelist()
    assert "hws/libhws.so" in files and "hws/py.typed" in files and "hws/torch.py" in files
    assert not [file for file in files if "test" in file]


def test_the_wheel_works_alone(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = "import hws; print(hws.library_path, hws.Sampler(5).draw(5).sum())"
    environment = {key: value for key, value in os.environ.items() if key != "HWS_LIBRARY"}
    output = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, text=True, capture_output=True,
                            env={**environment, "PYTHONPATH": str(tmp_path / "site")}).stdout
    assert output.split() == [str(tmp_path / "site" / "hws" / "libhws.so"), "10"]
