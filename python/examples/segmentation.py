"""3D segmentation with a loss per case, Dice + cross entropy: the loop of a MONAI user, on volumes made here.

One case in ten has an inverted contrast, as from another scanner. Prints the Dice of both groups.

usage: segmentation.py [BETA] [ITERATIONS]
"""
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

import hws.torch


class Balls(Dataset):
    """Noisy volumes with a bright ball each; in every tenth the ball is dark. Items are dicts, as in MONAI."""

    def __init__(self, cases, seed, size=16):
        generator = torch.Generator().manual_seed(seed)
        axis = torch.arange(size).float()
        grid = torch.stack(torch.meshgrid(axis, axis, axis, indexing="ij"))
        self.items = []
        for case in range(cases):
            centre = 4 + 8 * torch.rand(3, 1, 1, 1, generator=generator)
            label = ((grid - centre).norm(dim=0) < 3 + torch.rand(1, generator=generator)).long()
            contrast = -1.0 if case % 10 == 0 else 1.0
            image = contrast * label + 0.3 * torch.randn(label.shape, generator=generator)
            self.items.append({"image": image[None], "label": label, "rare": case % 10 == 0})

    def __len__(self):
        return len(self.items)

    def __getitem__(self, case):
        return self.items[case]


def dice_per_case(probabilities, label):
    dims = (1, 2, 3)
    foreground = probabilities[:, 1]
    overlap, total = (foreground * label).sum(dims), foreground.sum(dims) + label.sum(dims)
    return (2 * overlap + 1) / (total + 1)


def dice_and_cross_entropy(logits, label):
    """One loss per case: this, and not one per batch, is what the sampler needs."""
    cross_entropy = F.cross_entropy(logits, label, reduction="none").flatten(1).mean(1)
    return cross_entropy + 1 - dice_per_case(logits.softmax(1), label)


def network():
    return nn.Sequential(nn.Conv3d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv3d(8, 8, 3, padding=1), nn.ReLU(),
                         nn.Conv3d(8, 8, 3, padding=1), nn.ReLU(), nn.Conv3d(8, 2, 1))


def main():
    beta = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    torch.manual_seed(0)
    data, test = Balls(60, seed=1), Balls(40, seed=2)

    sampler = hws.torch.HardnessWeightedBatchSampler(data, batch_size=2, batches_per_epoch=iterations, beta=beta,
                                                     initial_loss=1.7)
    loader = DataLoader(hws.torch.IndexedDataset(data), batch_sampler=sampler)
    criterion = hws.torch.DROLoss(dice_and_cross_entropy, sampler)

    model = network()
    optimiser = torch.optim.Adam(model.parameters(), lr=3e-3)
    for batch in loader:
        optimiser.zero_grad()
        criterion(model(batch["image"]), batch["label"], batch["index"]).backward()
        optimiser.step()

    model.eval()
    with torch.no_grad():
        hard = [(model(item["image"][None]).argmax(1) == 1).float() for item in test]
    dice = torch.cat([dice_per_case(torch.stack([1 - h, h], 1), item["label"][None]) for h, item in zip(hard, test)])
    rare = torch.tensor([item["rare"] for item in test])
    print(f"beta {beta:g}: Dice {dice[~rare].mean():.3f}, rare contrast {dice[rare].mean():.3f}, worst {dice.min():.3f}; "
          f"staleness {sampler.staleness()['mean']:.1f}, clipped weights {criterion.clip_rate():.0%}")


if __name__ == "__main__":
    main()
