"""The layout of the C sources: no line of more than 120 columns, and what clang-format 14 decides, where that is installed.

usage: test_layout.py SOURCES
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

COLUMNS = 120
FOLDERS = ("include", "src", "cli", "examples", "tests")


def sources(root):
    return sorted(path for folder in FOLDERS for path in (root / folder).rglob("*.[ch]"))


def long_lines(root, paths):
    for path in paths:
        name = str(path.relative_to(root))
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if len(line) > COLUMNS:
                yield f"{name}:{number}: {len(line)} columns, more than {COLUMNS}"


def formatter():
    """clang-format 14, or None: other versions lay out differently."""
    for name in ("clang-format-14", "clang-format"):
        found = shutil.which(name)
        if found and re.search(r"version 14\.", subprocess.run([found, "--version"], capture_output=True, text=True).stdout):
            return found
    return None


def unformatted(root, paths):
    program = formatter()
    if not program:
        print("clang-format 14 is not installed: only the length of lines was looked at")
        return
    told = subprocess.run([program, "--dry-run", *map(str, paths)], cwd=root, capture_output=True, text=True).stderr
    for name in sorted(set(re.findall(r"^(.*?):\d+:\d+: warning", told, re.MULTILINE))):
        yield f"{name}: not as clang-format lays it out; run make format"


def main():
    root = Path(sys.argv[1]).resolve()
    paths = sources(root)
    assert len(paths) > 500, f"only {len(paths)} sources were found"
    found = [*long_lines(root, paths), *unformatted(root, paths)]
    for problem in found:
        print(problem, file=sys.stderr)
    sys.exit(bool(found))


main()
