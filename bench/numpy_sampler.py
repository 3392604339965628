#!/usr/bin/env python3
"""The procedure of the paper's Table 4 in numpy, to be timed beside `hws bench sampler`.

An iteration forms the softmax over all n stale losses, lifts it to the paper package's floor, draws a batch without
replacement and writes new losses back. Prints a JSON row for each n.

usage: numpy_sampler.py [n,n,...] [batch] [beta]
"""
import json
import sys
from time import perf_counter

import numpy as np


def iterate(losses, batch, beta, random):
    logits = beta * losses
    p = np.exp(logits - logits.max())
    p /= p.sum()
    p = np.maximum(p, 1e-4 / len(losses))
    p /= p.sum()
    drawn = random.choice(len(losses), batch, replace=False, p=p)
    losses[drawn] = random.normal(1.0, 0.1, batch)


def main(sizes="1e2,1e3,1e4,1e5,1e6,1e7", batch="2", beta="100"):
    random = np.random.default_rng(0)
    for n in (int(float(size)) for size in sizes.split(",")):
        losses = random.normal(1.0, 0.1, n)
        count = int(np.clip(2e7 / n, 3, 3000))
        start = perf_counter()
        for _ in range(count):
            iterate(losses, int(batch), float(beta), random)
        nanoseconds = (perf_counter() - start) / count * 1e9
        row = {"n": n, "batch": int(batch), "iteration_ns": nanoseconds, "bytes_per_example": losses.itemsize}
        print(json.dumps(row), flush=True)


main(*sys.argv[1:])
