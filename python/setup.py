"""Builds libhws with CMake and puts it into the package, so that a wheel carries it.

With HWS_LIBRARY in the environment that library is taken instead, and no compiler is needed. HWS_LIBRARY=system puts none into the
package, which then opens the system's (as Debian's packages do).
"""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = "libhws.dylib" if sys.platform == "darwin" else "libhws.so"


def version():
    header = ROOT / "include" / "hws.h"
    if not header.exists():
        sys.exit("hws: the Python package is built inside a checkout of the project; include/hws.h is not there")
    return re.search(r'#define HWS_VERSION "([^"]+)"', header.read_text()).group(1)


def built_library(folder):
    """The path of libhws, built in this folder unless HWS_LIBRARY names one."""
    if os.environ.get("HWS_LIBRARY"):
        return Path(os.environ["HWS_LIBRARY"])
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DHWS_BUILD_PROGRAM=OFF",
                    "-DHWS_BUILD_TESTS=OFF"], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "hws", "--parallel", "2"], check=True)
    return folder / "src" / "sampler" / LIBRARY


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        if getattr(self, "editable_mode", False):
            return  # an editable installation finds build/release of the checkout
        if os.environ.get("HWS_LIBRARY") == "system":
            return
        library = built_library(Path(self.get_finalized_command("build").build_temp).resolve() / "libhws")
        target = Path(self.build_lib) / "hws" / LIBRARY
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library.resolve(), target)


def oldest_glibc(library):
    """The oldest glibc that a library runs on, as (2, minor): the newest version that one of its symbols names."""
    return max((tuple(map(int, found)) for found in re.findall(rb"GLIBC_(\d+)\.(\d+)", library.read_bytes())), default=None)


class PlatformWheel(bdist_wheel):
    """One wheel for every Python of a platform: the library is no extension module.

    On Linux the tag names the oldest glibc that the library runs on, so that pip installs the wheel there, and there alone.
    """

    def get_tag(self):
        platform = super().get_tag()[2]
        library = Path(self.bdist_dir) / "hws" / LIBRARY if self.bdist_dir else None
        if platform.startswith("linux_") and library is not None and library.is_file():
            glibc = oldest_glibc(library)
            if glibc is not None:
                platform = f"manylinux_{glibc[0]}_{glibc[1]}_{platform[len('linux_'):]}"
        return "py3", "none", platform


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return True


setup(version=version(), cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel},
      distclass=WithLibrary)
