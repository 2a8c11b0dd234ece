"""What is written down of the boards: no step touches a protection, and every UART makes the rates that it says."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hil import boards
from hil.first_light.facts import FOLDER, LineFacts, facts_of
from hil.first_light.lines import CLOSEST, KINDS, Lpuart, Pl011, Usart
from hil.first_light.stub import Stub

from .fake_board import FakeProbe

NAMES = sorted(path.stem for path in FOLDER.glob("*.toml"))
# Nothing is ever written there: flash controllers with option bytes (RM0385, RM0455), UICR and NVMC (nRF52840 PS), fuses
# (IMXRT1060RM, OCOTP).
FORBIDDEN = (
    range(0x4002_3C00, 0x4002_4000), range(0x5200_2000, 0x5200_3000), range(0x1000_1000, 0x1000_2000),
    range(0x4001_E000, 0x4001_F000), range(0x401F_4000, 0x401F_8000),
)  # fmt: skip
VERBS = {"set": 2, "clear": 2, "put": 2, "field": 3, "wait": 3}


def written(name: str) -> Iterator[int]:
    facts = facts_of(name)
    steps = [*facts.supply, *facts.sleep]
    steps += facts.line.steps if facts.line is not None else ()
    if facts.marker is not None:
        steps += facts.marker.steps
        yield from (facts.marker.on[0], facts.marker.off[0])
    yield from (numbers[0] for verb, numbers in steps if verb != "wait")


def test_every_attached_board_of_the_house_is_there() -> None:
    assert sorted(name for name in boards.names() if boards.load(name).pyocd_target is not None) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_no_step_writes_option_bytes_fuses_or_uicr(name: str) -> None:
    addresses = list(written(name))
    assert addresses and not [hex(at) for at in addresses for taboo in FORBIDDEN if at in taboo]
    assert not [hex(at) for at in addresses if at % 4 or at < 0x4000_0000]  # registers, and no memory


@pytest.mark.parametrize("name", NAMES)
def test_every_step_has_the_numbers_of_its_verb_and_values_within_its_mask(name: str) -> None:
    facts = facts_of(name)
    for group in (
        facts.supply,
        facts.sleep,
        facts.line.steps if facts.line else (),
        facts.marker.steps if facts.marker else (),
    ):
        for verb, numbers in group:
            assert len(numbers) == VERBS[verb]
            if len(numbers) == 3:
                assert numbers[2] & ~numbers[1] == 0
    for lock in facts.locks:
        assert lock.open & ~lock.mask == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_rate_of_the_catalogue_can_be_made(name: str) -> None:
    board, facts = boards.load(name), facts_of(name).line
    assert facts is not None
    probe = FakeProbe(board)
    line = KINDS[facts.kind](facts, probe, Stub(board, probe))  # type: ignore[arg-type]
    made = line.rate(board.baud)
    assert made is not None and abs(made / board.baud - 1) < 0.01


RATES = st.integers(1_200, 2_000_000)
CLOCKS = st.integers(8_000_000, 150_000_000)


def line_of(kind: type, clock: int) -> object:
    board = boards.load("rp2040")
    probe = FakeProbe(board)
    return kind(LineFacts("", 0x4000_0000, clock, ()), probe, Stub(board, probe))  # type: ignore[arg-type]


@given(CLOCKS, RATES)
def test_the_divider_of_a_usart_gives_the_rate(clock: int, baud: int) -> None:
    line = line_of(Usart, clock)
    assert isinstance(line, Usart)
    made, brr = line.rate(baud), dict(line.set_up(baud))[0x0C]
    assert made is None or (made == clock / brr and 16 <= brr < 1 << 16 and abs(made / baud - 1) <= CLOSEST)
    assert made is not None or not 16 <= clock / baud < 0xFFFF or abs(clock / round(clock / baud) / baud - 1) > CLOSEST


@given(CLOCKS, RATES)
def test_the_dividers_of_a_pl011_give_the_rate(clock: int, baud: int) -> None:
    """ARM DDI 0183G, 3.3.6: the divider is IBRD + FBRD / 64, of the clock over 16."""
    line = line_of(Pl011, clock)
    assert isinstance(line, Pl011)
    made, words = line.rate(baud), dict(line.set_up(baud))
    assert made is None or abs(clock / (16 * (words[0x24] + words[0x28] / 64)) / made - 1) < 1e-9
    assert words[0x28] < 64 and (made is None or words[0x24] >= 1)


@given(CLOCKS, RATES)
def test_samples_and_divider_of_an_lpuart_give_the_rate(clock: int, baud: int) -> None:
    """IMXRT1060RM, LPUART_BAUD: OSR is the samples less one, SBR the divider; below 8 samples need both edges."""
    line = line_of(Lpuart, clock)
    assert isinstance(line, Lpuart)
    made, word = line.rate(baud), dict(line.set_up(baud))[0x10]
    samples, divider = (word >> 24 & 0x1F) + 1, word & 0x1FFF
    assert 8 <= samples <= 32 and divider >= 1 and word >> 29 == 0
    assert made is None or abs(clock / samples / divider / made - 1) < 1e-9
    if clock / 8 / baud < 0x1FFF:
        best = min(abs(clock / one / max(round(clock / one / baud), 1) - baud) for one in range(8, 33))
        assert abs(clock / samples / divider - baud) <= best + 1e-6
