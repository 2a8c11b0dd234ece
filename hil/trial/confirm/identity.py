"""What the agent says of itself when it is greeted, beside the catalogue and the image."""

from __future__ import annotations

from hil.boards import Board, Image
from hil.link.replies import Identity
from hil.trial.confirm.figures import CATALOGUE, IMAGE, Figures

NONE = "none"  # the counter of a firmware that counts nothing


def check_identity(figures: Figures, identity: Identity, board: Board, image: Image) -> None:
    """Compare clock, counter and place of the image.

    A firmware of one's own may go without a counter. One that runs the chip at another clock needs a catalogue that says so: budgets and times rest on it.

    Raises:
        DeviceFault: one is wrong: every time of the trial would be.
    """
    figures.equal("clock_hz", identity.clock_hz, board.clock_hz, CATALOGUE, " Hz")
    figures.confirmed("counter", CATALOGUE)
    if identity.counter not in (board.counter, NONE):
        figures.refuse("counter", f"the agent reports {identity.counter}, the catalogue has {board.counter}.")
    figures.equal("image_base", identity.image_base, image.symbols["__image_start"], IMAGE)
    figures.insist()
