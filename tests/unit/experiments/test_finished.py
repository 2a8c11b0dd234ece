"""Finished runs are copied into other experiments: the same bits, and nothing that is damaged or of other sources."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hil.cluster import Workers, task
from hil.training.experiments import finished
from hil.training.experiments.curve import complete, read_curve
from hil.training.experiments.finished import SHA256_BYTES, FinishedRuns, key
from hil.training.experiments.pool import Pool
from hil.training.experiments.train import Training

from .folders import same
from .test_pool import Notes


def trained(folder: Path) -> Path:
    list(Training(folder).epochs())
    return folder


def kept(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.run"))


def test_a_second_experiment_trains_nothing_and_has_the_same_bits(begun, workers: Workers, tmp_path: Path) -> None:
    store = FinishedRuns(tmp_path / "store")
    fields = [{"variant": variant, "epochs": 2} for variant in ("cls1", "full-zo")]
    first, second = ([begun(where, **given) for given in fields] for where in ("first", "second"))
    fresh, copied = Notes(), Notes()
    Pool(workers, fresh, store).train(first)
    assert {said[0] for said in fresh.said} == {"begin", "epoch", "end"} and len(kept(tmp_path / "store")) == 2
    with Workers(1) as idle:
        Pool(idle, copied, store).train(second)
        assert not idle.begun
    assert copied.said == [("copied", folder.name, 3) for folder in second]
    for one, other in zip(first, second, strict=True):
        same(one, other)
        assert sorted(path.name for path in one.iterdir()) == sorted(path.name for path in other.iterdir())


def test_what_decides_a_bit_is_in_the_key(begun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    keys = {
        key(begun("a", **fields)) for fields in ({}, {"r_max": 7}, {"epochs": 4}, {"seed": 2}, {"variant": "full-zo"})
    }
    assert len(keys) == 5 and key(begun("b")) in keys, "and the folder is not"
    for changed in (
        lambda: monkeypatch.setattr(finished, "sources_digest", lambda: "another"),
        lambda: monkeypatch.setattr("numpy.__version__", "9.9"),
        lambda: monkeypatch.setenv("TRAINRIG_TINY_TRAINING", str(tmp_path)),
    ):
        changed()
        assert key(begun("b")) not in keys
        monkeypatch.undo()
    data = begun("c")
    (data / "run.json").write_text((data / "run.json").read_text().replace('"data_sha256": "', '"data_sha256": "0'))
    assert key(data) not in keys


def test_a_run_knows_the_weights_that_it_starts_from(begun) -> None:
    keys = set()
    for where, r_max in (("a", 15), ("b", 7)):
        start = trained(begun(where, epochs=1, r_max=r_max, tag="first"))
        keys.add(key(begun(where, start=start.name, tag="then")))
    assert len(keys) == 2, "the description of the run is the same"


@pytest.mark.parametrize("changed", ["training/methods/prng.py", "training/reference/native/exp_log.h"])
def test_the_digest_of_the_sources_changes_with_a_byte_of_the_reference(
    changed: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = Path(task.hil.__file__).parent
    copy = tmp_path / "hil"
    for name in ("__init__.py", "training/methods/prng.py", "training/reference/native/exp_log.h"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((package / name).read_bytes())
    monkeypatch.setattr("hil.__file__", str(copy / "__init__.py"))
    before = task.sources_digest.__wrapped__()
    assert before == task.sources_digest.__wrapped__()
    (copy / changed).write_bytes((copy / changed).read_bytes() + b"\n")
    assert task.sources_digest.__wrapped__() != before


def test_a_flipped_byte_is_found_wherever_it_is(begun, tmp_path: Path) -> None:
    store, run = FinishedRuns(tmp_path / "store"), trained(begun("first", epochs=1))
    store.add(run)
    (file,) = kept(tmp_path / "store")
    whole = file.read_bytes()
    places = (0, SHA256_BYTES - 1, SHA256_BYTES, len(whole) // 2, len(whole) - 1)
    flipped = [whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in places]
    other = begun("second", epochs=1)
    for damaged in (*flipped, b"", whole[:-1]):
        file.write_bytes(damaged)
        assert not store.copy(other) and not read_curve(other)
    store.add(run)  # when it was trained again
    assert store.copy(other) and complete(other)
    same(run, other)


def test_beyond_the_limit_the_run_that_was_used_least_recently_goes(begun, tmp_path: Path) -> None:
    runs = [trained(begun("first", epochs=1, seed=seed)) for seed in (1, 2, 3)]
    FinishedRuns(tmp_path / "store").add(runs[0])
    (file,) = kept(tmp_path / "store")
    size = file.stat().st_size
    store = FinishedRuns(tmp_path / "store", limit=size * 5 // 2)
    store.add(runs[1])
    assert len(kept(tmp_path / "store")) == 1, "one run takes a small part of the limit at most"
    monkey = pytest.MonkeyPatch()
    monkey.setattr(finished, "SHARE", 1)
    try:
        store.add(runs[1])
        for number, each in enumerate(kept(tmp_path / "store")):
            os.utime(each, (number, number))
        assert store.copy(begun("second", epochs=1, seed=1)), "which is a use"
        store.add(runs[2])
    finally:
        monkey.undo()
    assert len(kept(tmp_path / "store")) == 2
    assert [store.copy(begun("third", epochs=1, seed=seed)) for seed in (1, 2, 3)] == [True, False, True]


def test_a_run_that_went_on_is_not_kept(begun, workers: Workers, tmp_path: Path) -> None:
    """Nobody knows which sources trained its first epochs."""
    cut = begun("first", epochs=2)
    next(iter(Training(cut).epochs()))
    Pool(workers, Notes(), FinishedRuns(tmp_path / "store")).train([cut])
    assert complete(cut) and not kept(tmp_path / "store")


def test_a_cache_that_is_no_folder_costs_no_run(begun, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    store = FinishedRuns(tmp_path / "store")
    store.add(trained(begun("first", epochs=1)))
    assert not store.copy(begun("second", epochs=1))
