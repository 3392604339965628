"""A loop of one's own in plain numpy: logistic regression in which one point in a hundred belongs to a rare group.

usage: numpy_loop.py [BETA]
"""
import sys

import numpy as np

import hws

beta = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
rng = np.random.default_rng(0)
n, batch = 5000, 32
rare = rng.random(n) < 0.01
inputs = rng.normal(0, 1, (n, 2)) + np.where(rare[:, None], [0, 3], [0, -3])
labels = np.where(rare, inputs[:, 0] < 0, inputs[:, 0] > 0).astype(float)  # the rare group follows the opposite rule


def features(points):
    return np.column_stack([points, points[:, 0] * points[:, 1], np.ones(len(points))])


def losses_of(weights, rows):
    scores = features(inputs[rows]) @ weights
    return np.logaddexp(0, scores) - labels[rows] * scores, 1 / (1 + np.exp(-scores))


weights = np.zeros(4)
sampler = hws.Sampler(n, beta=beta, initial_loss=np.log(2))
for step in range(3000):
    rows = sampler.draw(batch)                                    # I ~ p(L)
    losses, guesses = losses_of(weights, rows)
    importance = sampler.importance_weights(rows, losses)         # optional
    sampler.update(rows, losses)                                  # L[I] <- losses
    gradient = (importance * (guesses - labels[rows])) @ features(inputs[rows]) / batch
    weights -= 0.1 * gradient

losses, _ = losses_of(weights, np.arange(n))
right = (features(inputs) @ weights > 0) == labels
print(f"beta {beta:g}: accuracy {right.mean():.3f}, in the rare group {right[rare].mean():.3f}; "
      f"mean loss {losses.mean():.4f}, worst 1 % {hws.Sampler(losses).cvar(0.01):.4f}")
