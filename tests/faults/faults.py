#!/usr/bin/python3
"""Fails or kills hws at every call of the system, and looks at what is left.

usage: faults.py PROGRAM SHIM [--most N] [--only NAME,...] [--jobs J]

For every verb (workloads.py) and every operation of the shim (shim.c), at up to N calls spread over the whole work (default: all):
an error, and a kill. After an error the program ends with 0 and the whole result, or with 1 or 2 (for memory: 1) and a sentence on
stderr; never by a signal, and never with 0 where fsync has failed: what is not on the disk is not done. What was there before is
still there, or the new one is, whole, and so are the pictures that a table names. Then the work is done again as somebody would
(train: --resume): it must end with 0 and the very files of an undisturbed run, with nothing left over. Of train.log, which no run
is given up for, every line that is there is whole.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile
import time

from workloads import cut_lines, lost, make_inputs, run, same, workloads

ERRORS = {"malloc": ["ENOMEM"], "mmap": ["ENOMEM", "EIO"], "write": ["ENOSPC", "EIO"], "mkdir": ["ENOSPC"], "link": ["EIO", "ENOSPC"]}


def spread(count, most):
    """Calls 1 to count, or `most` of them from the first to the last."""
    if not most or count <= most:
        return list(range(1, count + 1))
    return sorted({1 + round(k * (count - 1) / (most - 1)) for k in range(most)}) if most > 1 else [(count + 1) // 2]


class Tester:
    def __init__(self, program, shim, work):
        self.program, self.shim, self.work = program, shim, work

    def fresh(self, workload, name):
        out = tempfile.mkdtemp(prefix=name + "-", dir=self.work)
        if workload.template:
            shutil.copytree(workload.template, out, dirs_exist_ok=True)
        return out

    def reference(self, workload):
        """The undisturbed run, twice: the second with calls counted, to see that both are the same."""
        out, counted = self.fresh(workload, "whole"), self.fresh(workload, "counted")
        counts = os.path.join(self.work, workload.name + ".counts")
        done = run(self.program, workload.command, out)
        again = run(self.program, workload.command, counted, {"LD_PRELOAD": self.shim, "HWS_FAULT_COUNTS": counts})
        if done.returncode or again.returncode or same(out, counted):
            raise SystemExit(f"{workload.name}: {done.stderr.decode()} {again.stderr.decode()} {same(out, counted)}")
        workload.whole, workload.said = out, done.stdout.replace(out.encode(), b"")
        with open(counts, encoding="ascii") as file:
            return {line.split()[0]: int(line.split()[1]) for line in file}

    def check_end(self, workload, fault, done, out):
        operation, _, what = fault.split(":")
        said = done.stderr.decode(errors="replace")
        if done.returncode < 0 or done.returncode > 2:
            return [f"ended with {done.returncode}: {said[-300:]}"]
        wrong = []
        if done.returncode == 0:
            left = [] if operation == "unlink" else same(workload.whole, out)
            wrong += [f"ended with 0, but {word}" for word in left]
            if done.stdout.replace(out.encode(), b"") != workload.said:
                wrong.append("ended with 0, but printed something else")
        elif "hws: " not in said and "libgomp: " not in said:
            wrong.append(f"ended with {done.returncode} without a sentence: {said[-200:]}")
        if operation == "fsync" and done.returncode == 0:
            wrong.append("ended with 0, but what it has written may not be on the disk")
        if operation == "malloc" and done.returncode == 2:
            wrong.append(f"is no wrong usage: {said[-300:]}")
        if "Success" in said:
            wrong.append(f"says Success: {said[-300:]}")
        return wrong

    def try_one(self, workload, fault):
        out = self.fresh(workload, workload.name)
        done = run(self.program, workload.command, out, {"LD_PRELOAD": self.shim, "HWS_FAULT": fault}, timeout=600)
        kills = fault.endswith(":kill")
        wrong = [] if kills and done.returncode in (-9, 0) else self.check_end(workload, fault, done, out)
        wrong += lost(workload.template, workload.whole, out)
        if b"no picture: " in done.stderr:  # hws evaluate tells which image it could not read, and gives the scores
            wrong = [word for word in wrong if not re.search(r"\.png is (missing|lost)", word)]
        if done.returncode != 0 and workload.anew:
            shutil.rmtree(out)
            os.mkdir(out)
        if done.returncode != 0 or kills:
            again = run(self.program, workload.again(out), out, timeout=600)
            if again.returncode != 0 and not workload.anew:
                wrong.append(f"cannot be done again: {again.returncode} {again.stderr.decode(errors='replace')[-300:]}")
            else:
                wrong += [f"done again, but {word}" for word in same(workload.whole, out)]
        wrong += cut_lines(out)
        shutil.rmtree(out)
        return [f"{workload.name} {fault}: {word}" for word in wrong]


def points(counts, most):
    for operation, count in counts.items():
        for call in spread(count, most):
            for what in ERRORS.get(operation, ["EIO"]) + ([] if operation == "malloc" else ["kill"]):
                yield f"{operation}:{call}:{what}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("shim")
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    began, total, wrong = time.time(), 0, []
    with tempfile.TemporaryDirectory(prefix="hws-faults-") as work:
        make_inputs(given.program, work)
        tester = Tester(given.program, os.path.abspath(given.shim), work)
        for workload in workloads(work):
            if given.only and workload.name not in given.only.split(","):
                continue
            faults = list(points(tester.reference(workload), given.most))
            with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
                found = [word for words in pool.map(lambda fault: tester.try_one(workload, fault), faults) for word in words]
            total += len(faults)
            wrong += found
            print(f"{workload.name}: {len(faults)} faults, {len(found)} wrong", flush=True)
            for word in found[:20]:
                print("  " + word, flush=True)
    print(f"{total} faults in {time.time() - began:.0f} s, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
