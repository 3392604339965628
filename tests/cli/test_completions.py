"""Completions in the shells themselves: bash, zsh (on a terminal) and fish complete verbs, options and, behind help, verbs.

usage: test_completions.py HWS
"""
import os
import pty
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CASES = [("hws pred", "predict"), ("hws train --obj", "--objective"), ("hws help wat", "watch"), ("hws export --on", "--onnx")]
PATIENCE = 120  # seconds, for a machine that is busy


def in_bash(script, line):
    words = line.split()
    program = f""". {script}; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _hws; printf '%s\\n' "${{COMPREPLY[@]}}" """
    return subprocess.run(["bash", "-c", program], check=True, capture_output=True, text=True).stdout.split()


def in_fish(script, line):
    program = f"source {script}; complete -C '{line}'"
    lines = subprocess.run(["fish", "--no-config", "-c", program], check=True, capture_output=True, text=True).stdout
    return [line.split("\t")[0] for line in lines.splitlines()]


def read_until(terminal, expected):
    """What the terminal shows, until that is there or patience has come to its end."""
    shown, end = "", time.monotonic() + PATIENCE
    while expected not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 65536).decode(errors="replace")
    return shown


def in_zsh(script, line, expected):
    """One match is completed in the line itself, with a blank behind it."""
    folder = script.parent
    (folder / ".zshrc").write_text(f"fpath=({folder} $fpath)\nautoload -U compinit\ncompinit -u -D\nPROMPT='rea''dy: '\n")
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(ZDOTDIR=str(folder), TERM="dumb")
        os.execvp("zsh", ["zsh", "-i"])
    read_until(terminal, "ready: ")
    os.write(terminal, line.encode() + b"\t")
    shown = read_until(terminal, expected + " ")
    os.write(terminal, b"\x15exit\n")
    read_until_end(terminal)
    os.waitpid(child, 0)
    os.close(terminal)
    return shown


def read_until_end(terminal):
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass  # the shell has closed its side


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        scripts = {}
        for shell in ("bash", "zsh", "fish"):
            scripts[shell] = Path(work) / ("_hws" if shell == "zsh" else f"hws.{shell}")
            scripts[shell].write_text(subprocess.run([sys.argv[1], "help", "--complete", shell], check=True, capture_output=True,
                                                     text=True).stdout)
        for line, expected in CASES:
            found = {"bash": in_bash(scripts["bash"], line), "fish": in_fish(scripts["fish"], line)}
            shown = in_zsh(scripts["zsh"], line, expected)
            found["zsh"] = [expected] if expected + " " in shown else shown
            for shell, words in found.items():
                if words != [expected]:
                    print(f"{shell}: '{line}' becomes {words} instead of {expected}", file=sys.stderr)
                    failed += 1
    sys.exit(failed > 0)


main()
