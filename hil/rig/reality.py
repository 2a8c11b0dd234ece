"""Which reality a trial runs on: the attached board, or what stands in for it."""

from __future__ import annotations

from pathlib import Path

from hil.boards import Board
from hil.errors import Blocked
from hil.images import Image
from hil.rig.config import BenchBoard
from hil.standins import StandIn, renode, start_qemu, start_renode, start_virtual

REALITIES = ("auto", "hardware", "renode", "qemu", "virtual")


def is_attached(named: BenchBoard | None, asked: str) -> bool:
    """Whether a trial runs on the attached board: rig.toml names it, and no stand-in is asked for."""
    return named is not None and asked in ("auto", "hardware")


def choose(board: Board, named: BenchBoard | None, asked: str) -> str:
    """Return the reality of a board.

    Args:
        board: catalogue entry.
        named: its table in rig.toml, if there is one: a board that somebody claims to have never falls back to a stand-in.
        asked: one of `REALITIES`.

    Raises:
        Blocked: hardware is asked for and rig.toml names none; the board has no such stand-in; or Renode is asked for and not
            installed, or installed on a computer where it has to be asked for.
    """
    if asked == "hardware" and named is None:
        raise Blocked("bench", f"--reality=hardware, but rig.toml names no {board.name}: add a [[board]] table for it.")
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
    """Renode where it is installed and models the board: it is a model that others have written."""
    if board.name not in renode.modelled() or renode.program() is None:
        return board.stand_in
    if renode.others_here():
        raise Blocked(
            "bench",
            "others work on this computer, and Renode takes commands from whoever reaches its ports: agree with --reality=renode, or "
            f"use --reality={board.stand_in}.",
        )
    return "renode"


def start(reality: str, board: Board, image: Image, log: Path, inject: tuple[str, ...]) -> StandIn:
    """Start a stand-in of a kind that `choose` has returned.

    Raises:
        Blocked: it did not come up.
    """
    if reality == "virtual":
        return start_virtual(board, image, log, inject)
    return start_renode(board, image, log) if reality == "renode" else start_qemu(board, image, log)
