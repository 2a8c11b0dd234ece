"""Check every device that rig.toml names, and say how to correct what is wrong."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hil import boards
from hil.dut import Dut
from hil.dut.one_board import check_one_board, two_boards
from hil.endpoints import Power
from hil.errors import Blocked, RigError
from hil.images import Image, image_of, prebuilt_boards
from hil.lab import tunnelled
from hil.link.failures import Silent
from hil.link.session import Session, board_name, fresh_nonce
from hil.meters.open import open_meter
from hil.plugins import examined, sentence
from hil.rig import Taken
from hil.rig.bench_endpoints import cycles_of, endpoints_of, found_in
from hil.rig.command_board import program_for
from hil.rig.discover import AttachedDevice
from hil.rig.places import Places
from hil.rig_toml import Bench, BenchBoard
from hil.standins import renode
from hil.targets.line_faults import line_faults
from hil.targets.own_usb import is_own_port
from hil.targets.power import open_power
from hil.targets.probe import Probe
from hil.targets.probe_process import ProbeProcess
from hil.targets.serial_port import open_serial
from hil.targets.usb_places import MADE_UP

OK, WRONG, NOTE = "ok", "wrong", "note"
ERASED, FIRST_BYTES = 0xFF, 256  # erased NOR flash; bytes read from its start (a vector table or a boot stage)
VENDORS = {
    "0483": "ST-LINK",
    "1366": "J-Link",
    "0d28": "DAPLink",
    "2e8a": "Raspberry Pi",
    "16c0": "Teensy",
    "1fc9": "NXP",
}


@dataclass(frozen=True)
class Check:
    """The result of one check.

    Attributes:
        board: name in the catalogue; empty if the check concerns no single board.
        subject: what was checked.
        state: `ok`, `wrong` or `note`.
        said: one sentence, with the cure if the state is `wrong`.
        id: of the board in rig.toml, None without one.
    """

    board: str
    subject: str
    state: str
    said: str
    id: str | None = None


class Note(str):
    """A result that is neither ok nor wrong."""


def examine(bench: Bench, devices: Sequence[AttachedDevice]) -> Iterator[Check]:
    """Yield the checks of a bench one by one, given the attached devices."""
    if not bench.board:
        sentence = "rig.toml names no board, so trials run on stand-ins: `hil init` adds attached devices."
        yield Check("", "rig.toml", NOTE, sentence)
    yield from _plugins()
    yield _renode()
    for named in bench.board:
        for check in _examine(named, bench, devices):
            yield replace(check, id=named.id)


def _examine(named: BenchBoard, bench: Bench, devices: Sequence[AttachedDevice]) -> Iterator[Check]:
    if named.run is not None:
        yield _checked(named.name, "command", partial(_command_is_there, named))
    elif named.wanted_place is not None:
        yield from _examine_place(named, named.wanted_place, bench.labgrid.address, devices)
    else:
        yield from _examine_board(named, devices)


def _plugins() -> Iterator[Check]:
    """Check what plugins offer. A package that is installed may be of no use to this bench: that is a note."""
    offers, errors = examined()
    for offer, error in offers:
        state = OK if error is None else NOTE if offer.source.folder is None else WRONG
        yield Check("", "plugin", state, f"{offer} can be used." if error is None else sentence(error))
    for error in errors:
        yield Check("", "plugin", WRONG, str(error))


def _renode() -> Check:
    """Check Renode. `auto` leaves an unsuitable one alone; only trials with --reality=renode are blocked."""
    models = ", ".join(renode.modelled())
    try:
        version = renode.installed()
    except Blocked as blocked:
        sentence = f"{blocked.reason} Until then --reality=auto takes the other stand-in of each board."
        return Check("", "renode", NOTE, sentence)
    if version is None:
        return Check("", "renode", NOTE, f"Renode is not installed; it could stand in for {models}: {renode.cure()}.")
    return Check("", "renode", OK, f"Renode {version} at {renode.program()} can stand in for {models}.")


def _examine_place(named: BenchBoard, place: str, address: str, devices: Sequence[AttachedDevice]) -> Iterator[Check]:
    """Acquire the labgrid place of a board, check what it has as if it were attached here, and give it back."""
    places = Places(address)
    try:
        held = places.hold(named.name, place, found_in(named))
        found = tunnelled(held.found())
        yield Check(named.name, "place", OK, f"{held.name} of the labgrid at {address} is acquired for these checks.")
        if found.power is not None:
            yield _checked(named.name, "power", lambda: _switches(found.power))
        addresses = {"place": None, "board": None, "probe": found.probe, "serial": found.serial, "meter": found.meter}
        yield from _examine_board(named.model_copy(update=addresses), devices)
    except RigError as error:
        yield Check(named.name, "place", WRONG, str(error))
    finally:
        places.release()


def _examine_board(named: BenchBoard, devices: Sequence[AttachedDevice]) -> Iterator[Check]:
    looks: list[tuple[str, Callable[[], str]]] = []
    if named.probe is not None:
        looks += [("probe", lambda: _attached(named, devices)), ("probe opens", lambda: _probe_opens(named))]
    looks += [("port opens", lambda: _port_opens(named)), ("agent answers", lambda: _agent_answers(named))]
    if named.commands is not None:
        looks.insert(0, ("commands", lambda: _commands_are_there(named)))
    room = _room_for_samples(named.name)
    looks.append(("flash", lambda: f"this computer has programmed it {cycles_of(named)} times. {room}"))
    if named.meter is not None:
        looks.append(("meter", lambda: _meter_answers(named)))
    if named.switch is not None:
        looks.insert(0, ("power", lambda: _switches(named.switch)))
    for subject, look in looks:
        check = _checked(named.name, subject, look)
        yield check
        if check.state == WRONG and subject in ("probe", "port opens"):
            return  # the following checks need it
        if subject == "port opens":
            yield from (
                Check(named.name, "line", WRONG, said) for said in line_faults(endpoints_of(named).serial or "")
            )


def _checked(board: str, subject: str, look: Callable[[], str]) -> Check:
    try:
        sentence = look()
    except RigError as error:
        return Check(board, subject, WRONG, str(error))
    return Check(board, subject, NOTE if isinstance(sentence, Note) else OK, sentence)


def _command_is_there(named: BenchBoard) -> str:
    elf = Path(named.elf) if named.elf is not None else None
    image = program_for(named, elf)
    return f"the command runs {image.path.name} (sha256 {image.sha256[:12]}), and is called {named.reality}."


def _commands_are_there(named: BenchBoard) -> str:
    found = [line for key in ("flash", "reset", "read_back") if (line := named.line(key)) is not None]
    return " ".join(f"`{line.key}` is {line.program('bench')}." for line in found)


def _attached(named: BenchBoard, devices: Sequence[AttachedDevice]) -> str:
    probe = named.probe or ""
    if probe.startswith("remote:"):
        return f"{probe} is a remote probe, on another computer or of a stand-in."
    found = [device for device in devices if device.kind == "probe"]
    exact = [device for device in found if device.identity == probe]
    if exact:
        return _permitted(exact[0])
    like = [device.identity for device in found if probe in device.identity]
    if like:
        raise RigError(
            f"{probe} is only a part of {' and of '.join(like)}: write the full serial number into rig.toml."
        )
    others = ", ".join(device.identity or device.name for device in found) or "no probe at all"
    if MADE_UP.fullmatch(probe):
        raise RigError(
            f"the probe {probe} is not attached (found: {others}): pyOCD makes up such an id for a probe without a "
            "serial number, and it changes when the probe is plugged in: write its USB place into rig.toml (usb:...)."
        )
    raise RigError(f"the probe {probe} is not attached (found: {others}): plug it in, or correct rig.toml.")


def _permitted(device: AttachedDevice) -> str:
    """Return a sentence if this user may open the USB device (Linux: /dev/bus/usb), else raise RigError."""
    folder = Path("/sys/bus/usb/devices") / device.path
    if not device.path or not (folder / "busnum").is_file():
        return f"{device.name} is attached."
    numbers = [int((folder / name).read_text()) for name in ("busnum", "devnum")]
    node = Path(f"/dev/bus/usb/{numbers[0]:03d}/{numbers[1]:03d}")
    if os.access(node, os.R_OK | os.W_OK):
        return f"{device.name} is attached at {device.path}, and you may open it."
    vendor = (folder / "idVendor").read_text().strip()
    rule = f'SUBSYSTEM=="usb", ATTR{{idVendor}}=="{vendor}", MODE="0660", TAG+="uaccess"'
    raise RigError(
        f"you may not open {VENDORS.get(vendor, device.name)} at {node}: put the line {rule} into "
        "/etc/udev/rules.d/70-trainrig.rules, run `udevadm control --reload`, then unplug it and plug it in again."
    )


def _probe_opens(named: BenchBoard) -> str:
    board = boards.load(named.name)
    probe = Probe(board, named.probe or "", named.pack)
    probe.close()
    identity = f"; its {board.identity.register} is as expected" if board.identity is not None else ""
    return f"pyOCD connects to the chip as {board.pyocd_target}{identity}."


def _port_opens(named: BenchBoard) -> str:
    path = endpoints_of(named).serial
    if path is None:
        raise RigError(f'{named.name} has no serial port in rig.toml: add serial = "..." (`hil devices` lists them).')
    board = boards.load(named.name)
    with contextlib.closing(open_serial(path, board.baud)) as port:
        own = is_own_port(board, port)
    return f"{path} opens{'; it is on the own USB of the board, which needs no probe and no button' if own else ''}."


def _agent_answers(named: BenchBoard) -> str:
    if named.name not in prebuilt_boards():
        return Note("there is no prebuilt image for the board, so its firmware is not asked: `elf` names your own.")
    board, image = boards.load(named.name), image_of(named.name)
    start, program = image.segments[0]
    with _connected(named, image) as dut:
        probe = dut.probe if dut.has_probe else None
        assert probe is None or isinstance(probe, Probe)  # an attached board has no emulator
        there = probe.read(start, min(len(program), FIRST_BYTES)) if probe is not None else None
        if there is not None and set(there) == {ERASED}:
            return Note("the flash is erased: the first run programs the firmware.")
        if dut.can_reset:
            dut.reset()  # a probe halts the core when it connects
        session = Session(dut.serial.pyserial, fresh_nonce())  # of whatever program is there
        try:
            identity = session.hello()
        except Silent as silent:
            return _no_answer(named, silent, None if there is None else program.startswith(there))
        if probe is not None and there is not None and identity["image_digest"] == image.digest:
            port = str(dut.serial.port)
            if not program.startswith(there):
                raise two_boards(probe, port, board)
            check_one_board(probe, port, board, image, session)
    name = board_name(identity)
    if name != named.name:
        raise RigError(f"the board reports the name {name!r}: change the name in rig.toml, or the probe and the port.")
    if identity["image_digest"] != image.digest:
        return (
            f"the agent answers; its image {identity['image_digest']:08X} is not {image.path.name} "
            f"({image.digest:08X}) and will be replaced."
        )
    return f"the agent answers and runs {image.path.name}."


@contextlib.contextmanager
def _connected(named: BenchBoard, image: Image) -> Iterator[Dut]:
    """Connect to a board of rig.toml for a `with` block, whatever its flash holds."""
    process = ProbeProcess()
    try:
        with tempfile.TemporaryDirectory() as folder:
            taken = Taken(boards.load(named.name), endpoints_of(named), process)
            with contextlib.closing(Dut(taken, image, Path(folder), serial_log=False)) as dut:
                dut.connect()
                yield dut
    finally:
        process.stop()


def _no_answer(named: BenchBoard, silent: Silent, ours: bool | None) -> Note:
    """Return a note for a board that was never flashed. Raises RigError if it should have answered.

    `ours` is whether the flash begins with the rig's image, None without a probe.
    """
    if ours:
        raise RigError(
            "the flash holds the rig's firmware, but its agent does not answer: "
            f"check serial = {named.serial!r} in rig.toml, and reset the board."
        )
    if ours is False:
        raise RigError(
            f"the flash of {named.name} holds another program, and no agent answers: if that program may be lost, "
            f"`pytest --board={named.name}` replaces it; otherwise correct the probe or the port in rig.toml."
        )
    if cycles_of(named):
        raise silent
    return Note(
        "no agent answers, and this computer has never programmed the board: the first run flashes it; "
        "if it already holds the rig's firmware, check its port."
    )


def _room_for_samples(name: str) -> str:
    """Say how many bytes of training samples may stay on the board (docs/link.md)."""
    room = boards.load(name).room_for_samples
    flash = f"{room.size:,} bytes of its flash" if room is not None else "none of its flash"
    arena = (
        f", and {image_of(name).arena_size:,} of its RAM less what a trial needs" if name in prebuilt_boards() else ""
    )
    return f"Training samples may stay in {flash}{arena}: `hil networks` counts them for each network."


def _switches(power: Power | None) -> str:
    assert power is not None
    with open_power(power) as switch:
        return switch.check()


def _meter_answers(named: BenchBoard) -> str:
    with open_meter(named.meter or "", boards.load(named.name).supply_v, named.meter_model) as meter:
        return f"{meter.identity} answers."
