"""The stages that the training half adds to a first light (entry point `trainrig.first_light`): a checkpoint slot."""

from __future__ import annotations

import numpy as np

from hil.errors import DeviceFault
from hil.first_light import BringUp, Danger, NotPossible, Seen, Stage
from hil.training.trial.device import Device, refusals
from hil.training.trial.prepare import Loadable, loadable
from hil.training.trial.spec import TrialSpec

NETWORK, CLASSES = "cls1", 10
CAMPAIGN, STEP = 0x1157, 7  # numbers that no campaign of this board has


class CheckpointSlot(Stage):
    """A checkpoint slot of the flash, written by the program that runs from the same flash."""

    name = "checkpoint slot"
    assumes = "the program can write flash while it runs from it, and reads back what it wrote"
    expected = "a slot has the digest of the tensors, and gives them back after they were changed"
    danger = Danger.FLASH
    needs = ("image",)

    def run(self, on: BringUp) -> Seen:
        """Load a network, save it, change a tensor, load the slot."""
        found = loadable(TrialSpec(on.board.name, NETWORK, steps=1, evaluate=0))
        device = Device(on.dut.agent, on.board, on.dut.image)
        room, _ = device.checkpoints()
        if not room:
            raise NotPossible(f"the flash of {on.board.name} has no slots for checkpoints.")
        sizes = [tensor.size for tensor in found.method.plan.tensors]
        with refusals(found.plan.total):
            device.load(found.blob)
            device.configure(found.method.request.configuration(found.settings, found.slots, 0))
            before = device.digests()
            sequence = device.save_checkpoint(CAMPAIGN, STEP, sum(sizes))
            slot = next((one for one in device.checkpoints()[1] if one.sequence == sequence), None)
            if slot is None:
                raise DeviceFault(f"the checkpoint {sequence} that was written is not among the valid ones.")
            changed = self._train(device, found)
            device.load_checkpoint(slot)
            after = device.digests()
        if changed == before:
            raise DeviceFault("a step of training changed no tensor.")
        if after != before:
            raise DeviceFault(f"the tensors that checkpoint {sequence} gives back are not those that were saved.")
        return Seen(
            f"{sum(sizes):,} bytes in slot {slot.slot}, digest {slot.digest:08x}, and back",
            "the program writes its own flash, and no cache shows old bytes of it.",
        )

    @staticmethod
    def _train(device: Device, found: Loadable) -> tuple[int, ...]:
        """Train one step on random samples, and return the digests of the tensors."""
        rng, count = np.random.default_rng(STEP), found.slots
        images = rng.integers(0, 256, (count, *found.method.network.in_shape), np.uint8)
        device.samples(images, np.arange(count) % CLASSES)
        return device.step(0, count).digests


STAGES = (CheckpointSlot,)
