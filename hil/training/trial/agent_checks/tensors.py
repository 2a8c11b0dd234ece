"""Trained tensors that are read, written together and each alone, and numbers that the agent must not take."""

from __future__ import annotations

import numpy as np

from hil.errors import DeviceFault
from hil.training.graph.formats import Format
from hil.training.graph.node import Node
from hil.training.trial.agent_checks.refused import expect
from hil.training.trial.agent_checks.traces import compare_trace, stored
from hil.training.trial.lockstep import LockStep

NOT_A_NUMBER = b"\0\0\xc0\x7f"
ONE = b"\0\0\x80\x3f"
MOST_NEGATIVE = {1: b"\x80", 2: b"\0\x80", 4: b"\0\0\0\x80"}  # by size in bytes; no format has it but `affine8`
SCALE, LOW = -16, -8  # places from the end of the weights of a layer in `affine8`: scale, lower end of the range


def check_tensors(trial: LockStep) -> None:
    """Read every tensor, write it again, and offer bytes beyond its end and numbers out of range."""
    device, tensors = trial.device, trial.p.method.plan.tensors
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
    if format is not Format.BFP8:
        _check_alone(trial)
    none = len(tensors)
    expect(device, ("bad_tensor", none, 0), "read_tensor", tensor=none, offset=0, length=1)
    if device.digests() != trial.reference.digests():
        raise DeviceFault("the digests of the tensors changed when their own bytes were written.")


def _check_alone(trial: LockStep) -> None:
    """Write each tensor alone with other numbers: what the agent derives from it must follow, here and behind it."""
    images, labels, _ = trial.next_batch()
    batch = images[: trial.p.slots], labels[: trial.p.slots]
    weights = list(trial.reference.weights)
    for index, array in enumerate(weights):
        others = [*weights[:index], _others(trial, index, array), *weights[index + 1 :]]
        trial.device.write(index, stored(others[index]))
        compare_trace(trial, others, *batch)
        trial.device.write(index, stored(array))


def _others(trial: LockStep, index: int, array: np.ndarray) -> np.ndarray:
    """Return other numbers that a tensor may have: the same in reverse; in `affine8` a range twice as wide."""
    if _layer_of(trial, index).format is not Format.AFFINE8 or trial.p.method.plan.tensors[index].name.endswith(
        ".bias"
    ):
        return array[..., ::-1].copy()
    wider = np.frombuffer(stored(array), np.uint8).copy()
    wider[LOW:] = (2 * wider[LOW:].view("<f4")).view(np.uint8)
    return wider.view(array.dtype).reshape(array.shape)


def _layer_of(trial: LockStep, index: int) -> Node:
    name = trial.p.method.plan.tensors[index].name.partition(".")[0]
    return next(layer for layer in trial.p.method.network.layers if layer.name == name)


def _out_of_range(trial: LockStep, index: int) -> list[tuple[int, bytes]]:
    """Return places in a tensor with numbers that its format does not have there."""
    tensor = trial.p.method.plan.tensors[index]
    part = tensor.name.partition(".")[2]
    match _layer_of(trial, index).format:
        case Format.AFFINE8 if not part:
            return [(tensor.size + SCALE, NOT_A_NUMBER), (tensor.size + LOW, ONE)]
        case Format.AFFINE8:
            return [(0, NOT_A_NUMBER if part == "bias" else ONE)]
        case Format.FLOAT32:
            return [(0, NOT_A_NUMBER)]
        case Format.TFLITE8 if part == "bias":
            return []
    size = tensor.size // tensor.elements
    return [(0, MOST_NEGATIVE[size]), (tensor.size - size, MOST_NEGATIVE[size])]
