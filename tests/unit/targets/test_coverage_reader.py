"""The client of the endpoint `coverage`: what a board that does not answer, or answers nonsense, does to a trial."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator

import pytest

from hil.errors import Blocked
from hil.targets.coverage import CoverageReader

SAYS_NOTHING_USEFUL = ("", "no JSON", "{}", '{"blocks": "AAAA", "ends": "", "followed": ""}')


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that clears, and answers `read` with the parameter of the test."""

    class Answers(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked = self.rfile.readline().decode().strip()
            self.wfile.write(("{}" if asked == "clear" else request.param).encode() + b"\n")

    with socketserver.TCPServer(("127.0.0.1", 0), Answers) as there:
        threading.Thread(target=there.serve_forever, args=(0.02,), daemon=True).start()
        yield f"127.0.0.1:{there.server_address[1]}"
        there.shutdown()


@pytest.mark.parametrize("server", SAYS_NOTHING_USEFUL, indirect=True)
def test_a_wrong_answer_is_named(server: str) -> None:
    reader = CoverageReader(server)
    reader.begin()
    with pytest.raises(Blocked, match="the board does not say what it executed"):
        reader.read()


@pytest.mark.parametrize("server", ['{"blocks": "AAAACAQAAAA=", "ends": "", "followed": ""}'], indirect=True)
def test_a_right_answer(server: str) -> None:
    reader = CoverageReader(server)
    reader.begin()
    assert reader.read().blocks.tolist() == [[0x08000000, 4]]


def test_without_a_beginning_there_is_nothing_to_read() -> None:
    """What an earlier trial executed must not be taken for this one's."""
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
    reader = CoverageReader(address)
    reader.begin()  # does not raise: no trial depends on it
    with pytest.raises(Blocked, match="the board does not say what it executed"):
        reader.read()
    with pytest.raises(Blocked, match="recording has not begun"):
        CoverageReader(address).read()
