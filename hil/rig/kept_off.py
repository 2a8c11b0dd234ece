"""Boards that no trial may run on, such as those in quarantine: who keeps them off is asked before a board is taken."""

from __future__ import annotations

from collections.abc import Callable

from hil.errors import QUARANTINE, Blocked

KeptOff = Callable[
    [str, str], str
]  # of a board, and its id or labgrid place (empty without): one sentence, empty if it may run


def nothing_kept_off(board: str, place: str) -> str:
    """Let every board run trials."""
    return ""


def check_kept_off(kept_off: KeptOff, board: str, place: str = "") -> None:
    """Raise Blocked with the sentence if a board may not run trials."""
    sentence = kept_off(board, place)
    if sentence:
        raise Blocked(QUARANTINE, sentence)
