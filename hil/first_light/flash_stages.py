"""Stages that write flash: one sector and back, and the image; then what the image says of itself."""

from __future__ import annotations

import numpy as np

from hil.errors import Blocked, DeviceFault
from hil.first_light.bring_up import BringUp
from hil.first_light.stage import Danger, NotPossible, Seen, Stage
from hil.link.session import check_board_name
from hil.targets.probe import Probe

KEPT = "sector.bin"
SEED = 7


class FlashSector(Stage):
    """One sector of the flash, and its old content again.

    It is where the room for data begins: beside the program, and not in the last sectors, which checkpoints and a
    Teensy's own program for recovery use.
    """

    name = "flash sector"
    assumes = "the flash can be erased and programmed through the probe"
    expected = "random bytes, and then the former content, read back as programmed"
    danger = Danger.FLASH
    gate = True
    needs = ("stub from RAM",)

    def run(self, on: BringUp) -> Seen:
        """Keep the sector in a file, program random bytes, program the former content."""
        probe, room = on.probe, on.board.room_for_data
        if not isinstance(probe, Probe) or room is None:
            raise NotPossible(f"the flash of {on.board.name} is not programmed through a probe here.")
        probe.halt_at_reset()
        on.registers.do(on.facts.supply)
        sector = probe.sector(room.start)
        if sector is None:
            raise Blocked("flash", f"pyOCD's target {on.board.pyocd_target} has no flash at 0x{room.start:08X}.")
        start, size = sector
        before = probe.read(start, size)
        (on.folder / KEPT).write_bytes(before)
        pattern = np.random.default_rng(SEED).integers(0, 256, size, np.uint8).tobytes()
        try:
            probe.program_bytes(start, pattern)
        finally:
            probe.program_bytes(start, before)
        return Seen(
            f"{size:,} bytes at 0x{start:08X}, then their former content ({KEPT} has it)",
            "the flash takes what is programmed; one of its erase cycles was used twice.",
        )


class ImageRuns(Stage):
    """The prebuilt image of this board, flashed by the route of the rig, and its greeting."""

    name = "image"
    assumes = "the prebuilt image of the house starts on this board, and its agent answers"
    expected = "the flash is verified; the greeting has this board's name and clock"
    danger = Danger.FLASH
    gate = True

    def run(self, on: BringUp) -> Seen:
        """Flash and greet."""
        if not on.dut.has_port:
            raise NotPossible(f"{on.board.name} has no serial port here: name one in rig.toml (`serial`).")
        on.dut.serial.baudrate = on.board.baud
        on.dut.flash()
        greeting = on.dut.agent.greeting
        check_board_name(greeting, on.board.name)
        clock_hz = int(greeting["clock_hz"])
        on.figures["image_clock_hz"] = clock_hz
        said = (
            f"{on.dut.image.path.name} by {on.dut.record.route} ({on.dut.record.flash}); the agent says "
            f"{clock_hz / 1e6:g} MHz, CPUID 0x{greeting['cpuid']:08X}"
        )
        if clock_hz != on.board.clock_hz:
            raise DeviceFault(
                f"{said}; the catalogue has {on.board.clock_hz / 1e6:g} MHz: a supply, an oscillator or a PLL did not "
                "come up, and the image runs on without it."
            )
        return Seen(said, "the image starts, its clocks are up by its own word, and the link works.")


STAGES = (FlashSector, ImageRuns)
