"""`hil power --watch --page` and `--export`: what is served, to whom, what is saved, and what is written."""

from __future__ import annotations

import http.client
import json
import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from hil.commands import power
from hil.commands.power import PowerHistory, WatchOptions, main, watch
from hil.commands.power_server import PageServer
from hil.energy.capture import Capture, Edge
from hil.energy.data_sheet import load_data_sheet
from hil.errors import RigError
from hil.meters.meter import Host, InvalidWindow, Meter, Setting
from hil.record.power_trace import TraceWriter


class Source(Meter):
    """A meter of a thousand readings a second, with an update that is spoiled; then the user presses Ctrl-C."""

    def __init__(self, *, ends: bool = True) -> None:
        self.seconds, self.updates, self.ends = 0.0, 0, ends
        super().__init__(load_data_sheet("joulescope-js220"), Host(lambda: self.seconds, self.sleep))
        self.identity = "u/js220/1"
        self.host = self._host

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def configure(self, setting: Setting) -> None: ...

    def arm(self) -> None: ...

    def close(self) -> None: ...

    def watch(self) -> np.ndarray:
        self.updates += 1
        if self.updates == 4:
            raise InvalidWindow("overload")
        if self.ends and self.updates > 10:
            raise KeyboardInterrupt
        return np.full(100, 0.05 * self.updates)


def ask(url: str, path: str, host: str | None = None, method: str = "GET") -> tuple[int, str]:
    connection = http.client.HTTPConnection(url.split("/")[2])
    place = "/" + url.split("/", 3)[3]
    connection.request(method, place + path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_only_this_computer_and_this_page_are_served():
    server = PageServer("<p>page</p>", '{"a": 1}')
    try:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", server.url)
        assert server._server.server_address[0] == "127.0.0.1"
        assert ask(server.url, "") == (200, "<p>page</p>")
        server.publish('{"a": 2}')
        assert ask(server.url, "data.json") == (200, '{"a": 2}')
        assert ask(server.url, "../../etc/passwd")[0] == 404 and ask(server.url, "data.json?x")[0] == 404
        root = server.url[: server.url.index("/", 8) + 1]
        assert ask(root, "")[0] == 404 == ask(root, "data.json")[0], "without the secret of the address"
        assert ask(server.url, "", host="rebound.example:80")[0] == 404, "a name that was made to point here"
        assert ask(server.url, "", method="POST")[0] == 501
        port = int(server.url.split("/")[2].split(":")[1])
        with pytest.raises(RigError, match="choose another one"):
            PageServer("", "", port)
    finally:
        server.close()


def data_of(page: str) -> dict:
    return json.loads(re.search(r'<script id="watched"[^>]*>(.*?)</script>', page, re.S)[1])


def test_the_page_follows_the_meter_and_is_saved_when_the_user_ends_it(tmp_path, capsys):
    meter, path, history, seen = Source(), tmp_path / "out.html", PowerHistory(), []
    with pytest.raises(KeyboardInterrupt), power._page(path, meter, 3.3, history, 0.1) as publish:
        url = re.search(r"http://\S+(?=,)", capsys.readouterr().out)[0]

        def look() -> None:
            publish()
            seen.append(json.loads(ask(url, "data.json")[1]))

        assert 'data-every="100"' in ask(url, "")[1] and "connect-src 'self'" in ask(url, "")[1]
        watch(meter, history, meter.host, WatchOptions(0.1, 10.0, 10.0), Console(quiet=True), look)
    assert len(seen) == 8 and seen[2]["trouble"] == "overload" and seen[-1]["trouble"] == ""
    assert seen[-1]["figures"]["readings"] == 700 and seen[-1]["missed_s"] == pytest.approx(0.1)
    page = path.read_text()
    assert data_of(page) == seen[-1] and 'data-every="0"' in page and "connect-src" not in page
    assert "http://" not in re.sub(r"globalThis\.packedPlotly.*", "", page).replace("http://www.w3.org", "")
    assert len(page) < 3_000_000
    with pytest.raises(OSError):
        ask(url, "")


def test_the_energy_of_the_page_is_that_of_the_terminal(tmp_path):
    meter, history = Source(), PowerHistory()
    with pytest.raises(KeyboardInterrupt):
        watch(meter, history, meter.host, WatchOptions(0.1, 10.0, 10.0), Console(quiet=True))
    t, energy, _, highest = history.trace.columns()
    assert energy[-1] == pytest.approx(history.energy_j) and np.nanmax(highest) == history.highest_w
    assert t[-1] == pytest.approx(0.8)


def trace_in(folder: Path) -> Path:
    t = np.arange(100) * 0.001
    power_w, volts = np.full(100, 0.1), np.full(100, 3.3)
    edges = (Edge(0.02, 0.0, True), Edge(0.07, 0.0, False))
    with TraceWriter(folder / "trace.parquet", {"aperture_s": 0.001}) as writer:
        writer.append(Capture(t, power_w, power_w / 3.3, volts, 0.001, 0.001, edges, 1.0, 0))
    return folder


def test_a_trace_is_exported_into_every_file_that_is_named(tmp_path, capsys):
    files = [tmp_path / name for name in ("a.csv", "b.parquet", "c.ppk2")]
    assert main(["--export", str(trace_in(tmp_path)), *(word for file in files for word in ("--to", str(file)))]) == 0
    assert capsys.readouterr().out.split() == [str(file) for file in files] and all(
        file.stat().st_size for file in files
    )


@pytest.mark.parametrize(("argv", "why"), [
    (["--export", "x"], "--export needs a file"), (["--watch"], "--watch needs a meter"), (["--watch", "--model", "lpm01a", "--to", "x.csv"], "--to is for --export"),
    (["--model", "lpm01a"], "one of the arguments --watch --export is required"),
])  # fmt: skip
def test_options_that_do_not_go_together(argv, why, capsys):
    with pytest.raises(SystemExit):
        main(argv)
    assert why in capsys.readouterr().err
