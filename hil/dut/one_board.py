"""Check that the probe and the serial port are those of one board: two boards of a kind are told apart by nothing else.

`hello` sends the agent 32 random bits, which it keeps for the session (firmware/agent/link.h, `nonce`). If the chip at
the probe has them in its memory, the bytes on the port reached that chip.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hil.boards import Board
from hil.errors import Blocked
from hil.images import Image
from hil.link.session import Session, check_board_name
from hil.targets.probe import Probe

AGENT = "agent"  # name of the agent's variable in the project's firmware and in its guide (docs/own-firmware.md)
AGENT_BYTES = 4096  # more than an `agent_t`: two frames of 1 KB, and counters
BLOCK = 16 << 10  # bytes that are read at once


def check_one_board(probe: Probe, port: str, board: Board, image: Image, session: Session) -> None:
    """Check that the agent that answers on the port runs on the chip at the probe.

    Args:
        probe: of the board.
        port: name of the port of the session.
        board: catalogue entry.
        image: the program in the flash of the chip at the probe, which runs it.
        session: greeted.

    Raises:
        Blocked: the agent runs on another board.
    """
    if _holds(probe, board, image, session.nonce):
        return
    session.hello()  # the board may have been reset since the last one
    if _holds(probe, board, image, session.nonce):
        return
    check_board_name(session.greeting, board.name)
    raise two_boards(probe, port, board)


def two_boards(probe: Probe, port: str, board: Board) -> Blocked:
    """Return the error of a probe and a port that are those of two boards."""
    return Blocked(
        "identity",
        f"probe and port belong to two boards: an agent answers on {port}, and it does not run on the {board.name} "
        f"at the probe {probe.unique_id}: correct `probe` or `serial` in rig.toml "
        "(`hil devices` lists which of them are one USB device).",
    )


def _holds(probe: Probe, board: Board, image: Image, nonce: int) -> bool:
    """Return whether the chip has the nonce in its memory, or memory in which it may be cannot be read."""
    wanted = nonce.to_bytes(4, "little")
    try:
        return any(wanted in data for data in _memory(probe, board, image))
    except Blocked:
        if not image.own:
            raise
        return True  # memory without power, or not for a debugger


def _memory(probe: Probe, board: Board, image: Image) -> Iterator[bytes]:
    """Yield the memory in which the agent may be, the likeliest first; all RAM for a firmware of the user's own."""
    for symbol in image.table:
        if symbol.name.partition(".")[0] == AGENT and not symbol.is_function and _ram_after(board, symbol.address):
            yield probe.read(symbol.address, min(AGENT_BYTES, _ram_after(board, symbol.address)))
    places = {symbol.name: symbol.address for symbol in image.table}
    with contextlib.suppress(KeyError):
        start = places["__static_start"]
        yield from _blocks(probe, start, places["__static_end"] - start)
    if image.own:
        for region in board.memory:
            if region.kind == "ram":
                yield from _blocks(probe, region.start, region.size)


def _ram_after(board: Board, address: int) -> int:
    """Return how many bytes of RAM begin at an address; 0 if it is not in RAM."""
    return next((one.start + one.size - address for one in board.memory if one.kind == "ram" and address in one), 0)


def _blocks(probe: Probe, start: int, size: int) -> Iterator[bytes]:
    for at in range(start, start + size, BLOCK):
        yield probe.read(at, min(BLOCK + 3, start + size - at))  # the nonce may lie across the end of a block
