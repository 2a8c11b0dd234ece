"""Plain SPSA, a method that the project does not have, is added to a copy of the tree by the steps of docs/new-method.md:

four files, its table in methods.toml and two registry lines. C and NumPy then agree, and nothing else was changed but
what is generated.
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
ADDED = HERE / "spsa"
ROOMS = ("docs", "firmware", "hil")
FOUR = (
    Path("docs/arithmetic-spsa.md"),
    Path("firmware/methods/spsa.c"),
    Path("hil/training/methods/spsa.py"),
    Path("hil/training/reference/methods/spsa.py"),
)
SETTINGS = Path("hil/training/methods/methods.toml")
LINES = {  # registry: the new line, and the line that it stands before
    Path("hil/training/methods/__init__.py"): ('    "spsa": "spsa:Spsa",', "}"),
    Path("firmware/trainer/registry.c"): (f"{'    METHOD(spsa)':<119}\\", "    /* the next method */"),
}
GENERATE = ("-m", "hil.training.methods.generate")
GENERATED = {Path("firmware/methods/settings.h")}
BAD_SETTING = 13  # FAILURE_BAD_SETTING of firmware/graph/failure.h
FIELDS = {"perturb": 8, "wise": 9, "difference": 10, "direction": 11, "gns": 12, "queries": 15}  # of `configure`


def files(root: Path) -> dict[Path, bytes]:
    """Return what is in the rooms, without what compilers leave there."""
    left = {"__pycache__", "build", "prebuilt"}
    found = [path for room in ROOMS for path in (root / room).rglob("*") if path.is_file()]
    return {path.relative_to(root): path.read_bytes() for path in found if not left & {*path.relative_to(root).parts}}


def add_method(tree: Path) -> None:
    """Follow docs/new-method.md."""
    for path in FOUR:
        shutil.copy(ADDED / path, tree / path)
    with (tree / SETTINGS).open("a") as settings:
        settings.write((ADDED / "methods.toml").read_text())
    for path, (line, before) in LINES.items():
        lines = (tree / path).read_text().split("\n")
        lines.insert(lines.index(before), line)
        (tree / path).write_text("\n".join(lines))
    subprocess.run([sys.executable, *GENERATE], cwd=tree, env=os.environ | {"PYTHONPATH": str(tree)}, check=True)


NIGHTLY = pytest.mark.tier("nightly")  # a second engine is compiled, twenty seconds


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the tree with the method in it."""
    folder = tmp_path_factory.mktemp("tree")
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("build", "prebuilt", "__pycache__"))
    (folder / "fixtures").symlink_to(ROOT / "fixtures")
    add_method(folder)
    return folder


@pytest.fixture(scope="module")
def said(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what `both_engines.py` says of the tree."""
    for tool in ("make", os.environ.get("CC", "cc")):
        if shutil.which(tool) is None:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{tool} is not installed")
    places = os.pathsep.join((str(tree), str(ROOT / "tests/unit")))
    command = [sys.executable, HERE / "both_engines.py", tree / "firmware", tmp_path_factory.mktemp("build")]
    done = subprocess.run(command, cwd=tree, env=os.environ | {"PYTHONPATH": places}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert Path(answer["from"]).is_relative_to(tree)
    return answer


def test_nothing_else_was_added_or_changed(tree: Path) -> None:
    ours, theirs = files(ROOT), files(tree)
    assert theirs.keys() - ours.keys() == set(FOUR)
    assert {path for path in ours if theirs.get(path) != ours[path]} == {SETTINGS, *LINES, *GENERATED}
    for path, (line, _) in LINES.items():
        left = theirs[path].decode().split("\n")
        left.remove(line)
        assert left == ours[path].decode().split("\n")
    old, new = (tomllib.loads(content[SETTINGS].decode()) for content in (ours, theirs))
    assert list(new["loops"]) == [*old["loops"], "spsa"]
    assert new == old | {"loops": old["loops"] | {"spsa": new["loops"]["spsa"]}}


def test_the_page_has_the_steps() -> None:
    page = (ROOT / "docs/new-method.md").read_text()
    for step in (*FOUR, SETTINGS, *LINES):
        assert f"`{step}`" in page, f"docs/new-method.md does not name {step}"
    for line, _ in LINES.values():
        assert line.strip(" \\") in page
    assert " ".join(("python", *GENERATE)) in page


@NIGHTLY
def test_c_and_numpy_agree_in_every_step(said: dict[str, Any]) -> None:
    """Losses, digests of what is trained, predictions and digests of the logits."""
    assert said["c"].keys() == said["numpy"].keys()
    for case, steps in said["c"].items():
        assert len(steps) == 4
        for step, (by_c, by_numpy) in enumerate(zip(steps, said["numpy"][case], strict=True)):
            assert by_c == by_numpy, f"{case}, after {step} steps"


@NIGHTLY
def test_every_step_moves_weights(said: dict[str, Any]) -> None:
    for case, steps in said["c"].items():
        digests = [step["digests"] for step in steps]
        for before, after in pairwise(digests):
            assert before != after, case
    first, last = (said["c"]["every tensor"][step]["digests"] for step in (0, -1))
    assert len(first) == 10 and all(before != after for before, after in zip(first, last, strict=True))


@NIGHTLY
def test_one_sample_is_trained_as_mezo_does_it(said: dict[str, Any]) -> None:
    """MeZO has one query with two sides too; it reports other losses."""
    spsa, mezo = (said["c"][case] for case in ("one sample", "one sample, mezo"))
    assert [step["digests"] for step in spsa] == [step["digests"] for step in mezo]


@NIGHTLY
def test_a_batch_may_come_in_parts(said: dict[str, Any]) -> None:
    assert said["parts"]["digests"] == [step["digests"] for step in said["c"]["a batch"][1:]]


@NIGHTLY
def test_the_reference_names_the_weights_of_both_passes(said: dict[str, Any]) -> None:
    """A trial looks for the place of a difference with them."""
    from_weights, reported = said["passes"]
    assert from_weights == reported


@NIGHTLY
def test_host_and_engine_agree_on_memory_and_work(said: dict[str, Any]) -> None:
    assert said["plans"] and all(by_host == by_engine for by_host, by_engine in said["plans"])
    by_host, by_engine = said["parts"]["work"]
    assert by_host == by_engine


@NIGHTLY
def test_a_setting_that_it_does_not_take_is_refused(said: dict[str, Any]) -> None:
    assert said["refused"].keys() == FIELDS.keys()
    for name, (by_host, (code, field, _)) in said["refused"].items():
        assert name in by_host and (code, field) == (BAD_SETTING, FIELDS[name]), name
