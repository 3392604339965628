"""A wheel carries the library and works without the checkout."""
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
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


def test_the_wheel_is_tagged_for_the_oldest_glibc_it_runs_on(wheel):
    """As binutils sees the library: the newest version of glibc among the symbols that it needs."""
    platform = wheel.stem.split("-")[-1]
    if not sys.platform.startswith("linux") or shutil.which("objdump") is None:
        pytest.skip("no Linux, or no objdump")
    symbols = subprocess.run(["objdump", "-T", hws.library_path], check=True, capture_output=True, text=True).stdout
    newest = max(tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", symbols))
    assert re.fullmatch(rf"manylinux_{newest[0]}_{newest[1]}_\w+", platform)


def test_pip_installs_the_wheel_in_a_bare_environment(wheel, tmp_path):
    venv = tmp_path / "venv"
    if subprocess.run([sys.executable, "-m", "venv", venv], capture_output=True).returncode:
        pytest.skip("no venv")
    python = venv / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
    # numpy, the one dependency, is that of the tests: there is no network.
    numpy = str(Path(np.__file__).parents[1])
    code = f"import sys; sys.path.append({numpy!r}); import hws; print(hws.__file__, hws.Sampler(5).draw(5).sum())"
    environment = {key: value for key, value in os.environ.items() if key not in ("HWS_LIBRARY", "PYTHONPATH")}
    output = subprocess.run([python, "-c", code], cwd=tmp_path, check=True, text=True, capture_output=True,
                            env=environment).stdout.split()
    assert output[0].startswith(str(venv)) and output[1] == "10"


def test_types_are_checked():
    """py.typed promises types: mypy finds nothing wrong with them."""
    if shutil.which("mypy") is None:
        pytest.skip("no mypy")
    result = subprocess.run(["mypy", "--ignore-missing-imports", "--follow-imports=skip", "--cache-dir", os.devnull, "hws"],
                            cwd=PYTHON, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def test_the_reference_is_that_of_the_docstrings():
    written = (PYTHON.parent / "docs" / "python-api.md").read_text()
    made = subprocess.run([sys.executable, PYTHON.parent / "scripts" / "python-reference"], check=True, text=True,
                          capture_output=True).stdout
    assert written == made, "docs/python-api.md is out of date: scripts/python-reference > docs/python-api.md"


def test_every_module_says_what_it_computes():
    """Without a docstring of its own, forward has torch's, which says nothing of it."""
    import hws.compat
    import hws.models
    import hws.torch

    modules = [getattr(module, name) for module in (hws.torch, hws.models, hws.compat) for name in module.__all__]
    computing = [module for module in modules if hasattr(module, "forward")]
    assert len(computing) == 8 and [module.__name__ for module in computing if not module.forward.__doc__] == []


def test_the_wheel_works_alone(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = "import hws; print(hws.library_path, hws.Sampler(5).draw(5).sum())"
    environment = {key: value for key, value in os.environ.items() if key != "HWS_LIBRARY"}
    output = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, text=True, capture_output=True,
                            env={**environment, "PYTHONPATH": str(tmp_path / "site")}).stdout
    assert output.split() == [str(tmp_path / "site" / "hws" / "libhws.so"), "10"]
