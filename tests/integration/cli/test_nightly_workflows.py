"""The workflow files of docs/report.md: what keeps a bench safe is in them, and their commands run as they stand there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
GITHUB = ROOT / ".github/workflows/nightly.yml"
GITLAB = ROOT / "docs/examples/nightly.gitlab-ci.yml"
HANG_S = 900
INSTALLS = "pip install"  # from a package registry: not run here
TEST = """
from hil.trial import TrialSpec

def test_mine(hil_board, hil_trial):
    hil_trial(TrialSpec(hil_board, "cls1", steps=1, evaluate=0, batch=1))
"""


@pytest.fixture(scope="module")
def job() -> dict[str, Any]:
    return yaml.safe_load(GITHUB.read_text())["jobs"]["boards"]


def test_a_bench_serves_one_run_and_none_is_cut_short_by_the_next() -> None:
    assert yaml.safe_load(GITHUB.read_text())["concurrency"] == {"group": "bench", "cancel-in-progress": False}
    nightly = yaml.safe_load(GITLAB.read_text())["nightly"]
    assert (nightly["resource_group"], nightly["interruptible"]) == ("bench", False)


def test_pytest_gets_the_signal_of_a_cancelled_job_and_the_record_is_kept(job: dict[str, Any]) -> None:
    by_name = {step.get("name"): step for step in job["steps"]}
    last = by_name["Train on the boards"]["run"].strip().splitlines()[-1]
    assert last.startswith("exec .venv/bin/pytest ")
    assert by_name["Keep record, report and results"]["if"] == "always()"
    assert by_name["Summarise"]["if"].startswith("always()") and job["timeout-minutes"] > 0


def test_no_expression_is_within_a_command_and_actions_are_pinned(job: dict[str, Any]) -> None:
    """A variable of the repository with a quotation mark in it must not become a part of a script."""
    assert not [step for step in job["steps"] if "${{" in step.get("run", "")]
    assert all(re.search(r"@[0-9a-f]{40}$", step["uses"]) for step in job["steps"] if "uses" in step)


def test_a_fork_without_a_bench_waits_for_none_and_a_bench_never_falls_back(job: dict[str, Any]) -> None:
    assert job["if"] == "vars.HIL_BOARDS != ''" and "self-hosted" in job["runs-on"]
    assert job["env"]["REALITY"] == "${{ vars.HIL_REALITY || 'hardware' }}"
    assert yaml.safe_load(GITLAB.read_text())["nightly"]["variables"]["REALITY"] == "hardware"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project with one test, and the programs of this environment as if they had just been installed."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    shutil.copy(ROOT / "rig.toml", tmp_path)
    (tmp_path / "test_mine.py").write_text(TEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nboard_testpaths = test_mine.py\n")
    return tmp_path


def run(folder: Path, script: str, **variables: str) -> str:
    """Run a script as the runner of a forge does, and return what it printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "GITHUB", "CI_"))}
    ended = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script], cwd=folder, env=kept | variables,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANG_S,
    )  # fmt: skip
    assert ended.returncode == 0 and "Traceback" not in ended.stdout, ended.stdout
    return ended.stdout


BENCH = {"BOARDS": "stm32h7b3", "REALITY": "virtual", "RIG": "rig.toml", "LINK": "https://ci.example/1", "WEBHOOK": ""}
SENTENCE = "Fine, on stand-ins only: of 1 test 1 passes."


@pytest.mark.tier("nightly")
def test_the_workflow_of_github_on_a_virtual_board(job: dict[str, Any], checkout: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    summary = checkout.parent / f"{checkout.name}.md"
    variables = {
        **BENCH,
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_WORKSPACE": str(checkout),
    }
    assert set(job["env"]) <= set(BENCH)
    said = [
        run(checkout, step["run"], **variables) for step in job["steps"] if INSTALLS not in step.get("run", INSTALLS)
    ]
    assert len(said) == 3 and f"::notice title=trainrig::{SENTENCE}" in said[1].splitlines()
    assert said[2].splitlines()[0] == SENTENCE and (checkout / "summary.txt").read_text().startswith(SENTENCE)
    assert SENTENCE in summary.read_text()
    paths = job["steps"][-1]["with"]["path"].split()
    assert all(list(checkout.glob(path)) for path in paths), paths
    assert len(list(checkout.glob("allure-results/*-result.json"))) == 1


@pytest.mark.tier("nightly")
def test_the_job_of_gitlab_on_a_virtual_board(checkout: Path) -> None:
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    nightly = yaml.safe_load(GITLAB.read_text())["nightly"]
    assert set(nightly["variables"]) <= set(BENCH)
    run(checkout, "\n".join(nightly["script"]), **BENCH)
    run(checkout, "\n".join(nightly["after_script"]), **BENCH)
    assert all(list(checkout.glob(path)) for path in nightly["artifacts"]["paths"])
    reports = nightly["artifacts"]["reports"]
    (junit,) = checkout.glob(reports["junit"])
    assert ET.parse(junit).getroot().find("testsuite").get("tests") == "1"
    (link,) = json.loads((checkout / reports["annotations"]).read_text())["trainrig"]
    assert link == {"external_link": {"label": SENTENCE, "url": BENCH["LINK"]}}
