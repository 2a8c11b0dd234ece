"""Firmware that faults or hangs: the verdict names the fault, the function and the line, as the source has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from firmware_copy import FIRMWARE, build_changed, need_compiler

from hil.images import image_of
from hil.rig import Rig
from hil.rig_toml import Bench
from hil.trial import TrialSpec, run_trial
from hil.trial.outcome import Outcome

FILE = "trainer/requests.c"
LINE = (
    "    RETURN_IF_REFUSED(\n"
    "        engine_step(call->engine, fields->step, fields->count, &result, call->reply->body + sizeof result));\n"
)
NUMBER = (FIRMWARE / FILE).read_text().split(LINE)[0].count("\n") + 1  # what a defect is put in front of
NIGHTLY = pytest.mark.tier("nightly")  # each builds a firmware of its own
TRAP = "    __builtin_trap();\n"
ARM_STATE = "    ((void (*)(void))0x1000)();\n"  # an address without the Thumb bit
UDF = b"\x00\xde"  # ARM DDI 0403E.e, A7.7.194
STEP = r"0x[0-9A-F]{8} in request_step\+0x[0-9A-F]+ \(trainer/requests\.c:\d+\)"
HANG = "    for (volatile int waited = 0; waited == 0;) {}\n"


def run(board: str, defect: str, folder: Path, factory: pytest.TempPathFactory) -> Outcome:
    """Train a step on a stand-in whose firmware has a defect where a step begins."""
    need_compiler()
    pytest.importorskip("unicorn", reason="the virtual board needs the extra `virtual`")
    elf = build_changed(factory, folder / "firmware", board, FILE, LINE, defect + LINE)
    return run_trial(TrialSpec(board, "cls1", steps=1, evaluate=0), Rig(Bench()), folder, elf)


@pytest.mark.parametrize(
    ("board", "defect", "words"),
    [
        ("stm32h7b3", TRAP, r"UsageFault \(CFSR 0x00010000: UNDEFINSTR\)"),
        pytest.param("stm32h7b3", ARM_STATE, r"UsageFault \(CFSR 0x00020000: INVSTATE\)", marks=NIGHTLY),
        pytest.param("rp2040", TRAP, r"HardFault \(an ARMv6-M core does not report the cause\)", marks=NIGHTLY),
        pytest.param("rp2350", TRAP, r"UsageFault \(CFSR 0x00010000: UNDEFINSTR\)", marks=NIGHTLY),
        pytest.param(
            "mps2-an386", TRAP, r"UsageFault \(CFSR 0x00010000: UNDEFINSTR\)", marks=NIGHTLY
        ),  # on QEMU, which has no probe
    ],
    ids=["h7-trap", "h7-arm-state", "pico-trap", "pico-2-trap", "qemu-trap"],
)
def test_a_fault_is_named_with_its_place(
    board: str, defect: str, words: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outcome = run(board, defect, tmp_path, tmp_path_factory)
    assert outcome.verdict == "fail", outcome.reason
    assert re.search(rf"the processor faulted: {words} at pc 0x[0-9A-F]{{8}}", outcome.reason), outcome.reason
    step, caller = (
        rf"request_step\+0x[0-9A-F]+ \(trainer/requests\.c:{NUMBER}\)",
        r"called from 0x[0-9A-F]{8} in \w+\+0x[0-9A-F]+ \(\w+/\w+\.c:\d+\)",
    )
    if defect == TRAP:
        assert re.search(rf" in {step}, {caller}\.$", outcome.reason), outcome.reason
    else:
        assert re.search(rf" at pc 0x00001000, called from 0x[0-9A-F]{{8}} in {step}\.$", outcome.reason), (
            outcome.reason
        )


@pytest.mark.parametrize(
    ("board", "words"),
    [
        pytest.param(
            "stm32h7b3",
            r"the core is locked up: it faulted while it handled a fault \(HardFault \(CFSR 0x00010000: UNDEFINSTR\)\)\.",
            marks=NIGHTLY,
        ),
        (
            "mps2-an386",
            r"the emulated core is locked up: it faulted where it cannot handle a fault \(Lockup: .*\) at pc 0x[0-9A-F]{8} in fault_report\+0x0 \(agent/fault\.c:\d+\), lr 0xFFFFFFF0\.",
        ),
    ],
)
def test_a_fault_in_the_fault_handler(board: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hil.training.trial.device.STEP_DEADLINE_S", 4.0)
    elf = patched(board, {"request_step": UDF, "fault_report": UDF}, tmp_path / "traps.elf")
    outcome = run_trial(TrialSpec(board, "cls1", steps=1, evaluate=0), Rig(Bench()), tmp_path, elf)
    assert (outcome.verdict, re.fullmatch(words, outcome.reason) is not None) == ("fail", True), outcome.reason


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param(UDF, rf"UsageFault \(CFSR 0x00010000: UNDEFINSTR\) at pc {STEP}, called from .*", marks=NIGHTLY),
        # push {r0-r7}; b to it: beyond MSPLIM neither these nor a frame are written.
        (
            b"\xff\xb4\xfd\xe7",
            r"UsageFault \(CFSR 0x00100000: STKOF\), and its stack was overrun: neither pc nor lr is known",
        ),
        # SAU_CTRL.ALLNS = 1, by mov.w r0, #0xE000E000; movs r1, #2; str.w r1, [r0, #0xDD0]: memory is as the IDAU has
        # it. Then movw r0, #0x1001; blx r0: Non-secure memory, without a BLXNS.
        (
            bytes.fromhex("4ff0e020 0221 c0f8d01d 41f20100 8047"),
            rf"SecureFault \(SFSR 0x00000010: INVTRAN\) at pc 0x00001000, called from {STEP}",
        ),
    ],
    ids=["trap", "stack-limit", "security"],
)
def test_a_fault_of_armv8m_is_named(code: bytes, words: str, tmp_path: Path) -> None:
    """ARM DDI 0553B.l: CFSR, SFSR, stack limit checks, and security attribution."""
    elf = patched("mps2-an505", {"request_step": code}, tmp_path / "patched.elf")
    outcome = run_trial(TrialSpec("mps2-an505", "cls1", steps=1, evaluate=0), Rig(Bench()), tmp_path, elf)
    assert outcome.verdict == "fail" and re.fullmatch(rf"the processor faulted: {words}\.", outcome.reason), (
        outcome.reason
    )


def patched(board: str, code: Mapping[str, bytes], path: Path) -> Path:
    """Write the board's image with other instructions at the begin of some functions."""
    image = image_of(board)
    data = bytearray(image.path.read_bytes())
    with image.path.open("rb") as file:
        segment = next(each for each in ELFFile(file).iter_segments("PT_LOAD") if each["p_filesz"])
    for name, instructions in code.items():
        at = segment["p_offset"] + image.symbols[name] - segment["p_paddr"]
        data[at : at + len(instructions)] = instructions
    path.write_bytes(data)
    return path


@NIGHTLY
@pytest.mark.parametrize("board", ["stm32h7b3", "rp2040"])
def test_a_hang_is_found_by_the_probe(
    board: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hil.training.trial.device.STEP_DEADLINE_S", 4.0)
    outcome = run(board, HANG, tmp_path, tmp_path_factory)
    assert outcome.verdict == "fail", outcome.reason
    # A look may also meet an interrupt, such as the one that counts ticks.
    assert re.search(
        r"the firmware hangs: the agent did not answer 'step' within \d+\.\d s; "  # 4 s in which the stand-in could run
        r"5 looks found the core in (\w+, )*request_step(, \w+)*, the last at pc 0x",
        outcome.reason,
    ), outcome.reason
    assert " in request_step+0x" in outcome.reason and f"(trainer/requests.c:{NUMBER})" in outcome.reason
    assert re.search(
        r"called from .* in execute\+.*called from .* in link_\w+\+.*called from .* in main\+0x", outcome.reason
    ), outcome.reason
