"""The binding says what hws.h says."""
import ctypes
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hws
from hws import _library, errors

ROOT = Path(__file__).resolve().parents[2]
HEADER = (ROOT / "include" / "hws.h").read_text()


def test_every_function_of_the_header_is_bound():
    declared = set(re.findall(r"HWS_API [^;(]*?\**(hws_\w+)\(", HEADER))
    assert len(declared) > 30
    assert declared == set(_library.PROTOTYPES)


def test_every_function_has_as_many_arguments_as_in_the_header():
    declarations = re.findall(r"HWS_API [^;(]*?\**(hws_\w+)\(([^;]*)\);", HEADER)
    for name, arguments in declarations:
        count = 0 if arguments.strip() == "void" else arguments.count(",") + 1
        assert len(_library.PROTOTYPES[name][1]) == count, name


def test_every_status_has_an_exception():
    codes = {int(value) for value in re.findall(r"X\(HWS_\w+, (\d+), ", HEADER)}
    assert codes == {0, *errors.BY_STATUS}
    for code, exception in errors.BY_STATUS.items():
        assert issubclass(exception, hws.HwsError)
        assert exception.__name__ in hws.__all__


def test_structures_have_the_layout_that_the_compiler_gives_them(tmp_path):
    structures = {"hws_divergence": _library.DivergenceStruct, "hws_options": _library.OptionsStruct,
                  "hws_error": _library.ErrorStruct, "hws_statistics": _library.StatisticsStruct,
                  "hws_record": _library.RecordStruct}
    lines = []
    for name, structure in structures.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("{name}.{field[0]} %zu\\n", offsetof({name}, {field[0]}));' for field in structure._fields_]
    source = tmp_path / "layout.c"
    source.write_text("#include <hws.h>\n#include <stdio.h>\nint main(void) {\n" + "\n".join(lines) + "\n}\n")
    program = tmp_path / "layout"
    subprocess.run(["cc", "-I", ROOT / "include", "-o", program, source], check=True)
    told = dict(line.rsplit(" ", 1) for line in subprocess.check_output([program], text=True).splitlines())
    for name, structure in structures.items():
        assert int(told[name]) == ctypes.sizeof(structure), name
        for field in structure._fields_:
            assert int(told[f"{name}.{field[0]}"]) == getattr(structure, field[0]).offset, field[0]


def test_defaults_are_the_library_s():
    library = _library.default_options()
    options = hws.Sampler(2).options
    for name in ("seed", "jitter", "momentum", "replacement", "floor", "uniform_mix",
                 "weight_min", "weight_max", "keep_counts"):
        assert options[name] == getattr(library, name), name
    assert options["initial_loss"] is None and math.isnan(library.initial_loss)
    assert hws.Sampler(2, beta=3).tail is None and library.tail == 0
    assert options["divergence"] == "kl" and options["importance"] == "paper"


def test_without_a_beta_the_tail_is_a_tenth():
    assert hws.Sampler(2).tail == 0.1 and hws.Sampler(2, divergence="chi2").tail == 0.1
    assert hws.Sampler(2, tail=0.3).tail == 0.3 and hws.Sampler(2, beta=7).beta == 7
    cvar = hws.Sampler(2, divergence="cvar:0.3")
    assert cvar.tail is None and cvar.options["divergence"].startswith("cvar:0.")
    with pytest.raises(hws.ArgumentError, match="set beta"):
        hws.Sampler(2, divergence="reverse-kl", tail=0.1)
    options = hws.Sampler(2, beta=4).options
    assert hws.Sampler(2, **options).options == options


def test_version():
    assert hws.__version__ == re.search(r'HWS_VERSION "([^"]+)"', HEADER).group(1)


def run(code, **environment):
    import os
    path = str(Path(hws.__file__).resolve().parents[1])
    return subprocess.run([sys.executable, "-c", code], text=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": path, **environment})


def test_a_library_that_is_not_there_is_named():
    result = run("import hws", HWS_LIBRARY="/nowhere/libhws.so")
    assert result.returncode != 0
    assert "LibraryNotFoundError" in result.stderr and "/nowhere/libhws.so" in result.stderr


def test_a_library_that_is_another_is_refused():
    libc = ctypes.util.find_library("c") or pytest.skip("no libc")
    result = run("import hws", HWS_LIBRARY=libc)
    assert result.returncode != 0
    assert "is not the libhws of this package" in result.stderr


def test_a_tail_is_shown_and_given_back_without_a_beta():
    sampler = hws.Sampler(100, tail=0.25)
    assert repr(sampler) == "<Sampler of 100 examples, tail=0.25, divergence='kl'>"
    assert sampler.options["beta"] is None
    assert hws.Sampler(100, **sampler.options).tail == 0.25
    sampler.beta = 2
    assert repr(sampler) == "<Sampler of 100 examples, beta=2, divergence='kl'>"
