"""MNIST with only 1 % of the digit 3, trained robustly (DRO) or as usual (ERM): the paper's toy experiment.

usage: mnist.py FOLDER erm|BETA [EPOCHS]      FOLDER holds the four uncompressed IDX files of MNIST
"""
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import hws.torch
from wide_resnet import WideResNet


def read(folder, part):
    images = np.fromfile(f"{folder}/{part}-images-idx3-ubyte", np.uint8)[16:].reshape(-1, 1, 28, 28)
    labels = np.fromfile(f"{folder}/{part}-labels-idx1-ubyte", np.uint8)[8:].astype(np.int64)
    return (torch.from_numpy(images).float() / 255 - 0.1307) / 0.3081, torch.from_numpy(labels)


if len(sys.argv) < 3:
    sys.exit(__doc__)
folder, mode, epochs = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 6
torch.manual_seed(0)
try:
    images, labels = read(folder, "train")
except (OSError, ValueError) as error:
    sys.exit(f"{folder} does not hold MNIST's IDX files: {error}")
threes = torch.where(labels == 3)[0]
removed = threes[torch.randperm(len(threes))[len(threes) // 100:]]
kept = torch.ones(len(labels), dtype=torch.bool).index_fill(0, removed, False)
data = TensorDataset(images[kept], labels[kept])
test_images, test_labels = read(folder, "t10k")

model = WideResNet(depth=16, width=1).to(memory_format=torch.channels_last)
optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
beta = 0 if mode == "erm" else float(mode)
sampler = hws.torch.HardnessWeightedBatchSampler(data, batch_size=64, beta=beta, initial_loss=2.3)
criterion = hws.torch.DROLoss(nn.CrossEntropyLoss(), sampler, importance=False)
indexed = hws.torch.IndexedDataset(data)
if mode == "erm":
    loader = DataLoader(indexed, batch_size=64, shuffle=True, drop_last=True)
else:
    loader = DataLoader(indexed, batch_sampler=sampler)

print("epoch,seconds,test_accuracy,test_accuracy_3,robust_loss,ess,sampler_share")
start, training = time.perf_counter(), 0.0
for epoch in range(1, epochs + 1):
    training -= time.perf_counter()
    for x, y, indices in loader:
        optimiser.zero_grad(set_to_none=True)
        criterion(model(x.contiguous(memory_format=torch.channels_last)), y, indices).backward()
        optimiser.step()
    training += time.perf_counter()
    model.eval()
    with torch.no_grad():
        right = torch.cat([model(x).argmax(1) for x in test_images.split(500)]) == test_labels
    model.train()
    statistics = sampler.telemetry()
    print(f"{epoch},{time.perf_counter() - start:.0f},{right.float().mean():.4f},"
          f"{right[test_labels == 3].float().mean():.4f},{statistics['robust_loss']:.4f},"
          f"{statistics['effective_size']:.0f},{sampler.seconds / training:.2%}", flush=True)
