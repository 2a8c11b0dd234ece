"""A board made of recorded replies: it stands in for `Rig`, answers on a pseudo-terminal as docs/link.md has it, and may change one answer."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import tty
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hil.boards import Board
from hil.endpoints import Endpoints
from hil.images import Image
from hil.link.frames import FrameReader, LinkFrame
from hil.link.messages import REPLY_BIT, description
from hil.rig.rig import Taken
from hil.rig_toml import Bench
from hil.targets.probe_process import ProbeProcess

REQUESTS = {request.id: request for request in description().requests.values()}
CONTROLS = {name: control.id for name, control in description().controls.items()}
LONG = ("step", "part", "run", "infer", "save_checkpoint")  # answered by `ack` before the reply
LOOK_S = 0.05

Change = Callable[[LinkFrame], list[LinkFrame]]


@dataclass
class Records:
    """Replies by their request, in the order in which a real board gave them: type and body of the request to type and body of the reply."""

    replies: dict[tuple[int, bytes], list[tuple[int, bytes]]] = field(default_factory=lambda: defaultdict(list))
    compared: int = 0  # number of the answer from which on nothing is compared with the reference
    telling: list[int] = field(
        default_factory=list
    )  # numbers of the answers of a trial that are replies, not control frames

    def add(self, request: LinkFrame, reply: LinkFrame) -> None:
        """Take a pair."""
        self.replies[self._key(request)].append((reply.type, reply.body))

    def reply(self, request: LinkFrame, before: Counter[tuple[int, bytes]]) -> tuple[int, bytes]:
        """Return the reply to a request that has come as often as `before` says; the last one again where it comes more often."""
        key = self._key(request)
        found = self.replies.get(key)
        if found is None:  # never asked of the real board: it refuses
            return CONTROLS["error"], bytes([2]) + bytes(8)
        before[key] += 1
        return found[min(before[key], len(found)) - 1]

    @staticmethod
    def _key(request: LinkFrame) -> tuple[int, bytes]:
        return request.type, b"" if REQUESTS[request.type].name == "hello" else request.body


class ReplayedBoard:
    """Args:
        records: what it answers.
        number: which of its answers (frames that it sends, from 0) is changed.
        change: returns what is sent in the place of it.
        heard: takes the type of every answer.

    Attributes:
        sent: how many answers it has sent.
        changed: the answer that was changed, as it was, and what was sent for it.
        path: of its serial port.
        bench: names no board and no budgets.
    """

    def __init__(
        self,
        records: Records,
        number: int = -1,
        change: Change | None = None,
        heard: Callable[[int], object] | None = None,
    ) -> None:
        self._records, self._number, self._change, self._heard = records, number, change, heard
        self.sent, self.bench = 0, Bench()
        self.changed: tuple[LinkFrame, list[LinkFrame]] | None = None
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.path = os.ttyname(self._slave)
        self._reader, self._before = FrameReader(), Counter[tuple[int, bytes]]()
        self._session, self._expected, self._kept = 0, 0, LinkFrame(0, 0, 0)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="replayed", daemon=True)
        self._thread.start()

    @contextlib.contextmanager
    def take(self, board: Board, image: Image, log: Path, inject: tuple[str, ...] = (), *_: object) -> Iterator[Taken]:
        """Give the board, as `Rig.take` does."""
        yield Taken(board, Endpoints(board.name, "virtual", serial=self.path), ProbeProcess())

    def close(self) -> None:
        """End it."""
        self._ends.set()
        self._thread.join()
        os.close(self._master)
        os.close(self._slave)

    def _run(self) -> None:
        while not self._ends.is_set():
            readable, _, _ = select.select([self._master], [], [], LOOK_S)
            if readable:
                for frame in self._reader.feed(os.read(self._master, 65536)):
                    self._take(frame)

    def _take(self, frame: LinkFrame) -> None:
        name = REQUESTS[frame.type].name
        if name == "hello":
            if frame.session != self._session or not self._expected:
                self._session, self._expected = frame.session, 1
            self._answer(frame, *self._records.reply(frame, self._before))
        elif frame.seq == self._expected:
            self._expected = (self._expected + 1) & 0xFFFF
            if REQUESTS[frame.type].windowed:
                self._control("ack", frame.seq)
                return
            if name in LONG:
                self._control("ack", frame.seq)
            kind, body = (
                (frame.type | REPLY_BIT, frame.body) if name == "echo" else self._records.reply(frame, self._before)
            )
            self._answer(frame, kind, body)
        elif frame.seq == self._kept.seq:
            self._write(self._kept)
        else:
            self._control("ack" if 0 < (self._expected - frame.seq) & 0xFFFF < 0x8000 else "nak", frame.seq)

    def _answer(self, request: LinkFrame, kind: int, body: bytes) -> None:
        self._kept = LinkFrame(kind, self._session, request.seq, body)
        self._send(self._kept)

    def _control(self, name: str, seq: int) -> None:
        self._send(LinkFrame(CONTROLS[name], self._session, seq, self._expected.to_bytes(2, "little")))

    def _send(self, frame: LinkFrame) -> None:
        frames = [frame]
        if self._heard is not None:
            self._heard(frame.type)
        if self.sent == self._number and self._change is not None:
            frames = self._change(frame)
            self.changed = frame, frames
            self._kept = frames[-1] if frames and frame is self._kept else self._kept
        self.sent += 1
        for each in frames:
            self._write(each)

    def _write(self, frame: LinkFrame) -> None:
        data = frame.encode()
        while data and not self._ends.is_set():
            data = data[os.write(self._master, data) :]
