"""A wide residual network (WRN-depth-width) for small images, in pre-activation form."""
import torch.nn.functional as F
from torch import nn


def _conv(inputs, outputs, size, stride=1):
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), _conv(inputs, outputs, 3, stride)
        self.norm2, self.conv2 = nn.BatchNorm2d(outputs), _conv(outputs, outputs, 3)
        self.project = _conv(inputs, outputs, 1, stride) if inputs != outputs or stride != 1 else None

    def forward(self, x):
        active = F.relu(self.norm1(x))
        shortcut = x if self.project is None else self.project(active)
        return shortcut + self.conv2(F.relu(self.norm2(self.conv1(active))))


class WideResNet(nn.Module):
    def __init__(self, depth=16, width=1, classes=10, channels=1):
        super().__init__()
        widths = [16, 16 * width, 32 * width, 64 * width]
        self.stem = _conv(channels, widths[0], 3)
        blocks = []
        for group in range(3):
            for position in range((depth - 4) // 6):
                first = position == 0
                blocks.append(Block(widths[group] if first else widths[group + 1], widths[group + 1],
                                    2 if first and group > 0 else 1))
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(widths[-1])
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x):
        return self.head(F.relu(self.norm(self.blocks(self.stem(x)))).mean((2, 3)))
