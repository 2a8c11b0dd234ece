"""What is a path in the name of a data set, what of it a record shows, and the cards of the sets that are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hil.training.data import load, names
from hil.training.data.card import lines
from hil.training.data.command import main
from hil.training.data.idx import idx_bytes
from hil.training.data.names import absolute_name, as_text, public_name, split_name


@pytest.mark.parametrize(
    ("name", "public"),
    [
        ("/home/ada/secret/photos", "photos"),
        ("/home/ada/secret/photos/", "photos"),
        ("/home/ada/secret/photos/@28x28x1+fog-5", "photos@28x28x1+fog-5"),
        ("secret/s.npz@800-200", "s.npz@800-200"),
        ("./s.csv", "s.csv"),
        ("s.csv@5-way-5-shot-test-3", "s.csv@5-way-5-shot-test-3"),
        ("idx:/home/ada/secret/mine@10", "idx:mine@10"),
        ("/", "data"),
        (Path("/home/ada/secret/s.npz"), "s.npz"),
        ("mnist+fog-5@800", "mnist+fog-5@800"),
    ],
)
def test_a_record_never_shows_the_folders_above(name: str | Path, public: str) -> None:
    assert public_name(name) == public


def test_a_path_that_exists_has_no_suffixes(tmp_path: Path) -> None:
    (tmp_path / "photos@2024").mkdir()
    whole = f"{tmp_path}/photos@2024"
    assert split_name(whole) == (whole, "")
    assert split_name(f"{whole}@10+fog-2") == (whole, "@10+fog-2")
    assert split_name(f"{tmp_path}/other@2024") == (f"{tmp_path}/other", "@2024")


def test_a_name_means_the_same_in_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute_name("./a/s.npz@10") == f"{tmp_path}/a/s.npz@10"
    assert absolute_name("idx:mine") == f"idx:{tmp_path}/mine"
    assert absolute_name("mnist@10") == "mnist@10"
    assert as_text(Path("photos")) == "./photos"


@pytest.mark.parametrize(
    "name", [name for name in names() if name.startswith(("fashion-mnist-1k", "rotated-fashion-mnist-1k", "vibration"))]
)
def test_sets_of_the_package_have_cards(name: str) -> None:
    data = load(name)
    card = data.card
    assert card.licence != "not stated" and card.source and card.split and card.range is None and card.file == ""
    assert sum(one.train for one in card.classes) == len(data.train_images)
    assert sum(one.test for one in card.classes) == len(data.test_images)
    assert (card.sha256 == data.sha256) == (not name.startswith("rotated"))
    changed = load(f"{name}@100+contrast-2").card
    assert changed.sha256 == card.sha256 and changed.changes.endswith("@100+contrast-2")


def test_idx_files_have_a_card_with_their_statement(tmp_path: Path) -> None:
    labels = np.arange(16, dtype=np.uint8) % 4
    for split in ("train", "test"):
        (tmp_path / f"{split}-images-idx3-ubyte").write_bytes(idx_bytes(np.zeros((16, 6, 5), np.uint8)))
        (tmp_path / f"{split}-labels-idx1-ubyte").write_bytes(idx_bytes(labels))
    (tmp_path / "card.toml").write_text('licence = "CC0"')
    data = load(f"idx:{tmp_path}")
    assert (data.card.licence, data.card.file, data.card.shape) == ("CC0", tmp_path.name, (6, 5, 1))
    assert data.card.sha256 == data.sha256 and [one.train for one in data.card.classes] == [4] * 4


def test_the_command_prints_the_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["card", "fashion-mnist-1k@50"]) == 0
    said = capsys.readouterr().out
    assert said == "\n".join(lines(load("fashion-mnist-1k@50").card)) + "\n"
    assert "MIT (Zalando SE)" in said and "test images" in said
