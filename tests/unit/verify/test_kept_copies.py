"""The committed example is a copy of a run: it says what it does not have, and what it has is checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hil.commands.main import main
from hil.record import read_entries
from hil.record.contradiction import Contradicted
from hil.record.sums import sums_of, write_sums
from tools.keep_run import keep

EXAMPLE = Path(__file__).parents[3] / "reports/example"
MOST = 2_400_000  # bytes of the example: 2.16 MB


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the example that a test may edit."""
    target = tmp_path / "copy"
    shutil.copytree(EXAMPLE, target, ignore=shutil.ignore_patterns("*.html", "plotly.js"))
    return target


def seal(run: Path) -> None:
    write_sums(run, sums_of(run, json.loads((run / "results.json").read_text())["run"], pages=False))


def refused(run: Path) -> str:
    with pytest.raises(Contradicted) as error:
        read_entries(run)
    return " ".join(one.sentence for one in error.value.found)


def test_the_copy_says_what_it_does_not_have(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(copy)]) == 2
    said = capsys.readouterr().out
    assert "not in this copy: The entry in results.json is trial.json, field by field." in said
    assert "ok: steps.parquet has a row for each compared step" in said
    assert said.splitlines()[-1].startswith("Not verified: it is a copy for a repository") and "trial.json" in said
    assert main(["verify", "--json", str(copy)]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["kept"] is True and [check["of"] for check in found["checks"]].count(0) == 4


def test_a_run_without_trial_json_that_is_no_copy_is_refused(copy: Path) -> None:
    results = json.loads((copy / "results.json").read_text())
    del results["run"]["kept"]
    (copy / "results.json").write_text(json.dumps(results))
    seal(copy)
    assert f"a trial in the folder {results['trials'][0]['folder']} is 'there'" in refused(copy)


def test_what_the_copy_has_is_checked(copy: Path) -> None:
    results = json.loads((copy / "results.json").read_text())
    table = copy / results["trials"][0]["folder"] / "steps.parquet"
    content = pq.read_table(table)
    pq.write_table(content.slice(1), table)
    assert "steps.parquet: its SHA-256 is" in refused(copy)
    seal(copy)
    assert "steps.parquet (rows)" in refused(copy)
    table.unlink()
    seal(copy)
    assert "steps.parquet (rows) has missing" in refused(copy)


def test_a_run_is_copied_whole_and_small(tmp_path: Path) -> None:
    keep(EXAMPLE, tmp_path / "kept")
    made = {path.relative_to(tmp_path / "kept") for path in (tmp_path / "kept").rglob("*")}
    assert made == {path.relative_to(EXAMPLE) for path in EXAMPLE.rglob("*") if path.name != "plotly.js"}
    assert read_entries(tmp_path / "kept").facts["kept"] is True
    assert (tmp_path / "kept/results.json").read_bytes() == (EXAMPLE / "results.json").read_bytes()
    assert sum(path.stat().st_size for path in (tmp_path / "kept").rglob("*") if path.is_file()) < MOST
