"""Renode's monitor over telnet: the fallback where the robot server does not come up; errors are text between prompts."""

from __future__ import annotations

import re
import socket
import time

from hil.errors import Blocked

DEADLINE_S = 60.0  # of one command
LONGEST_REASON = 300
# Renode up to 1.15 swallows the first nine bytes of a client as an answer to its own negotiation; later ones read them as telnet
# (docs/renode.md).
OPENING = bytes.fromhex("fffb00 fffd01 fffd03")
PROMPT = re.compile(r"\([\w-]+\) $")
NOISE = re.compile(rb"\xff[\xfb-\xfe].|\x1b\[[0-9;?]*[@-~]", re.DOTALL)  # telnet options and colours
REFUSALS = re.compile(
    r"No such command or device|There was an error executing command|Error E\d+|Failed to download|Could not find"
    r"|Parameters did not match the signature"
)


class Monitor:
    """A console (conversation.Console) over the monitor.

    Args:
        port: where it listens, on the loopback address.

    Raises:
        OSError: nobody listens there.
        Blocked: no prompt comes.
    """

    def __init__(self, port: int) -> None:
        self.deadline_s = DEADLINE_S
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        self._socket.sendall(OPENING)
        self._until_prompt("its prompt", "")

    def execute(self, command: str) -> str:
        """Execute one command and return what it prints."""
        self._send(command)
        said = self._until_prompt(command, command)
        refusal = REFUSALS.search(said)
        if refusal is not None:
            reason = " ".join(said[refusal.start() :].split())[:LONGEST_REASON]  # its first line only says that there is one
            raise Blocked("bench", f"Renode refused {command} ({reason}): {_CURE}.")
        return said

    def reset(self) -> None:
        """Forget every machine."""
        self.execute("Clear")

    def start(self) -> None:
        """Let the virtual time run."""
        self.execute("start")

    def quit(self) -> None:
        """Ask Renode to end; no prompt follows."""
        self._send("quit")

    def _send(self, command: str) -> None:
        try:
            self._socket.sendall(command.encode() + b"\n")
        except OSError as error:
            raise Blocked("bench", f"Renode's monitor is gone at {command} ({error}): {_CURE}.") from error

    def _until_prompt(self, command: str, echo: str) -> str:
        """Return the lines between a command's echo and the next prompt."""
        end, raw = time.monotonic() + self.deadline_s, b""
        while True:
            text = NOISE.sub(b"", raw).decode(errors="replace")
            behind = text[text.find(echo) + len(echo) :]
            prompt = PROMPT.search(behind) if echo in text else None
            if prompt is not None:
                return "\n".join(line for line in re.split(r"[\r\n]+", behind[: prompt.start()]) if line)
            try:
                self._socket.settimeout(max(0.01, end - time.monotonic()))
                more = self._socket.recv(65536)
            except OSError as error:
                raise Blocked("bench", f"Renode's monitor did not answer {command} ({error}): {_CURE}.") from error
            if not more:
                raise Blocked("bench", f"Renode's monitor hung up at {command}: {_CURE}.")
            raw += more


_CURE = "use a version that docs/renode.md names, or another --reality"
