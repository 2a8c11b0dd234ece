"""Compare the agent's memory figures with probe, plan and image (docs/reported-figures.md)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hil.dut import CoreProbe, UnclaimedRam
from hil.images import Image
from hil.images.ram_map import static_bytes
from hil.link.replies import AgentMemory
from hil.training.trial.second_sources.figures import IMAGE, PLAN, PROBE, Figures
from hil.training.trial.watermarks import ARENA_PAINT, Watermarks, stack_peak

if TYPE_CHECKING:
    from hil.training.graph.plan import Plan

FILLED = ("labels", "samples", "act", "grad", "err", "value", "velocity")  # buffers that a step fills completely
ROUNDED = 7  # most bytes of padding at the end of a buffer
LOOKED_AT = 64  # bytes that are read below the end of the filled buffers
BYTES = " bytes"
UNCLAIMED_RAM = "unclaimed_ram"
OVERRUN = "no paint is left at the bottom of the stack, which has overrun or was not painted"
Read = Callable[[int, int], bytes]


def least_arena(plan: Plan) -> int:
    """Return the least arena peak after a step: the highest end of a buffer that it fills. Scratch may stay unused."""
    filled = (buffer for buffer in plan.buffers if buffer.name.partition("[")[0] in FILLED)
    return max((buffer.offset + buffer.size - ROUNDED for buffer in filled), default=0)


@dataclass
class MemoryCheck:
    """Checks of the board's memory."""

    figures: Figures
    image: Image
    plan: Plan
    probe: CoreProbe | None

    def after_step(self, step: int) -> None:
        """Read the highest bytes that a step fills through the probe: paint there means that it was painted again."""
        if self.probe is None:
            return
        end = least_arena(self.plan)
        start = max(end - LOOKED_AT, 0) & ~3
        seen = self.probe.read(self.image.symbols["__arena_start"] + start, end - start)
        painted = (ARENA_PAINT * (len(seen) // len(ARENA_PAINT) + 1))[: len(seen)]
        if seen and seen == painted:
            self.figures.refuse(
                "arena_peak",
                f"after step {step} the probe reads paint in bytes {start:,} to {end:,} of the arena, "
                "which every step fills: it was painted again.",
            )

    def stack_before(self) -> int | None:
        """Return the stack's peak by the probe, before the agent reports it; None without a probe."""
        return stack_peak(self.probe.read, self.image) if self.probe is not None else None

    def compare(self, reported: AgentMemory, before: int | None, seen: Watermarks | None, stepped: bool) -> Watermarks:
        """Compare the watermarks of agent and probe; return the larger of both for each.

        The probe has read the stack's peak before the agent's report and all after it; `stepped`: the board trained.
        """
        figures, agent = self.figures, Watermarks(reported.static_bytes, reported.arena_peak, reported.stack_peak)
        figures.reported("stack_peak", "arena_peak")
        figures.equal("static_bytes", agent.static, static_bytes(self.image), IMAGE, BYTES)
        for area in ("arena", "stack"):
            ends = ("start", "end") if area == "arena" else ("bottom", "top")
            start, end = (self.image.symbols[f"__{area}_{name}"] for name in ends)
            figures.equal(f"{area}_base", getattr(reported, f"{area}_base"), start, IMAGE)
            figures.equal(f"{area}_size", getattr(reported, f"{area}_size"), end - start, IMAGE, BYTES)
        self._arena(agent.arena_peak, seen, stepped)
        self._stack(agent.stack_peak, reported.stack_size, before, seen)
        return agent if seen is None else agent.larger(seen)

    def _arena(self, peak: int, seen: Watermarks | None, stepped: bool) -> None:
        figures, least, most = self.figures, least_arena(self.plan), self.plan.total
        figures.confirmed("arena_peak", PLAN)
        if peak > most:
            figures.refuse("arena_peak", f"the arena was written up to {peak:,} bytes, the plan ends at {most:,}.")
        elif stepped and peak < least:
            figures.refuse(
                "arena_peak",
                f"the agent reports {peak:,} bytes, the plan has a step write at least {least:,} of its {most:,}.",
            )
        if seen is not None:
            figures.equal("arena_peak", peak, seen.arena_peak, PROBE, BYTES)

    def _stack(self, peak: int, size: int, before: int | None, seen: Watermarks | None) -> None:
        """Check the stack's peak; it may grow between two readings."""
        figures = self.figures
        if not 0 < peak < size:
            figures.refuse("stack_peak", f"the agent reports {peak:,} of {size:,} bytes: {OVERRUN}.")
        if before is None or seen is None:
            return
        figures.confirmed("stack_peak", PROBE)
        if seen.stack_peak >= self.image.symbols["__stack_top"] - self.image.symbols["__stack_bottom"]:
            figures.refuse(
                "stack_peak", f"the agent reports {peak:,} bytes, the probe reads {seen.stack_peak:,}: {OVERRUN}."
            )
        elif not before <= peak <= seen.stack_peak:
            figures.refuse(
                "stack_peak",
                f"the agent reports {peak:,} bytes, the probe reads {before:,} before that and {seen.stack_peak:,} "
                "after it.",
            )


def check_unclaimed(figures: Figures, ram: UnclaimedRam | None) -> dict[int, int]:
    """Compare RAM that nothing in the image claims with its content before; without a probe, `ram` is None.

    Returns:
        Bytes that were written by the address of each area, without areas that could not be compared.
    """
    figures.reported(UNCLAIMED_RAM)
    areas = ram.compared() if ram is not None else []
    for area in areas:
        figures.confirmed(UNCLAIMED_RAM, PROBE)
        if area.written:
            figures.refuse(
                UNCLAIMED_RAM,
                f"the firmware wrote {area}, and nothing in the image claims them: place them in a section, so that "
                "they are counted (docs/memory.md).",
            )
    return {area.start: area.written for area in areas}
