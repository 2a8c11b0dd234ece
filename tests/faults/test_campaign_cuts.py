"""Real cuts: the process of a campaign is killed, stopped, and gone on with; it ends on the digest of an uninterrupted run of the reference."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hil.step_digest import step_digest
from hil.training.data import batches
from hil.training.reference.methods import reference_of
from hil.training.trial.prepare import prepare
from hil.trial import TrialSpec

STEPS, BATCH = 30, 4
DEADLINE_S = 240.0
OPTIONS = ("--board", "stm32h7b3", "--steps", str(STEPS), "--batch", str(BATCH), "--evaluate", "0")


@pytest.fixture(autouse=True)
def _virtual() -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")


def uninterrupted(steps: int = STEPS) -> str:
    """Return the digest at the end, from the reference alone."""
    prepared = prepare(TrialSpec("stm32h7b3", "cls1", batch=BATCH, steps=steps, evaluate=0))
    reference = reference_of(prepared.method)
    order = batches(prepared.data, BATCH, 1)
    for _ in range(steps):
        chosen = next(order)
        reference.step(prepared.data.train_images[chosen], prepared.data.train_labels[chosen])
    return f"{step_digest(reference.digests()):08x}"


class Campaign:
    """`hil campaign` in a folder, as a user runs it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "rig.toml").write_text("")

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "hil.commands.main", "campaign", *arguments]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def end(self, process: subprocess.Popen[str]) -> tuple[int, str]:
        said, _ = process.communicate(timeout=DEADLINE_S)
        return process.returncode, said

    def status(self) -> dict[str, Any]:
        code, said = self.end(self.begin("status", "c", "--json"))
        assert code == 0, said
        return json.loads(said)

    def wait_for_steps(self, process: subprocess.Popen[str], steps: int) -> None:
        """Wait until the journal has so many steps."""
        until = time.monotonic() + DEADLINE_S
        while (
            (self.folder / "c" / "journal.jsonl").read_bytes().count(b'"kind":"step"') < steps
            if (self.folder / "c" / "journal.jsonl").exists()
            else True
        ):
            assert process.poll() is None and time.monotonic() < until, process.communicate()[0]
            time.sleep(0.01)


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    return Campaign(tmp_path)


@pytest.mark.tier("nightly")
def test_killed_stopped_and_gone_on_with(campaign: Campaign) -> None:
    process = campaign.begin("start", "c", *OPTIONS)
    campaign.wait_for_steps(process, 5)
    os.kill(process.pid, signal.SIGKILL)
    campaign.end(process)
    status = campaign.status()
    assert status["state"] == "cut" and 5 <= status["steps_done"] < STEPS

    process = campaign.begin("resume", "c")
    campaign.wait_for_steps(process, status["steps_done"] + 3)
    code, said = campaign.end(campaign.begin("stop", "c"))
    assert code == 0 and "c: stopped (by `hil campaign stop`)" in said, said
    assert campaign.end(process)[0] == 0
    stopped = campaign.status()
    assert stopped["checkpoint"] == stopped["steps_done"] < STEPS

    code, said = campaign.end(campaign.begin("resume", "c"))
    assert code == 0, said
    status = campaign.status()
    assert (status["state"], status["steps_done"], status["digest"]) == ("pass", STEPS, uninterrupted())
    assert status["steps_again"] <= 1 and status["cuts"] == 2


@pytest.mark.tier("nightly")
def test_killed_twenty_times_at_moments_that_are_drawn(campaign: Campaign) -> None:
    seed = random.SystemRandom().getrandbits(32)
    draw = random.Random(seed)
    print("seed", seed)
    cuts, process = (
        0,
        campaign.begin(
            "start", "c", "--board", "stm32h7b3", "--steps", "200", "--batch", str(BATCH), "--evaluate", "0"
        ),
    )
    campaign.wait_for_steps(process, 1)
    while cuts < 20:
        done = campaign.status()["steps_done"]
        campaign.wait_for_steps(process, min(done + draw.randrange(1, 9), 190))
        time.sleep(draw.random() * 0.2)
        os.kill(process.pid, draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
        campaign.end(process)
        cuts += 1
        process = campaign.begin("resume", "c")
    code, said = campaign.end(process)
    assert code == 0, said
    status = campaign.status()
    assert (status["state"], status["digest"]) == ("pass", uninterrupted(200))
    assert status["steps_again"] <= cuts


@pytest.mark.tier("nightly")
def test_ctrl_c_stops_after_the_step_it_is_at(campaign: Campaign) -> None:
    process = campaign.begin("start", "c", *OPTIONS)
    campaign.wait_for_steps(process, 2)
    os.kill(process.pid, signal.SIGINT)
    code, said = campaign.end(process)
    assert code == 130 and "stopped: by SIGINT" in said and "Traceback" not in said, said
    status = campaign.status()
    assert status["state"] == "stopped" and status["checkpoint"] == status["steps_done"]
