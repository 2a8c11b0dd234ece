"""What a campaign asks of the flash of a board, and that a board that keeps no checkpoints is one sentence, once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hil import boards
from hil.errors import RigError
from hil.images import image_of
from hil.link.failures import Refused
from hil.link.messages import description, encode
from hil.link.replies import ImplausibleReply
from hil.training.campaign.board_checkpoints import slots_of
from hil.training.campaign.board_slots import BoardSlots
from hil.training.campaign.journal import NAME, Journal, read_journal
from hil.training.trial.device import Device

CAMPAIGN, BYTES, NEVER = 0xCAFE, 64, "only this computer keeps them."
REQUESTS = description().requests


class Board:
    """A session with a board that has two slots, as docs/link.md and docs/trials.md say; `refusal`: code and words of what it says to `save_checkpoint`."""

    def __init__(self, room: int = 448, refusal: tuple[str, int, int] | None = None, older: bool = False) -> None:
        self.room, self.refusal, self.older = room, refusal, older
        self.slots: dict[int, tuple[int, ...]] = {}
        self.said_bytes = BYTES
        self.asked: list[str] = []

    @property
    def greeting(self) -> dict[str, Any]:
        image = image_of("stm32h7b3")
        return {
            "board": b"stm32h7b3",
            "clock_hz": 280_000_000,
            "image_base": 0,
            "image_digest": image.digest,
            "rx_window": 4096,
            "counter": 1,
        }

    short_frames = False

    def check_line(self) -> None:
        """The line is good."""

    def request(self, name: str, deadline_s: float | None = None, **values: Any) -> dict[str, Any]:
        encode(REQUESTS[name].request, values)
        self.asked.append(name)
        if self.older:
            raise Refused(name, "unknown_request", REQUESTS[name].id, 0)
        if name == "checkpoints":
            return {
                "room": self.room,
                "slots": tuple(word for slot in sorted(self.slots) for word in (slot, *self.slots[slot])),
            }
        assert name == "save_checkpoint"
        if self.refusal is not None:
            raise Refused(name, *self.refusal)
        sequence = max((words[0] for words in self.slots.values()), default=0) + 1
        self.slots[1 - sequence % 2] = (sequence, values["campaign"], values["step"], 1, 2)
        return {"sequence": sequence, "slot": 1 - sequence % 2, "bytes": self.said_bytes}


class Run:
    """A campaign with that board: what it told the user, and its journal."""

    def __init__(self, folder: Path, board: Board, every: int = 2) -> None:
        self.board, self.path, self.told = board, folder / NAME, list[str]()
        self.journal = Journal(self.path, read_journal(self.path, 0))
        self.slots = BoardSlots(self.journal, CAMPAIGN, every, self.told.append)
        device = Device(board, boards.load("stm32h7b3"), image_of("stm32h7b3"))  # type: ignore[arg-type]
        tensors = [SimpleNamespace(size=40), SimpleNamespace(size=24)]
        method = SimpleNamespace(plan=SimpleNamespace(tensors=tensors))
        self.trial: Any = SimpleNamespace(
            device=device, next_step=0, p=SimpleNamespace(board=boards.load("stm32h7b3"), method=method)
        )

    def steps(self, count: int) -> None:
        for step in range(1, count + 1):
            self.trial.next_step = step
            if self.slots.due(step):
                self.slots.save(self.trial)

    def kept(self) -> int | None:
        self.journal.sync()
        return read_journal(self.path, 0).board


def test_the_board_writes_one_every_so_many_steps_and_the_journal_has_it(tmp_path: Path) -> None:
    run = Run(tmp_path, Board())
    run.steps(6)
    assert run.board.asked == ["checkpoints", *["save_checkpoint"] * 3], "it is asked for its slots once"
    assert [(one.sequence, one.step, one.campaign) for one in run.trial.device.checkpoints()[1]] == [
        (3, 6, CAMPAIGN),
        (2, 4, CAMPAIGN),
    ]
    assert (run.kept(), run.told) == (6, [])


def test_none_is_asked_for_where_none_is_wanted(tmp_path: Path) -> None:
    run = Run(tmp_path, Board(), every=0)
    run.steps(6)
    assert (run.board.asked, run.told, run.kept()) == ([], [], None)


@pytest.mark.parametrize(("board", "why"), [
    (Board(room=0), "its firmware has no driver for a flash that can be written while it runs"),
    (Board(older=True), "its firmware has no driver for a flash that can be written while it runs"),
    (Board(refusal=("no_room", 70_000, 448)), "the tensors have 70,000 bytes, a slot 448"),
    (Board(refusal=("no_room", 64, 0)), "its network file occupies the flash for checkpoints"),
    (Board(refusal=("flash_failed", 8192, 1)), "its flash failed at offset 8,192"),
])  # fmt: skip
def test_a_board_that_keeps_none_is_one_sentence_and_is_not_asked_again(tmp_path: Path, board: Board, why: str) -> None:
    run = Run(tmp_path, board)
    run.steps(6)
    assert run.told == [f"stm32h7b3 keeps no checkpoints ({why}): {NEVER}"]
    assert len(board.asked) <= 2 and run.kept() is None


def test_another_refusal_is_no_reason_to_go_on(tmp_path: Path) -> None:
    run = Run(tmp_path, Board(refusal=("parts_missing", 1, 2)))
    with pytest.raises(Refused):
        run.steps(2)


def test_a_reply_that_cannot_be_ends_the_trial(tmp_path: Path) -> None:
    run = Run(tmp_path, Board())
    run.board.said_bytes = BYTES - 1
    with pytest.raises(ImplausibleReply, match="'save_checkpoint' has bytes 63, but the tensors have 64"):
        run.steps(2)
    assert run.kept() is None


def test_weights_of_a_board_without_slots_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        RigError,
        match="imxrt1062 has no flash for checkpoints that its firmware can write: use the checkpoints of the host",
    ):
        slots_of(Run(tmp_path, Board(room=0)).trial.device, "imxrt1062")
