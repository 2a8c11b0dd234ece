"""The scripted Renode as a program. What it does wrong is said by SCRIPTED_RENODE, a JSON object (see `Script`)."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
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
    monitor: bool = True
    deaf: bool = False  # to SIGTERM and to every wish that it may end
    child: bool = False  # starts a process of its own
    dies_at_start: bool = False
    commands: str | None = None


class Renode:
    """The commands of docs/renode.md."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.machine: Machine | None = None
        self.name = "monitor"
        self.ran = False

    def execute(self, command: str) -> str:
        self._misbehave(command)
        for pattern, method in self.COMMANDS:
            found = re.fullmatch(pattern, command)
            if found:
                return method(self, *found.groups()) or ""
        raise Refused(f"No such command or device: {command.split(' ')[0]}")

    def _misbehave(self, what: str) -> None:
        if self.script.commands:
            with Path(self.script.commands).open("a") as file:
                file.write(what + "\n")
        if self.script.die and what.startswith(self.script.die):
            os._exit(134)
        if self.script.hang and what.startswith(self.script.hang):
            time.sleep(3600)
        if self.script.refuse and what.startswith(self.script.refuse):
            raise Refused(f"There was an error executing command '{what}'\r\nError E04: scripted")

    def _create(self, name: str) -> None:
        self.machine, self.name = Machine(), name

    def _read(self, address: str) -> str:
        return f"0x{self.machine.word(int(address, 16)):08X}\n"

    COMMANDS = (
        (r"Clear", lambda self: self.__init__(self.script)),
        (r"emulation SetGlobalAdvanceImmediately true", lambda self: None),
        (r'emulation SetGlobalQuantum "0.001"', lambda self: None),
        (r'mach create "(\w+)"', _create),
        (r"machine LoadPlatformDescription @(.+)", lambda self, path: self.machine.load_platform(Path(path.replace("\\ ", " ")).read_text())),
        (r"sysbus LoadELF @(.+)", lambda self, path: self.machine.load_elf(path.replace("\\ ", " "))),
        (r"cpu VectorTableOffset (0x\w+)", lambda self, at: setattr(self.machine, "vectors", int(at, 16))),
        (r"cpu MPURegion(?:Number|BaseAddress|AttributeAndSize) \w+", lambda self: None),
        (r"sysbus WriteDoubleWord (0x\w+) (0x\w+)", lambda self, at, value: self.machine.store(int(at, 16), int(value, 16).to_bytes(4, "little"))),
        (r"sysbus ReadDoubleWord (0x\w+)", _read),
        (r'emulation CreateUartPtyTerminal "term" "(.+)" true', lambda self, link: self.machine.open_terminal(link)),
        (r"connector Connect sysbus\.(\w+) term", lambda self, uart: self.machine.connect(uart)),
        (r'emulation RunFor "([\d.]+)"', lambda self, s: self.machine.run(100_000)),
        (r"start", lambda self: self.machine.start()),
        (r"cpu ExecutedInstructions", lambda self: "0x000000000012D687\n"),
    )  # fmt: skip


def serve_robot(renode: Renode) -> None:
    """XML-RPC on a port of its own choice, which it writes to a file; one request at a time."""

    def run_keyword(keyword: str, arguments: list[str]) -> dict[str, str] | str:
        keywords = {"ResetEmulation": "Clear", "StartEmulation": "start"}
        try:
            if keyword == "StopRemoteServer":
                renode._misbehave(keyword)
                if not renode.script.deaf:
                    threading.Timer(0.05, os._exit, (0,)).start()
                return {"status": "PASS"}
            command = arguments[0] if keyword == "ExecuteCommand" else keywords[keyword]
            if renode.script.junk and command.startswith(renode.script.junk):
                return "*** junk"
            return {"status": "PASS", "return": renode.execute(command)}
        except Refused as refused:
            return {"status": "FAIL", "error": f"KeywordException: {refused}\n", "traceback": ""}

    server = SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False, allow_none=True)
    server.register_function(run_keyword)
    folder = Path(os.environ["TMPDIR"]) / f"renode-{os.getpid()}"
    folder.mkdir()
    file = folder / "robot_port"
    file.touch()  # created first and written then
    time.sleep(0.1)
    file.write_text(str(server.server_address[1]))
    server.serve_forever()


def serve_monitor(renode: Renode, port: int) -> None:
    """Telnet as docs/renode.md has it: 12 bytes at first; nine of the client's are swallowed up to 1.15."""
    listening = socket.create_server(("127.0.0.1", port))
    while True:
        client, _ = listening.accept()
        client.sendall(bytes.fromhex("fffb01fffb03fffd22fffd1f"))
        received = b""
        while len(received) < 9:
            received += client.recv(9 - len(received))
        swallows = int(renode.script.version.split(".")[1]) <= 15
        received = b"" if swallows else re.sub(rb"\xff[\xfb-\xfe].", b"", received, flags=re.DOTALL)
        client.sendall(b"\n\r\x1b[33m(monitor) \x1b[0m")
        while True:
            line, found, rest = received.partition(b"\n")
            if not found:
                more = client.recv(4096)
                if not more:
                    break
                received += more
                continue
            received = rest
            _answer(renode, client, line.decode())


def _answer(renode: Renode, client: socket.socket, command: str) -> None:
    client.sendall(command.encode()[:3])
    time.sleep(0.001)  # an echo comes in pieces
    client.sendall(command.encode()[3:] + b"\n\r")
    if command == "quit":
        renode._misbehave(command)
        os._exit(0)
    try:
        said = renode.execute(command)
    except Refused as refused:
        said = f"{refused}\n"
    client.sendall(said.replace("\n", "\r\r\n").encode() + f"({renode.name}) ".encode())


def main(arguments: list[str]) -> None:
    script = Script(**json.loads(os.environ.get("SCRIPTED_RENODE", "{}")))
    if arguments == ["--version"]:
        print(script.prints or f"Renode v{script.version}.12345\n  build: scripted")
        return
    wanted = ["--disable-xwt", "-p", "--hide-log", "-P", arguments[4], "--robot-server-port", "0"]
    assert arguments == wanted, arguments
    assert sys.stdin.read() == "", "stdin is /dev/null"
    assert Path(os.environ["XDG_CONFIG_HOME"]).is_dir()
    print("junk on the standard output \x1b[31m\xff", flush=True)
    if script.dies_at_start:
        sys.exit(1)
    if script.deaf:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if script.child:
        subprocess.Popen(["sleep", "3600"])
    time.sleep(script.late_s)
    renode = Renode(script)
    if script.monitor:
        threading.Thread(target=serve_monitor, args=(renode, int(arguments[4])), daemon=True).start()
    if script.robot:
        serve_robot(renode)
    time.sleep(3600)


if __name__ == "__main__":
    main(sys.argv[1:])
