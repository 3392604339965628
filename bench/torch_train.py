"""Times training steps in PyTorch: the same networks, losses and optimisers as hws bench train, on random data.

usage: torch_train.py --model wrn-16-1 | resnet-18 | unet | resenc [--batch B] [--patch D,H,W] [--levels L] [--base F] [--classes K]
                      [--precision f32 | bf16] [--layout contiguous | channels_last] [--threads T] [--steps N]

Prints one JSON object: model, batch, precision, layout, ms_per_iteration (the median of several runs of N steps), ms_low,
ms_high (the fastest and the slowest run), items_per_second, peak_mb. bf16 is autocast: activations in bfloat16, weights and
losses in float32.
"""
import argparse
import json
import resource
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

import torch
import torch.nn.functional as F

from hws import models

#: Steps before the clock starts, and runs, of which the median counts.
WARM_UP = {"wrn-16-1": 5, "resnet-18": 1, "unet": 1, "resenc": 1}
RUNS = {"wrn-16-1": 3, "resnet-18": 3, "unet": 2, "resenc": 2}
DICE_SMOOTHING = 1e-5
LAYOUTS = {"contiguous": (torch.contiguous_format,) * 2, "channels_last": (torch.channels_last, torch.channels_last_3d)}


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=("wrn-16-1", "resnet-18", "unet", "resenc"), default="wrn-16-1")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--patch", type=lambda text: tuple(map(int, text.split(","))), default=(40, 56, 40))
    parser.add_argument("--channels", type=int, default=1)
    parser.add_argument("--levels", type=int, default=4)
    parser.add_argument("--base", type=int, default=32)
    parser.add_argument("--classes", type=int)
    parser.add_argument("--precision", choices=("f32", "bf16"), default="f32")
    parser.add_argument("--layout", choices=sorted(LAYOUTS), default="contiguous")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--steps", type=int, default=2)
    options = parser.parse_args()
    unet = options.model in ("unet", "resenc")
    options.batch = options.batch or (2 if unet else 64)
    options.classes = options.classes or (3 if unet else 10)
    return options


def dice_and_cross_entropy(logits, labels):
    """nnU-Net's loss of each example."""
    logits = logits.float()
    probabilities = logits.softmax(1).flatten(2)
    truth = F.one_hot(labels, logits.shape[1]).movedim(-1, 1).flatten(2).to(probabilities.dtype)
    overlap, size = (probabilities * truth).sum(2), probabilities.sum(2) + truth.sum(2)
    dice = (2 * overlap + DICE_SMOOTHING) / (size + DICE_SMOOTHING)
    return F.cross_entropy(logits, labels, reduction="none").flatten(1).mean(1) - dice[:, 1:].mean(1)


def supervision_weights(outputs):
    """Halved from level to level, none for the coarsest, summing to 1."""
    weights = [0.0 if k and k == outputs - 1 else 0.5 ** k for k in range(outputs)]
    return [weight / sum(weights) for weight in weights]


def wide_resnet(options):
    """The network, its optimiser, an input, and the losses of the examples as a function of the output."""
    network = models.WideResNet(16, 1, options.classes)
    labels = torch.randint(0, options.classes, (options.batch,))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    inputs = torch.rand(options.batch, 1, 28, 28)
    return network, optimizer, inputs, lambda logits: F.cross_entropy(logits.float(), labels, reduction="none")


def resnet(options):
    network = models.ResNet(18, options.classes, options.channels)
    labels = torch.randint(0, options.classes, (options.batch,))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    inputs = torch.rand(options.batch, options.channels, *options.patch[1:])
    return network, optimizer, inputs, lambda logits: F.cross_entropy(logits.float(), labels, reduction="none")


def unet(options):
    make = models.UNet if options.model == "unet" else models.ResidualEncoderUNet
    network = make(1, options.classes, options.levels, options.base)
    labels = [torch.randint(0, options.classes, (options.batch, *options.patch))]
    for _ in range(options.levels - 2):
        labels.append(labels[-1][:, ::2, ::2, ::2].contiguous())
    weights = supervision_weights(options.levels - 1)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.99, nesterov=True, weight_decay=3e-5)

    def losses(outputs):
        return sum(weight * dice_and_cross_entropy(output, truth)
                   for weight, output, truth in zip(weights, outputs, labels) if weight)

    return network, optimizer, torch.rand(options.batch, 1, *options.patch), losses


def main():
    options = parse()
    volumes = options.model in ("unet", "resenc")
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    network, optimizer, inputs, losses = {"wrn-16-1": wide_resnet, "resnet-18": resnet, "unet": unet,
                                             "resenc": unet}[options.model](options)
    layout = LAYOUTS[options.layout][volumes]
    network, inputs = network.to(memory_format=layout), inputs.contiguous(memory_format=layout)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.precision == "bf16"):
            outputs = network(inputs)
        losses(outputs).mean().backward()
        if volumes:
            torch.nn.utils.clip_grad_norm_(network.parameters(), 12)
        optimizer.step()

    for _ in range(WARM_UP[options.model]):
        step()
    runs = []
    for _ in range(RUNS[options.model]):
        begin = time.perf_counter()
        for _ in range(options.steps):
            step()
        runs.append((time.perf_counter() - begin) / options.steps)
    median = statistics.median(runs)
    print(json.dumps({"model": options.model, "batch": options.batch, "precision": options.precision,
                      "layout": options.layout, "ms_per_iteration": round(1000 * median, 3),
                      "ms_low": round(1000 * min(runs), 3), "ms_high": round(1000 * max(runs), 3),
                      "items_per_second": round(options.batch / median, 3),
                      "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024}))


main()
