"""Replies of a real firmware, recorded on the virtual board: of a trial that passes, and of one where a step differs, which is then traced."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from hil.link.frames import FrameReader, LinkFrame
from hil.link.messages import REPLY_BIT, decode, description
from hil.rig import Rig
from hil.rig_toml import Bench
from hil.trial import LatencySteps, TrialSpec, run_trial

from ..lines.harm import Harm
from ..lines.relay import OverRelay
from .replayed import Records

LATENCY_STEPS = 2
SPEC = TrialSpec("stm32h7b3", "cls1", steps=2, batch=4, evaluate=8, latency=LatencySteps(LATENCY_STEPS, layers=True))
REQUESTS = description().requests
STEP, RUN, PROFILE = (REQUESTS[name].id for name in ("step", "run", "profile"))
WATCHED = SPEC.steps + LATENCY_STEPS  # index of the step in which the probe watches layers: without one, nobody asks
ERROR = description().controls["error"].id


@dataclass
class Sniff(Harm):
    """Listens to one direction; `wrong`: the digests of the first step arrive with another bit."""

    frames: list[LinkFrame] = field(default_factory=list)
    wrong: bool = False
    reader: FrameReader = field(default_factory=FrameReader)

    def through(self, data: bytes) -> bytes:
        """Pass on what came."""
        found = self.reader.feed(data)
        self.frames += found
        if not self.wrong or all(frame.type != STEP | REPLY_BIT for frame in found):
            return data
        self.wrong = False
        changed = [
            replace(frame, body=frame.body[:-1] + bytes([frame.body[-1] ^ 1]))
            if frame.type == STEP | REPLY_BIT
            else frame
            for frame in found
        ]
        return b"".join(frame.encode() for frame in changed)


def recorded(folder: Path) -> Records:
    """Run both trials on the virtual board and return what it said.

    Args:
        folder: takes the logs.
    """
    records = Records()
    with Rig(Bench(), folder, reality="virtual") as rig:
        for wrong in (True, False):
            asked, said = Sniff(), Sniff(wrong=wrong)
            outcome = run_trial(SPEC, OverRelay(rig, to_board=[asked], to_host=[said]), folder / str(wrong))
            assert outcome.verdict == ("fail" if wrong else "pass"), outcome.reason
            fresh = _pairs(asked.frames, said.frames)
            records.replies = fresh.replies | {
                key: value for key, value in records.replies.items() if key not in fresh.replies
            }
    return records


def _pairs(asked: list[LinkFrame], said: list[LinkFrame]) -> Records:
    """Return each request with the reply that has its number, once, without those of the step that a probe watches."""
    records, replies = Records(), {frame.seq: frame for frame in said if frame.type & REPLY_BIT or frame.type == ERROR}
    seen: set[int] = set()
    watched = False
    for frame in asked:
        if frame.seq in replies and frame.seq not in seen:
            seen.add(frame.seq)
            if frame.type == RUN:
                watched = decode(REQUESTS["run"].request, frame.body)["step"] == WATCHED
            if not (watched and frame.type in (RUN, PROFILE)):
                records.add(frame, replies[frame.seq])
            watched = watched and frame.type != PROFILE  # one profile belongs to that step
    return records
