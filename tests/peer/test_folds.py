"""Our folds beside those of sklearn's KFold(5, shuffle=True, random_state=12345), which nnU-Net uses, and which numpy
alone can make. usage: test_folds.py PEER_FOLDS"""
import subprocess
import sys

import numpy as np

try:
    from sklearn.model_selection import KFold
except ImportError:
    KFold = None


def kfold(n, k=5):
    order = np.arange(n)
    np.random.RandomState(12345).shuffle(order)
    sizes = np.full(k, n // k)
    sizes[: n % k] += 1
    for val in np.split(order, np.cumsum(sizes)[:-1]):
        yield np.setdiff1d(order, val), np.sort(val)


count = 0
for n in [*range(5, 130), 199, 177, 260, 484, 1000, 1024, 1025, 4097, 65537]:
    done = subprocess.run([sys.argv[1], str(n)], check=True, capture_output=True, text=True)
    lines = [np.array(line.split(), int) for line in done.stdout.splitlines()]
    expected = list(kfold(n)) if KFold is None else KFold(5, shuffle=True, random_state=12345).split(np.arange(n))
    for fold, (train, val) in enumerate(expected):
        np.testing.assert_array_equal(lines[2 * fold], val)
        np.testing.assert_array_equal(lines[2 * fold + 1], train)
    count += 1
print(count, "numbers of cases split as by", "numpy" if KFold is None else "sklearn")
