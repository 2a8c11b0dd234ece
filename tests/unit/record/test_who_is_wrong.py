"""A wrong value in a record is a fault of the record: no sentence about it blames trainrig."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hil.commands.main import main as hil

EXAMPLE = Path(__file__).parents[3] / "reports/example"


@pytest.mark.parametrize("value", ["0", "J", None, -1])
@pytest.mark.parametrize("field", ["unit", "value", "limit", "path", "provenance"])
def test_a_wrong_value_of_a_budget(
    tmp_path: Path, field: str, value: object, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(EXAMPLE, run)
    results = json.loads((run / "results.json").read_text())
    gate = next(gate for trial in results["trials"] for gate in trial.get("gates") or [])
    gate[field] = value
    (run / "results.json").write_text(json.dumps(results))
    assert hil(["verify", str(run)]) != 0
    said = "".join(capsys.readouterr())
    assert "results.json" in said and [word for word in ("bug", "defect", "report it") if word in said] == []
