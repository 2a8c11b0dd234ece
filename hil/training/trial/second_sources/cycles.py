"""Plausibility checks of the cycles of a step: sums, least cycles of each phase, no zero or wrapped counts."""

from __future__ import annotations

from collections.abc import Sequence

from hil.link.replies import MOST_LAPS, MOST_STRETCHES, Stepped
from hil.training.methods.figures import LeastCycles
from hil.training.trial.second_sources.figures import HOST, PLAN, Figures

STEP_PHASES = ("perturb", "forward", "backward", "update")  # in the order of `laps`
ALL_PHASES = (*STEP_PHASES, "digest")
LONGEST_S = 24 * 3600.0  # longest plausible step in seconds: no timeout is longer


class CycleCheck:
    """Checks the agent's cycle counts against each other and against the least cycles of a step.

    A board without a counter (`counts` is false) reports zeros.
    """

    def __init__(
        self, figures: Figures, least: LeastCycles, layers: Sequence[str], clock_hz: int, counts: bool
    ) -> None:
        self._figures, self._least, self._layers = figures, least, layers
        self._clock_hz, self._counts = clock_hz, counts

    def steps(self, reply: Stepped, asked: int, steps: int = 1) -> None:
        """Check the reply to `step` or `run`, whose last step has the index `asked`."""
        where = f" in step {asked}" if steps == 1 else f" in {steps:,} steps up to {asked}"
        self._figures.equal("step", reply.step, asked, HOST, where=where)
        self._figures.reported("cycles")
        if not self._counts:
            return
        most = int(steps * LONGEST_S * self._clock_hz)
        for phase in ALL_PHASES:
            least = 1 if phase == "digest" else self._least.phases[phase]
            self._phase(phase, reply.cycles[phase], most, None if least is None else least * steps, where)
        total, parts = reply.cycles["total"], sum(reply.cycles[phase] for phase in ALL_PHASES)
        if total != parts:
            self._figures.refuse(
                "cycles_total", f"the agent reports {total:,}{where}, and its phases add up to {parts:,}."
            )

    def _phase(self, phase: str, cycles: int, most: int, least: int | None, where: str) -> None:
        if cycles > most:
            self._figures.refuse(
                f"cycles_{phase}",
                f"the agent reports {cycles:,}{where}, more than the {most:,} of {LONGEST_S / 3600:g} hours a step.",
            )
        elif least is None:
            return
        elif not least and cycles:
            self._figures.refuse(
                f"cycles_{phase}", f"the agent reports {cycles:,}{where}, but the method does nothing in it: 0."
            )
        elif cycles < least:
            self._figures.refuse(
                f"cycles_{phase}",
                f"the agent reports {cycles:,}{where}, but its work takes at least {least:,}.",
            )

    def profile(self, profile: tuple[Sequence[int], Sequence[int]], reply: Stepped, steps: int = 1) -> bool:
        """Check the cycles by layer, forward and backward, of the steps of a reply; return whether they are usable."""
        for phase, cycles in zip(("forward", "backward"), profile, strict=True):
            if len(cycles) != len(self._layers):
                self._figures.refuse(
                    "profile", f"the agent reports {len(cycles)} layers {phase}, the network has {len(self._layers)}."
                )
                return False
        if self._counts:
            self._figures.confirmed("profile", PLAN)
            self._profile_adds_up(profile, reply, steps)
        return "profile" not in self._figures.wrong

    def _profile_adds_up(self, profile: tuple[Sequence[int], Sequence[int]], reply: Stepped, steps: int) -> None:
        for phase, cycles in zip(("forward", "backward"), profile, strict=True):
            if sum(cycles) != reply.cycles[phase]:
                self._figures.refuse(
                    "profile",
                    f"the layers add up to {sum(cycles):,} cycles {phase}, and the agent reports cycles_{phase} "
                    f"{reply.cycles[phase]:,}.",
                )
        for name, taken, least in zip(self._layers, profile[0], self._least.forward, strict=True):
            if taken < steps * least:
                self._figures.refuse(
                    "profile",
                    f"the agent reports {taken:,} cycles for layer {name} forward, "
                    f"but its products take at least {steps * least:,}.",
                )

    def laps(self, laps: Sequence[Sequence[int]], reply: Stepped, steps: int) -> bool:
        """Check the cycles of each step of a run; return whether they are usable."""
        if not self._counts:
            return True
        figures, kept = self._figures, min(steps, MOST_LAPS)
        figures.confirmed("laps", PLAN)
        if len(laps) != kept or any(len(lap) != len(STEP_PHASES) for lap in laps):
            figures.refuse(
                "laps", f"the agent reports {len(laps):,} laps of {steps:,} steps, but there must be {kept:,}."
            )
            return False
        for index, phase in enumerate(STEP_PHASES):
            cycles, all_of_them = sum(lap[index] for lap in laps), reply.cycles[phase]
            if cycles > all_of_them or (steps == kept and cycles != all_of_them):
                figures.refuse(
                    "laps",
                    f"{len(laps):,} laps add up to {cycles:,} cycles of {phase}, "
                    f"and the agent reports cycles_{phase} {all_of_them:,}.",
                )
            short = min((lap[index] for lap in laps), default=0)
            least = self._least.phases[phase] or 0
            if short < least:
                figures.refuse("laps", f"a lap has {short:,} cycles of {phase}, but its work takes at least {least:,}.")
        return "laps" not in figures.wrong

    def stretches(
        self, made: int, stretches: Sequence[tuple[str, int]], cycles: dict[str, int], total_is_right: bool
    ) -> None:
        """Check the stretches of a step against its cycles by phase, if all that it made were reported.

        If the total cycles agree with the counter, stretches with another sum are wrong.
        """
        if not self._counts or not made:
            return
        if len(stretches) != min(made, MOST_STRETCHES):
            self._figures.refuse(
                "stretches", f"the agent reports {len(stretches)} stretches, but says that there were {made:,}."
            )
            return
        lost = total_is_right and sum(count for _, count in stretches) != sum(cycles[phase] for phase in STEP_PHASES)
        for phase in STEP_PHASES if made <= MOST_STRETCHES else ():
            found = sum(count for name, count in stretches if name == phase)
            if found != cycles[phase]:
                figure = "stretches" if lost else f"cycles_{phase}"
                self._figures.refuse(
                    figure,
                    f"the agent reports {cycles[phase]:,} cycles of {phase} in a step, "
                    f"and its stretches add up to {found:,}.",
                )
