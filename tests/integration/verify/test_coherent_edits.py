"""Edits of results.json, trial.json, results.csv and SHA256SUMS alike: `hil verify` names what they do not fit."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from forging import Forged
from hil_output import Hil

from hil.images.executed import Executed
from hil.record.coverage import write_executed

Call = Callable[..., Hil]
MEASURED, INTEGERS, GRAPH, OWN = "cls1-b2-latency", "int8star", "resnet-tiny", "own.hnet"


def gates(trial: dict[str, Any], name: str, **changes: Any) -> None:
    for gate in trial["gates"]:
        if gate["name"] == name:
            gate.update(changes)


def other_board(forged: Forged) -> None:
    forged.trial(GRAPH).update(board="nrf52840")


def other_board_everywhere(forged: Forged) -> None:
    """Board, core and name of the image, and what the test says of the board; the folder keeps its name."""
    forged.trial(GRAPH).update(board="nrf52840", core="cortex-m4")
    forged.trial(GRAPH)["image"]["file"] = "nrf52840.elf"


def dropped_evaluation(forged: Forged) -> None:
    trial = forged.trial(MEASURED)
    del trial["evaluations"][1]
    del trial["energy"]["to_accuracy"][1]


def middle_accuracy(forged: Forged) -> None:
    trial = forged.trial(MEASURED)
    trial["evaluations"][1].update(board=0.123, reference=0.123)
    trial["energy"]["to_accuracy"][1]["accuracy"] = 0.123


EDITS: dict[str, tuple[Callable[[Forged], Any], str]] = {
    "board": (other_board, "board is 'nrf52840', but .*image.file. has 'stm32h7b3.elf'|the name of the folder"),
    "board and image": (other_board_everywhere, "the name of the folder|sram.regions: axi_sram .* is 'there', but the catalogue"),
    "total of SRAM": (lambda f: f.trial(GRAPH)["sram"].update(total=f.trial(GRAPH)["sram"]["total"] + 4096), r"sram.total .*, but .*its parts"),
    "stack in its region": (lambda f: f.trial(GRAPH)["sram"]["regions"][1].update(used=16), r"sram.stack_peak .*, but .*sram.regions. has 16"),
    "sections": (lambda f: f.trial(GRAPH)["sram"].update(sections=8192, total=f.trial(GRAPH)["sram"]["total"] + 8192), r"sram.sections .* is 8192, but .*sram.regions. has 0"),
    "unclaimed": (lambda f: f.trial(GRAPH)["sram"].update(unclaimed=None), r"sram.unclaimed .* is None, but .*sram.regions"),
    "a region of another size": (lambda f: f.trial(GRAPH)["sram"]["regions"][0].update(size=4096), r"sram.regions: itcm at 0x0, 4096 bytes"),
    "buffers of the plan": (lambda f: f.trial(GRAPH)["memory_plan"]["buffers"][4].update(offset=0), "memory_plan.buffers, "),
    "end of the plan": (lambda f: f.trial(GRAPH)["memory_plan"]["buffers"].pop(), "Verified|agrees|memory_plan"),
    "layers of the profile": (lambda f: f.trial(GRAPH)["profile"]["forward"].update(pw3=1), r"profile.forward, its sum, .*, but .*cycles_forward in row 0"),
    "sentence of a budget": (lambda f: gates(f.trial(MEASURED), "sram", sentence="All is well."), "sentence of the budget of sram .* is 'All is well.'"),
    "source of a budget": (lambda f: gates(f.trial(MEASURED), "sram", source="of nobody"), "source of the budget of sram"),
    "relative budget": (lambda f: gates(f.trial(MEASURED), "sram", relative=-0.5), "relative of the budget of sram"),
    "attached": (lambda f: f.trial(GRAPH).update(attached=True), r"attached.* is True, but .*bench\.log has .the output of a stand-in"),
    "no budgets": (lambda f: f.trial(MEASURED).update(gates=[]), "sram.budget .* is 524288, but .*gates. has None"),
    "a dropped evaluation": (dropped_evaluation, r"the steps of evaluations .* is '\[0, 4\]', but .*has '\[0, 2, 4\]'"),
    "a middle accuracy": (middle_accuracy, r"evaluations\[1\].board .* is 0.123, but .*'20 images'"),
    "image": (lambda f: f.trial(GRAPH).update(image_sha256="0" * 64), "the SHA-256 of its image"),
    "batch": (lambda f: f.trial(GRAPH).update(batch=2), "batch .* is 2, but .*settings.batch"),
    "seed": (lambda f: f.trial(GRAPH).update(seed=2), "seed .* is 2, but .*settings.seed"),
    "data": (lambda f: f.trial(GRAPH).update(data_sha256="0" * 64), "data_sha256 .* but .*data_card.sha256"),
    "energy of an epoch": (lambda f: f.trial(MEASURED)["energy"]["per_epoch"].update(value=1e-3), "energy.per_epoch.value"),
    "curve of energy": (lambda f: f.trial(MEASURED)["energy"]["to_accuracy"][1]["net"].update(value=0.0), r"energy.to_accuracy\[1\].net.value"),
    "unit": (lambda f: f.trial(MEASURED)["energy"]["idle_power"].update(unit="mW"), "energy.idle_power.unit"),
    "readings": (lambda f: f.trial(MEASURED)["energy"]["windows"][0].update(readings=5000), r"energy.windows\[0\].readings"),
    "core": (lambda f: f.trial(GRAPH).update(core="cortex-m4"), "core .* is 'cortex-m4', but the catalogue"),
    "number of images": (lambda f: [point.update(n=500000) for point in f.trial(MEASURED)["evaluations"]], r"evaluations\[0\].n"),
    "board of a test": (lambda f: f.results["tests"][0].update(board="nrf52840"), "board of .*test_measured"),
}  # fmt: skip
del EDITS["end of the plan"]  # a passing buffer below the end may go: only --recompute knows the buffers


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_every_copy_is_named(run: Path, hil: Call, name: str) -> None:
    edit, said = EDITS[name]
    forged = Forged(run)
    edit(forged)
    done = hil("verify", forged.write(everywhere=True, seal=True))
    assert done.code == 1 and re.search(said, done.out), done.out + done.err


def test_what_only_the_plan_of_the_method_knows(run: Path, hil: Call) -> None:
    forged = Forged(run)
    forged.trial(GRAPH)["memory_plan"]["buffers"][4].update(name="scratch")
    forged.trial(GRAPH)["work"].update(macs=1)
    forged.write(everywhere=True, seal=True)
    assert hil("verify", run).code == 0
    done = hil("verify", run, "--recompute")
    assert done.code == 1 and "memory_plan.buffers[4].name" in done.out and "work.macs" in done.out, done.out


def test_cycles_that_are_shifted_between_rows(run: Path, hil: Call) -> None:
    path = next(run.glob(f"*{MEASURED}*")) / "steps.parquet"
    table = pd.read_parquet(path)
    table.loc[0, "cycles_total"] += 1000
    table.loc[1, "cycles_total"] -= 1000
    table.to_parquet(path)
    Forged(run).seal()
    done = hil("verify", run)
    assert done.code == 1 and "cycles_total in row 0" in done.out, done.out


def test_coverage_of_code_outside_the_image(run: Path, hil: Call) -> None:
    import numpy as np

    path = next(run.glob(f"*{GRAPH}*")) / "coverage.npz"
    with np.load(path) as kept:
        arrays = dict(kept)
    np.savez_compressed(
        path, **arrays | {"blocks": np.concatenate((np.array([[0x06000000, 4]], np.uint32), arrays["blocks"]))}
    )
    Forged(run).seal()
    done = hil("verify", run)
    assert done.code == 1 and "coverage.npz: code that was executed" in done.out, done.out
    assert "'0x06000000, 4 bytes'" in done.out, done.out


def test_coverage_of_another_image(run: Path, hil: Call) -> None:
    folder = next(run.glob(f"*{GRAPH}*"))
    import numpy as np

    write_executed(folder, Executed(np.zeros((0, 2), "<u4"), np.zeros(0, "<u4"), np.zeros((0, 2), "u1")), "1" * 64)
    Forged(run).seal()
    done = hil("verify", run)
    assert done.code == 1 and "coverage.npz: the SHA-256 of its image is '1111" in done.out, done.out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('failures="2"', 'failures="0"', "failures is '0', but junit.xml .its cases. has 2"),
        ('name="board" value="stm32h7b3"', 'name="board" value="rp2040"', "board of .* is 'stm32h7b3', but junit.xml has 'rp2040'"),
        (r'time="[0-9.]*"><properties', 'time="0.001"><properties', "seconds of .*, but junit.xml has 0.001"),
        (r'name="trials" value="[^"]*', 'name="trials" value="another', "the test .*|trials of .*"),
        (r"<testcase .*</testcase>", "", "the test .* is 'there', but junit.xml has missing"),
        (r'tests="10"', 'tests="99"', "junit.xml: tests"),
    ],
)  # fmt: skip
def test_an_edit_of_junit_xml(run: Path, hil: Call, old: str, new: str, said: str) -> None:
    path = run / "junit.xml"
    text = path.read_text()
    edited = re.sub(old, new, text, count=1, flags=re.DOTALL)
    assert edited != text
    path.write_text(edited)
    Forged(run).seal()
    done = hil("verify", run)
    assert done.code == 1 and re.search(said, done.out), done.out + done.err


def test_notes_and_other_figures_of_trial_json(run: Path, hil: Call) -> None:
    path = next(run.glob(f"*{GRAPH}*")) / "trial.json"
    whole = json.loads(path.read_text())
    whole["quantities"]["step_time_s"]["note"] = "measured by hand"
    whole["quantities"]["energy.per_step"] = {"value": 1e-9, "unit": "J", "uncertainty": None, "provenance": "measured"}
    del whole["quantities"]["sram.total"]
    path.write_text(json.dumps(whole))
    Forged(run).seal()
    done = hil("verify", run)
    for name in ("step_time_s'].note", "energy.per_step'] is", "sram.total'] is missing"):
        assert done.code == 1 and name in done.out, done.out


@pytest.mark.parametrize("name", ["trained.hnet", "latency.parquet", "power.parquet", "notes.txt"])
def test_a_file_that_was_added_is_named(run: Path, hil: Call, name: str) -> None:
    source, target = next(run.glob(f"*{MEASURED}*")), next(run.glob(f"*{GRAPH}*"))
    added = target / name
    if (source / name).is_file():
        shutil.copyfile(source / name, added)
    else:
        added.write_bytes(b"added")
    done = hil("verify", run)
    assert done.code == 1 and f"{name}: the file is 'there', but SHA256SUMS has missing" in done.out, done.out
    Forged(run).seal()
    done = hil("verify", run)
    assert done.code == (0 if name == "notes.txt" else 1), done.out  # of a session's own files, the record says more


@pytest.mark.parametrize("name", ["results.csv", "bench.log", "steps.parquet", "log/flash.log", "sources.npz"])
def test_a_line_that_is_missing_from_sha256sums(run: Path, hil: Call, name: str) -> None:
    path = run / "SHA256SUMS"
    lines = path.read_text().splitlines(keepends=True)
    kept = [line for line in lines if not line.rstrip().endswith(name)]
    assert len(kept) < len(lines)
    path.write_text("".join(kept))
    done = hil("verify", run)
    assert done.code == 1 and f"{name}: the file is 'there', but SHA256SUMS has missing" in done.out, done.out
