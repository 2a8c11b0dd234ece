"""ElasticZO gets a second format, by the steps of docs/new-method.md: four files, its table and two registry lines.

The example is fixed16, a format that the project does not have. C and NumPy then agree, and nothing else was changed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
ADDED = HERE / "fixed16"
ROOMS = ("docs", "firmware", "hil")
FOUR = (
    Path("docs/arithmetic-fixed16.md"),
    Path("firmware/formats/fixed16.c"),
    Path("hil/training/formats/fixed16.py"),
    Path("hil/training/reference/formats/fixed16.py"),
)
TABLE = Path("hil/training/graph/chains.toml")
LINES = {  # registry: the new line, and the line that it stands behind
    Path("hil/training/graph/formats.py"): ("    FIXED16 = 6", "    BFP8 = 2"),
    Path("firmware/trainer/registry.c"): (f"{'    FORMAT(fixed16)':<119}\\", f"{'    FORMAT(tflite8)':<119}\\"),
}
BAD_SETTING, LOSS = 13, 10  # FAILURE_BAD_SETTING of firmware/graph/failure.h; the place of `loss` in `configure`


def files(root: Path) -> dict[Path, bytes]:
    """Return what is in the rooms, without what compilers leave there."""
    left = {"__pycache__", "build", "prebuilt"}
    found = [path for room in ROOMS for path in (root / room).rglob("*") if path.is_file()]
    return {path.relative_to(root): path.read_bytes() for path in found if not left & {*path.relative_to(root).parts}}


def add_format(tree: Path) -> None:
    """Follow docs/new-method.md."""
    for path in FOUR:
        shutil.copy(ADDED / path, tree / path)
    with (tree / TABLE).open("a") as table:
        table.write((ADDED / "chains.toml").read_text())
    for path, (line, before) in LINES.items():
        lines = (tree / path).read_text().split("\n")
        lines.insert(lines.index(before) + 1, line)
        (tree / path).write_text("\n".join(lines))


NIGHTLY = pytest.mark.tier("nightly")  # a second engine is compiled, twenty seconds


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree with the format in it."""
    folder = tmp_path_factory.mktemp("tree")
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("build", "prebuilt", "__pycache__"))
    (folder / "fixtures").symlink_to(ROOT / "fixtures")
    add_format(folder)
    return folder


@pytest.fixture(scope="module")
def said(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what `both_formats.py` says of the tree."""
    for tool in ("make", os.environ.get("CC", "cc")):
        if shutil.which(tool) is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{tool} is not installed")
    places = os.pathsep.join((str(tree), str(ROOT / "tests/unit")))
    command = [sys.executable, HERE / "both_formats.py", tree / "firmware", tmp_path_factory.mktemp("build")]
    done = subprocess.run(command, cwd=tree, env=os.environ | {"PYTHONPATH": places}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert Path(answer["from"]).is_relative_to(tree)
    return answer


def test_nothing_else_was_added_or_changed(tree: Path) -> None:
    ours, theirs = files(ROOT), files(tree)
    assert theirs.keys() - ours.keys() == set(FOUR)
    assert {path for path in ours if theirs.get(path) != ours[path]} == {TABLE, *LINES}
    for path, (line, _) in LINES.items():
        left = theirs[path].decode().split("\n")
        left.remove(line)
        assert left == ours[path].decode().split("\n")
    old, new = (tomllib.loads(content[TABLE].decode()) for content in (ours, theirs))
    assert new == old | {"fixed16": new["fixed16"]}


def test_the_page_has_the_steps() -> None:
    page = (ROOT / "docs/new-method.md").read_text()
    for step in (*FOUR, TABLE, *LINES):
        assert f"`{step}`" in page, f"docs/new-method.md does not name {step}"
    for line, _ in LINES.values():
        assert line.strip(" \\") in page


@NIGHTLY
def test_c_and_numpy_agree_in_every_step(said: dict[str, Any]) -> None:
    """Losses, signs, digests of what is trained, predictions and digests of the logits."""
    assert said["c"].keys() == said["numpy"].keys()
    for case, steps in said["c"].items():
        assert len(steps) == 4
        for step, (by_c, by_numpy) in enumerate(zip(steps, said["numpy"][case], strict=True)):
            assert by_c == by_numpy, f"{case}, after {step} steps"


@NIGHTLY
def test_every_step_moves_weights(said: dict[str, Any]) -> None:
    for case, steps in said["c"].items():
        digests = [step["digests"] for step in steps]
        assert all(before != after for before, after in pairwise(digests)), case
    first, last = (said["c"]["back-propagation"][step]["digests"] for step in (0, -1))
    assert len(first) == 4 and all(before != after for before, after in zip(first, last, strict=True))


@NIGHTLY
def test_a_group_has_the_numbers_of_its_samples(said: dict[str, Any]) -> None:
    """Exponents are fixed."""
    assert said["c"]["a group"] == said["c"]["back-propagation"]


@NIGHTLY
def test_a_batch_may_come_in_parts(said: dict[str, Any]) -> None:
    assert said["parts"] == [step["digests"] for step in said["c"]["back-propagation"][1:]]


@NIGHTLY
def test_both_show_the_same_values_and_errors(said: dict[str, Any]) -> None:
    by_c, by_numpy = said["traces"]
    assert len(by_c) == 9 + 9 and by_c == by_numpy


@NIGHTLY
def test_host_and_engine_plan_the_same_memory(said: dict[str, Any]) -> None:
    assert len(said["plans"]) > 6 and all(by_host == by_engine for by_host, by_engine in said["plans"])


@NIGHTLY
def test_the_integer_loss_is_refused(said: dict[str, Any]) -> None:
    by_host, by_engine = said["integer loss"]
    assert "fixed16" in by_host and by_engine == [BAD_SETTING, LOSS]


@NIGHTLY
def test_wrong_files_are_refused_by_the_same_check(said: dict[str, Any]) -> None:
    assert said["files"] == [[[0, 9]] * 2, [[8, 12]] * 2, [[0, 9]] * 2, [[8, 5]] * 2]
