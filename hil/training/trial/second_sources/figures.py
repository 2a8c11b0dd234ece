"""The reported figures of a trial: their second sources, and which of them are wrong; those of `hello` first."""

from __future__ import annotations

from dataclasses import dataclass, field

from hil.boards import Board
from hil.errors import DeviceFault
from hil.images import Image
from hil.link.replies import Identity

NONE = "none"  # reported by a firmware without a cycle counter

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
    """The figures that the firmware has reported in a trial.

    Attributes:
        sources: the second sources of every reported figure, in order of use; empty if there is none.
        wrong: for every wrong figure the first message about it, with both values.
    """

    sources: dict[str, list[str]] = field(default_factory=dict)
    wrong: dict[str, str] = field(default_factory=dict)

    def reported(self, *figures: str) -> None:
        """Note that the firmware has reported these figures."""
        for figure in figures:
            self.sources.setdefault(figure, [])

    def confirmed(self, figure: str, source: str) -> None:
        """Note that a second source was compared with a figure, whether or not they agree."""
        sources = self.sources.setdefault(figure, [])
        if source not in sources:
            sources.append(source)

    def refuse(self, figure: str, sentence: str) -> None:
        """Note that a figure is wrong; the first message about it is kept."""
        self.wrong.setdefault(figure, f"{figure}: {sentence}")

    def equal(self, figure: str, reported: int, found: int, source: str, of: str = "", where: str = "") -> None:
        """Compare a figure with what a second source found; unit and place (`where`) begin with a space."""
        self.confirmed(figure, source)
        if reported != found:
            self.refuse(figure, f"the agent reports {reported:,}{of}{where}, {SAYS[source]} {found:,}{of}.")

    def raise_if_wrong(self) -> None:
        """Raise DeviceFault if a figure is wrong, before later results depend on it."""
        if self.wrong:
            raise DeviceFault(" ".join(self.wrong.values()))


def check_identity(figures: Figures, identity: Identity, board: Board, image: Image) -> None:
    """Compare clock, counter and address of the image.

    The user's own firmware may have no counter. If it runs the chip at another clock, the catalogue must have that
    clock, since budgets and times depend on it.

    Raises:
        DeviceFault: one is wrong, so every time of the trial would be wrong.
    """
    figures.equal("clock_hz", identity.clock_hz, board.clock_hz, CATALOGUE, " Hz")
    figures.confirmed("counter", CATALOGUE)
    if identity.counter not in (board.counter, NONE):
        figures.refuse("counter", f"the agent reports {identity.counter}, the catalogue has {board.counter}.")
    figures.equal("image_base", identity.image_base, image.symbols["__image_start"], IMAGE)
    figures.raise_if_wrong()
