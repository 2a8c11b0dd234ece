"""A firmware of one's own: the example links firmware/agent without the engine, speaks to the host's session, and gets a clear verdict in a trial."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import xxhash
from host_agent import FIRMWARE, tool

from hil import boards
from hil.images import Image, image_of
from hil.link.failures import Refused
from hil.link.messages import description
from hil.link.session import Session, board_name
from hil.rig import Rig
from hil.rig_toml import Bench
from hil.standins.qemu import start_qemu
from hil.targets.serial_port import open_serial
from hil.training.trial.device import NEEDED_FOR
from hil.training.trial.recording import trial_record
from hil.trial import TrialSpec, run_trial

BOARD = boards.load("mps2-an500")
OF_THE_AGENT = {"hello", "echo", "memory", "boot_loader"}


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The example's image, built as its Makefile builds it."""
    tool("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("counter")
    subprocess.run([tool("make"), "-s", "-C", FIRMWARE / "examples/counter", f"BUILD={folder}"], check=True)
    return image_of(BOARD.name, folder / "counter.elf")


@pytest.fixture
def session(counter: Image, tmp_path: Path) -> Iterator[Session]:
    tool("qemu-system-arm")
    machine = start_qemu(BOARD, counter, tmp_path / "log")
    try:
        with contextlib.closing(open_serial(str(machine.endpoints.serial), BOARD.baud)) as port:
            yield Session(port, 0x1234)
    finally:
        machine.stop()


def refusal(session: Session, name: str, **values: int) -> str:
    with pytest.raises(Refused) as refused:
        session.request(name, **values)
    return refused.value.code


def test_the_host_greets_it_and_it_does_what_it_knows(session: Session, counter: Image) -> None:
    said = session.hello()
    assert board_name(said) == BOARD.name
    assert (said["image_digest"], said["image_size"]) == (
        counter.digest,
        sum(len(data) for _, data in counter.segments),
    )
    assert session.request("echo", data=b"there and back")["data"] == b"there and back"
    weights = bytearray(64)
    for step in range(70):
        weights[step % 64] += 1
        assert session.request("step", step=step, count=1)["digests"] == (xxhash.xxh32_intdigest(bytes(weights)),)
    assert session.request("read_tensor", tensor=0, offset=5, length=59)["data"] == weights[5:]
    memory = session.request("memory")
    assert (memory["arena_size"], memory["arena_peak"]) == (counter.arena_size, 0)
    assert 0 < memory["stack_peak"] < memory["stack_size"]


def test_what_it_does_not_know_is_an_error_and_the_session_goes_on(session: Session) -> None:
    session.hello()
    assert refusal(session, "load_begin", total=100) == refusal(session, "profile") == "unknown_request"
    assert refusal(session, "boot_loader") == "no_boot_loader"
    assert refusal(session, "step", step=3, count=1) == "out_of_order"
    assert refusal(session, "read_tensor", tensor=0, offset=60, length=5) == "bad_tensor"
    assert session.request("digests")["digests"] == (xxhash.xxh32_intdigest(bytes(64)),)


def test_a_trial_says_what_it_lacks(counter: Image, tmp_path: Path) -> None:
    tool("qemu-system-arm")
    with Rig(Bench()) as rig:
        outcome = run_trial(TrialSpec(BOARD.name, "cls1", steps=2, evaluate=0), rig, tmp_path, counter.path)
    assert outcome.verdict == "fail"
    assert outcome.reason.startswith(
        "the firmware does not know the request 'load_begin', without which the trial cannot load the network"
    )


def test_a_whole_firmware_is_recorded_as_the_users_own(tmp_path: Path) -> None:
    tool("qemu-system-arm")
    mine = shutil.copyfile(image_of(BOARD.name).path, tmp_path / "mine.elf")
    records = []
    for elf in (mine, None):
        with Rig(Bench()) as rig:
            outcome = run_trial(TrialSpec(BOARD.name, "cls1", steps=2, evaluate=0), rig, tmp_path, elf)
        assert outcome.verdict == "pass", outcome.reason
        records.append(trial_record(outcome))
    digest = f"{image_of(BOARD.name).digest:08x}"
    assert records[0].image == {"file": "mine.elf", "digest": digest, "in_manifest": False}
    assert records[1].image == {"file": "mps2-an500.elf", "digest": digest, "in_manifest": True}
    own = f"own firmware: mine.elf (digest {digest.upper()}) is not in the manifest of prebuilt images."
    assert [own in record.warnings for record in records] == [True, False]


@pytest.mark.tier("nightly")  # a whole image is compiled
def test_the_program_of_the_page_passes_a_trial(tmp_path: Path) -> None:
    tool("arm-none-eabi-gcc"), tool("qemu-system-arm")
    page = (FIRMWARE.parent / "docs/own-firmware.md").read_text(encoding="utf-8")
    program = re.search(r"(?m)(?:^    .*\n|^\n)+", page[page.index('    #include "agent/agent.h"') :])
    assert program is not None
    copy = shutil.copytree(FIRMWARE, tmp_path / "firmware", ignore=shutil.ignore_patterns("build"))
    (copy / "trainer/main.c").write_text(textwrap.dedent(program[0]), encoding="utf-8")
    subprocess.run([tool("make"), "-s", "-C", copy, f"build/{BOARD.name}.elf"], check=True)
    mine = copy / f"build/{BOARD.name}.elf"
    assert f"make -C firmware build/{BOARD.name}.elf" in page
    with Rig(Bench()) as rig:
        outcome = run_trial(TrialSpec(BOARD.name, "cls1", steps=2, evaluate=0), rig, tmp_path, mine)
    assert outcome.verdict == "pass", outcome.reason
    assert trial_record(outcome).image["digest"] != f"{image_of(BOARD.name).digest:08x}"


def test_every_path_of_the_page_is_there() -> None:
    page = (FIRMWARE.parent / "docs/own-firmware.md").read_text(encoding="utf-8")
    named = [path for path in re.findall(r"`((?:firmware|hil|tests)/[\w/.]+)`", page) if "/build/" not in path]
    assert named and [path for path in named if not (FIRMWARE.parent / path).exists()] == []


def test_every_request_of_a_trial_says_what_it_is_for() -> None:
    assert set(NEEDED_FOR) == set(description().requests) - OF_THE_AGENT - {"profile", "stretches", "checkpoints"} | {
        "memory"
    }
