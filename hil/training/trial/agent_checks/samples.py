"""Samples that are kept or come in pieces; slots that there are not, labels of no class, wrong lengths."""

from __future__ import annotations

from hil.training.trial.agent_checks.refused import expect
from hil.training.trial.device import WINDOWED_BLOCK
from hil.training.trial.lockstep import LockStep


def check_samples(trial: LockStep) -> None:
    """Offer the agent samples that it must refuse, then fill the slots in pieces and classify them."""
    device, slots, network = trial.device, trial.p.slots, trial.p.method.network
    images, labels, _ = trial.next_batch()
    pixels, label = images[0].tobytes(), int(labels[0])
    size, classes = len(pixels), network.classes
    right = {"slot": 0, "label": label}
    if trial.p.kept is not None:
        count = trial.p.kept.count
        expect(device, ("bad_slot", count, count), "kept_samples", slot=0, numbers=(count,))
        expect(device, ("bad_slot", slots, slots), "kept_samples", slot=slots, numbers=(0,))
        expect(device, ("bad_length", 0, 0), "kept_samples", slot=0, numbers=())
    if size < WINDOWED_BLOCK:  # a frame holds a whole sample, and one byte more
        expect(device, ("bad_length", size - 1, size), "samples", **right, pixels=pixels[1:])
        expect(device, ("bad_slot", slots, slots), "samples", slot=slots, label=label, pixels=pixels)
        expect(device, ("bad_slot", classes, classes), "samples", slot=0, label=classes, pixels=pixels)
        expect(device, ("bad_length", size + 1, size), "sample_part", **right, offset=0, pixels=pixels + b"\0")
    expect(device, ("bad_slot", slots, slots), "sample_part", slot=slots, label=label, offset=0, pixels=pixels[:4])
    expect(device, ("bad_length", 0, size), "sample_part", **right, offset=0, pixels=b"")
    expect(device, ("out_of_order", 4, 0), "sample_part", **right, offset=4, pixels=pixels[4:8])
    expect(device, None, "sample_part", **right, offset=0, pixels=pixels[:5])
    expect(device, ("out_of_order", 4, 5), "sample_part", **right, offset=4, pixels=pixels[4:8])
    last = size - 1
    for at in range(5, last, WINDOWED_BLOCK):
        expect(device, None, "sample_part", **right, offset=at, pixels=pixels[at : min(at + WINDOWED_BLOCK, last)])
    expect(device, ("bad_length", 2, 1), "sample_part", **right, offset=last, pixels=pixels[-1:] + b"\0")
    expect(device, ("slots_empty", 0, 1), "infer", count=1)
    expect(device, None, "sample_part", **right, offset=last, pixels=pixels[-1:])
    device.infer(1, classes)
