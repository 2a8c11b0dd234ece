"""Trained tensors that are read and written, and numbers that the agent must not take."""

from __future__ import annotations

from hil.errors import DeviceFault
from hil.training.graph.graph import Format
from hil.training.trial.agent_checks.refused import expect
from hil.training.trial.agent_checks.traces import stored
from hil.training.trial.lockstep import LockStep

NOT_A_NUMBER = b"\0\0\xc0\x7f"
ONE = b"\0\0\x80\x3f"
MOST_NEGATIVE = {1: b"\x80", 2: b"\0\x80", 4: b"\0\0\0\x80"}  # by size in bytes; no format has it but `affine8`
SCALE, LOW = -16, -8  # places from the end of the weights of a layer in `affine8`: scale, lower end of the range


def check_tensors(trial: LockStep) -> None:
    """Read every tensor, write it again, and offer bytes beyond its end and numbers out of range."""
    device, tensors = trial.device, trial.p.method.tensors
    format = trial.p.method.network.format_of(0)
    for index, (tensor, array) in enumerate(zip(tensors, trial.reference.weights, strict=True)):
        held = stored(array)
        if device.tensor(index, tensor.size) != held:
            raise DeviceFault(f"the bytes of {tensor.name} that the agent sends are not those of the reference.")
        end = tensor.size
        expect(device, ("bad_tensor", index, end), "read_tensor", tensor=index, offset=end, length=1)
        expect(device, ("bad_tensor", index, end + 1), "read_tensor", tensor=index, offset=end + 1, length=0)
        if format is Format.BFP8:  # its weights come as a file
            expect(device, ("network_layer", 0, 5), "write_tensor", tensor=index, offset=0, data=held[:1])
            continue
        device.write(index, held)
        expect(device, ("bad_tensor", index, end - 1), "write_tensor", tensor=index, offset=end - 1, data=b"\0\0")
        for at, number in _out_of_range(trial, index):
            expect(device, ("bad_tensor", index, at), "write_tensor", tensor=index, offset=at, data=number)
    none = len(tensors)
    expect(device, ("bad_tensor", none, 0), "read_tensor", tensor=none, offset=0, length=1)
    if device.digests() != trial.reference.digests():
        raise DeviceFault("the digests of the tensors changed when their own bytes were written.")


def _out_of_range(trial: LockStep, index: int) -> list[tuple[int, bytes]]:
    """Return places in a tensor with numbers that its format does not have there."""
    tensor = trial.p.method.tensors[index]
    name, _, part = tensor.name.partition(".")
    layer = next(layer for layer in trial.p.method.network.layers if layer.name == name)
    match layer.format:
        case Format.AFFINE8 if not part:
            return [(tensor.size + SCALE, NOT_A_NUMBER), (tensor.size + LOW, ONE)]
        case Format.AFFINE8:
            return [(0, NOT_A_NUMBER if part == "bias" else ONE)]
        case Format.FLOAT32:
            return [(0, NOT_A_NUMBER)]
        case Format.TFLITE8 if part:
            return []
    size = tensor.size // tensor.elements
    return [(0, MOST_NEGATIVE[size]), (tensor.size - size, MOST_NEGATIVE[size])]
