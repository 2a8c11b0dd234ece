"""The scripted Renode as a program. What it does wrong is said by SCRIPTED_RENODE, a JSON object (see `Script`)."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from xmlrpc.client import Fault
from xmlrpc.server import SimpleXMLRPCServer

from tests.unit.renode.scripted.machine import Machine, Refused


@dataclass
class Script:
    """`hang`, `die`, `refuse`, `junk`: the beginning of a command at which that happens; `commands`: file that takes what was said."""

    version: str = "1.16.1"
    prints: str = ""
    late_s: float = 0.0
    hang: str | None = None
    die: str | None = None
    refuse: str | None = None
    junk: str | None = None
    robot: bool = True
    busy: int = 0  # so many terminals find their port taken
    deaf: bool = False  # to SIGTERM and to every wish that it may end
    child: bool = False  # starts a process of its own
    dies_at_start: bool = False
    commands: str | None = None


class Unknown(Exception):
    """Renode knows no such command."""


class Renode:
    """The commands of docs/renode.md."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.machine: Machine | None = None

    def execute(self, command: str) -> str:
        self._misbehave(command)
        for pattern, method in self.COMMANDS:
            found = re.fullmatch(pattern, command)
            if found:
                return method(self, *found.groups()) or ""
        raise Unknown(f"No such command or device: {command.split(' ')[0]}")

    def reset(self) -> None:
        self._misbehave("ResetEmulation")
        if self.machine is not None:
            self.machine.forget()
        self.machine = None

    def start(self) -> None:
        self._misbehave("StartEmulation")
        self.machine.start()

    def _misbehave(self, what: str) -> None:
        if self.script.commands:
            with Path(self.script.commands).open("a") as file:
                file.write(what + "\n")
        if self.script.die and what.startswith(self.script.die):
            os._exit(134)
        if self.script.hang and what.startswith(self.script.hang):
            time.sleep(3600)
        if self.script.refuse and what.startswith(self.script.refuse):
            raise Refused("Error E04: scripted\nAt board.repl:9:1:\nc: Foo.Bar\n^^^^")

    def _create(self, name: str) -> None:
        self.machine = Machine()

    def _terminal(self, port: str) -> None:
        if self.script.busy:
            self.script.busy -= 1
            raise Refused(f"Unable to create '0.0.0.0:{port}' socket:[AddressAlreadyInUse] Address already in use")
        self.machine.open_terminal(int(port))

    def _read(self, address: str) -> str:
        return f"0x{self.machine.word(int(address, 16)):08X}\n\n"

    COMMANDS = (
        (r"emulation SetGlobalAdvanceImmediately true", lambda self: None),
        (r'emulation SetGlobalQuantum "0.001"', lambda self: None),
        (r'mach create "(\w+)"', _create),
        (r"machine LoadPlatformDescription @(.+)", lambda self, path: self.machine.load_platform(Path(path.replace("\\ ", " ")).read_text())),
        (r"sysbus LoadELF @(.+)", lambda self, path: self.machine.load_elf(path.replace("\\ ", " "))),
        (r"sysbus LoadBinary @(.+) (0x\w+)", lambda self, path, at: self.machine.store(int(at, 16), Path(path.replace("\\ ", " ")).read_bytes())),
        (r"cpu VectorTableOffset (0x\w+)", lambda self, at: setattr(self.machine, "vectors", int(at, 16))),
        (r"cpu MPURegion(?:Number|BaseAddress|AttributeAndSize) \w+", lambda self: None),
        (r"sysbus WriteDoubleWord (0x\w+) (0x\w+)", lambda self, at, value: self.machine.store(int(at, 16), int(value, 16).to_bytes(4, "little"))),
        (r"sysbus ReadDoubleWord (0x\w+)", _read),
        (r'emulation CreateServerSocketTerminal (\d+) "term" false', _terminal),
        (r"connector Connect sysbus\.(\w+) term", lambda self, uart: self.machine.connect(uart)),
        (r'emulation RunFor "([\d.]+)"', lambda self, s: self.machine.run(100_000)),
        (r"cpu ExecutedInstructions", lambda self: "0x000000000012D687\n\n"),
    )  # fmt: skip


def serve_robot(renode: Renode) -> None:
    """XML-RPC on the first free port from 49152, which it writes to a file; one request at a time."""

    def run_keyword(keyword: str, arguments: list[str]) -> dict[str, str] | str:
        if keyword == "StopRemoteServer":
            renode._misbehave(keyword)
            if not renode.script.deaf:
                threading.Timer(0.05, os._exit, (0,)).start()
            return {"status": "PASS"}
        if keyword in ("ResetEmulation", "StartEmulation"):
            (renode.reset if keyword == "ResetEmulation" else renode.start)()
            return {"status": "PASS"}
        if keyword != "ExecuteCommand":
            raise Fault(1, f'Keyword "{keyword}" not found')
        if len(arguments) != 1 or not isinstance(arguments[0], str):
            raise Fault(
                2,
                f'Arguments types do not match any available keyword "{keyword}" : [{", ".join(map(str, arguments))}]',
            )
        (command,) = arguments
        if renode.script.junk and command.startswith(renode.script.junk):
            return "*** junk"
        try:
            return {"status": "PASS", "return": renode.execute(command)}
        except Unknown as unknown:
            said = f"{unknown}"
        except Refused as refused:
            said = f"There was an error executing command '{command}'{refused}"
        error = f"KeywordException: Could not execute command '{command}': {said}\n"
        return {"status": "FAIL", "error": error, "traceback": "KeywordException:   at a method\n"}

    server = _first_free()
    server.register_function(run_keyword)
    folder = Path(os.environ["TMPDIR"]) / f"renode-{os.getpid()}"
    folder.mkdir()
    file = folder / "robot_port"
    file.touch()  # created first and written then
    time.sleep(0.1)
    file.write_text(str(server.server_address[1]))
    server.serve_forever()


def _first_free() -> SimpleXMLRPCServer:
    SimpleXMLRPCServer.allow_reuse_address = False
    for port in range(49152, 65536):
        with contextlib.suppress(OSError):
            return SimpleXMLRPCServer(("127.0.0.1", port), logRequests=False, allow_none=True)
    raise AssertionError("no port is free")


def main(arguments: list[str]) -> None:
    script = Script(**json.loads(os.environ.get("SCRIPTED_RENODE", "{}")))
    if arguments == ["--version"]:
        print(script.prints or f"Renode v{script.version}.12345\n  build: scripted")
        return
    wanted = ["--disable-xwt", "-p", "--hide-log", "--hide-monitor", "--robot-server-port", "0"]
    assert arguments == wanted, arguments
    assert sys.stdin.read() == "", "stdin is /dev/null"
    assert Path(os.environ["XDG_CONFIG_HOME"]).is_dir()
    print("junk on the standard output \x1b[31m\xff", flush=True)  # with --hide-log the real one prints nothing
    if script.dies_at_start:
        sys.exit(1)
    if script.deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if script.child:
        subprocess.Popen(["sleep", "3600"])
    time.sleep(script.late_s)
    renode = Renode(script)
    if script.robot:
        serve_robot(renode)
    time.sleep(3600)


if __name__ == "__main__":
    main(sys.argv[1:])
