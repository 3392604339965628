"""The engine beside PyTorch: the same weights and the same batch give the same logits, losses, gradients and weights after
ten steps. usage: test_engine.py PEER_ENGINE PYTHON_FOLDER LIBHWS

A distance is the norm of the difference of two tensors relative to the tensor's norm; of a network the largest distance of
all its tensors. PyTorch computes in float64, so that its own rounding, which is as large as ours, is not counted as ours;
its float32 (with BFLOAT16=1 also its bfloat16, which is slow) is measured in the same way and printed beside.

The forward pass is continuous, so logits and losses agree on every batch. The backward pass is not: where an activation is
within rounding of zero (or two are of each other, for max pooling) its derivative is one or the other, and a single one moves
a gradient by a hundredth; so it does between PyTorch's float32 and float64. So on every batch gradients and steps have to
agree to KINKS, and on the best of up to MOST_BATCHES to the real bound: what is wrong is wrong on every batch.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

program, package, os.environ["HWS_LIBRARY"] = sys.argv[1:4]
sys.path.insert(0, package)

import numpy as np
import torch
import torch.nn.functional as F

import hws.models
from hws import _safetensors

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))
workspace = tempfile.TemporaryDirectory()
folder = Path(workspace.name)
failures = []


def probe(task, tensors, settings):
    _safetensors.write(folder / "in", tensors, {key: str(value) for key, value in settings.items()})
    subprocess.run([program, task, folder / "in", folder / "out"], check=True)
    return _safetensors.read(folder / "out")[0]


def distance(ours, theirs, smallest=0.0):
    ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    difference = np.linalg.norm(ours - theirs)
    return difference / max(np.linalg.norm(theirs), smallest) if difference > 0 else difference


def expect(what, value, bound):
    if not value <= bound:
        failures.append(f"{what}: {value:.2e} is more than {bound:.0e}")


# ---- PyTorch's side ----------------------------------------------------------------------------------------------------


def per_example_loss(kind, logits, labels, smoothing=0.0):
    """Logits [example, class, ...]; a negative label is ignored."""
    counts = (labels >= 0).to(logits.dtype)
    if kind == "regions":
        bits = 2 ** torch.arange(logits.shape[1]).reshape(1, -1, *[1] * (labels.dim() - 1))
        inside = ((labels.clamp(min=0)[:, None] // bits) % 2).to(logits.dtype) * counts[:, None]
        each = F.binary_cross_entropy_with_logits(logits, inside, reduction="none") * counts[:, None]
        p, sizes = logits.sigmoid() * counts[:, None], counts.flatten(1).sum(1).clamp(min=1)
        overlap, both = (p * inside).flatten(2).sum(2), (p + inside).flatten(2).sum(2)
        dice = (2 * overlap + 1e-5) / (both + 1e-5)
        return each.flatten(1).sum(1) / sizes / logits.shape[1] - dice.mean(1)
    safe = labels.clamp(min=0)
    total = 0
    if kind in ("ce", "dice-ce"):
        each = F.cross_entropy(logits, safe, reduction="none", label_smoothing=smoothing) * counts
        total = each.reshape(len(each), -1).sum(1) / counts.reshape(len(each), -1).sum(1).clamp(min=1)
    if kind in ("dice", "dice-ce"):
        p = logits.softmax(1) * counts[:, None]
        y = F.one_hot(safe, logits.shape[1]).movedim(-1, 1).to(p.dtype) * counts[:, None]
        overlap, sizes = (p * y).flatten(2).sum(2), (p + y).flatten(2).sum(2)
        total = total - ((2 * overlap + 1e-5) / (sizes + 1e-5))[:, 1:].mean(1)
    return total


def supervised_loss(kind, outputs, labels, smoothing):
    weights = [2.0 ** -i for i in range(len(outputs))]
    if len(weights) > 1:
        weights[-1] = 0
    total = 0
    for weight, output in zip(weights, outputs):
        if weight:
            step = tuple(slice(None, None, full // size) for full, size in zip(labels.shape[1:], output.shape[2:]))
            total = total + weight / sum(weights) * per_example_loss(kind, output, labels[(slice(None), *step)],
                                                                       smoothing=smoothing)
    return total


def optimizer(settings, parameters):
    kind, rate, decay = settings["optimizer"], settings["rate"], settings["decay"]
    if kind == "adam":
        return torch.optim.Adam(parameters, rate, weight_decay=decay)
    if kind == "adamw":
        return torch.optim.AdamW(parameters, rate, weight_decay=decay)
    momentum = 0 if kind == "sgd" else settings["momentum"]
    return torch.optim.SGD(parameters, rate, momentum, weight_decay=decay, nesterov=kind == "nesterov")


def clip(parameters, settings):
    largest = settings["clip"] or float("inf")
    return float(torch.nn.utils.clip_grad_norm_(parameters, largest))


def pytorch(make, start, images, labels, weights, settings, dtype, half=False):
    model = make()
    model.load_state_dict(start)
    model.to(dtype).train()
    images, weights = images.to(dtype), weights.to(dtype)
    parameters = list(model.parameters())
    step = optimizer(settings, parameters)
    result = {"losses": [], "norms": []}
    for index in range(settings["steps"]):
        step.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            outputs = model(images)
        outputs = [output.to(dtype) for output in (outputs if isinstance(outputs, list) else [outputs])]
        losses = supervised_loss(settings["loss"], outputs, labels, settings["smoothing"])
        (weights * losses).sum().backward()
        for p in parameters:     # PyTorch would not decay the head that no loss looks at
            p.grad = torch.zeros_like(p) if p.grad is None else p.grad
        if index == 0:
            result["logits"] = [output.detach().clone() for output in outputs]
            result["gradients"] = {name: p.grad.detach().clone() for name, p in model.named_parameters()}
        result["losses"].append(losses.tolist())
        result["norms"].append(clip(parameters, settings))
        step.step()
    with torch.no_grad():
        result["evaluated"] = model.eval()(images)
    result["weights"] = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    return result


# ---- whole networks ------------------------------------------------------------------------------------------------------


def channels_last(images):
    array = images.movedim(1, -1)
    while array.ndim < 5:
        array = array.unsqueeze(1)
    return array.contiguous().numpy()


def engine(start, images, labels, weights, settings, sizes):
    tensors = {name: tensor.numpy() for name, tensor in start.items()}
    tensors.update({"hws.input": channels_last(images), "hws.weights": weights.numpy(),
                    "hws.labels": labels.reshape(len(images), -1).numpy().astype(np.int16), **sizes})
    out = probe("network", tensors, settings)
    outputs = [out[f"hws.logits.{i}"] for i in range(len([name for name in out if name.startswith("hws.logits.")]))]
    return {
        "logits": outputs, "losses": out["hws.losses"], "norms": out["hws.norms"], "evaluated": out["hws.evaluated"],
        "gradients": {name[len("hws.gradient."):]: array for name, array in out.items() if name.startswith("hws.grad")},
        "weights": {name: array for name, array in out.items() if not name.startswith("hws.")},
    }


def largest_distance(ours, theirs, smallest):
    """Over the tensors of a network. What is below `smallest` of the largest norm counts as that: biases in front of a
    normalisation have the gradient zero, of which PyTorch's is rounding noise."""
    assert ours.keys() == theirs.keys()
    floor = smallest * max(np.linalg.norm(array) for array in theirs.values())
    return max(distance(ours[name], theirs[name], floor) for name in theirs)


def flat(array):
    """[example, class, ...] of PyTorch as rows of our order."""
    return array.movedim(1, -1).reshape(len(array), -1).numpy()


def compare(ours, theirs, start):
    final = {name: tensor.numpy() for name, tensor in theirs["weights"].items() if "num_batches" not in name}
    found = {name: array for name, array in ours["weights"].items() if "num_batches" not in name}
    first = {name: start[name].numpy() for name in final}
    return {
        "logits": max(distance(a.reshape(len(a), -1), flat(b)) for a, b in zip(ours["logits"], theirs["logits"])),
        "losses": distance(ours["losses"][0], theirs["losses"][0]),
        "gradients": largest_distance(ours["gradients"], {n: g.numpy() for n, g in theirs["gradients"].items()}, 1e-4),
        "ten losses": distance(ours["losses"], theirs["losses"]),
        "norms": distance(ours["norms"], theirs["norms"]),
        "weights": largest_distance(found, final, 1e-6),
        "changes": largest_distance({n: found[n] - first[n] for n in first}, {n: final[n] - first[n] for n in first}, 1e-2),
        "evaluated": distance(ours["evaluated"].reshape(len(ours["evaluated"]), -1), flat(theirs["evaluated"])),
    }


def as_arrays(result):
    """PyTorch's own float32 in the form of the engine's results, to be compared in the same way."""
    return {
        "logits": [output.movedim(1, -1).numpy() for output in result["logits"]],
        "losses": np.array(result["losses"]), "norms": np.array(result["norms"]),
        "evaluated": result["evaluated"].movedim(1, -1).numpy(),
        "gradients": {name: tensor.numpy() for name, tensor in result["gradients"].items()},
        "weights": {name: tensor.numpy() for name, tensor in result["weights"].items()},
    }


def show(what, distances):
    print(f"  {what:22}" + "".join(f"{value:11.1e}" for value in distances.values()), flush=True)


SGD = {"optimizer": "sgd", "rate": 0.01, "momentum": 0, "decay": 5e-4, "clip": 0}
NESTEROV = {"optimizer": "nesterov", "rate": 0.01, "momentum": 0.99, "decay": 3e-5, "clip": 1}
CALM = {**SGD, "rate": 0.001}
PLAIN = {"dimensions": 3, "levels": 0, "base": 0, "max_pool": 0, "bias": 0, "recompute": 0, "smoothing": 0}

MOST_BATCHES = 8
KINKS = {"logits": 1e-4, "losses": 1e-4, "gradients": 5e-2, "ten losses": 1e-3, "norms": 1e-2, "weights": 1e-2,
         "changes": 2e-1, "evaluated": 5e-2}
HALF = {"logits": 5e-2, "losses": 1e-2, "gradients": 7e-1, "ten losses": 1e-2, "norms": 2e-2, "weights": 2e-2,
        "changes": 4e-1, "evaluated": 1e-1}
WINOGRAD = {**dict.fromkeys(KINKS, 1e-3), "changes": 2e-2, "evaluated": 5e-3}
# Precision, convolutions, the bound on every batch, and the bound on the best one.
RUNS = [
    ("f32", "direct", KINKS, {**dict.fromkeys(KINKS, 1e-4), "changes": 5e-3, "evaluated": 1e-3}),
    ("f32", "auto", KINKS, WINOGRAD),
    ("bf16", "auto", HALF, HALF),
]
FORCED = [*RUNS, ("f32", "winograd", KINKS, WINOGRAD)]


def beginning(make, classes, images, settings):
    """Weights whose biases and norms are not just 0 and 1, labels, and a weight for each example."""
    start = {name: tensor.clone() for name, tensor in make().state_dict().items()}
    for name, tensor in start.items():
        if tensor.is_floating_point() and tensor.ndim == 1 and "running" not in name:
            tensor += 0.1 * torch.randn(tensor.shape)
    positions = images.shape[2:] if settings["model"] in ("unet", "resenc") else ()
    values = 2 ** classes if settings["loss"] == "regions" else classes
    labels = torch.randint(0, values, (len(images), *positions))
    return start, labels, torch.rand(len(images), dtype=torch.float64) * 2 / len(images)


def compare_network(title, make, shape, classes, settings, sizes={}, runs=RUNS, like_float32=0):
    """like_float32: what is no further away than so many times PyTorch's own float32 on the same batch is good, too."""
    settings = {**PLAIN, "classes": classes, "steps": 10, **settings}
    print(title + "\n" + " " * 24 + "".join(f"{name:>11}" for name in KINKS))
    best = {run[:2]: {} for run in runs}
    for batch in range(MOST_BATCHES):
        missing = [run for run in runs if any(best[run[:2]].get(name, 1) > bound for name, bound in run[3].items())]
        if not missing:
            break
        torch.manual_seed(batch)
        images = torch.randn(shape)
        start, labels, weights = beginning(make, classes, images, settings)
        exact = pytorch(make, start, images, labels, weights, settings, torch.float64)
        own = {}
        if batch == 0 or like_float32:
            for name, half in (("float32", False), ("bfloat16", True))[:1 + ("BFLOAT16" in os.environ)]:
                result = pytorch(make, start, images, labels, weights, settings, torch.float32, half)
                distances = compare(as_arrays(result), exact, start)
                own = own or distances
                show("PyTorch " + name, distances)
        for precision, convolution, always, _ in missing:
            run = {**settings, "precision": precision, "convolution": convolution}
            found = compare(engine(start, images, labels, weights, run, sizes), exact, start)
            show(f"{precision} {convolution}", found)
            for name, value in found.items():
                if value <= like_float32 * own.get(name, 0):
                    value = 0
                expect(f"{title}, {precision} {convolution}, batch {batch}: {name}", value, always[name])
                best[precision, convolution][name] = min(value, best[precision, convolution].get(name, value))
    for precision, convolution, _, bounds in runs:
        for name, bound in bounds.items():
            expect(f"{title}, {precision} {convolution}: {name}", best[precision, convolution][name], bound)


def compare_unet(title, shape, channels, count, part, **options):
    dimensions = len(shape)
    levels, kernels, strides = options["levels"], options.get("kernels"), options.get("strides")
    blocks = options.get("blocks")
    flat = [1] if dimensions == 2 else []
    kernels = kernels or [(3,) * dimensions] * levels
    strides = strides or [(1,) * dimensions] + [(2,) * dimensions] * (levels - 1)
    sizes = {"hws.kernels": np.array([[*flat, *row] for row in kernels], np.int32),
             "hws.strides": np.array([[*flat, *row] for row in strides], np.int32),
             "hws.blocks": np.array(blocks or [0] * levels, np.int32)}
    settings = {**NESTEROV, "model": "resenc" if blocks else "unet", "loss": options.get("loss", "dice-ce"), "part": part, "levels": levels, "dimensions": dimensions,
                "base": options["base"], "max_pool": int(options.get("max_pool", 0)), "bias": int(options.get("bias", 0)),
                "recompute": options.get("recompute", 0)}

    def make():
        if blocks:
            return hws.models.ResidualEncoderUNet(channels, 3, levels, options["base"], kernels=kernels, strides=strides,
                                                  blocks=blocks, dimensions=dimensions)
        return hws.models.UNet(channels, 3, levels, options["base"], kernels=kernels, strides=strides,
                               max_pool=bool(options.get("max_pool")), bias=bool(options.get("bias")),
                               dimensions=dimensions)

    compare_network(title, make, (count, channels, *shape), 3, settings, sizes, options.get("runs", RUNS))


def calm_resnet(depth):
    """A residual network as torchvision begins it amplifies rounding a thousandfold in its backward pass and without limit in
    ten steps, ours and PyTorch's alike (docs/engine.md). With small last norms of the blocks, nearly as torchvision's
    zero_init_residual has them, and a small rate it does not, and whatever is wrong shows all the same."""
    network = hws.models.ResNet(depth, 5)
    with torch.no_grad():
        for name, tensor in network.named_parameters():
            if name.startswith("layer") and name.endswith("bn3.weight" if depth >= 50 else "bn2.weight"):
                tensor *= 0.2
    return network


def networks():
    compare_network("wrn-16-1, 16 pictures of 28x28, SGD", lambda: hws.models.WideResNet(16, 1), (16, 1, 28, 28), 10,
                    {**SGD, "model": "wrn-16-1", "loss": "ce", "part": 16})
    for depth, size in ((18, 64), (50, 40)):
        compare_network(f"resnet-{depth}, 8 pictures of {size}x{size}, SGD", lambda: calm_resnet(depth),
                        (8, 3, size, size), 5, {**CALM, "model": f"resnet-{depth}", "loss": "ce", "part": 8, "recompute": 1},
                        runs=RUNS if depth < 50 else RUNS[:2], like_float32=3)
    compare_network("mlp-2-64, smoothed labels, SGD", lambda: hws.models.MLP(50, 2, 64, 10), (16, 50), 10,
                    {**SGD, "model": "mlp-2-64", "loss": "ce", "part": 16, "smoothing": 0.1})
    compare_unet("unet, 16x24x16, 3 levels, Nesterov and clipping", (16, 24, 16), 1, 2, 1, levels=3, base=16)
    compare_unet("unet, 2 channels, anisotropic, biases, parts of 2", (8, 24, 32), 2, 3, 2, levels=4, base=8, bias=True,
                 kernels=[(1, 3, 3), (3, 3, 3), (3, 3, 3), (3, 3, 3)],
                 strides=[(1, 1, 1), (1, 2, 2), (2, 2, 2), (1, 1, 2)], runs=FORCED)
    compare_unet("unet, max pooling, recomputing", (16, 16, 16), 1, 2, 1, levels=3, base=16, max_pool=True, recompute=1)
    compare_unet("unet, regions, 2 channels, biases", (16, 16, 24), 2, 2, 1, levels=3, base=16, bias=True, loss="regions")
    compare_unet("unet, pictures of 32x48", (32, 48), 1, 2, 2, levels=3, base=16)
    compare_unet("resenc, 16x24x16, 3 levels, recomputing", (16, 24, 16), 1, 2, 1, levels=3, base=16, bias=True,
                 blocks=[1, 3, 4], recompute=1)
    compare_unet("resenc, 2 channels, anisotropic, parts of 2", (8, 24, 32), 2, 3, 2, levels=4, base=8, bias=True,
                 blocks=[1, 2, 2, 3], kernels=[(1, 3, 3), (3, 3, 3), (3, 3, 3), (3, 3, 3)],
                 strides=[(1, 1, 1), (1, 2, 2), (2, 2, 2), (1, 1, 2)], runs=FORCED)
    compare_unet("resenc, pictures of 32x48", (32, 48), 1, 2, 2, levels=3, base=16, bias=True, blocks=[1, 3, 4])


# ---- losses and optimisers -----------------------------------------------------------------------------------------------


def losses():
    print("losses, and their gradients under weights")
    torch.manual_seed(3)
    for classes, positions in ((2, 1), (10, 1), (3, 1000), (4, 4913)):
        logits = 3 * torch.randn(5, positions, classes)
        labels = torch.randint(0, classes, (5, positions))
        if positions > 1:
            labels[torch.rand(labels.shape) < 0.1] = -1
        weights = torch.rand(5, dtype=torch.float64)
        bits = torch.randint(0, 2 ** classes, labels.shape)
        plain, bits[labels < 0] = labels, -1
        for kind, smoothing in (("ce", 0), ("ce", 0.1), ("dice-ce", 0), ("dice", 0), ("regions", 0)):
            labels = bits if kind == "regions" else plain
            out = probe("losses", {"logits": logits.numpy(), "labels": labels.numpy().astype(np.int16),
                                   "weights": weights.numpy()}, {"loss": kind, "smoothing": smoothing})
            x = logits.double().movedim(-1, 1).requires_grad_()
            exact = per_example_loss(kind, x, labels, smoothing)
            (weights * exact).sum().backward()
            found = (distance(out["losses"], exact.detach().numpy()),
                     distance(out["gradients"], x.grad.movedim(1, -1).numpy(), 1e-7))
            print(f"  {kind:8} {classes:3} classes, {positions:5} positions {found[0]:11.1e}{found[1]:11.1e}")
            expect(f"loss {kind}", max(found), 1e-5)


def optimizers():
    print("optimisers, 20 steps")
    torch.manual_seed(4)
    start, gradients = torch.randn(1000), torch.randn(20, 1000) * torch.logspace(-3, 1, 1000)
    for kind in ("sgd", "momentum", "nesterov", "adam", "adamw"):
        for decay, largest in ((0, 0), (0.01, 0), (0.01, 12)):
            settings = {"optimizer": kind, "rate": 0.01, "momentum": 0.9, "decay": decay, "clip": largest}
            out = probe("optimizers", {"parameters": start.numpy(), "gradients": gradients.numpy()}, settings)
            values = torch.nn.Parameter(start.double())
            step = optimizer(settings, [values])
            for gradient in gradients.double():
                values.grad = gradient.clone()
                clip([values], settings)
                step.step()
            found = distance(out["parameters"] - start.numpy(), values.detach().numpy() - start.numpy())
            print(f"  {kind:9} decay {decay:<5} clip {largest:<3} {found:11.1e}")
            expect(f"optimiser {kind}", found, 1e-4)


optimizers()
losses()
networks()
if failures:
    sys.exit("\n".join(["These do not agree with PyTorch:", *failures]))
print("the engine agrees with PyTorch")
