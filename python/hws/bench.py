"""How long the sampler takes in a PyTorch loop, beside the paper's procedure in the same run.

usage: python -m hws.bench [--n 1e3,1e6] [--batch 2,64] [--seconds 1] [--json]

An iteration is one draw of a batch plus the update of its losses, which arrive as a tensor: through
hws.torch.HardnessWeightedBatchSampler, and by the paper's procedure (softmax over all stale losses, numpy's choice
without replacement). Of each the best of seven rounds.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any, Callable, Dict, List, Optional

import numpy as np
import torch

from .torch import HardnessWeightedBatchSampler

BETA = 100.0


def seconds_per_call(step: Callable[[], None], seconds: float) -> float:
    """The best of several rounds, each long enough to be timed: the others were disturbed by other programs."""
    step()
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            step()
        elapsed = time.perf_counter() - start
        if elapsed > seconds / 8:
            break
        calls *= 2
    rounds = [elapsed / calls]
    for _ in range(6):
        start = time.perf_counter()
        for _ in range(calls):
            step()
        rounds.append((time.perf_counter() - start) / calls)
    return min(rounds)


def ours(n: int, batch: int) -> Callable[[], None]:
    rng = np.random.default_rng(0)
    sampler = HardnessWeightedBatchSampler(n, batch, batches_per_epoch=2**60, beta=BETA)
    sampler.sampler.set_losses(rng.normal(1, 0.1, n))
    batches = iter(sampler)
    losses = torch.from_numpy(rng.normal(1, 0.1, (1024, batch)).astype(np.float32))
    count = 0

    def step() -> None:
        nonlocal count
        sampler.update(next(batches), losses[count % 1024])
        count += 1

    return step


def paper(n: int, batch: int) -> Callable[[], None]:
    rng = np.random.default_rng(0)
    history = rng.normal(1, 0.1, n)

    def step() -> None:
        weights = BETA * history
        p = np.exp(weights - weights.max())
        p /= p.sum()
        p = np.maximum(p, 1e-4 / n)
        p /= p.sum()
        indices = rng.choice(n, batch, replace=False, p=p)
        history[indices] = rng.normal(1, 0.1, batch)

    return step


def measure(n: int, batch: int, seconds: float) -> Dict[str, Any]:
    fast, slow = seconds_per_call(ours(n, batch), seconds), seconds_per_call(paper(n, batch), seconds)
    return {"n": n, "batch": batch, "iteration_us": fast * 1e6, "paper_us": slow * 1e6, "ratio": slow / fast}


def _numbers(text: str) -> List[int]:
    return [int(float(part)) for part in text.split(",")]


def main(arguments: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m hws.bench", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=_numbers, default=[1000, 1_000_000], help="numbers of examples")
    parser.add_argument("--batch", type=_numbers, default=[2, 64], help="batch sizes")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each measurement")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    options = parser.parse_args(arguments)
    if not options.json:
        print(f"{'n':>10} {'batch':>6} {'hws us':>10} {'paper us':>12} {'ratio':>8}")
    for n in options.n:
        for batch in options.batch:
            row = measure(n, batch, options.seconds)
            if options.json:
                print(json.dumps(row), flush=True)
            else:
                print(f"{n:>10} {batch:>6} {row['iteration_us']:>10.1f} {row['paper_us']:>12.1f} {row['ratio']:>8.0f}",
                      flush=True)


if __name__ == "__main__":
    main()
