"""The route through a probe: pyOCD itself, in its own process, on the virtual board."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pyocd.coresight.cortex_m import CortexM

from hil import boards
from hil.boards import Board
from hil.endpoints import Endpoints
from hil.errors import Blocked
from hil.images import Image, image_of
from hil.targets import connect_options
from hil.targets import probe as probe_module
from hil.targets.probe import Probe
from hil.targets.probe_process import ProbeProcess
from hil.targets.pyocd_session import PyocdSession
from tests.device_at import device_at
from tests.faults.lines.path import Path as NetworkPath
from tests.faults.lines.proxy import proxied
from tests.faults.slowed import ten_times_slower

H7, PICO = boards.load("stm32h7b3"), boards.load("rp2040")
VirtualEndpoints = Callable[[str], Endpoints]


class Bytes(Image):
    """An image of given bytes in the place of an ELF file."""

    def __init__(self, *segments: tuple[int, bytes]) -> None:
        super().__init__(Path("bytes.elf"), "0" * 64)
        self.__dict__["segments"] = list(segments)


@contextlib.contextmanager
def opened(
    board: Board, unique_id: str | None, process: ProbeProcess | None, pack: str | None = None
) -> Iterator[Probe]:
    assert unique_id is not None
    with contextlib.closing(Probe(board, unique_id, pack, process)) as one:
        yield one


def processor_s() -> float:
    """Return the seconds of processor time of the processes that this one has started and that live."""
    return sum(sum(each.cpu_times()[:2]) for each in psutil.Process().children(recursive=True))


def another_chip(board: Board, **changes: object) -> Board:
    """The board with a chip whose identity differs in one bit."""
    assert board.identity is not None
    identity = dataclasses.replace(board.identity, value=board.identity.value ^ 1)
    return dataclasses.replace(board, identity=identity, **changes)


@pytest.mark.parametrize("board", [H7, PICO], ids=lambda board: board.name)
def test_an_image_is_programmed_once_and_again_when_it_must_be(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess, board: Board
) -> None:
    start = next(region.start for region in board.memory if region.name == "flash")
    image = Bytes((start, os.urandom(9000)), (start + 0x4000, os.urandom(100)))
    with opened(board, virtual_endpoints(board.name).probe, process) as one:
        assert one.program(image)
        assert not one.program(image)
        assert one.program(image, always=True)
        for address, data in image.segments:
            assert one.read(address, len(data)) == data
            assert one.read(address + 3, len(data) - 5) == data[3:-2]
        changed = Bytes((start, image.segments[0][1][:-1] + bytes([image.segments[0][1][-1] ^ 1])), image.segments[1])
        assert one.program(changed)


class Counter:
    """A relay before a probe server, which counts the requests of its clients by name."""

    def __init__(self, address: str) -> None:
        host, _, port = address.removeprefix("remote:").partition(":")
        self._server = socket.create_connection((host, int(port)))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"remote:127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: dict[str, int] = {}
        threading.Thread(target=self._relay, daemon=True).start()

    def _relay(self) -> None:
        client, _ = self._listener.accept()
        with client, self._server, client.makefile("rb") as asked, self._server.makefile("rb") as answered:
            for line in asked:
                name = json.loads(line)["request"]
                self.requests[name] = self.requests.get(name, 0) + 1
                self._server.sendall(line)
                client.sendall(answered.readline())


def test_programming_takes_few_requests_which_a_network_delays_one_by_one(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    counter = Counter(virtual_endpoints("rp2040").probe or "")
    with opened(PICO, counter.address, process) as one:
        before = sum(counter.requests.values()), counter.requests["lock"]
        assert one.program(Bytes((0x1000_0000, os.urandom(0x8000))))
        spent = sum(counter.requests.values()) - before[0]
        assert counter.requests["lock"] - before[1] == 1, "the lock is kept, not asked for at every transfer"
    assert counter.requests["lock"] == counter.requests["unlock"]
    assert spent < 8 * 2 * 60, "eight sectors of 4 KB: each is erased, and programmed by one call"


def test_the_chip_is_asked_before_anything_is_erased(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    probe = virtual_endpoints("stm32h7b3").probe
    with pytest.raises(
        Blocked,
        match=r"has 0x480 in DBGMCU_IDC.DEV_ID, but the STM32H7B3LIH6Q of stm32h7b3 has 0x481.*nothing was erased",
    ) as refused:
        Probe(another_chip(H7), str(probe), None, process)
    assert refused.value.stage == "identity"
    with opened(H7, probe, process):
        """Its own board still opens."""


def test_a_chip_that_does_not_connect_as_the_boards_is_asked_who_it_is(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    wrong = another_chip(H7, pyocd_target="nrf52840")
    with pytest.raises(Blocked, match="has 0x480") as refused:
        Probe(wrong, str(virtual_endpoints("stm32h7b3").probe), None, process)
    assert refused.value.stage == "identity"
    right = dataclasses.replace(H7, pyocd_target="nrf52840")
    with pytest.raises(Blocked, match="failed to connect") as refused:
        Probe(right, str(virtual_endpoints("stm32h7b3").probe), None, process)
    assert refused.value.stage == "connect"


def test_a_probe_that_is_not_there(process: ProbeProcess) -> None:
    with pytest.raises(Blocked, match="the probe 0671FF383933 is not attached: plug it in") as refused:
        Probe(H7, "0671FF383933", None, process)
    assert refused.value.stage == "connect"
    with pytest.raises(Blocked, match="failed to connect"):
        Probe(H7, "remote:127.0.0.1:9", None, process)


def test_a_pack_that_is_missing(process: ProbeProcess, tmp_path: Path) -> None:
    with pytest.raises(Blocked, match=r"the pack .*DFP\.pack that rig\.toml names is missing: correct its path"):
        Probe(H7, "remote:127.0.0.1:9", str(tmp_path / "DFP.pack"), process)


@pytest.mark.parametrize("stage", ["connect", "flash", "read"])
def test_a_request_without_an_answer_is_ended_and_its_stage_named(
    virtual_endpoints: VirtualEndpoints, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    process, unique_id = ProbeProcess(), str(virtual_endpoints("stm32h7b3").probe)
    image = Bytes((0x0810_0000, bytes(100)))
    with proxied(unique_id.removeprefix("remote:")) as proxy, contextlib.ExitStack() as end:
        name = f"remote:{proxy.address}"
        one = end.enter_context(opened(H7, name, process)) if stage != "connect" else None
        process.start()
        monkeypatch.setitem(probe_module.DEADLINES_S, stage, 0.5)
        hangs, started = process.pid, time.monotonic()
        assert hangs is not None
        proxy.stop()
        with pytest.raises(
            Blocked, match=f"the probe {name} did not .* within .* and its process was killed"
        ) as refused:
            {
                "connect": lambda: Probe(H7, name, None, process),
                "flash": lambda: one.program(image),
                "read": lambda: one.read(0x2400_0000, 64),
            }[stage]()  # type: ignore[union-attr]
        assert refused.value.stage == stage
        assert time.monotonic() - started < 10
        assert not alive(hangs)
        assert process.pid is None
    monkeypatch.undo()
    with opened(H7, unique_id, process) as again:  # a new process, and the virtual board takes it
        assert len(again.read(0x2400_0000, 64)) == 64
    process.stop()


def test_a_process_that_a_signal_has_stopped_says_so(virtual_endpoints: VirtualEndpoints) -> None:
    process = ProbeProcess()
    with opened(H7, virtual_endpoints("stm32h7b3").probe, process) as one:
        stopped = process.pid
        assert stopped is not None
        os.kill(stopped, signal.SIGSTOP)
        with pytest.raises(Blocked, match=rf"\(number {stopped}\) was stopped by a signal: run again") as refused:
            one.read(0x2400_0000, 64)
        assert refused.value.stage == "read" and not alive(stopped)


def test_on_a_slow_computer_the_probe_of_an_attached_board_is_waited_for(
    virtual_endpoints: VirtualEndpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault 401 of seed 2041 and others: under load, pyOCD was not loaded when the time for the connection was over."""
    address = virtual_endpoints("stm32h7b3").probe
    before, began = processor_s(), time.monotonic()
    with opened(H7, address, ProbeProcess()):
        # of what a connection takes at the speed of this moment
        deadline_s = max(4 * (processor_s() - before), 2 * (time.monotonic() - began))
    monkeypatch.setitem(probe_module.DEADLINES_S, "connect", deadline_s)
    started = time.monotonic()
    with ten_times_slower(), opened(H7, address, ProbeProcess()):
        assert time.monotonic() - started > deadline_s


def test_a_process_that_dies_is_not_taken_for_one_that_hangs(virtual_endpoints: VirtualEndpoints) -> None:
    with opened(H7, virtual_endpoints("stm32h7b3").probe, ProbeProcess()) as one:
        one._process._process.kill()  # type: ignore[union-attr]
        with pytest.raises(Blocked, match="run again") as refused:
            one.read(0x2400_0000, 64)
        assert refused.value.stage in ("read", "connect")


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_an_answer_that_nobody_took_is_not_that_of_the_next_request(
    virtual_endpoints: VirtualEndpoints, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    process, unique_id = ProbeProcess(), str(virtual_endpoints("stm32h7b3").probe)

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr("hil.targets.probe_process.LOG.info", fail)  # pyOCD's log comes before the answer
        with pytest.raises(error):
            Probe(H7, unique_id, None, process)
    with opened(H7, unique_id, process) as again:
        assert len(again.read(0x2400_0000, 64)) == 64
    process.stop()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("busy", [False, True])
def test_the_process_ends_with_the_program_that_started_it(
    python: Callable[..., subprocess.Popen[str]], how: int, busy: bool
) -> None:
    """Also in the middle of a request: here to a probe server that takes the connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(20)
        address = f"remote:127.0.0.1:{silent.getsockname()[1]}"
        work = f"one.ask(60, 'connect', '{address}', 'cortex_m', {{}})" if busy else "time.sleep(60)"
        program = python(
            "from hil.targets.probe_process import ProbeProcess; import time\n"
            f"one = ProbeProcess(); one.start(); print(one.pid, flush=True); {work}"
        )
        assert program.stdout is not None
        child = int(program.stdout.readline())
        assert alive(child)
        if busy:
            silent.accept()
        program.send_signal(how)
        program.wait(5)
        until = time.monotonic() + 10
        while alive(child) and time.monotonic() < until:
            time.sleep(0.05)
        assert not alive(child)
        program.stdout.close()


def test_a_board_in_rig_toml_is_flashed_and_its_cycles_are_counted(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess, data_home: Path
) -> None:
    ends = dataclasses.replace(virtual_endpoints("stm32h7b3"), reality="hardware", meter=None)
    image = image_of("stm32h7b3")
    with device_at(H7, ends, process, image) as dut:
        first = dut.flash()
        before = dut.record.flash_cycles
        assert not dut.flash()
        assert dut.record.flash_cycles == before
        assert dut.flash(always=True)
        assert dut.record.flash_cycles == (before or 0) + 1
        assert dut.record.route == "pyocd"
        assert dut.reality == "virtual"  # the probe says so, whatever rig.toml calls it
    assert before == int(first)
    assert (data_home / "flash_cycles.json").is_file()


class Cable:
    """The connection to a remote probe, which may be cut, or refuse every request from now on."""

    REFUSED = b'{"id": 0, "status": 10, "error": "no acknowledge"}\n'

    def __init__(self, unique_id: str) -> None:
        self._to = int(unique_id.rpartition(":")[2])
        self._server = socket.create_server(("127.0.0.1", 0))
        self.unique_id = f"remote:127.0.0.1:{self._server.getsockname()[1]}"
        self._ends: list[socket.socket] = []
        self.refuses = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        self._server.close()
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        theirs, _ = self._server.accept()
        ours = socket.create_connection(("127.0.0.1", self._to))
        self._ends = [theirs, ours]
        for ends in ((theirs, ours, False), (ours, theirs, True)):
            threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(4096):
                sink.sendall(self.REFUSED * data.count(b"\n") if answers and self.refuses.is_set() else data)


def test_a_remote_probe_whose_program_is_gone_is_no_wait(virtual_endpoints: VirtualEndpoints) -> None:
    """Flashing may take two minutes: where the connection has ended there is nothing to wait for."""
    probe = virtual_endpoints("stm32h7b3").probe
    cable, process = Cable(str(probe)), ProbeProcess()
    try:
        with opened(H7, cable.unique_id, process) as one:
            cable.cut()
            with pytest.raises(
                Blocked,
                match=r"failed to flash the image.*closed the connection|failed to flash the image.*[Bb]roken pipe",
            ) as gone:
                one.program(Bytes((0x08000000, bytes(100))))
        assert gone.value.stage == "flash"
    finally:
        process.stop()


@pytest.mark.tier("nightly")
def test_the_deadline_of_a_remote_probe_follows_its_round_trips(
    virtual_endpoints: VirtualEndpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To connect and to program takes longer than both deadlines, only because of the path."""
    round_s, process = 0.04, ProbeProcess()
    process.start()
    address = str(virtual_endpoints("stm32h7b3").probe).removeprefix("remote:")
    for stage in ("connect", "identify", "flash"):
        monkeypatch.setitem(probe_module.DEADLINES_S, stage, 4.0)
    try:
        with proxied(address, lambda: NetworkPath(round_s / 2)) as proxy:
            started = time.monotonic()
            with opened(H7, f"remote:{proxy.address}", process) as one:
                assert time.monotonic() - started > 5.0
                started = time.monotonic()
                assert one.program(Bytes((0x08000000, bytes(range(256)) * 64)))
                assert time.monotonic() - started > 5.0
                threading.Timer(2.0, proxy.stop).start()
                with pytest.raises(Blocked) as late:
                    one.program(Bytes((0x08000000, bytes(64))), always=True)
        said = rf"the probe remote:{proxy.address} did not flash the image within 4 s of its last answer, after (\d+) round "
        found = re.match(
            rf"{said}trips of (\S+) ms or more, and its process was killed: look at the log of `pyocd server`",
            late.value.reason,
        )
        assert found is not None, late.value.reason
        assert int(found[1]) > 10 and round_s <= float(found[2]) / 1000 < round_s * 2
    finally:
        process.stop()


def open_descriptors(process: ProbeProcess) -> int:
    return len(list(Path(f"/proc/{process.pid}/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are counted in /proc")
@pytest.mark.parametrize("lost", ["cut", "refused"])
def test_a_session_that_cannot_be_closed_in_good_order_keeps_no_descriptor(
    virtual_endpoints: VirtualEndpoints, lost: str
) -> None:
    """The probe's process serves a session of hours: a descriptor a fault would be its end. The garbage collector is no help that comes in time."""
    probe, process, held = str(virtual_endpoints("stm32h7b3").probe), ProbeProcess(), []
    try:
        for _ in range(4):
            cable = Cable(probe)
            with opened(H7, cable.unique_id, process) as one:
                if lost == "cut":
                    cable.cut()
                else:
                    cable.refuses.set()
                with pytest.raises(Blocked):
                    one.read(0x20000000, 64)
            cable.cut()
            held.append(open_descriptors(process))
        assert len(set(held)) == 1, held
    finally:
        process.stop()


def test_a_catch_of_the_reset_vector_that_a_lost_probe_has_left_halts_no_later_run(
    virtual_endpoints: VirtualEndpoints, process: ProbeProcess
) -> None:
    probe = str(virtual_endpoints("stm32h7b3").probe)
    cable, lost = Cable(probe), PyocdSession()
    lost.connect(cable.unique_id, H7.pyocd_target, connect_options.options(H7))
    lost._target.write32(CortexM.DEMCR, CortexM.DEMCR_VC_CORERESET)
    cable.cut()
    with opened(H7, probe, process) as one:
        one.program(image_of(H7.name))  # resets and halts
        one.start()
        assert not int.from_bytes(one.read(CortexM.DHCSR, 4), "little") & CortexM.S_HALT


def test_a_probe_that_reads_past_the_data_cache_is_let_go_at_once(
    virtual_endpoints: VirtualEndpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def old(probe: object, core: object) -> None:
        seen.append(core.has_cache)
        raise Blocked("connect", "the firmware is old.")

    monkeypatch.setattr("hil.targets.cached_reads.check", old)
    session = PyocdSession()
    with pytest.raises(Blocked, match="the firmware is old"):
        session.connect(str(virtual_endpoints("stm32h7b3").probe), H7.pyocd_target, connect_options.options(H7))
    assert seen == [True]  # of the virtual Cortex-M7, by its CLIDR
    with pytest.raises(Blocked, match="was closed"):
        session.word(0xE000ED00)


class Client:
    """Speaks pyOCD's protocol of remote probes."""

    def __init__(self, unique_id: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", int(unique_id.rpartition(":")[2])), 10.0)
        self._said = self._socket.makefile("rb")
        self.ask("hello", 1)

    def ask(self, request: str, *arguments: int) -> None:
        self._socket.sendall(json.dumps({"id": 0, "request": request, "arguments": arguments}).encode() + b"\n")
        assert json.loads(self._said.readline())["status"] == 0

    def close(self) -> None:
        self._said.close()
        self._socket.close()


def test_a_probe_whose_client_was_lost_with_its_lock_serves_the_next(virtual_endpoints: VirtualEndpoints) -> None:
    probe = str(virtual_endpoints("stm32h7b3").probe)
    with contextlib.closing(Client(probe)) as following, contextlib.closing(Client(probe)) as lost:
        lost.ask("lock")
        lost.close()
        following.ask("lock")
        following.ask("unlock")


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits for its parent does not."""
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
