"""The program that makes the golden files: deterministic, and careful with what is there."""

from __future__ import annotations

import pytest

from . import make
from .rows import FOLDER, committed, wanted

KEYS = [
    ("elasticzo-int8", "full-zo", "lenet5", "varied"),
    ("mcutrain", "block3", "resnet-tiny", "base"),
    ("deepzero", "sparse", "lenet5-tflite", "varied"),
]


@pytest.mark.parametrize("key", KEYS, ids="-".join)
def test_a_row_is_made_again_as_it_is(key: tuple[str, str, str, str]) -> None:
    """Samples, losses, names and totals too, not the digests alone."""
    row, settings = next(pair for pair in wanted() if pair[0].key == key)
    recorded = next(one for one in committed() if one.key == key).recorded
    made = make.make_row(row, settings)
    assert made == {name: recorded[name] for name in made}


def test_files_that_are_there_are_not_replaced_without_force(capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in FOLDER.glob("*/*.json")}
    assert make.make(force=False) == 1
    assert "docs/arithmetic*.md" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in FOLDER.glob("*/*.json")} == before
