"""Tensors as torch.load(map_location="cuda") gives them, on a machine without a GPU."""
import torch


class OnGpu(torch.Tensor):
    """Refuses numpy until it is copied to the CPU, as a tensor on a GPU does."""

    def _refuse(self, *_):
        raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                        "first.")

    numpy = __array__ = _refuse

    def cpu(self):
        return self.as_subclass(torch.Tensor)


def on_gpu(state):
    """The state with its tensors on a GPU."""
    if isinstance(state, dict):
        return {name: on_gpu(value) for name, value in state.items()}
    return state.as_subclass(OnGpu) if isinstance(state, torch.Tensor) else state
