"""A campaign that is cut at any byte of what it writes ends on the digest of an uninterrupted run, with at most one step computed twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import small_run
from small_run import STEPS, go_on, where

from hil.errors import Blocked
from hil.training.campaign.journal import NAME

CONTINUED = 61  # of so many cuts one is gone on with to the end; where all the others would go on is looked at


@pytest.fixture
def whole(tmp_path: Path) -> tuple[list[Path], int]:
    """The folder after each step of an uninterrupted run, and the digest at its end."""
    run, kept = tmp_path / "run", [tmp_path / "after0"]
    run.mkdir()
    shutil.copytree(run, kept[0])
    digest = 0
    for step in range(1, STEPS + 1):
        # One process from the beginning each time, so that no file is one that a resumed run wrote.
        shutil.rmtree(run)
        run.mkdir()
        computed, digest = go_on(run, until=step)
        assert computed == list(range(step))
        kept.append(tmp_path / f"after{step}")
        shutil.copytree(run, kept[-1])
    return kept, digest


def put(folder: Path, like: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(like, folder)


def cuts(folder: Path, before: Path, after: Path, step: int) -> Iterator[str]:
    """Bring the folder into every state that it has between two steps: the line byte by byte, the new checkpoint byte by byte, its name, the old ones gone."""
    line = (after / NAME).read_bytes()
    put(folder, before)
    for end in range(len((before / NAME).read_bytes()) if (before / NAME).exists() else 0, len(line) + 1):
        (folder / NAME).write_bytes(line[:end])
        yield f"the journal of {end} bytes"
    name = f"checkpoint-{step:010d}.npz"
    checkpoint = (after / name).read_bytes()
    for end in range(len(checkpoint) + 1):
        (folder / f"{name}.1.part").write_bytes(checkpoint[:end])
        yield f"{end} bytes of the checkpoint"
    (folder / f"{name}.1.part").rename(folder / name)
    yield "the checkpoint in its place"


def test_cut_at_every_byte(whole: tuple[list[Path], int], tmp_path: Path) -> None:
    kept, digest = whole
    folder, number = tmp_path / "cut", 0
    for step in range(1, STEPS + 1):
        for what in cuts(folder, kept[step - 1], kept[step], step):
            number += 1
            point = where(folder)
            assert point.step in (step - 1, step), what  # steps 0..step-1 have been computed at this moment
            assert point.again == 0 or (point.again, point.step) == (1, step - 1), what
            if number % CONTINUED == 0:
                again = tmp_path / "again"
                put(again, folder)
                computed, ended = go_on(again)
                assert (computed, ended) == (list(range(point.step, STEPS)), digest), what
    assert number > 3000


def test_cut_again_and_again(tmp_path: Path) -> None:
    """Each session is cut after one step, before its checkpoint: every step but the last is computed twice, and the end is the same."""
    folder, straight = tmp_path / "cut", tmp_path / "straight"
    straight.mkdir()
    folder.mkdir()
    _, digest = go_on(straight)
    for step in range(STEPS):
        assert go_on(folder, until=step + 1)[0] == [step]
        (folder / f"checkpoint-{step + 1:010d}.npz").unlink()
        assert go_on(folder, until=step + 1)[0] == [step]
    assert where(folder).step == STEPS
    assert go_on(folder) == ([], digest)


@pytest.mark.parametrize("every", [2, 3, 10])
def test_with_checkpoints_further_apart_the_end_is_the_same(tmp_path: Path, every: int) -> None:
    straight, cut = tmp_path / "straight", tmp_path / "cut"
    straight.mkdir()
    cut.mkdir()
    _, digest = go_on(straight)
    assert go_on(cut, every, until=STEPS - 1)[0] == list(range(STEPS - 1))
    computed, ended = go_on(cut, every)
    assert ended == digest and computed[0] == (STEPS - 1) // every * every


def test_a_checkpoint_damaged_at_any_byte_is_not_used(whole: tuple[list[Path], int], tmp_path: Path) -> None:
    """The disk damages the newest file: the one before is used, or the damage has touched nothing that counts."""
    kept, digest = whole
    folder = tmp_path / "damaged"
    put(folder, kept[STEPS])
    path = folder / f"checkpoint-{STEPS:010d}.npz"
    data = path.read_bytes()
    older = 0
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        point = where(folder)
        assert point.step in (STEPS - 1, STEPS)
        older += point.step == STEPS - 1
        assert small_run.step_digest(small_run.learner(point).digests()) == small_run.step_digest(
            small_run.learner(where(kept[point.step])).digests()
        )
    assert older > len(data) // 3
    path.write_bytes(b"")
    assert go_on(folder) == ([STEPS - 1], digest)


def test_a_checkpoint_that_the_journal_contradicts_is_not_used(whole: tuple[list[Path], int], tmp_path: Path) -> None:
    """A good checkpoint of the same campaign number, but of other weights."""
    kept, _ = whole
    other = tmp_path / "other"
    put(other, kept[STEPS])
    small_run.Checkpoints(other, small_run.CAMPAIGN).write(STEPS, [small_run.network().trained[0].weights])
    assert where(other).step == STEPS - 1


def test_a_checkpoint_of_another_campaign_is_not_used(whole: tuple[list[Path], int], tmp_path: Path) -> None:
    kept, _ = whole
    folder = tmp_path / "other"
    put(folder, kept[2])
    small_run.Checkpoints(folder, 1).write(3, [small_run.network().trained[0].weights])
    assert where(folder).step == 2


def test_a_journal_that_lost_its_end_does_not_send_the_campaign_back(
    whole: tuple[list[Path], int], tmp_path: Path
) -> None:
    """Not a cut, but a disk that lost a page: the checkpoint was written only after both sides had agreed, and is gone on from."""
    kept, digest = whole
    folder = tmp_path / "lost"
    put(folder, kept[4])
    line = (folder / NAME).read_bytes()
    for end in range(0, len(line), 7):
        put(folder, kept[4])
        (folder / NAME).write_bytes(line[:end])
        assert where(folder).step == 4
    assert go_on(folder) == ([4], digest)


def test_a_second_computation_that_differs_is_found(whole: tuple[list[Path], int], tmp_path: Path) -> None:
    kept, _ = whole
    folder = tmp_path / "differs"
    put(folder, kept[3])
    for path in folder.glob("checkpoint-*"):
        path.unlink()
    with small_run.Journal(folder / NAME, small_run.read_journal(folder / NAME, 0)) as journal:
        saver = small_run.StepSaver(journal, small_run.Checkpoints(folder, small_run.CAMPAIGN), 1, STEPS, lambda: False)
        with pytest.raises(Blocked, match=r"step 1 now has the digest 00000BAD on both sides, but had"):
            saver.save(small_run.row(1, 0xBAD), [])
