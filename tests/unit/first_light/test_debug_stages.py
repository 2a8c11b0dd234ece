"""The stages that only look: nothing is written, and a lock, another chip and another revision are said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hil.errors import Blocked
from hil.first_light import Result, bring_up
from hil.first_light.debug_stages import STAGES
from hil.first_light.facts import Revision, facts_of
from hil.targets.probe import ChipUnreachable

from .fake_board import FakeProbe, brought_up

CPUID = {0xE000_ED00: 0x411F_C271}
F746 = CPUID | {0x4002_3C14: 0xC0FF_AAFD, 0xE004_2000: 0x1001_6449}
DRAWN = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def looked(folder: Path, words: dict[int, int], **more: object) -> tuple[dict[str, Result], FakeProbe]:
    on = brought_up("stm32f746", folder, words, **more)  # type: ignore[arg-type]
    results = bring_up(on, [kind() for kind in STAGES])
    probe = on.dut.probe
    assert isinstance(probe, FakeProbe)
    return {result.name: result for result in results}, probe


def test_a_board_as_it_is_assumed(tmp_path: Path) -> None:
    found, probe = looked(tmp_path, F746)
    assert {result.outcome for result in found.values()} == {"pass"}
    assert found["probe"].seen == "Acme Probe, firmware V2J40"
    assert found["target identity"].seen == "CPUID 0x411FC271, DBGMCU_IDCODE.DEV_ID 0x449, revision Z"
    assert not probe.written


@DRAWN
@given(st.integers(0, 255), st.integers(0, 0xFFFF_FFFF))
def test_every_level_of_protection_is_said_before_anything_is_written(tmp_path: Path, rdp: int, rest: int) -> None:
    """RM0385, FLASH_OPTCR.RDP: 0xAA is no protection, 0xCC the highest, anything else level 1."""
    found, probe = looked(tmp_path, F746 | {0x4002_3C14: rest & ~0xFF00 | rdp << 8})
    assert (found["debug port"].outcome == "pass") == (rdp == 0xAA)
    if rdp != 0xAA:
        assert "the chip is protected. Nothing was erased." in found["debug port"].seen
        assert {result.outcome for result in list(found.values())[2:]} == {"not reached"}
    assert not probe.written


def test_a_lock_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    found, _ = looked(tmp_path, {address: word for address, word in F746.items() if address != 0x4002_3C14})
    assert found["debug port"].seen == "FLASH_OPTCR.RDP cannot be read"


def refuses(error: Blocked) -> object:
    def connect() -> None:
        raise error

    return connect


def test_another_chip_is_named_by_the_stage_of_the_identity(tmp_path: Path) -> None:
    wrong = Blocked("identity", "the chip is that of rp2040: correct rig.toml; nothing was erased.")
    found, probe = looked(tmp_path, F746, connect=refuses(wrong))
    assert (found["debug port"].outcome, found["target identity"].outcome) == ("pass", "blocked")
    assert found["target identity"].seen == wrong.reason and not probe.written


def test_a_chip_that_does_not_answer_is_named_by_the_stage_of_the_debug_port(tmp_path: Path) -> None:
    found, _ = looked(tmp_path, F746, connect=refuses(ChipUnreachable("connect", "the probe failed to connect")))
    assert found["debug port"].outcome == "blocked" and "check its cable, the board's power" in found["debug port"].seen


def test_a_probe_that_is_gone(tmp_path: Path) -> None:
    gone = Blocked("connect", "the probe 1234 is not attached: plug it in.")

    def about() -> None:
        raise gone

    found, _ = looked(tmp_path, F746, about_probe=about)
    assert (found["probe"].outcome, found["probe"].seen) == ("blocked", gone.reason)
    assert {result.outcome for result in list(found.values())[1:]} == {"not reached"}


def test_without_a_probe_nothing_is_reached(tmp_path: Path) -> None:
    found, _ = looked(tmp_path, F746, has_probe=False)
    assert {result.outcome for result in found.values()} == {"not possible here"}


@DRAWN
@given(st.integers(0, 0xFFFF_FFFF).filter(lambda word: word & 0xFFF != 0x449))
def test_an_identity_register_of_another_chip(tmp_path: Path, word: int) -> None:
    found, _ = looked(tmp_path, F746 | {0xE004_2000: word})
    assert found["target identity"].outcome == "fail"
    assert f"reads 0x{word & 0xFFF:X} instead of 0x449" in found["target identity"].seen


def test_a_reset_that_does_not_halt(tmp_path: Path) -> None:
    on = brought_up("stm32f746", tmp_path, F746)
    on.dut.probe.halted = False  # type: ignore[attr-defined]
    found = bring_up(on, [kind() for kind in STAGES])[-1]
    assert (found.name, found.outcome) == ("reset and halt", "fail") and "check the reset line" in found.seen


@pytest.mark.parametrize(
    ("revision", "word", "said"),
    [
        (Revision(0, 16, names={"0x1000": "A"}), 0x1000_6449, "A"),
        (Revision(0, 16, names={"0x1000": "A"}), 0x2000_6449, "0x2000 (not in the manual that the rig's author had)"),
        (Revision(0, 0, letters=True), int.from_bytes(b"AAF0", "big"), "AAF0"),
        (Revision(0, 0, mask=0xFFFF), 0x006C_0001, "0x1"),
    ],
)
def test_revisions(revision: Revision, word: int, said: str) -> None:
    assert revision.of(word) == said


def test_the_revision_of_each_board_is_read_where_the_catalogue_says_it_is() -> None:
    assert facts_of("stm32f746").revision is not None and facts_of("no-such-board").revision is None
