"""Training samples that stay on the board: their bytes, where they lie, what fits, what is refused."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from hil import boards
from hil.commands.doctor import _room_for_samples
from hil.errors import Blocked, DeviceFault, RigError
from hil.history.rows import subject_columns
from hil.images import image_of
from hil.training.data import load
from hil.training.trial.batch import Batch
from hil.training.trial.device import WINDOWED_BLOCK, Device
from hil.training.trial.gating import budgets_of, identity
from hil.training.trial.kept import ALIGNED, KeptSamples, check_kept, most_that_fit
from hil.training.trial.outcome import Outcome
from hil.training.trial.prepare import Prepared, prepare, room_to_keep
from hil.training.trial.spec import TrialSpec

EACH = 2 + 28 * 28
BOARDS = ("stm32h7b3", "stm32f746", "nrf52840", "rp2040", "imxrt1062", "mps2-an386")


def spec(board: str = "stm32h7b3", **changes: Any) -> TrialSpec:
    return TrialSpec(board, **{"variant": "cls1", "evaluate": 0} | changes)


def flash_end(board: str) -> int:
    return image_of(board).symbols["__flash_end"]


def test_the_set_is_label_and_pixels_of_each_training_sample() -> None:
    data = load("fashion-mnist-1k@5")
    wanted = b"".join(
        int(label).to_bytes(2, "little") + bytes(image.flatten().tolist())
        for image, label in zip(data.train_images, data.train_labels, strict=True)
    )
    kept = KeptSamples.of("ram", data)
    assert (kept.data, kept.count, kept.digest) == (wanted, 5, xxhash.xxh32_intdigest(wanted))
    wide = replace(data, train_labels=np.array([0, 255, 256, 1000, 1023], np.int64))
    labels = np.frombuffer(KeptSamples.of("ram", wide).data, np.uint8).reshape(5, EACH)[:, :2]
    assert [int(low) + 256 * int(high) for low, high in labels] == [0, 255, 256, 1000, 1023]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a set that is larger than any board."""
    path, rng = tmp_path_factory.mktemp("large") / "large.npz", np.random.default_rng(1)
    images = {part: rng.integers(0, 256, (n, 28, 28), np.uint8) for part, n in (("train_x", 5400), ("test_x", 10))}
    np.savez(path, **images, train_y=np.arange(5400) % 10, test_y=np.arange(10))  # type: ignore[arg-type]
    return str(path)


@pytest.mark.parametrize("board", BOARDS)
def test_what_fits_is_prepared_and_one_more_is_refused(board: str, large: str) -> None:
    """The refusal names numbers: exactly as many are taken."""
    with pytest.raises(RigError, match="training samples of .* are .* bytes") as refused:
        prepare(spec(board, data=large, keep="ram"))
    in_ram, in_flash = (
        int(number.replace(",", "")) for number in re.findall(r"([\d,]+) in (?:RAM|flash)", str(refused.value))
    )
    for place, most in (("ram", in_ram), ("flash", in_flash)):
        count = max(most + 1, 8)  # a batch at least
        beyond = spec(board, data=f"{large}@{count}", keep=place)
        with pytest.raises(RigError, match=f"keep is '{place}', but the {count:,} training samples"):
            prepare(beyond)
        if most >= beyond.batch:
            check_layout(prepare(replace(beyond, data=f"{large}@{most}")), place, most)


def check_layout(prepared: Prepared, place: str, count: int) -> None:
    kept, plan, plain = prepared.kept, prepared.plan, prepare(replace(prepared.spec, keep=None))
    assert kept is not None and (kept.place, kept.count, len(kept.data)) == (place, count, count * EACH)
    assert plan.total <= prepared.image.arena_size
    if place == "ram":
        front = -(-count * EACH // 8) * 8
        smaller = plain.method.plan.memory(prepared.slots)
        assert (plan.front, plan.total, prepared.image.cargo) == (front, front + smaller.total, ())
        assert plan.buffers[0][:2] == ("kept", front)
        assert [buffer.offset - front for buffer in plan.buffers[1:]] == [buffer.offset for buffer in smaller.buffers]
        places = prepared.method.plan.places
        assert places(plan) == tuple(front + at for at in places(smaller))
    else:
        ((address, data),) = prepared.image.cargo
        assert (plan.total, prepared.slots, data, address) == (plain.plan.total, plain.slots, kept.data, kept.address)
        board = prepared.board
        flash = max((one for one in board.memory if one.kind == "flash"), key=lambda one: one.size)
        assert address % ALIGNED == 0 and address >= flash.start + flash.size // 4
        assert address + len(data) <= flash.start + flash.size - board.flash_reserved <= flash_end(board.name)


@pytest.mark.parametrize("board", BOARDS)
def test_what_hil_networks_says_fits(board: str, large: str) -> None:
    image, most = image_of(board), room_to_keep(spec(board), image_of(board))
    for place, count in most.items():
        if count >= 8:
            assert prepare(spec(board, data=f"{large}@{count}", keep=place)).kept is not None
        with pytest.raises(RigError):
            prepare(spec(board, data=f"{large}@{max(count + 1, 8)}", keep=place))
    assert image.arena_size - most["ram"] * EACH >= 0


def test_a_network_in_flash_and_the_set_lie_beside_each_other() -> None:
    one = spec(
        "nrf52840", variant="adaptive", network="resnet-tiny", method="poor-mans-training", batch=1, keep="flash",
        data="fashion-mnist-1k@300", network_in="flash", settings={"queries": 2},
    )  # fmt: skip
    prepared = prepare(one)
    (network, blob), (samples, data) = prepared.image.cargo
    assert blob == prepared.blob and network + len(blob) <= samples and prepared.kept is not None
    assert data == prepared.kept.data
    assert [address for address, _ in prepared.image.flashed] == sorted(
        address for address, _ in prepared.image.flashed
    )
    plain = prepare(replace(one, keep=None))
    assert prepared.plan.total == plain.plan.total and plain.image.cargo == prepared.image.cargo[:1]


def test_a_board_that_nothing_flashes_has_no_flash_for_samples() -> None:
    with pytest.raises(RigError, match=r"0 in flash beside this trial: choose keep='ram', or leave keep out\."):
        prepare(spec("mps2-an386", keep="flash"))


def test_keep_is_a_word() -> None:
    for wrong in ("disk", True, 1, ""):
        with pytest.raises(RigError, match="TrialSpec: keep is"):
            spec(keep=wrong)


def test_the_budget_of_the_catalogue_is_none_of_samples_in_ram() -> None:
    with_flash, with_ram = (Outcome(spec(keep=place)) for place in ("flash", "ram"))
    assert "sram" in budgets_of(with_flash) and set(budgets_of(with_ram)) == {"latency"}
    own = Outcome(spec(keep="ram", budgets={"sram": "1 MiB"}))
    assert [gate.limit for gate in budgets_of(own)["sram"]] == [1 << 20]


@given(n=st.integers(0, 5000), limit=st.integers(0, 5000))
def test_the_most_that_fit(n: int, limit: int) -> None:
    assert most_that_fit(lambda count: count <= n, limit) == min(n, limit)


def test_other_bytes_than_the_set_are_noticed() -> None:
    ram = KeptSamples("ram", 1, b"\0\0pixels")
    check_kept("stm32h7b3", ram, ram.digest)
    with pytest.raises(DeviceFault, match="the agent reports samples in its RAM with the digest"):
        check_kept("stm32h7b3", ram, ram.digest ^ 1)
    flash = replace(ram, place="flash", address=0x0810_0000)
    with pytest.raises(
        Blocked, match="the flash of stm32h7b3 from 0x08100000 on .* run again with --reflash"
    ) as blocked:
        check_kept("stm32h7b3", flash, flash.digest ^ 1)
    assert blocked.value.stage == "flash"


class Line:
    """A session that notes what is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def request(self, name: str, **values: Any) -> dict[str, int]:
        self.sent.append((name, values))
        return {"digest": 7}

    def block(self, most: int) -> int:
        return most

    def stream(self, name: str, items: Any) -> None:
        self.sent += [(name, values) for values in items]


def device() -> tuple[Device, Line]:
    made, line = Device.__new__(Device), Line()
    vars(made).update(_session=line, keeps=False)
    return made, line


def test_a_batch_is_sent_by_numbers_in_frames_of_at_most_968_bytes() -> None:
    board, line = device()
    numbers = np.random.default_rng(3).permutation(600)
    batch = Batch(np.zeros((600, 2, 2), np.uint8), np.zeros(600, np.uint8), numbers)
    board.fill(batch)
    assert {name for name, _ in line.sent} == {"samples"}  # the board keeps nothing yet
    assert board.keep(KeptSamples("flash", 600, bytes(3600), 0x0810_0000)) == 7
    assert line.sent[-1] == ("keep", {"address": 0x0810_0000, "total": 3600})
    line.sent.clear()
    board.fill(batch)
    filled: dict[int, int] = {}
    for name, values in line.sent:
        assert name == "kept_samples" and 4 * len(values["numbers"]) <= WINDOWED_BLOCK
        filled |= {values["slot"] + at: number for at, number in enumerate(values["numbers"])}
    assert filled == dict(enumerate(numbers.tolist()))
    line.sent.clear()
    board.fill(Batch(batch.images, batch.labels))  # samples that are not of the data set
    assert {name for name, _ in line.sent} == {"samples"}


def test_samples_for_ram_are_sent_before_they_are_kept() -> None:
    board, line = device()
    data = np.random.default_rng(4).bytes(5000)
    board.keep(KeptSamples("ram", 5, data))
    assert line.sent[0] == ("load_begin", {"total": 5000}) and line.sent[-1] == ("keep", {"address": 0, "total": 5000})
    assert b"".join(values["data"] for name, values in line.sent if name == "load_data") == data


def test_a_part_of_a_batch_has_its_own_numbers() -> None:
    batch = Batch(np.arange(7), np.arange(7) * 10, np.arange(7) * 100)
    part = batch.part(5, 4)
    assert [each.tolist() for each in (part.images, part.labels, part.numbers)] == [[5, 6], [50, 60], [500, 600]]  # type: ignore[union-attr]
    assert Batch(np.arange(7), np.arange(7)).part(0, 2).numbers is None


def test_the_room_ends_where_checkpoint_slots_or_a_loader_begin() -> None:
    """By the manuals' maps, as tests/unit/boards/test_flash_slots.py has them, and the linker's end of the flash."""
    begin = {
        "stm32h7b3": 0x0818_0000, "stm32f746": 0x0808_0000, "nrf52840": 0x000C_0000, "rp2040": 0x1018_0000,
        "rp2350": 0x1038_0000,
    }  # fmt: skip
    for board in boards.names():
        room = boards.load(board).room_for_samples
        if room is not None:
            end = room.start + room.size
            assert end == begin.get(board, flash_end(board)) and room.start >= image_of(board).segments[-1][0]


def test_a_trial_that_keeps_is_of_another_series_and_one_that_does_not_of_the_old_one() -> None:
    """Samples in RAM are SRAM in use: a relative budget must not compare such nights with others."""
    columns = {}
    for keep in (None, "ram", "flash"):
        fields = identity(Outcome(spec(keep=keep), reality="virtual"))
        columns[keep] = subject_columns(fields)
        if keep is None:
            older = {name: value for name, value in fields.items() if name != "keep"}
            assert subject_columns(older) == columns[None]
    assert len({settings for _, settings in columns.values()}) == 3


@pytest.mark.parametrize(
    ("board", "said"),
    [
        ("stm32h7b3", "in 1,048,576 bytes of its flash, and 1,048,576 of its RAM"),
        ("mps2-an386", "in none of its flash, and 4,063,232 of its RAM"),
    ],
)
def test_hil_doctor_says_how_many_bytes_may_stay(board: str, said: str) -> None:
    assert said in _room_for_samples(board)
