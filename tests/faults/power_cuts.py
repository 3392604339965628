#!/usr/bin/python3
"""Cuts the power at every moment of writing checkpoints, caches and sampler states.

usage: power_cuts.py PROGRAM SAVE_STATES SHIM [--most N] [--jobs J] [--only NAME] [--forget-fsync]

The shim records what is done to files. After every step of that record the disk may hold less than the program has seen: only what
was flushed by fsync is there for sure. Of everything since, any part may be there in any order: each change of a folder (a file's
name made, changed, removed) and each file's bytes, whole, none, zeros or half of them. (As ALICE and CrashMonkey do; where more
than 2^LARGEST subsets are possible, all that lack or have up to two changes.) Every such state is made and opened: training must go
on to the very files of an undisturbed run, hws plan must make a whole cache, a sampler's state must be one that was saved.
--forget-fsync takes the flushing of files out of the record: then torn files must be found, or this test could not fail.
"""
import argparse
import concurrent.futures
import hashlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time

from workloads import DATA, ENVIRONMENT, SMALL, checked, run, same

LARGEST = 6


# ---- the record -----------------------------------------------------------------------------------------------------------

def read_record(path, root):
    """(word, path, other) of every change below the root; what is written comes behind its line as hexadecimal digits."""
    steps = []
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    at = 0
    while at < len(lines):
        word, _, rest = lines[at].partition(" ")
        first, _, other = rest.partition("\t")
        at += 1
        payload = None
        if word == "write":
            payload = bytes.fromhex(lines[at])
            at += 1
        if first.startswith(root):
            steps.append((word, os.path.normpath(first), payload if word == "write" else os.path.normpath(other) if other else None))
    return steps


class Disk:
    """What the program sees, what is surely on the disk, and what lies between."""

    def __init__(self, root):
        self.names, self.bytes, self.next = {}, {}, 0
        self.folders = {root}
        self.changes = []  # of folders, not flushed yet: (folders concerned, {name: file or None})
        self.sure_names, self.sure_bytes = {}, {}
        for folder, _, files in os.walk(root):
            self.folders.add(folder)
            for name in files:
                with open(os.path.join(folder, name), "rb") as file:
                    self.names[os.path.join(folder, name)] = self.new(file.read())
        self.sure_names = dict(self.names)
        self.sure_bytes = dict(self.bytes)

    def new(self, content):
        self.next += 1
        self.bytes[self.next] = content
        return self.next

    def change(self, entries):
        self.changes.append(entries)
        for name, file in entries.items():
            if file is None:
                self.names.pop(name, None)
            else:
                self.names[name] = file

    def step(self, word, path, other):
        if word == "create" and path not in self.names:
            file = self.new(b"")
            self.sure_bytes[file] = b""
            self.change({path: file})
        elif word == "write" and path in self.names:
            self.bytes[self.names[path]] += other
        elif word == "rename" and path in self.names and self.names.get(other) != self.names[path]:
            self.change({path: None, other: self.names[path]})
        elif word == "link" and path in self.names:
            self.change({other: self.names[path]})
        elif word == "unlink" and path in self.names:
            self.change({path: None})
        elif word == "mkdir":
            self.folders.add(path)
        elif word == "fsync" and path in self.names:
            self.sure_bytes[self.names[path]] = self.bytes[self.names[path]]
        elif word == "fsync":
            kept = []
            for entries in self.changes:
                if all(os.path.dirname(name) == path for name in entries):
                    self.apply(self.sure_names, entries)
                else:
                    kept.append(entries)
            self.changes = kept

    @staticmethod
    def apply(names, entries):
        for name, file in entries.items():
            if file is None:
                names.pop(name, None)
            else:
                names[name] = file

    def subsets(self):
        count = len(self.changes)
        if count <= LARGEST:
            return itertools.chain.from_iterable(itertools.combinations(range(count), k) for k in range(count + 1))
        near = [0, 1, 2, count - 2, count - 1, count]
        return itertools.chain.from_iterable(itertools.combinations(range(count), k) for k in near)

    def contents(self, file):
        """What a file may hold."""
        sure, seen = self.sure_bytes[file], self.bytes[file]
        if sure == seen:
            return [seen]
        added = len(seen) - len(sure)
        return [seen, sure, sure + bytes(added), seen[: len(sure) + added // 2], seen[: len(sure) + added // 2] + bytes(added - added // 2)]

    def states(self):
        for subset in self.subsets():
            names = dict(self.sure_names)
            for k in subset:
                self.apply(names, self.changes[k])
            loose = [file for file in set(names.values()) if self.sure_bytes[file] != self.bytes[file]]
            for choice in itertools.product(*(self.contents(file) for file in loose)):
                chosen = dict(zip(loose, choice))
                yield {name: chosen.get(file, self.bytes[file]) for name, file in names.items()}


def put(state, folders, root, out):
    for folder in sorted(folders):
        os.makedirs(os.path.join(out, os.path.relpath(folder, root)), exist_ok=True)
    for name, content in state.items():
        with open(os.path.join(out, os.path.relpath(name, root)), "wb") as file:
            file.write(content)


def digest(state, folders):
    sum_ = hashlib.sha256()
    for folder in sorted(folders):
        sum_.update(folder.encode() + b"\0")
    for name in sorted(state):
        sum_.update(name.encode() + b"\0" + hashlib.sha256(state[name]).digest())
    return sum_.digest()


# ---- what is cut ------------------------------------------------------------------------------------------------------------

class Cut:
    """A piece of work in the folder {out}, and how a state of it is judged: by a list of what is wrong."""

    def __init__(self, name, program, command, judge):
        self.name, self.program, self.command, self.judge = name, program, command, judge


def all_states(cut, shim, work, forget):
    root, record = os.path.join(work, cut.name), os.path.join(work, cut.name + ".record")
    os.makedirs(root, exist_ok=True)
    disk = Disk(root)
    done = run(cut.program, cut.command, root, {"LD_PRELOAD": shim, "HWS_FAULT_RECORD": record})
    if done.returncode != 0:
        raise SystemExit(f"{cut.name}: {done.stderr.decode()}")
    steps = [step for step in read_record(record, root) if not (forget and step[0] == "fsync" and step[1] not in disk.folders)]
    for k in range(len(steps) + 1):
        for state in disk.states():
            yield root, state, frozenset(disk.folders)
        if k < len(steps):
            disk.step(*steps[k])


def judge_all(cut, shim, work, given):
    seen, distinct, total = set(), [], 0
    for root, state, folders in all_states(cut, shim, work, given.forget_fsync):
        total += 1
        key = digest(state, folders)
        if key not in seen:
            seen.add(key)
            distinct.append((root, state, folders))
    if given.most and len(distinct) > given.most:
        distinct = [distinct[round(k * (len(distinct) - 1) / (given.most - 1))] for k in range(given.most)]

    def judge(one):
        out = tempfile.mkdtemp(prefix=cut.name + "-", dir=work)
        put(one[1], one[2], one[0], out)
        wrong = cut.judge(out)
        shutil.rmtree(out)
        return wrong

    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        wrong = [word for words in pool.map(judge, distinct) for word in words]
    print(f"{cut.name}: {total} states after a power cut, {len(seen)} different, {len(distinct)} opened, {len(wrong)} wrong", flush=True)
    for word in wrong[:20]:
        print("  " + word, flush=True)
    return total, len(distinct), wrong


def cuts(program, save_states, work):
    begin = ["train", DATA, *SMALL, "--epochs", "6", "--checkpoint-every", "2", "--out", "{out}/run"]
    resume = ["train", "--resume", "--threads", "1", "--quiet", "--out", "{out}/run"]
    whole = os.path.join(work, "whole")
    checked(program, *[word.replace("{out}", whole) for word in begin])
    heads, cache = os.path.join(work, "heads"), os.path.join(work, "whole-cache")
    checked(program, "phantom", "--out", heads, "--cases", "3", "--size", "16,20,16", "--spacing", "8", "--threads", "1")
    plan = ["plan", heads, "--out", "{out}/cache", "--threads", "1", "--quiet"]
    checked(program, *[word.replace("{out}", cache) for word in plan])

    def again(command, expected, out):
        done = run(program, command, out, timeout=600)
        if done.returncode != 0:
            return [f"code {done.returncode}: {done.stderr.decode()[-300:]}"]
        return same(expected, out)

    def goes_on_from_previous(out):
        os.remove(os.path.join(out, "run/latest.safetensors"))
        return again(resume, whole, out)

    def judge_training(out):
        begun = os.path.exists(os.path.join(out, "run/config.json"))
        wrong = again(resume if begun else begin, whole, out)
        # The checkpoint before the last may be an older one, when its change of name was lost and the run had ended: but it is whole.
        return goes_on_from_previous(out) if wrong == ["previous.safetensors is another"] else wrong

    def judge_state(out):
        path = os.path.join(out, "state")
        if not os.path.exists(path):
            return []
        done = subprocess.run([save_states, "check", path], capture_output=True, env=ENVIRONMENT, check=False)
        return [] if done.returncode == 0 and 1 <= int(done.stdout) <= 12 else [done.stderr.decode()]

    return [
        Cut("states", save_states, ["save", "{out}/state"], judge_state),
        Cut("cache", program, plan, lambda out: again(plan, cache, out)),
        Cut("checkpoints", program, begin, judge_training),
    ]


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "save_states", "shim"):
        parser.add_argument(name)
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="")
    parser.add_argument("--forget-fsync", action="store_true")
    given = parser.parse_args()
    began, total, opened, wrong = time.time(), 0, 0, []
    with tempfile.TemporaryDirectory(prefix="hws-cuts-") as work:
        for cut in cuts(given.program, given.save_states, work):
            if given.only not in ("", cut.name):
                continue
            states, different, found = judge_all(cut, os.path.abspath(given.shim), work, given)
            total, opened, wrong = total + states, opened + different, wrong + found
    print(f"{total} states, {opened} opened, in {time.time() - began:.0f} s, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
