"""Costs of FQT: the cases of every figure, what trials give, and the two files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hil.commands import main as cli
from hil.energy.step_energy import EnergyResult
from hil.errors import Blocked
from hil.quantity import Provenance
from hil.training.data.store import FOLDER_VARIABLE
from hil.training.experiments import command
from hil.training.experiments.costs import measure
from hil.training.experiments.fqt_costs import FIGURES, CostBar, FqtCost, FqtCosts, speedups
from hil.training.trial.latency_counts import CountedLatency
from hil.training.trial.latency_figures import BookingCost
from hil.training.trial.lockstep_outcome import LockStepOutcome
from hil.training.trial.outcome import End, Outcome
from hil.training.trial.prepare import prepare
from hil.training.trial.watermarks import RamUse, Watermarks
from hil.trial import TrialSpec


@pytest.fixture(autouse=True)
def nothing_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "none"))


class Energy(EnergyResult):
    """An energy of 48 samples."""

    def __init__(self) -> None:
        pass

    def to_json(self) -> dict:
        return {"per_sample": {"value": 0.002, "uncertainty": 1e-5}, "idle_power": {"value": 0.3}}


def on_fake(spec: TrialSpec, folder: Path) -> Outcome:
    """A board whose backward pass takes 1,000 cycles for all channels, and whose meter fails on the nRF52840."""
    assert folder.is_dir()
    found = LockStepOutcome(prepare(spec), "virtual", 1_000_000)
    found.sram = RamUse(Watermarks(0, 1000 * spec.batch, 0))
    if spec.energy is not None:
        if spec.board == "nrf52840":
            raise Blocked("energy", "the meter is gone.")
        found.energy = Energy()
    if spec.latency is not None:
        latency = CountedLatency(BookingCost(1, 0, 0, 0), "dwt", Provenance.MODELLED)
        share = float(spec.settings.get("lambda_max", 1))
        for step in range(spec.latency.steps):
            backward = int(100 + 900 * share) + 2 * (step % 2)
            of_phases = {"perturb": 0, "forward": 2000, "backward": backward, "update": 4800}
            for phase, cycles in of_phases.items():
                latency.laps[phase].append(cycles)
            latency.laps["total"].append(sum(of_phases.values()))
            latency.digests.append(1)
            latency.bookings.append(1)
        found.latency = latency
    return Outcome(spec, reality="virtual", compared=found, end=End("pass"))


def written(name: str, out: Path, *on: str) -> tuple[dict, str]:
    said: list[str] = []
    assert measure(FqtCosts(name, on, 4), out, on_fake, said.append, {"time": "then"})
    return json.loads((out / "costs.json").read_text()), (out / "costs.md").read_text()


def test_the_cases_of_the_figures() -> None:
    found = {name: FqtCosts(name).cases() for name in FIGURES}
    assert {case.board for case in found["fqt-figure5"]} == {"rp2040", "nrf52840", "imxrt1062"}
    assert {case.data for case in found["fqt-figure5"]} == {"vibration"}, "watch is not fetched"
    assert {case.board for case in found["fqt-figure4"]} == {"imxrt1062"}
    assert [case.share for case in found["fqt-figure6"] if case.data == "vibration"] == [1, 0.5, 0.1]
    assert {case.configuration for case in found["fqt-figure6"]} == {"mixed"}
    assert all(len({case.name for case in cases}) == len(cases) for cases in found.values())


def test_a_trial_has_steps_of_one_sample_and_the_meter_whole_batches() -> None:
    case = CostBar("imxrt1062", "vibration", "mbednet-reset-vibration-mixed", "mixed", {"last_layers": 5}, 0.1)
    spec = case.latency(1000)
    assert spec.batch == 1 and spec.latency is not None and spec.latency.steps == 1000 and spec.energy is None
    settings = prepare(spec).method.settings
    assert (settings.lambda_min, settings.lambda_max) == (0.1, 0.1), "every sample takes this share"
    spec = case.energy(1000)
    assert spec.batch == 48 and spec.energy is not None and spec.latency is None
    assert spec.energy.windows * spec.energy.steps * spec.batch == 960
    assert prepare(spec).slots == 48, "a streamed batch is not silent"


def test_milliseconds_of_a_sample(tmp_path: Path) -> None:
    facts, page = written("fqt-figure7", tmp_path, "imxrt1062")
    assert [cost["verdict"] for cost in facts["costs"]] == ["pass"] * 3
    line = next(line for line in page.splitlines() if "fqt-cnn-uint8" in line)
    assert "| 2.000 ± 0.000 | 1.001 ± 0.001 | 0.100 ± 0.000 | 1,001 | 2 ± 0.01 | 0.300 | virtual, modelled |" in line
    assert "| 1.0 | 46.9 | 1024 | RAM |" in page, "watermarks of 1,000 and 48,000 bytes"
    assert "Currents of the idle boards in the paper's table II: rp2040 31.24 mA" in page


def test_a_share_makes_the_backward_pass_cheaper(tmp_path: Path) -> None:
    facts, page = written("fqt-figure6", tmp_path)
    of_network = facts["speedups"]["mbednet-reset-vibration-mixed"]
    assert of_network == {"0.5": pytest.approx(1001 / 551), "0.1": pytest.approx(1001 / 191)}
    assert "- mbednet-reset-vibration-mixed: 0.5: 1.82, 0.1: 5.24" in page
    assert "- mean at 0.1: 5.24; the paper's mean over seven data sets is 6.64" in page
    dense = FqtCost(CostBar("imxrt1062", "d", "n", "mixed", {}, 0.1), {}, cycles={"backward": (1.0, 0.0)})
    assert speedups([dense]) == {}, "nothing to compare with"


def test_boards_without_room_are_said_and_uint8_alone_fits_them(tmp_path: Path) -> None:
    facts, page = written("fqt-figure7", tmp_path, "rp2040", "nrf52840")
    verdicts = {cost["case"]["network"]: cost["verdict"] for cost in facts["costs"]}
    assert verdicts == {"fqt-cnn-uint8": "pass", "fqt-cnn-mixed": "blocked", "fqt-cnn-float32": "blocked"}
    assert "- blocked: rp2040-fqt-cnn-mixed-all: plan: fqt-cnn-mixed by mixed at batch 1 needs 258,976 bytes" in page
    assert "- pass: nrf52840-fqt-cnn-uint8-all: energy: energy: the meter is gone." in page


def test_segments_are_those_of_the_plan() -> None:
    case = CostBar("rp2040", "fashion-mnist-1k", "fqt-cnn-uint8", "uint8", {})
    cost = FqtCosts("fqt-figure7").analysed_case(case)
    assert cost.in_flash is False and cost.planned == prepare(case.latency(1)).plan.total
    assert set(cost.memory) == {"feature maps", "weights and gradients", "flash"}


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(command, "on_bench", on_fake)
    out = tmp_path / "out"
    arguments = ["experiment", "fqt-figure5", "--steps=3", "--board=imxrt1062", "--out", str(out)]
    assert cli.main(arguments) == 0
    assert "Transfer learning on three boards (figure 5)" in capsys.readouterr().out
    costs = json.loads((out / "costs.json").read_text())["costs"]
    assert {cost["case"]["board"] for cost in costs} == {"imxrt1062"} and {cost["steps"] for cost in costs} == {3}
    assert cli.main(["experiment", "fqt-figure5", "--board=nowhere"]) == 2
