#!/usr/bin/env python3
"""Fuzzes the targets of a build with libFuzzer, from seeds that our own writers make.

    run.py BUILD [--seconds S] [--jobs J] [--total] [--unseeded] [TARGET ...]

Each target runs for S seconds, J of them side by side, or with --total until it has had S seconds in all such runs: how long each
has had, and what came of it, is kept in BUILD/fuzz-record.json, so that a run that was stopped goes on. Inputs that reached
something new stay in BUILD/corpus-TARGET, inputs that crash in BUILD/crashes. At the end a table is printed, as Markdown. With
--unseeded there are neither seeds, dictionaries nor a corpus, for comparison, and nothing is kept.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

SLICE = 600  # seconds of one process: what a stopped run loses at most


def arguments():
    parser = argparse.ArgumentParser(description="fuzz the targets of a build")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--total", action="store_true")
    parser.add_argument("--unseeded", action="store_true")
    return parser.parse_intermixed_args()


def known_targets(build):
    """The targets that CMake lists, each with its dictionary or None."""
    lines = (build / "tests/fuzz/targets.txt").read_text().splitlines()
    return {name: words[0] if words else None for name, *words in (line.split(maxsplit=1) for line in lines)}


class Record:
    """What each target has had so far: seconds, executions, edges, crashes. Kept in a file unless that is None."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.targets = json.loads(path.read_text()) if path and path.exists() else {}

    def of(self, target):
        return self.targets.get(target, {"seconds": 0, "executions": 0, "edges": 0, "crashes": 0})

    def add(self, target, ran):
        with self.lock:
            old = self.of(target)
            new = {key: old[key] + ran[key] for key in ("seconds", "executions", "crashes")}
            self.targets[target] = {**new, "edges": max(old["edges"], ran["edges"])}
            if self.path:
                whole = self.path.with_suffix(".tmp")
                whole.write_text(json.dumps(self.targets, indent=1, sort_keys=True) + "\n")
                os.replace(whole, self.path)


def figures(output, ended_well):
    """What libFuzzer says at its end. `cov:` counts edges of our own code, which alone is instrumented."""
    edges = re.findall(r" cov: (\d+)", output)
    executions = re.search(r"stat::number_of_executed_units:\s*(\d+)", output)
    seconds = re.search(r"Done \d+ runs in (\d+) second", output)
    return {"edges": int(edges[-1]) if edges else 0, "executions": int(executions[1]) if executions else 0,
            "seconds": int(seconds[1]) if seconds else 0, "crashes": 0 if ended_well else 1}


def fuzz(build, target, dictionary, seconds, unseeded, scratch):
    program = build / "tests/fuzz" / f"fuzz_{target}"
    crashes = build / "crashes"
    crashes.mkdir(exist_ok=True)
    command = [str(program), f"-max_total_time={seconds}", "-print_final_stats=1", "-timeout=60", "-rss_limit_mb=4096",
               f"-artifact_prefix={crashes}/{target}-"]
    if not unseeded:
        corpus, seeds = build / f"corpus-{target}", scratch / f"seeds-{target}"
        corpus.mkdir(exist_ok=True)
        seeds.mkdir()
        subprocess.run([f"{program}_fixed", "--seeds", str(seeds)], check=True)
        command += [f"-dict={dictionary}"] if dictionary else []
        command += ["-max_len=65536", str(corpus), str(seeds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", check=False)
    if done.returncode:
        sys.stderr.write(done.stdout[-6000:])
        print(f"{target}: found something, see {crashes}", file=sys.stderr, flush=True)
    return figures(done.stdout, done.returncode == 0)


def work_on(options, record, target, dictionary):
    """In slices, until the time is over or something is found."""
    left = options.seconds - (record.of(target)["seconds"] if options.total else 0)
    while left > 0:
        with tempfile.TemporaryDirectory() as scratch:
            ran = fuzz(options.build, target, dictionary, min(left, SLICE), options.unseeded, pathlib.Path(scratch))
        record.add(target, ran)
        print(f"{target}: {ran['edges']} edges, {ran['executions']} executions in {ran['seconds']} s", flush=True)
        if ran["crashes"]:
            return
        left -= max(ran["seconds"], 1)


def main():
    options = arguments()
    options.build = options.build.resolve()
    known = known_targets(options.build)
    unknown = [name for name in options.targets if name not in known]
    if unknown:
        sys.exit(f"there is no target {', '.join(unknown)}; there are {', '.join(known)}")
    chosen = {name: known[name] for name in options.targets or known}
    record = Record(None if options.unseeded else options.build / "fuzz-record.json")
    before = {name: record.of(name)["crashes"] for name in chosen}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        works = [pool.submit(work_on, options, record, name, words) for name, words in chosen.items()]
    for work in works:
        work.result()
    print("\n| target | seconds | executions | edges | crashes |\n|---|---|---|---|---|")
    for name in chosen:
        had = record.of(name)
        print(f"| {name} | {had['seconds']} | {had['executions']} | {had['edges']} | {had['crashes']} |")
    sys.exit(any(record.of(name)["crashes"] > before[name] for name in chosen))


if __name__ == "__main__":
    main()
