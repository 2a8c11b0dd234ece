"""The folder of a campaign that anybody may have damaged or made: read rightly, or refused in one sentence, and nothing outside it is touched."""

from __future__ import annotations

import json
import os
import random
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hil.commands.main import main
from hil.errors import RigError
from hil.training.campaign.checkpoints import Checkpoints
from hil.training.campaign.journal import NAME as JOURNAL
from hil.training.campaign.journal import Journal, read_journal
from hil.training.campaign.plan import NAME, CampaignPlan, TrialRequest
from hil.training.campaign.status import sentence, status_of
from tests.mutate import damaged_bytes, damaged_fields

NUMBER, STEPS, DAMAGES = 7, 3, 1000


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign that was cut after three steps; the current folder is the one that holds it."""
    monkeypatch.chdir(tmp_path)
    made = tmp_path / "mine"
    made.mkdir()
    CampaignPlan(
        NUMBER,
        TrialRequest(steps=20, settings={"r_max": 15}, schedule=[{"step": 3, "settings": {"b_zo": 2}}]),
        1,
        1000,
        "0" * 64,
        "0" * 64,
    ).write(made)
    with Journal(made / JOURNAL, read_journal(made / JOURNAL, 0)) as journal:
        journal.append("from", step=0, again=0, cut=False)
        for step in range(STEPS):
            kept = Checkpoints(made, NUMBER).write(step + 1, [np.full(8, step, np.int8)])
            journal.append("step", step=step, digest=f"{kept.digest:08x}", loss=[1.0, None], sign=-1)
        journal.append("board", step=STEPS)
        journal.append("end", verdict="blocked", reason="the port is gone", step=STEPS)
    return made


def refusal(folder: Path) -> str:
    """Return the sentence by which the folder is refused; empty where its state was told."""
    try:
        assert sentence(status_of(folder))
    except RigError as error:
        said = str(error)
        assert said.endswith(".") and "\n" not in said and "mine" in said, said
        return said
    return ""


def line(entry: Any) -> bytes:
    text = json.dumps(entry).encode()
    return text + b"\t%08x\n" % zlib.crc32(text)


def test_plans_with_other_fields(folder: Path) -> None:
    whole, rng = json.loads((folder / NAME).read_text()), random.Random(1)
    assert not refusal(folder)
    refused = 0
    for _ in range(DAMAGES):
        (folder / NAME).write_text(json.dumps(damaged_fields(whole, rng)))
        refused += bool(refusal(folder))
    assert refused > DAMAGES / 3


def test_journals_with_other_fields(folder: Path) -> None:
    entries = [json.loads(each.rpartition(b"\t")[0]) for each in (folder / JOURNAL).read_bytes().splitlines()]
    rng, refused = random.Random(2), 0
    for _ in range(DAMAGES):
        changed = damaged_fields(entries, rng)
        (folder / JOURNAL).write_bytes(
            b"".join(line({**each, "n": at} if isinstance(each, dict) else each) for at, each in enumerate(changed))
        )
        refused += bool(refusal(folder))
    assert refused > DAMAGES / 3


def test_journals_with_other_bytes(folder: Path) -> None:
    whole, rng, refused = (folder / JOURNAL).read_bytes(), random.Random(3), 0
    for _ in range(DAMAGES):
        (folder / JOURNAL).write_bytes(damaged_bytes(whole, rng))
        refused += bool(refusal(folder))
    assert refused > DAMAGES / 4


@pytest.mark.parametrize("entry", [
    {"kind": "step", "step": 2**32 - 1, "digest": "0", "loss": [1, 1], "sign": 1}, {"kind": "step", "step": 3, "digest": "f" * 9, "loss": [1, 1], "sign": 1},
    {"kind": "step", "step": 3, "digest": "0", "sign": 1}, {"kind": "step", "step": 3, "digest": "0", "loss": ["a", 1], "sign": 1},
    {"kind": "step", "step": 3, "digest": "0", "loss": [10**400, 1], "sign": 1}, {"kind": "step", "step": float("inf"), "digest": "0", "loss": [1, 1]},
    {"kind": "end"}, {"kind": "end", "verdict": "pass", "reason": 3}, {"kind": "board", "step": "x"}, {"kind": "from", "step": 0, "again": "1", "cut": False},
])  # fmt: skip
def test_a_line_that_no_campaign_writes_is_named(folder: Path, entry: dict[str, Any]) -> None:
    whole = (folder / JOURNAL).read_bytes()
    (folder / JOURNAL).write_bytes(whole + line({"n": whole.count(b"\n"), **entry}))
    assert f"{JOURNAL}, line 7: " in refusal(folder)


def test_a_checkpoint_that_is_a_bomb_is_not_used_and_not_unpacked(folder: Path) -> None:
    """400 MB of zeros where the numbers of a checkpoint should be; the checkpoint before it is good."""
    header = f"{{'descr': '|i1', 'fortran_order': False, 'shape': ({400 << 20},), }}".ljust(117) + "\n"
    with zipfile.ZipFile(folder / "checkpoint-0000000009.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for name in ("w0.npy", "about.npy"):
            with out.open(name, "w", force_zip64=True) as member:
                member.write(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode())
                for _ in range(400):
                    member.write(bytes(1 << 20))
    tracemalloc.start()
    try:
        assert next(Checkpoints(folder, NUMBER).valid()).step == STEPS
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "x = '" + "x" * (2 << 20) + "'"], ids=["deep", "long"])
def test_a_hostile_spec_file_is_one_sentence(folder: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.toml").write_text(text)
    assert main(["campaign", "start", "new", "--spec", "mine.toml"]) == 2
    assert "mine.toml" in (said := capsys.readouterr().err) and said.count("\n") == 1
    assert not Path("new").exists()


@pytest.mark.parametrize("name", [NAME, JOURNAL, "spec"])
def test_a_pipe_is_not_waited_for(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert (
        main(["campaign", "start", "new", "--spec", str(path)] if name == "spec" else ["campaign", "status", "mine"])
        == 2
    )
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("name", [JOURNAL, "running.json", "lock", "legs", "stop"])
def test_no_link_in_a_folder_leads_out_of_it(
    folder: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(outside)
    for command in ("resume", "status", "stop"):
        assert main(["campaign", command, "mine"]) == 2
        assert f"mine/{name} is a link" in capsys.readouterr().err
    assert outside.read_text() == "precious"
