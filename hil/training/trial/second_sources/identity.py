"""Compare the agent's reply to `hello` with the catalogue and the image."""

from __future__ import annotations

from hil.boards import Board
from hil.images import Image
from hil.link.replies import Identity
from hil.training.trial.second_sources.figures import CATALOGUE, IMAGE, Figures

NONE = "none"  # reported by a firmware without a cycle counter


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
