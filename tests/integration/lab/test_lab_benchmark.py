"""`hil bench lab` with a small lab, as it stands: a real coordinator, a real history, and every figure with its source."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("labgrid", reason="labgrid is not installed: pip install 'trainrig[labgrid]'")

from hil.commands.main import main

SMALL = ["--boards", "20", "--exporters", "4", "--trials", "300", "--runs", "10", "--clients", "2"]


@pytest.mark.tier("nightly")
def test_a_small_lab_keeps_its_laws_and_says_where_it_ends(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "lab", "--json", *SMALL]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["problems"] == [] and "breaks" in found["breaks_first"]
    by_name = {(figure["part"], figure["name"]): figure["value"] for figure in found["figures"]}
    assert by_name["trials", "passed"] == 300
    assert by_name["database", "transactions a trial"] >= 2
    words = {"simulated", "measured", "extrapolated", "analytic"}
    assert all(set(figure["how"].replace(";", "").split()) & words for figure in found["figures"])
