"""Choose the reality of a trial: the attached board or a stand-in."""

from __future__ import annotations

from pathlib import Path

from hil.boards import Board
from hil.errors import Blocked
from hil.images import Image
from hil.rig_toml import BenchBoard
from hil.standins import StandIn, renode, start_qemu, start_renode, start_virtual

REALITIES = ("auto", "hardware", "renode", "qemu", "virtual")


def is_attached(named: BenchBoard | None, asked: str) -> bool:
    """Return whether a trial runs on the attached board: rig.toml names it, and no stand-in is requested."""
    return named is not None and asked in ("auto", "hardware")


def choose(board: Board, named: BenchBoard | None, asked: str) -> str:
    """Return the reality of a board, given the requested one of `REALITIES`.

    A board with a table in rig.toml (`named`) never falls back to a stand-in.

    Raises:
        Blocked: hardware is requested but rig.toml names none; the board has no such stand-in; Renode is requested but
            not installed; or Renode would be chosen but must be requested, because others work on this computer.
    """
    if asked == "hardware" and named is None:
        raise Blocked(
            "bench", f"--reality=hardware, but rig.toml does not name {board.name}: add a [[board]] table for it."
        )
    if is_attached(named, asked):
        return "hardware"
    if asked == "auto":
        return _stand_in_for(board)
    kinds = [board.stand_in] + ["renode"] * (board.name in renode.modelled())
    if asked not in kinds:
        others = " or ".join(f"--reality={kind}" for kind in [*kinds, "auto"])
        reason = f" ({renode.why_not(board.name)})" if asked == "renode" else ""
        raise Blocked("bench", f"{board.name} has no {asked} stand-in{reason}: use {others}.")
    if asked == "renode" and renode.program() is None:
        raise Blocked("bench", f"renode is not installed: {renode.cure()}.")
    return asked


def _stand_in_for(board: Board) -> str:
    """Return `renode` if it is installed and models the board (an independent model), else the board's stand-in."""
    if board.name not in renode.modelled() or renode.program() is None:
        return board.stand_in
    if renode.other_users_present():
        raise Blocked(
            "bench",
            "other users work on this computer, and Renode executes commands from anyone who can reach its ports: "
            f"accept this with --reality=renode, or use --reality={board.stand_in}.",
        )
    return "renode"


def start(reality: str, board: Board, image: Image, log: Path, inject: tuple[str, ...] = ()) -> StandIn:
    """Start a stand-in of the reality that `choose` returned. Raises Blocked if it did not start."""
    if reality == "virtual":
        return start_virtual(board, image, log, inject)
    return start_renode(board, image, log) if reality == "renode" else start_qemu(board, image, log)
