"""A loop of one's own in plain numpy: a straight line fitted to two groups, of which the rare one follows another line.

usage: numpy_loop.py [BETA]
"""
import sys

import numpy as np

import hws

beta = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
rng = np.random.default_rng(0)
n, batch = 5000, 32
rare = rng.random(n) < 0.01
x = rng.uniform(-1, 1, n)
y = np.where(rare, 1 - x, 1 + x) + 0.1 * rng.normal(size=n)
inputs = np.column_stack([np.ones(n), x])


def losses_of(weights, rows):
    errors = inputs[rows] @ weights - y[rows]
    return errors**2, errors


weights = np.zeros(2)
sampler = hws.Sampler(n, beta=beta, initial_loss=4.0)
for step in range(4000):
    rows = sampler.draw(batch)                                    # I ~ p(L)
    losses, errors = losses_of(weights, rows)
    importance = sampler.importance_weights(rows, losses)         # optional
    sampler.update(rows, losses)                                  # L[I] <- losses
    weights -= 0.02 * (importance * 2 * errors) @ inputs[rows] / batch

losses, _ = losses_of(weights, np.arange(n))
print(f"beta {beta:g}: slope {weights[1]:.2f}, mean loss {losses.mean():.3f}, of the rare group {losses[rare].mean():.3f}, "
      f"of the worst 1 % {hws.Sampler(losses).cvar(0.01):.3f}")
