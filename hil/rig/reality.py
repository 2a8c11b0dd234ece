"""Choose the reality of a trial: the attached board or a stand-in."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.errors import Blocked, RigError, close_matches, shown
from hil.images import Image
from hil.plugins.guarded import wanted
from hil.rig_toml import BenchBoard
from hil.standins import STAND_INS, StandIn, renode, start_virtual
from hil.standins.kinds import NO_STAND_IN, NOT_STAND_INS

LOG = logging.getLogger(__name__)
Started = TypeVar("Started", bound=StandIn)


@dataclass(frozen=True)
class Automatic:
    """What `--reality=auto` takes for a board on this computer.

    Attributes:
        reality: one of `REALITIES`; None if trials are blocked until a stand-in is requested.
        why: one clause, or one sentence if trials are blocked.
        warning: why Renode, which is installed, is not used, as a sentence; None if nothing is wrong with it.
    """

    reality: str | None
    why: str
    warning: str | None = None


def check_known(asked: str) -> None:
    """Check what `--reality` asks for. Raises RigError if there is no stand-in of this name."""
    if asked not in NOT_STAND_INS and asked not in STAND_INS:
        known = (*NOT_STAND_INS, *STAND_INS.names())
        raise RigError(f"--reality={asked}: there is no such reality: {close_matches(asked, known)}")


def is_attached(named: BenchBoard | None, asked: str) -> bool:
    """Return whether a trial runs on the attached board: rig.toml names it, and no stand-in is requested.

    A board that is a command is not attached: every test has a process of its own.
    """
    return named is not None and named.run is None and asked in ("auto", "hardware")


def choose(board: Board, named: BenchBoard | None, asked: str) -> str:
    """Return the reality of a board, given the requested one of `REALITIES`.

    That of a command is the word in rig.toml. A board with a table there (`named`) never falls back to a stand-in.

    Raises:
        Blocked: hardware is requested but rig.toml names none; the board has no such stand-in; Renode is requested but
            not installed; or Renode would be chosen but must be requested, because others work on this computer.
    """
    if asked == "hardware" and named is None:
        raise Blocked(
            "bench", f"--reality=hardware, but rig.toml does not name {board.name}: add a [[board]] table for it."
        )
    if named is not None and named.run is not None and asked not in ("auto", named.reality):
        raise Blocked(
            "bench", f"--reality={asked}, but rig.toml says that {board.name} is a command ({named.reality}): omit it."
        )
    if is_attached(named, asked):
        return "hardware"
    if asked == "auto" or (named is not None and named.run is not None):
        found = automatic(board, named)
        if found.reality is None:
            raise Blocked("bench", found.why)
        if found.warning is not None:
            LOG.warning("%s", found.warning)
        return found.reality
    kinds = [board.stand_in] * (board.stand_in != NO_STAND_IN) + ["renode"] * (board.name in renode.modelled())
    if asked not in kinds and not (asked in STAND_INS and board.name in STAND_INS.find(asked).boards):
        others = " or ".join(f"--reality={kind}" for kind in [*kinds, "auto"])
        reason = f" ({renode.why_not(board.name)})" if asked == "renode" else ""
        raise Blocked("bench", f"{board.name} has no {asked} stand-in{reason}: use {others}.")
    if asked == "renode" and renode.installed() is None:
        raise Blocked("bench", f"renode is not installed: {renode.cure()}.")
    return asked


def automatic(board: Board, named: BenchBoard | None) -> Automatic:
    """Return what `auto` takes: the attached board, else Renode (an independent model), else the board's stand-in.

    Renode must be installed in a version that can be used, and model the board.
    """
    if named is not None and named.run is not None:
        return Automatic(named.reality, "rig.toml says that it is a command")
    if named is not None:
        return Automatic("hardware", "rig.toml names it")
    if board.stand_in == NO_STAND_IN:
        return Automatic(None, f"{board.name} is not attached, and has no stand-in: add a [[board]] table to rig.toml.")
    if board.name not in renode.modelled():
        return Automatic(board.stand_in, "Renode does not model it")
    try:
        version = renode.installed()
    except Blocked as blocked:
        warning = f"Renode is not used, and {board.stand_in} stands in for {board.name}: {blocked.reason}"
        return Automatic(board.stand_in, "the installed renode cannot be used", warning)
    if version is None:
        return Automatic(board.stand_in, "Renode is not installed")
    if renode.other_users_present():
        return Automatic(
            None,
            "other users work on this computer, and Renode executes commands from anyone who can reach its ports: "
            f"accept this with --reality=renode, or use --reality={board.stand_in}.",
        )
    return Automatic("renode", f"Renode {version} is installed")


def start(reality: str, board: Board, image: Image, log: Path, inject: tuple[str, ...] = ()) -> StandIn:
    """Start a stand-in of the reality that `choose` returned.

    Raises:
        RigError: there is no such stand-in, or its plugin is broken.
        Blocked: it did not start.
    """
    if inject:
        return start_virtual(board, image, log, inject)
    kind = STAND_INS.find(reality)
    with STAND_INS.running(reality):
        made = kind.start(board, image, log)
    if made is None:
        raise Blocked(
            "bench", f"the stand-in {reality} was not started: its `start` returned nothing; return a StandIn."
        )
    if isinstance(made, StandIn):
        made.plugin = STAND_INS.plugin_of(reality)
    stand_in: StandIn = STAND_INS.guarded(reality, made, endpoints=wanted(Endpoints), chip_fault=_wrong_sentence)
    return stand_in


@contextlib.contextmanager
def stopped_after(stand_in: Started) -> Iterator[Started]:
    """Stop a stand-in after a `with` block. If that fails too, the error of the block is the reason."""
    try:
        yield stand_in
    except BaseException:
        with contextlib.suppress(Blocked):
            stand_in.stop()
        raise
    stand_in.stop()


def _wrong_sentence(value: object) -> str:
    return "" if value is None or isinstance(value, str) else f"it is {shown(value)}, and no sentence"
