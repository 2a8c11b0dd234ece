"""A webhook gets the text; whatever it does instead of taking it is one warning that does not name its secret path."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from hil.commands.main import main
from hil.errors import RigError
from hil.record import RunWriter
from hil.summary import webhook

SECRET = "T0-secret"


class Chat(BaseHTTPRequestHandler):
    """Answers by the first part of the path."""

    received: ClassVar[list[dict[str, str]]] = []
    release = threading.Event()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/ok"):
            assert self.headers["Content-Type"] == "application/json"
            self.received.append(json.loads(body))
        if self.path.startswith("/silent"):
            self.release.wait(60)
        self.send_response({"ok": 200, "broken": 500, "moved": 302}.get(self.path.split("/")[1], 404))
        if self.path.startswith("/moved"):
            self.send_header("Location", "/ok")
        self.end_headers()

    do_GET = do_POST  # noqa: N815  (of a redirect that is followed)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def chat() -> Iterator[str]:
    Chat.received.clear()
    Chat.release.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Chat)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    Chat.release.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def run(tmp_path: Path) -> str:
    """An empty run: its sentence is enough."""
    writer = RunWriter.begin(tmp_path)
    writer.finish()
    return str(writer.folder)


def test_it_gets_the_lines(run: str, chat: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", run, "--webhook", f"{chat}/ok/{SECRET}", "--link=https://ci.example/1"]) == 0
    out, error = capsys.readouterr()
    assert error == "" and out.startswith("Not fine: no test ran a trial.")
    (message,) = Chat.received
    assert set(message) == {"text"} and message["text"].startswith(out.splitlines()[0] + "\n```\n")
    assert "https://ci.example/1" in message["text"]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("{chat}/broken/{secret}", "answered 500"),
        ("{chat}/moved/{secret}", "answered 302"),
        ("{chat}/silent/{secret}", "no answer within"),
        ("http://127.0.0.1:1/{secret}", "Connection refused"),
        ("http://127.0.0.1:1/a {secret}", "InvalidURL"),
        ("http://127.0.0.1:99999/{secret}", "InvalidURL|OverflowError|did not take"),
    ],
)
def test_why_it_did_not_take_the_message(address: str, why: str, chat: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "TIMEOUT_S", 0.3)
    said = webhook.post(address.format(chat=chat, secret=SECRET), {"text": "a"})
    assert said.startswith("the webhook at 127.0.0.1 ") and "\n" not in said
    assert any(word in said for word in why.split("|")) and SECRET not in said
    assert not Chat.received


def test_a_failure_is_one_warning(run: str, chat: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", run, "--webhook", f"{chat}/broken/{SECRET}"]) == 0
    out, error = capsys.readouterr()
    assert out and error == "hil: warning: the webhook at 127.0.0.1 answered 500: the summary was not sent.\n"


@pytest.mark.parametrize("address", ["chat.example/secret", "file:///etc/passwd", "http://[", "ftp://a/secret", ""])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(RigError, match="begins with http") as refused:
        webhook.post(address, {"text": "a"})
    assert "secret" not in str(refused.value)
