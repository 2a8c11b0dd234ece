"""Which reality a trial runs on: the attached board, or what stands in for it."""

from __future__ import annotations

from pathlib import Path

from hil.boards import Board, Image
from hil.errors import Blocked
from hil.rig.config import BenchBoard
from hil.standins import StandIn, start_qemu, start_virtual

REALITIES = ("auto", "hardware", "qemu", "virtual")


def choose(board: Board, named: BenchBoard | None, asked: str) -> str:
    """Return the reality of a board.

    Args:
        board: catalogue entry.
        named: its table in rig.toml, if there is one: a board that somebody claims to have never falls back to a stand-in.
        asked: one of `REALITIES`.

    Raises:
        Blocked: hardware is asked for and rig.toml names none, or the board has no such stand-in.
    """
    if asked == "hardware" and named is None:
        raise Blocked("bench", f"--reality=hardware, but rig.toml names no {board.name}: add a [[board]] table for it.")
    if named is not None and asked in ("auto", "hardware"):
        return "hardware"
    kind = board.stand_in if asked == "auto" else asked
    if kind != board.stand_in:
        raise Blocked(
            "bench", f"{board.name} has no {kind} stand-in: use --reality={board.stand_in} or --reality=auto."
        )
    return kind


def start(reality: str, board: Board, image: Image, log: Path, inject: tuple[str, ...]) -> StandIn:
    """Start a stand-in of a kind that `choose` has returned.

    Raises:
        Blocked: it did not come up.
    """
    return start_virtual(board, image, log, inject) if reality == "virtual" else start_qemu(board, image, log)
