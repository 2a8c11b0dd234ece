"""Serve one page that changes to the browser of its user.

Other computers do not reach it, and other users of this one do not know the secret in its address. A page of another
site, whose name was made to point here, is refused by the name that it sends.
"""

from __future__ import annotations

import secrets
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from hil.errors import RigError
from hil.threads import start

HERE = "127.0.0.1"
DATA = "data.json"
LONGEST_WAIT_S = 10.0  # for the rest of a request


class PageServer:
    """Serves a page, and beside it its data as `data.json`, on the loopback interface only.

    Args:
        page: HTML.
        data: JSON, until `publish` replaces it.
        port: 0 for any free one.

    Raises:
        RigError: the port is not free.
    """

    def __init__(self, page: str, data: str, port: int = 0) -> None:
        self._place = f"/{secrets.token_urlsafe(16)}/"
        self._parts = {self._place: ("text/html", page.encode())}
        self.publish(data)
        try:
            self._server = ThreadingHTTPServer((HERE, port), self._handler())
        except (OSError, OverflowError) as error:
            raise RigError(f"the page cannot be served on port {port} ({error}): choose another one.") from error
        self._server.daemon_threads = True
        start(Thread(target=self._server.serve_forever, name="page", daemon=True))

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://{HERE}:{self._server.server_port}{self._place}"

    def publish(self, data: str) -> None:
        """Replace the data."""
        self._parts[self._place + DATA] = "application/json", data.encode()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        parts = self._parts

        class Handler(BaseHTTPRequestHandler):
            timeout = LONGEST_WAIT_S

            def do_GET(self) -> None:
                """Answer with a part."""
                name, _, _ = self.headers.get("Host", "").rpartition(":")
                part = parts.get(self.path)
                if name not in (HERE, "localhost") or part is None:
                    self.send_error(HTTPStatus.NOT_FOUND)
                    return
                kind, body = part
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Keep the terminal for the live view."""

        return Handler
