"""The networks of the hws program as PyTorch modules, and their weights in both directions.

    model = hws.models.WideResNet(16, 1, classes=10)
    hws.models.load_weights(model, "run/best.safetensors")      # what hws train has written
    hws.models.save_weights(model, "weights.safetensors")       # what hws train can begin with

Names and shapes of the parameters are those of the files.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Union

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import _safetensors
from .errors import ArgumentError, CorruptStateError

__all__ = ["MLP", "WideResNet", "ResNet", "UNet", "ResidualEncoderUNet", "load_weights", "save_weights"]

#: Names that begin so are no weights: the optimiser's state of a checkpoint and the like.
NOT_WEIGHTS = "hws."


# ---- the fully connected network -------------------------------------------------------------------------------


class MLP(nn.Module):
    """``mlp-L-m``, the fully connected network of the paper's Assumption 1: 1 + L hidden layers of m nodes, no biases.

    >>> import hws.models, torch
    >>> hws.models.MLP(inputs=4, layers=2, nodes=8, classes=3)(torch.zeros(5, 4)).shape
    torch.Size([5, 3])
    """

    def __init__(self, inputs: int, layers: int, nodes: int, classes: int):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(nodes if n else inputs, nodes, bias=False) for n in range(layers + 1))
        self.output = nn.Linear(nodes, classes, bias=False)
        for layer in self.layers:
            nn.init.normal_(layer.weight, std=(2 / nodes) ** 0.5)
        nn.init.normal_(self.output.weight, std=(1 / classes) ** 0.5)

    def forward(self, x: Tensor) -> Tensor:
        """Logits, one row for each item of the batch; images are flattened."""
        x = x.flatten(1)
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.output(x)


# ---- the wide residual network -----------------------------------------------------------------------------------


class _Residual(nn.Module):
    """Where the number of channels or the size changes, the shortcut is a 1x1 convolution of the activated input."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        changes = inputs != outputs or stride != 1
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if changes else None

    def forward(self, x: Tensor) -> Tensor:
        active = F.relu(self.norm1(x), inplace=True)
        branch = self.conv2(F.relu(self.norm2(self.conv1(active)), inplace=True))
        return branch + (x if self.shortcut is None else self.shortcut(active))


class WideResNet(nn.Module):
    """``wrn-DEPTH-WIDTH``, the pre-activation network of Zagoruyko and Komodakis; the depth is 10, 16, 22, 28 and so on.

    >>> import hws.models, torch
    >>> hws.models.WideResNet(16, 1)(torch.zeros(5, 1, 28, 28)).shape
    torch.Size([5, 10])
    """

    def __init__(self, depth: int = 16, width: int = 1, classes: int = 10, channels: int = 1):
        super().__init__()
        if depth < 10 or (depth - 4) % 6:
            raise ArgumentError(f"the depth of a wide residual network is 10, 16, 22, 28 and so on, not {depth}")
        blocks: List[nn.Module] = []
        inputs = 16
        for group, outputs in enumerate((16 * width, 32 * width, 64 * width)):
            for block in range((depth - 4) // 6):
                blocks.append(_Residual(inputs, outputs, 2 if group > 0 and block == 0 else 1))
                inputs = outputs
        self.conv = nn.Conv2d(channels, 16, 3, 1, 1, bias=False)
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.BatchNorm2d(inputs)
        self.classifier = nn.Linear(inputs, classes)
        _begin(self, 0)

    def forward(self, x: Tensor) -> Tensor:
        """Logits, one row for each image of (batch, channels, height, width)."""
        x = self.conv(x)
        for block in self.blocks:
            x = block(x)
        return self.classifier(F.relu(self.norm(x), inplace=True).mean((2, 3)))


# ---- the residual networks -----------------------------------------------------------------------------------------


class _BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inputs: int, features: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, features, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(features)
        self.conv2 = nn.Conv2d(features, features, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(features)
        self.downsample = _projection(inputs, features, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)), inplace=True)))
        return F.relu(out + (x if self.downsample is None else self.downsample(x)), inplace=True)


class _Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs: int, features: int, stride: int):
        super().__init__()
        outputs = self.expansion * features
        self.conv1 = nn.Conv2d(inputs, features, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(features)
        self.conv2 = nn.Conv2d(features, features, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(features)
        self.conv3 = nn.Conv2d(features, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = _projection(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn3(self.conv3(F.relu(self.bn2(self.conv2(out)), inplace=True)))
        return F.relu(out + (x if self.downsample is None else self.downsample(x)), inplace=True)


def _projection(inputs: int, outputs: int, stride: int) -> Optional[nn.Module]:
    if inputs == outputs and stride == 1:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    """``resnet-18``, ``resnet-34`` and ``resnet-50`` with the names and numbers of torchvision's.

    >>> import hws.models, torch
    >>> hws.models.ResNet(18, classes=2)(torch.zeros(1, 3, 64, 64)).shape
    torch.Size([1, 2])
    """

    def __init__(self, depth: int = 18, classes: int = 1000, channels: int = 3):
        super().__init__()
        blocks = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3)}.get(depth)
        if blocks is None:
            raise ArgumentError(f"the depth of a residual network is 18, 34 or 50, not {depth}")
        block: Any = _Bottleneck if depth == 50 else _BasicBlock
        self.conv1 = nn.Conv2d(channels, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        inputs = 64
        for group, count in enumerate(blocks):
            stage: List[nn.Module] = []
            for index in range(count):
                stage.append(block(inputs, 64 << group, 2 if group and index == 0 else 1))
                inputs = block.expansion * (64 << group)
            self.add_module(f"layer{group + 1}", nn.Sequential(*stage))
        self.fc = nn.Linear(inputs, classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        """Logits, one row for each image of (batch, channels, height, width)."""
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x)), inplace=True), 3, 2, 1)
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
        return self.fc(x.mean((2, 3)))


# ---- the U-Net ---------------------------------------------------------------------------------------------------

_SLOPE = 0.01
_LAYERS: Dict[int, Any] = {
    2: (nn.Conv2d, nn.ConvTranspose2d, nn.InstanceNorm2d, F.max_pool2d),
    3: (nn.Conv3d, nn.ConvTranspose3d, nn.InstanceNorm3d, F.max_pool3d),
}
_AVERAGE_POOL: Dict[int, Any] = {2: F.avg_pool2d, 3: F.avg_pool3d}
Sizes = Sequence[Union[int, Sequence[int]]]


class _Norm(nn.Module):
    """Convolution and instance normalisation."""

    def __init__(self, dimensions: int, inputs: int, outputs: int, kernel: Sequence[int], stride: Sequence[int],
                 bias: bool = True):
        super().__init__()
        convolution, _, norm, _ = _LAYERS[dimensions]
        self.conv = convolution(inputs, outputs, kernel, stride, tuple(size // 2 for size in kernel), bias=bias)
        self.norm = norm(outputs, affine=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.conv(x))


class _Block(_Norm):
    """Convolution, instance normalisation, leaky ReLU."""

    def forward(self, x: Tensor) -> Tensor:
        return F.leaky_relu(super().forward(x), _SLOPE, inplace=True)


def _per_level(sizes: Optional[Sizes], levels: int, dimensions: int, usual: int, what: str) -> List[Sequence[int]]:
    sizes = [usual] * levels if sizes is None else list(sizes)
    rows: List[Sequence[int]] = [(size,) * dimensions if isinstance(size, int) else tuple(size) for size in sizes]
    if len(rows) != levels or any(len(row) != dimensions for row in rows):
        raise ArgumentError(f"{what} must be {levels}, one per level, each a number or {dimensions} of them")
    return rows


class UNet(nn.Module):
    """``unet``, nnU-Net's U-Net: two blocks per level, heads for deep supervision on all levels but the coarsest.

    Args:
        channels, classes: of the input and the output.
        levels: how many; level 0 is the finest.
        base, cap: features of level 0, doubled from level to level up to the cap (320 in 3D, 512 in 2D).
        kernels: of each level, a number or one per axis (3).
        strides: of each level; stride l leads from level l - 1 to level l, and stride 0 is 1.
        max_pool: go down by max pooling instead of by the stride of a level's first convolution.
        bias: biases in transposed convolutions and heads.
        heads: how many outputs, finest first; as many as there are levels but one unless told otherwise.
        dimensions: 2 or 3.

    In training mode it returns the list of all outputs, finest first; in evaluation mode the finest.

    >>> import hws.models, torch
    >>> model = hws.models.UNet(channels=1, classes=3, levels=3, base=4)
    >>> [tuple(output.shape) for output in model(torch.zeros(1, 1, 8, 8, 8))]
    [(1, 3, 8, 8, 8), (1, 3, 4, 4, 4)]
    >>> model.eval()(torch.zeros(1, 1, 8, 8, 8)).shape
    torch.Size([1, 3, 8, 8, 8])
    """

    def __init__(self, channels: int, classes: int, levels: int = 4, base: int = 32, cap: Optional[int] = None,
                 kernels: Optional[Sizes] = None, strides: Optional[Sizes] = None, max_pool: bool = False,
                 bias: bool = False, heads: Optional[int] = None, dimensions: int = 3):
        super().__init__()
        self._pool = _LAYERS[dimensions][3] if dimensions in _LAYERS else None
        features, sizes, steps = _widths(levels, base, cap, kernels, strides, heads, dimensions)
        one = (1,) * dimensions
        self._pooling = [stride if max_pool and level else None for level, stride in enumerate(steps)]

        def pair(level: int, inputs: int, stride: Sequence[int]) -> nn.ModuleList:
            outputs, kernel = features[level], sizes[level]
            return nn.ModuleList([_Block(dimensions, inputs, outputs, kernel, stride),
                                  _Block(dimensions, outputs, outputs, kernel, one)])

        self.encoder = nn.ModuleList(
            pair(level, features[level - 1] if level else channels, one if max_pool or level == 0 else steps[level])
            for level in range(levels))
        self.up = _ups(features, steps, dimensions, bias)
        self.decoder = nn.ModuleList(pair(level, 2 * features[level], one) for level in range(levels - 1))
        self.heads = _heads(features, classes, heads or levels - 1, dimensions, bias)
        _begin(self, _SLOPE)

    def forward(self, x: Tensor) -> Union[Tensor, List[Tensor]]:
        """Logits for each voxel or pixel: in training mode a list of all outputs, finest first; else the finest alone."""
        skips = []
        for pooling, blocks in zip(self._pooling, self.encoder):
            x = _run(blocks, x if pooling is None else self._pool(x, pooling, pooling))
            skips.append(x)
        return _decode(self, skips)


class _ResidualBlock(nn.Module):
    """Two convolutions are added to the input, averaged over the stride and projected where the features change."""

    def __init__(self, dimensions: int, inputs: int, outputs: int, kernel: Sequence[int], stride: Sequence[int]):
        super().__init__()
        one = (1,) * dimensions
        self._average, self._stride = _AVERAGE_POOL[dimensions], tuple(stride)
        self.conv1 = _Block(dimensions, inputs, outputs, kernel, stride)
        self.conv2 = _Norm(dimensions, outputs, outputs, kernel, one)
        self.skip = _Norm(dimensions, inputs, outputs, one, one, bias=False) if inputs != outputs else None

    def forward(self, x: Tensor) -> Tensor:
        residual = self._average(x, self._stride, self._stride) if max(self._stride) > 1 else x
        residual = residual if self.skip is None else self.skip(residual)
        return F.leaky_relu(self.conv2(self.conv1(x)) + residual, _SLOPE, inplace=True)


class ResidualEncoderUNet(nn.Module):
    """``resenc-m`` and ``resenc-l``, nnU-Net's U-Net with a residual encoder, which it calls ResidualEncoderUNet.

    A stem, residual blocks on the way down (1, 3, 4, then 6 in each level, unless told otherwise), one block on the way up;
    biases in transposed convolutions and heads. The arguments are those of :class:`UNet`; ``blocks`` of each level.

    >>> import hws.models, torch
    >>> model = hws.models.ResidualEncoderUNet(channels=1, classes=3, levels=3, base=4)
    >>> [tuple(output.shape) for output in model(torch.zeros(1, 1, 8, 8, 8))]
    [(1, 3, 8, 8, 8), (1, 3, 4, 4, 4)]
    """

    def __init__(self, channels: int, classes: int, levels: int = 4, base: int = 32, cap: Optional[int] = None,
                 kernels: Optional[Sizes] = None, strides: Optional[Sizes] = None,
                 blocks: Optional[Sequence[int]] = None, heads: Optional[int] = None, dimensions: int = 3):
        super().__init__()
        features, sizes, steps = _widths(levels, base, cap, kernels, strides, heads, dimensions)
        one = (1,) * dimensions
        counts = [1, 3, 4, *[6] * levels][:levels] if blocks is None else list(blocks)
        if len(counts) != levels or min(counts) < 1:
            raise ArgumentError(f"blocks must be {levels} numbers, one per level, each at least 1")

        def stage(level: int) -> nn.ModuleList:
            inputs, outputs = features[max(level - 1, 0)], features[level]
            return nn.ModuleList(
                _ResidualBlock(dimensions, outputs if block else inputs, outputs, sizes[level],
                               one if block or level == 0 else steps[level]) for block in range(counts[level]))

        self.stem = _Block(dimensions, channels, features[0], sizes[0], one)
        self.encoder = nn.ModuleList(stage(level) for level in range(levels))
        self.up = _ups(features, steps, dimensions, True)
        self.decoder = nn.ModuleList(
            nn.ModuleList([_Block(dimensions, 2 * features[level], features[level], sizes[level], one)])
            for level in range(levels - 1))
        self.heads = _heads(features, classes, heads or levels - 1, dimensions, True)
        _begin(self, _SLOPE)
        for layer in self.modules():    # a block begins as its skip
            if isinstance(layer, _ResidualBlock):
                nn.init.zeros_(layer.conv2.norm.weight)

    def forward(self, x: Tensor) -> Union[Tensor, List[Tensor]]:
        """Logits for each voxel or pixel: in training mode a list of all outputs, finest first; else the finest alone."""
        x = self.stem(x)
        skips = []
        for blocks in self.encoder:
            x = _run(blocks, x)
            skips.append(x)
        return _decode(self, skips)


def _widths(levels: int, base: int, cap: Optional[int], kernels: Optional[Sizes], strides: Optional[Sizes],
            heads: Optional[int], dimensions: int) -> Any:
    """Features, kernels and strides of all levels."""
    if dimensions not in _LAYERS or levels < 2 or not 0 < (heads or 1) < levels:
        raise ArgumentError("a U-Net has 2 or 3 dimensions, 2 levels or more, and a head per level but the coarsest")
    cap = cap or (320 if dimensions == 3 else 512)
    return ([min(cap, base * 2 ** level) for level in range(levels)],
            _per_level(kernels, levels, dimensions, 3, "kernels"),
            _per_level([1] + [2] * (levels - 1) if strides is None else strides, levels, dimensions, 2, "strides"))


def _ups(features: Sequence[int], strides: Sequence[Sequence[int]], dimensions: int, bias: bool) -> nn.ModuleList:
    transposed = _LAYERS[dimensions][1]
    return nn.ModuleList(
        transposed(features[level + 1], features[level], strides[level + 1], strides[level + 1], bias=bias)
        for level in range(len(features) - 1))


def _heads(features: Sequence[int], classes: int, count: int, dimensions: int, bias: bool) -> nn.ModuleList:
    return nn.ModuleList(_LAYERS[dimensions][0](features[level], classes, 1, bias=bias) for level in range(count))


def _decode(model: Any, skips: Sequence[Tensor]) -> Union[Tensor, List[Tensor]]:
    """The way up, from the coarsest of the skips; in evaluation mode the finest output alone."""
    x = skips[-1]
    outputs: List[Tensor] = []
    for level in reversed(range(len(model.decoder))):
        x = _run(model.decoder[level], torch.cat([model.up[level](x), skips[level]], 1))
        if level < len(model.heads) and (model.training or level == 0):
            outputs.insert(0, model.heads[level](x))
    return outputs if model.training else outputs[0]


def _run(blocks: nn.ModuleList, x: Tensor) -> Tensor:
    for block in blocks:
        x = block(x)
    return x


def _begin(module: nn.Module, slope: float) -> None:
    """He's initialisation for an activation of this slope below zero; biases are zero."""
    for layer in module.modules():
        if isinstance(layer, (nn.Linear, nn.modules.conv._ConvNd)):
            nn.init.kaiming_normal_(layer.weight, a=slope)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


# ---- weights ---------------------------------------------------------------------------------------------------------


def load_weights(module: nn.Module, path: Any) -> None:
    """Reads the weights of a network from a safetensors file, such as those that ``hws train`` writes.

    Strict: the file must hold exactly the module's tensors, in their shapes, as F32 (counters as I64), and finite. What a
    checkpoint holds beside weights, under names that begin with ``hws.``, is passed over. Raises
    :class:`hws.CorruptStateError` with the name of the tensor that does not fit, and leaves the module as it was.
    """
    tensors, _ = _safetensors.read(path)
    found = {name: array for name, array in tensors.items() if not name.startswith(NOT_WEIGHTS)}
    wanted = module.state_dict()
    for name, tensor in wanted.items():
        if name not in found:
            raise CorruptStateError(f"{path}: there is no tensor '{name}': is it a file of this model?")
        array, dtype = found[name], np.dtype(np.float32 if tensor.is_floating_point() else np.int64)
        if array.dtype != dtype or array.shape != tuple(tensor.shape):
            raise CorruptStateError(f"{path}: the tensor '{name}' is {array.dtype} {list(array.shape)}, but the model "
                                    f"needs {dtype} {list(tensor.shape)}")
        if not np.isfinite(array).all():
            raise CorruptStateError(f"{path}: the tensor '{name}' holds values that are not finite")
    for name in found:
        if name not in wanted:
            raise CorruptStateError(f"{path}: the tensor '{name}' has no place in this network: is it a file of "
                                    "another model?")
    with torch.no_grad():
        for name, tensor in wanted.items():
            tensor.copy_(torch.from_numpy(found[name].copy()))


def save_weights(module: nn.Module, path: Any) -> None:
    """Writes the weights of a network to a safetensors file that the hws program and :func:`load_weights` read.

    Values become F32, counters I64. The file is replaced at once, or not at all.
    """
    arrays = {}
    for name, tensor in module.state_dict().items():
        dtype = torch.float32 if tensor.is_floating_point() else torch.int64
        arrays[name] = tensor.detach().to("cpu", dtype).numpy()
        if name.startswith(NOT_WEIGHTS) or not np.isfinite(arrays[name]).all():
            raise ArgumentError(f"'{name}' cannot be saved: names must not begin with '{NOT_WEIGHTS}', and values must "
                                "be finite")
    _safetensors.write(path, arrays)
