"""Client of Renode's robot server: XML-RPC on the loopback address."""

from __future__ import annotations

import http.client
import xml.parsers.expat
import xmlrpc.client

from hil.errors import Blocked

DEADLINE_S = 60.0  # for one command; the longest runs 10 ms of virtual time


class _TimedTransport(xmlrpc.client.Transport):
    def __init__(self, deadline_s: float) -> None:
        super().__init__()
        self._deadline_s = deadline_s

    def make_connection(self, host: tuple[str, dict[str, str]] | str) -> http.client.HTTPConnection:
        connection = super().make_connection(host)
        connection.timeout = self._deadline_s
        return connection


class Robot:
    """Sends commands to Renode. Every call raises `Blocked` if Renode refuses or does not answer in `deadline_s`.

    Args:
        port: TCP port of the robot server.

    Attributes:
        deadline_s: timeout of one command.
        last: the last command that was sent.
    """

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}/"
        self.deadline_s = DEADLINE_S
        self.last = ""

    def execute(self, command: str) -> str:
        """Execute one monitor command and return its output."""
        return self._run("ExecuteCommand", command)

    def reset(self) -> None:
        """Discard all machines."""
        self._run("ResetEmulation")

    def start(self) -> None:
        """Start virtual time."""
        self._run("StartEmulation")

    def quit(self) -> None:
        """Ask Renode to end."""
        self._run("StopRemoteServer")

    def _run(self, keyword: str, *arguments: str) -> str:
        what = " ".join((keyword, *arguments))
        self.last = " ".join(arguments) or keyword
        try:
            # One connection for each command: after a timeout, the late reply would be taken for that of the next one.
            with xmlrpc.client.ServerProxy(self._url, transport=_TimedTransport(self.deadline_s)) as server:
                reply = server.run_keyword(keyword, list(arguments))
        except xmlrpc.client.Fault as fault:
            raise Blocked("bench", f"Renode does not know {what} ({fault.faultString}): {_CURE}.") from fault
        except (OSError, http.client.HTTPException, xmlrpc.client.Error, xml.parsers.expat.ExpatError) as error:
            raise Blocked("bench", f"Renode did not answer {what} ({error}): {_CURE}.") from error
        if not isinstance(reply, dict) or reply.get("status") != "PASS":
            raise Blocked("bench", f"Renode refused {what} ({_reason(reply, *arguments)}): {_CURE}.")
        return str(reply.get("return", ""))


def _reason(reply: object, *arguments: str) -> str:
    """Return the reason of a refusal on one line, without the command that Renode repeats twice before it."""
    reason = str(reply.get("error", "") if isinstance(reply, dict) else reply)
    for argument in arguments:
        for before in (
            f"KeywordException: Could not execute command '{argument}': ",
            f"There was an error executing command '{argument}'",
        ):
            reason = reason.removeprefix(before)
    return " ".join(reason.split())


_CURE = "use a version that docs/renode.md names, or another --reality"
