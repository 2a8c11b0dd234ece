"""Stages with the house image: its line, DMA and cache, watermark, sleep, and the core's clock at full speed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hil.errors import DeviceFault
from hil.first_light.bring_up import BringUp
from hil.first_light.counter import Counter
from hil.first_light.ram_stages import DHCSR, S_SLEEP
from hil.first_light.stage import Danger, NotPossible, Seen, Stage
from hil.first_light.stub import Command
from hil.link.failures import Refused
from hil.steady_clock import steady_s

ECHOES, ECHO_BYTES, SEED = 16, 1000, 16
MPU_CTRL = 0xE000_ED94  # ARM DDI 0403E.e, B3.5.5
CLOCK_ERROR = 0.01  # a crystal is far better; an RC oscillator behind a PLL is not


class ByDma(Stage):
    """Frames through the image's receiver: by DMA and past the caches, where the board has them."""

    name = "DMA"
    assumes = "what the DMA moves is what core and line see, whatever a cache holds"
    expected = f"{ECHOES} different frames of {ECHO_BYTES} bytes come back as sent, none damaged"
    danger = Danger.RAM
    needs = ("image",)

    def run(self, on: BringUp) -> Seen:
        """Echo frames of random bytes."""
        session = on.dut.agent
        session.check_line()
        before = replace(session.counters)
        for number in range(ECHOES):
            data = np.random.default_rng([SEED, number]).integers(0, 256, ECHO_BYTES, np.uint8).tobytes()
            try:
                back = session.request("echo", data=data)["data"]
            except Refused as refused:
                raise NotPossible(f"the agent of this image has no echo ({refused}).") from refused
            if back != data:
                wrong = sum(one != other for one, other in zip(data, back, strict=False))
                raise DeviceFault(f"{wrong} bytes of frame {number} come back changed although its CRC is right.")
        now = session.counters
        lost, repeated = now.naks - before.naks, now.frames_repeated - before.frames_repeated
        damaged = now.damaged - before.damaged
        if lost or damaged:
            raise DeviceFault(
                f"{lost} frames came damaged to the board and {damaged} to the host: bytes are lost or stale (DMA, "
                "cache, overrun, adapter)."
            )
        slow = f"; {repeated} were sent again after a time-out: an end was slow" if repeated else ""
        return Seen(
            f"{ECHOES} frames of {ECHO_BYTES} bytes{slow}",
            "line, DMA (where there is one) and core show the same bytes.",
        )


class Watermark(Stage):
    """The stack's highest use by the agent, and by the probe."""

    name = "watermark and cache"
    assumes = "the probe sees the stack that the core has written, also where a cache holds it"
    expected = "agent and probe count the same peak of the stack, within what runs between both"
    danger = Danger.READS
    needs = ("image",)

    def run(self, on: BringUp) -> Seen:
        """Ask both."""
        reply = on.dut.agent.request("memory")
        own, size = int(reply["stack_peak"]), int(reply["stack_size"])
        if not 0 < own <= size:
            raise DeviceFault(f"the agent says that {own} bytes of {size} of its stack were in use.")
        if not on.dut.has_probe:
            return Seen(f"{own} of {size} bytes by the agent", "no probe is here to confirm it.")
        seen = on.dut.stack_peak
        if seen < own or seen > size:
            raise DeviceFault(
                f"the agent counts {own} bytes of its stack, the probe {seen} of {size}: the probe reads past a cache, "
                "or does not see this RAM."
            )
        return Seen(f"{own} bytes by the agent, {seen} by the probe, of {size}", "core and probe agree about RAM.")


class ImageSleeps(Stage):
    """The agent waits in WFI, the probe looks at it meanwhile, and the line wakes it."""

    name = "sleep of the image"
    assumes = "the agent sleeps between requests, the probe can look, and the line wakes the core"
    expected = "the core is asleep; RAM can be read; an echo comes back after it"
    danger = Danger.READS
    needs = ("image",)

    def run(self, on: BringUp) -> Seen:
        """Look at the sleeping core, then send a request."""
        if on.dut.endpoints.probe is None:
            asleep = any(sample.asleep for sample in on.probe.sample())
        else:
            asleep = any(bool(on.registers.word(DHCSR) & S_SLEEP) for _ in range(20))
        reply = on.dut.agent.request("memory")
        if on.probe.read_ram(int(reply["stack_base"]), 4) is None:
            raise DeviceFault("RAM cannot be read while the core sleeps: the debug port needs its clock in sleep.")
        if not asleep:
            raise DeviceFault("the core was never asleep while the agent had nothing to do: WFI does not stop it.")
        return Seen("asleep, readable, and awake for a request", "sleep, debug in sleep, and wake by the line work.")


class ImageClock(Stage):
    """The core's clock at full speed, by its counter and the host's clock."""

    name = "cycle counter"
    assumes = "the core's clock is the one that the image says"
    expected = f"the cycle counter goes at that frequency within {100 * CLOCK_ERROR:g} %"
    danger = Danger.RAM
    needs = ("image",)

    def run(self, on: BringUp) -> Seen:
        """Halt the image, let the stub run with the image's clocks, and read the counter twice."""
        if on.is_simulated:
            raise NotPossible(f"the time of {on.dut.reality} is its own, and not that of this computer.")
        on.probe.halt()
        if on.board.core != "cortex-m0plus":
            on.registers.put(MPU_CTRL, 0)  # the image forbids to execute from its RAM
        on.stub().start(Command.SPIN)
        hz, error_hz = Counter(on.board, on.registers).frequency(steady_s)
        wanted = on.figures["image_clock_hz"]
        on.figures["core_hz"] = {"value": hz, "half_width": error_hz}
        on.dut.reset()
        said = f"{hz / 1e6:.3f} MHz +- {error_hz / 1e6:.3f} MHz"
        if abs(hz - wanted) > CLOCK_ERROR * wanted + error_hz:
            raise DeviceFault(f"{said}, and the image says {wanted / 1e6:g} MHz: every figure in seconds is wrong.")
        return Seen(said, "cycles are time at the frequency that the image says.")


STAGES = (ByDma, Watermark, ImageSleeps, ImageClock)
