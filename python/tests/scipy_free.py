"""The little statistics that the tests need."""
import math

import numpy as np


def chi_square_p(counts, probabilities):
    """Approximate p-value (Wilson and Hilferty) of counts against probabilities; bins of expectation < 10 are merged."""
    counts, expected = np.asarray(counts, float), np.asarray(probabilities, float) * np.sum(counts)
    if counts[expected == 0].any():
        return 0.0
    small = expected < 10
    if small.any():
        counts = np.append(counts[~small], counts[small].sum())
        expected = np.append(expected[~small], expected[small].sum())
        if expected[-1] < 10:  # too little even together: leave it out
            counts, expected = counts[:-1], expected[:-1]
    freedom = len(counts) - 1
    statistic = ((counts - expected) ** 2 / expected).sum()
    z = ((statistic / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / math.sqrt(2 / (9 * freedom))
    return 0.5 * math.erfc(z / math.sqrt(2))
