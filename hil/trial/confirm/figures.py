"""Which reported figures have a second source, and which of them are wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

from hil.errors import DeviceFault

PROBE, HOST, PLAN, CATALOGUE, IMAGE = "probe", "host", "plan", "catalogue", "image"
HOST_CLOCK, METER, ALONE = "host's clock", "meter", "alone"
SAYS = {
    PROBE: "the probe reads",
    HOST: "the host counts",
    PLAN: "the plan gives",
    CATALOGUE: "the catalogue has",
    IMAGE: "the image has",
}


@dataclass
class Figures:
    """What was reported in a trial.

    Attributes:
        sources: the second sources of every figure that the firmware has reported, in the order in which they were asked; empty: its own word alone.
        wrong: of every wrong figure the first sentence that says so, with both values.
    """

    sources: dict[str, list[str]] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    @property
    def alone(self) -> tuple[str, ...]:
        """Figures that rest on the firmware's own word."""
        return tuple(figure for figure, sources in self.sources.items() if not sources)

    def reported(self, *figures: str) -> None:
        """Note that the firmware has reported these figures."""
        for figure in figures:
            self.sources.setdefault(figure, [])

    def confirmed(self, figure: str, source: str) -> None:
        """Note that a second source was asked about a figure; whether it agrees is said apart."""
        sources = self.sources.setdefault(figure, [])
        if source not in sources:
            sources.append(source)

    def refuse(self, figure: str, sentence: str) -> None:
        """A figure is wrong; the first sentence about it stays."""
        self.wrong.setdefault(figure, f"{figure}: {sentence}")

    def equal(self, figure: str, reported: int, found: int, source: str, of: str = "", where: str = "") -> None:
        """Hold a number against that of a second source.

        Args:
            figure: its name; that of the record is what stands before a dot.
            reported, found: by the firmware, and by the source.
            source: one of the words above.
            of: unit, with a space before it.
            where: step or request, with a space before it.
        """
        self.confirmed(figure, source)
        if reported != found:
            self.refuse(figure, f"the agent reports {reported:,}{of}{where}, {SAYS[source]} {found:,}{of}.")

    def insist(self) -> None:
        """Raise DeviceFault where a figure is wrong: what follows would rest on it."""
        if self.wrong:
            raise DeviceFault(" ".join(self.wrong.values()))
