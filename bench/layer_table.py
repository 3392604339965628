#!/usr/bin/env python3
"""The table of layers.sh: what each convolution costs with each algorithm, beside oneDNN's.

usage: layer_table.py FOLDER

The files of FOLDER are called ROUND.ALGORITHM and hold what `hws bench train --layers --json` prints; those called ROUND.oneDNN
what onednn_layers makes of it. All have the same layers in the same order. Algorithms that chose the same way of computing a layer
are one: their times are joined.
"""
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

PASSES = ("forward", "backward_data", "backward_weights")
PEER = "oneDNN"


def name_of(layer):
    kernel, stride, size = ("x".join(map(str, layer[key])) for key in ("kernel", "stride", "size"))
    return f"{layer['in']} to {layer['out']}, {kernel} / {stride}, {layer['samples']} of {size}"


def read(folder):
    """The layers, in which way networks compute each, and their times: [layer][pass][way][round]."""
    layers, chosen = {}, {}
    times = defaultdict(lambda: {key: defaultdict(lambda: defaultdict(list)) for key in PASSES})
    for path in sorted(folder.iterdir(), key=lambda path: (path.suffix != ".auto", path.name)):
        turn, asked = path.name.split(".")
        for place, line in enumerate(path.read_text().splitlines()):
            layer = json.loads(line)
            layers.setdefault(place, layer)
            if asked == "auto":
                chosen[place] = layer["algorithm"]
            for key in PASSES:
                way, field = (PEER, f"onednn_{key}_ms") if asked == PEER else (layer["algorithm"], f"{key}_ms")
                if layer[field] > 0:
                    times[place][key][way][turn].append(layer[field])
    return list(layers.values()), chosen, times


def rates(layer, rounds):
    """GFLOP/s: the median of the rounds, the lowest and the highest."""
    each = [1e3 * layer["gflop"] / median(values) for values in rounds.values()]
    return median(each), min(each), max(each)


def ratio(ours, theirs):
    """How many times theirs ours are as fast: the median of the rounds in which both were measured."""
    both = [turn for turn in ours if turn in theirs]
    return median(median(theirs[turn]) / median(ours[turn]) for turn in both) if both else None


def row(layer, key, way, ours, theirs):
    """The cells behind the layer's name."""
    middle, low, high = rates(layer, ours)
    cells = f"{key.replace('_', ' '):16} {way:11} {middle:7.1f} {low:7.1f} to {high:<7.1f} {100 * middle / layer['peak_gflops']:4.0f} %"
    if theirs:
        middle, low, high = rates(layer, theirs)
        cells += f" {middle:8.1f} {low:7.1f} to {high:<7.1f} {ratio(ours, theirs):5.2f}"
    return cells


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    layers, chosen, times = read(Path(sys.argv[1]))
    print(f"GFLOP/s of direct convolution, {layers[0]['threads']} threads, {layers[0]['precision']}; * is what networks use; "
          f"peak {median(layer['peak_gflops'] for layer in layers):.0f} in f32; above 1 ours is faster")
    beside = f" {PEER:>7} {'low to high':>18} {'ratio':>5}" if any(PEER in ways for ways in times[0].values()) else ""
    print(f"{'channels, kernel / stride, images':50} {'pass':16} {'':11} {'hws':>7} {'low to high':>18} of peak{beside}")
    for place, layer in enumerate(layers):
        name = name_of(layer)
        for key in PASSES:
            theirs = times[place][key].pop(PEER, None)
            for way, ours in times[place][key].items():
                mark = " *" if way == chosen.get(place) else ""
                print(f"{name:50} {row(layer, key, way + mark, ours, theirs)}".rstrip())
                name = ""


main()
