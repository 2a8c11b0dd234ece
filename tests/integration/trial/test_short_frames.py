"""A trial over a serial port that damages pieces of more than 64 bytes, as that of a J-Link that is also a drive."""

from __future__ import annotations

from pathlib import Path

import pytest

from hil.link.wire import Wire
from hil.rig import Bench, Rig
from hil.training.trial.attempt import SHORT_FRAMES
from hil.trial import TrialSpec, run_trial

pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")


def test_a_trial_on_such_a_line_passes_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    send, lengths = Wire.send, []

    def damages(wire: Wire, data: bytes) -> None:
        lengths.append(len(data))
        send(wire, data if len(data) <= 64 else data[:-9] + data[-8:])

    monkeypatch.setattr(Wire, "send", damages)
    with Rig(Bench()) as rig:
        outcome = run_trial(TrialSpec("nrf52840", "cls2", steps=2, evaluate=0), rig, tmp_path)
    assert outcome.verdict == "pass", outcome.reason
    assert SHORT_FRAMES in outcome.notes
    long = [at for at, length in enumerate(lengths) if length > 64]
    assert long and len(lengths) > 20 * len(long) and max(long) < len(lengths) // 10  # only while the line was checked
