"""The committed run in reports/example: valid, anonymous, and its pages are those that the report renders today."""

from __future__ import annotations

import base64
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from hil.record import read_run
from hil.record.clients import clients
from hil.record.results import schema
from hil.report import render
from hil.report.run_files import LIBRARY

EXAMPLE = Path(__file__).parents[3] / "reports" / "example"
RENDER = "render it again and commit the pages: `hil report reports/example`"
MAKE = "make it again, as reports/README.md says"
FIGURE = re.compile(r'(?<=<script type="application/json" data-plot=")([^"]+)">(.*?)(?=</script>)', re.S)
PLACE = re.compile(r"""(?<![\w.-])/(?:home|root|tmp|work|Users|private|var|opt|mnt|dev|etc|usr)/""")


def pages_of(folder: Path) -> dict[str, str]:
    """Return the text of every page by its path in the folder."""
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}


def plain(value: Any) -> Any:
    """Return a figure with plain lists; Plotly 5 writes lists, later versions write arrays as base64 with a dtype."""
    if isinstance(value, dict) and "bdata" in value:
        numbers = np.frombuffer(base64.b64decode(value["bdata"]), value["dtype"]).tolist()
        return [None if number != number else number for number in numbers]  # JSON has no NaN
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def same(one: Any, other: Any) -> bool:
    """Return whether two figures are equal, their numbers to nine digits."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=1e-9)
    return bool(one == other)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The pages as the report renders them today, from a copy of the committed record."""
    copy = tmp_path_factory.mktemp("reports") / "example"
    shutil.copytree(EXAMPLE, copy, ignore=shutil.ignore_patterns("*.html", LIBRARY))
    render(copy)
    return pages_of(copy)


def test_the_record_is_valid() -> None:
    results = json.loads((EXAMPLE / "results.json").read_text(encoding="utf-8"))
    errors = [error.message[:200] for error in jsonschema.Draft202012Validator(schema()).iter_errors(results)]
    assert not errors, f"{EXAMPLE / 'results.json'} does not fit results.schema.json; {MAKE}"


def test_it_is_a_whole_run_on_the_virtual_board() -> None:
    run = read_run(EXAMPLE)
    assert run.facts["whole"] and {test.verdict for test in run.tests} == {"pass"}, MAKE
    assert {trial.reality for trial in run.trials} == {"virtual"}
    assert {trial.cycles_provenance for trial in run.trials} == {"modelled"}
    assert any(trial.energy and trial.latency for trial in run.trials), "one trial shows what can be measured"


def test_nothing_of_a_machine_is_in_it() -> None:
    run = read_run(EXAMPLE)
    assert set(run.facts["host"]) == {"system", "machine", "cpus"}
    for path in (path for path in EXAMPLE.rglob("*") if path.is_file() and path.name != LIBRARY):
        found = PLACE.search(path.read_bytes().decode("utf-8", "replace"))
        assert found is None, f"{path} contains the path {found[0]!r} of a computer; {MAKE}"


def test_every_page_is_there(rendered: dict[str, str]) -> None:
    assert set(pages_of(EXAMPLE)) == set(rendered), RENDER


def test_the_pages_are_those_that_the_report_renders(rendered: dict[str, str]) -> None:
    """The text byte for byte; the figures by value, because releases of Plotly and pandas write numbers differently."""
    if not list(clients()):
        pytest.skip("no client knows the number formats of the networks")
    for name, page in pages_of(EXAMPLE).items():
        stale = f"reports/example/{name} is not what the report renders now; {RENDER}"
        assert FIGURE.sub(r'\1">', page) == FIGURE.sub(r'\1">', rendered[name]), stale
        for (plot, kept), (_, now) in zip(FIGURE.findall(page), FIGURE.findall(rendered[name]), strict=True):
            assert same(plain(json.loads(kept)), plain(json.loads(now))), f"{plot}: {stale}"
