"""Coverage from records: union over trials, images and boards, and what is wrong in one sentence."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hil.commands.main import main
from hil.coverage import read_coverage
from hil.coverage.keep import keep_lines
from hil.coverage.source_file import FileCoverage, merged, ranges
from hil.errors import RigError
from hil.images import image_of
from hil.images.executed import Executed
from hil.record import RunWriter, TrialExtras
from tests.unit.report.conftest import agreeing, blocked_trial, list_again, make_steps, make_trial

Recorded = Callable[..., Path]


def executed(*names: str, board: str = "stm32h7b3") -> Executed:
    """All instructions of functions, as one block each."""
    functions = image_of(board).functions
    found = []
    for place, (address, name) in enumerate(functions):
        if name in names:
            following = next(after for after, _ in functions[place:] if after > address)
            found.append((address, following - address))
    return Executed(np.array(found, np.uint32).reshape(-1, 2), np.zeros(0, np.uint32), np.zeros((0, 2), np.uint8))


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """Write a run; a trial is its board, its reality, and what it executed."""

    def record(*trials: tuple[str, str, Executed | None], elf: Path | None = None, keep: bool = True) -> Path:
        run = RunWriter.begin(tmp_path / "reports")
        for board, reality, ran in trials:
            sha256 = image_of(board, elf).sha256
            image = {"file": f"{board}.elf", "digest": "0badf00d", "in_manifest": elf is None}
            flash = {"route": "pyocd", "programmed": True, "cycles": None}
            word = "measured" if reality == "hardware" else "modelled"
            trial, steps = agreeing(
                make_trial(
                    board=board, reality=reality, image_sha256=sha256, image=image, flash=flash, cycles_provenance=word
                ),
                make_steps(3),
            )
            run.write_trial(trial, steps, run.trial_folder("trial"), TrialExtras(executed=ran))
        if keep:
            keep_lines(run.folder, run.trials, elf)
        run.finish()
        return run.folder

    return record


def lines_of(found: list[FileCoverage], name: str) -> dict[int, bool]:
    return dict(next(file.lines for file in found if file.name == name))


def test_a_line_is_reached_if_a_trial_reached_it(recorded: Recorded) -> None:
    run = recorded(("stm32h7b3", "virtual", executed("xxh32")), ("stm32h7b3", "virtual", executed("fault_handler")))
    both = read_coverage([run])
    alone = read_coverage([run / "trial"])
    assert (
        sum(lines_of(both.files, "arith/xxh32.c").values()) == sum(lines_of(alone.files, "arith/xxh32.c").values()) > 5
    )
    assert any(lines_of(both.files, "agent/fault.c").values())
    assert not any(lines_of(alone.files, "agent/fault.c").values())
    assert (both.boards[0].trials, alone.boards[0].trials) == (2, 1)


def test_boards_are_joined_by_source_file(recorded: Recorded) -> None:
    found = read_coverage(
        [
            recorded(
                ("stm32h7b3", "virtual", executed("xxh32")),
                ("rp2040", "virtual", executed("fault_handler", board="rp2040")),
            )
        ]
    )
    by_board = {board.board: board.files for board in found.boards}
    assert any(lines_of(by_board["rp2040"], "agent/fault.c").values())
    assert not any(lines_of(by_board["stm32h7b3"], "agent/fault.c").values())
    assert any(lines_of(found.files, "agent/fault.c").values())
    assert set(lines_of(found.files, "arith/xxh32.c")) == {
        line for files in by_board.values() for line in lines_of(files, "arith/xxh32.c")
    }


def test_several_runs_are_joined(recorded: Recorded) -> None:
    first = recorded(("stm32h7b3", "virtual", executed("xxh32")))
    second = recorded(("stm32h7b3", "virtual", executed("fault_handler")))
    assert read_coverage([first, second]).boards[0].trials == 2


def test_a_run_that_is_named_twice_counts_once(recorded: Recorded, tmp_path: Path) -> None:
    """By the same path, another one, a link, a copy, or one of its trials."""
    run = recorded(("stm32h7b3", "virtual", executed("xxh32")))
    once = read_coverage([run])
    link, copy = tmp_path / "link", tmp_path / "copy"
    link.symlink_to(run)
    shutil.copytree(run, copy)
    for again in (run, run / ".." / run.name, link, copy, run / "trial", link / "trial"):
        assert read_coverage([run, again]) == once, again
    assert read_coverage([run / "trial", run]) == once


def test_trials_on_other_realities_are_named(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded(
        ("stm32h7b3", "virtual", executed("xxh32")), ("mps2-an385", "qemu", None), ("rp2040", "hardware", None)
    )
    assert main(["coverage", str(run)]) == 0
    said = capsys.readouterr().out
    for reality in ("qemu", "hardware"):
        assert f"no coverage: 1 x the trial ran on {reality}, which records none" in said
    assert "arith/xxh32.c" in said


def test_json_has_the_lines_that_were_never_reached(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded(("stm32h7b3", "virtual", executed("xxh32")))
    assert main(["coverage", str(run), "--json"]) == 0
    files = {file["file"]: file for file in json.loads(capsys.readouterr().out)["files"]}
    fault = files["agent/fault.c"]
    assert fault["reached"] == 0 and fault["percent"] == 0 and len(fault["missed"]) == fault["lines"] > 5
    assert files["arith/xxh32.c"]["percent"] > 10


def test_a_run_keeps_the_lines_of_its_images(recorded: Recorded, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the record is enough when the image is another one later."""
    run = recorded(("stm32h7b3", "virtual", executed("xxh32")))
    monkeypatch.setattr("hil.coverage.read.image_of", lambda board: pytest.fail("the image is not needed"))
    assert read_coverage([run]).files


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["coverage", *map(str, arguments)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and said.err.startswith("hil: ")
    return said.err


def test_a_run_without_coverage(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, recorded(("mps2-an385", "qemu", None)))
    assert "has no coverage (trials: 1 ran on qemu, which records none): run them with --reality=virtual" in said


def test_a_record_of_an_older_version(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    said = refusal(capsys, recorded(("stm32h7b3", "virtual", None)))
    assert "1 ran on a virtual board that has ended, or an older trainrig recorded it" in said


def test_coverage_in_another_format(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded(("stm32h7b3", "virtual", executed("xxh32")))
    path = run / "trial" / "coverage.npz"
    with np.load(path) as kept:
        np.savez_compressed(path, **(dict(kept) | {"version": np.array(7)}))
    list_again(run)
    assert "has version 7 of the format, this trainrig reads 1: use the version that wrote it" in refusal(capsys, run)


@pytest.mark.parametrize("keep", [b"", b"PK\x03\x04 and nothing"], ids=["empty", "cut"])
def test_a_damaged_file(recorded: Recorded, capsys: pytest.CaptureFixture[str], keep: bytes) -> None:
    run = recorded(("stm32h7b3", "virtual", executed("xxh32")))
    (run / "trial" / "coverage.npz").write_bytes(keep)
    list_again(run)
    assert "coverage.npz cannot be read" in refusal(capsys, run)


def edited(name: str, value: Callable[[np.ndarray], np.ndarray]) -> Callable[[dict[str, np.ndarray]], object]:
    return lambda arrays: arrays.update({name: value(arrays[name])})


def alone(arrays: dict[str, np.ndarray], end: int) -> None:
    arrays.update(ends=np.array([end], np.uint32), followed=np.array([[1, 0]], np.uint8))


SENSELESS: dict[str, tuple[Callable[[dict[str, np.ndarray]], object], str]] = {
    "not a number": (edited("blocks", lambda old: np.full(old.shape, np.nan)), "blocks is float64"),
    "signed": (edited("blocks", lambda old: old.astype(np.int64)), "blocks is int64"),
    "wide successors": (edited("followed", lambda old: old.astype(np.uint16)), "followed is uint16"),
    "another shape": (edited("blocks", np.ravel), r"blocks is uint32\[2\], not uint32\[-1, 2\]"),
    "no array": (lambda arrays: arrays.pop("ends"), "'ends'"),
    "no blocks": (edited("blocks", lambda old: old[:0]), "it has no code, and none of the lines of the image"),
    "zeros": (edited("blocks", np.zeros_like), "a block of it is empty, out of order"),
    "the largest numbers": (edited("blocks", lambda old: np.full_like(old, 2**32 - 1)), "ends after the last address"),
    "twice": (edited("blocks", lambda old: np.repeat(old, 2, axis=0)), "out of order"),
    "elsewhere": (edited("blocks", lambda old: old * np.array([0, 1], np.uint32)), "it has 1 blocks of code, and none of the lines"),
    "an end without a block": (lambda arrays: alone(arrays, 4), "something came after 0x00000004, where no block"),
    "an end without a successor": (edited("ends", lambda old: np.array([4], np.uint32)), "it has 1 ends, and 0 successors"),
    "a digest of another length": (edited("image", lambda old: old[:8]), "it names no image"),
    "a digest of another type": (edited("image", lambda old: old.astype(float)), "it names no image"),
}  # fmt: skip


@pytest.mark.parametrize("name", SENSELESS)
def test_numbers_that_no_core_executes(name: str, recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    edit, why = SENSELESS[name]
    run = recorded(("stm32h7b3", "virtual", executed("xxh32")))
    path = run / "trial" / "coverage.npz"
    with np.load(path) as kept:
        arrays = dict(kept)
    edit(arrays)
    np.savez_compressed(path, **arrays)
    list_again(run)
    told = refusal(capsys, run)
    assert "coverage.npz is damaged" in told and re.search(why, told), told


def test_an_end_of_a_block_is_believed(recorded: Recorded) -> None:
    ran = executed("xxh32")
    ends = np.array([ran.blocks[0].sum()], np.uint32)
    read_coverage([recorded(("stm32h7b3", "virtual", Executed(ran.blocks, ends, np.array([[1, 0]], np.uint8))))])


def test_coverage_of_another_image_than_the_trial(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded(
        ("stm32h7b3", "virtual", executed("xxh32")), ("rp2040", "virtual", executed("xxh32", board="rp2040"))
    )
    shutil.copyfile(run / "trial" / "coverage.npz", run / "trial-2" / "coverage.npz")
    list_again(run)
    assert "is of another image than the record of its trial" in refusal(capsys, run)


def test_an_elf_file_of_another_build(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded(("stm32h7b3", "virtual", executed("xxh32")))
    said = refusal(capsys, run, "--elf", image_of("rp2040").path)
    assert "rp2040.elf is another build" in said and image_of("stm32h7b3").sha256[:12] in said


@pytest.fixture
def another_build(tmp_path: Path) -> Path:
    """The image with one byte more at its end, which is another file with the same content."""
    path = tmp_path / "own.elf"
    path.write_bytes(image_of("stm32h7b3").path.read_bytes() + b"\0")
    return path


def test_the_image_of_the_package_is_another_build(
    recorded: Recorded, another_build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = recorded(("stm32h7b3", "virtual", executed("xxh32")), elf=another_build, keep=False)
    said = refusal(capsys, run)
    assert "of another build" in said and "give the ELF file that they ran (--elf)" in said
    assert main(["coverage", str(run), "--elf", str(another_build)]) == 0


def test_an_image_without_debug_lines(recorded: Recorded, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stripped = without_debug_sections(image_of("stm32h7b3").path, tmp_path / "own.elf")
    run = recorded(("stm32h7b3", "virtual", executed("xxh32")), elf=stripped)
    assert "has no debug lines: compile it with -g and run again" in refusal(capsys, run)


def without_debug_sections(path: Path, to: Path) -> Path:
    """Copy an ELF file; rename its debug sections, so that nobody finds them."""
    to.write_bytes(path.read_bytes().replace(b".debug_", b".hidden"))
    return to


def test_a_trial_that_ran_no_image_has_no_coverage(tmp_path: Path) -> None:
    run = RunWriter.begin(tmp_path / "reports")
    blocked = blocked_trial("no board.", image_sha256=None)
    run.write_trial(blocked, {}, run.trial_folder("trial"))
    run.finish()
    with pytest.raises(RigError, match=r"has no coverage \(trials: 1 reached no board\)"):
        read_coverage([run.folder])


def test_a_trial_that_was_blocked_before_its_image_ran_is_none_of_an_older_version(tmp_path: Path) -> None:
    run = RunWriter.begin(tmp_path / "reports")
    blocked = blocked_trial("no probe.", stage="connect", reality="virtual", image_sha256=image_of("stm32h7b3").sha256)
    run.write_trial(blocked, {}, run.trial_folder("trial"))
    run.finish()
    with pytest.raises(RigError, match="1 ended before the image was started"):
        read_coverage([run.folder])


def test_lines_of_one_file_in_two_images() -> None:
    parts = [
        FileCoverage("b.c", {1: True, 3: False}),
        FileCoverage("a.c", {9: True}),
        FileCoverage("b.c", {2: False, 3: True}),
    ]
    assert merged(parts) == [FileCoverage("a.c", {9: True}), FileCoverage("b.c", {1: True, 2: False, 3: True})]


def test_numbers_in_brief() -> None:
    assert ranges([3, 7, 8, 9, 11]) == "3, 7-9, 11"
    assert ranges([]) == ""


def test_a_file_of_a_run_is_not_its_folder(recorded: Recorded, capsys: pytest.CaptureFixture[str]) -> None:
    run = recorded(("stm32h7b3", "virtual", executed("xxh32")))
    for command in ("coverage", "summary", "report"):
        assert main([command, str(run / "results.json")]) == 2
        told = capsys.readouterr().err
        assert "results.json is a file, not the folder of a run: give the folder of a run" in told, told
