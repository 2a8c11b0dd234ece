"""The record of a first light, its page and its judgement."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

from hil.first_light import Danger, Outcome, Result
from hil.first_light.record import JSON, PAGE, first_light_of, judgement, write

from .fake_board import brought_up

HOSTILE = "<script>alert(1)</script> & \"quoted\" 'too' \u202e"
BEGUN = datetime(2026, 11, 30, 19, 4, tzinfo=timezone.utc)


def result(name: str, outcome: Outcome, seen: str = "all") -> Result:
    return Result(name, "it works", Danger.READS.value, "it does", seen, "well", outcome.value, 0.25)


def light(folder: Path, results: list[Result], reality: str = "virtual") -> object:
    on = brought_up("rp2040", folder)
    on.dut.record = SimpleNamespace(reality=reality, place="", image="a.elf", image_sha256="12" * 32)  # type: ignore[misc]
    on.figures["revision"] = HOSTILE
    return first_light_of(on, results, BEGUN)


def test_both_files_say_the_same_and_nothing_in_them_runs(tmp_path: Path) -> None:
    found = light(tmp_path, [result("probe", Outcome.PASS), result("UART", Outcome.FAIL, HOSTILE)])
    assert [path.name for path in write(found, tmp_path)] == [JSON, PAGE]  # type: ignore[arg-type]
    read = json.loads((tmp_path / JSON).read_text(encoding="utf-8"))
    assert (read["begun"], read["version"], read["board"]) == ("2026-11-30T19:04:00Z", 1, "rp2040")
    assert [stage["outcome"] for stage in read["stages"]] == ["pass", "fail"] and read["stages"][1]["seen"] == HOSTILE
    page = (tmp_path / PAGE).read_text(encoding="utf-8")
    assert "<script" not in page and page.count("&lt;script&gt;") >= 3  # banner, stage, revision
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")


def test_what_is_bad_is_named_first() -> None:
    results = [result("probe", Outcome.PASS), result("RAM", Outcome.FAIL), result("UART", Outcome.NOT_REACHED)]
    said = judgement(results, "hardware")
    assert said == "1 pass, 1 fail, 1 not reached on silicon; the first that is not as assumed: RAM."
    assert "nothing is said about silicon" in judgement(results[:1], "virtual")


def test_only_failed_and_blocked_stages_are_bad(tmp_path: Path) -> None:
    for outcome in Outcome:
        good = light(tmp_path, [result("probe", outcome)]).is_good  # type: ignore[attr-defined]
        assert good == (outcome not in (Outcome.FAIL, Outcome.BLOCKED))
